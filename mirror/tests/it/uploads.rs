//! Requests with a body: streamed to the legacy, copied on the way, sent to the candidate when complete.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use parity_schemas::verdict::Reason;

use crate::support::h2::{Act, H2Service};
use crate::support::wire::{fill_until, find, read_request};
use crate::support::{Next, Rig, Running, Service, ok};

fn rig(legacy: &Service, candidate: &Service) -> Running {
    Rig::new(legacy, candidate)
        .route("POST /{*any}", Some(true))
        .limits(|limits| limits.linger = Duration::from_millis(200))
        .start()
}

#[test]
fn the_legacy_reads_the_body_while_it_is_being_sent() {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let legacy = Service::raw(move |mut conn| {
        let mut buffer = Vec::new();
        fill_until(&mut conn, &mut buffer, |bytes| find(bytes, b"first"));
        tell.lock().expect("no panic").send(()).expect("waited for");
        if read_request(&mut conn, &mut buffer).is_some() {
            conn.say(ok("thanks"));
        }
    });
    let candidate = Service::saying(ok("thanks"));
    let mirror = rig(&legacy, &candidate);
    let mut client = mirror.client();
    client.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 11\r\n\r\nfirst");
    told.recv().expect("the legacy has the first half");
    assert_eq!(candidate.connections(), 0);
    client.send(" second");
    // `first second` has twelve bytes: the last one begins nothing that counts.
    assert_eq!(client.reply().text(), "thanks");
    assert_eq!(candidate.requests(1)[0].body, b"first secon");
    let exchange = mirror.ledger.exchange();
    assert_eq!(&*exchange.request.body.contiguous(), b"first secon");
}

#[test]
fn the_candidate_does_not_wait_for_the_legacys_answer() {
    let (go, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let legacy = Service::new(move |_, conn| {
        wait.lock().expect("no panic").recv().expect("told");
        conn.say(ok("late"));
        Next::Keep
    });
    let candidate = Service::saying(ok("early"));
    let mirror = rig(&legacy, &candidate);
    let mut client = mirror.client();
    client.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 4\r\n\r\nbody");
    assert_eq!(candidate.requests(1)[0].body, b"body");
    go.send(()).expect("the legacy waits");
    assert_eq!(client.reply().text(), "late");
    mirror.ledger.exchange();
}

/// A legacy that speaks HTTP/2, whose connection and not the request's task reads the client's body.
fn http2(legacy: &H2Service, candidate: &Service) -> Running {
    let target = crate::http2::target(legacy);
    Rig::new(&Service::refusing(), candidate)
        .policy(|policy| policy.legacy = target)
        .route("POST /{*any}", Some(true))
        .start()
}

#[test]
fn the_candidate_waits_for_no_answer_of_a_legacy_of_http2_either() {
    let legacy = H2Service::new(|_| Act::Hang);
    let candidate = Service::saying(ok("early"));
    let mirror = http2(&legacy, &candidate);
    for (round, (first, second)) in [("body", ""), ("bo", "dy")].into_iter().enumerate() {
        let mut client = mirror.client();
        client.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 4\r\n\r\n");
        client.send(first);
        client.send(second);
        assert_eq!(candidate.requests(round + 1)[round].body, b"body");
        // The legacy still says nothing; a client that leaves now is the reason.
        client.reset();
        assert_eq!(
            mirror.ledger.reasons(round + 1)[round],
            Reason::ClientAborted
        );
    }
}

#[test]
fn a_legacy_of_http2_that_begins_its_answer_early_keeps_nothing_from_the_candidate() {
    let legacy = H2Service::new(|_| Act::Early);
    let candidate = Service::saying(ok("8"));
    let mirror = http2(&legacy, &candidate);
    let mut client = mirror.client();
    client.send("POST / HTTP/1.1\r\nhost: test\r\nx-early: 1\r\ncontent-length: 8\r\n\r\nhalf");
    client.read_until(b"\r\n\r\n");
    assert_eq!(candidate.connections(), 0);
    client.send("half");
    client.read_until(b"1\r\n8\r\n");
    assert_eq!(candidate.requests(1)[0].body, b"halfhalf");
    mirror.ledger.exchange();
}

#[test]
fn a_client_that_sends_its_last_byte_and_closes_its_side_is_compared() {
    let service = Service::saying(ok("a"));
    let (http1, http2) = (
        rig(&service, &service),
        http2(
            &H2Service::new(|_| Act::Answer(http::Response::new(()), vec![b"a"], None)),
            &service,
        ),
    );
    for mirror in [http1, http2] {
        let mut client = mirror.client();
        client.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 4\r\n\r\nbo");
        client.send("dy").close_writing();
        client.read_until(b"a");
        let exchange = mirror.ledger.exchange();
        assert_eq!(&*exchange.request.body.contiguous(), b"body");
    }
}

#[test]
fn chunked_requests_stay_chunked_and_their_trailers_are_passed_on() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = rig(&legacy, &candidate);
    let mut client = mirror.client();
    client.send(
        "POST / HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n",
    );
    client.send("4\r\nsome\r\n5\r\n more\r\n0\r\nx-sum: 1\r\n\r\n");
    assert_eq!(client.reply().status(), 200);
    for service in [&legacy, &candidate] {
        let request = &service.requests(1)[0];
        assert_eq!(request.body, b"some more");
        assert_eq!(request.header("transfer-encoding"), ["chunked"]);
        assert!(request.header("content-length").is_empty());
    }
    assert_eq!(client.post("/", "again").status(), 200);
}

#[test]
fn a_get_in_chunks_keeps_its_body() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = rig(&legacy, &candidate);
    let mut client = mirror.client();
    for count in 1..=3 {
        client.send("GET / HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n");
        assert_eq!(client.reply().status(), 200);
        for service in [&legacy, &candidate] {
            let request = &service.requests(count)[count - 1];
            assert_eq!(request.body, b"body");
            assert_eq!(request.header("transfer-encoding"), ["chunked"]);
        }
    }
}

#[test]
fn an_empty_body_is_no_body() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = rig(&legacy, &candidate);
    mirror.client().post("/", "");
    for service in [&legacy, &candidate] {
        assert_eq!(service.requests(1)[0].header("content-length"), ["0"]);
    }
    assert!(mirror.ledger.exchange().request.body.is_empty());
}

#[test]
fn a_large_upload_arrives_whole_and_is_not_copied() {
    let legacy = Service::new(|request, conn| {
        conn.say(ok(&request.body.len().to_string()));
        Next::Keep
    });
    let candidate = Service::saying(ok("a"));
    let mirror = rig(&legacy, &candidate);
    let mut client = mirror.client();
    let body = "x".repeat(20 * 1024 * 1024);
    assert_eq!(client.post("/", &body).text(), body.len().to_string());
    assert_eq!(mirror.ledger.reason(), Reason::RequestTooLarge);
    assert_eq!(
        (candidate.connections(), mirror.control.shadow_bytes_held()),
        (0, 0)
    );
}

#[test]
fn an_early_answer_leaks_no_connection() {
    // Refuses by the head alone and reads nothing more, without closing either.
    let legacy = Service::raw(|mut conn| {
        let mut buffer = Vec::new();
        fill_until(&mut conn, &mut buffer, |bytes| find(bytes, b"\r\n\r\n"));
        conn.say("HTTP/1.1 413 Content Too Large\r\ncontent-length: 2\r\n\r\nno");
        conn.wait_for_close();
    });
    let candidate = Service::saying(ok("a"));
    for _ in 0..5 {
        let mirror = rig(&legacy, &candidate);
        let mut client = mirror.client();
        client.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 10485760\r\n\r\n");
        let chunk = vec![b'x'; 64 * 1024];
        // Goes on sending until the mirror has had enough of it.
        client.send("x");
        assert_eq!(client.reply().status(), 413);
        for _ in 0..159 {
            if !client.try_send(&chunk) {
                break;
            }
        }
        let reason = mirror.ledger.reasons(1);
        assert!(
            matches!(
                reason[..],
                [Reason::ClientAborted | Reason::RequestTooLarge]
            ),
            "{reason:?}"
        );
    }
    assert_eq!(candidate.connections(), 0);
}

#[test]
fn an_early_answer_does_not_keep_the_upload_from_its_end() {
    let legacy = Service::raw(|mut conn| {
        let mut buffer = Vec::new();
        loop {
            if fill_until(&mut conn, &mut buffer, |bytes| find(bytes, b"\r\n\r\n")).is_none() {
                return;
            }
            conn.say(ok("early"));
            if read_request(&mut conn, &mut buffer).is_none() {
                return;
            }
        }
    });
    let candidate = Service::saying(ok("b"));
    let mirror = Rig::new(&legacy, &candidate)
        .route("POST /", Some(true))
        .start();
    let mut client = mirror.client();
    for round in 1..=3 {
        client.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 4\r\n\r\n");
        assert_eq!(client.reply().text(), "early");
        client.send("body");
        assert_eq!(candidate.requests(round)[round - 1].body, b"body");
        mirror.ledger.reasons(round);
    }
    mirror.ledger.exchanges(3);
    assert_eq!(legacy.connections(), 1, "the connection is used again");
}

#[test]
fn a_legacy_that_breaks_during_the_upload_is_the_reason() {
    let legacy = Service::raw(|mut conn| {
        let mut buffer = Vec::new();
        fill_until(&mut conn, &mut buffer, |bytes| find(bytes, b"some"));
    });
    let candidate = Service::saying(ok("a"));
    let mirror = rig(&legacy, &candidate);
    let mut client = mirror.client();
    client.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 100\r\n\r\nsome");
    assert_eq!(client.reply().status(), 502);
    assert_eq!(mirror.ledger.reason(), Reason::LegacyUnreachable);
    assert_eq!(candidate.connections(), 0);
}
