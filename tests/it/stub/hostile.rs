//! Peers that hang, crawl, reset, never end or are too many: the stub answers others, stays small, and ends.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};

use parity_schemas::stub::StubOutcome;

use super::{Stub, counts};
use crate::support::process::Place;
use crate::support::{client, wait_for};

/// Highest resident memory of the stub, in bytes.
fn peak(stub: &Stub<'_>) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", stub.child.id())).expect("it runs");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .expect("a line");
    line.split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse::<u64>().ok())
        .expect("a number")
        << 10
}

fn open(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(bytes).expect("it reads");
    stream
}

#[test]
fn peers_that_hang_or_break_off_hold_neither_others_nor_the_end() {
    let place = Place::new();
    let stub = Stub::canned(&place, &[]);
    let mut kept = Vec::new();
    for address in [stub.legacy, stub.candidate] {
        for bytes in [
            b"".as_slice(),
            b"POST /tot",
            b"POST /totals HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{",
            b"\x16\x03\x01 no HTTP\r\n\r\n",
        ] {
            kept.push(open(address, bytes));
        }
        drop(open(
            address,
            b"POST /totals HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{",
        ));
    }
    stub.both(&[], ["{}", "{}"]);
    let (ended, document) = stub.stop();
    // What hangs at the end or broke off may have been a call; who said nothing made none.
    assert_eq!(counts(&document), [1, 1, 1, 0, 0, 0], "{}", ended.stdout);
    assert_eq!(
        (document.limits.len(), document.limits["broken_off"]),
        (1, 8),
        "{}",
        ended.stdout
    );
    assert_eq!(document.outcome, StubOutcome::Undecided, "{}", ended.stdout);
    drop(kept);
}

#[test]
fn each_thing_that_may_have_been_a_call_makes_it_undecided() {
    for (bytes, limit) in [
        (
            b"GET /users/1 HTTP/1.1\r\nhost: a\r\n".as_slice(),
            "broken_off",
        ),
        (
            b"POST /totals HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n{",
            "broken_off",
        ),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http2"),
    ] {
        let place = Place::new();
        let stub = Stub::canned(&place, &[]);
        stub.both(&[], ["{}", "{}"]);
        let kept = open(stub.legacy, bytes);
        // What is sent behind it has come, so that has, too.
        stub.both(&[], ["{}", "{}"]);
        let (ended, document) = stub.stop();
        assert_eq!(counts(&document), [2, 2, 2, 0, 0, 0], "{}", ended.stdout);
        assert_eq!(document.limits.get(limit), Some(&1), "{}", ended.stdout);
        assert_eq!(document.outcome, StubOutcome::Undecided, "{}", ended.stdout);
        drop(kept);
    }
}

#[test]
fn what_came_with_a_whole_call_and_never_got_whole_is_counted() {
    let place = Place::new();
    let stub = Stub::canned(&place, &[]);
    let both = b"GET /users/1 HTTP/1.1\r\nhost: a\r\n\r\nGET /users/2 HT";
    let mut kept = open(stub.legacy, both);
    let answered = kept.read(&mut [0; 64]).expect("an answer");
    assert!(answered > 0);
    assert_eq!(client::get(stub.candidate, "/users/1").text(), "one");
    let (ended, document) = stub.stop();
    assert_eq!(counts(&document), [1, 1, 1, 0, 0, 0], "{}", ended.stdout);
    assert_eq!(
        document.limits.get("broken_off"),
        Some(&1),
        "{}",
        ended.stdout
    );
    assert_eq!(document.outcome, StubOutcome::Undecided, "{}", ended.stdout);
    drop(kept);
}

#[test]
fn who_waits_for_a_place_until_the_end_is_counted() {
    let place = Place::new();
    // 32 places.
    let stub = Stub::limited(&place, 160);
    stub.both(&[], ["{}", "{}"]);
    let held: Vec<TcpStream> = (0..100).map(|_| open(stub.legacy, b"")).collect();
    let (ended, document) = stub.stop();
    // One place may still have been of the call before.
    assert!(
        (68..=69).contains(&document.limits["no_place"]),
        "{}",
        ended.stdout
    );
    assert_eq!(document.outcome, StubOutcome::Undecided, "{}", ended.stdout);
    drop(held);
}

/// Whether one call on a connection of its own was answered.
fn call(address: SocketAddr) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(b"GET /users/1 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok::<_, std::io::Error>(answer.contains("one"))
    };
    ask().unwrap_or(false)
}

/// Case 1: whoever connected behind the end was taken for one that had found no place before it.
#[test]
fn calls_that_go_on_behind_the_end_are_no_calls_without_a_place() {
    let place = Place::new();
    let stub = Stub::canned(&place, &[]);
    let (legacy, candidate) = (stub.legacy, stub.candidate);
    let calls = AtomicU64::new(0);
    let (ended, document) = std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while call(legacy) && call(candidate) {
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        wait_for("calls", || {
            (calls.load(Ordering::Relaxed) > 500).then_some(())
        });
        stub.stop()
    });
    assert_eq!(document.limits.get("no_place"), None, "{}", ended.stdout);
    assert_eq!(document.outcome, StubOutcome::Pass, "{}", ended.stdout);
}

#[test]
fn bodies_without_an_end_are_cut_and_make_it_undecided() {
    let place = Place::new();
    let stub = Stub::canned(&place, &[]);
    stub.both(&[], ["{}", "{}"]);
    let head = b"POST /totals HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut endless = open(stub.legacy, head);
    let chunk = [b"10000\r\n".as_slice(), &vec![b'x'; 0x1_0000], b"\r\n"].concat();
    let mut sent = 0_u64;
    while sent < 512 << 20 && endless.write_all(&chunk).is_ok() {
        sent += chunk.len() as u64;
    }
    assert!(sent < 64 << 20, "{sent} bytes were taken");
    let peak = peak(&stub);
    assert!(peak < 256 << 20, "{peak}");
    let (ended, document) = stub.stop();
    assert_eq!(
        (document.outcome, document.limits["too_large"]),
        (StubOutcome::Undecided, 1),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_thousand_bodies_that_are_held_back_hold_no_more_than_the_budget() {
    let place = Place::new();
    place.write("parity.toml", "[limits]\nshadow_bytes = \"4MiB\"\n");
    let stub = Stub::canned(&place, &[]);
    let body = vec![b'x'; 64 << 10];
    let head = format!(
        "POST /totals HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n",
        body.len() + 1
    );
    let held: Vec<TcpStream> = (0..600)
        .map(|_| open(stub.legacy, &[head.as_bytes(), &body].concat()))
        .collect();
    wait_for("the answer to one that found no room", || {
        held.iter().find_map(|mut stream| {
            stream.set_nonblocking(true).expect("a socket option");
            let mut answer = [0; 64];
            let length = stream.read(&mut answer).ok()?;
            String::from_utf8_lossy(&answer[..length])
                .contains("503")
                .then_some(())
        })
    });
    let peak = peak(&stub);
    assert!(peak < 192 << 20, "{peak}");
    drop(held);
    wait_for("room for others", || {
        (Stub::totals(stub.candidate, &[], "{}").status == 202).then_some(())
    });
    let (ended, document) = stub.stop();
    assert_eq!(document.outcome, StubOutcome::Undecided, "{}", ended.stdout);
    assert!(document.limits["bytes"] > 0, "{}", ended.stdout);
}

#[test]
fn more_connections_than_places_wait_and_the_end_comes() {
    let place = Place::new();
    // 32 places.
    let stub = Stub::limited(&place, 160);
    let held: Vec<TcpStream> = (0..100).map(|_| open(stub.legacy, b"")).collect();
    let peak = peak(&stub);
    assert!(peak < 192 << 20, "{peak}");
    assert_eq!(
        client::get(stub.candidate, "/users/1").text(),
        "one",
        "the other side has places of its own"
    );
    drop(held);
    wait_for("a place", || {
        (client::get(stub.legacy, "/users/1").text() == "one").then_some(())
    });
    let (ended, document) = stub.stop();
    assert_eq!(counts(&document), [1, 1, 1, 0, 0, 0], "{}", ended.stdout);
}

#[test]
fn calls_without_partners_are_bounded() {
    let place = Place::new();
    let stub = Stub::canned(&place, &["--correlate-by", "x-none", "--wait", "60s"]);
    let mut connection = client::Connection::open(stub.legacy);
    for _ in 0..10_200 {
        connection.send("GET", "/users/1", &[], b"");
        assert_eq!(connection.answer("GET").expect("an answer").status, 200);
    }
    let (ended, document) = stub.cut();
    assert_eq!(
        (document.limits["unsettled"], document.limits["waiting"]),
        (10_000, 200),
        "{}",
        ended.stdout.len()
    );
    assert_eq!(
        document.outcome,
        StubOutcome::Undecided,
        "what was lost may have been a partner"
    );
}
