//! A mirror and its store: requests to both services, compared, asked again within a budget, and counted as tallies are.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use http::Method;
use parity_comparator::noise::class::{Answers, recheck};
use parity_comparator::noise::memory::Memory;
use parity_comparator::noise::shape::Shape;
use parity_comparator::{AnswerPair, Comparator, Limits, RuleConfig, Rules};
use parity_schemas::clients::ClientOutcome;
use parity_schemas::evidence::carried::RouteCounted;
use parity_schemas::evidence::{GroupEvidence, RouteEvidence, SetEvidence};
use parity_schemas::exchange::Capture;
use parity_schemas::fields::FieldLines;
use parity_schemas::histogram::bucket;
use parity_schemas::recheck::{ClassCounts, EvidenceCounts, RecheckEvent, add_counts};
use parity_schemas::record::MismatchClass;
use parity_schemas::tally::{Counts, Group};
use parity_schemas::targets::{DistinctTargets, FrequentTargets};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Finding, Verdict};

use super::budget::Budget;
use super::scenarios::{Condition, Field, Route, Scenario};
use crate::service::{Fault, Noise, SECOND, Service, TARGETS, World};
use crate::simulation::{ASKING, DELAY, RATE, capture, hash};

/// What was counted of one route.
#[derive(Default)]
pub(super) struct Counted {
    pub(super) evidence: RouteEvidence,
    rule_hits: BTreeMap<String, u64>,
    distinct: DistinctTargets,
    frequent: FrequentTargets,
    groups: BTreeMap<String, GroupEvidence>,
    sets: BTreeMap<Vec<String>, ClassCounts>,
    /// Rechecks, which come in both orders in turn.
    rechecks: u64,
}

impl Counted {
    /// As a store gives it to who knows the rules.
    pub(super) fn of_route(&self) -> RouteCounted {
        RouteCounted {
            route: self.evidence.route.clone(),
            counts: self.evidence.counts.clone(),
            rule_hits: self.rule_hits.clone(),
            groups: self.groups.values().cloned().collect(),
            sets: self.sets(),
        }
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = &GroupEvidence> {
        self.groups.values()
    }

    pub(super) fn sets(&self) -> Vec<SetEvidence> {
        let sets = self.sets.iter();
        sets.map(|(fingerprints, classes)| SetEvidence {
            route: self.evidence.route.clone(),
            fingerprints: fingerprints.clone(),
            classes: classes.clone(),
            never_asked: 0,
        })
        .collect()
    }

    pub(super) fn route(&self) -> RouteEvidence {
        let mut route = self.evidence.clone();
        let verdicts = route.counts.matched + route.counts.mismatch;
        route
            .targets
            .add("key", verdicts, &self.distinct, &self.frequent);
        route
    }
}

pub(super) struct Mirror {
    scenario: Scenario,
    world: World,
    comparator: Comparator,
    pub(super) rules: Rules,
    memory: Memory,
    budget: Budget,
    pub(super) rechecks: u64,
    /// The next user, who has asked so often.
    user: (u64, u64),
    pub(super) counted: BTreeMap<&'static str, Counted>,
}

/// The services' answers to one request.
struct Pair {
    legacy: Capture,
    candidate: Capture,
}

impl Mirror {
    pub(super) fn new(scenario: Scenario, seed: u64) -> Self {
        let rules = Rules::compile(&[], Timestamp::from_micros(0)).expect("no rule is right");
        Self {
            scenario,
            world: World::new(seed),
            comparator: Comparator::new(Arc::new(rules.clone()), Limits::default()),
            rules,
            memory: Memory::default(),
            budget: Budget::of(scenario.budget),
            rechecks: 0,
            user: (0, 0),
            counted: BTreeMap::new(),
        }
    }

    /// Goes on under other rules; returns what was counted under the former ones.
    pub(super) fn edit(&mut self, rules: &[RuleConfig]) -> BTreeMap<&'static str, Counted> {
        self.rules = Rules::compile(rules, Timestamp::from_micros(0)).expect("the rule is right");
        self.comparator = Comparator::new(Arc::new(self.rules.clone()), Limits::default());
        std::mem::take(&mut self.counted)
    }

    /// The request of this number, of so many.
    pub(super) fn request(&mut self, number: u64) {
        let jitter = self.world.random.below(10_000).cast_signed();
        let time = number.cast_signed() * SECOND / RATE + jitter;
        self.budget.grow();
        let route = self.pick(number);
        let target = self.target();
        let order = self.world.random.chance(0.5);
        let apart = self.world.random.below(2_000).cast_signed();
        let first = self.ask(&route, target, time, order, apart);
        self.count(&route, target, time, &first);
    }

    /// A route that is there by now.
    fn pick(&mut self, number: u64) -> Route {
        let gone = number as f64 / self.scenario.requests as f64;
        let there = || (self.scenario.routes.iter()).filter(move |route| route.from <= gone);
        let all: f64 = there().map(|route| route.share).sum();
        let mut place = self.world.random.below(1 << 32) as f64 / (1_u64 << 32) as f64 * all;
        let picked = there().find(|route| {
            place -= route.share;
            place < 0.0
        });
        *picked
            .or(there().next_back())
            .expect("one is there from the begin")
    }

    fn target(&mut self) -> u64 {
        let Condition::Users(in_a_row) = self.scenario.condition else {
            return self.world.random.below(TARGETS);
        };
        if self.user.1 >= in_a_row {
            self.user = (self.user.0 + 1, 0);
        }
        self.user.1 += 1;
        self.user.0
    }

    /// Both answers, in this order or the other, between which somebody may write.
    fn ask(
        &mut self,
        route: &Route,
        target: u64,
        time: i64,
        legacy_first: bool,
        apart: i64,
    ) -> Pair {
        let planted = route.planted.filter(|planted| {
            if planted.by_target {
                // Spread over the targets as by a hash.
                let spread = target.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                (spread as f64) < planted.rate * (1_u64 << 32) as f64
            } else {
                self.world.random.chance(planted.rate)
            }
        });
        let fault_of = |place: Option<usize>| {
            let planted = planted.filter(|planted| planted.field == place);
            planted.map_or(Fault::None, |planted| planted.fault)
        };
        let (mut legacy, mut candidate) = (String::new(), String::new());
        for (at, field) in route.fields.iter().enumerate() {
            let [one, other] = self.values(
                *field,
                fault_of(Some(at)),
                target,
                (time, apart),
                legacy_first,
            );
            for (fields, value) in [(&mut legacy, one), (&mut candidate, other)] {
                write!(fields, ",\"f{at}\":{value}").expect("memory");
            }
        }
        let name = |fault| match fault {
            Fault::None => format!("name of {target}"),
            _ => format!("nobody of {target}"),
        };
        let body = |fields: &str, fault| {
            let name = name(fault);
            capture(format!(
                "{{\"target\":{target},\"name\":\"{name}\"{fields}}}"
            ))
        };
        Pair {
            legacy: body(&legacy, Fault::None),
            candidate: body(&candidate, fault_of(None)),
        }
    }

    fn values(
        &mut self,
        field: Field,
        fault: Fault,
        target: u64,
        (time, apart): (i64, i64),
        legacy_first: bool,
    ) -> [String; 2] {
        // Which answers have it is a property of the target.
        if (target * 83 % TARGETS) as f64 >= field.share * TARGETS as f64 {
            return ["0".to_owned(), "0".to_owned()];
        }
        let mut faults = [(Service::Legacy, Fault::None), (Service::Candidate, fault)];
        if !legacy_first {
            faults.reverse();
        }
        let first = self.world.value(field.noise, faults[0], target, time);
        if let Noise::Race(rate) = field.noise
            && self.world.random.chance(rate)
        {
            self.world.write(target);
        }
        let second = self
            .world
            .value(field.noise, faults[1], target, time + apart);
        if legacy_first {
            [first, second]
        } else {
            [second, first]
        }
    }

    #[expect(clippy::too_many_lines, reason = "one mismatch from begin to end")]
    fn count(&mut self, route: &Route, target: u64, time: i64, first: &Pair) {
        let (method, request) = (Method::GET, FieldLines::default());
        let at = Timestamp::from_micros(time);
        let compared = self.comparator.compare_answers(AnswerPair {
            route: route.name,
            method: &method,
            request: Some(&request),
            time: at,
            legacy: &first.legacy,
            candidate: &first.candidate,
            asked_together: true,
        });
        let slow = match self.scenario.condition {
            Condition::Slow(times) => times,
            _ => 1.0,
        };
        let legacy_us = 1_000 + self.world.random.below(2_000);
        let candidate_us = (1_000 + self.world.random.below(2_000)) as f64 * slow;
        let counted = self.counted.entry(route.name).or_default();
        let evidence = &mut counted.evidence;
        route.name.clone_into(&mut evidence.route);
        evidence.legacy_head_latency.add(bucket(legacy_us), 1);
        evidence
            .candidate_head_latency
            .add(bucket(candidate_us as u64), 1);
        let target_hash = target.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ hash(route.name.as_bytes());
        counted.distinct.add(target_hash);
        counted.frequent.add(target_hash);
        for (rule, hits) in &compared.rule_hits {
            if let Some(name) = self.rules.ids().nth(*rule) {
                *counted.rule_hits.entry(name.to_owned()).or_default() += u64::from(*hits);
            }
        }
        evidence.counts.merge(&Counts {
            received: 1,
            clients: [(ClientOutcome::Success, 1)].into(),
            legacy_answers: [(ClientOutcome::Success, 1)].into(),
            matched: u64::from(compared.verdict == Verdict::Match),
            mismatch: u64::from(compared.verdict != Verdict::Match),
            ..Counts::default()
        });
        if compared.verdict == Verdict::Match {
            return;
        }
        let mut names: Vec<String> = Vec::new();
        for finding in &compared.findings {
            let group = group(finding);
            if !names.contains(&group.fingerprint) {
                names.push(group.fingerprint.clone());
                let known = counted.groups.entry(group.fingerprint.clone());
                let known = known.or_insert_with(|| GroupEvidence {
                    last_seen: parity_schemas::time::Timestamp::default(),
                    route: route.name.to_owned(),
                    group,
                    count: 0,
                    classes: ClassCounts::new(),
                    evidence: EvidenceCounts::new(),
                });
                known.count += 1;
            }
        }
        let mut class = MismatchClass::Unconfirmed;
        let mut of_groups: BTreeMap<String, MismatchClass> = BTreeMap::new();
        let takes = self.budget.takes(&names, time);
        let event = if takes {
            RecheckEvent::Asked
        } else {
            RecheckEvent::RefusedRate
        };
        *counted.evidence.counts.rechecks.entry(event).or_default() += 1;
        if takes {
            self.rechecks += 1;
            counted.rechecks += 1;
            let order = counted.rechecks.is_multiple_of(2);
            let second = self.ask(route, target, time + DELAY, order, ASKING);
            let answers = Answers {
                route: route.name,
                method: &method,
                request: &request,
                time: at,
                legacy: [&first.legacy, &second.legacy],
                candidate: [&first.candidate, &second.candidate],
            };
            let rechecked = recheck(&mut self.comparator, &compared, &answers, &hash);
            class = rechecked.class;
            let counted = self.counted.entry(route.name).or_default();
            for event in rechecked.events() {
                let events = &mut counted.evidence.counts.rechecks;
                *events.entry(event).or_default() += 1;
            }
            for seen in &rechecked.groups {
                let name = group(&compared.findings[seen.findings[0]]).fingerprint;
                if seen.class == MismatchClass::Unconfirmed {
                    continue;
                }
                self.budget.learn(&name, seen.class);
                let evidence = self.memory.count(
                    &format!("{} {name}", route.name),
                    &seen.observation,
                    target_hash,
                    at,
                );
                let known = of_groups.entry(name.clone()).or_insert(seen.class);
                *known = (*known).min(seen.class);
                if let Some(sums) = counted.groups.get_mut(&name) {
                    add_counts(&mut sums.evidence, &evidence);
                }
            }
        }
        let counted = self.counted.entry(route.name).or_default();
        for name in &names {
            let class = of_groups.get(name).copied().unwrap_or_default();
            if let Some(sums) = counted.groups.get_mut(name) {
                *sums.classes.entry(class).or_default() += 1;
            }
        }
        *counted.evidence.counts.classes.entry(class).or_default() += 1;
        // What was transient in it does not count in it.
        names.retain(|name| of_groups.get(name) != Some(&MismatchClass::Transient));
        names.sort();
        if !names.is_empty() && !compared.findings_cut {
            let classes = counted.sets.entry(names).or_default();
            *classes.entry(class).or_default() += 1;
        }
    }
}

/// The group of a finding, by a name that tells what is in it.
fn group(finding: &Finding) -> Group {
    let shape = Shape::of(finding);
    Group {
        fingerprint: format!(
            "{} {} {} {:?} {shape}",
            finding.part, finding.pattern, finding.kind, finding.explanation
        ),
        part: finding.part,
        pattern: finding.pattern.clone(),
        kind: finding.kind,
        explanation: finding.explanation,
        shape: shape.to_string(),
        legacy_status: 200,
        candidate_status: 200,
    }
}
