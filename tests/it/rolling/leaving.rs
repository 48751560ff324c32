//! Clients that leave before they have their answer: what a candidate does to those who do not wait is counted, too.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{
    Answer, BODY, Switch, becomes, falls_back, get_as, named, on_the_way, rollout, under_way, who,
};
use crate::support::process::{Mirror, Place};
use crate::support::service::Service;
use crate::support::wait_for;

/// Longer than anybody waits who has only changed his mind.
pub(super) const LONG: Duration = Duration::from_millis(700);
const SHORT: Duration = Duration::from_millis(20);
/// Who leaves after this has waited for the candidate in vain.
const GIVES_UP: Duration = Duration::from_millis(500);

/// A place where all clients are in, and the candidate has longer for a head than any client waits.
pub(super) fn patient(bounds: &str) -> Place {
    under_way(100.0, bounds)
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
pub(super) fn stalling(turns: &Switch, begin: &'static [u8]) -> Service {
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
    // The shadow of what comes next is no matter of those who left.
    turns.off();
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

/// So many clients at once that leave late.
fn many_leave(mirror: &Mirror<'_>, path: &str) {
    std::thread::scope(|clients| {
        for _ in 0..MANY {
            clients.spawn(|| leaves(mirror, path, LONG));
        }
    });
}

/// More than five, with which a service is taken not to answer.
const MANY: u64 = 8;

/// The status, as soon as all of them are counted.
fn gave_up(mirror: &Mirror<'_>, service: &str) -> Value {
    wait_for("all that left to be counted", || {
        let status = mirror.status();
        let left = status["clients_now"][service]["last"]["failed"] == MANY;
        let settled = status["clients"]["client_aborted"] == MANY;
        (left && settled).then_some(status)
    })
}

#[test]
fn a_legacy_on_which_all_give_up_is_told_everywhere_although_the_candidate_hangs_too() {
    let turns = Switch::default();
    let [legacy, candidate] = [0, 1].map(|_| stalling(&turns, b""));
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    assert_eq!(mirror.get("/items/1").status, 200);
    mirror.settled(1);
    turns.on();
    many_leave(&mirror, "/items/1");
    let status = gave_up(&mirror, "gave_up_on_legacy");
    assert_eq!(status["legacy_reachable"], false, "{status}");
    let since = &status["legacy_failing_since"];
    assert!(since.is_string(), "{status}");
    assert!(status["last_failed_client"].is_null(), "{status}");
    let page = wait_for("the page", || {
        let page = mirror.ask("/").text();
        page.contains(" left before they had a whole answer")
            .then_some(page)
    });
    for told in [
        "The legacy does not answer",
        "clients leave without an answer since ",
        "<title>clients fail",
        "no answer of the legacy at this moment",
    ] {
        assert!(page.contains(told), "{told} in {page}");
    }
    assert!(!page.contains("sent to it (0)"), "{page}");
    let health = mirror.ask("/health").text();
    assert!(health.contains("does not answer since "), "{health}");
    assert!(!health.contains("<dt>Legacy</dt><dd>answered"), "{health}");
    let metrics = mirror.ask("/metrics").text();
    for line in [
        "parity_upstream_up{upstream=\"legacy\"} 0",
        "parity_clients_gave_up_total{upstream=\"legacy\"} 8",
        "parity_clients_gave_up_total{upstream=\"candidate\"} 0",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    let top = place.run(&["top", "--once", "--admin", &mirror.admin.to_string()]);
    assert!(top.stdout.contains("LEGACY DOWN since "), "{}", top.stdout);
    // The first answer ends it.
    turns.off();
    assert_eq!(mirror.get("/items/1").status, 200);
    let status = mirror.status();
    assert_eq!(status["legacy_reachable"], true, "{status}");
    assert!(status["legacy_failing_since"].is_null(), "{status}");
}

#[test]
fn who_leaves_a_candidate_in_the_middle_of_its_answers_is_told_with_its_name() {
    let place = patient("min_requests = 100000");
    // Slow enough that one client who leaves says nothing of others, so that nobody is taken back meanwhile.
    let legacy = Service::start(|_| {
        std::thread::sleep(LONG / 6);
        Answer::json(BODY).header("server", "legacy")
    });
    let turns = Switch::default();
    let candidate = stalling(
        &turns,
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"bal",
    );
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    assert_eq!(who(&get_as(&mirror, "b", "/items/1")), "candidate");
    turns.on();
    many_leave(&mirror, "/items/1");
    let page = wait_for("the page", || {
        let page = mirror.ask("/").text();
        page.contains("8 of 9 left before they had a whole answer")
            .then_some(page)
    });
    for told in [
        "they left on 8 of 9 requests in the last ",
        ", when they had waited for the candidate for half a second or more, 8 since ",
        "<title>clients leave",
    ] {
        assert!(page.contains(told), "{told} in {page}");
    }
    let status = gave_up(&mirror, "gave_up_on_candidate");
    assert_eq!(status["legacy_reachable"], true, "{status}");
    assert_eq!(status["clients_now"]["gave_up_on_legacy"]["now"], 0);
    many_leave(&mirror, "/orders/1");
    let top = place.run(&["top", "--once", "--admin", &mirror.admin.to_string()]);
    for told in ["CLIENTS LEAVE: ", "waited for the candidate"] {
        assert!(top.stdout.contains(told), "{}", top.stdout);
    }
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
    let lately = &mirror.status()["clients_now"];
    assert!(
        late > 0 || lately["gave_up_on_candidate"]["last"].is_null(),
        "{lately}"
    );
}

#[test]
fn who_leaves_a_route_that_is_slow_at_both_services_takes_nobody_back() {
    const SLOW: Duration = Duration::from_millis(1_200);
    let slow = |name: &'static str| {
        Service::start(move |request| {
            if request.target.starts_with("/report") {
                std::thread::sleep(SLOW);
            }
            Answer::json(BODY).header("server", name)
        })
    };
    let place = patient("min_requests = 10\nwindow = \"1h\"");
    let (legacy, candidate) = (slow("legacy"), slow("candidate"));
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    // So many quick answers that the report's is not among the slowest of a hundred.
    for _ in 0..150 {
        assert_eq!(who(&get_as(&mirror, "a", "/items/1")), "candidate");
    }
    assert_eq!(who(&get_as(&mirror, "a", "/report")), "candidate");
    // The legacy gets the report as a shadow, when the candidate's answer has begun.
    becomes(&mirror, "the legacy to be timed", |now| {
        now["legacy"]["requests"] == 151
    });
    for _ in 0..6 {
        leaves(&mirror, "/report", LONG);
    }
    let report = mirror.answered_in("sqlite:parity.db", 157);
    assert_eq!(report.0["clients"]["client_aborted"], 6, "{}", report.0);
    assert_eq!(report.not_compared()["client_aborted"], 6, "{}", report.0);
    let now = rollout(&mirror);
    assert_eq!(now["candidate"]["errors"], 0, "{now}");
    assert!(now["fell_back"].is_null(), "{now}");
    assert_eq!(who(&get_as(&mirror, "a", "/items/1")), "candidate");
}
