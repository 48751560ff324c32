//! What a gate reads: the sums of what was counted under the present rules, and of what still holds of that under former ones.

use std::collections::BTreeMap;

use parity_comparator::redact::{RedactConfig, rules_text};
use parity_comparator::rules::{REDECIDE, Rules};
use parity_schemas::evidence::carried::{CarriedRules, Fate, RouteCounted, RulesCounted};
use parity_schemas::evidence::{Evidence, GroupEvidence, RouteEvidence, SetEvidence, Window};
use parity_schemas::recheck::{RecheckEvidence, add_counts};
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;

use super::mirror::{Counted, Mirror};

/// What was counted under former rules.
pub(super) struct Former {
    pub(super) rules: Rules,
    pub(super) counted: BTreeMap<&'static str, Counted>,
}

fn known(rules: &Rules) -> RulesCounted {
    RulesCounted {
        hash: rules.hash().to_owned(),
        texts: vec![rules_text(rules, &RedactConfig::default())],
    }
}

pub(super) fn evidence(mirror: &Mirror, former: Option<&Former>, until: Timestamp) -> Evidence {
    let mut sums = Sums::default();
    for counted in mirror.counted.values() {
        sums.add(counted.route(), counted.groups(), counted.sets());
    }
    let mut carried = Vec::new();
    if let Some(former) = former {
        carried.push(sums.carry(former, &mirror.rules));
    }
    Evidence {
        identity: Identity::default(),
        window: Window {
            from: Timestamp::from_micros(0),
            to: until,
        },
        instances: vec!["one".to_owned()],
        routes: sums.routes.into_values().collect(),
        groups: sums.groups.into_values().collect(),
        sets: sums.sets.into_values().collect(),
        runs: Vec::new(),
        carried,
        recent: Vec::new(),
        other_rules: Vec::new(),
        left_out: Vec::new(),
        only_left_out: Vec::new(),
    }
}

#[derive(Default)]
struct Sums {
    routes: BTreeMap<String, RouteEvidence>,
    groups: BTreeMap<(String, String), GroupEvidence>,
    sets: BTreeMap<(String, Vec<String>), SetEvidence>,
}

impl Sums {
    fn add<'a>(
        &mut self,
        route: RouteEvidence,
        groups: impl Iterator<Item = &'a GroupEvidence>,
        sets: Vec<SetEvidence>,
    ) {
        for group in groups {
            let name = (group.route.clone(), group.group.fingerprint.clone());
            match self.groups.get_mut(&name) {
                None => drop(self.groups.insert(name, group.clone())),
                Some(sum) => {
                    let targets = [&sum.evidence, &group.evidence]
                        .map(|counts| counts.get(&RecheckEvidence::Targets).copied());
                    sum.count += group.count;
                    add_counts(&mut sum.classes, &group.classes);
                    add_counts(&mut sum.evidence, &group.evidence);
                    // Of one process that knows what it has seen before.
                    if let [Some(one), Some(other)] = targets {
                        sum.evidence
                            .insert(RecheckEvidence::Targets, one.max(other));
                    }
                }
            }
        }
        for set in sets {
            let name = (set.route.clone(), set.fingerprints.clone());
            match self.sets.get_mut(&name) {
                None => drop(self.sets.insert(name, set)),
                Some(sum) => add_counts(&mut sum.classes, &set.classes),
            }
        }
        match self.routes.get_mut(&route.route) {
            None => drop(self.routes.insert(route.route.clone(), route)),
            Some(sum) => {
                sum.counts.merge(&route.counts);
                sum.targets.merge(&route.targets);
                sum.legacy_head_latency.merge(&route.legacy_head_latency);
                sum.candidate_head_latency
                    .merge(&route.candidate_head_latency);
            }
        }
    }

    /// Adds what the change of rules does not touch.
    fn carry(&mut self, former: &Former, now: &Rules) -> CarriedRules {
        let mut carried = CarriedRules {
            rules_hash: former.rules.hash().to_owned(),
            ..CarriedRules::default()
        };
        let counted: Vec<RouteCounted> = former.counted.values().map(Counted::of_route).collect();
        let fates = (REDECIDE.fates)(&known(&former.rules), &known(now), &counted)
            .expect("the texts are whole");
        let routes = former.counted.values();
        for ((mut counted, fate), was) in counted.into_iter().zip(fates).zip(routes) {
            let excused = match fate {
                Fate::Anew(why) => {
                    carried.begin_anew(counted.route, &counted.counts, why);
                    continue;
                }
                Fate::Untouched => std::collections::BTreeSet::new(),
                Fate::Excused(excused) => excused,
            };
            let again = counted.decide_again(excused);
            carried.keep(&counted.counts, again);
            let route = RouteEvidence {
                counts: counted.counts,
                ..was.route()
            };
            self.add(route, counted.groups.iter(), counted.sets);
        }
        carried
    }
}
