//! The gate when few of the compared requests differ, but that is not enough.

use super::*;

#[test]
fn clients_that_went_away_and_a_legacy_that_failed_count_towards_what_could_not_be_compared() {
    for reason in [
        Reason::ClientAborted,
        Reason::LegacyUnreachable,
        Reason::LegacyTimeout,
        Reason::LegacyTruncated,
        Reason::LegacyEarly,
    ] {
        let routes = |count| vec![("GET /a", counts(100_000, 0, &[(reason, count)]))];
        let few = gate(routes(5_000), &Thresholds::default());
        assert_eq!(few.outcome, Outcome::Pass, "{reason}");
        let most = gate(routes(900_000), &Thresholds::default());
        assert_eq!(most.outcome, Outcome::Undecided, "{reason}");
        let sentence = format!(
            "all requests: 90.00 % of the pairs could not be compared (mostly `{reason}`), 5.00 % allowed; what they would have shown is unknown"
        );
        assert_eq!(most.reasons, [sentence]);
        let allowed = Thresholds {
            max_uncomparable: 0.95,
            ..Thresholds::default()
        };
        assert_eq!(gate(routes(900_000), &allowed).outcome, Outcome::Pass);
    }
}

/// Counts of requests that all match, answered with these outcomes.
fn answered(clients: &[(ClientOutcome, u64)]) -> Counts {
    let mut counts = counts(clients.iter().map(|(_, count)| count).sum(), 0, &[]);
    counts.clients = clients.iter().copied().collect();
    counts
}

#[test]
fn equal_errors_of_both_services_are_told_and_too_many_prove_nothing() {
    use ClientOutcome::{ClientError, ServerError, Success};
    let mostly = gate(
        vec![
            ("GET /a", answered(&[(Success, 200), (ServerError, 9_800)])),
            // What is never compared says nothing of what is.
            ("POST /b", {
                let mut counts = counts(0, 0, &[(Reason::UnsafeMethod, 90_000)]);
                counts.clients = [(Success, 90_000)].into();
                counts
            }),
        ],
        &Thresholds::default(),
    );
    assert_eq!(mostly.outcome, Outcome::Undecided);
    assert_eq!(
        mostly.reasons,
        [
            "all requests: up to 98.00 % of the legacy's answers to what was compared were server errors (5xx), 50.00 % allowed; that the candidate fails alike does not show that it answers alike"
        ]
    );
    let told = |clients: &[(ClientOutcome, u64)]| {
        let decision = gate(vec![("GET /a", answered(clients))], &Thresholds::default());
        assert_eq!(decision.outcome, Outcome::Pass, "{:?}", decision.reasons);
        decision.reasons[1..].to_vec()
    };
    assert_eq!(
        told(&[(Success, 6_000), (ServerError, 4_000)]),
        ["up to 40 % of the legacy's answers to what was compared were server errors (5xx)"]
    );
    assert_eq!(
        told(&[(Success, 200), (ClientError, 9_800)]),
        ["up to 98 % of the legacy's answers to what was compared were errors of clients (4xx)"]
    );
    assert!(told(&[(Success, 9_000), (ClientError, 900), (ServerError, 100)]).is_empty());
    // A required route stands for itself.
    let required = Thresholds {
        required_routes: vec!["GET /b".to_owned()],
        ..Thresholds::default()
    };
    let routes = vec![
        ("GET /a", answered(&[(Success, 100_000)])),
        (
            "GET /b",
            answered(&[(Success, 1_000), (ServerError, 3_000)]),
        ),
    ];
    let decision = gate(routes, &required);
    assert_eq!(decision.outcome, Outcome::Undecided);
    assert!(
        decision.reasons[0].starts_with("GET /b: up to 75.00 % of the legacy's answers"),
        "{:?}",
        decision.reasons
    );
}

#[test]
fn errors_are_not_made_few_by_answers_that_were_never_compared_and_a_tap_says_what_it_does_not_know()
 {
    use ClientOutcome::{ServerError, Success, Tapped};
    let of = |compared, reason, left_out, clients: &[(ClientOutcome, u64)]| {
        let mut counts = counts(compared, 0, &[(reason, left_out)]);
        counts.clients = clients.iter().copied().collect();
        gate(vec![("GET /a", counts)], &Thresholds::default())
    };
    let clients = [(Success, 4_600), (ServerError, 4_300)];
    let switched_off = of(4_300, Reason::ShadowingOff, 4_600, &clients);
    assert_eq!(switched_off.outcome, Outcome::Undecided);
    assert!(
        switched_off.reasons[0].starts_with("all requests: up to 100.00 % of the legacy's answers"),
        "{:?}",
        switched_off.reasons
    );
    let sampled = of(4_300, Reason::SampledOut, 4_600, &clients);
    assert_eq!(sampled.outcome, Outcome::Undecided, "{:?}", sampled.reasons);
    let tapped = of(4_300, Reason::UnsafeMethod, 0, &[(Tapped, 4_300)]);
    assert_eq!(tapped.outcome, Outcome::Pass, "{:?}", tapped.reasons);
    assert!(
        tapped.reasons.iter().any(|told| told == "4,300 of the compared are copies from a tap: whether those answers were errors is not counted"),
        "{:?}",
        tapped.reasons
    );
}

#[test]
fn errors_that_were_counted_where_they_were_compared_are_a_share_of_just_those() {
    use ClientOutcome::{ClientError, Redirection, ServerError, Success, Tapped};
    // Compared, what the legacy answered there, left out by sampling, what clients got.
    let decide = |compared, answers: &[(ClientOutcome, u64)], left_out, clients: &[_]| {
        let mut counts = counts(compared, 0, &[(Reason::SampledOut, left_out)]);
        counts.legacy_answers = answers.iter().copied().collect();
        counts.clients = clients.iter().copied().collect();
        let decision = gate(vec![("GET /a", counts)], &Thresholds::default());
        (decision.outcome, decision.reasons)
    };
    // An outage that was compared whole, and a good day of which a hundredth was: what was left out dilutes nothing.
    let (outcome, reasons) = decide(
        4_000,
        &[(ServerError, 3_000), (Success, 1_000)],
        99_000,
        &[(ServerError, 3_000), (Success, 100_000)],
    );
    assert_eq!(outcome, Outcome::Undecided);
    assert!(
        reasons[0].starts_with(
            "all requests: 75.00 % of the legacy's answers to what was compared were server errors"
        ),
        "{reasons:?}"
    );
    // The other way round: errors among what was left out say nothing of what was compared.
    let good = [(Success, 10_000)];
    let (outcome, reasons) = decide(
        10_000,
        &good,
        90_000,
        &[(ServerError, 90_000), (Success, 10_000)],
    );
    assert_eq!((outcome, reasons.len()), (Outcome::Pass, 2), "{reasons:?}");
    // Nobody has to see the clients of a tap.
    let tapped = [(Tapped, 10_000)];
    assert_eq!(decide(10_000, &good, 0, &tapped).0, Outcome::Pass);
    let (outcome, _) = decide(10_000, &[(ServerError, 10_000)], 0, &tapped);
    assert_eq!(outcome, Outcome::Undecided);
    let (_, reasons) = decide(
        10_000,
        &[(ClientError, 9_000), (Success, 1_000)],
        0,
        &tapped,
    );
    assert_eq!(
        reasons[1..],
        ["90 % of the legacy's answers to what was compared were errors of clients (4xx)"]
    );
    // Behind "not modified" there may be anything.
    let (outcome, reasons) = decide(
        10_000,
        &[(Redirection, 9_000), (Success, 1_000)],
        0,
        &tapped,
    );
    assert_eq!(outcome, Outcome::Pass);
    assert!(
        reasons[1].contains("90 % of the legacy's answers to what was compared were redirections"),
        "{reasons:?}"
    );
}

#[test]
fn of_what_an_older_program_compared_as_many_are_errors_as_there_may_be() {
    use ClientOutcome::{ServerError, Success};
    let mut counts = counts(10_000, 0, &[]);
    counts.legacy_answers = [(Success, 5_000)].into();
    counts.clients = [(Success, 4_000), (ServerError, 6_000)].into();
    let decision = gate(vec![("GET /a", counts)], &Thresholds::default());
    assert_eq!(decision.outcome, Outcome::Pass, "{:?}", decision.reasons);
    assert_eq!(
        decision.reasons[1],
        "up to 50 % of the legacy's answers to what was compared were server errors (5xx)"
    );
}

#[test]
fn what_differs_on_routes_that_are_counted_together_may_be_a_broken_route() {
    let decide = |differing, allowed| {
        let routes = vec![
            ("GET /a", counts(100_000, 0, &[])),
            ("_other", counts(8_000, differing, &[])),
        ];
        let thresholds = Thresholds {
            max_mismatch_rate: allowed,
            ..Thresholds::default()
        };
        gate(routes, &thresholds)
    };
    assert_eq!(decide(0, 0.001).outcome, Outcome::Pass);
    let hidden = decide(3, 0.001);
    assert_eq!(hidden.outcome, Outcome::Undecided);
    assert!(
        hidden.reasons[0]
            .starts_with("_other: 3 of 8,003 differ, on routes that are counted together"),
        "{:?}",
        hidden.reasons
    );
    // Even a route with nothing but these would be within what is allowed: at least 36.84 % differ there.
    assert_eq!(decide(3, 0.4).outcome, Outcome::Pass);
    assert_eq!(decide(1_000, 0.001).outcome, Outcome::Fail);
}

#[test]
fn who_goes_on_under_other_rules_keeps_the_gate_open_and_what_is_hidden_is_told() {
    let mut evidence = evidence(vec![("GET /a", counts(10_000, 0, &[]))]);
    evidence.identity.rules_hash = "new".to_owned();
    let decide = |evidence: &Evidence| {
        let (after, now) = (Timestamp::from_micros(10), Timestamp::from_micros(20));
        let standing = Standing::of(&evidence.runs, after, |_| now);
        let thresholds = Thresholds::default();
        decide(
            "default",
            Some(evidence),
            &standing,
            &thresholds,
            Uuid::nil(),
            now,
        )
    };
    evidence.other_rules = vec![
        OtherRules {
            rules_hash: "old".to_owned(),
            from: Timestamp::from_micros(0),
            to: Timestamp::from_micros(1_000_000),
            why: Some("`x` was removed".to_owned()),
        };
        3
    ];
    let hidden = decide(&evidence);
    assert_eq!(hidden.outcome, Outcome::Pass);
    assert_eq!(
        hidden.reasons[1],
        "what was recorded under other rules is not counted: `old` (1970-01-01T00:00:00.000000Z to 1970-01-01T00:00:01.000000Z), and 2 others: `x` was removed"
    );
    evidence.runs.push(Run {
        instance: "two".to_owned(),
        watermark: Some(Watermark::default()),
        last_tally: None,
        before_watermarks: false,
        lacks_tallies: false,
        succeeded: None,
        apart: Some(Apart::Rules("old".to_owned())),
    });
    let split = decide(&evidence);
    assert_eq!(split.outcome, Outcome::Undecided);
    assert!(
        split.reasons[0].starts_with("instance `two` goes on under other rules (`old`, last heard of at 1970-01-01T00:00:00.000000Z), and what it receives is not counted here, under `new`: reload it"),
        "{:?}",
        split.reasons
    );
    let summary = split.evidence.expect("there is some");
    assert_eq!(summary.watermarks[0].rules_hash.as_deref(), Some("old"));
    if let Some(run) = evidence.runs.last_mut() {
        run.apart = None;
        run.succeeded = Some(Timestamp::from_micros(61_000_000));
    }
    let killed = decide(&evidence);
    assert_eq!(killed.outcome, Outcome::Undecided);
    let remedy = "on nothing before: --since 1970-01-01T00:01:01.000000Z";
    assert!(killed.reasons[0].ends_with(remedy), "{:?}", killed.reasons);
}
