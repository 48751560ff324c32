//! What a decision says where rules leave little to compare, and what `min_fields` demands.

use parity_schemas::field_share::FieldCount;

use super::*;

/// So many requests that match, of which so many were sampled with ten fields each, of which so many are left.
fn sampled(matched: u64, sampled: u64, left: u64) -> Counts {
    let mut counts = counts(matched, 0, &[]);
    if sampled > 0 {
        counts.fields = [
            (FieldCount::Sampled, sampled),
            (FieldCount::Left, left * sampled),
            (FieldCount::All, 10 * sampled),
        ]
        .into();
    }
    counts
}

fn at_least(min_fields: f64) -> Thresholds {
    Thresholds {
        min_fields,
        ..Thresholds::default()
    }
}

#[test]
fn a_pass_says_where_less_than_half_is_left_and_says_nothing_of_the_rest() {
    let decision = gate(
        vec![
            ("GET /a", sampled(9_000, 90, 10)),
            ("GET /half", sampled(9_000, 90, 5)),
            ("GET /little", sampled(9_000, 90, 3)),
            ("GET /none", sampled(9_000, 90, 0)),
            ("GET /old", sampled(9_000, 0, 0)),
        ],
        &Thresholds::default(),
    );
    assert_eq!(decision.outcome, Outcome::Pass);
    let told = "a match says little where rules leave little to compare: 0 % of the fields of GET /none, 30 % of the fields of \
                GET /little";
    assert_eq!(decision.reasons[1..], [told]);
    let headline = "rules leave less than half of the fields of 2 routes (40 % of traffic";
    assert!(
        decision.headline.contains(headline),
        "{}",
        decision.headline
    );
    let plain = gate(
        vec![("GET /half", sampled(9_000, 9, 5))],
        &Thresholds::default(),
    );
    assert_eq!(plain.reasons.len(), 1, "{:?}", plain.reasons);
    assert!(!plain.headline.contains("rules"), "{}", plain.headline);
}

#[test]
fn what_is_left_of_bodies_counts_where_it_is_less() {
    let mut counts = sampled(9_000, 90, 8);
    counts
        .fields
        .extend([(FieldCount::BodyLeft, 9), (FieldCount::Body, 180)]);
    let decision = gate(vec![("GET /a", counts)], &at_least(0.06));
    assert_eq!(decision.outcome, Outcome::Undecided);
    assert_eq!(
        decision.reasons,
        [
            "rules leave 5 % of the fields of the bodies of GET /a to compare (90 answers sampled), at least 6 % wanted; fewer or \
             narrower rules would settle it"
        ]
    );
}

/// A tolerance may be so large that it excuses every value.
#[test]
fn what_is_compared_roughly_does_not_count_for_what_is_demanded() {
    let roughly = |roughly: u64| {
        let mut counts = sampled(9_000, 90, 10);
        counts.fields.insert(FieldCount::Roughly, 90 * roughly);
        vec![("GET /a", counts)]
    };
    for (share, demanded, outcome) in [
        (5, 0.5, Outcome::Pass),
        (6, 0.5, Outcome::Undecided),
        (1, 1.0, Outcome::Undecided),
        (0, 1.0, Outcome::Pass),
        (10, 0.0, Outcome::Pass),
    ] {
        let decision = gate(roughly(share), &at_least(demanded));
        assert_eq!(
            decision.outcome, outcome,
            "{share} {demanded} {:?}",
            decision.reasons
        );
    }
    let open = gate(roughly(7), &at_least(0.5));
    assert_eq!(
        open.reasons,
        [
            "rules leave 100 % of the fields of GET /a to compare (90 answers sampled), but exactly only 30 %, at least 50 % wanted; \
             fewer or narrower rules would settle it"
        ]
    );
    let pass = gate(roughly(7), &Thresholds::default());
    assert_eq!(
        pass.reasons[1..],
        [
            "a match says little where rules leave little to compare: 30 % of the fields of GET /a exactly"
        ]
    );
    let headline =
        "rules leave less than half of the fields of GET /a (100 % of traffic) to compare exactly";
    assert!(pass.headline.contains(headline), "{}", pass.headline);
    // Of bodies alone.
    let mut counts = sampled(9_000, 90, 10);
    counts.fields.extend([
        (FieldCount::Roughly, 180),
        (FieldCount::BodyRoughly, 180),
        (FieldCount::BodyLeft, 180),
        (FieldCount::Body, 180),
    ]);
    let pass = gate(vec![("GET /a", counts)], &Thresholds::default());
    assert_eq!(
        pass.reasons[1..],
        [
            "a match says little where rules leave little to compare: 0 % of the fields of the bodies of GET /a exactly"
        ]
    );
}

#[test]
fn less_than_is_demanded_keeps_the_gate_open_on_each_compared_route() {
    let route = |left| {
        vec![
            ("GET /a", sampled(9_000, 90, 10)),
            ("GET /b", sampled(10, 10, left)),
        ]
    };
    for (left, demanded, outcome) in [
        (5, 0.5, Outcome::Pass),
        (4, 0.5, Outcome::Undecided),
        (0, 0.0, Outcome::Pass),
        (10, 1.0, Outcome::Pass),
        (9, 1.0, Outcome::Undecided),
    ] {
        let decision = gate(route(left), &at_least(demanded));
        assert_eq!(
            decision.outcome, outcome,
            "{left} {demanded} {:?}",
            decision.reasons
        );
    }
    let decision = gate(route(4), &at_least(0.5));
    assert_eq!(
        decision.reasons,
        [
            "rules leave 40 % of the fields of GET /b to compare (10 answers sampled), at least 50 % wanted; fewer or narrower rules \
             would settle it"
        ],
        "what is demanded is told once"
    );
    let (one, other) = (&decision.routes[0], &decision.routes[1]);
    let [proven, open] = if one.route == "GET /a" {
        [one, other]
    } else {
        [other, one]
    };
    assert_eq!(
        (proven.outcome, open.outcome),
        (Outcome::Pass, Outcome::Undecided)
    );
    assert_eq!(open.needed, 0, "no number of requests replaces the fields");
}

#[test]
fn too_small_a_sample_is_not_known_and_all_that_there_are_is_enough() {
    for (matched, of_them, known) in [
        (9_000, 0, false),
        (9_000, 9, false),
        (9_000, 10, true),
        (3, 3, true),
        (3, 2, false),
        (0, 0, true),
    ] {
        let routes = vec![
            ("GET /a", sampled(9_000, 90, 10)),
            ("GET /b", sampled(matched, of_them, 10)),
        ];
        let decision = gate(routes, &at_least(0.5));
        let told = decision.reasons.iter().any(|reason| {
            reason.starts_with(
                "GET /b: it is not known which share of the fields rules leave to compare",
            )
        });
        assert_eq!(told, !known, "{matched} {of_them}: {:?}", decision.reasons);
        assert_eq!(decision.outcome == Outcome::Pass, known);
    }
    let decision = gate(vec![("GET /b", sampled(9_000, 9, 10))], &at_least(0.5));
    let wanted = "9 of 9,000 compared answers were sampled, at least 10 wanted";
    assert!(
        decision.reasons[0].contains(wanted),
        "{:?}",
        decision.reasons
    );
}

#[test]
fn few_fields_excuse_no_difference_and_paths_that_nobody_serves_demand_none() {
    let mut differing = sampled(900, 90, 0);
    differing.matched = 800;
    differing.mismatch = 100;
    let decision = gate(vec![("GET /a", differing)], &at_least(0.5));
    assert_eq!(decision.outcome, Outcome::Fail);
    let told =
        "a match says little where rules leave little to compare: 0 % of the fields of GET /a";
    assert!(decision.reasons.iter().any(|reason| reason == told));
    let mut unserved = sampled(3, 3, 0);
    unserved.clients = [(ClientOutcome::ClientError, 3)].into();
    unserved.legacy_answers = unserved.clients.clone();
    let routes = vec![
        ("GET /a", sampled(9_000, 90, 10)),
        ("GET /wp-admin", unserved),
    ];
    let decision = gate(routes, &at_least(0.5));
    assert_eq!(decision.outcome, Outcome::Pass, "{:?}", decision.reasons);
}

#[test]
fn many_routes_are_told_by_number() {
    let names: Vec<String> = (0..12).map(|number| format!("GET /{number:02}")).collect();
    let routes = || -> Vec<(&str, Counts)> {
        let names = names.iter();
        names
            .map(|name| (name.as_str(), sampled(9_000, 90, 1)))
            .collect()
    };
    let open = gate(routes(), &at_least(0.5));
    assert_eq!(open.reasons.len(), 6, "{:?}", open.reasons);
    assert_eq!(
        open.reasons[5],
        "7 more routes do not have 50 % of their fields compared exactly either"
    );
    let pass = gate(routes(), &Thresholds::default());
    assert!(
        pass.reasons[1].ends_with("GET /04, and little of 7 more"),
        "{:?}",
        pass.reasons
    );
}
