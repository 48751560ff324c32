//! How slow the candidate may be.

use parity_schemas::evidence::{Bound, LatencyDecision};
use parity_schemas::histogram::{Histogram, bucket};

use super::*;

/// A route whose times are these, each so often.
fn route(name: &str, legacy: &[(u64, u64)], candidate: &[(u64, u64)]) -> RouteEvidence {
    let histogram = |times: &[(u64, u64)]| {
        let mut histogram = Histogram::default();
        for (micros, count) in times {
            histogram.add(bucket(*micros), *count);
        }
        histogram
    };
    let requests = legacy.iter().map(|(_, count)| count).sum();
    RouteEvidence {
        route: name.to_owned(),
        counts: counts(requests, 0, &[]),
        legacy_head_latency: histogram(legacy),
        candidate_head_latency: histogram(candidate),
        ..RouteEvidence::default()
    }
}

fn at_most(limits: &[&str]) -> Thresholds {
    Thresholds {
        max_latency: limits
            .iter()
            .map(|text| text.parse().expect("a limit"))
            .collect(),
        ..Thresholds::default()
    }
}

fn decided(routes: Vec<RouteEvidence>, thresholds: &Thresholds) -> Decision {
    let evidence = Evidence {
        routes,
        ..evidence(Vec::new())
    };
    decided_on(&evidence, thresholds)
}

/// 2 % of the answers take `slow` instead of 1 ms.
fn with_tail(requests: u64, slow: u64) -> Vec<(u64, u64)> {
    vec![(1_000, requests / 50 * 49), (slow, requests / 50)]
}

#[test]
fn a_candidate_that_is_as_fast_passes_and_the_decision_says_between_which_times() {
    let times = with_tail(20_000, 9_000);
    let decision = decided(
        vec![route("GET /a", &times, &times)],
        &at_most(&["p50=1.2x", "p99=1.5x"]),
    );
    assert_eq!(decision.outcome, Outcome::Pass, "{:?}", decision.reasons);
    let [median, slow] = &decision.latency[..] else {
        panic!("two limits: {:?}", decision.latency);
    };
    for (one, micros) in [(median, 1_000), (slow, 9_000)] {
        assert_eq!(
            (one.outcome, one.needed, one.requests),
            (Outcome::Pass, 0, 20_000)
        );
        assert_eq!(one.legacy, one.candidate);
        let (least, most) = (
            one.legacy.at_least_us.expect("known"),
            one.legacy.at_most_us.expect("known"),
        );
        assert!(
            least <= micros && micros < most && most - least <= micros / 16,
            "{one:?}"
        );
    }
}

#[test]
fn a_slower_candidate_fails_with_a_sentence_and_a_constant_may_be_added() {
    let (legacy, candidate) = (with_tail(20_000, 2_000), with_tail(20_000, 9_000));
    let routes = || vec![route("GET /a", &legacy, &candidate)];
    let fail = decided(routes(), &at_most(&["p99=1.5x"]));
    assert_eq!(fail.outcome, Outcome::Fail);
    assert_eq!(
        fail.reasons[0],
        "all requests: the candidate's p99 to the first byte is at least 9.0 ms, the legacy's at most 2.0 ms, 1.5 times the \
         legacy's allowed"
    );
    for allowed in ["p99=5x", "p99=1.5x+8ms", "p50=1.1x"] {
        let pass = decided(routes(), &at_most(&[allowed]));
        assert_eq!(pass.outcome, Outcome::Pass, "{allowed}: {:?}", pass.reasons);
    }
}

#[test]
fn few_requests_leave_it_open_and_as_many_more_as_it_says_settle_it() {
    let times = with_tail(4_000, 9_000);
    let few = |times_as_many: u64| {
        let times: Vec<(u64, u64)> = times
            .iter()
            .map(|(micros, count)| (*micros, count * times_as_many))
            .collect();
        decided(
            vec![route("GET /a", &times, &times)],
            &at_most(&["p98.2=1.1x"]),
        )
    };
    let open = few(1);
    assert_eq!(open.outcome, Outcome::Undecided, "{:?}", open.reasons);
    let needed = open.latency[0].needed;
    assert!(needed > 0 && needed.is_multiple_of(4_000), "{needed}");
    let told = format!(
        "{} more requests like these would settle it",
        number(needed)
    );
    assert!(
        open.reasons.iter().any(|reason| reason.ends_with(&told)),
        "{:?}",
        open.reasons
    );
    assert_eq!(few(needed / 4_000 + 1).latency[0].outcome, Outcome::Pass);
    assert_eq!(few(needed / 4_000).latency[0].outcome, Outcome::Undecided);
}

#[test]
fn where_no_number_settles_it_that_is_said() {
    // Twice the legacy's, and twice is allowed: it is within a bucket of the limit, whose edges are not told apart.
    let decision = decided(
        vec![route("GET /a", &[(1_000, 9_000)], &[(1_010, 9_000)])],
        &at_most(&["p50=1x"]),
    );
    assert_eq!(decision.outcome, Outcome::Undecided);
    assert!(
        decision.reasons[0].contains(
            "no number of requests would settle it unless the candidate is clearly faster"
        ),
        "{:?}",
        decision.reasons
    );
    let nothing = decided(vec![route("GET /a", &[], &[])], &at_most(&["p50=1x"]));
    assert_eq!(nothing.outcome, Outcome::Undecided);
    let mut old = route("GET /a", &[], &[]);
    old.counts = counts(9_000, 0, &[]);
    let old = decided(vec![old], &at_most(&["p50=1x"]));
    assert_eq!(
        old.reasons,
        [
            "all requests: no times to the first byte are recorded; p50 is to be at most 1 times the legacy's"
        ]
    );
}

#[test]
fn a_required_route_is_judged_on_its_own_and_others_are_not() {
    let fast = [(1_000, 20_000)];
    let slow = [(5_000, 2_000)];
    let routes = || {
        vec![
            route("GET /a", &fast, &fast),
            route("GET /b", &slow[..], &[(20_000, 2_000)]),
        ]
    };
    let limit = at_most(&["p50=1.5x"]);
    assert_eq!(decided(routes(), &limit).outcome, Outcome::Pass);
    let required = Thresholds {
        required_routes: vec!["GET /b".to_owned()],
        ..limit
    };
    let fail = decided(routes(), &required);
    assert_eq!(fail.outcome, Outcome::Fail);
    assert!(
        fail.reasons[0].starts_with("GET /b: the candidate's p50"),
        "{:?}",
        fail.reasons
    );
    let of: Vec<&str> = fail
        .latency
        .iter()
        .map(|one: &LatencyDecision| one.route.as_str())
        .collect();
    assert_eq!(of, ["", "GET /b"]);
}

#[test]
fn buckets_of_older_programs_only_widen_the_bounds() {
    // 20 was 448 to 512 µs.
    let old: Histogram = Histogram::from([(20, 10_000)]);
    let mut evidence = route("GET /a", &[], &[(480, 10_000)]);
    evidence.counts = counts(10_000, 0, &[]);
    evidence.legacy_head_latency = old;
    let decision = decided(vec![evidence.clone()], &at_most(&["p50=1.2x"]));
    let legacy = decision.latency[0].legacy;
    assert_eq!(
        (legacy.at_least_us, legacy.at_most_us),
        (Some(448), Some(512))
    );
    assert_eq!(decision.outcome, Outcome::Pass, "{:?}", decision.reasons);
    // 496 may be above 448 or below 512.
    assert_eq!(
        decided(vec![evidence], &at_most(&["p50=1x"])).latency[0].outcome,
        Outcome::Undecided
    );
}

/// Numbers that look random.
fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (state ^ (state >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd) >> 32
    }
}

#[test]
fn the_true_quantile_is_within_its_bounds_as_often_as_they_say() {
    // Times between 1,000 and 2,000 µs, each as likely: the quantile q is 1,000 + 1,000 q.
    const RUNS: u64 = 200;
    for bound in [Bound::AnyTime, Bound::OneLook] {
        for quantile in [0.5, 0.9, 0.99] {
            let mut missed = 0;
            for run in 0..RUNS {
                let mut next = numbers(run);
                let times: Vec<(u64, u64)> =
                    (0..500).map(|_| (1_000 + next() % 1_000, 1)).collect();
                let thresholds = Thresholds {
                    bound,
                    ..at_most(&[&format!("p{}=100x", quantile * 100.0)])
                };
                let decision = decided(vec![route("GET /a", &times, &times)], &thresholds);
                let between = decision.latency[0].legacy;
                let true_one = 1_000.0 + 1_000.0 * quantile;
                let is_within = between
                    .at_least_us
                    .is_none_or(|least| least as f64 <= true_one)
                    && between
                        .at_most_us
                        .is_none_or(|most| true_one <= most as f64);
                missed += u64::from(!is_within);
            }
            // Each of the two bounds may be wrong in 2.5 % of all runs; 8 % would be almost three deviations more, and any-time bounds are wider.
            assert!(missed <= RUNS * 8 / 100, "{bound} {quantile}: {missed}");
        }
    }
}

#[test]
fn a_limit_takes_its_share_of_the_chance_of_a_wrong_fail() {
    let plain = decided(
        vec![route("GET /a", &[(1_000, 1_000)], &[(1_000, 1_000)])],
        &Thresholds::default(),
    );
    let mut differing = route("GET /a", &[(1_000, 1_000)], &[(1_000, 1_000)]);
    differing.counts = counts(990, 10, &[]);
    let lower = |thresholds: &Thresholds| decided(vec![differing.clone()], thresholds).total.lower;
    assert!(lower(&at_most(&["p99=2x", "p50=2x"])) < lower(&Thresholds::default()));
    assert!(plain.latency.is_empty());
}

/// 2 % of the requests take the candidate `slow`; of the rest it is as fast as the legacy.
fn slow_tail(reason: Reason, ended: bool) -> RouteEvidence {
    let legacy = [(1_000, 20_000)];
    let slow = [(1_000, 19_600), (60_000, 400)];
    if !ended {
        return route("GET /a", &legacy, &slow);
    }
    let mut route = route("GET /a", &[(1_000, 19_600)], &[(1_000, 19_600)]);
    route.counts = counts(19_600, 0, &[(reason, 400)]);
    route
}

#[test]
fn a_candidate_does_not_pass_by_running_into_its_deadline() {
    let limits = |max_mismatch_rate| Thresholds {
        max_mismatch_rate,
        ..at_most(&["p99=1.5x"])
    };
    let answered = decided(
        vec![slow_tail(Reason::CandidateTimeout, false)],
        &limits(0.05),
    );
    assert_eq!(answered.outcome, Outcome::Fail, "{:?}", answered.reasons);
    for reason in Reason::ALL {
        let decision = decided(vec![slow_tail(*reason, true)], &limits(0.05));
        let [one] = &decision.latency[..] else {
            panic!("one limit");
        };
        if reason.hides_candidate_time() {
            assert_eq!(one.outcome, Outcome::Undecided, "{reason}");
            assert_eq!((one.requests, one.without_time), (19_600, 400), "{reason}");
            assert_eq!(one.candidate.at_most_us, None, "{reason}");
            assert_eq!(one.needed, 0, "{reason}: no number would settle it");
            assert_eq!(decision.outcome, Outcome::Undecided, "{reason}");
            let told = "; 400 of 20,000 have no time because the candidate failed or had too much under way, and count as slow; \
                        no number of requests like these would settle it";
            assert!(
                decision.reasons.iter().any(|said| said.ends_with(told)),
                "{:?}",
                decision.reasons
            );
        } else {
            assert_eq!(one.outcome, Outcome::Pass, "{reason}");
            assert_eq!(one.without_time, 0, "{reason}");
        }
    }
    // The median does not depend on so few.
    let median = Thresholds {
        max_mismatch_rate: 0.05,
        ..at_most(&["p50=1.5x"])
    };
    let decision = decided(vec![slow_tail(Reason::CandidateTimeout, true)], &median);
    assert_eq!(decision.outcome, Outcome::Pass, "{:?}", decision.reasons);
}

#[test]
fn what_has_no_time_proves_no_fail() {
    // The candidate failed at what takes the legacy long, so what is left of the legacy is fast.
    let mut evidence = route("GET /a", &[(1_000, 19_000)], &[(1_600, 19_000)]);
    evidence.counts = counts(19_000, 0, &[(Reason::CandidateRefused, 1_000)]);
    let thresholds = Thresholds {
        max_mismatch_rate: 0.1,
        ..at_most(&["p99=1.5x"])
    };
    let decision = decided(vec![evidence.clone()], &thresholds);
    assert_eq!(
        decision.latency[0].outcome,
        Outcome::Undecided,
        "{:?}",
        decision.latency
    );
    // More than half of the requests are slower, whatever the others were.
    let thresholds = Thresholds {
        max_mismatch_rate: 0.1,
        ..at_most(&["p50=1.5x"])
    };
    let decision = decided(vec![evidence], &thresholds);
    assert_eq!(decision.latency[0].outcome, Outcome::Fail);
}

#[test]
fn a_limit_without_room_says_why_no_number_of_requests_shows_it() {
    let times = with_tail(20_000, 9_000);
    let told = |limit: &str| {
        let decision = decided(vec![route("GET /a", &times, &times)], &at_most(&[limit]));
        assert_eq!(decision.outcome, Outcome::Undecided, "{limit}");
        decision.reasons[0].clone()
    };
    assert!(
        told("p50=1x")
            .contains("leaves no room for two that are equally fast: allow some, such as p50=1.1x"),
        "{}",
        told("p50=1x")
    );
    assert!(!told("p50=1x+1us").contains("leaves no room"));
}
