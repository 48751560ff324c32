//! Services that answer the second look badly, on purpose or not: each ends in its class, and none keeps the rest waiting.

use std::collections::HashMap;
use std::io::{BufReader, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{counts, gets, map, mirror};
use crate::support::process::Place;
use crate::support::report::Report;
use crate::support::service::{Answer, Request, Service};

/// More than any limit of ours.
const HUGE: u64 = 2 << 30;
/// What is always answered well.
const GOOD: &str = "/good";

fn ok(body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// Answers a request badly, in the way that its path names. Returns whether the connection goes on.
fn act(way: &str, stream: &mut TcpStream) -> bool {
    let mut say = |bytes: &[u8]| stream.write_all(bytes).is_ok();
    match way {
        "/closes" => false,
        "/hangs" => {
            // Until the other end has had enough.
            let _ended = std::io::Read::read(stream, &mut [0]);
            false
        }
        "/drips" => {
            let _head = say(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n");
            while say(b"1") {
                std::thread::park_timeout(Duration::from_millis(20));
            }
            false
        }
        "/floods" => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {HUGE}\r\n\r\n");
            let _head = say(head.as_bytes());
            let piece = vec![b'1'; 1 << 16];
            while say(&piece) {}
            false
        }
        "/redirects" => say(b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n"),
        "/upgrades" => {
            say(b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n")
        }
        "/garbles" => {
            let _said = say(b"\x00\x01 what is this\r\n\r\n");
            false
        }
        "/fails" => say(
            b"HTTP/1.1 503 Unavailable\r\nretry-after: 120\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
        ),
        "/limits" => say(
            b"HTTP/1.1 429 Too Many\r\nretry-after: 1\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
        ),
        other => unreachable!("{other}"),
    }
}

/// A service that answers each target well the first time only.
fn bad_the_second_time(body: &'static str) -> Service {
    let seen = Mutex::<HashMap<String, usize>>::default();
    Service::raw(move |stream, count| {
        let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
        while let Some(request) = Request::read(&mut reader) {
            count.fetch_add(1, Ordering::SeqCst);
            let turn = {
                let mut seen = seen.lock().expect("no panic");
                let turn = seen.entry(request.target.clone()).or_default();
                *turn += 1;
                *turn
            };
            let goes_on = if turn == 1 || request.target == GOOD {
                stream.write_all(ok(body).as_bytes()).is_ok()
            } else {
                act(&request.target, stream)
            };
            if !goes_on {
                return;
            }
        }
    })
}

/// The class of the only mismatch of a route.
fn class(report: &Report, path: &str) -> String {
    let routes = report.0["routes"].as_array().expect("a list");
    let label = format!("GET {path}");
    let route = routes.iter().find(|route| route["route"] == label.as_str());
    let classes = route.expect("it is there")["classes"].as_object();
    let classes: Vec<(&String, &Value)> = classes.expect("a map").iter().collect();
    assert_eq!(classes.len(), 1, "{path}: {classes:?}");
    assert_eq!(classes[0].1, 1, "{path}: {classes:?}");
    classes[0].0.clone()
}

#[test]
fn each_way_to_answer_the_second_look_badly_ends_in_its_class() {
    // What the legacy does, what the candidate does, and the class that each leads to.
    let ways = [
        ("/closes", "unconfirmed", "unconfirmed"),
        ("/hangs", "unconfirmed", "unconfirmed"),
        ("/drips", "unconfirmed", "unconfirmed"),
        ("/floods", "unconfirmed", "unconfirmed"),
        ("/garbles", "unconfirmed", "unconfirmed"),
        ("/upgrades", "unconfirmed", "unconfirmed"),
        // An accident, of either.
        ("/fails", "unconfirmed", "unconfirmed"),
        ("/limits", "unconfirmed", "unconfirmed"),
        // An answer, and again another one than the candidate's.
        ("/redirects", "confirmed", "confirmed"),
    ];
    for side in ["legacy", "candidate"] {
        let (bad, good) = (bad_the_second_time("1"), Service::json("2"));
        let place = Place::new();
        let settings = [("PARITY_LIMITS_CANDIDATE_DEADLINE", "500ms")];
        let (legacy, candidate) = if side == "legacy" {
            (&bad, &good)
        } else {
            (&good, &bad)
        };
        let mirror = mirror(&place, legacy, candidate, &settings);
        let begin = Instant::now();
        for (way, ..) in ways {
            assert_eq!(mirror.get(way).status, 200, "{side} {way}");
            // Between the bad ones, so that the breaker stays closed.
            assert_eq!(mirror.get(GOOD).status, 200);
        }
        let report = mirror.settled(2 * ways.len() as u64);
        assert!(begin.elapsed() < Duration::from_secs(20), "{side}");
        for (way, of_legacy, of_candidate) in &ways {
            let expected = if side == "legacy" {
                of_legacy
            } else {
                of_candidate
            };
            assert_eq!(class(&report, way), *expected, "{side} {way}");
        }
        let sum: u64 = super::classes(&report).values().sum();
        assert_eq!(sum, report.count("mismatch"));
        let (now, highest) = mirror.memory();
        assert!(highest < 256 << 20, "{now} {highest}");
        assert_eq!(mirror.status()["shadow_bytes"], 0, "{}", mirror.status());
        assert_eq!(mirror.stop().0, 0);
    }
}

#[test]
fn a_candidate_that_is_slower_to_fill_its_cache_counts_against_itself() {
    // The first answer is stale, and asking warms the cache: from the second time on it is right.
    let warm = Mutex::<HashMap<String, usize>>::default();
    let candidate = Service::start(move |request| {
        let mut warm = warm.lock().expect("no panic");
        let turn = warm.entry(request.target.clone()).or_default();
        *turn += 1;
        Answer::json(if *turn == 1 { "{\"a\":0}" } else { "{\"a\":1}" })
    });
    let legacy = Service::json("{\"a\":1}");
    let place = Place::new();
    let mirror = mirror(&place, &legacy, &candidate, &[]);
    for round in 0..2 {
        gets(mirror.address, "/items/", 30);
        let report = mirror.settled(30 * (round + 1));
        assert_eq!(super::classes(&report), counts(&[("unstable", 30)]));
    }
    assert_eq!(mirror.stop().0, 0);
    // It counts: far more than one of a thousand differ.
    assert_eq!(place.run(&["gate"]).code, 1);
}

#[test]
fn a_legacy_that_limits_how_often_it_is_asked_is_not_held_against_the_candidate() {
    // What differs is a race: the value moved between the two. The second half gets no second look.
    let legacy = Service::start(move |request| {
        let is_shadow = request.header("x-parity-shadow").is_some();
        let number = request.target.rsplit('/').next().map(str::parse::<u32>);
        if is_shadow && number.is_some_and(|number| number.is_ok_and(|number| number >= 20)) {
            Answer::new(429, "{}").header("retry-after", "1")
        } else {
            Answer::json(format!("{{\"a\":{}}}", u8::from(is_shadow)))
        }
    });
    let candidate = Service::json("{\"a\":1}");
    let place = Place::new();
    let mirror = mirror(&place, &legacy, &candidate, &[]);
    gets(mirror.address, "/items/", 40);
    let classes = super::classes(&mirror.settled(40));
    assert_eq!(classes, counts(&[("transient", 20), ("unconfirmed", 20)]));
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn a_tap_asks_again_what_is_bad_and_counts_each_once() {
    let (legacy, candidate) = (bad_the_second_time("1"), Service::json("2"));
    let place = Place::new();
    let settings = [
        ("PARITY_MODE", "tap"),
        ("PARITY_LIMITS_CANDIDATE_DEADLINE", "500ms"),
    ];
    let mirror = mirror(&place, &legacy, &candidate, &settings);
    for way in ["/closes", "/drips", "/fails", "/redirects"] {
        assert_eq!(mirror.get(way).status, 204, "{way}");
    }
    let report = mirror.settled(4);
    let classes = super::classes(&report);
    assert_eq!(classes, counts(&[("confirmed", 1), ("unconfirmed", 3)]));
    assert_eq!(map(&report, "rechecks")["asked"], 4);
    assert_eq!(mirror.stop().0, 0);
}
