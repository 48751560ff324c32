//! Recordings of others, sent to real services: what is sent, in which order, what is recorded of it, and how it ends.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::process::{Ended, Place};
use crate::support::service::{Answer, Request, Service, nobody};
use crate::support::wait_for;

/// Runs a replay of a file to its end.
fn replay(place: &Place, file: &str, legacy: &str, candidate: &str, more: &[&str]) -> Ended {
    let mut arguments = vec!["replay", file, "--legacy", legacy, "--candidate", candidate];
    arguments.extend(["--output", "json"]);
    arguments.extend(more);
    place.run(&arguments)
}

/// A line of an access log.
fn line(client: &str, request: &str) -> String {
    format!("{client} - - [24/Nov/2026:03:00:00 +0000] \"{request} HTTP/1.1\" 200 1 \"-\" \"-\"\n")
}

/// A message of GoReplay.
fn gor(kind: u8, id: u32, message: &str) -> String {
    format!("{kind} {id:024x} 1700000000000000000 -1\n{message}\n🐵🙈🙉\n")
}

#[test]
fn a_log_is_compared_and_recorded_like_live_traffic() {
    let place = Place::new();
    let answer = |odd: &'static str| {
        move |request: &Request| {
            let odd = if request.target.ends_with('3') {
                odd
            } else {
                ""
            };
            Answer::json(json!({"path": request.target, "odd": odd}).to_string())
        }
    };
    let (legacy, candidate) = (Service::start(answer("a")), Service::start(answer("b")));
    let mut log = String::new();
    for number in 0..400 {
        log.push_str(&line(
            &format!("10.0.0.{}", number % 9),
            &format!("GET /items/{}", number % 100),
        ));
    }
    log.push_str("not a line\n");
    log.push_str(&line("10.0.0.1", "POST /items"));
    place.write("access.log", &log);
    let ended = replay(&place, "access.log", &legacy.url(), &candidate.url(), &[]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = ended.json();
    let numbers = |report: &Value| {
        let counts = ["received", "match", "mismatch"];
        counts.map(|name| report[name].as_u64().expect("a number"))
    };
    assert_eq!(numbers(&report), [400, 360, 40]);
    assert_eq!(report["clients"], json!({"replayed": 400}));
    assert_eq!(report["groups"][0]["pattern"], "/odd");
    assert_eq!([legacy.seen(), candidate.seen()], [400, 400]);
    for told in [
        "access.log:401: not a line of this log's format",
        "access.log:402: its body is not in the recording",
        "400 requests replayed",
        "2 requests were left out: they could not be read",
    ] {
        assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
    }
    // Read back by another process, and judged in the same run: of the second replay alone.
    assert_eq!(numbers(&place.report().0), [400, 360, 40]);
    let gate = replay(
        &place,
        "access.log",
        &legacy.url(),
        &candidate.url(),
        &["--gate"],
    );
    assert_eq!(gate.code, 1, "{}", gate.stderr);
    let decision = gate.json();
    assert_eq!(decision["schema"], "parity.gate/v1");
    assert_eq!(decision["total"]["compared"], 400);
    let lenient = ["--gate", "--max-mismatch-rate", "0.3"];
    let gate = replay(
        &place,
        "access.log",
        &legacy.url(),
        &candidate.url(),
        &lenient,
    );
    assert_eq!(
        (gate.code, &gate.json()["outcome"]),
        (0, &json!("pass")),
        "{}",
        gate.stderr
    );
    let strict = replay(
        &place,
        "access.log",
        &legacy.url(),
        &candidate.url(),
        &["--strict"],
    );
    assert_eq!(strict.code, 2);
    let alone = replay(
        &place,
        "access.log",
        &legacy.url(),
        &candidate.url(),
        &["--min-requests", "3"],
    );
    assert_eq!(alone.code, 2);
    assert!(
        alone.stderr.contains("no effect without --gate"),
        "{}",
        alone.stderr
    );
}

#[test]
fn requests_of_one_session_are_sent_one_after_the_other() {
    const SESSIONS: usize = 20;
    const EACH: usize = 30;
    let place = Place::new();
    let seen = Arc::<Mutex<Vec<(usize, usize)>>>::default();
    let [legacy, candidate] = [true, false].map(|keeps| {
        let (under_way, log) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&seen));
        Service::start(move |request| {
            let mut numbers = request
                .target
                .split('/')
                .skip(1)
                .map(|part| part.parse().expect("a number"));
            let (session, number) = (numbers.next().expect("two"), numbers.next().expect("two"));
            let at_once = under_way.fetch_add(1, Ordering::SeqCst) + 1;
            // Sessions overlap: each waits until another one is under way, or gives up at the end.
            let mut looks = 0;
            while at_once < 2 && under_way.load(Ordering::SeqCst) < 2 && looks < 200 {
                std::thread::yield_now();
                looks += 1;
            }
            if keeps {
                log.lock().expect("no panic").push((session, number));
            }
            under_way.fetch_sub(1, Ordering::SeqCst);
            Answer::json("{}")
        })
    });
    let mut log = String::new();
    for number in 0..EACH {
        for session in 0..SESSIONS {
            log.push_str(&line(
                &format!("10.0.0.{session}"),
                &format!("GET /{session}/{number}"),
            ));
        }
    }
    place.write("access.log", &log);
    let ended = replay(
        &place,
        "access.log",
        &legacy.url(),
        &candidate.url(),
        &["--concurrency", "7"],
    );
    assert_eq!(ended.json()["match"], SESSIONS * EACH, "{}", ended.stderr);
    let seen = seen.lock().expect("no panic");
    for session in 0..SESSIONS {
        let of_it = seen.iter().filter(|(of, _)| *of == session);
        let numbers: Vec<usize> = of_it.map(|(_, number)| *number).collect();
        assert_eq!(numbers, (0..EACH).collect::<Vec<_>>(), "session {session}");
    }
}

#[test]
fn the_answers_of_a_recording_stand_for_the_legacy() {
    let place = Place::new();
    let candidate = Service::start(|request| match &*request.method {
        "POST" => Answer::json(format!(
            "{{\"got\":{}}}",
            String::from_utf8_lossy(&request.body)
        )),
        _ => Answer::json("{\"b\":2,\"a\":1}"),
    });
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n");
    let ok = |body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    };
    let post =
        "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n7\r\n0\r\n\r\n";
    let recording = [
        gor(1, 1, &get("/same")),
        gor(1, 2, &get("/other")),
        gor(2, 2, &ok("{\"a\":1,\"b\":3}")),
        gor(2, 1, &ok("{\"a\":1,\"b\":2}")),
        gor(1, 3, &get("/without")),
        gor(1, 4, post),
        gor(2, 4, &ok("{\"got\":7}")),
    ];
    place.write("r.gor", recording.concat());
    let run = |more: &[&str]| {
        let mut arguments = vec!["replay", "r.gor", "--candidate"];
        let url = candidate.url();
        arguments.extend([&*url, "--recorded-answers", "--output", "json"]);
        arguments.extend(more);
        place.run(&arguments)
    };
    let ended = run(&["--migration", "safe"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = ended.json();
    let counts =
        |report: &Value| ["received", "match", "mismatch"].map(|name| report[name].as_u64());
    assert_eq!(counts(&report), [Some(3), Some(1), Some(1)]);
    assert_eq!(report["not_compared"], json!({"unsafe_method": 1}));
    assert_eq!(candidate.seen(), 2, "no POST came");
    assert!(
        ended
            .stderr
            .contains("1 request was left out: the recording has no whole answer to them"),
        "{}",
        ended.stderr
    );
    let ended = run(&["--migration", "unsafe", "--allow-unsafe"]);
    assert_eq!(
        counts(&ended.json()),
        [Some(3), Some(2), Some(1)],
        "{}",
        ended.stderr
    );
    assert!(
        ended
            .stderr
            .contains("warning: --allow-unsafe sends every method"),
        "{}",
        ended.stderr
    );
}

#[test]
fn what_cannot_be_replayed_ends_with_its_own_message() {
    let place = Place::new();
    let service = Service::json("{}");
    let other = Service::json("{}");
    place.write("empty.log", "");
    place.write("text", "hello\n");
    place.write("newer.ndjson", "{\"schema\":\"parity.exchange/v9\"}\n");
    for (file, message) in [
        ("missing", "cannot read the recording missing"),
        ("empty.log", "the recording empty.log is empty"),
        ("text", "text is no recording that is known"),
        (
            "newer.ndjson",
            "this is `parity.exchange/v9`, which a later parity wrote",
        ),
    ] {
        let ended = replay(&place, file, &service.url(), &other.url(), &[]);
        assert_eq!(ended.code, 2, "{file}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{file}: {}", ended.stderr);
    }
    assert_eq!([service.seen(), other.seen()], [0, 0]);
    // Text of a recording is no command to a terminal.
    place.write(
        "hostile.ndjson",
        "{\"schema\":\"\\u001b]0;owned\\u0007\"}\n",
    );
    let ended = replay(&place, "hostile.ndjson", &service.url(), &other.url(), &[]);
    assert!(!ended.stderr.contains('\u{1b}'), "{}", ended.stderr);
}

#[test]
fn a_candidate_that_is_gone_fails_and_is_asked_each_time() {
    let place = Place::new();
    let legacy = Service::json("{}");
    let requests: String = (0..300)
        .map(|number| line("10.0.0.1", &format!("GET /{number}")))
        .collect();
    place.write("access.log", requests);
    let ended = replay(&place, "access.log", &legacy.url(), &nobody(), &["--gate"]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let decision = ended.json();
    assert_eq!(decision["total"]["differing"], 300);
    // So does a legacy, but that proves nothing of the candidate.
    let ended = replay(
        &place,
        "access.log",
        &nobody(),
        &legacy.url(),
        &["--gate", "--migration", "b"],
    );
    assert_eq!(ended.code, 3, "{}", ended.stderr);
}

#[test]
fn large_bodies_wait_for_their_turn_and_none_is_dropped() {
    let place = Place::new();
    let large = "x".repeat(900_000);
    let body = format!("{{\"a\":\"{large}\"}}");
    let [legacy, candidate] = [0, 1].map(|_| Service::json(&body));
    let mut recording = String::new();
    for number in 0..60 {
        let target = json!({"method": "GET", "url": format!("/{number}")});
        writeln!(recording, "{target}").expect("memory");
    }
    place.write("targets.ndjson", recording);
    let more = ["--concurrency", "40"];
    let ended = replay(
        &place,
        "targets.ndjson",
        &legacy.url(),
        &candidate.url(),
        &more,
    );
    assert_eq!(
        ended.json()["match"],
        60,
        "{} {}",
        ended.stdout,
        ended.stderr
    );
}

/// 0001: answers that take long to compare were dropped as `queue_full`, as if clients came after them.
#[test]
fn answers_that_take_long_to_compare_wait_too() {
    let place = Place::new();
    // Equal, but in another order: each list is compared with each.
    let list = |reversed: bool| {
        let mut numbers: Vec<u32> = (0..6_000).map(|number| number * 7_919 % 100_003).collect();
        if reversed {
            numbers.reverse();
        }
        json!({"list": numbers}).to_string()
    };
    let [legacy, candidate] = [false, true].map(|reversed| Service::json(&list(reversed)));
    place.write(
        "parity.toml",
        "[[rule]]\nid = \"any-order\"\npath = \"/list\"\naction = \"unordered\"\n",
    );
    // More work than may wait of clients: five seconds a thread, by the estimate of an unoptimized program.
    let requests: String = (0..300)
        .map(|number| line(&format!("10.0.0.{}", number % 90), "GET /list"))
        .collect();
    place.write("access.log", requests);
    let ended = replay(
        &place,
        "access.log",
        &legacy.url(),
        &candidate.url(),
        &["--concurrency", "64"],
    );
    let report = ended.json();
    assert_eq!(report["match"], 300, "{}", report["not_compared"]);
}

#[test]
fn of_several_hosts_the_first_is_taken_unless_others_are_named() {
    let place = Place::new();
    let [legacy, candidate] = [0, 1].map(|_| Service::json("{}"));
    let entry = |host: &str| json!({"request": {"method": "GET", "url": format!("https://{host}/x"), "headers": []}});
    let har = json!({"log": {"entries": [entry("api"), entry("cdn"), entry("api"), entry("ads")]}});
    place.write("r.har", har.to_string());
    for (number, (hosts, received)) in [
        (&[][..], 2),
        (&["--host", "any"], 4),
        (&["--host", "CDN", "--host", "ads"], 2),
        (&["--limit", "1"], 1),
    ]
    .into_iter()
    .enumerate()
    {
        let migration = format!("m{number}");
        let more = [&["--migration", &*migration], hosts].concat();
        let ended = replay(&place, "r.har", &legacy.url(), &candidate.url(), &more);
        assert_eq!(
            ended.json()["received"],
            received,
            "{hosts:?}: {}",
            ended.stderr
        );
    }
}

#[test]
fn an_interrupted_replay_records_what_it_sent() {
    let place = Place::new();
    let [legacy, candidate] = [0, 1].map(|_| Service::json("{}"));
    let requests: String = (0..100_000)
        .map(|number| line("10.0.0.1", &format!("GET /{}", number % 9)))
        .collect();
    place.write("access.log", requests);
    let (from, to) = (legacy.url(), candidate.url());
    let mut arguments = vec![
        "replay",
        "access.log",
        "--legacy",
        &from,
        "--candidate",
        &to,
    ];
    arguments.extend(["--rate", "200"]);
    let replaying = place.start(&mut place.command(&arguments));
    wait_for("some requests", || (candidate.seen() > 50).then_some(()));
    let (code, log) = replaying.stop();
    assert_eq!(code, 2, "{log}");
    assert!(log.contains("ended before all was replayed"), "{log}");
    let report = place.report();
    let received = report.0["received"].as_u64().expect("a number");
    assert!((50..50_000).contains(&received), "{received}");
    assert_eq!(report.0["match"], received);
}
