//! A difference that grew lately, after much traffic in which it did not.

use super::*;

/// Long enough ago that it is in no slice of the last days.
const AGO_MICROS: i64 = 8 * 24 * 60 * 60 * 1_000_000;
const REGISTER: &str = "[[known]]\nid = \"total\"\npath = \"/total\"\nblocks = false\nowner = \"payments\"\nreason = \"cents\"\nrate = 0.02\n";

/// A record of 2,000 requests of a week ago of which one in a hundred differs, and of 200 since, of which this many in ten do.
fn recorded_lately(in_ten: u32) -> Place {
    let place = Place::new();
    let legacy = Service::json("{\"total\":1}");
    let candidate = Service::start(move |request: &Request| {
        let number = request.target.rsplit('/').next();
        let number: u32 = number.and_then(|text| text.parse().ok()).unwrap_or(0);
        let differs = if number < 10_000 {
            number.is_multiple_of(100)
        } else {
            number % 10 < in_ten
        };
        Answer::json(format!("{{\"total\":{}}}", 1 + u32::from(differs)))
    });
    for numbers in [0..2_000, 10_000..10_200] {
        let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
        let mut connection = crate::support::client::Connection::open(mirror.address);
        for number in numbers {
            connection.send("GET", &format!("/orders/{number}"), &[], b"");
            assert_eq!(connection.answer("GET").expect("answered").status, 200);
        }
        let (code, log) = mirror.stop();
        assert_eq!(code, 0, "{log}");
        let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
        let is_first = "SELECT count(*) FROM watermarks";
        let runs: u32 = store
            .query_row(is_first, (), |row| row.get(0))
            .expect("SQL");
        if runs > 1 {
            continue;
        }
        for (table, times) in [
            ("tallies", &["interval_start"][..]),
            (
                "group_tallies",
                &["interval_start", "first_seen", "last_seen"],
            ),
            ("set_tallies", &["interval_start"]),
            (
                "watermarks",
                &[
                    "started",
                    "written",
                    "complete_until",
                    "counted_from",
                    "open_from",
                    "terms_since",
                ],
            ),
        ] {
            for time in times {
                let earlier = format!("UPDATE {table} SET {time} = {time} - {AGO_MICROS}");
                store.execute(&earlier, ()).expect("SQL");
            }
        }
    }
    place.write("parity.toml", REGISTER);
    place
}

#[test]
fn what_grew_lately_grows_although_old_traffic_dilutes_it() {
    let place = recorded_lately(3);
    let words = "known difference total grows: 60 of 200 on GET /orders/{id} since ";
    let allowed = ["gate", "--max-mismatch-rate", "0.1"];
    let decided = place.run(&allowed);
    says(&decided, 0, &[words, "more than twice 2 %"]);
    says(
        &place.run(&[&allowed[..], &["--nothing-new"]].concat()),
        1,
        &["growing", words],
    );
    says(
        &place.run(&["report"]),
        0,
        &["grows on GET /orders/{id}: 60 of 200 since "],
    );
    let listed = list(&place);
    assert_eq!(listed["entries"][0]["state"], "growing", "{listed}");
    let document = place
        .run(&[&allowed[..], &["--output", "json"]].concat())
        .json();
    let route = &document["known"][0]["routes"][0];
    assert_eq!(route["mismatches"], 80, "{route}");
    assert_eq!(route["grown"]["mismatches"], 60, "{route}");
    let id = document["decision_id"].as_str().expect("an id");
    place.write("file.json", place.run(&["decisions", "export", id]).stdout);
    let verify = [
        "decisions",
        "verify",
        "file.json",
        "--store",
        "sqlite:parity.db",
    ];
    says(&place.run(&verify), 0, &[]);
}

#[test]
fn what_is_as_frequent_as_ever_is_known() {
    let place = recorded_lately(0);
    let decided = place.run(&["gate", "--max-mismatch-rate", "0.1", "--output", "json"]);
    let route = &decided.json()["known"][0]["routes"][0];
    assert_eq!(
        route["recent"].as_array().expect("slices").len(),
        3,
        "{route}"
    );
    assert!(route["grown"].is_null(), "{route}");
    says(&place.run(&["report"]), 0, &["known"]);
    assert_eq!(list(&place)["entries"][0]["state"], "known");
}
