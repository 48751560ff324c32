//! More than a reader of JUnit takes: routes, names and values.

use std::collections::HashSet;

use parity_comparator::decision::decide;
use parity_schemas::evidence::{Outcome, Thresholds};
use parity_schemas::report::Report;
use parity_schemas::watermark::Standing;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;

/// Requests that were compared on each route.
const REQUESTS: u64 = 40;

/// Routes of which every second one always differs, with values of this text.
fn decided(names: impl Iterator<Item = String>, text: &str) -> Decided {
    let (mut routes, mut groups) = (Vec::new(), Vec::new());
    for (at, name) in names.enumerate() {
        let (mismatch, differs) = if at % 2 == 0 {
            (REQUESTS, true)
        } else {
            (0, false)
        };
        routes.push(json!({
            "route": name, "received": REQUESTS, "match": REQUESTS - mismatch, "mismatch": mismatch, "compared": REQUESTS,
            "not_compared": {}, "legacy_us": {}, "candidate_us": {"p50": 1_500_000}
        }));
        if differs {
            groups.push(group(&name, at, text));
        }
    }
    let report = json!({
        "schema": "parity.report/v1", "received": 0, "match": 0, "mismatch": 0, "not_compared": {}, "migration": "m",
        "legacy_version": "", "candidate_version": "", "rules_hash": "", "instances": [], "routes": routes, "groups": groups,
        "window": {"from": "2026-11-24T03:00:00.5Z", "to": "2026-11-24T03:01:30Z"}, "rules": []
    });
    let report: Report = serde_json::from_value(report).expect("a report");
    let decision = decide(
        "m",
        report.evidence().as_ref(),
        &Standing::default(),
        &Thresholds::default(),
        Uuid::nil(),
        Timestamp::default(),
    );
    Decided::of(report, decision, None)
}

fn group(route: &str, at: usize, text: &str) -> Value {
    json!({
        "fingerprint": format!("{at:016x}"), "route": route, "part": "body", "pattern": format!("/{text}/v"), "kind": "value",
        "explanation": null, "legacy_status": 200, "candidate_status": 200, "count": REQUESTS,
        "first_seen": "2026-11-24T03:00:00Z", "last_seen": "2026-11-24T03:00:00Z", "example_id": Uuid::nil(),
        "example": {"target": text, "path": "/v", "candidate_path": null, "legacy": text, "candidate": text, "text_diff": null}
    })
}

/// How often it has an element, and what the suite says of that.
fn counts(xml: &str, element: &str, attribute: &str) -> (usize, usize) {
    let said = xml.split(&format!(" {attribute}=\"")).nth(1);
    let said = said.and_then(|rest| rest.split('"').next()).map(str::parse);
    let said = said.expect("an attribute").expect("a number");
    (xml.matches(&format!("<{element} ")).count(), said)
}

#[test]
fn ten_thousand_routes_have_a_case_each_and_a_file_that_is_taken() {
    let text = "\u{202e}<&\u{1}".repeat(100);
    let decided = decided((0..10_000).map(|at| format!("GET /{at:05}")), &text);
    let fails = decided.decision.routes.iter();
    let fails = fails.filter(|route| route.outcome == Outcome::Fail).count();
    assert_eq!(fails, 5_000);
    let xml = junit(&decided);
    assert!(xml.len() < MOST_BYTES + 100_000, "{}", xml.len());
    assert_eq!(counts(&xml, "testcase", "tests"), (10_001, 10_001));
    assert_eq!(counts(&xml, "failure", "failures"), (5_001, 5_001));
    assert_eq!(counts(&xml, "skipped", "skipped"), (5_000, 5_000));
    assert!(xml.contains("Too long for JUnit: what differs is left out of the last "));
    assert!(xml.contains("and 0 of them are left out as a whole"));
    assert!(xml.contains(" time=\"1.500000\""));
    assert!(xml.contains(" time=\"89.500000\" timestamp=\"2026-11-24T03:00:00\""));
    assert!(!xml.contains(['\u{202e}', '\u{1}']));
}

#[test]
fn what_does_not_fit_is_left_out_and_told_and_the_worst_stays() {
    let decided = decided((0..400).map(|at| format!("GET /{at:03}")), "x");
    let xml = of(&decided, (10_000, 20_000));
    assert!(xml.len() < 24_000, "{}", xml.len());
    let (cases, said) = counts(&xml, "testcase", "tests");
    assert_eq!(cases, said);
    let left_out = format!("{} of them are left out as a whole", 401 - cases);
    assert!(xml.contains(&left_out), "{left_out}");
    assert_eq!(
        xml.matches("<failure ").count(),
        cases,
        "what fails comes first"
    );
}

#[test]
fn no_two_cases_have_one_name() {
    let long = "x".repeat(2_000);
    let decided = decided((0..6).map(|at| format!("GET /{long}{at}")), "x");
    let cases = Cases::of(&decided);
    let names: HashSet<&str> = cases.cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), 7, "{names:?}");
}
