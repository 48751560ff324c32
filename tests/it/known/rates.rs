//! The rate of an entry that names a place: without one it could never grow.

use super::*;

/// The rate that the last entry has in the file.
fn rate(place: &Place) -> Option<f64> {
    let text = file(place);
    let (_, entry) = text.rsplit_once("[[known]]")?;
    let line = entry
        .lines()
        .find_map(|line| line.strip_prefix("rate = "))?;
    Some(line.parse().expect("a number"))
}

#[test]
fn an_entry_by_place_has_the_rate_of_what_was_seen_there() {
    let place = recorded();
    let before = file(&place);
    let fingerprint = list(&place)["not_known"][0]["fingerprint"]
        .as_str()
        .expect("the most frequent one")
        .to_owned();
    says(&place.run(&add(&[&fingerprint])), 0, &["/total"]);
    let by_fingerprint = rate(&place).expect("a rate");
    place.write("parity.toml", &before);
    let added = place.run(&add(&["--path", "/total", "--blocks", "false"]));
    says(&added, 0, &["known-1: means 1 group with 100 mismatches"]);
    assert!(!added.stderr.contains("cannot grow"), "{}", added.stderr);
    assert_eq!(rate(&place), Some(by_fingerprint));
    assert!((0.1..0.2).contains(&by_fingerprint), "{by_fingerprint}");
    says(&gate(&place, &[]), 0, &["PASS"]);

    // The share that somebody names holds, and grows.
    place.write("parity.toml", &before);
    let low = ["--path", "/total", "--blocks", "false", "--rate", "0.02"];
    says(&place.run(&add(&low)), 0, &[]);
    assert_eq!(rate(&place), Some(0.02));
    says(
        &gate(&place, &[]),
        1,
        &["known difference known-1 grows: 100 of 1,000"],
    );
    place.write("parity.toml", &before);
    says(&place.run(&add(&[&fingerprint, "--rate", "0.02"])), 0, &[]);
    assert_eq!(rate(&place), Some(0.02));
}

#[test]
fn an_entry_for_what_was_not_recorded_has_no_rate_and_says_so() {
    let place = recorded();
    let added = place.run(&add(&["--path", "/nowhere"]));
    says(
        &added,
        0,
        &[
            "means nothing that was recorded so far",
            "cannot grow",
            "--rate",
        ],
    );
    assert_eq!(rate(&place), None);
    let added = place.run(&add(&["--path", "/nowhere/else", "--rate", "0.02"]));
    says(&added, 0, &["means nothing that was recorded so far"]);
    assert!(!added.stderr.contains("cannot grow"), "{}", added.stderr);
    assert_eq!(rate(&place), Some(0.02));
    let before = file(&place);
    for (more, words) in [
        (&["--path", "/other", "--rate", "2"][..], "rate"),
        (&["--path", "/other", "--rate", "NaN"], "rate"),
        (&["--path", "/other", "--rate=-0.1"], "rate"),
        (&["--baseline", "--rate", "0.1"], "cannot be used with"),
    ] {
        says(&place.run(&add(more)), 2, &[words]);
        assert_eq!(file(&place), before, "{more:?}");
    }
}

/// Of several routes the one counts on which it is most frequent: on the others it may become as frequent.
#[test]
fn an_entry_for_several_routes_has_the_rate_of_the_highest() {
    let place = Place::new();
    let legacy = Service::json("{\"total\":1,\"name\":\"x\"}");
    let candidate = Service::start(|request| {
        if request.target.starts_with("/parts") {
            Answer::json("{\"total\":2,\"name\":\"x\"}")
        } else {
            candidate(request)
        }
    });
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let mut connection = crate::support::client::Connection::open(mirror.address);
    for number in 0..200 {
        for route in ["orders", "parts"] {
            connection.send("GET", &format!("/{route}/{number}"), &[], b"");
            assert_eq!(connection.answer("GET").expect("answered").status, 200);
        }
    }
    let (code, log) = mirror.stop();
    assert_eq!(code, 0, "{log}");
    place.write("parity.toml", "");
    says(
        &place.run(&add(&["--path", "/total"])),
        0,
        &["means 2 groups with 220 mismatches"],
    );
    assert_eq!(rate(&place), Some(1.0), "all answers of /parts differ");
    let one = [
        "--path",
        "/**/total",
        "--route",
        "GET /orders/{id}",
        "--id",
        "orders",
    ];
    place.write("parity.toml", "");
    says(
        &place.run(&add(&one)),
        0,
        &["means 1 group with 20 mismatches"],
    );
    let share = rate(&place).expect("a rate");
    assert!((0.1..0.3).contains(&share), "{share}");
}
