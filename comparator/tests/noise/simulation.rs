//! Requests to two simulated services, compared, asked again within a budget, counted and proven, as a mirror does it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use http::header::CONTENT_TYPE;
use parity_comparator::noise::class::{Answers, recheck};
use parity_comparator::noise::memory::Memory;
use parity_comparator::noise::proof::{GroupSums, Proof, prove};
use parity_comparator::noise::shape::Shape;
use parity_comparator::{AnswerPair, Comparator, Limits, Rules};
use parity_schemas::exchange::Capture;
use parity_schemas::fields::FieldLines;
use parity_schemas::record::MismatchClass;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Finding, Verdict};

use crate::service::{Fault, Noise, SECOND, Service, TARGETS, World};

/// Requests in a second.
pub(crate) const RATE: i64 = 100;
/// From the first look to the second.
pub(crate) const DELAY: i64 = SECOND / 2;
/// From one second answer to the other.
pub(crate) const ASKING: i64 = 5_000;
/// Rechecks after which it is looked whether something is proven.
const LOOK: u64 = 50;

/// A pair of services.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) noise: Noise,
    pub(crate) fault: Fault,
    /// Of the candidate's answers, those with the fault.
    pub(crate) prevalence: f64,
    /// The fault belongs to the record that is asked for, so it shows in both looks.
    pub(crate) by_target: bool,
    /// Of the requests, those whose answers have the noise at all.
    pub(crate) share: f64,
}

/// How much is asked.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) requests: u64,
    /// Rechecks for each request, at most: 0.1 is ten a second here.
    pub(crate) budget: f64,
}

/// What came of it.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) differing: u64,
    pub(crate) rechecks: u64,
    /// Rechecks until every group that had any was proven, if it stayed so.
    pub(crate) proven_after: Option<u64>,
    /// At some look, exchanges with the fault were taken for noise.
    pub(crate) hidden: bool,
    /// Exchanges that were excused at the end, with a fault and without; and those that were not and had none.
    pub(crate) excused_faults: u64,
    pub(crate) faults: u64,
    pub(crate) left: u64,
    /// What was said at the end.
    pub(crate) proofs: Vec<(String, Proof)>,
}

pub(crate) fn capture(body: String) -> Capture {
    let media = if body.starts_with('<') {
        "text/html"
    } else {
        "application/json"
    };
    Capture {
        status: 200,
        headers: [(CONTENT_TYPE, media)].into_iter().collect(),
        body: body.into_bytes().into(),
        trailers: None,
        hidden: None,
        head_elapsed: Duration::ZERO,
        elapsed: Duration::ZERO,
    }
}

pub(crate) fn hash(bytes: &[u8]) -> u64 {
    // FNV-1a: no key is needed where nothing leaves.
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn name(finding: &Finding, shape: Shape) -> String {
    format!("{} {shape}", finding.pattern)
}

/// Both services and what the mirror knows of them.
struct Mirror {
    scenario: Scenario,
    world: World,
    comparator: Comparator,
    memory: Memory,
    groups: BTreeMap<String, GroupSums>,
    /// By the names of their groups: exchanges without the fault and with it, and of each those that were transient.
    sets: BTreeMap<Vec<String>, [u64; 4]>,
}

pub(crate) fn simulate(scenario: Scenario, load: Load, seed: u64) -> Outcome {
    let rules = Rules::compile(&[], Timestamp::from_micros(0)).expect("no rule is right");
    let mut mirror = Mirror {
        scenario,
        world: World::new(seed),
        comparator: Comparator::new(Arc::new(rules), Limits::default()),
        memory: Memory::default(),
        groups: BTreeMap::new(),
        sets: BTreeMap::new(),
    };
    let mut outcome = Outcome::default();
    let mut budget = 0.0_f64;
    for request in 0..load.requests {
        // What is not used up is kept for a second.
        budget = (budget + load.budget).min(load.budget * RATE as f64 + 1.0);
        let may_ask = budget >= 1.0;
        let jitter = mirror.world.random.below(10_000).cast_signed();
        let time = request.cast_signed() * SECOND / RATE + jitter;
        let asked = mirror.request(time, may_ask, &mut outcome);
        if asked {
            budget -= 1.0;
            outcome.rechecks += 1;
            if outcome.rechecks.is_multiple_of(LOOK) {
                mirror.look(request + 1, &mut outcome);
            }
        }
    }
    mirror.look(load.requests, &mut outcome);
    outcome
}

impl Mirror {
    fn fault(&mut self, target: u64) -> Fault {
        let Scenario {
            fault,
            prevalence,
            by_target,
            ..
        } = self.scenario;
        let is_hit = if by_target {
            // Spread over the targets, so that it is not the share's.
            ((target * 83 % TARGETS) as f64) < prevalence * TARGETS as f64
        } else {
            self.world.random.chance(prevalence)
        };
        if is_hit { fault } else { Fault::None }
    }

    /// The answers of both services, in this order or the other, between which somebody may write.
    fn ask(
        &mut self,
        target: u64,
        time: i64,
        legacy_first: bool,
        apart: i64,
    ) -> ([Capture; 2], bool) {
        let fault = self.fault(target);
        let noise = self.scenario.noise;
        let torn = matches!(noise, Noise::Race(rate) if self.world.random.chance(rate));
        let mut faults = [(Service::Legacy, Fault::None), (Service::Candidate, fault)];
        if !legacy_first {
            faults.reverse();
        }
        let first = self.world.answer(noise, faults[0], target, time);
        if torn {
            self.world.write(target);
        }
        let second = self.world.answer(noise, faults[1], target, time + apart);
        let mut answers = [capture(first), capture(second)];
        if !legacy_first {
            answers.reverse();
        }
        (answers, fault != Fault::None)
    }

    /// One request; whether it was asked again.
    fn request(&mut self, time: i64, may_ask: bool, outcome: &mut Outcome) -> bool {
        let target = self.world.random.below(TARGETS);
        if target as f64 >= self.scenario.share * TARGETS as f64 {
            return false;
        }
        let candidate_first = self.world.random.chance(0.5);
        let apart = self.world.random.below(2_000).cast_signed();
        let ([l1, c1], faulty) = self.ask(target, time, !candidate_first, apart);
        let (method, request) = (Method::GET, FieldLines::default());
        let first = self.comparator.compare_answers(AnswerPair {
            route: "GET /a",
            method: &method,
            request: Some(&request),
            time: Timestamp::from_micros(time),
            legacy: &l1,
            candidate: &c1,
            asked_together: true,
        });
        if first.verdict == Verdict::Match {
            return false;
        }
        outcome.differing += 1;
        let mut names: Vec<String> = Vec::new();
        for finding in &first.findings {
            let shape = Shape::of(finding);
            let name = name(finding, shape);
            if !names.contains(&name) {
                let group = self
                    .groups
                    .entry(name.clone())
                    .or_insert_with(|| GroupSums {
                        shape,
                        count: 0,
                        classes: BTreeMap::new(),
                        evidence: BTreeMap::new(),
                    });
                group.count += 1;
                names.push(name);
            }
        }
        names.sort();
        let mut class = MismatchClass::Unconfirmed;
        if may_ask {
            let order = outcome.rechecks.is_multiple_of(2);
            let ([l2, c2], _) = self.ask(target, time + DELAY, order, ASKING);
            let answers = Answers {
                route: "GET /a",
                method: &method,
                request: &request,
                time: Timestamp::from_micros(time),
                legacy: [&l1, &l2],
                candidate: [&c1, &c2],
            };
            let rechecked = recheck(&mut self.comparator, &first, &answers, &hash);
            class = rechecked.class;
            for group in &rechecked.groups {
                let name = name(&first.findings[group.findings[0]], group.shape);
                let counts = self.memory.count(
                    &name,
                    &group.observation,
                    target,
                    Timestamp::from_micros(time),
                );
                if let Some(sums) = self.groups.get_mut(&name) {
                    *sums.classes.entry(group.class).or_default() += 1;
                    for (evidence, count) in counts {
                        *sums.evidence.entry(evidence).or_default() += count;
                    }
                }
            }
        }
        let is_transient = class == MismatchClass::Transient;
        let position = usize::from(faulty) + 2 * usize::from(is_transient);
        self.sets.entry(names).or_default()[position] += 1;
        may_ask
    }

    /// Looks at what is proven now, as a gate does.
    fn look(&mut self, compared: u64, outcome: &mut Outcome) {
        let mirrored = |name: &str, sums: &GroupSums| {
            let pattern = name.split(' ').next().unwrap_or_default();
            let mirrored = sums.shape.mirrored();
            let other = (mirrored != sums.shape).then(|| format!("{pattern} {mirrored}"))?;
            self.groups.get(&other)
        };
        let proofs: BTreeMap<&String, Proof> = self
            .groups
            .iter()
            .map(|(name, sums)| (name, prove(sums, mirrored(name, sums), compared)))
            .collect();
        outcome.excused_faults = 0;
        outcome.faults = 0;
        outcome.left = 0;
        for (names, [good, faulty, _, faulty_transient]) in &self.sets {
            let is_noise = names.iter().all(|name| proofs[name].is_proven());
            outcome.faults += faulty + faulty_transient;
            outcome.excused_faults += faulty_transient;
            if is_noise {
                outcome.excused_faults += faulty;
                outcome.hidden |= *faulty > 0;
            } else {
                outcome.left += good;
            }
        }
        let only_faults = (self.sets.values()).all(|[good, _, transient, _]| good + transient == 0);
        if outcome.left > 0 || only_faults {
            outcome.proven_after = None;
        } else if outcome.proven_after.is_none() {
            outcome.proven_after = Some(outcome.rechecks);
        }
        outcome.proofs = proofs
            .into_iter()
            .map(|(name, proof)| (name.clone(), proof))
            .collect();
    }
}
