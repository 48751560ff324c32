//! What was counted under earlier rules and still holds under the present ones.
//!
//! Evidence is bound to the rules that decided what is equal. But a rule for one field of one route changes nothing on the
//! others. So each route is looked at: what it counted may be untouched by the edit, or decided again from its sets of
//! groups, or it starts anew. Who can tell is not the store, but what knows the rules ([`Redecide`]); here are the words
//! between them, and the arithmetic of deciding again.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{GroupEvidence, SetEvidence};
use crate::recheck::ClassCounts;
use crate::record::MismatchClass;
use crate::served::is_unserved;
use crate::tally::Counts;
use crate::terms::{RuleText, RulesText};
use crate::time::Timestamp;

/// The rules under which something was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RulesCounted {
    /// Their hash.
    pub hash: String,
    /// Every text that was recorded for it, first the one under which was counted last; they differ only in what the hash does
    /// not cover, such as ids.
    pub texts: Vec<RulesText>,
}

/// What was counted of one route under earlier rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteCounted {
    /// `METHOD /template`.
    pub route: String,
    /// Its outcomes.
    pub counts: Counts,
    /// Differences that each rule excused, by rule id.
    pub rule_hits: BTreeMap<String, u64>,
    /// The groups of its mismatches.
    pub groups: Vec<GroupEvidence>,
    /// How many of its mismatches had exactly the same groups.
    pub sets: Vec<SetEvidence>,
}

/// What becomes of the counts of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The edit cannot touch them.
    Untouched,
    /// The present rules excuse these groups (by fingerprint) as a whole and touch no other.
    Excused(BTreeSet<String>),
    /// Not known: the count starts anew, for this reason.
    Anew(String),
}

/// Rules of which some have expired since something was counted under them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// Those that expired.
    pub expired: Vec<ExpiredRule>,
    /// The others.
    pub left: RulesCounted,
}

/// Tells for each route of some earlier rules what becomes of its counts under the present rules. The error says why
/// nothing can be said of any route.
pub type Fates = fn(
    earlier: &RulesCounted,
    now: &RulesCounted,
    routes: &[RouteCounted],
) -> Result<Vec<Fate>, String>;

/// What knows the rules.
#[derive(Clone, Copy)]
pub struct Redecide {
    /// What becomes of counts under earlier rules.
    pub fates: Fates,
    /// Which of some rules have expired at a time, by their latest text or by what the configuration of who asks says of them;
    /// `None` if none has.
    pub expired: fn(rules: &RulesCounted, own: &[RuleText], at: Timestamp) -> Option<Expired>,
}

impl RouteCounted {
    /// Decides again, with these groups excused ([`RouteCounted::excuse`]); `None` without any.
    pub fn decide_again(&mut self, fingerprints: BTreeSet<String>) -> Option<DecidedAgain> {
        if fingerprints.is_empty() {
            return None;
        }
        let is_excused = |name: &String| fingerprints.contains(name);
        let sets = self.sets.iter();
        let sets = sets.filter(|set| set.fingerprints.iter().any(is_excused));
        // In one order, whichever store they came from and by whatever ids.
        let mut sets: Vec<SetEvidence> = sets.cloned().collect();
        sets.sort();
        Some(DecidedAgain {
            route: self.route.clone(),
            matches: self.excuse(&fingerprints),
            fingerprints,
            sets,
        })
    }

    /// Counts as matches the mismatches that had no other groups than these, and takes these groups out of all others.
    /// Returns how many became matches.
    pub fn excuse(&mut self, fingerprints: &BTreeSet<String>) -> u64 {
        let mut matches = 0;
        for set in &mut self.sets {
            let before = set.fingerprints.len();
            set.fingerprints.retain(|name| !fingerprints.contains(name));
            if set.fingerprints.is_empty() {
                for (class, count) in std::mem::take(&mut set.classes) {
                    take(&mut self.counts.classes, class, count);
                    matches += count;
                }
            } else if set.fingerprints.len() < before {
                let without = without_gravest(&set.classes);
                for (class, count) in std::mem::replace(&mut set.classes, without.clone()) {
                    take(&mut self.counts.classes, class, count);
                }
                crate::recheck::add_counts(&mut self.counts.classes, &without);
            }
        }
        self.sets.retain(|set| !set.fingerprints.is_empty());
        self.groups
            .retain(|group| !fingerprints.contains(&group.group.fingerprint));
        self.counts.mismatch = self.counts.mismatch.saturating_sub(matches);
        self.counts.matched += matches;
        matches
    }
}

fn take(classes: &mut ClassCounts, class: MismatchClass, count: u64) {
    if let Some(sum) = classes.get_mut(&class) {
        *sum = sum.saturating_sub(count);
        if *sum == 0 {
            classes.remove(&class);
        }
    }
}

/// The classes of mismatches that have lost a group. The class of an exchange is that of its gravest group, which may be
/// the one that is gone. So what was found by a recheck is forgotten, but for noise: nothing of a set is less grave.
fn without_gravest(classes: &ClassCounts) -> ClassCounts {
    let mut without = ClassCounts::new();
    for (class, count) in classes {
        let class = match class {
            MismatchClass::Noise | MismatchClass::Transient => *class,
            _ => MismatchClass::Unconfirmed,
        };
        *without.entry(class).or_default() += count;
    }
    without
}

/// Most routes that are named in one [`CarriedRules`]; all are counted.
pub const MAX_NAMED: usize = 100;

/// What evidence has from earlier rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CarriedRules {
    /// The hash of those rules.
    pub rules_hash: String,
    /// Begin of the first interval that was counted under them.
    pub from: Timestamp,
    /// End of the last one.
    pub to: Timestamp,
    /// Routes whose counts are carried over; none if all begin anew.
    pub routes: u64,
    /// Requests received on them.
    pub requests: u64,
    /// Those of them that were compared. Absent in documents of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<u64>,
    /// Mismatches on them that became matches.
    pub matches: u64,
    /// Among these routes, those whose mismatches were decided again; a hundred at most.
    pub decided_again: Vec<DecidedAgain>,
    /// Routes that start anew.
    pub routes_anew: u64,
    /// Requests received on those, which are not counted.
    pub requests_anew: u64,
    /// Rules that have expired since. Then it is about the present rules: what they still excused does not count any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expired: Vec<ExpiredRule>,
    /// Some of these routes, and why; a hundred at most. Those come first of which nothing was received since.
    pub anew: Vec<StartedAnew>,
}

impl CarriedRules {
    /// Whether the counts of a route are carried over from these rules, as far as that is told.
    pub fn keeps(&self, route: &str) -> bool {
        self.expired.is_empty()
            && self.routes > 0
            && !self.anew.iter().any(|anew| anew.route == route)
    }

    /// Counts a route that is carried over, with what was decided again there.
    pub fn keep(&mut self, counts: &Counts, again: Option<DecidedAgain>) {
        self.routes += 1;
        self.requests += counts.received;
        self.compared = Some(self.compared.unwrap_or(0) + counts.compared());
        if let Some(again) = again {
            self.matches += again.matches;
            if self.decided_again.len() < MAX_NAMED {
                self.decided_again.push(again);
            }
        }
    }

    /// Counts a route that starts anew, and of which so much is not counted.
    pub fn begin_anew(&mut self, route: String, counts: &Counts, why: String) {
        self.routes_anew += 1;
        self.requests_anew += counts.received;
        self.anew.push(StartedAnew {
            route,
            why,
            unserved: is_unserved(counts),
            never_compared: counts.compared() == 0,
        });
    }

    /// Whether comparisons are counted that were made under these rules.
    pub fn has_comparisons(&self) -> bool {
        self.compared
            .map_or(self.routes > 0, |compared| compared > 0)
    }

    /// Keeps the names of a hundred of the routes that start anew: first those that must still come.
    pub fn name(&mut self, has_come: impl Fn(&str) -> bool) {
        let is_settled = |anew: &StartedAnew| !anew.is_missed() || has_come(&anew.route);
        self.anew.sort_by_cached_key(|anew| is_settled(anew));
        self.anew.truncate(MAX_NAMED);
    }
}

/// A rule that has expired.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpiredRule {
    /// Its id.
    pub id: String,
    /// When it expired.
    pub expires: Timestamp,
    /// Only the configuration of who asked says so; the mirror that counted had another date, or none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_reader: bool,
}

/// A route whose mismatches were decided again by the present rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecidedAgain {
    /// `METHOD /template`.
    pub route: String,
    /// Mismatches that became matches.
    pub matches: u64,
    /// Groups that the present rules excuse, by fingerprint.
    pub fingerprints: BTreeSet<String>,
    /// The sets of groups that had some of these, as they were counted: a history still has them so. Only where the evidence was
    /// read, and in no document.
    #[serde(skip)]
    pub sets: Vec<SetEvidence>,
}

/// A route whose count under earlier rules is not used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StartedAnew {
    /// `METHOD /template`.
    pub route: String,
    /// In one sentence without a full stop.
    pub why: String,
    /// It was asked for a few times, and never got more than a client error: a path that is not served.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unserved: bool,
    /// Nothing of it was compared: no verdict is lost, and that none comes says nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub never_compared: bool,
}

impl StartedAnew {
    /// Whether its evidence is missed until it comes again.
    pub const fn is_missed(&self) -> bool {
        !self.unserved && !self.never_compared
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Group;

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn set(fingerprints: &[&str], classes: &[(MismatchClass, u64)]) -> SetEvidence {
        SetEvidence {
            route: "GET /a".to_owned(),
            fingerprints: fingerprints.iter().map(|name| (*name).to_owned()).collect(),
            classes: classes.iter().copied().collect(),
            never_asked: 0,
        }
    }

    #[test]
    fn what_is_excused_becomes_a_match_and_what_is_left_stays_a_mismatch() {
        use MismatchClass::{Confirmed, Noise, Unconfirmed};
        let group = |name: &str| GroupEvidence {
            last_seen: crate::time::Timestamp::default(),
            route: "GET /a".to_owned(),
            group: Group {
                fingerprint: name.to_owned(),
                ..Group::default()
            },
            count: 1,
            classes: ClassCounts::new(),
            evidence: BTreeMap::new(),
        };
        let mut counted = RouteCounted {
            counts: Counts {
                received: 20,
                matched: 8,
                mismatch: 12,
                classes: [(Confirmed, 7), (Noise, 3), (Unconfirmed, 2)].into(),
                ..Counts::default()
            },
            groups: ["a", "b"].map(group).to_vec(),
            sets: vec![
                set(&["a"], &[(Confirmed, 4), (Unconfirmed, 2)]),
                set(&["a", "b"], &[(Confirmed, 2), (Noise, 3)]),
                set(&["b"], &[(Confirmed, 1)]),
            ],
            ..RouteCounted::default()
        };
        assert_eq!(counted.excuse(&names(&["a"])), 6);
        let counts = &counted.counts;
        assert_eq!(
            (counts.matched, counts.mismatch, counts.settled()),
            (14, 6, 20)
        );
        // Of two that were confirmed it is not known whether the group that is left was.
        let expected: ClassCounts = [(Confirmed, 1), (Noise, 3), (Unconfirmed, 2)].into();
        assert_eq!(counts.classes, expected);
        assert_eq!(counted.groups.len(), 1);
        let sets: Vec<_> = counted
            .sets
            .iter()
            .map(|set| &set.fingerprints[..])
            .collect();
        assert_eq!(sets, [["b"], ["b"]]);
        assert_eq!(counted.excuse(&names(&["c"])), 0);
    }
}
