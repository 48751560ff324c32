//! What the gate says of counts.

use std::collections::BTreeMap;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::evidence::{OtherRules, Outcome, RouteEvidence, Window};
use parity_schemas::tally::{Counts, Identity};
use parity_schemas::verdict::Reason;
use parity_schemas::watermark::{Apart, Run, Watermark};

use super::*;

mod again;
mod caps;
mod errors;
mod fields;
mod latency;
mod legacy_errors;
mod noise;
mod route;
mod scope;
mod served;
mod spread;
mod standing;

fn counts(matched: u64, mismatch: u64, not_compared: &[(Reason, u64)]) -> Counts {
    let not_compared: BTreeMap<Reason, u64> = not_compared.iter().copied().collect();
    let mut counts = Counts {
        matched,
        mismatch,
        not_compared,
        ..Counts::default()
    };
    counts.received = counts.settled();
    counts
}

fn evidence(routes: Vec<(&str, Counts)>) -> Evidence {
    Evidence {
        identity: Identity::default(),
        window: Window {
            from: Timestamp::from_micros(0),
            to: Timestamp::from_micros(60_000_000),
        },
        instances: vec!["one".to_owned()],
        runs: Vec::new(),
        carried: Vec::new(),
        recent: Vec::new(),
        other_rules: Vec::new(),
        left_out: Vec::new(),
        only_left_out: Vec::new(),
        groups: Vec::new(),
        sets: Vec::new(),
        routes: routes
            .into_iter()
            .map(|(route, counts)| RouteEvidence {
                route: route.to_owned(),
                counts,
                ..RouteEvidence::default()
            })
            .collect(),
    }
}

fn gate(routes: Vec<(&str, Counts)>, thresholds: &Thresholds) -> Decision {
    decided_on(&evidence(routes), thresholds)
}

/// Whatever is decided can be decided again from its document.
fn decided_on(evidence: &Evidence, thresholds: &Thresholds) -> Decision {
    let decision = decide(
        "default",
        Some(evidence),
        &Standing::default(),
        thresholds,
        Uuid::nil(),
        Timestamp::from_micros(1),
    );
    assert_eq!(again::faults(&decision), [""; 0]);
    decision
}

#[test]
fn a_route_that_is_proven_to_differ_fails_with_the_documented_sentence() {
    let decision = gate(
        vec![(
            "GET /users/{id}",
            counts(990, 8, &[(Reason::UnsafeMethod, 2)]),
        )],
        &Thresholds::default(),
    );
    assert_eq!(decision.outcome, Outcome::Fail);
    assert_eq!(
        decision.reasons,
        ["GET /users/{id}: at least 0.13 % differ, 0.10 % allowed"]
    );
    let route = &decision.routes[0];
    assert_eq!((route.compared, route.differing, route.needed), (998, 8, 0));
}

/// Nothing was compared there, so nothing can differ.
#[test]
fn a_route_whose_candidate_only_fails_is_told_by_what_happened() {
    let told = |differing, reasons: &[(Reason, u64)]| {
        let counts = counts(10, differing, reasons);
        let decision = gate(vec![("GET /a", counts)], &Thresholds::default());
        assert_eq!(decision.outcome, Outcome::Fail);
        decision.reasons[0].clone()
    };
    let unanswered = [
        (Reason::CandidateTimeout, 30),
        (Reason::CandidateRefused, 960),
    ];
    let sentence = told(0, &unanswered);
    assert!(
        sentence.contains(
            " % got no whole answer of the candidate (960 × `candidate_refused`, 30 × `candidate_timeout`), 0.10 % allowed"
        ),
        "{sentence}"
    );
    let sentence = told(0, &[(Reason::CandidateTooLarge, 990)]);
    assert!(
        sentence.contains(
            "no answer of the candidate that can be compared (990 × `candidate_too_large`)"
        ),
        "{sentence}"
    );
    // With answers that differ among them, all of it is said to.
    let sentence = told(1, &unanswered);
    assert!(sentence.contains("% differ,"), "{sentence}");
}

#[test]
fn one_bad_route_among_many_good_ones_fails() {
    let decision = gate(
        vec![
            ("GET /a", counts(10_000_000, 0, &[])),
            ("GET /b", counts(90, 10, &[])),
        ],
        &Thresholds::default(),
    );
    assert_eq!(decision.outcome, Outcome::Fail);
    assert_eq!(decision.total.outcome, Outcome::Pass);
    assert_eq!(decision.routes[0].route, "GET /b");
    assert!(
        decision.reasons[0].starts_with("GET /b: at least 2.06 % differ"),
        "{:?}",
        decision.reasons
    );
}

#[test]
fn enough_matching_requests_pass_and_too_few_are_undecided_with_what_is_missing() {
    let thresholds = Thresholds::default();
    let few = gate(vec![("GET /a", counts(506, 0, &[]))], &thresholds);
    assert_eq!(few.outcome, Outcome::Undecided);
    assert_eq!(
        few.reasons,
        [
            "all requests: up to 0.75 % may differ, 0.10 % allowed; 3,281 more requests, if all match, would settle it"
        ]
    );
    let enough = gate(
        vec![("GET /a", counts(506 + few.total.needed, 0, &[]))],
        &thresholds,
    );
    assert_eq!(enough.outcome, Outcome::Pass);
    assert_eq!(enough.total.needed, 0);
}

#[test]
fn candidate_failures_alone_fail_even_when_the_breaker_made_us_drop_the_rest() {
    let decision = gate(
        vec![(
            "GET /a",
            counts(
                0,
                0,
                &[(Reason::CandidateRefused, 20), (Reason::BreakerOpen, 980)],
            ),
        )],
        &Thresholds::default(),
    );
    assert_eq!(decision.outcome, Outcome::Fail);
    assert!(
        decision.reasons[1].contains("20 of 20 requests (mostly `candidate_refused`)"),
        "{:?}",
        decision.reasons
    );
}

#[test]
fn our_own_drops_prevent_a_pass() {
    let thresholds = Thresholds::default();
    let routes = |dropped| {
        vec![(
            "GET /a",
            counts(100_000, 0, &[(Reason::QueueFull, dropped)]),
        )]
    };
    assert_eq!(gate(routes(5_000), &thresholds).outcome, Outcome::Pass);
    let decision = gate(routes(6_000), &thresholds);
    assert_eq!(decision.outcome, Outcome::Undecided);
    assert!(decision.reasons[0].starts_with("all requests: 5.66 % of what was to be compared was dropped by parity (mostly `queue_full`), 5.00 % allowed"));
    // What was never meant to be compared makes no drop small.
    let sampled = [(Reason::SampledOut, 900_000), (Reason::QueueFull, 6_000)];
    let decision = gate(vec![("GET /a", counts(100_000, 0, &sampled))], &thresholds);
    assert_eq!(decision.outcome, Outcome::Undecided);
    // A required route stands for itself.
    let required = Thresholds {
        required_routes: vec!["POST /pay".to_owned()],
        ..Thresholds::default()
    };
    let routes = vec![
        ("GET /a", counts(100_000, 0, &[])),
        (
            "POST /pay",
            counts(3_100, 0, &[(Reason::RequestTooLarge, 2_500)]),
        ),
    ];
    let decision = gate(routes, &required);
    assert_eq!(decision.outcome, Outcome::Undecided);
    assert!(
        decision.reasons[0]
            .starts_with("POST /pay: 44.64 % of what was to be compared was dropped")
    );
}

#[test]
fn a_candidate_that_is_not_asked_because_it_failed_does_not_pass_by_its_other_answers() {
    let not_asked = [(Reason::CandidateRefused, 52), (Reason::BreakerOpen, 3_948)];
    let routes = vec![("GET /a", counts(90_000, 0, &not_asked))];
    let decision = gate(routes, &Thresholds::default());
    assert_eq!(decision.outcome, Outcome::Undecided);
    assert!(
        decision.reasons[0].contains("for 3,948 the candidate was not asked"),
        "{:?}",
        decision.reasons
    );
    let few = vec![("GET /a", counts(90_000, 0, &[(Reason::BreakerOpen, 10)]))];
    let decision = gate(few, &Thresholds::default());
    assert_eq!(decision.outcome, Outcome::Pass);
    assert!(
        decision.reasons[1].contains("10 of 90,010 received were not (mostly `breaker_open`)"),
        "{:?}",
        decision.reasons
    );
}

#[test]
fn sampling_and_unsafe_methods_are_no_drops() {
    let decision = gate(
        vec![(
            "GET /a",
            counts(
                100_000,
                0,
                &[
                    (Reason::SampledOut, 900_000),
                    (Reason::UnsafeMethod, 900_000),
                ],
            ),
        )],
        &Thresholds::default(),
    );
    assert_eq!(decision.outcome, Outcome::Pass);
}

#[test]
fn nothing_recorded_and_too_few_requests_are_undecided() {
    let none = decide(
        "payments",
        None,
        &Standing::default(),
        &Thresholds::default(),
        Uuid::nil(),
        Timestamp::from_micros(1),
    );
    assert_eq!(
        (none.outcome, none.reasons),
        (
            Outcome::Undecided,
            vec!["no traffic recorded for migration `payments`".to_owned()]
        )
    );
    assert!(none.evidence.is_none());
    let thresholds = Thresholds {
        min_requests: 100_000,
        ..Thresholds::default()
    };
    let few = gate(vec![("GET /a", counts(50_000, 0, &[]))], &thresholds);
    assert_eq!(
        (few.outcome, few.total.needed),
        (Outcome::Undecided, 50_000)
    );
    assert_eq!(
        few.reasons,
        ["all requests: 50,000 compared, at least 100,000 wanted"]
    );
    let only_unsafe = gate(
        vec![("POST /a", counts(0, 0, &[(Reason::UnsafeMethod, 9)]))],
        &Thresholds::default(),
    );
    assert_eq!(only_unsafe.outcome, Outcome::Undecided);
    assert_eq!(
        only_unsafe.reasons,
        [
            "all requests: no request compared. The candidate is never asked. The method may have side effects. If a \
             second request does no harm, allow it by `shadow = true` in its [[route]]"
        ]
    );
    assert_eq!(
        (only_unsafe.total.needed, only_unsafe.routes[0].needed),
        (0, 0)
    );
    let sampled_out = gate(
        vec![("GET /a", counts(0, 0, &[(Reason::SampledOut, 9)]))],
        &Thresholds::default(),
    );
    assert_eq!(
        sampled_out.reasons,
        ["all requests: no request compared; 3,787 matching ones would settle it"]
    );
}

#[test]
fn a_required_route_must_be_proven_on_its_own() {
    let thresholds = Thresholds {
        required_routes: vec!["GET /rare".to_owned(), "GET /never".to_owned()],
        ..Thresholds::default()
    };
    let decision = gate(
        vec![
            ("GET /a", counts(100_000, 0, &[])),
            ("GET /rare", counts(3, 0, &[])),
        ],
        &thresholds,
    );
    assert_eq!(decision.outcome, Outcome::Undecided);
    assert_eq!(decision.reasons.len(), 2);
    assert!(decision.reasons.contains(
        &"GET /never: never seen, so nothing is known of it; did you mean `GET /rare`?".to_owned()
    ));
    assert!(
        decision
            .reasons
            .iter()
            .any(|reason| reason.starts_with("GET /rare: up to 71.00 %")),
        "{:?}",
        decision.reasons
    );
    assert_eq!(decision.routes.len(), 3);
}

#[test]
fn what_nobody_could_compare_is_capped_in_all_and_on_required_routes() {
    let streams = |count: u64| [(Reason::Stream, count), (Reason::SampledOut, 1_000_000)];
    let routes = |events: u64| {
        vec![
            ("GET /a", counts(100_000, 0, &[])),
            ("GET /events", counts(0, 0, &streams(events))),
        ]
    };
    let allowed = gate(routes(5_000), &Thresholds::default());
    assert_eq!(allowed.outcome, Outcome::Pass, "{:?}", allowed.reasons);
    assert_eq!(allowed.total.uncomparable, 5_000);
    let too_many = gate(routes(6_000), &Thresholds::default());
    assert_eq!(too_many.outcome, Outcome::Undecided);
    assert_eq!(
        too_many.reasons,
        [
            "all requests: 5.66 % of the pairs could not be compared (mostly `stream`), 5.00 % allowed; what they would have shown is unknown"
        ]
    );
    let required = Thresholds {
        required_routes: vec!["GET /half".to_owned()],
        ..Thresholds::default()
    };
    let mut with_half = routes(0);
    with_half.push(("GET /half", counts(5_000, 0, &streams(1_000))));
    let half = gate(with_half.clone(), &required);
    assert_eq!(half.outcome, Outcome::Undecided);
    assert_eq!(
        half.reasons,
        [
            "GET /half: 16.67 % of the pairs could not be compared (mostly `stream`), 5.00 % allowed; what they would have shown is unknown"
        ]
    );
    assert_eq!(
        gate(with_half, &Thresholds::default()).outcome,
        Outcome::Pass
    );
}

#[test]
fn what_only_the_candidate_made_uncomparable_differs() {
    for reason in Reason::ALL {
        let alone = reason.of_candidate_alone();
        if alone == *reason {
            continue;
        }
        let decision = gate(
            vec![("GET /a", counts(3_000, 0, &[(alone, 3_000)]))],
            &Thresholds::default(),
        );
        assert_eq!(decision.outcome, Outcome::Fail, "{alone}");
        assert_eq!(
            (decision.total.compared, decision.total.differing),
            (6_000, 3_000)
        );
    }
}

#[test]
fn the_edges_of_what_may_be_allowed() {
    let none_allowed = Thresholds {
        max_mismatch_rate: 0.0,
        ..Thresholds::default()
    };
    let clean = gate(vec![("GET /a", counts(1_000_000, 0, &[]))], &none_allowed);
    assert_eq!((clean.outcome, clean.total.needed), (Outcome::Undecided, 0));
    assert_eq!(
        clean.reasons,
        [
            "all requests: 0 of 1,000,000 differ, but no number of requests can prove that at most 0 % do; allow a higher rate"
        ]
    );
    assert_eq!(
        gate(vec![("GET /a", counts(1_000_000, 1, &[]))], &none_allowed).outcome,
        Outcome::Fail
    );
    let all_allowed = Thresholds {
        max_mismatch_rate: 1.0,
        ..Thresholds::default()
    };
    assert_eq!(
        gate(vec![("GET /a", counts(0, 5, &[]))], &all_allowed).outcome,
        Outcome::Pass
    );
    let sure = Thresholds {
        confidence: 1.0 - 1e-12,
        ..Thresholds::default()
    };
    assert_eq!(
        gate(vec![("GET /a", counts(10_000, 0, &[]))], &sure).outcome,
        Outcome::Undecided
    );
    assert_eq!(
        gate(vec![("GET /a", counts(40_000, 0, &[]))], &sure).outcome,
        Outcome::Pass
    );
}

#[test]
fn what_has_no_outcome_keeps_the_gate_open_and_is_no_drop() {
    let mut counts = counts(10_000, 0, &[(Reason::QueueFull, 40)]);
    counts.received = 20_000;
    let evidence = evidence(vec![("GET /a", counts)]);
    for (state, told) in [
        ("complete", "is still due"),
        ("ended", "was lost with a process"),
        ("other_rules", "was lost with a process"),
    ] {
        let run = serde_json::json!({ "instance": "one", "state": state, "under_way": 0 });
        let standing = Standing::shown(vec![serde_json::from_value(run).expect("a watermark")]);
        let decision = decide(
            "checkout",
            Some(&evidence),
            &standing,
            &Thresholds::default(),
            Uuid::nil(),
            Timestamp::from_micros(0),
        );
        assert_eq!(decision.outcome, Outcome::Undecided);
        let reasons = &decision.reasons;
        let reason = reasons.iter().find(|reason| reason.contains("outcome yet"));
        let reason = reason.unwrap_or_else(|| panic!("{reasons:?}"));
        assert!(
            reason.starts_with(
                "all requests: 50.00 % of what was to be compared has no outcome yet (9,960) or was dropped by parity (40), 5.00 % allowed"
            ),
            "{reason}"
        );
        assert!(reason.contains(told), "{state}: {reason}");
    }
}
