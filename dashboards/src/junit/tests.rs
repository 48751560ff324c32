//! More than a reader of JUnit takes: routes, names and values.

use std::collections::HashSet;

use parity_comparator::decision::decide;
use parity_schemas::evidence::{Decision, Outcome, Thresholds};
use parity_schemas::report::Report;
use parity_schemas::tally::Counts;
use parity_schemas::verdict::Reason;
use parity_schemas::watermark::Standing;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;

/// Requests that were compared on each route.
const REQUESTS: u64 = 40;

/// Routes of which every second one always differs, with values of this text.
fn decided(names: impl Iterator<Item = String>, text: &str) -> Decided {
    let report = report(names, text);
    let decision = decision(&report);
    Decided::of(report, decision, None)
}

fn decision(report: &Report) -> Decision {
    decide(
        "m",
        report.evidence().as_ref(),
        &Standing::default(),
        &Thresholds::default(),
        Uuid::nil(),
        Timestamp::default(),
    )
}

fn report(names: impl Iterator<Item = String>, text: &str) -> Report {
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
        "schema": "parity.report/v1", "received": REQUESTS * routes.len() as u64, "match": 0, "mismatch": 0, "not_compared": {}, "migration": "m",
        "legacy_version": "", "candidate_version": "", "rules_hash": "", "instances": [], "routes": routes, "groups": groups,
        "window": {"from": "2026-11-24T03:00:00.5Z", "to": "2026-11-24T03:01:30Z"}, "rules": []
    });
    serde_json::from_value(report).expect("a report")
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
    let names: HashSet<&str> = cases.all.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), 7, "{names:?}");
}

#[test]
fn what_is_not_the_candidates_fault_is_an_error_and_no_failure() {
    use CaseState::{Broken, Differs, Open};
    let names = || ["GET /a", "GET /b"].map(str::to_owned).into_iter();
    let state = |change: &dyn Fn(&mut Counts)| {
        let mut report = report(names(), "x");
        report
            .routes
            .iter_mut()
            .for_each(|route| change(&mut route.counts));
        report.groups.clear();
        let decision = decision(&report);
        let decided = Decided::of(report, decision, None);
        let cases = Cases::of(&decided);
        cases.all.iter().map(|case| case.state).collect::<Vec<_>>()
    };
    let all_match = |counts: &mut Counts| (counts.matched, counts.mismatch) = (REQUESTS, 0);
    assert_eq!(state(&all_match), [CaseState::Open; 3]);
    let dropped = |counts: &mut Counts| {
        (counts.matched, counts.mismatch) = (REQUESTS / 2, 0);
        counts.not_compared = [(Reason::QueueFull, REQUESTS / 2)].into();
    };
    assert_eq!(state(&dropped), [Broken, Open, Open]);
    let fails = |counts: &mut Counts| {
        (counts.matched, counts.mismatch) = (0, 0);
        counts.not_compared = [(Reason::CandidateTimeout, REQUESTS)].into();
    };
    assert_eq!(state(&fails), [Broken; 3]);
    let both = |counts: &mut Counts| {
        (counts.matched, counts.mismatch) = (0, 30);
        counts.not_compared = [(Reason::CandidateTimeout, REQUESTS - 30)].into();
    };
    assert_eq!(state(&both), [Differs; 3]);
}

#[test]
fn a_report_of_later_says_so() {
    let names = |count: usize| (0..count).map(|at| format!("GET /{at}"));
    let before = decision(&report(names(2), "x"));
    let xml = junit(&Decided::of(report(names(3), "x"), before.clone(), None));
    let told = "traffic went on: 40 requests are counted here more than the decision knows";
    assert!(xml.contains(told), "{xml}");
    let xml = junit(&Decided::of(report(names(2), "x"), before, None));
    assert!(!xml.contains("traffic went on"));
}
