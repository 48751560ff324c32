//! Builds evidence and reports from rows: the one place where counts are added up and lists are sorted.
//!
//! It takes one row at a time and holds only sums, so memory grows with routes and groups, not with the length of the
//! window.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use parity_schemas::evidence::{Evidence, RouteEvidence, Window};
use parity_schemas::histogram::Histogram;
use parity_schemas::report::{REPORT_SCHEMA, Report, RouteReport, RuleHits};
use parity_schemas::tally::{Counts, Identity};
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{Run, Standing, Watermark};
use uuid::Uuid;

use super::Selection;
use super::causes::causes;
use super::groups::{ExampleRow, Groups};
use super::others::{self, OtherRun, Starts};
use crate::error::StoreError;

/// The quantiles of a report.
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

/// The counts of one tally.
pub(super) struct CountsRow<'a> {
    pub(super) instance: &'a str,
    /// Nil in tallies of programs without runs.
    pub(super) run: Uuid,
    pub(super) interval_start: Timestamp,
    pub(super) interval_us: i64,
    pub(super) route: &'a str,
    pub(super) counts: Counts,
}

/// What a report needs of a tally besides its counts.
pub(super) struct DetailsRow {
    pub(super) rule_hits: BTreeMap<String, u64>,
    pub(super) legacy_latency: Histogram,
    pub(super) candidate_latency: Histogram,
    pub(super) legacy_head_latency: Histogram,
    pub(super) candidate_head_latency: Histogram,
}

/// The tallies of runs whose watermark is older than this are not verified: no row takes a week to arrive, and
/// retention may remove rows of that age at any time, in some tables before others.
pub(super) const VERIFIED_MICROS: i64 = 7 * 24 * 60 * 60 * 1_000_000;

/// The tallies of one run in a store: sums for closed intervals, and one by one for the open interval.
#[derive(Default)]
pub(super) struct StoredTallies {
    pub(super) tallies: u64,
    pub(super) received: u64,
    pub(super) settled: u64,
    /// Revision by id.
    pub(super) open: HashMap<String, u32>,
}

impl StoredTallies {
    /// Whether tallies of the watermark are missing, because they are late or lost.
    pub(super) fn lacks(&self, watermark: &Watermark) -> bool {
        self.tallies < watermark.tallies
            || self.received < watermark.received
            || self.settled < watermark.settled
            || watermark.open.iter().any(|tally| {
                self.open
                    .get(&tally.id.to_string())
                    .is_none_or(|revision| *revision < tally.revision)
            })
    }
}

/// The latest watermarks of the runs of one identity.
#[derive(Default)]
pub(super) struct RunWatermarks {
    /// Each with whether tallies that it lists are missing.
    pub(super) watermarks: Vec<(Watermark, bool)>,
    /// When the runs of each instance of the migration began, of any identity.
    pub(super) starts: Starts,
    /// Runs that count under other rules, or for other versions that the selection does not exclude.
    pub(super) others: Vec<OtherRun>,
}

impl RunWatermarks {
    /// All runs: those with a watermark, those with tallies only (given with the end of the last one), and those that
    /// receive traffic for another identity. `from` is when the first tally began.
    fn into_runs(
        self,
        identity: &Identity,
        mut counted: BTreeMap<(String, Uuid), Timestamp>,
        from: Option<Timestamp>,
    ) -> Vec<Run> {
        let starts = self.starts;
        let later = |instance: &str, than: Timestamp| starts.after(instance, than);
        let mut runs: Vec<Run> = self
            .watermarks
            .into_iter()
            .map(|(watermark, lacks_tallies)| Run {
                instance: watermark.instance.clone(),
                last_tally: counted.remove(&(watermark.instance.clone(), watermark.id)),
                before_watermarks: false,
                lacks_tallies,
                succeeded: later(&watermark.instance, watermark.written),
                apart: None,
                watermark: Some(watermark),
            })
            .collect();
        runs.extend(counted.into_iter().map(|((instance, run), end)| Run {
            watermark: None,
            last_tally: Some(end),
            before_watermarks: run.is_nil(),
            lacks_tallies: false,
            succeeded: later(&instance, end),
            apart: None,
            instance,
        }));
        let begins = runs.iter().filter_map(|run| run.watermark.as_ref());
        let begins = begins.map(|watermark| watermark.started).min();
        if let Some(from) = from.or(begins) {
            // A clock may have been ahead when it began.
            let from = from.min(Timestamp::now());
            runs.extend(others::receiving(&self.others, identity, from));
        }
        runs.sort_by(|one, other| one.instance.cmp(&other.instance));
        runs
    }
}

/// Sums of rows.
#[derive(Default)]
pub(super) struct Sums {
    window: Option<Window>,
    instances: BTreeSet<String>,
    /// When the last tally of each instance and run ended.
    runs: BTreeMap<(String, Uuid), Timestamp>,
    routes: BTreeMap<String, RouteSums>,
    rules: BTreeMap<String, u64>,
    pub(super) groups: Groups,
}

#[derive(Default)]
struct RouteSums {
    counts: Counts,
    legacy_latency: Histogram,
    candidate_latency: Histogram,
    legacy_head_latency: Histogram,
    candidate_head_latency: Histogram,
}

impl Sums {
    pub(super) fn add_counts(&mut self, row: &CountsRow<'_>) {
        let to = row.interval_start.saturating_add_micros(row.interval_us);
        let window = self.window.get_or_insert(Window {
            from: row.interval_start,
            to,
        });
        window.from = window.from.min(row.interval_start);
        window.to = window.to.max(to);
        if !self.instances.contains(row.instance) {
            self.instances.insert(row.instance.to_owned());
        }
        match self.runs.get_mut(&(row.instance.to_owned(), row.run)) {
            Some(end) => *end = to.max(*end),
            None => {
                self.runs.insert((row.instance.to_owned(), row.run), to);
            }
        }
        self.route(row.route).counts.merge(&row.counts);
    }

    pub(super) fn add_details(&mut self, route: &str, row: DetailsRow) {
        let sums = self.route(route);
        sums.legacy_latency.merge(&row.legacy_latency);
        sums.candidate_latency.merge(&row.candidate_latency);
        sums.legacy_head_latency.merge(&row.legacy_head_latency);
        sums.candidate_head_latency
            .merge(&row.candidate_head_latency);
        for (rule, hits) in row.rule_hits {
            *self.rules.entry(rule).or_default() += hits;
        }
    }

    /// The evidence; `None` without any row or run. With runs that have counted nothing yet, it is empty.
    pub(super) fn into_evidence(
        self,
        identity: Identity,
        runs_seen: RunWatermarks,
    ) -> Option<Evidence> {
        let other_rules = others::by_rules(&runs_seen.others, &identity);
        let runs = runs_seen.into_runs(&identity, self.runs, self.window.map(|window| window.from));
        let begins = runs.iter().filter_map(|run| run.watermark.as_ref());
        let begins = begins.map(|watermark| watermark.started).min();
        let empty = begins.map(|begins| Window {
            from: begins,
            to: begins,
        });
        Some(Evidence {
            identity,
            window: self.window.or(empty)?,
            instances: self.instances.into_iter().collect(),
            runs,
            other_rules,
            routes: self
                .routes
                .into_iter()
                .map(|(route, sums)| RouteEvidence {
                    route,
                    counts: sums.counts,
                })
                .collect(),
        })
    }

    /// The report; `example` fetches a mismatch by its id.
    pub(super) fn into_report(
        self,
        identity: Identity,
        runs_seen: RunWatermarks,
        example: impl FnMut(Uuid) -> Result<Option<Rc<ExampleRow>>, StoreError>,
    ) -> Result<Report, StoreError> {
        let mut counts = Counts::default();
        for sums in self.routes.values() {
            counts.merge(&sums.counts);
        }
        let other_rules = others::by_rules(&runs_seen.others, &identity);
        let runs = runs_seen.into_runs(&identity, self.runs, self.window.map(|window| window.from));
        let standing = Standing::at_a_glance(&runs, Timestamp::now());
        let groups = self.groups.into_reports(example)?;
        let mut rules: Vec<RuleHits> = self
            .rules
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
            other_rules,
            compared: counts.compared(),
            differing: counts.differing(),
            counts,
            routes: routes(self.routes),
            causes: causes(&groups),
            groups,
            rules,
        })
    }

    fn route(&mut self, route: &str) -> &mut RouteSums {
        if !self.routes.contains_key(route) {
            self.routes.insert(route.to_owned(), RouteSums::default());
        }
        self.routes
            .get_mut(route)
            .expect("it was inserted if it was not there")
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
            counts: sums.counts,
            legacy_us: quantiles(&sums.legacy_latency),
            candidate_us: quantiles(&sums.candidate_latency),
            legacy_head_us: quantiles(&sums.legacy_head_latency),
            candidate_head_us: quantiles(&sums.candidate_head_latency),
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
