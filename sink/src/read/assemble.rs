//! Builds evidence and reports from rows: the one place where counts are added up and lists are sorted.
//!
//! It takes one row at a time and holds only sums, so memory grows with routes and groups, not with the length of the
//! window.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use parity_schemas::attributes::{AttributeCounts, add_attributes};
use parity_schemas::evidence::carried::{CarriedRules, ExpiredRule, Fate, MAX_NAMED, RouteCounted};
use parity_schemas::evidence::{
    Evidence, LeftOut, LeftOutSpan, OtherRules, RecentCounts, RouteEvidence, Window,
};
use parity_schemas::field_share::FieldShare;
use parity_schemas::histogram::Histogram;
use parity_schemas::noise::Excused;
use parity_schemas::recheck::complete_classes;
use parity_schemas::report::{REPORT_SCHEMA, Report, RouteReport, RuleHits};
use parity_schemas::tally::{Counts, Identity, Tally};
use parity_schemas::targets::TargetEvidence;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Standing;
use uuid::Uuid;

use super::Selection;
use super::charged::Charged;
use super::groups::{ExampleRow, Groups};
use super::others;
use super::runs::RunWatermarks;
use super::sets::SetSums;
use crate::error::StoreError;
use crate::remembered::Weighed;

/// The quantiles of a report.
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

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

fn by_route(routes: BTreeMap<String, RouteSums>) -> Vec<RouteEvidence> {
    let counts = |(route, sums): (String, RouteSums)| RouteEvidence {
        route,
        counts: sums.counts,
        targets: sums.targets,
        legacy_head_latency: sums.legacy_head_latency,
        candidate_head_latency: sums.candidate_head_latency,
    };
    routes.into_iter().map(counts).collect()
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

    /// Takes out what is not known to hold without the rules that have expired. These are the present rules, of this hash.
    pub(super) fn expire(
        &mut self,
        rules_hash: &str,
        counted: Vec<RouteCounted>,
        fates: Vec<Fate>,
        expired: Vec<ExpiredRule>,
    ) {
        let Some(window) = self.window else {
            return;
        };
        let mut carried = CarriedRules {
            rules_hash: rules_hash.to_owned(),
            from: window.from,
            to: window.to,
            expired,
            ..CarriedRules::default()
        };
        for (counted, fate) in counted.into_iter().zip(fates) {
            if let Fate::Anew(why) = fate {
                self.routes.remove(&counted.route);
                self.groups.remove(&counted.route);
                self.sets.remove(&counted.route);
                carried.begin_anew(counted.route, &counted.counts, why);
            } else {
                let none = BTreeSet::new();
                carried.keep(&counted.route, &counted.counts, 0, &none);
            }
        }
        if carried.routes_anew > 0 {
            self.carried.push(carried);
        }
    }

    /// What they have from earlier rules. Of the routes that begin anew those are named first of which nothing is here.
    fn take_carried(&mut self) -> Vec<CarriedRules> {
        let mut all = std::mem::take(&mut self.carried);
        for carried in &mut all {
            carried.name(|route| {
                let sums = self.routes.get(route);
                sums.is_some_and(|sums| sums.counts.compared() > 0)
            });
        }
        all
    }

    /// Routes that were compared outside, and not in what is counted.
    fn take_only_left_out(&mut self) -> Vec<String> {
        let is_compared = |route: &str| {
            let sums = self.routes.get(route);
            sums.is_some_and(|sums| sums.counts.compared() > 0)
        };
        let mut outside = std::mem::take(&mut self.outside);
        outside.retain(|route| !is_compared(route));
        outside.truncate(MAX_NAMED);
        outside
    }

    /// Adds nothing of what `earlier` has, counted under the rules of this hash, and keeps which routes begin anew by that.
    pub(super) fn begin_anew(&mut self, rules_hash: &str, earlier: &Self, why: String) {
        if let Some(window) = earlier.window {
            let mut carried = CarriedRules {
                rules_hash: rules_hash.to_owned(),
                from: window.from,
                to: window.to,
                ..CarriedRules::default()
            };
            for (route, sums) in &earlier.routes {
                carried.begin_anew(route.clone(), &sums.counts, why.clone());
            }
            self.carried.push(carried);
        }
        self.not_carried.insert(rules_hash.to_owned(), why);
    }

    /// Adds what `earlier`, counted under the rules of this hash, has of the routes that do not start anew. If all do,
    /// nothing is added but that.
    pub(super) fn carry(
        &mut self,
        rules_hash: &str,
        mut earlier: Self,
        counted: Vec<RouteCounted>,
        fates: Vec<Fate>,
    ) {
        let Some(window) = earlier.window else {
            return;
        };
        let mut carried = CarriedRules {
            rules_hash: rules_hash.to_owned(),
            from: window.from,
            to: window.to,
            ..CarriedRules::default()
        };
        for (mut counted, fate) in counted.into_iter().zip(fates) {
            let excused = match fate {
                Fate::Anew(why) => {
                    carried.begin_anew(counted.route, &counted.counts, why);
                    continue;
                }
                Fate::Untouched => BTreeSet::new(),
                Fate::Excused(excused) => excused,
            };
            let matches = counted.excuse(&excused);
            carried.keep(&counted.route, &counted.counts, matches, &excused);
            let sums = self.routes.entry(counted.route.clone()).or_default();
            sums.add(earlier.routes.remove(&counted.route).unwrap_or_default());
            // Of these counts some may have been decided again.
            sums.counts.merge(&counted.counts);
            for set in counted.sets {
                self.sets.carry(set);
            }
            let still = |name: &str| !excused.contains(name);
            self.groups
                .carry(&counted.route, &mut earlier.groups, still);
        }
        if carried.routes == 0 {
            let why = carried.anew.first();
            let why = why.map_or_else(String::new, |first| {
                format!("{}: {}", first.route, first.why)
            });
            self.not_carried.insert(rules_hash.to_owned(), why);
            self.carried.push(carried);
            return;
        }
        // The window stays that of the present rules: a decision may demand a duration, and not all routes have more.
        self.window.get_or_insert(Window {
            from: window.to,
            to: window.to,
        });
        self.instances.extend(earlier.instances);
        for (own, more) in self.left_out.iter_mut().zip(&earlier.left_out) {
            own.received += more.received;
            own.compared += more.compared;
            own.differing += more.differing;
        }
        self.carried.push(carried);
    }

    /// What there is under other rules and is not counted.
    fn other_rules(&self, runs_seen: &RunWatermarks, identity: &Identity) -> Vec<OtherRules> {
        let mut others = others::by_rules(&runs_seen.others, identity);
        others.retain(|other| {
            let mut carried = self.carried.iter();
            !carried.any(|carried| carried.routes > 0 && carried.rules_hash == other.rules_hash)
        });
        for other in &mut others {
            other.why = self.not_carried.get(&other.rules_hash).cloned();
        }
        others
    }

    /// What these rows hold of a span that is left out of others.
    pub(super) fn into_left_out(self, span: LeftOutSpan) -> LeftOut {
        let counts = self.total();
        LeftOut {
            span,
            received: counts.received,
            compared: counts.compared(),
            differing: counts.differing(),
        }
    }

    /// All routes added up.
    fn total(&self) -> Counts {
        let mut counts = Counts::default();
        for sums in self.routes.values() {
            counts.merge(&sums.counts);
        }
        counts
    }

    /// The evidence; `None` without any row or run. With runs that have counted nothing yet, it is empty.
    pub(super) fn into_evidence(
        mut self,
        identity: Identity,
        runs_seen: RunWatermarks,
    ) -> Option<Evidence> {
        let other_rules = self.other_rules(&runs_seen, &identity);
        let carried = self.take_carried();
        let only_left_out = self.take_only_left_out();
        let runs = runs_seen.into_runs(
            &identity,
            self.runs,
            self.window.map(|window| window.from),
            &carried,
        );
        let begins = runs.iter().filter_map(|run| run.watermark.as_ref());
        let begins = begins.map(|watermark| watermark.started).min();
        let empty = begins.map(|begins| Window {
            from: begins,
            to: begins,
        });
        Some(Evidence {
            identity,
            window: self.window.or(empty).or(LeftOut::window(&self.left_out))?,
            instances: self.instances.into_iter().collect(),
            runs,
            carried,
            other_rules,
            routes: by_route(self.routes),
            groups: self.groups.into_evidence(self.window),
            sets: self.sets.into_evidence(),
            left_out: self.left_out,
            only_left_out,
            recent: self.recent,
        })
    }

    /// Which time they cover.
    pub(super) const fn window(&self) -> Option<Window> {
        self.window
    }

    /// What was counted since the begin of a slice of time, which is the one of this number.
    pub(super) fn into_recent(self, from: Timestamp, number: u64) -> RecentCounts {
        RecentCounts {
            from,
            number,
            routes: by_route(self.routes),
            groups: self.groups.into_evidence(self.window),
            sets: self.sets.into_evidence(),
        }
    }

    /// Only the counts, and which time they cover.
    pub(super) fn into_counted(self) -> (Option<Window>, Vec<RouteEvidence>) {
        (self.window, by_route(self.routes))
    }

    /// The report; `example` fetches a mismatch by its id.
    pub(super) fn into_report(
        mut self,
        identity: Identity,
        runs_seen: RunWatermarks,
        example: impl FnMut(Uuid) -> Result<Option<Rc<ExampleRow>>, StoreError>,
    ) -> Result<Report, StoreError> {
        let counts = self.total();
        let mut targets = TargetEvidence::default();
        for sums in self.routes.values() {
            targets.merge(&sums.targets);
        }
        let other_rules = self.other_rules(&runs_seen, &identity);
        let carried = self.take_carried();
        let only_left_out = self.take_only_left_out();
        let runs = runs_seen.into_runs(
            &identity,
            self.runs,
            self.window.map(|window| window.from),
            &carried,
        );
        let standing = Standing::at_a_glance(&runs, Timestamp::now());
        let groups = self.groups.into_reports(self.window, example)?;
        let mut hits: BTreeMap<String, u64> = BTreeMap::new();
        for (rule, count) in self.routes.values().flat_map(|sums| &sums.rule_hits) {
            *hits.entry(rule.clone()).or_default() += count;
        }
        let mut rules: Vec<RuleHits> = hits
            .into_iter()
            .map(|(id, hits)| RuleHits { id, hits })
            .collect();
        // The sort is stable, and they are already sorted by id.
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.hits));
        Ok(Report {
            schema: REPORT_SCHEMA.to_owned(),
            migration: identity.migration,
            legacy_version: identity.legacy_version,
            candidate_version: identity.candidate_version,
            rules_hash: identity.rules_hash,
            window: self.window,
            instances: self.instances.into_iter().collect(),
            complete_until: standing.complete_until,
            watermarks: standing.watermarks,
            carried,
            other_rules,
            left_out: self.left_out,
            only_left_out,
            compared: counts.compared(),
            differing: counts.differing(),
            distinct_targets: targets.distinct(),
            most_frequent_share: targets.most_frequent_share(),
            excused: Excused::default(),
            counts,
            routes: routes(self.routes),
            // Which groups count is not known before a decision.
            causes: Vec::new(),
            groups,
            sets: self.sets.into_evidence(),
            noise: Vec::new(),
            known: Vec::new(),
            rules,
            idle_rules: Vec::new(),
            recent: self.recent,
        })
    }
}

/// The report of a selection that matches nothing.
pub(super) fn nothing(selection: &Selection) -> Result<Report, StoreError> {
    let identity = Identity {
        migration: selection.migration().to_owned(),
        legacy_version: selection.legacy_version.clone().unwrap_or_default(),
        candidate_version: selection.candidate_version.clone().unwrap_or_default(),
        rules_hash: String::new(),
    };
    Sums::default().into_report(identity, RunWatermarks::default(), |_| Ok(None))
}

fn routes(sums: BTreeMap<String, RouteSums>) -> Vec<RouteReport> {
    let mut routes: Vec<RouteReport> = sums
        .into_iter()
        .map(|(route, sums)| RouteReport {
            route,
            compared: sums.counts.compared(),
            differing: sums.counts.differing(),
            distinct_targets: sums.targets.distinct(),
            most_frequent_share: sums.targets.most_frequent_share(),
            targets: sums.targets,
            excused: Excused::default(),
            fields_left: FieldShare::of(&sums.counts.fields).map(|share| share.left),
            counts: sums.counts,
            legacy_us: quantiles(&sums.legacy_latency),
            candidate_us: quantiles(&sums.candidate_latency),
            legacy_head_us: quantiles(&sums.legacy_head_latency),
            candidate_head_us: quantiles(&sums.candidate_head_latency),
            attributes: sums.attributes,
        })
        .collect();
    // The sort is stable, and they are already sorted by name.
    routes
        .sort_by_key(|route| std::cmp::Reverse((route.counts.differing(), route.counts.received)));
    routes
}

fn quantiles(histogram: &Histogram) -> BTreeMap<String, u64> {
    QUANTILES
        .iter()
        .filter_map(|(name, q)| Some(((*name).to_owned(), histogram.quantile(*q)?)))
        .collect()
}
