//! `parity gate`: its decisions and exit codes.

use crate::support::process::Place;
use crate::support::service::{Answer, Service};

/// Sends `requests` through a mirror whose candidate differs on every `differing`-th (0: never).
pub(crate) fn traffic(place: &Place, requests: u32, differing: u32, more: &[&str]) {
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
    let waited = place.run(&["gate", "--wait", "1100ms"]);
    assert_eq!(waited.code, 3);
    // A job's log is no terminal.
    let lines = waited
        .stderr
        .matches("waiting (0s of up to 1.1s): ")
        .count();
    assert_eq!(lines, 1, "{}", waited.stderr);
    assert!(!place.run(&["gate"]).stderr.contains("waiting"));
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
fn a_class_that_somebody_edited_makes_no_pass() {
    let place = Place::new();
    traffic(&place, 400, 4, &[]);
    let gate = || place.run(&["gate", "--max-mismatch-rate", "0.01"]);
    let before = gate();
    assert_eq!(before.code, 1, "{}{}", before.stdout, before.stderr);
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    let edit = "UPDATE tallies SET classes = json_object('transient', mismatch) WHERE mismatch > 0";
    assert!(store.execute(edit, []).expect("it is edited") > 0);
    let edited = gate();
    assert_eq!(edited.code, 3, "{}{}", edited.stdout, edited.stderr);
    assert!(edited.stdout.contains("test: behind"), "{}", edited.stdout);
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
