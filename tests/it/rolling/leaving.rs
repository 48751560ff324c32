//! Clients that leave before they have their answer: what a candidate does to those who do not wait is counted, too.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::{
    BODY, Switch, falls_back, get_as, named, on_the_way, rollout, settings, under_way, who,
};
use crate::support::process::{Mirror, Place};
use crate::support::service::Service;
use crate::support::wait_for;

/// Longer than anybody waits who has only changed his mind.
const LONG: Duration = Duration::from_millis(700);
const SHORT: Duration = Duration::from_millis(20);
/// Who leaves after this has waited for the candidate in vain.
const GIVES_UP: Duration = Duration::from_millis(500);

/// A place where all clients are in, and the candidate has longer for a head than any client waits.
fn patient(bounds: &str) -> Place {
    let place = under_way(100.0, bounds);
    let lines = settings("candidate_percent = 100", bounds);
    place.write("parity.toml", lines.replace("400ms", "30s"));
    place
}

/// Asks, reads what comes for this time, and leaves with a reset.
fn leaves(mirror: &Mirror<'_>, path: &str, after: Duration) {
    let mut stream = TcpStream::connect(mirror.address).expect("it accepts");
    let head = format!("GET {path} HTTP/1.1\r\nHost: it\r\nx-user: a\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("it is sent");
    stream.set_read_timeout(Some(after)).expect("a time-out");
    loop {
        match stream.read(&mut [0; 512]) {
            Ok(0) => panic!("{path}: it was closed"),
            Ok(_) => {}
            Err(error) => {
                assert!(
                    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
                    "{error}"
                );
                break;
            }
        }
    }
    let reset = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
    reset.expect("a socket");
}

/// A candidate that answers until it `turns`, and then sends this much and no more; without the switch only under `/slow`.
fn stalling(turns: &Switch, begin: &'static [u8]) -> Service {
    let turns = turns.clone();
    Service::misbehaving(move |request, stream| {
        if turns.is_on() || request.target.starts_with("/slow") {
            let _sent = stream.write_all(begin);
            // Until the other side closes.
            let _closed = stream.read(&mut [0]);
            return;
        }
        let length = BODY.len();
        let _sent = write!(
            stream,
            "HTTP/1.1 200 OK\r\nServer: candidate\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{BODY}"
        );
    })
}

#[test]
fn clients_that_wait_for_nothing_and_leave_take_all_clients_back() {
    let place = patient("min_requests = 100000");
    let legacy = named("legacy");
    let turns = Switch::default();
    let candidate = stalling(&turns, b"");
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    assert_eq!(who(&get_as(&mirror, "a", "/items/1")), "candidate");
    turns.on();
    for _ in 0..5 {
        leaves(&mirror, "/items/1", LONG);
    }
    let why = falls_back(&mirror)["fell_back"]["reason"].to_string();
    assert!(why.contains("did not answer"), "{why}");
    assert_eq!(who(&get_as(&mirror, "a", "/items/1")), "legacy");
    // They were not compared because of the candidate, and not because of their own haste.
    let report = mirror.answered_in("sqlite:parity.db", 7);
    assert_eq!(
        report.not_compared()["candidate_timeout"],
        5,
        "{}",
        report.0
    );
    assert_eq!(report.0["clients"]["client_aborted"], 5, "{}", report.0);
}

#[test]
fn clients_that_leave_half_an_answer_are_errors_of_the_candidate() {
    let place = patient("min_requests = 10\nwindow = \"1h\"");
    let legacy = named("legacy");
    let turns = Switch::default();
    let candidate = stalling(
        &turns,
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"bal",
    );
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    for _ in 0..9 {
        assert_eq!(who(&get_as(&mirror, "a", "/items/1")), "candidate");
    }
    turns.on();
    leaves(&mirror, "/items/1", LONG);
    let why = falls_back(&mirror)["fell_back"]["reason"].to_string();
    assert!(why.contains("errors of the candidate"), "{why}");
}

#[test]
fn clients_that_change_their_mind_are_no_fault_of_the_candidate() {
    let place = patient("min_requests = 10\nwindow = \"1h\"");
    let legacy = named("legacy");
    let candidate = stalling(&Switch::default(), b"");
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    // Of each that took so long until the mirror had seen it leave, nobody knows how long the mirror saw it wait.
    let mut late = 0;
    for left in 1..=8 {
        let began = Instant::now();
        leaves(&mirror, "/slow", SHORT);
        wait_for("the mirror to see it leave", || {
            let status = mirror.ask("/api/v1/status").json();
            (status["clients"]["client_aborted"] == left).then_some(())
        });
        late += u64::from(began.elapsed() >= GIVES_UP);
    }
    let report = mirror.answered_in("sqlite:parity.db", 8);
    assert_eq!(report.0["clients"]["client_aborted"], 8, "{}", report.0);
    for _ in 0..12 {
        let by = who(&get_as(&mirror, "a", "/items/1"));
        assert!(late > 0 || by == "candidate", "{by}");
    }
    let now = rollout(&mirror);
    // None of those that surely were quick.
    let errors = now["candidate"]["errors"].as_u64();
    assert!(
        errors.is_some_and(|errors| errors <= late),
        "{late} late: {now}"
    );
    assert!(late > 0 || now["fell_back"].is_null(), "{now}");
}
