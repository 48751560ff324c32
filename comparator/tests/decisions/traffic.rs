//! Requests to routes of which a known share differs, and what the gate says of them after each interval.

use parity_comparator::decision::decide;
use parity_schemas::evidence::{Decision, Evidence, Outcome, RouteEvidence, Thresholds, Window};
use parity_schemas::tally::{Counts, Identity};
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Standing;
use uuid::Uuid;

use crate::random::Random;

/// One route of the simulated service.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) name: String,
    /// Its share of the traffic.
    pub(crate) share: f64,
    /// The share of its requests that differ.
    pub(crate) rate: f64,
    /// The interval in which its first requests come.
    pub(crate) from_look: u64,
}

impl Route {
    pub(crate) fn new(name: impl Into<String>, share: f64, rate: f64) -> Self {
        Self {
            name: name.into(),
            share,
            rate,
            from_look: 0,
        }
    }
}

/// What became of all runs.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    pub(crate) all: u64,
    /// In which a look, whichever, said pass.
    pub(crate) passed: u64,
    /// In which one said fail.
    pub(crate) failed: u64,
    /// How many requests had been compared when the first one passed, by run.
    pub(crate) until_pass: Vec<u64>,
    /// Likewise.
    pub(crate) until_fail: Vec<u64>,
}

impl Runs {
    /// In which nothing was decided until the end.
    pub(crate) fn undecided(&self) -> u64 {
        self.all.saturating_sub(self.passed + self.failed)
    }
}

/// Looks after each interval of so many requests, until there is an answer or there have been so many looks; each outcome is
/// waited for by itself, as by two teams of which one would stop at a pass and one at a fail.
pub(crate) fn simulate(
    runs: u64,
    routes: &[Route],
    thresholds: &Thresholds,
    interval: u64,
    looks: u64,
) -> Runs {
    let mut sum = Runs::default();
    for run in 0..runs {
        sum.all += 1;
        let (pass, fail) = one(run, routes, thresholds, interval, looks);
        sum.passed += u64::from(pass.is_some());
        sum.failed += u64::from(fail.is_some());
        sum.until_pass.extend(pass);
        sum.until_fail.extend(fail);
    }
    sum.until_pass.sort_unstable();
    sum.until_fail.sort_unstable();
    sum
}

fn one(
    seed: u64,
    routes: &[Route],
    thresholds: &Thresholds,
    interval: u64,
    looks: u64,
) -> (Option<u64>, Option<u64>) {
    let mut random = Random::seeded(seed);
    let mut evidence = evidence(std::iter::empty());
    let (mut pass, mut fail) = (None, None);
    for look in 0..looks {
        for route in routes.iter().filter(|route| route.from_look <= look) {
            let requests = (interval as f64 * route.share).round() as u64;
            let differing = random.binomial(requests, route.rate);
            let more = counts(requests, differing);
            match evidence
                .routes
                .iter_mut()
                .find(|seen| seen.route == route.name)
            {
                Some(seen) => seen.counts.merge(&more),
                None => evidence.routes.push(RouteEvidence {
                    route: route.name.clone(),
                    counts: more,
                    ..RouteEvidence::default()
                }),
            }
        }
        let decision = decided(&evidence, thresholds);
        let compared = Some(decision.total.compared);
        match decision.outcome {
            Outcome::Pass => pass = pass.or(compared),
            Outcome::Fail => fail = fail.or(compared),
            Outcome::Undecided => {}
        }
        // Where the rate is what is allowed both are mistakes, and one does not excuse the other.
        let settled = routes
            .iter()
            .all(|route| (route.rate - thresholds.max_mismatch_rate).abs() > f64::EPSILON);
        if (pass.is_some() && fail.is_some()) || (settled && (pass.is_some() || fail.is_some())) {
            break;
        }
    }
    (pass, fail)
}

pub(crate) fn counts(requests: u64, differing: u64) -> Counts {
    Counts {
        received: requests,
        matched: requests - differing,
        mismatch: differing,
        ..Counts::default()
    }
}

/// Evidence of routes, each with its requests and how many of them differ.
pub(crate) fn evidence(routes: impl Iterator<Item = (String, u64, u64)>) -> Evidence {
    Evidence {
        identity: Identity::default(),
        window: Window {
            from: Timestamp::from_micros(0),
            to: Timestamp::from_micros(1),
        },
        instances: Vec::new(),
        groups: Vec::new(),
        sets: Vec::new(),
        runs: Vec::new(),
        carried: Vec::new(),
        recent: Vec::new(),
        other_rules: Vec::new(),
        left_out: Vec::new(),
        only_left_out: Vec::new(),
        routes: routes
            .map(|(route, requests, differing)| RouteEvidence {
                route,
                counts: counts(requests, differing),
                ..RouteEvidence::default()
            })
            .collect(),
    }
}

/// What the gate says of it.
pub(crate) fn decided(evidence: &Evidence, thresholds: &Thresholds) -> Decision {
    decide(
        "default",
        Some(evidence),
        &Standing::default(),
        thresholds,
        Uuid::nil(),
        Timestamp::from_micros(1),
    )
}
