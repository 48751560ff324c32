//! A legacy that fails: the client gets an error, and the reason for the missing verdict is counted.

use std::time::Duration;

use http::Response;
use parity_mirror::{Mode, Target};
use parity_schemas::exchange::Omitted;
use parity_schemas::verdict::Reason;

use crate::support::h2::{Act, H2Service};
use crate::support::{Next, Rig, Running, Service, ok};

fn before(legacy: &Service) -> Running {
    Rig::new(legacy, &Service::saying(ok("candidate"))).start()
}

#[test]
fn a_legacy_that_is_down_is_502_in_plain_words() {
    let mirror = before(&Service::refusing());
    assert!(mirror.control.legacy_reachable());
    let mut client = mirror.client();
    for count in 1..=2 {
        let reply = client.get("/");
        assert_eq!(reply.status(), 502);
        assert_eq!(reply.header("content-type"), ["text/plain; charset=utf-8"]);
        assert_eq!(reply.text(), "parity: the legacy service did not answer\n");
        assert_eq!(
            mirror.ledger.reasons(count),
            vec![Reason::LegacyUnreachable; count]
        );
    }
    assert!(!mirror.control.legacy_reachable());
    assert_eq!(mirror.ledger.answered().last().expect("answered").1, 502);
}

#[test]
fn the_legacys_failure_comes_before_the_candidates() {
    let mirror = Rig::new(&Service::refusing(), &Service::refusing()).start();
    mirror.client().get("/");
    assert_eq!(mirror.ledger.reason(), Reason::LegacyUnreachable);
}

#[test]
fn an_unsafe_method_stays_one_whatever_the_legacy_does() {
    let mirror = before(&Service::refusing());
    assert_eq!(mirror.client().post("/", "x").status(), 502);
    assert_eq!(mirror.ledger.reason(), Reason::UnsafeMethod);
}

#[test]
fn an_answer_that_is_none_is_not_asked_for_again() {
    let legacy = Service::new(|request, conn| {
        conn.say(match request.target() {
            "/good" => ok("a"),
            _ => "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab".into(),
        });
        Next::Keep
    });
    let mirror = before(&legacy);
    let mut client = mirror.client();
    assert_eq!(client.get("/good").status(), 200);
    assert_eq!(client.get("/bad").status(), 502);
    let targets: Vec<_> = legacy
        .seen()
        .iter()
        .map(|one| one.target().to_owned())
        .collect();
    assert_eq!(targets, ["/good", "/bad"], "it was no stale connection");
}

#[test]
fn an_answer_whose_coding_would_be_lost_is_none() {
    for (coding, status) in [
        ("gzip, chunked", 502),
        ("chunked", 200),
        ("chunked\r\ntransfer-encoding: chunked", 200),
    ] {
        let legacy = Service::saying(format!(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: {coding}\r\n\r\n1\r\nx\r\n0\r\n\r\n"
        ));
        let mirror = before(&legacy);
        let mut client = mirror.client();
        for _ in 0..2 {
            assert_eq!(client.get("/").status(), status, "{coding}");
        }
    }
}

#[test]
fn folded_fields_and_a_space_before_the_colon_are_repaired() {
    let crooked = "HTTP/1.1 200 OK\r\nX-Folded: one\r\n  two\r\n\tthree\r\nX-Spaced : four\r\nContent-Length :\r\n 1\r\n\r\na";
    let straight = "HTTP/1.1 200 OK\r\nx-folded: one two three\r\nx-spaced: four\r\ncontent-length: 1\r\n\r\na";
    for (legacy, candidate) in [(crooked, straight), (straight, crooked)] {
        let (legacy, candidate) = (Service::saying(legacy), Service::saying(candidate));
        let mirror = Rig::new(&legacy, &candidate).start();
        let mut client = mirror.client();
        for _ in 0..2 {
            let reply = client.get("/");
            assert_eq!((reply.status(), reply.text()), (200, "a"));
            assert_eq!(reply.header("x-spaced"), ["four"]);
            let folded: Vec<_> = reply.header("x-folded")[0].split_whitespace().collect();
            assert_eq!(folded, ["one", "two", "three"]);
        }
        for exchange in mirror.ledger.exchanges(2) {
            for capture in [&exchange.legacy, &exchange.candidate] {
                assert_eq!(capture.headers.get("x-spaced").expect("a line"), "four");
                assert_eq!(capture.headers.get("content-length").expect("a line"), "1");
            }
        }
    }
}

#[test]
fn a_legacy_that_breaks_before_its_answer_is_502() {
    for legacy in [
        Service::new(|_, _| Next::Close),
        Service::new(|_, _| Next::Reset),
        Service::saying_then("HTTP/1.1 200 OK\r\nx-", || Next::Close),
        Service::saying_then("not http\r\n\r\n", || Next::Close),
        Service::saying("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
        Service::raw(drop),
    ] {
        let mirror = before(&legacy);
        assert_eq!(mirror.client().get("/").status(), 502);
        assert_eq!(mirror.ledger.reason(), Reason::LegacyUnreachable);
    }
}

#[test]
fn a_cut_answer_is_cut_for_the_client_too() {
    for (answer, body) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome", "some"),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nsome\r\n",
            "4\r\nsome\r\n",
        ),
    ] {
        let mirror = before(&Service::saying_then(answer, || Next::Close));
        let mut client = mirror.client();
        client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
        let whole = String::from_utf8(client.rest()).expect("text");
        let (head, rest) = whole.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        assert_eq!(rest, body);
        assert_eq!(mirror.ledger.reason(), Reason::LegacyTruncated);
    }
}

#[test]
fn a_failure_has_one_reason_whether_a_client_waits_for_the_legacy_or_a_tap_asks_it() {
    let nonsense = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nsome\r\nnonsense\r\n";
    let short = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome";
    let services = [
        (Service::refusing(), Reason::LegacyUnreachable),
        (Service::raw(drop), Reason::LegacyUnreachable),
        (Service::new(|_, _| Next::Reset), Reason::LegacyUnreachable),
        (
            Service::saying_then("not http\r\n\r\n", || Next::Close),
            Reason::LegacyUnreachable,
        ),
        (
            Service::saying("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
            Reason::LegacyUnreachable,
        ),
        (
            Service::saying_then(short, || Next::Close),
            Reason::LegacyTruncated,
        ),
        (
            Service::saying_then(short, || Next::Reset),
            Reason::LegacyTruncated,
        ),
        (
            Service::saying_then(nonsense, || Next::Hang),
            Reason::LegacyTruncated,
        ),
    ];
    let breaks = |reason| H2Service::new(move |_| Act::Break(Response::new(()), b"some", reason));
    let http2_services = [
        (
            H2Service::new(|_| Act::Reset(h2::Reason::INTERNAL_ERROR)),
            Reason::LegacyUnreachable,
        ),
        (
            H2Service::new(|_| Act::Reset(h2::Reason::PROTOCOL_ERROR)),
            Reason::LegacyUnreachable,
        ),
        (H2Service::new(|_| Act::GoAway), Reason::LegacyUnreachable),
        (breaks(h2::Reason::CANCEL), Reason::LegacyTruncated),
        (breaks(h2::Reason::PROTOCOL_ERROR), Reason::LegacyTruncated),
    ];
    let of_http1 = services
        .iter()
        .map(|(service, expected)| (Target::new(service.url()), *expected));
    let of_http2 = http2_services
        .iter()
        .map(|(service, expected)| (crate::http2::target(service), *expected));
    let candidate = Service::saying(ok("candidate"));
    for (number, (legacy, expected)) in of_http1.chain(of_http2).enumerate() {
        for mode in [Mode::Proxy, Mode::Tap] {
            let legacy = legacy.clone();
            let mirror = Rig::new(&candidate, &candidate)
                .policy(move |policy| {
                    policy.legacy = legacy;
                    policy.mode = mode;
                })
                .start();
            let mut client = mirror.client();
            client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
            assert!(client.head().is_some(), "case {number} in {mode:?}");
            let reason = mirror.ledger.reason();
            assert_eq!(reason, expected, "case {number} in {mode:?}");
        }
    }
}

#[test]
fn a_legacy_that_violates_http2_is_told_from_one_that_is_down() {
    for (reason, words) in [
        (
            h2::Reason::PROTOCOL_ERROR,
            "parity: the legacy service answered something that cannot be passed on as HTTP\n",
        ),
        (
            h2::Reason::INTERNAL_ERROR,
            "parity: the legacy service did not answer\n",
        ),
    ] {
        let legacy = H2Service::new(move |_| Act::Reset(reason));
        let candidate = Service::saying(ok("candidate"));
        let mirror = Rig::new(&candidate, &candidate)
            .policy(|policy| policy.legacy = crate::http2::target(&legacy))
            .start();
        let reply = mirror.client().get("/");
        assert_eq!((reply.status(), reply.text()), (502, words));
    }
}

#[test]
fn an_idle_connection_that_was_closed_is_not_the_clients_problem() {
    let legacy = Service::saying_then(ok("a"), || Next::Close);
    let mirror = before(&legacy);
    let mut client = mirror.client();
    for _ in 0..20 {
        assert_eq!(client.get("/").text(), "a");
        legacy.wait_open(0);
    }
    mirror.ledger.exchanges(20);
}

#[test]
fn a_request_that_may_have_been_worked_on_is_not_sent_twice() {
    // The second request on a connection is read and dropped: only what has no effect goes out again.
    let legacy = Service::raw(|mut conn| {
        let mut buffer = Vec::new();
        if crate::support::wire::read_request(&mut conn, &mut buffer).is_some() {
            conn.say(ok("a"));
            crate::support::wire::read_request(&mut conn, &mut buffer);
        }
    });
    // What asks for another method has an effect, and so has what a route forbids to be sent twice.
    let mirror = before(&legacy);
    let mut client = mirror.client();
    assert_eq!(client.get("/").status(), 200);
    client.send("GET / HTTP/1.1\r\nhost: test\r\nx_http_method_override: DELETE\r\n\r\n");
    assert_eq!(client.reply().status(), 502);
    for (method, status) in [
        ("GET", 200),
        ("HEAD", 200),
        ("DELETE", 502),
        ("PUT", 502),
        ("POST", 502),
    ] {
        let mirror = before(&legacy);
        let mut client = mirror.client();
        assert_eq!(client.get("/").status(), 200);
        assert_eq!(client.ask(method, "/").status(), status, "{method}");
    }
}

#[test]
fn the_mirror_has_no_patience_of_its_own_with_the_legacy() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let legacy = Service::new(move |_, conn| {
        wait.lock().expect("no panic").recv().expect("told");
        conn.say(ok("late"));
        Next::Keep
    });
    let mirror = Rig::new(&legacy, &Service::new(|_, _| Next::Hang))
        .limits(|limits| {
            limits.candidate_deadline = Duration::from_millis(50);
            limits.header_read = Duration::from_millis(50);
            limits.client_idle = Duration::from_millis(50);
        })
        .start();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    mirror.wait("past the deadline", |mirror| {
        mirror.ledger.balance().0 == 1 && mirror.control.in_flight() == 0
    });
    assert_eq!(mirror.ledger.balance(), (1, 0), "it waits for the legacy");
    go.send(()).expect("the legacy waits");
    assert_eq!(client.reply().text(), "late");
    assert_eq!(mirror.ledger.reason(), Reason::CandidateTimeout);
}

#[test]
fn a_stream_of_events_reaches_the_client_and_only_its_head_is_kept() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let legacy = Service::new(move |_, conn| {
        conn.say("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
        while wait.lock().expect("no panic").recv().is_ok() {
            if !conn.say("data: tick\n\n") {
                break;
            }
        }
        Next::Close
    });
    let mirror = before(&legacy);
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    for _ in 0..3 {
        go.send(()).expect("the legacy waits");
        client.read_until(b"tick");
    }
    // Settled while the stream runs.
    let exchange = mirror.ledger.exchange();
    assert_eq!(exchange.legacy.body.omission(), Some(Omitted::Stream));
    assert_eq!(exchange.candidate.body.omission(), None);
    drop(go);
}
