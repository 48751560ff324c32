//! A candidate that misbehaves costs its clients nothing, is counted under its own name, and fails the gate.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use crate::support::process::Place;
use crate::support::report::Report;
use crate::support::service::{Answer, Request, Service, nobody};

const REQUESTS: u64 = 60;
const BODY: &str = "{\"balance\":\"12.50\"}";

/// Sends traffic with this candidate; the clients must get the legacy's bytes whatever it does.
fn with_candidate(url: &str, more: &str) -> (Report, i32) {
    let legacy = Service::json(BODY);
    let place = Place::new();
    place.write(
        "parity.toml",
        format!("[limits]\ncandidate_deadline = \"300ms\"\n{more}"),
    );
    let mirror = place.mirror(&legacy.url(), url, &[]);
    for _ in 0..REQUESTS {
        let answer = mirror.get("/balance");
        assert_eq!((answer.status, answer.text().as_str()), (200, BODY));
    }
    let report = mirror.settled(REQUESTS);
    assert_eq!(mirror.stop().0, 0);
    let gate = place.run(&["gate"]);
    (report, gate.code)
}

fn expect(report: &Report, reasons: &[&str]) {
    let counts: BTreeMap<_, _> = report.not_compared();
    assert_eq!(report.settled(), REQUESTS);
    assert!(
        counts
            .keys()
            .all(|reason| reasons.contains(&reason.as_str())),
        "{counts:?} instead of {reasons:?}"
    );
    assert!(
        counts.contains_key(reasons[0]),
        "{counts:?} lacks {}",
        reasons[0]
    );
}

/// A candidate that acts on the socket after it has read the request.
fn misbehaving(act: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static) -> Service {
    Service::misbehaving(act)
}

fn write(stream: &mut TcpStream, bytes: impl AsRef<[u8]>) {
    // The mirror may have hung up already, which is what some of these cases are about.
    drop(stream.write_all(bytes.as_ref()));
}

#[test]
fn a_candidate_that_is_down_is_refused_and_fails_the_gate() {
    let (report, gate) = with_candidate(&nobody(), "");
    expect(&report, &["candidate_refused", "breaker_open"]);
    assert_eq!(gate, 1);
}

#[test]
fn a_candidate_that_hangs_times_out() {
    let hanging = misbehaving(|_, stream| drop(stream.read(&mut [0])));
    let (report, gate) = with_candidate(&hanging.url(), "");
    expect(&report, &["candidate_timeout", "breaker_open"]);
    assert_eq!(gate, 1);
}

#[test]
fn a_candidate_that_closes_before_it_answers_resets() {
    let closing = misbehaving(|_, _| {});
    let (report, gate) = with_candidate(&closing.url(), "");
    expect(&report, &["candidate_reset", "breaker_open"]);
    assert_eq!(gate, 1);
}

#[test]
fn a_candidate_that_closes_in_the_middle_of_a_body_is_truncated() {
    let cut = misbehaving(|_, stream| {
        write(
            stream,
            format!("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{BODY}"),
        );
    });
    let (report, gate) = with_candidate(&cut.url(), "");
    expect(&report, &["candidate_truncated"]);
    assert_eq!(gate, 1);
    let cut = misbehaving(|_, stream| {
        write(
            stream,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"bal",
        );
    });
    expect(&with_candidate(&cut.url(), "").0, &["candidate_truncated"]);
}

#[test]
fn garbage_is_a_protocol_error() {
    let garbage = misbehaving(|_, stream| write(stream, "\x00\x01\x02 what is this\r\n\r\n"));
    let (report, gate) = with_candidate(&garbage.url(), "");
    expect(&report, &["candidate_protocol", "breaker_open"]);
    assert_eq!(gate, 1);
}

#[test]
fn answers_over_the_limit_and_without_an_end_count_against_the_candidate() {
    let large = Service::start(|_| Answer::json("9".repeat(100_000)));
    expect(
        &with_candidate(&large.url(), "body = \"64KiB\"\n").0,
        &["candidate_too_large"],
    );
    let endless = misbehaving(|_, stream| {
        write(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        );
        while stream
            .write_all(b"400\r\n")
            .and_then(|()| stream.write_all(&[b'x'; 0x400]))
            .and_then(|()| stream.write_all(b"\r\n"))
            .is_ok()
        {}
    });
    expect(
        &with_candidate(&endless.url(), "body = \"64KiB\"\n").0,
        &["candidate_too_large", "candidate_timeout"],
    );
}

#[test]
fn a_decompression_bomb_is_bounded() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![b'0'; 1 << 20];
    for _ in 0..256 {
        encoder.write_all(&zeros).expect("memory");
    }
    let bomb = encoder.finish().expect("memory");
    assert!(bomb.len() < 1 << 20);
    let candidate =
        Service::start(move |_| Answer::json(bomb.clone()).header("content-encoding", "gzip"));
    expect(
        &with_candidate(&candidate.url(), "").0,
        &["candidate_too_large"],
    );
}

#[test]
fn nesting_that_differs_is_too_deep_and_nesting_that_is_equal_matches() {
    let deep = |inner: &str| "[".repeat(100_000) + inner + &"]".repeat(100_000);
    let (one, other) = (deep("1"), deep("2"));
    let same = one.clone();
    let legacy = Service::start(move |_| Answer::json(one.clone()));
    let candidate = Service::start(move |request| {
        Answer::json(if request.target == "/same" {
            same.clone()
        } else {
            other.clone()
        })
    });
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    assert_eq!(mirror.get("/same").body.len(), 200_001);
    assert_eq!(mirror.get("/other").body.len(), 200_001);
    let report = mirror.settled(2);
    assert_eq!(
        (report.count("match"), report.not_compared()["too_deep"]),
        (1, 1)
    );
    mirror.stop();
}

#[test]
fn encodings_are_undone_for_the_comparison_and_left_alone_for_the_client() {
    let gzip = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).expect("memory");
        encoder.finish().expect("memory")
    };
    let sent = gzip("{\"a\":1,\"b\":2}");
    let expected = sent.clone();
    let legacy =
        Service::start(move |_| Answer::json(sent.clone()).header("content-encoding", "gzip"));
    let candidate = Service::start(move |request| match request.target.as_str() {
        "/same" => Answer::json("{\"b\":2,\"a\":1}"),
        "/changed" => Answer::json(gzip("{\"a\":1,\"b\":3}")).header("content-encoding", "gzip"),
        _ => Answer::json("not gzip at all").header("content-encoding", "gzip"),
    });
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for path in ["/same", "/changed", "/corrupt"] {
        let answer = mirror.get(path);
        assert_eq!(
            (answer.header("content-encoding"), &answer.body),
            (Some("gzip"), &expected)
        );
    }
    let report = mirror.settled(3);
    assert_eq!(
        (
            report.count("match"),
            report.count("mismatch"),
            report.not_compared().len()
        ),
        (1, 2, 0)
    );
    let mut groups = report.groups();
    groups.sort();
    assert_eq!(
        groups,
        [
            "GET /changed body /b value -",
            "GET /corrupt body  decode -"
        ]
    );
    mirror.stop();
}

#[test]
fn answers_without_a_body_keep_their_framing_and_match() {
    let service = || {
        Service::start(|request| match request.target.as_str() {
            "/204" => Answer::new(204, ""),
            "/302" => Answer::new(302, "").header("location", "/elsewhere"),
            "/304" => Answer::new(304, "").header("etag", "\"1\""),
            _ => Answer::json("{\"a\":1}"),
        })
    };
    let (legacy, candidate) = (service(), service());
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for (path, status) in [("/204", 204), ("/302", 302), ("/304", 304)] {
        assert_eq!(mirror.get(path).status, status, "{path}");
    }
    let head = crate::support::client::send(mirror.address, "HEAD", "/x", &[], b"");
    assert_eq!(
        (head.status, head.header("content-length"), head.body.len()),
        (200, Some("7"), 0)
    );
    assert_eq!(mirror.settled(4).count("match"), 4);
    assert_eq!(legacy.seen(), 4, "redirects are passed on, never followed");
    mirror.stop();
}

#[test]
fn a_hung_candidate_does_not_delay_the_next_request_of_the_same_connection() {
    let hanging = misbehaving(|_, _| thread::park());
    let legacy = Service::json(BODY);
    let place = Place::new();
    place.write(
        "parity.toml",
        "[limits]\ncandidate_deadline = \"20s\"\ndrain = \"100ms\"\n",
    );
    let mirror = place.mirror(&legacy.url(), &hanging.url(), &[]);
    let mut connection = crate::support::client::Connection::open(mirror.address);
    let begin = std::time::Instant::now();
    for _ in 0..REQUESTS {
        connection.send("GET", "/balance", &[], b"");
        assert_eq!(connection.answer("GET").expect("answered").text(), BODY);
    }
    assert!(
        begin.elapsed().as_secs() < 20,
        "a client waited for the candidate"
    );
    let (code, log) = mirror.stop();
    assert_eq!(code, 0, "{log}");
    // What the drain cut short has its outcome all the same.
    let report = place.report();
    assert_eq!(
        (report.count("received"), report.settled()),
        (REQUESTS, REQUESTS)
    );
}
