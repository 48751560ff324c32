//! Builds evidence and reports from rows: the one place where counts are added up and lists are sorted.
//!
//! It takes one row at a time and holds only sums, so memory grows with routes and groups, not with the length of the
//! window.

mod carried;
mod document;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use parity_schemas::attributes::{AttributeCounts, add_attributes};
use parity_schemas::evidence::carried::{CarriedRules, RouteCounted};
use parity_schemas::evidence::{LeftOut, RecentCounts, Window};
use parity_schemas::histogram::Histogram;
use parity_schemas::recheck::complete_classes;
use parity_schemas::tally::{Counts, Tally};
use parity_schemas::targets::TargetEvidence;
use parity_schemas::time::Timestamp;
use uuid::Uuid;

pub(super) use self::document::nothing;
use super::charged::Charged;
use super::groups::Groups;
use super::sets::SetSums;
use crate::remembered::Weighed;

/// Sums of the rows of each table, with what they count together.
#[derive(Clone, Default)]
pub(crate) struct Added {
    pub(super) sums: Sums,
    pub(super) charged: [Charged; 3],
}

impl Weighed for Added {
    fn bytes(&self) -> usize {
        /// A route has four histograms, its targets and its attributes.
        const OF_ROUTE: usize = 16 << 10;
        /// A group has names, attributes, and how it is spread over days.
        const OF_GROUP: usize = 3 << 10;
        const OF_SET: usize = 512;
        self.sums.routes.len() * OF_ROUTE
            + self.sums.groups.len() * OF_GROUP
            + self.sums.sets.len() * OF_SET
    }
}

/// Sums of rows.
#[derive(Clone, Default)]
pub(super) struct Sums {
    window: Option<Window>,
    instances: BTreeSet<String>,
    /// When the last tally of each instance and run ended.
    runs: BTreeMap<(String, Uuid), Timestamp>,
    routes: BTreeMap<String, RouteSums>,
    /// Whether groups or sets count what their tallies do not.
    are_contradicted: bool,
    pub(super) groups: Groups,
    pub(super) sets: SetSums,
    /// What was left out on demand.
    pub(super) left_out: Vec<LeftOut>,
    /// Routes that were compared in it, or shortly before the begin that was asked for.
    pub(super) outside: Vec<String>,
    /// What they have from earlier rules, the newest first.
    carried: Vec<CarriedRules>,
    /// Why there is nothing from other rules, by their hash.
    pub(super) not_carried: HashMap<String, String>,
    /// What of them was counted last, if that is asked for.
    pub(super) recent: Vec<RecentCounts>,
}

#[derive(Clone, Default)]
struct RouteSums {
    counts: Counts,
    rule_hits: BTreeMap<String, u64>,
    targets: TargetEvidence,
    legacy_latency: Histogram,
    candidate_latency: Histogram,
    legacy_head_latency: Histogram,
    candidate_head_latency: Histogram,
    attributes: AttributeCounts,
}

impl RouteSums {
    /// Adds all but the outcomes.
    fn add(&mut self, other: Self) {
        for (rule, hits) in other.rule_hits {
            *self.rule_hits.entry(rule).or_default() += hits;
        }
        self.targets.merge(&other.targets);
        self.legacy_latency.merge(&other.legacy_latency);
        self.candidate_latency.merge(&other.candidate_latency);
        self.legacy_head_latency.merge(&other.legacy_head_latency);
        self.candidate_head_latency
            .merge(&other.candidate_head_latency);
        add_attributes(&mut self.attributes, &other.attributes);
    }
}

impl Sums {
    /// Adds the row of one tally, or of several that a store has added up. Columns that the store was not asked for are
    /// empty.
    pub(super) fn add(&mut self, mut tally: Tally) {
        let to = tally
            .interval_start
            .saturating_add_micros(tally.interval_us);
        let window = self.window.get_or_insert(Window {
            from: tally.interval_start,
            to,
        });
        window.from = window.from.min(tally.interval_start);
        window.to = window.to.max(to);
        if !self.instances.contains(&tally.instance) {
            self.instances.insert(tally.instance.clone());
        }
        let end = self.runs.entry((tally.instance, tally.run)).or_insert(to);
        *end = to.max(*end);
        tally.counts.classes = complete_classes(tally.counts.classes, tally.counts.mismatch);
        let sums = self.routes.entry(tally.route).or_default();
        sums.counts.merge(&tally.counts);
        for (rule, hits) in tally.rule_hits {
            *sums.rule_hits.entry(rule).or_default() += hits;
        }
        sums.targets.add(
            &tally.target_key,
            tally.counts.matched + tally.counts.mismatch,
            &tally.targets,
            &tally.frequent_targets,
        );
        add_attributes(&mut sums.attributes, &tally.attributes);
        sums.legacy_latency.merge(&tally.legacy_latency);
        sums.candidate_latency.merge(&tally.candidate_latency);
        sums.legacy_head_latency.merge(&tally.legacy_head_latency);
        sums.candidate_head_latency
            .merge(&tally.candidate_head_latency);
    }

    /// Each mismatch is counted at once, with its class: in its tally, in its set if that has a place, and in each of its groups, of which the
    /// gravest gives it its class. So no set and no group has more of a class than its route, and no set more than its groups. Where they do, somebody has edited the class in
    /// one of the tables, and nothing may be decided by it; where rows come in any order, they may also be late.
    pub(super) fn look_for_contradictions(&mut self) {
        self.are_contradicted |= self.routes.iter().any(|(route, sums)| {
            let classes = &sums.counts.classes;
            self.sets.have_more(route, classes)
                || self.groups.have_more(route, classes)
                || self
                    .sets
                    .of_route(route)
                    .iter()
                    .any(|set| self.groups.have_less(route, set))
        });
    }

    /// What was counted of each route, for who knows the rules.
    pub(super) fn counted(&self) -> Vec<RouteCounted> {
        let counted = self.routes.iter().map(|(route, sums)| RouteCounted {
            route: route.clone(),
            counts: sums.counts.clone(),
            rule_hits: sums.rule_hits.clone(),
            groups: self.groups.of_route(route),
            sets: self.sets.of_route(route),
        });
        counted.collect()
    }

    /// Removes all latencies: those of a part of the requests would be shown for those of all.
    pub(super) fn forget_latency(&mut self) {
        for sums in self.routes.values_mut() {
            sums.legacy_latency = Histogram::default();
            sums.candidate_latency = Histogram::default();
            sums.legacy_head_latency = Histogram::default();
            sums.candidate_head_latency = Histogram::default();
        }
    }

    /// When the last tally of each instance and run ended.
    pub(super) const fn runs(&self) -> &BTreeMap<(String, Uuid), Timestamp> {
        &self.runs
    }
}
