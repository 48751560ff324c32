//! Clients that close their sending side after the request: those that wait for the answer get it if it comes soon, and
//! those that have gone hold nothing.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::channel;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::verdict::Reason;
use rustls::{ClientConnection, StreamOwned};

use crate::support::authority::Authority;
use crate::support::{Next, Rig, Service, ok};

#[test]
fn they_are_answered_every_time() {
    let service = Service::saying(ok("whole"));
    let mirror = Rig::new(&service, &service).start();
    for request in [
        "GET / HTTP/1.1\r\nhost: test\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 4\r\n\r\nbody",
        "POST / HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
    ] {
        for _ in 0..30 {
            let mut client = mirror.client();
            client.send(request);
            client.close_writing();
            let answer = String::from_utf8(client.rest()).expect("text");
            assert!(answer.ends_with("\r\n\r\nwhole"), "{request}: {answer}");
        }
    }
}

#[test]
fn requests_in_a_row_are_all_answered_before_the_end() {
    let service = Service::saying(ok("whole"));
    let mirror = Rig::new(&service, &service).start();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n".repeat(20));
    client.close_writing();
    let answers = String::from_utf8(client.rest()).expect("text");
    assert_eq!(answers.matches("whole").count(), 20, "{answers}");
}

#[test]
fn a_slow_legacy_and_a_long_answer_make_no_difference() {
    let (go, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let body = "x".repeat(4 * 1024 * 1024);
    let answer = ok(&body);
    let legacy = Service::new(move |_, conn| {
        wait.lock().expect("no panic").recv().expect("told");
        conn.say(&answer);
        Next::Keep
    });
    let mirror = Rig::new(&legacy, &Service::refusing()).start();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    client.close_writing();
    legacy.requests(1);
    // Longer than the sweep takes to look at the connection.
    std::thread::park_timeout(std::time::Duration::from_millis(2_500));
    go.send(()).expect("the legacy waits");
    assert!(client.reply().body == body.as_bytes());
}

#[test]
fn by_tls_as_well() {
    let authority = Authority::new();
    let files = authority.files.clone();
    let service = Service::saying(ok("whole"));
    let mirror = Rig::new(&service, &service)
        .policy(|policy| policy.tls = Some(files))
        .start();
    for _ in 0..20 {
        let name = "localhost".try_into().expect("a name");
        let session = ClientConnection::new(authority.client(&["http/1.1"]), name);
        let stream = TcpStream::connect(mirror.address).expect("the mirror listens");
        let mut stream = StreamOwned::new(session.expect("a session"), stream);
        stream
            .write_all(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n")
            .expect("sent");
        stream.conn.send_close_notify();
        stream.flush().expect("sent");
        stream.sock.shutdown(Shutdown::Write).expect("open");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("a farewell");
        assert!(answer.ends_with("\r\n\r\nwhole"), "{answer}");
    }
}

#[test]
fn one_that_breaks_off_behind_its_end_lets_both_services_go() {
    let hung = || Service::new(|_, _| Next::Hang);
    let (legacy, candidate) = (hung(), hung());
    let mirror = Rig::new(&legacy, &candidate)
        .limits(|limits| limits.candidate_deadline = std::time::Duration::from_secs(15))
        .start();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    client.close_writing();
    legacy.requests(1);
    candidate.requests(1);
    client.reset();
    assert_eq!(mirror.ledger.reason(), Reason::ClientAborted);
    legacy.wait_open(0);
    candidate.wait_open(0);
}

#[test]
fn one_that_breaks_off_behind_another_request_does_too() {
    let legacy = Service::new(|_, _| Next::Hang);
    let mirror = Rig::new(&legacy, &Service::refusing()).start();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    legacy.requests(1);
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    client.reset();
    assert_eq!(mirror.ledger.reason(), Reason::ClientAborted);
    legacy.wait_open(0);
}

/// Hangs, except on `/`.
fn hanging() -> Service {
    Service::new(|request, conn| {
        if request.target() == "/" {
            conn.say(ok("whole"));
            return Next::Keep;
        }
        Next::Hang
    })
}

#[test]
fn one_that_closes_everything_lets_both_services_go_though_no_reset_comes() {
    let (legacy, candidate) = (hanging(), hanging());
    let mirror = Rig::new(&legacy, &candidate)
        .limits(|limits| limits.candidate_deadline = std::time::Duration::from_mins(1))
        .start();
    for behind in ["", "GET /hang HTTP/1.1\r\nhost: test\r\n\r\n"] {
        let mut client = mirror.client();
        client.send("GET /hang HTTP/1.1\r\nhost: test\r\n\r\n");
        client.send(behind);
        drop(client);
    }
    legacy.requests(2);
    candidate.requests(2);
    assert_eq!(
        mirror.ledger.reasons(2),
        [Reason::ClientAborted, Reason::ClientAborted]
    );
    assert_eq!(
        mirror.ledger.clients(2),
        [ClientOutcome::ClientAborted, ClientOutcome::ClientAborted]
    );
    legacy.wait_open(0);
    candidate.wait_open(0);
    mirror.wait_free();
}

#[test]
fn by_tls_one_that_closes_everything_lets_the_legacy_go() {
    let authority = Authority::new();
    let files = authority.files.clone();
    let legacy = hanging();
    let mirror = Rig::new(&legacy, &Service::refusing())
        .policy(|policy| policy.tls = Some(files))
        .start();
    let name = "localhost".try_into().expect("a name");
    let session = ClientConnection::new(authority.client(&["http/1.1"]), name);
    let stream = TcpStream::connect(mirror.address).expect("the mirror listens");
    let mut stream = StreamOwned::new(session.expect("a session"), stream);
    stream
        .write_all(b"GET /hang HTTP/1.1\r\nhost: test\r\n\r\n")
        .expect("sent");
    legacy.requests(1);
    stream.conn.send_close_notify();
    stream.flush().expect("sent");
    drop(stream);
    assert_eq!(mirror.ledger.client(), ClientOutcome::ClientAborted);
    legacy.wait_open(0);
}

#[test]
fn one_that_leaves_a_quiet_stream_lets_the_legacy_go() {
    let legacy = Service::new(|_, conn| {
        conn.say("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: 1\n\n");
        Next::Hang
    });
    let mirror = Rig::new(&legacy, &Service::refusing()).start();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    client.read_until(b"data: 1");
    drop(client);
    assert_eq!(mirror.ledger.client(), ClientOutcome::ClientAborted);
    legacy.wait_open(0);
}

#[test]
fn others_are_served_at_once_where_all_slots_are_held_by_those_that_left() {
    const SLOTS: usize = 20;
    let legacy = hanging();
    let mirror = Rig::new(&legacy, &Service::refusing())
        .connections(SLOTS)
        .start();
    for round in 1..=5 {
        for _ in 0..SLOTS {
            let mut client = mirror.client();
            client.send("GET /hang HTTP/1.1\r\nhost: test\r\n\r\n");
        }
        legacy.requests(round * (SLOTS + 1) - 1);
        assert_eq!(mirror.client().get("/").text(), "whole");
    }
    legacy.wait_open(1);
}
