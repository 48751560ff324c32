//! Answers that begin and do not end, deadlines that are short, and one client that means harm: what waits say beside the legacy's times.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use hyper::Request;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;

use super::leaving::{LONG, patient, stalling};
use super::{
    Answer, BODY, Switch, becomes, falls_back, get_as, hanging, named, on_the_way, rollout, who,
};
use crate::support::client;
use crate::support::process::Mirror;
use crate::support::service::Service;
use crate::support::wait_for;

/// Bounds that nothing reaches but a row.
const ONLY_ROWS: &str = "min_requests = 100000";
const USERS: [&str; 5] = ["a", "b", "c", "d", "e"];
/// How the rest of an answer is announced.
const FRAMINGS: [&str; 2] = ["Transfer-Encoding: chunked", "Content-Length: 10000"];

/// Sends a request and gives the connection.
fn asks(mirror: &Mirror<'_>, user: &str, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(mirror.address).expect("it accepts");
    let head = format!("GET {path} HTTP/1.1\r\nHost: it\r\nx-user: {user}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("it is sent");
    stream
}

/// Asks, reads what comes until this time is over, however much it is, and leaves with a reset.
fn leaves(mirror: &Mirror<'_>, user: &str, path: &str, after: Duration) {
    let began = Instant::now();
    let mut stream = asks(mirror, user, path);
    while let Some(left) = after
        .checked_sub(began.elapsed())
        .filter(|left| !left.is_zero())
    {
        stream.set_read_timeout(Some(left)).expect("a time-out");
        match stream.read(&mut [0; 512]) {
            Ok(0) => panic!("{path}: it was closed"),
            Ok(_) => {}
            Err(error) => assert!(
                matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
                "{error}"
            ),
        }
    }
    let reset = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
    reset.expect("a socket");
}

/// Each of the users once, all at the same time.
fn all_leave(mirror: &Mirror<'_>, path: &str) {
    thread::scope(|clients| {
        for user in USERS {
            clients.spawn(move || leaves(mirror, user, path, LONG));
        }
    });
}

/// A candidate that answers until it `turns`, and then begins to answer and sends a byte now and then, or no more.
fn never_ends(turns: &Switch, framing: &'static str, trickles: bool) -> Service {
    let turns = turns.clone();
    Service::misbehaving(move |_, stream| {
        let head = "HTTP/1.1 200 OK\r\nServer: candidate\r\nContent-Type: application/json\r\n";
        if !turns.is_on() {
            let length = BODY.len();
            let _sent = write!(stream, "{head}Content-Length: {length}\r\n\r\n{BODY}");
            return;
        }
        let byte = if framing.contains("chunked") {
            "1\r\n \r\n"
        } else {
            " "
        };
        let mut sent = write!(stream, "{head}{framing}\r\n\r\n{byte}");
        while trickles && sent.is_ok() {
            thread::sleep(Duration::from_millis(40));
            sent = stream.write_all(byte.as_bytes());
        }
        // Until the other side closes.
        let _closed = stream.read(&mut [0]);
    })
}

/// All users get so many answers of the candidate, and the legacy is timed by the shadows of all.
fn warm(mirror: &Mirror<'_>, each: u64) {
    for _ in 0..each {
        for user in USERS {
            assert_eq!(who(&get_as(mirror, user, "/items/1")), "candidate");
        }
    }
    let all = each * USERS.len() as u64;
    becomes(mirror, "the legacy to be timed", |now| {
        now["legacy"]["requests"] == all
    });
}

fn is_down(mirror: &Mirror<'_>) {
    let why = falls_back(mirror)["fell_back"]["reason"].to_string();
    assert!(why.contains("the candidate is down"), "{why}");
}

fn stays(mirror: &Mirror<'_>) -> Value {
    let now = rollout(mirror);
    assert!(now["fell_back"].is_null(), "{now}");
    assert_eq!(who(&get_as(mirror, "a", "/items/1")), "candidate");
    now
}

#[test]
fn a_candidate_that_trickles_is_found_by_those_who_leave_it() {
    for framing in FRAMINGS {
        let place = patient(ONLY_ROWS);
        let (legacy, turns) = (named("legacy"), Switch::default());
        let candidate = never_ends(&turns, framing, true);
        let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
        warm(&mirror, 3);
        turns.on();
        all_leave(&mirror, "/items/1");
        is_down(&mirror);
    }
}

#[test]
fn a_candidate_that_trickles_is_found_although_nobody_leaves() {
    for framing in FRAMINGS {
        // The rest may take as long as a head, 400 ms here, beyond what the legacy takes.
        let place = hanging(ONLY_ROWS);
        let (legacy, turns) = (named("legacy"), Switch::default());
        let candidate = never_ends(&turns, framing, true);
        let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
        warm(&mirror, 3);
        turns.on();
        let waiting = USERS.map(|user| asks(&mirror, user, "/items/1"));
        is_down(&mirror);
        let status = mirror.status();
        let left = status["clients"]["client_aborted"].as_u64();
        assert_eq!(left.unwrap_or(0), 0, "{status}");
        drop(waiting);
    }
}

#[test]
fn without_a_shadow_the_usual_time_of_the_legacy_is_the_bound() {
    for path in ["/items/1", "/never/asked"] {
        let place = patient(ONLY_ROWS);
        let (legacy, turns) = (named("legacy"), Switch::default());
        let candidate = never_ends(&turns, FRAMINGS[0], false);
        let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
        warm(&mirror, 24);
        let off = client::send(mirror.admin, "POST", "/api/v1/shadowing/off", &[], b"");
        assert_eq!(off.status, 200);
        turns.on();
        all_leave(&mirror, path);
        is_down(&mirror);
    }
}

/// A request over HTTP/2 that is cancelled after this time.
fn cancels(address: SocketAddr, user: &str, after: Duration) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(address)
            .await
            .expect("it accepts");
        let io = TokioIo::new(stream);
        let opened = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await;
        let (mut sender, connection) = opened.expect("it speaks HTTP/2");
        let connection = tokio::spawn(connection);
        let request = Request::get(format!("http://{address}/items/1"))
            .header("x-user", user)
            .body(String::new())
            .expect("a request");
        let answer = tokio::time::timeout(after, sender.send_request(request)).await;
        assert!(answer.is_err(), "the candidate hangs");
        // The stream is reset, and then the connection ends.
        drop(sender);
        let _ended = connection.await;
    });
}

#[test]
fn streams_that_are_reset_after_a_short_deadline_take_all_clients_back() {
    let place = patient(ONLY_ROWS);
    let (legacy, turns) = (named("legacy"), Switch::default());
    let candidate = stalling(&turns, b"");
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    warm(&mirror, 24);
    turns.on();
    for user in USERS {
        cancels(mirror.address, user, Duration::from_millis(300));
    }
    is_down(&mirror);
}

#[test]
fn one_client_that_opens_many_requests_of_a_slow_route_and_leaves_takes_nobody_back() {
    let slow = |name: &'static str| {
        Service::start(move |request| {
            if request.target.starts_with("/slow") {
                thread::sleep(LONG * 2);
            }
            Answer::json(BODY).header("server", name)
        })
    };
    let place = patient("min_requests = 10\nwindow = \"1h\"");
    let (legacy, candidate) = (slow("legacy"), slow("candidate"));
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    // Enough that one error is no more than is allowed.
    warm(&mirror, 40);
    thread::scope(|clients| {
        for _ in 0..40 {
            clients.spawn(|| leaves(&mirror, "mallory", "/slow", LONG));
        }
    });
    wait_for("all to be seen leaving", || {
        (mirror.status()["clients"]["client_aborted"] == 40).then_some(())
    });
    let now = stays(&mirror);
    let errors = now["candidate"]["errors"].as_u64();
    assert!(errors.is_some_and(|errors| errors <= 1), "{now}");
}

#[test]
fn a_stream_of_both_services_is_left_by_anybody_at_any_time() {
    let endless = |name: &'static str| {
        Service::misbehaving(move |request, stream| {
            let head =
                format!("HTTP/1.1 200 OK\r\nServer: {name}\r\nContent-Type: application/json\r\n");
            if !request.target.starts_with("/tail") {
                let length = BODY.len();
                let _sent = write!(stream, "{head}Content-Length: {length}\r\n\r\n{BODY}");
                return;
            }
            let _sent = write!(
                stream,
                "{head}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n"
            );
            let _closed = stream.read(&mut [0]);
        })
    };
    let place = patient("min_requests = 10\nwindow = \"1h\"");
    let (legacy, candidate) = (endless("legacy"), endless("candidate"));
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    warm(&mirror, 24);
    for _ in 0..2 {
        all_leave(&mirror, "/tail");
    }
    wait_for("all to be seen leaving", || {
        (mirror.status()["clients"]["client_aborted"] == 10).then_some(())
    });
    let now = stays(&mirror);
    assert_eq!(now["candidate"]["errors"], 0, "{now}");
}
