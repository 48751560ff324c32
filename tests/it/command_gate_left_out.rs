//! Spans of time that `parity gate` leaves out.

use parity_schemas::time::Timestamp;

use crate::command_gate::traffic;
use crate::support::process::Place;
use crate::support::service::Service;

/// Times within the minutes that were counted: of a part that leaves all of them out, and from the first to the end of the last.
fn counted_window(place: &Place) -> [String; 4] {
    const MINUTE: i64 = 60_000_000;
    let window = place.report().0["window"].clone();
    let time = |name: &str| {
        let text = window[name].as_str().expect("a time");
        text.parse::<Timestamp>().expect("a time").as_micros()
    };
    let first = time("from").div_euclid(MINUTE) * MINUTE;
    let last = (time("to") - 1).div_euclid(MINUTE) * MINUTE + MINUTE;
    let times = [first + 30_000_000, last - 20_000_000, first, last];
    times.map(|micros| Timestamp::from_micros(micros).to_string())
}

#[test]
fn what_is_left_out_is_told_with_the_decision() {
    let place = Place::new();
    traffic(&place, 400, 4, &[]);
    let counted = place.run(&["gate", "--max-mismatch-rate", "0.01"]);
    assert_eq!(counted.code, 1, "{}", counted.stdout);
    let span = "2020-01-01T00:00:00Z..2100-01-01T00:00:00Z=a test, with 1 in 4 wrong";
    let none = place.run(&["gate", "--leave-out", span, "--output", "json"]);
    assert_eq!(none.code, 3, "{}", none.stdout);
    let document = none.json();
    let left_out = &document["evidence"]["left_out"][0];
    assert_eq!(left_out["reason"], "a test, with 1 in 4 wrong");
    assert_eq!(left_out["received"], 400);
    assert_eq!(left_out["differing"], 100);
    let told =
        "a test, with 1 in 4 wrong): 400 requests received, of which 100 of 400 compared differ";
    let report = place.run(&["gate", "--leave-out", span]);
    assert!(report.stdout.contains(told), "{}", report.stdout);
    // Ten seconds of it cannot be left out alone.
    let times = counted_window(&place);
    let part = format!("{}..{}=ten seconds", times[0], times[1]);
    let gate = place.run(&["gate", "--leave-out", &part]);
    let told = format!(
        "{} to {} is left out, the whole minutes that {} to {} touches (ten seconds): 400 requests received",
        times[2], times[3], times[0], times[1]
    );
    let report = place.run(&["report", "--leave-out", &part]);
    for text in [gate.stdout, report.stdout] {
        assert!(text.contains(&told), "{told}: {text}");
    }
    let past = "2020-01-01T00:00:00Z..2020-01-02T00:00:00Z=nothing was there";
    let same = place.run(&["gate", "--max-mismatch-rate", "0.01", "--leave-out", past]);
    assert_eq!(same.code, 1, "{}", same.stdout);
    let wrong = place.run(&["gate", "--leave-out", "yesterday=x"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("yesterday"), "{}", wrong.stderr);
}

#[test]
fn spans_that_are_left_out_may_overlap_and_lie_in_the_future() {
    let place = Place::new();
    traffic(&place, 400, 4, &[]);
    let gate = |spans: &[&str]| {
        let mut arguments = vec!["gate", "--max-mismatch-rate", "0.01", "--output", "json"];
        arguments.extend(spans.iter().flat_map(|span| ["--leave-out", span]));
        place.run(&arguments)
    };
    let future = gate(&["2999-01-01T00:00:00Z..2999-01-02T00:00:00Z=a plan"]);
    assert_eq!(future.code, 1, "{}", future.stdout);
    let left_out = future.json()["evidence"]["left_out"][0].clone();
    assert_eq!(
        (&left_out["received"], &left_out["reason"]),
        (&0.into(), &"a plan".into())
    );
    // Each says what it held, and nothing is taken away twice.
    let both = gate(&[
        "2020-01-01T00:00:00Z..2100-01-01T00:00:00Z=one",
        "2020-01-01T00:00:00Z..2090-01-01T00:00:00Z=other",
    ]);
    assert_eq!(both.code, 3, "{}", both.stdout);
    let document = both.json();
    assert_eq!(document["total"]["received"], 0);
    for span in 0..2 {
        assert_eq!(document["evidence"]["left_out"][span]["received"], 400);
    }
    for (span, wrong) in [
        (
            "2026-01-02T00:00:00Z..2026-01-01T00:00:00Z=x",
            "is not after",
        ),
        (
            "2026-01-01T00:00:00Z..=x",
            "`` is not a time with an offset",
        ),
        (
            "..2026-01-01T00:00:00Z=x",
            "`` is not a time with an offset",
        ),
    ] {
        let refused = gate(&[span]);
        assert_eq!(refused.code, 2, "{span}");
        assert!(refused.stderr.contains(wrong), "{}", refused.stderr);
    }
}

#[test]
fn a_route_that_only_what_is_left_out_has_is_named_in_every_output() {
    const HOUR: i64 = 3_600_000_000;
    let place = Place::new();
    let service = || Service::json("{\"a\":1}");
    let (legacy, candidate) = (service(), service());
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for _ in 0..200 {
        mirror.get("/often");
    }
    mirror.get("/rare");
    mirror.get("/both");
    mirror.settled(202);
    mirror.stop();
    // The rare one was an hour ago.
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    let moved = "UPDATE tallies SET interval_start = interval_start - ?1 WHERE route = 'GET /rare'";
    assert!(store.execute(moved, [HOUR]).expect("moved") > 0);
    // So its run counted from then on.
    for time in ["started", "counted_from", "open_from"] {
        let moved = format!("UPDATE watermarks SET {time} = {time} - ?1");
        assert!(store.execute(&moved, [HOUR]).expect("moved") > 0);
    }
    drop(store);
    let now = Timestamp::now().as_micros();
    let time = |micros: i64| Timestamp::from_micros(micros).to_string();
    let since = time(now - HOUR / 2);
    let span = format!("{}..{}=a plan", time(now - 2 * HOUR), time(now - HOUR / 2));
    let told = "nothing of GET /rare is counted here";
    for asked in [["--since", &since], ["--leave-out", &span]] {
        for command in ["gate", "report"] {
            for form in ["text", "markdown"] {
                let more = [&[command, "--output", form][..], &asked].concat();
                let more = match command {
                    "gate" => [&more[..], &["--max-mismatch-rate", "0.05"]].concat(),
                    _ => more,
                };
                let ended = place.run(&more);
                let said = (&ended.stdout, &ended.stderr);
                assert_eq!(ended.code, 0, "{more:?}: {said:?}");
                assert!(ended.stdout.contains(told), "{more:?}: {}", ended.stdout);
                assert!(!ended.stdout.contains("GET /both is"), "{}", ended.stdout);
            }
        }
        let json = [
            &["gate", "--output", "json", "--max-mismatch-rate", "0.05"][..],
            &asked,
        ];
        let decision = place.run(&json.concat()).json();
        assert_eq!(
            decision["evidence"]["only_left_out"],
            serde_json::json!(["GET /rare"])
        );
        // A route that is required is no longer proven.
        let required = [
            "--max-mismatch-rate",
            "0.05",
            "--require-route",
            "GET /rare",
        ];
        let ended = place.run(&[&["gate"][..], &required, &asked].concat());
        assert_eq!(ended.code, 3, "{}", ended.stdout);
        let why = "GET /rare: required, and all that was compared of it is in what";
        assert!(ended.stdout.contains(why), "{}", ended.stdout);
    }
    let whole = place.run(&["gate", "--max-mismatch-rate", "0.05"]);
    assert!(!whole.stdout.contains(told), "{}", whole.stdout);
}
