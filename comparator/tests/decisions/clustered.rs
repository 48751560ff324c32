//! Requests of few users: whether an answer differs depends on the target alone, so asking for it again says nothing new.

use parity_comparator::decision::decide;
use parity_schemas::evidence::{Outcome, RouteEvidence, Thresholds};
use parity_schemas::targets::{DistinctTargets, FrequentTargets, TargetEvidence};
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Standing;
use uuid::Uuid;

use crate::random::Random;
use crate::traffic;

/// How often a gate passed, of so many runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    pub(crate) runs: u64,
    pub(crate) passed: u64,
}

/// Each run has so many targets, of which each differs with the probability `rate`, always or never; the requests are
/// spread over them evenly, and the gate looks after each tenth of them.
pub(crate) fn simulate(
    runs: u64,
    targets: u64,
    requests: u64,
    rate: f64,
    thresholds: &Thresholds,
) -> Passed {
    let passed = (0..runs).filter(|run| passes(*run, targets, requests, rate, thresholds));
    Passed {
        runs,
        passed: passed.count() as u64,
    }
}

fn passes(seed: u64, targets: u64, requests: u64, rate: f64, thresholds: &Thresholds) -> bool {
    /// In a run.
    const LOOKS: u64 = 10;
    let mut random = Random::seeded(seed);
    let bad = random.binomial(targets, rate);
    let counted = counted(targets, requests);
    (1..=LOOKS).any(|look| {
        let sent = requests * look / LOOKS;
        let differing = sent * bad / targets;
        let mut evidence = traffic::evidence(std::iter::empty());
        evidence.routes = vec![RouteEvidence {
            route: "GET /users/{id}".to_owned(),
            counts: traffic::counts(sent, differing),
            targets: counted.clone(),
            ..RouteEvidence::default()
        }];
        let decision = decide(
            "default",
            Some(&evidence),
            &Standing::default(),
            thresholds,
            Uuid::nil(),
            Timestamp::from_micros(1),
        );
        decision.outcome == Outcome::Pass
    })
}

/// The summaries of so many targets; every tenth of the requests is to all of them.
fn counted(targets: u64, requests: u64) -> TargetEvidence {
    let mut random = Random::seeded(targets);
    let (mut distinct, mut frequent) = (DistinctTargets::default(), FrequentTargets::default());
    for _ in 0..targets {
        let hash = random.next();
        distinct.add(hash);
        (0..requests / targets).for_each(|_| frequent.add(hash));
    }
    let mut evidence = TargetEvidence::default();
    evidence.add("key", requests, &distinct, &frequent);
    evidence
}
