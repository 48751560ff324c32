//! The documents that are made of sums: evidence, reports, and what is told of a part of the time.

use std::collections::BTreeMap;
use std::rc::Rc;

use parity_schemas::evidence::carried::CarriedRules;
use parity_schemas::evidence::{
    Evidence, LeftOut, LeftOutSpan, OtherRules, RecentCounts, RouteEvidence, Window,
};
use parity_schemas::field_share::FieldShare;
use parity_schemas::histogram::Histogram;
use parity_schemas::noise::Excused;
use parity_schemas::report::{REPORT_SCHEMA, Report, RouteReport, RuleHits};
use parity_schemas::tally::{Counts, Identity};
use parity_schemas::targets::TargetEvidence;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{Run, Standing};
use uuid::Uuid;

use super::{RouteSums, Sums};
use crate::error::StoreError;
use crate::read::groups::ExampleRow;
use crate::read::runs::RunWatermarks;
use crate::read::{Selection, others};

/// The quantiles of a report.
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

/// Beside the counts: what there is of other rules, and the runs that counted.
struct Beside {
    other_rules: Vec<OtherRules>,
    carried: Vec<CarriedRules>,
    only_left_out: Vec<String>,
    runs: Vec<Run>,
}

impl Sums {
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
    pub(in crate::read) fn into_left_out(self, span: LeftOutSpan) -> LeftOut {
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

    /// What evidence and reports tell beside what was counted.
    fn beside(&mut self, identity: &Identity, runs_seen: RunWatermarks) -> Beside {
        let other_rules = self.other_rules(&runs_seen, identity);
        let carried = self.take_carried();
        let counted = std::mem::take(&mut self.runs);
        let from = self.window.map(|window| window.from);
        let mut runs = runs_seen.into_runs(identity, counted, from, &carried);
        for run in &mut runs {
            run.lacks_tallies |= self.are_contradicted;
        }
        Beside {
            other_rules,
            only_left_out: self.take_only_left_out(),
            runs,
            carried,
        }
    }

    /// The evidence; `None` without any row or run. With runs that have counted nothing yet, it is empty.
    pub(in crate::read) fn into_evidence(
        mut self,
        identity: Identity,
        runs_seen: RunWatermarks,
    ) -> Option<Evidence> {
        let Beside {
            other_rules,
            carried,
            only_left_out,
            runs,
        } = self.beside(&identity, runs_seen);
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
    pub(in crate::read) const fn window(&self) -> Option<Window> {
        self.window
    }

    /// What was counted since the begin of a slice of time, which is the one of this number.
    pub(in crate::read) fn into_recent(self, from: Timestamp, number: u64) -> RecentCounts {
        RecentCounts {
            from,
            number,
            routes: by_route(self.routes),
            groups: self.groups.into_evidence(self.window),
            sets: self.sets.into_evidence(),
        }
    }

    /// Only the counts, and which time they cover.
    pub(in crate::read) fn into_counted(self) -> (Option<Window>, Vec<RouteEvidence>) {
        (self.window, by_route(self.routes))
    }

    /// The report; `example` fetches a mismatch by its id.
    pub(in crate::read) fn into_report(
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
        let Beside {
            other_rules,
            carried,
            only_left_out,
            runs,
        } = self.beside(&identity, runs_seen);
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
pub(in crate::read) fn nothing(selection: &Selection) -> Result<Report, StoreError> {
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
