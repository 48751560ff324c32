//! How often the gate is wrong, and how many requests it takes, found by simulation: traffic with a known rate of
//! differences, and the real decision after every interval.
//!
//! The table is printed. `PARITY_TEST_LENGTH=long` (tests/long) makes it from ten times as many runs.

mod clustered;
mod late;
mod random;
mod table;
mod traffic;

use parity_comparator::bounds::{Seen, lower, needed};
use parity_schemas::evidence::{Bound, Thresholds};
use std::fmt::Write as _;

use table::Table;
use traffic::{Route, Runs, simulate};

/// So unlikely may a wrong alarm of these tests be that rest on chance; the seeds are fixed, so it does not come and go.
const CHANCE: f64 = 1e-6;

fn is_long() -> bool {
    std::env::var("PARITY_TEST_LENGTH").is_ok_and(|length| length == "long")
}

fn runs() -> u64 {
    if is_long() { 2_000 } else { 200 }
}

fn thresholds(bound: Bound, confidence: f64, allowed: f64) -> Thresholds {
    Thresholds {
        bound,
        confidence,
        max_mismatch_rate: allowed,
        ..Thresholds::default()
    }
}

/// That `wrong` of `runs` is more than chance makes of `allowed`.
fn is_more_than(allowed: f64, wrong: u64, runs: u64) -> bool {
    lower(Bound::OneLook, Seen::new(wrong, runs), CHANCE) > allowed
}

#[track_caller]
fn holds(runs: &Runs, thresholds: &Thresholds) {
    let allowed = 1.0 - thresholds.confidence;
    for wrong in [runs.passed, runs.failed] {
        assert!(!is_more_than(allowed, wrong, runs.all), "{runs:?}");
    }
}

#[test]
fn at_exactly_the_allowed_rate_few_gates_pass_or_fail_however_often_they_look() {
    let mut table = Table::new("the true rate is the allowed one; a look after each interval");
    let levels: &[(f64, u64)] = if is_long() {
        &[(0.01, 5), (0.001, 50), (0.0001, 500)]
    } else {
        &[(0.001, 50)]
    };
    for (allowed, interval) in levels {
        for confidence in [0.95, 0.99] {
            for bound in [Bound::AnyTime, Bound::OneLook] {
                let thresholds = thresholds(bound, confidence, *allowed);
                let route = Route::new("GET /a", 1.0, *allowed);
                let runs = simulate(runs(), &[route], &thresholds, *interval, 400);
                table.row("one route", &thresholds, &runs);
                if bound == Bound::AnyTime {
                    holds(&runs, &thresholds);
                } else if confidence < 0.99 {
                    // Looking again and again is not what it is for; a simulation that does not show it shows nothing.
                    assert!(
                        is_more_than(1.0 - confidence, runs.passed, runs.all),
                        "{runs:?}"
                    );
                }
            }
        }
    }
    table.print();
}

#[test]
fn several_routes_share_the_chance_of_a_wrong_fail_and_none_passes_for_another() {
    let mut table = Table::new("several routes; a look after each interval");
    let rare = [0.5, 0.25, 0.15, 0.08, 0.02];
    let all = rare.map(|share| Route::new(format!("GET /{share}"), share, 0.01));
    // As many as there are in the end are not known at the begin.
    let mut late = all.clone();
    for (number, route) in (0..).zip(&mut late) {
        route.from_look = number * 15;
    }
    // Only the rarest has as many differences as are allowed.
    let mut one = all.clone();
    one[..4].iter_mut().for_each(|route| route.rate = 0.0);
    for bound in [Bound::AnyTime, Bound::OneLook] {
        for (name, routes) in [("all at the rate", &all), ("one after another", &late)] {
            let thresholds = thresholds(bound, 0.95, 0.01);
            let runs = simulate(runs(), routes, &thresholds, 50, 100);
            table.row(name, &thresholds, &runs);
            if bound == Bound::AnyTime {
                holds(&runs, &thresholds);
            }
        }
        let thresholds = Thresholds {
            required_routes: vec![one[4].name.clone()],
            ..thresholds(bound, 0.95, 0.01)
        };
        let runs = simulate(runs(), &one, &thresholds, 200, 100);
        table.row("the rarest of them, required", &thresholds, &runs);
        if bound == Bound::AnyTime {
            holds(&runs, &thresholds);
        }
    }
    table.print();
}

#[test]
fn routes_that_come_one_after_the_other_make_a_wrong_fail_no_more_likely() {
    let mut text = "\neach of the routes differs as often as is allowed (50 %), and comes when the one before has ended; \
                    a look after each fifth more of its requests\nroutes  confidence   runs  wrong fails with an even part each  as decided\n"
        .to_owned();
    for (routes, confidence) in [(1, 0.95), (100, 0.95), (100, 0.99)] {
        let thresholds = thresholds(Bound::AnyTime, confidence, 0.5);
        let wrong = late::simulate(runs(), routes, 36, &thresholds);
        let percent = |count: u64| 100.0 * count as f64 / wrong.runs as f64;
        let row = format!(
            "{routes:>6}  {confidence:>10}  {:>5}  {:>32.1} %  {:>8.1} %\n",
            wrong.runs,
            percent(wrong.evenly),
            percent(wrong.decided)
        );
        text.push_str(&row);
        let allowed = 1.0 - confidence;
        assert!(
            !is_more_than(allowed, wrong.decided, wrong.runs),
            "{wrong:?}"
        );
        // A simulation that does not show what it is for shows nothing.
        if routes == 100 && confidence < 0.99 {
            let shown = is_more_than(allowed, wrong.evenly, wrong.runs);
            assert!(shown || !is_long(), "{wrong:?}");
            assert!(wrong.evenly > 2 * wrong.decided, "{wrong:?}");
        }
    }
    text.push_str("\nrequests to a route that prove that too many differ, 0.1 % allowed\nroutes  differing  with an even part each  as decided\n");
    let thresholds = thresholds(Bound::AnyTime, 0.95, 0.001);
    for rate in [0.01, 0.1] {
        for routes in [1, 5, 20, 100] {
            let [even, decided] = late::until_fail(runs() / 2, routes, rate, &thresholds);
            let rate = rate * 100.0;
            writeln!(
                text,
                "{routes:>6}  {rate:>7.0} %  {even:>22}  {decided:>10}"
            )
            .expect("memory");
            assert!(decided < 2 * even + 20, "{routes} {rate}: {even} {decided}");
        }
    }
    table::say(&text);
}

#[test]
fn a_good_candidate_passes_and_a_bad_one_fails_after_a_few_times_what_proves_it() {
    let mut table = Table::new("a tenth of what is allowed differs, and ten times as much");
    for allowed in [0.01, 0.001, 0.0001] {
        for confidence in [0.95, 0.99] {
            for bound in [Bound::AnyTime, Bound::OneLook] {
                let thresholds = thresholds(bound, confidence, allowed);
                let least = needed(bound, Seen::new(0, 0), allowed, 1.0 - confidence);
                let least = least.expect("some number is enough");
                let interval = least / 8;
                let good = Route::new("GET /a", 1.0, allowed / 10.0);
                let runs_of_good = simulate(runs() / 4, &[good], &thresholds, interval, 40);
                table.row(
                    &format!("good (none differs: {least})"),
                    &thresholds,
                    &runs_of_good,
                );
                // A tenth is no proof of innocence to whom looks often; to fail it is a mistake.
                assert!(
                    runs_of_good.passed * 10 > runs_of_good.all * 9,
                    "{runs_of_good:?}"
                );
                let bad = Route::new("GET /a", 1.0, (allowed * 10.0).min(1.0));
                let runs_of_bad = simulate(runs() / 4, &[bad], &thresholds, interval, 40);
                table.row("bad", &thresholds, &runs_of_bad);
                assert_eq!(runs_of_bad.failed, runs_of_bad.all, "{runs_of_bad:?}");
            }
        }
    }
    table.print();
}

#[test]
fn ten_thousand_routes_are_decided_in_a_moment() {
    let mut random = random::Random::seeded(7);
    let routes = (0..10_000_u64).map(|number| {
        let requests = 1 + random.binomial(1 << (number % 20), 0.5);
        let differing = random.binomial(requests, 0.000_8);
        (format!("GET /{number}"), requests, differing)
    });
    let evidence = traffic::evidence(routes);
    let begin = std::time::Instant::now();
    let decision = traffic::decided(&evidence, &Thresholds::default());
    let took = begin.elapsed();
    assert_eq!(decision.routes.len(), 10_000);
    table::say(&format!("10,000 routes decided in {took:?}"));
    // A build that is not optimized takes ten times as long as one that is.
    assert!(took.as_secs() < 10, "{took:?}");
}

#[test]
fn many_requests_to_few_targets_prove_nothing_of_the_others_and_min_distinct_says_so() {
    // As many as an exact bound wants of independent requests.
    const ENOUGH: u64 = 300;
    let mut text = "\n2 % of the targets always differ, 1 % allowed; 20,000 requests\n\
                    targets  wrong passes  with --min-distinct 300\n"
        .to_owned();
    for targets in [1, 10, 100, 1_000] {
        let plain = thresholds(Bound::AnyTime, 0.95, 0.01);
        let demanding = Thresholds {
            min_distinct: ENOUGH,
            ..plain.clone()
        };
        let of = |thresholds| clustered::simulate(runs(), targets, 20_000, 0.02, thresholds);
        let (plain, demanding) = (of(&plain), of(&demanding));
        let row = format!(
            "{targets:>7}  {:>10.1} %  {:>21.1} %\n",
            100.0 * plain.passed as f64 / plain.runs as f64,
            100.0 * demanding.passed as f64 / demanding.runs as f64
        );
        text.push_str(&row);
        // A simulation that does not show what it is for shows nothing; of a hundred targets it is too near to tell.
        if targets != 100 {
            assert_eq!(
                is_more_than(0.05, plain.passed, plain.runs),
                targets < 100,
                "{targets}: {plain:?}"
            );
        }
        assert!(
            !is_more_than(0.05, demanding.passed, demanding.runs),
            "{targets}: {demanding:?}"
        );
    }
    table::say(&text);
}
