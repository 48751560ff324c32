//! Whatever the candidate does, the client's bytes are the same and the reason is exact.

use std::time::Duration;

use parity_mirror::Limits;
use parity_schemas::exchange::Omitted;
use parity_schemas::verdict::Reason;

use crate::support::{Next, Rig, Service, ok};

/// The client gets the legacy's bytes, on one connection, twice; both requests are settled with this reason.
fn check(candidate: &Service, reason: Reason, limits: impl FnOnce(&mut Limits)) {
    let legacy = Service::saying(ok("the legacy's"));
    let mirror = Rig::new(&legacy, candidate)
        .limits(|limits| limits.candidate_deadline = Duration::from_millis(300))
        .limits(limits)
        .start();
    let mut client = mirror.client();
    for count in 1..=2 {
        let reply = client.get("/");
        assert_eq!((reply.status(), reply.text()), (200, "the legacy's"));
        assert_eq!(mirror.ledger.reasons(count), vec![reason; count]);
    }
    assert_eq!(mirror.control.in_flight(), 0);
    assert_eq!(mirror.control.shadow_bytes_held(), 0);
}

/// Answers that the breaker must not be fed with: as many as would open it.
const IN_A_ROW: usize = 30;

/// The client gets the legacy's bytes on one connection, again and again; each request is settled as an exchange that
/// knows the candidate's head and why its body was not kept.
fn check_omitted(candidate: &Service, expected: impl Fn(Omitted) -> bool) {
    let legacy = Service::saying(ok("the legacy's"));
    let mirror = Rig::new(&legacy, candidate).start();
    let mut client = mirror.client();
    for _ in 0..IN_A_ROW {
        let reply = client.get("/");
        assert_eq!((reply.status(), reply.text()), (200, "the legacy's"));
        let exchange = mirror.ledger.exchange();
        assert_eq!(
            (exchange.legacy.status, exchange.candidate.status),
            (200, 500)
        );
        assert_eq!(
            exchange.candidate.headers.get("x-sign").expect("a line"),
            "seen"
        );
        let omitted = exchange.candidate.body.omission();
        assert!(omitted.is_some_and(&expected), "{omitted:?}");
        assert_eq!(&*exchange.legacy.body.contiguous(), b"the legacy's");
    }
    assert_eq!(mirror.control.in_flight(), 0);
    assert_eq!(mirror.control.shadow_bytes_held(), 0);
    candidate.wait_open(0);
}

fn saying(answer: &'static str, reason: Reason) {
    check(
        &Service::saying_then(answer, || Next::Close),
        reason,
        |_| {},
    );
}

#[test]
fn refused() {
    check(&Service::refusing(), Reason::CandidateRefused, |_| {});
}

#[test]
fn hung_before_the_head() {
    let candidate = Service::new(|_, _| Next::Hang);
    check(&candidate, Reason::CandidateTimeout, |_| {});
    candidate.wait_open(0);
}

#[test]
fn hung_within_the_head() {
    let candidate = Service::saying_then("HTTP/1.1 200 OK\r\nx-a", || Next::Hang);
    check(&candidate, Reason::CandidateTimeout, |_| {});
}

#[test]
fn hung_within_the_body() {
    let candidate =
        Service::saying_then("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome", || {
            Next::Hang
        });
    check(&candidate, Reason::CandidateTimeout, |_| {});
    candidate.wait_open(0);
}

#[test]
fn crawling() {
    // A byte whenever the deadline's clock ticks on; it never gets to the end of its thousand.
    let candidate = Service::new(|_, conn| {
        conn.say("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
        while conn.say("x") {
            std::thread::park_timeout(Duration::from_millis(2));
        }
        Next::Close
    });
    check(&candidate, Reason::CandidateTimeout, |_| {});
}

#[test]
fn closed_before_an_answer() {
    check(
        &Service::new(|_, _| Next::Close),
        Reason::CandidateReset,
        |_| {},
    );
}

#[test]
fn reset_before_an_answer() {
    check(
        &Service::new(|_, _| Next::Reset),
        Reason::CandidateReset,
        |_| {},
    );
}

#[test]
fn closed_without_reading() {
    check(&Service::raw(drop), Reason::CandidateReset, |_| {});
}

#[test]
fn closed_within_the_head() {
    saying("HTTP/1.1 200 OK\r\nconte", Reason::CandidateReset);
}

#[test]
fn closed_within_the_body() {
    saying(
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome",
        Reason::CandidateTruncated,
    );
}

#[test]
fn reset_within_the_body() {
    let candidate =
        Service::saying_then("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome", || {
            Next::Reset
        });
    check(&candidate, Reason::CandidateTruncated, |_| {});
}

#[test]
fn closed_within_a_chunk() {
    saying(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nsome",
        Reason::CandidateTruncated,
    );
}

#[test]
fn closed_between_chunks() {
    saying(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nsome\r\n",
        Reason::CandidateTruncated,
    );
}

#[test]
fn garbage() {
    saying("SSH-2.0-OpenSSH_9.9\r\n\r\n", Reason::CandidateProtocol);
    saying("\0\u{1}\u{2}\u{3}", Reason::CandidateProtocol);
}

#[test]
fn garbage_in_chunks() {
    saying(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
        Reason::CandidateProtocol,
    );
}

#[test]
fn a_length_that_is_none() {
    saying(
        "HTTP/1.1 200 OK\r\ncontent-length: some\r\n\r\nbody",
        Reason::CandidateProtocol,
    );
}

#[test]
fn two_lengths() {
    saying(
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nbody!",
        Reason::CandidateProtocol,
    );
}

#[test]
fn a_switch_of_protocols_that_nobody_asked_for() {
    saying(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
        Reason::CandidateProtocol,
    );
}

#[test]
fn a_bomb_of_fields() {
    let fields = "x-bomb: boom\r\n".repeat(10_000);
    let candidate =
        Service::saying_then(format!("HTTP/1.1 200 OK\r\n{fields}\r\n"), || Next::Close);
    check(&candidate, Reason::CandidateProtocol, |_| {});
}

#[test]
fn a_head_without_an_end() {
    let candidate = Service::new(|_, conn| {
        conn.say("HTTP/1.1 200 OK\r\nx: ");
        while conn.say([b'x'; 4096]) {}
        Next::Close
    });
    check(&candidate, Reason::CandidateProtocol, |limits| {
        limits.candidate_deadline = Duration::from_secs(10);
    });
}

#[test]
fn an_answer_without_an_end() {
    let candidate = Service::new(|_, conn| {
        conn.say("HTTP/1.1 500 No\r\nx-sign: seen\r\n\r\n");
        while conn.say([b'x'; 4096]) {}
        Next::Close
    });
    check_omitted(
        &candidate,
        |omitted| matches!(omitted, Omitted::TooLarge { at_least } if at_least > 1 << 20),
    );
}

#[test]
fn an_announced_length_over_the_limit_is_not_waited_for() {
    let candidate = Service::saying_then(
        "HTTP/1.1 500 No\r\nx-sign: seen\r\ncontent-length: 99999999\r\n\r\nsome",
        || Next::Hang,
    );
    check_omitted(&candidate, |omitted| {
        omitted
            == Omitted::TooLarge {
                at_least: 99_999_999,
            }
    });
}

#[test]
fn a_stream_of_events() {
    let candidate = Service::saying_then(
        "HTTP/1.1 500 No\r\nx-sign: seen\r\ncontent-type: text/event-stream\r\n\r\ndata: 1\n\n",
        || Next::Hang,
    );
    check_omitted(&candidate, |omitted| omitted == Omitted::Stream);
}

#[test]
fn an_answer_without_a_body_is_no_stream_whatever_it_says() {
    for (method, answer) in [
        (
            "HEAD",
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99999999\r\n\r\n",
        ),
        (
            "GET",
            "HTTP/1.1 204 None\r\ncontent-type: text/event-stream\r\n\r\n",
        ),
        (
            "GET",
            "HTTP/1.1 304 Same\r\ncontent-type: text/event-stream\r\ncontent-length: 99999999\r\n\r\n",
        ),
    ] {
        let service = Service::saying(answer);
        let mirror = Rig::new(&service, &service).start();
        mirror.client().ask(method, "/");
        let exchange = mirror.ledger.exchange();
        for capture in [&exchange.legacy, &exchange.candidate] {
            assert_eq!((capture.body.omission(), capture.body.len()), (None, 0));
        }
    }
}

#[test]
fn more_bytes_than_announced_end_the_connection_and_nothing_else() {
    let candidate = Service::saying(
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 500 Smuggled\r\ncontent-length: 0\r\n\r\n",
    );
    let mirror = Rig::new(&Service::saying(ok("a")), &candidate).start();
    let mut client = mirror.client();
    for _ in 0..3 {
        client.get("/");
        let exchange = mirror.ledger.exchange();
        assert_eq!(exchange.candidate.status, 200);
        assert_eq!(&*exchange.candidate.body.contiguous(), b"ok");
    }
    assert_eq!(candidate.connections(), 3);
}

#[test]
fn an_idle_connection_that_was_closed_is_no_failure() {
    // Keep-alive is promised and not kept, so every second request meets a dead connection.
    let candidate = Service::saying_then(ok("b"), || Next::Close);
    let legacy = Service::saying(ok("a"));
    let mirror = Rig::new(&legacy, &candidate).start();
    let mut client = mirror.client();
    for _ in 0..20 {
        client.get("/");
        let exchange = mirror.ledger.exchange();
        assert_eq!(&*exchange.candidate.body.contiguous(), b"b");
        candidate.wait_open(0);
    }
}

#[test]
fn a_slow_legacy_holds_nobody_but_its_client() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let legacy = Service::new(move |_, conn| {
        wait.lock().expect("no panic").recv().expect("told");
        conn.say(ok("late"));
        Next::Keep
    });
    let candidate = Service::saying(ok("early"));
    let mirror = Rig::new(&legacy, &candidate).start();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    candidate.requests(1);
    mirror.wait("done with the candidate", |mirror| {
        mirror.control.in_flight() == 0
    });
    go.send(()).expect("the legacy waits");
    assert_eq!(client.reply().text(), "late");
    let exchange = mirror.ledger.exchange();
    assert_eq!(&*exchange.candidate.body.contiguous(), b"early");
    assert!(exchange.candidate.elapsed < exchange.legacy.elapsed);
}

#[test]
fn a_slow_candidate_costs_the_client_nothing() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let candidate = Service::new(move |_, conn| {
        wait.lock().expect("no panic").recv().expect("told");
        conn.say(ok("late"));
        Next::Keep
    });
    let mirror = Rig::new(&Service::saying(ok("early")), &candidate).start();
    let mut client = mirror.client();
    for _ in 0..5 {
        assert_eq!(client.get("/").text(), "early");
    }
    for _ in 0..5 {
        go.send(()).expect("the candidate waits");
    }
    mirror.ledger.exchanges(5);
}
