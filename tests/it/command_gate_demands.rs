//! What `parity gate` demands besides few differences: distinct targets, and a candidate that is not slow.

use crate::support::process::Place;
use crate::support::service::{Answer, Service};

#[test]
fn a_pass_says_how_many_targets_it_rests_on_and_can_demand_some() {
    let place = Place::new();
    let service = Service::json("{\"a\":1}");
    let candidate = Service::json("{\"a\":1.0}");
    let mirror = place.mirror(&service.url(), &candidate.url(), &[]);
    let mut connection = crate::support::client::Connection::open(mirror.address);
    // One user who asks again and again, and nine others.
    for number in 0..400_u32 {
        let user = if number < 310 { 0 } else { number % 9 + 1 };
        connection.send("GET", &format!("/users/{user}"), &[], b"");
        assert_eq!(connection.answer("GET").expect("answered").status, 200);
    }
    let (code, log) = mirror.stop();
    assert_eq!(code, 0, "{log}");
    let allowed = ["gate", "--max-mismatch-rate", "0.01"];
    let pass = place.run(&[&allowed[..], &["--min-distinct", "10", "--output", "json"]].concat());
    assert_eq!(pass.code, 0, "{}", pass.stdout);
    let document = pass.json();
    assert_eq!(document["total"]["distinct_targets"], 10);
    assert_eq!(document["total"]["most_frequent_share"], 0.775);
    assert_eq!(document["routes"][0]["distinct_targets"], 10);
    assert_eq!(document["thresholds"]["min_distinct"], 10);
    let text = place.run(&allowed).stdout;
    for words in [
        "TARGETS",
        "at least 77.5 % of it is one target",
        "10 distinct targets (method, path and query); the most frequent one has at most 77.5 % of the verdicts",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let short = place.run(&[&allowed[..], &["--min-distinct", "11"]].concat());
    assert_eq!(short.code, 3, "{}", short.stdout);
    let wanted =
        "what was compared had 10 distinct targets (method, path and query), at least 11 wanted";
    assert!(short.stdout.contains(wanted), "{}", short.stdout);
    let report = place.run(&["report", "--output", "json"]).json();
    assert_eq!(report["distinct_targets"], 10);
    assert_eq!(report["routes"][0]["most_frequent_share"], 0.775);
    // Nothing of a target is in the record but a hash under a key that nobody has.
    let connection =
        rusqlite::Connection::open(place.path().join("parity.db")).expect("the file opens");
    let stored: String = connection
        .query_row(
            "SELECT group_concat(targets || frequent_targets || target_key) FROM tallies",
            [],
            |row| row.get(0),
        )
        .expect("tallies are stored");
    assert!(!stored.contains("users"), "{stored}");
}

#[test]
fn a_second_process_sees_the_same_targets_under_the_same_key_only() {
    for (key, sees) in [(true, 20), (false, 15)] {
        let place = Place::new();
        std::fs::write(place.path().join("key"), "0123456789abcdef0123456789abcdef")
            .expect("a key");
        let service = Service::json("{\"a\":1}");
        let candidate = Service::json("{\"a\":1.0}");
        for from in [0, 5] {
            let more: &[&str] = if key {
                &["--redaction-key-file", "key"]
            } else {
                &[]
            };
            let mirror = place.mirror(&service.url(), &candidate.url(), more);
            let mut connection = crate::support::client::Connection::open(mirror.address);
            for number in 0..60 {
                connection.send("GET", &format!("/users/{}", from + number % 15), &[], b"");
                assert_eq!(connection.answer("GET").expect("answered").status, 200);
            }
            let (code, log) = mirror.stop();
            assert_eq!(code, 0, "{log}");
        }
        let report = place.run(&["report", "--output", "json"]).json();
        let distinct = report["distinct_targets"].as_u64().expect("a number");
        // More than sixteen are estimated.
        assert!(distinct.abs_diff(sees) <= 2, "{distinct} of {sees}");
    }
}

#[test]
fn a_slow_candidate_fails_by_its_latency_and_a_fast_one_passes() {
    let place = Place::new();
    let legacy = Service::json("{\"a\":1}");
    let candidate = Service::start(|_| {
        // Far more than the time of a busy machine.
        std::thread::sleep(std::time::Duration::from_millis(60));
        Answer::json("{\"a\":1}")
    });
    for (candidate, version) in [(candidate.url(), "slow"), (legacy.url(), "fast")] {
        let version = ["--candidate-version", version];
        let mirror = place.mirror(&legacy.url(), &candidate, &version);
        let mut connection = crate::support::client::Connection::open(mirror.address);
        for number in 0..120 {
            connection.send("GET", &format!("/items/{number}"), &[], b"");
            assert_eq!(connection.answer("GET").expect("answered").status, 200);
        }
        let (code, log) = mirror.stop();
        assert_eq!(code, 0, "{log}");
    }
    let gate = |version: &str, limit: &str| {
        let allowed = [
            "gate",
            "--max-mismatch-rate",
            "0.1",
            "--candidate-version",
            version,
        ];
        place.run(&[&allowed[..], &["--max-latency", limit, "--output", "json"]].concat())
    };
    let fail = gate("slow", "p50=1.5x+1ms");
    assert_eq!(fail.code, 1, "{}", fail.stdout);
    let document = fail.json();
    let reason = document["reasons"][0].as_str().expect("a text");
    assert!(
        reason.contains("the candidate's p50 to the first byte is at least"),
        "{reason}"
    );
    assert_eq!(document["latency"][0]["outcome"], "fail");
    assert_eq!(document["latency"][0]["requests"], 120);
    assert_eq!(document["thresholds"]["max_latency"][0]["plus_us"], 1_000);
    assert!(document["latency"][0]["candidate"]["at_least_us"].as_u64() >= Some(58_000));
    let pass = gate("slow", "p50=1.5x+30s");
    assert_eq!(pass.code, 0, "{}", pass.stdout);
    let pass = gate("fast", "p50=3x+30s");
    assert_eq!(pass.code, 0, "{}", pass.stdout);
    // A hundred requests do not show what the slowest of ten thousand take.
    let open = gate("slow", "p99.99=100x+30s");
    assert_eq!(open.code, 3, "{}", open.stdout);
    let text = open.json()["reasons"].to_string();
    assert!(
        text.contains("more requests like these would settle it"),
        "{text}"
    );
    let wrong = gate("slow", "p99=fast");
    assert_eq!(wrong.code, 2, "{}", wrong.stdout);
    assert!(wrong.stderr.contains("p99=1.5x+5ms"), "{}", wrong.stderr);
}

#[test]
fn failures_of_the_candidate_alone_have_a_cap_of_their_own() {
    let place = Place::new();
    let number = |target: &str| {
        let number = target.rsplit('/').next();
        number
            .and_then(|text| text.parse::<u32>().ok())
            .expect("a number")
    };
    let failing = |every: u32| {
        Service::start(move |request| {
            let fails = number(&request.target).is_multiple_of(every);
            Answer::new(if fails { 503 } else { 200 }, "{\"a\":1}")
                .header("content-type", "application/json")
        })
    };
    // The legacy fails at every tenth request, and so does the candidate; at four of ten it fails alone.
    let (legacy, candidate) = (failing(10), failing(2));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let mut connection = crate::support::client::Connection::open(mirror.address);
    for number in 0..200 {
        connection.send("GET", &format!("/items/{number}"), &[], b"");
        connection.answer("GET").expect("answered");
    }
    let (code, log) = mirror.stop();
    assert_eq!(code, 0, "{log}");
    let gate = |share: &str| {
        let loose = ["gate", "--max-mismatch-rate", "0.9", "--output", "json"];
        place.run(&[&loose[..], &["--max-candidate-errors", share]].concat())
    };
    let fail = gate("0.1");
    assert_eq!(fail.code, 1, "{}", fail.stdout);
    let document = fail.json();
    // 100 of the candidate's, of which 20 are the legacy's, too.
    assert_eq!(document["candidate_errors"][0]["errors"], 80);
    assert_eq!(document["candidate_errors"][0]["compared"], 200);
    assert_eq!(document["thresholds"]["max_candidate_errors"], 0.1);
    assert_eq!(gate("0.6").code, 0);
    assert_eq!(gate("0.4").code, 3);
}
