//! `parity gate`: its decisions and exit codes.

use crate::support::process::Place;
use crate::support::service::{Answer, Service};

/// Sends `requests` through a mirror whose candidate differs on every `differing`-th (0: never).
fn traffic(place: &Place, requests: u32, differing: u32, more: &[&str]) {
    let legacy = Service::json("{\"a\":1}");
    let candidate = Service::start(move |request| {
        let number: u32 = request
            .target
            .rsplit('/')
            .next()
            .and_then(|text| text.parse().ok())
            .expect("a number");
        Answer::json(if differing > 0 && number.is_multiple_of(differing) {
            "{\"a\":2}"
        } else {
            "{\"a\":1.0}"
        })
    });
    let mirror = place.mirror(&legacy.url(), &candidate.url(), more);
    let mut connection = crate::support::client::Connection::open(mirror.address);
    for number in 0..requests {
        connection.send("GET", &format!("/items/{number}"), &[], b"");
        assert_eq!(connection.answer("GET").expect("answered").status, 200);
    }
    let (code, log) = mirror.stop();
    assert_eq!(code, 0, "{log}");
}

#[test]
fn the_three_outcomes_have_three_exit_codes_and_are_stored() {
    let place = Place::new();
    traffic(&place, 400, 0, &[]);
    let pass = place.run(&["gate", "--max-mismatch-rate", "0.01"]);
    assert_eq!(pass.code, 0, "{}", pass.stdout);
    assert!(pass.stdout.starts_with("PASS"), "{}", pass.stdout);
    let undecided = place.run(&["gate", "--max-mismatch-rate", "0.001", "--output", "json"]);
    assert_eq!(undecided.code, 3);
    let document = undecided.json();
    assert_eq!(
        (&document["schema"], &document["outcome"]),
        (&"parity.gate/v1".into(), &"undecided".into())
    );
    // 3,787 equal requests prove at most 0.1 % at 95 % however often one looks; for one look 2,995 do, ln 0.05 / ln 0.999.
    assert_eq!(document["total"]["needed"], 3387);
    assert_eq!(document["thresholds"]["bound"], "any_time");
    let once = place
        .run(&["gate", "--one-look", "--output", "json"])
        .json();
    assert_eq!(once["total"]["needed"], 2595);
    assert_eq!(once["thresholds"]["bound"], "one_look");
    let min = place.run(&[
        "gate",
        "--max-mismatch-rate",
        "0.01",
        "--min-requests",
        "401",
    ]);
    assert_eq!(min.code, 3, "{}", min.stdout);
    let absent = place.run(&[
        "gate",
        "--max-mismatch-rate",
        "0.01",
        "--require-route",
        "GET /never",
    ]);
    assert_eq!(absent.code, 3, "{}", absent.stdout);
    assert!(absent.stdout.contains("GET /never"), "{}", absent.stdout);
    let connection =
        rusqlite::Connection::open(place.path().join("parity.db")).expect("the file opens");
    let outcomes: String = connection
        .query_row(
            "SELECT group_concat(outcome, ' ') FROM (SELECT outcome FROM decisions ORDER BY time)",
            [],
            |row| row.get(0),
        )
        .expect("decisions are stored");
    assert_eq!(outcomes, "pass undecided undecided undecided undecided");
}

#[test]
fn differing_answers_fail_and_a_new_candidate_version_starts_anew() {
    let place = Place::new();
    traffic(&place, 100, 10, &["--candidate-version", "1"]);
    let fail = place.run(&["gate"]);
    assert_eq!(fail.code, 1, "{}", fail.stdout);
    assert!(
        fail.stdout.contains("GET /items/{id}: at least"),
        "{}",
        fail.stdout
    );
    traffic(&place, 100, 0, &["--candidate-version", "2"]);
    let latest = place.run(&["gate", "--max-mismatch-rate", "0.05", "--output", "json"]);
    assert_eq!(latest.code, 0, "{}", latest.stdout);
    assert_eq!(latest.json()["evidence"]["candidate_version"], "2");
    assert_eq!(place.run(&["gate", "--candidate-version", "1"]).code, 1);
    assert_eq!(place.run(&["gate", "--candidate-version", "3"]).code, 3);
    assert_eq!(place.run(&["gate", "--migration", "other"]).code, 3);
    assert_eq!(
        place.run(&["gate", "--since", "2999-01-01T00:00:00Z"]).code,
        3
    );
    assert_eq!(
        place
            .run(&["gate", "--candidate-version", "1", "--since", "1h"])
            .code,
        1
    );
}

#[test]
fn waiting_ends_when_it_is_decided_or_over() {
    let place = Place::new();
    traffic(&place, 50, 0, &[]);
    let begin = std::time::Instant::now();
    assert_eq!(place.run(&["gate", "--wait", "1100ms"]).code, 3);
    assert!(begin.elapsed().as_millis() >= 1100);
    let begin = std::time::Instant::now();
    assert_eq!(
        place
            .run(&["gate", "--max-mismatch-rate", "0.1", "--wait", "10m"])
            .code,
        0
    );
    assert!(begin.elapsed().as_secs() < 60);
}

#[test]
fn a_store_that_is_not_there_yet_is_waited_for() {
    let place = Place::new();
    let begin = std::time::Instant::now();
    let never = place.run(&["gate", "--wait", "300ms"]);
    assert_eq!(never.code, 2, "{}", never.stdout);
    assert!(begin.elapsed().as_millis() >= 300);
    for words in [
        "waited 300ms for the store",
        "there is no store at parity.db",
    ] {
        assert!(never.stderr.contains(words), "{words}: {}", never.stderr);
    }
    std::thread::scope(|scope| {
        let waits =
            scope.spawn(|| place.run(&["gate", "--max-mismatch-rate", "0.1", "--wait", "1m"]));
        traffic(&place, 50, 0, &[]);
        let ended = waits.join().expect("it ends");
        assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    });
}

#[test]
fn an_outcome_that_was_lost_is_not_under_way() {
    let place = Place::new();
    traffic(&place, 50, 0, &[]);
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    // The state that a process leaves when it is killed between two writes.
    store
        .execute_batch("UPDATE tallies SET received = received + 3")
        .expect("changed");
    let report = place.run(&["report"]).stdout;
    assert!(
        report.contains(
            "3 without an outcome, which was lost with its process: received 53, settled 50"
        ),
        "{report}"
    );
    assert!(!report.contains("under way"), "{report}");
}

#[test]
fn what_differs_is_one_figure_everywhere() {
    let place = Place::new();
    let legacy = Service::json("{\"a\":1}");
    // A quarter differs; another quarter has an encoding that the legacy's answer does not have.
    let candidate = Service::start(|request| {
        if request.target.ends_with('1') {
            Answer::json("{\"a\":2}")
        } else if request.target.ends_with('2') {
            Answer::json("{\"a\":1}").header("content-encoding", "unheard-of")
        } else {
            Answer::json("{\"a\":1}")
        }
    });
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for number in 0..8 {
        mirror.get(&format!("/items/{}", number % 4));
    }
    let report = mirror.settled(8).0;
    assert_eq!(
        (&report["match"], &report["mismatch"]),
        (&4.into(), &2.into())
    );
    let gate = mirror.ask("/api/v1/gate").json();
    for counts in [&report, &report["routes"][0], &gate["total"]] {
        assert_eq!(
            (&counts["compared"], &counts["differing"]),
            (&8.into(), &4.into())
        );
    }
    let metrics = mirror.ask("/metrics").text();
    for series in ["parity_compared_total{", "parity_differing_total{"] {
        assert!(metrics.contains(series), "{metrics}");
    }
    assert!(
        metrics.contains("parity_differing_total{route=\"GET /items/{id}\"} 4"),
        "{metrics}"
    );
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn bad_thresholds_are_usage_errors() {
    let place = Place::new();
    for arguments in [
        ["gate", "--max-mismatch-rate", "2"],
        ["gate", "--confidence", "1"],
        ["gate", "--max-dropped", "-1"],
        ["gate", "--since", "yesterday"],
        ["gate", "--wait", "soon"],
        ["gate", "--require-route", "garbage"],
        ["gate", "--require-route", "GET items"],
        ["gate", "--max-errors", "2"],
        ["gate", "--one-look", "--wait=1m"],
        ["gate", "--max-not-compared", "stream"],
        ["gate", "--max-not-compared", "streem=0.1"],
        ["gate", "--max-not-compared", "stream=2"],
        ["gate", "--openapi", "none.yaml"],
        ["gate", "--min-duration", "soon"],
        ["gate", "--no-such-flag", "1"],
    ] {
        let ended = place.run(&arguments);
        assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.stderr);
        assert!(ended.stdout.is_empty(), "{arguments:?}");
    }
    let garbage = place.run(&["gate", "--require-route", "garbage"]);
    assert!(
        garbage
            .stderr
            .contains("`garbage` is not a route; write METHOD /template"),
        "{}",
        garbage.stderr
    );
}

#[test]
fn each_operation_of_a_description_can_be_demanded() {
    let place = Place::new();
    traffic(&place, 400, 0, &[]);
    let description = |more: &str| {
        let paths = format!("openapi: 3.0.3\npaths:\n  /items/{{itemId}}:\n    get: {{}}\n{more}");
        place.write("api.yaml", paths);
        let arguments = [
            "gate",
            "--max-mismatch-rate",
            "0.01",
            "--openapi",
            "api.yaml",
        ];
        place.run(&arguments)
    };
    let pass = description("");
    assert_eq!(pass.code, 0, "{}{}", pass.stdout, pass.stderr);
    assert!(
        pass.stdout
            .starts_with("PASS for all 2 routes; 95 % confidence, however often it is asked\n"),
        "{}",
        pass.stdout
    );
    let missing = description("    delete: {}\n  /orders:\n    get: {}\n");
    assert_eq!(missing.code, 3, "{}", missing.stdout);
    let told = "2 of 3 operations of the API description were never requested: DELETE /items/{itemId}, GET /orders";
    assert!(missing.stdout.contains(told), "{}", missing.stdout);
    place.write("api.json", "{\"swagger\":\"2.0\"}");
    let older = place.run(&["gate", "--openapi", "api.json"]);
    assert_eq!(older.code, 2, "{}", older.stdout);
    assert!(
        older.stderr.contains("only OpenAPI 3 is read"),
        "{}",
        older.stderr
    );
}

#[test]
fn a_name_that_was_never_seen_is_told_before_the_gate_waits() {
    let place = Place::new();
    traffic(&place, 40, 0, &[]);
    let arguments = [
        "gate",
        "--require-route",
        "GET /item/{id}",
        "--wait",
        "300ms",
    ];
    let ended = place.run(&arguments);
    assert_eq!(ended.code, 3, "{}", ended.stdout);
    let told =
        "GET /item/{id}: never seen, so nothing is known of it; did you mean `GET /items/{id}`?";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let place = Place::new();
    traffic(&place, 400, 0, &["--candidate-version", "1.2.3"]);
    let said = |arguments: &[&str], code: i32, words: &[&str]| {
        let ended = place.run(arguments);
        assert_eq!(
            ended.code, code,
            "{arguments:?}: {}{}",
            ended.stdout, ended.stderr
        );
        for words in words {
            let told = ended.stdout.contains(words) || ended.stderr.contains(words);
            assert!(
                told,
                "{arguments:?}: {words}: {}{}",
                ended.stdout, ended.stderr
            );
        }
        ended
    };
    let version = "no traffic recorded for candidate version `deadbeef` of migration `default`; recorded are `1.2.3`";
    said(&["gate", "--candidate-version", "deadbeef"], 3, &[version]);
    said(
        &["report", "--candidate-version", "deadbeef"],
        0,
        &[version, "NOTHING RECORDED"],
    );
    let migration = "no traffic recorded for migration `defualt`; recorded are `default`; did you mean `default`?";
    said(&["gate", "--migration", "defualt"], 3, &[migration]);
    said(&["report", "--migration", "defualt"], 2, &[migration]);
    said(
        &["report", "--migration", "defualt", "--output", "json"],
        2,
        &[migration],
    );
    let never =
        "GET /item/{id}: never seen, so nothing is known of it; did you mean `GET /items/{id}`?";
    let ended = said(
        &[
            "gate",
            "--max-mismatch-rate",
            "0.01",
            "--require-route",
            "GET /item/{id}",
        ],
        3,
        &[never],
    );
    assert!(
        !ended.stdout.contains("would settle it"),
        "{}",
        ended.stdout
    );
    said(
        &["report"],
        0,
        &[
            "UNDECIDED",
            "3,387 more requests, if all match, would settle it",
            "complete up to 20",
        ],
    );
}

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
        let version = ["--candidate-version", version, "--self-comparison", "on"];
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
