//! Parity over time, from outside: the API, and the chart on the page.

mod replaced;
mod versions;

use parity_schemas::history::{History, MarkKind, OnsetState};
use serde_json::Value;

use crate::support::process::{Mirror, Place};
use crate::support::service::Service;

/// Enough to prove that it holds, and then that it does not.
const REQUESTS: u64 = 200;
/// What is allowed here: so few requests prove no less.
const ALLOWED: &str = "max_mismatch_rate=0.1";

fn history(mirror: &Mirror<'_>, query: &str) -> (History, Value) {
    let answer = mirror.ask(&format!("/api/v1/history?{ALLOWED}&{query}"));
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    let document = answer.json();
    let history: History = serde_json::from_value(document.clone()).expect("of its schema");
    assert_eq!(history.schema, "parity.history/v1");
    (history, document)
}

fn send(mirror: &Mirror<'_>, path: &str) {
    for number in 0..REQUESTS {
        mirror.get(&format!("{path}/{number}"));
    }
}

/// Two versions of a candidate, an hour apart: the first is right, the second is not.
fn with_history(place: &Place) {
    let legacy = Service::json("{\"a\":1}");
    let right = Service::json("{\"a\":1}");
    let first = place.mirror(
        &legacy.url(),
        &right.url(),
        &["--candidate-version", "<i>1"],
    );
    send(&first, "/items");
    first.settled(REQUESTS);
    assert_eq!(first.stop().0, 0);
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    store
        .execute_batch("UPDATE tallies SET interval_start = interval_start - 3600000000")
        .expect("an hour ago");
    drop(store);
    let wrong = Service::json("{\"a\":2}");
    let second = place.mirror(&legacy.url(), &wrong.url(), &["--candidate-version", "2"]);
    send(&second, "/items");
    second.settled(REQUESTS);
    assert_eq!(second.stop().0, 0);
}

#[test]
fn it_is_told_since_when_the_services_differ_and_what_changed_then() {
    let place = Place::new();
    with_history(&place);
    let ui = place.ui();
    let (all, _) = history(&ui, "since=2h");
    let [.., last] = &all.buckets[..] else {
        panic!("{all:?}");
    };
    let sum = |of: fn(&parity_schemas::history::HistoryBucket) -> u64| -> u64 {
        all.buckets.iter().map(of).sum()
    };
    assert_eq!(sum(|bucket| bucket.received), 2 * REQUESTS);
    assert_eq!(sum(|bucket| bucket.differing), REQUESTS);
    let report = ui.ask("/api/v1/report").json();
    assert_eq!(report["differing"], REQUESTS, "the report counts the same");
    assert!(!last.legacy_head_us.is_empty() && last.legacy_head_us["p50"] > 0);
    let [mark] = &all.marks[..] else {
        panic!("{:?}", all.marks);
    };
    assert_eq!(
        (mark.kind, mark.from.as_str(), mark.to.as_str()),
        (MarkKind::CandidateVersion, "<i>1", "2")
    );
    let onset = all.onset.as_ref().expect("it is told");
    assert_eq!(onset.state, OnsetState::Differs);
    assert_eq!(onset.stretch.differing, REQUESTS);
    // What another version did before is no part of it.
    assert_eq!((onset.before.compared, onset.after), (0, None));

    let group = &report["groups"][0];
    let fingerprint = group["fingerprint"].as_str().expect("a group");
    let (of_group, _) = history(
        &ui,
        &format!(
            "fingerprint={fingerprint}&fingerprint=none&route=GET%20/items/%7Bid%7D&count_excused=true"
        ),
    );
    let counts: Vec<_> = of_group.groups.iter().map(|group| group.count).collect();
    assert_eq!(counts, [REQUESTS, 0]);
    assert!(!of_group.without_excused);
    let (first, _) = history(&ui, "candidate_version=%3Ci%3E1");
    assert_eq!(first.onset.expect("it is told").state, OnsetState::Holds);
    let (nothing, document) = history(&ui, "migration=none");
    assert_eq!(document["window"], Value::Null);
    assert_eq!(
        nothing.onset.expect("it is told").state,
        OnsetState::Nothing
    );

    let page = ui.ask(&format!("/?{ALLOWED}"));
    let text = page.text();
    for told in [
        "Candidate 2 differs since ",
        "that is when this version was first compared",
        "nothing is recorded</p>",
        "<svg class=\"chart wide\"",
        "<svg class=\"chart narrow\"",
        "candidate &#60;i&#62;1 → 2",
        "class=\"high\"",
        "class=\"gap\"",
        "10 % allowed",
        "<details><summary>Share of requests that differ",
    ] {
        assert!(text.contains(told), "{told} is missing in\n{text}");
    }
    assert!(
        !text.contains("style=\"") && !text.contains("<i>1"),
        "{text}"
    );
    ui.stop();
}

#[test]
fn what_is_wrong_with_a_question_is_told() {
    let place = Place::new();
    let legacy = Service::json("{\"a\":1}");
    let mirror = place.mirror(&legacy.url(), &legacy.url(), &[]);
    for (query, told) in [
        ("until=later", "until: `later` is neither a time"),
        ("count_excused=perhaps", "count_excused: "),
        ("rout=x", "did you mean `route`?"),
        ("route=a&route=b", "route is given more than once"),
        ("wait=1m", "wait is only a flag of `parity gate`"),
    ] {
        let answer = mirror.ask(&format!("/api/v1/history?{query}"));
        assert_eq!(answer.status, 400, "{query}");
        assert!(answer.text().contains(told), "{query}: {}", answer.text());
    }
    // A page of a mirror that has received nothing has no chart, and is there.
    let page = mirror.ask("/");
    assert_eq!(page.status, 200);
    assert!(!page.text().contains("<svg"), "{}", page.text());
    mirror.stop();
}
