//! Routes that come one after the other: whether a gate that looks after every interval fails wrongly on one of them, and what
//! it costs that it does not.

use parity_comparator::bounds::{Seen, is_beyond};
use parity_schemas::evidence::{Bound, Outcome, RouteEvidence, Thresholds};

use crate::random::Random;
use crate::traffic;

/// In which share of the runs some look said fail, although no route differs more than is allowed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wrong {
    pub(crate) runs: u64,
    /// With as much for each route as there would be if none came after it.
    pub(crate) evenly: u64,
    /// As the gate decides.
    pub(crate) decided: u64,
}

/// A route has all its traffic while it is the newest, like jobs that run one after the other.
pub(crate) fn simulate(runs: u64, routes: u64, looks: u64, thresholds: &Thresholds) -> Wrong {
    let mut wrong = Wrong::default();
    for seed in 0..runs {
        let (evenly, decided) = one(seed, routes, looks, thresholds);
        wrong.runs += 1;
        wrong.evenly += u64::from(evenly);
        wrong.decided += u64::from(decided);
    }
    wrong
}

fn one(seed: u64, routes: u64, looks: u64, thresholds: &Thresholds) -> (bool, bool) {
    let mut random = Random::seeded(seed);
    let mut evidence = traffic::evidence(std::iter::empty());
    let mut total = Seen::new(0, 0);
    let mut evenly = false;
    for route in 0..routes {
        let tests = if route == 0 { 1 } else { route + 2 };
        let alpha = (1.0 - thresholds.confidence) / tests as f64;
        let mut newest = Seen::new(0, 0);
        evidence.routes.push(RouteEvidence {
            route: format!("GET /{route}"),
            ..RouteEvidence::default()
        });
        for _ in 0..looks {
            // A fifth more each time: what is a fail after so many requests is a share of how many there were.
            let requests = 1 + newest.compared / 5;
            let differing = random.binomial(requests, thresholds.max_mismatch_rate);
            for seen in [&mut newest, &mut total] {
                *seen = Seen::new(seen.differing + differing, seen.compared + requests);
            }
            let counts = traffic::counts(requests, differing);
            if let Some(last) = evidence.routes.last_mut() {
                last.counts.merge(&counts);
            }
            // Of the others nothing is new, and what each has left becomes less.
            let is_beyond = |seen| {
                let allowed = thresholds.max_mismatch_rate;
                is_beyond(thresholds.bound, seen, allowed, alpha)
            };
            if is_beyond(newest) || is_beyond(total) {
                evenly = true;
                // The gate asks for more than that, so elsewhere it need not be asked.
                if traffic::decided(&evidence, thresholds).outcome == Outcome::Fail {
                    return (true, true);
                }
            }
        }
    }
    (evenly, false)
}

/// How many requests to a route prove that it differs too often, where so many routes are tested: with an even part of the
/// chance to be wrong, and as the gate decides. Medians.
pub(crate) fn until_fail(runs: u64, routes: u64, rate: f64, thresholds: &Thresholds) -> [u64; 2] {
    let names = (0..routes).map(|route| (format!("GET /{route}"), 1, 0));
    let decision = traffic::decided(&traffic::evidence(names), thresholds);
    let tests = if routes > 1 { routes + 1 } else { 1 };
    let even = (1.0 - thresholds.confidence) / tests as f64;
    let levels = [even, decision.total.alpha.unwrap_or(even)];
    levels.map(|alpha| {
        let mut all: Vec<u64> = (0..runs)
            .map(|seed| requests(seed, rate, alpha, thresholds))
            .collect();
        all.sort_unstable();
        all[all.len() / 2]
    })
}

fn requests(seed: u64, rate: f64, alpha: f64, thresholds: &Thresholds) -> u64 {
    /// Between two looks.
    const STEP: u64 = 10;
    let mut random = Random::seeded(seed);
    let mut seen = Seen::new(0, 0);
    let allowed = thresholds.max_mismatch_rate;
    while !is_beyond(Bound::AnyTime, seen, allowed, alpha) {
        let differing = random.binomial(STEP, rate);
        seen = Seen::new(seen.differing + differing, seen.compared + STEP);
    }
    seen.compared
}
