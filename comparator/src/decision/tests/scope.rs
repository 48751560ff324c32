//! For how much of the traffic something is decided, and what must be decided for a pass.

use parity_schemas::evidence::Bound;

use parity_schemas::evidence::carried::{CarriedRules, StartedAnew};
use parity_schemas::evidence::{LeftOut, LeftOutSpan};
use parity_schemas::watermark::{InstanceWatermark, RunState};

use super::*;

/// Four routes of which enough is compared, and one that is never compared.
fn four_of_five() -> Vec<(&'static str, Counts)> {
    vec![
        ("GET /a", counts(40_000, 0, &[])),
        ("GET /b", counts(30_000, 0, &[])),
        ("GET /c", counts(12_000, 0, &[])),
        ("GET /d", counts(10_000, 0, &[])),
        (
            "POST /v1/payments",
            counts(0, 0, &[(Reason::UnsafeMethod, 8_000)]),
        ),
    ]
}

#[test]
fn a_headline_names_what_was_never_compared() {
    let decision = gate(four_of_five(), &Thresholds::default());
    assert_eq!(decision.outcome, Outcome::Pass);
    assert_eq!(
        decision.headline,
        "PASS for 4 of 5 routes; POST /v1/payments (8 % of traffic) was never compared; 95 % confidence, however often it \
         is asked"
    );
    let scope = &decision.scope;
    assert_eq!((scope.routes, scope.proven, scope.open), (5, 4, 0));
    assert_eq!(scope.never_compared, ["POST /v1/payments"]);
    let once = Thresholds {
        bound: Bound::OneLook,
        ..Thresholds::default()
    };
    let once = gate(four_of_five()[..4].to_vec(), &once);
    assert_eq!(
        once.headline,
        "PASS for all 4 routes; 95 % confidence, if it is asked once"
    );
}

#[test]
fn a_headline_claims_no_route_that_is_not_proven() {
    let mut routes = four_of_five();
    routes.truncate(3);
    routes.push(("GET /rare", counts(40, 0, &[])));
    let decision = gate(routes, &Thresholds::default());
    assert_eq!(decision.outcome, Outcome::Pass);
    assert!(
        decision.headline.starts_with(
            "PASS for 3 of 4 routes; GET /rare (under 0.1 % of traffic) is not proven on its own; 95 %"
        ),
        "{}",
        decision.headline
    );
    let names: Vec<String> = (0..100).map(|number| format!("GET /{number}")).collect();
    let thin = names
        .iter()
        .map(|name| (name.as_str(), counts(100, 0, &[])));
    let thin = gate(thin.collect(), &Thresholds::default());
    assert_eq!(thin.outcome, Outcome::Pass);
    assert!(
        thin.headline.starts_with(
            "PASS for all requests that were compared, together; for none of 100 routes on its own; 100 routes (100 % of \
             traffic; GET /0, GET /1 and 98 more) are not proven"
        ),
        "{}",
        thin.headline
    );
    let failed = gate(
        vec![
            ("GET /a", counts(10_000, 0, &[])),
            ("GET /b", counts(90, 10, &[])),
        ],
        &Thresholds::default(),
    );
    assert!(
        failed
            .headline
            .starts_with("FAIL for 1 of 2 routes: GET /b;"),
        "{}",
        failed.headline
    );
    let open = gate(vec![("GET /a", counts(10, 0, &[]))], &Thresholds::default());
    assert!(
        open.headline.starts_with(
            "UNDECIDED: none of 1 routes is proven; GET /a (100 % of traffic) is not proven"
        ),
        "{}",
        open.headline
    );
}

#[test]
fn all_routes_may_be_required() {
    let required = Thresholds {
        require_all_routes: true,
        ..Thresholds::default()
    };
    let decision = gate(four_of_five(), &required);
    assert_eq!(decision.outcome, Outcome::Undecided);
    assert_eq!(
        decision.reasons,
        [
            "POST /v1/payments: no request compared. The candidate is never asked. The method may have side effects. If a \
             second request does no harm, allow it by `shadow = true` in its [[route]]"
        ]
    );
    assert!(decision.routes.iter().all(|route| route.required));
    let mut served = four_of_five();
    served.truncate(4);
    let mut scanned = counts(1, 0, &[]);
    scanned.clients = [(ClientOutcome::ClientError, 1)].into();
    served.push(("GET /wp-login.php", scanned));
    let decision = gate(served, &required);
    assert_eq!(decision.outcome, Outcome::Pass, "{:?}", decision.reasons);
    assert_eq!((decision.scope.routes, decision.scope.unserved), (4, 1));
}

#[test]
fn operations_of_a_description_are_proven_each_on_all_its_routes() {
    let with = |operations: &[&str]| Thresholds {
        operations: operations.iter().map(|&name| name.to_owned()).collect(),
        ..Thresholds::default()
    };
    let routes = || {
        vec![
            ("GET /users/{id}", counts(2_000, 0, &[])),
            ("GET /users/alice", counts(2_000, 0, &[])),
            ("GET /users/me", counts(5_000, 0, &[])),
        ]
    };
    let covered = gate(routes(), &with(&["GET /users/{userId}", "GET /users/me"]));
    assert_eq!(covered.outcome, Outcome::Pass, "{:?}", covered.reasons);
    let operation = covered
        .routes
        .iter()
        .find(|route| route.route == "GET /users/{userId}");
    assert_eq!(operation.expect("it is judged").compared, 4_000);
    let missing = gate(
        routes(),
        &with(&["GET /users/me", "GET /b", "DELETE /users/{id}"]),
    );
    assert_eq!(missing.outcome, Outcome::Undecided);
    assert_eq!(
        missing.reasons,
        [
            "2 of 3 operations of the API description were never requested: DELETE /users/{id}, GET /b"
        ]
    );
    let mut broken = routes();
    broken.push(("GET /users/bob", counts(0, 3, &[])));
    let broken = gate(broken, &with(&["GET /users/{userId}"]));
    assert_eq!(broken.outcome, Outcome::Fail);
}

#[test]
fn a_reason_may_have_a_cap_of_its_own() {
    let capped = |allowed| Thresholds {
        max_not_compared: [(Reason::UnsafeMethod, allowed)].into(),
        ..Thresholds::default()
    };
    let decision = gate(four_of_five(), &capped(0.05));
    assert_eq!(decision.outcome, Outcome::Undecided);
    assert_eq!(
        decision.reasons,
        ["all requests: 8.00 % were not compared because of `unsafe_method`, 5.00 % allowed"]
    );
    assert_eq!(gate(four_of_five(), &capped(0.08)).outcome, Outcome::Pass);
}

#[test]
fn a_pass_may_have_to_wait_for_a_day_and_a_fail_does_not() {
    let day = Thresholds {
        min_duration_ms: 86_400_000,
        ..Thresholds::default()
    };
    let short = gate(four_of_five(), &day);
    assert_eq!(short.outcome, Outcome::Undecided);
    assert_eq!(
        short.reasons,
        ["all requests: counted for 1m, at least 1d wanted"]
    );
    let minute = Thresholds {
        min_duration_ms: 60_000,
        ..Thresholds::default()
    };
    assert_eq!(gate(four_of_five(), &minute).outcome, Outcome::Pass);
    let failed = gate(vec![("GET /a", counts(90, 10, &[]))], &day);
    assert_eq!(failed.outcome, Outcome::Fail);
}

/// The evidence of an hour, of which this is left out, in seconds.
fn left_out(seconds: &[(i64, i64)]) -> Evidence {
    let time = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
    let spans = seconds.iter().map(|(from, to)| LeftOut {
        span: LeftOutSpan {
            from: time(*from),
            to: time(*to),
            reason: "restart".to_owned(),
        },
        received: 1,
        compared: 1,
        differing: 0,
    });
    Evidence {
        left_out: spans.collect(),
        window: Window {
            from: time(0),
            to: time(3_600),
        },
        ..evidence(vec![("GET /a", counts(100_000, 0, &[]))])
    }
}

#[test]
fn time_that_is_left_out_is_no_time_that_was_counted() {
    let at_least = |minutes: u64| Thresholds {
        min_duration_ms: minutes * 60_000,
        ..Thresholds::default()
    };
    // Minutes that are left out, and how much of the hour is left.
    let cases: [(&[(i64, i64)], u64); 8] = [
        (&[], 60),
        (&[(10, 30)], 40),
        (&[(10, 30), (20, 40)], 30),
        (&[(10, 40), (15, 20), (10, 40)], 30),
        (&[(40, 50), (0, 10)], 40),
        (&[(-100, 20), (50, 900)], 30),
        // Before, after, and up to the end.
        (&[(-100, 0), (60, 900)], 60),
        (&[(30, 60)], 30),
    ];
    for (minutes, left) in cases {
        let seconds = minutes.iter().map(|(from, to)| (from * 60, to * 60));
        let seconds: Vec<_> = seconds.collect();
        let evidence = left_out(&seconds);
        let enough = decided_on(&evidence, &at_least(left));
        assert_eq!(
            enough.outcome,
            Outcome::Pass,
            "{seconds:?}: {:?}",
            enough.reasons
        );
        let short = decided_on(&evidence, &at_least(left + 1));
        assert_eq!(short.outcome, Outcome::Undecided, "{seconds:?}");
    }
    // The minutes are left out that a span touches.
    let touched = left_out(&[(59, 61)]);
    assert_eq!(decided_on(&touched, &at_least(58)).outcome, Outcome::Pass);
    let short = decided_on(&touched, &at_least(59));
    assert_eq!(short.outcome, Outcome::Undecided);
    let nothing = decided_on(&left_out(&[(-1, 3_601)]), &at_least(1));
    assert_eq!(
        nothing.reasons[0],
        "all requests: counted for 0s, at least 1m wanted"
    );
}

#[test]
fn routes_that_start_anew_after_a_rule_edit_must_be_proven_on_their_own() {
    // All together would pass: the large route was carried over, and hides the small one.
    let routes = vec![
        ("GET /a", counts(100_000, 0, &[])),
        ("GET /b", counts(20, 0, &[])),
    ];
    let mut evidence = evidence(routes);
    assert_eq!(
        decided_on(&evidence, &Thresholds::default()).outcome,
        Outcome::Pass
    );
    let anew = |route: &str| StartedAnew {
        route: route.to_owned(),
        ..StartedAnew::default()
    };
    let carried = CarriedRules {
        routes: 1,
        routes_anew: 1,
        anew: vec![anew("GET /b")],
        ..CarriedRules::default()
    };
    evidence.carried = vec![carried.clone()];
    let open = decided_on(&evidence, &Thresholds::default());
    assert_eq!(open.outcome, Outcome::Undecided, "{:?}", open.reasons);
    assert!(
        open.reasons
            .iter()
            .any(|reason| reason.starts_with("GET /b")),
        "{:?}",
        open.reasons
    );
    let required = |decision: &Decision| -> Vec<String> {
        let required = decision.routes.iter().filter(|route| route.required);
        required.map(|route| route.route.clone()).collect()
    };
    assert_eq!(required(&open), ["GET /b"]);
    let said = "; for a pass each of them is required, because its count began anew with the present rules";
    assert!(
        open.reasons.iter().any(|reason| reason.ends_with(said)),
        "{:?}",
        open.reasons
    );
    // A change of rules says nothing of the times of a route.
    let mut timed = Thresholds {
        max_latency: vec!["p50=1.5x".parse().expect("a limit")],
        ..Thresholds::default()
    };
    let limited = |thresholds: &Thresholds| -> Vec<String> {
        let latency = decided_on(&evidence, thresholds).latency;
        latency.into_iter().map(|limit| limit.route).collect()
    };
    assert_eq!(limited(&timed), [""]);
    timed.required_routes = vec!["GET /b".to_owned()];
    assert_eq!(limited(&timed), ["", "GET /b"]);
    // Of more than are named, any route may be one.
    evidence.carried[0].routes_anew = 2;
    let mut all = required(&decided_on(&evidence, &Thresholds::default()));
    all.sort_unstable();
    assert_eq!(all, ["GET /a", "GET /b"]);
    // Once it is proven, nothing is in the way.
    evidence.carried[0].routes_anew = 1;
    evidence.routes[1].counts = counts(100_000, 0, &[]);
    assert_eq!(
        decided_on(&evidence, &Thresholds::default()).outcome,
        Outcome::Pass
    );
}

#[test]
fn no_time_counts_before_the_first_run_or_after_the_last_word() {
    let seconds = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
    let run = |state, began: i64, heard: i64| {
        let told: InstanceWatermark = serde_json::from_value(serde_json::json!({
            "instance": "one", "state": state, "under_way": 0, "started": seconds(began),
            "complete_until": seconds(heard), "last_heard": seconds(heard),
        }))
        .expect("an instance");
        told
    };
    let unknown = InstanceWatermark {
        started: None,
        last_heard: None,
        ..run(RunState::Unknown, 0, 0)
    };
    let complete = RunState::Complete;
    // Of a window of a minute: the runs, and the whole seconds that were counted.
    let cases = [
        (vec![run(complete, 14, 90)], 46),
        (vec![run(complete, -9, 90)], 60),
        (vec![run(complete, 14, 50)], 36),
        (vec![run(complete, 14, 90), run(complete, 20, 90)], 46),
        (
            vec![run(RunState::OtherRules, 0, 90), run(complete, 14, 90)],
            46,
        ),
        (vec![unknown, run(complete, 14, 50)], 60),
        (vec![run(complete, 70, 90)], 0),
        // Nobody counted in between, or a clock was set in between.
        (vec![run(RunState::Ended, 0, 4), run(complete, 50, 54)], 8),
        (vec![run(RunState::Ended, 0, 30), run(complete, 20, 54)], 54),
    ];
    let evidence = evidence(vec![("GET /a", counts(100_000, 0, &[]))]);
    for (runs, counted) in cases {
        let standing = Standing::shown(runs);
        let is_short = |seconds: u64| {
            let thresholds = Thresholds {
                min_duration_ms: seconds * 1_000,
                ..Thresholds::default()
            };
            super::super::caps::too_short(Some(&evidence), &standing, &thresholds).is_some()
        };
        assert!(is_short(counted + 1), "{standing:?}");
        assert!(!is_short(counted), "{standing:?}");
    }
}

#[test]
fn a_slip_in_a_name_is_told_with_each_outcome() {
    let fails = |min_requests| {
        let thresholds = Thresholds {
            required_routes: vec!["GET /user".to_owned()],
            min_requests,
            ..Thresholds::default()
        };
        gate(vec![("GET /users", counts(90, 10, &[]))], &thresholds)
    };
    for (decision, outcome) in [
        (fails(1), Outcome::Fail),
        (fails(1_000), Outcome::Undecided),
    ] {
        assert_eq!(decision.outcome, outcome);
        let told = &decision.reasons[1..];
        assert!(
            told.contains(
                &"GET /user: never seen, so nothing is known of it; did you mean `GET /users`?"
                    .to_owned()
            ),
            "{told:?}"
        );
    }
}

/// Evidence in which the count of `GET /b` began anew, and nothing of it came since.
fn begun_anew(unserved: bool) -> Evidence {
    let mut evidence = evidence(vec![("GET /a", counts(100_000, 0, &[]))]);
    evidence.carried = vec![CarriedRules {
        routes: 1,
        requests: 100_000,
        routes_anew: 1,
        requests_anew: 100,
        anew: vec![StartedAnew {
            route: "GET /b".to_owned(),
            why: "`x` was removed".to_owned(),
            unserved,
            never_compared: false,
        }],
        ..CarriedRules::default()
    }];
    evidence
}

#[test]
fn a_route_of_which_nothing_came_since_its_count_began_anew_is_open_and_not_forgotten() {
    let said = "GET /b: no request since its count began anew (`x` was removed); 3,787 matching ones would settle it. If it is not \
                served any more, decide with --since on what came later";
    let named = |name: &str| Thresholds {
        required_routes: vec![name.to_owned()],
        ..Thresholds::default()
    };
    let described = |name: &str| Thresholds {
        operations: vec!["GET /a".to_owned(), name.to_owned()],
        ..Thresholds::default()
    };
    let all = Thresholds {
        require_all_routes: true,
        ..Thresholds::default()
    };
    let nothing_new = Thresholds {
        nothing_new: true,
        ..Thresholds::default()
    };
    for thresholds in [
        Thresholds::default(),
        all,
        nothing_new,
        named("GET /b"),
        described("GET /b"),
    ] {
        let open = decided_on(&begun_anew(false), &thresholds);
        assert_eq!(open.outcome, Outcome::Undecided, "{thresholds:?}");
        let told: Vec<_> = open.reasons.iter().filter(|one| *one == said).collect();
        assert_eq!(told.len(), 1, "{:?}", open.reasons);
        let route = open.routes.iter().find(|one| one.route == "GET /b");
        let route = route.expect("it is listed");
        assert_eq!(
            (route.required, route.needed, route.outcome, route.received),
            (true, 3_787, Outcome::Undecided, 0)
        );
        let text = open.reasons.join("\n");
        let headline = "GET /b (0 % of traffic) was not compared since its count began anew";
        assert!(open.headline.contains(headline), "{}", open.headline);
        assert!(
            !text.contains("never seen") && !text.contains("never requested"),
            "{text}"
        );
    }
    // Its operation is called otherwise, and was requested, too.
    let mut evidence = begun_anew(false);
    evidence.carried[0].anew[0].route = "GET /b/{id}".to_owned();
    let open = decided_on(&evidence, &described("GET /b/{name}"));
    let text = open.reasons.join("\n");
    assert!(
        text.contains("GET /b/{name}: no request since") && !text.contains("never requested"),
        "{text}"
    );
    // It has come, and is not enough.
    evidence.routes.push(RouteEvidence {
        route: "GET /b/{id}".to_owned(),
        counts: counts(1, 0, &[]),
        ..RouteEvidence::default()
    });
    let text = decided_on(&evidence, &Thresholds::default())
        .reasons
        .join("\n");
    assert!(
        text.starts_with("GET /b/{id}: up to") && !text.contains("no request since"),
        "{text}"
    );
}

#[test]
fn a_path_that_nobody_served_is_not_waited_for_and_more_than_are_named_are() {
    let scanned = decided_on(&begun_anew(true), &Thresholds::default());
    assert_eq!(scanned.outcome, Outcome::Pass, "{:?}", scanned.reasons);
    let told = scanned.reasons.join("\n");
    assert!(
        told.contains("for a pass each of them that is served is required"),
        "{told}"
    );
    let mut evidence = begun_anew(false);
    evidence.carried[0].routes_anew = 3;
    let open = decided_on(&evidence, &Thresholds::default());
    let more = "the counts of 2 more routes began anew, too, and no request of them is known since";
    assert!(
        open.reasons.iter().any(|one| one == more),
        "{:?}",
        open.reasons
    );
    // The last that is named has come, so all others have.
    evidence.routes.push(RouteEvidence {
        route: "GET /b".to_owned(),
        counts: counts(100_000, 0, &[]),
        ..RouteEvidence::default()
    });
    assert_eq!(
        decided_on(&evidence, &Thresholds::default()).outcome,
        Outcome::Pass
    );
}

/// Evidence of which nothing was carried over: all that there is of `GET /a` came since.
fn all_begun_anew(of_b: StartedAnew) -> Evidence {
    let mut evidence = begun_anew(false);
    let why = of_b.why.clone();
    let of_a = StartedAnew {
        route: "GET /a".to_owned(),
        why,
        ..StartedAnew::default()
    };
    evidence.carried = vec![CarriedRules {
        routes_anew: 2,
        requests_anew: 100_100,
        anew: vec![of_b, of_a],
        ..CarriedRules::default()
    }];
    evidence
}

#[test]
fn when_all_counts_began_anew_a_route_is_missed_until_something_of_it_is_compared() {
    let of_b = || StartedAnew {
        route: "GET /b".to_owned(),
        why: "`x` was removed".to_owned(),
        ..StartedAnew::default()
    };
    let with = |counts: Option<Counts>| {
        let mut evidence = all_begun_anew(of_b());
        evidence.routes.extend(counts.map(|counts| RouteEvidence {
            route: "GET /b".to_owned(),
            counts,
            ..RouteEvidence::default()
        }));
        evidence
    };
    let of_b_in = |decision: &Decision| {
        let found = decision.routes.iter().find(|one| one.route == "GET /b");
        found.map(|route| (route.required, route.needed))
    };
    let missed = decided_on(&with(None), &Thresholds::default());
    assert_eq!(missed.outcome, Outcome::Undecided, "{:?}", missed.reasons);
    assert_eq!(
        missed.reasons[0],
        "GET /b: no request since its count began anew (`x` was removed); one that is compared would do. If it is not served any \
         more, decide with --since on what came later"
    );
    assert_eq!(of_b_in(&missed), Some((true, 1)));
    // It came, and nothing of it was compared.
    let dropped = counts(0, 0, &[(Reason::QueueFull, 1)]);
    let dropped = decided_on(&with(Some(dropped)), &Thresholds::default());
    assert_eq!(dropped.outcome, Outcome::Undecided, "{:?}", dropped.reasons);
    // One is enough, as it would have been before, unless the route is required by name.
    let once = with(Some(counts(1, 0, &[])));
    let decision = decided_on(&once, &Thresholds::default());
    assert_eq!(decision.outcome, Outcome::Pass, "{:?}", decision.reasons);
    assert_eq!(of_b_in(&decision).map(|one| one.0), Some(false));
    assert!(
        decision.headline.contains("GET /b"),
        "{}",
        decision.headline
    );
    let named = Thresholds {
        required_routes: vec!["GET /b".to_owned()],
        ..Thresholds::default()
    };
    assert_eq!(decided_on(&once, &named).outcome, Outcome::Undecided);
    assert_eq!(
        of_b_in(&decided_on(&with(None), &named)),
        Some((true, 3_787))
    );
    // Where other routes keep comparisons, they would hide it.
    let mut hidden = once;
    hidden.carried[0].routes = 1;
    hidden.carried[0].compared = Some(1);
    assert_eq!(
        decided_on(&hidden, &Thresholds::default()).outcome,
        Outcome::Undecided
    );
    // What is kept of a route that is never compared hides nothing.
    hidden.carried[0].compared = Some(0);
    assert_eq!(
        decided_on(&hidden, &Thresholds::default()).outcome,
        Outcome::Pass
    );
}

#[test]
fn what_was_never_compared_is_not_missed_when_counts_begin_anew() {
    for of_b in [
        StartedAnew {
            unserved: true,
            ..StartedAnew::default()
        },
        StartedAnew {
            never_compared: true,
            ..StartedAnew::default()
        },
    ] {
        let of_b = StartedAnew {
            route: "POST /b".to_owned(),
            ..of_b
        };
        let decision = decided_on(&all_begun_anew(of_b), &Thresholds::default());
        assert_eq!(decision.outcome, Outcome::Pass, "{:?}", decision.reasons);
    }
}

#[test]
fn a_route_of_which_only_what_is_left_out_has_comparisons_is_named() {
    let mut evidence = evidence(vec![("GET /a", counts(100_000, 0, &[]))]);
    evidence.only_left_out = vec!["GET /b".to_owned()];
    let told = "nothing of GET /b is counted here: all that was compared of it is in what --since or --leave-out leaves out, so the \
                decision says nothing of it";
    let pass = decided_on(&evidence, &Thresholds::default());
    assert_eq!(pass.outcome, Outcome::Pass);
    assert!(
        pass.reasons.iter().any(|one| one == told),
        "{:?}",
        pass.reasons
    );
    let required = Thresholds {
        required_routes: vec!["GET /b".to_owned()],
        ..Thresholds::default()
    };
    let open = decided_on(&evidence, &required);
    assert_eq!(open.outcome, Outcome::Undecided);
    assert!(
        open.reasons[0].starts_with("GET /b: required, and all that was compared"),
        "{:?}",
        open.reasons
    );
}
