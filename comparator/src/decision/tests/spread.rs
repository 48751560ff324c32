//! How many targets a decision rests on.

use parity_schemas::targets::{DistinctTargets, FrequentTargets, TargetEvidence};

use super::*;

/// So many requests that match, each `every`-th to a target of its own.
fn route(requests: u64, distinct: u64, key: &str) -> RouteEvidence {
    let (mut registers, mut frequent) = (DistinctTargets::default(), FrequentTargets::default());
    for request in 0..requests {
        let hash = (request % distinct + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        registers.add(hash);
        frequent.add(hash);
    }
    let mut targets = TargetEvidence::default();
    targets.add(key, requests, &registers, &frequent);
    RouteEvidence {
        route: "GET /users/{id}".to_owned(),
        counts: counts(requests, 0, &[]),
        targets,
        ..RouteEvidence::default()
    }
}

fn decided(routes: Vec<RouteEvidence>, thresholds: &Thresholds) -> Decision {
    let evidence = Evidence {
        routes,
        ..evidence(Vec::new())
    };
    decided_on(&evidence, thresholds)
}

fn at_least(min_distinct: u64) -> Thresholds {
    Thresholds {
        min_distinct,
        ..Thresholds::default()
    }
}

#[test]
fn a_pass_that_rests_on_one_target_says_so() {
    let one = decided(vec![route(5_000, 1, "key")], &Thresholds::default());
    assert_eq!(one.outcome, Outcome::Pass);
    assert_eq!(
        one.reasons[1],
        "all of it is one target (method, path and query): of any other it says nothing"
    );
    assert_eq!(
        (one.total.distinct_targets, one.total.most_frequent_share),
        (1, Some(1.0))
    );
    assert_eq!(one.routes[0].distinct_targets, 1);
    let many = decided(vec![route(5_000, 10, "key")], &Thresholds::default());
    assert_eq!(many.reasons.len(), 1, "{:?}", many.reasons);
    assert_eq!(
        (many.total.distinct_targets, many.total.most_frequent_share),
        (10, Some(0.1))
    );
}

#[test]
fn too_few_targets_keep_the_gate_open_and_the_sentence_says_how_many_are_wanted() {
    let few = decided(vec![route(5_000, 12, "key")], &at_least(13));
    assert_eq!(few.outcome, Outcome::Undecided);
    assert_eq!(
        few.reasons,
        [
            "all requests: what was compared had 12 distinct targets (method, path and query), at least 13 wanted"
        ]
    );
    let enough = decided(vec![route(5_000, 12, "key")], &at_least(12));
    assert_eq!(enough.outcome, Outcome::Pass, "{:?}", enough.reasons);
    let none = decided(vec![route(0, 1, "key")], &at_least(1));
    assert_eq!(none.outcome, Outcome::Undecided);
}

#[test]
fn what_is_not_known_of_targets_is_said() {
    let old = RouteEvidence {
        route: "GET /old".to_owned(),
        ..route(4_000, 7, "")
    };
    let decision = decided(vec![route(5_000, 3, "key"), old.clone()], &at_least(5));
    assert_eq!(
        decision.reasons,
        [
            "all requests: what was compared had 3 distinct targets (method, path and query), at least 5 wanted; those of 4,000 \
             requests are not known, which a parity counted that did not count targets"
        ]
    );
    let only_old = decided(vec![old], &Thresholds::default());
    assert_eq!(
        (only_old.outcome, only_old.total.most_frequent_share),
        (Outcome::Pass, None)
    );
    assert_eq!(
        only_old.reasons.len(),
        1,
        "nothing is said of what nobody knows"
    );
    let mut two = route(5_000, 4, "key");
    two.targets.merge(&route(5_000, 4, "other").targets);
    let apart = decided(vec![two], &at_least(8));
    assert!(
        apart.reasons[0].contains("2 processes told targets apart")
            && apart.reasons[0].contains("--redaction-key-file"),
        "{:?}",
        apart.reasons
    );
}

#[test]
fn a_target_that_most_requests_had_is_told() {
    let mut skewed = route(4_000, 1, "key");
    skewed.targets.merge(&route(1_000, 10, "key").targets);
    skewed.counts = counts(5_000, 0, &[]);
    let decision = decided(vec![skewed], &Thresholds::default());
    assert_eq!(decision.outcome, Outcome::Pass);
    assert_eq!(
        decision.reasons[1],
        "at least 82 % of it is one target (method, path and query)"
    );
}

#[test]
fn a_proven_route_with_a_placeholder_and_one_target_is_named() {
    let plain = RouteEvidence {
        route: "GET /health".to_owned(),
        ..route(5_000, 1, "key")
    };
    let spread = RouteEvidence {
        route: "GET /orders/{id}".to_owned(),
        ..route(9_000, 400, "key")
    };
    let single = route(5_000, 1, "key");
    let decision = decided(vec![plain, spread, single], &Thresholds::default());
    let told = "each rests on a single target: GET /users/{id}".to_owned();
    assert!(decision.reasons.contains(&told), "{:?}", decision.reasons);
}

#[test]
fn a_fail_needs_no_other_targets_and_an_operation_has_those_of_all_its_routes() {
    let mut bad = route(500, 1, "key");
    bad.counts = counts(400, 100, &[]);
    assert_eq!(decided(vec![bad], &at_least(50)).outcome, Outcome::Fail);
    let operations = Thresholds {
        operations: vec!["GET /users/{userId}".to_owned()],
        ..Thresholds::default()
    };
    let mut alice = route(5_000, 7, "key");
    alice.route = "GET /users/alice".to_owned();
    let decision = decided(vec![route(5_000, 5, "key"), alice], &operations);
    let operation = decision.routes.iter().find(|route| route.required);
    assert_eq!(operation.expect("it is there").distinct_targets, 7);
}
