//! From rows to evidence and reports: the one place where counts are added up and lists are put in order.
//!
//! It sees one row at a time and holds sums only, so its memory grows with routes and groups, not with the length of
//! the window.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use parity_schemas::evidence::{Evidence, RouteEvidence, Window};
use parity_schemas::histogram::Histogram;
use parity_schemas::record::RecordedFinding;
use parity_schemas::report::{
    GroupExample, GroupReport, REPORT_SCHEMA, Report, RouteReport, RuleHits,
};
use parity_schemas::tally::{Counts, Group, GroupTally, Identity};
use parity_schemas::time::Timestamp;
use uuid::Uuid;

use super::Selection;
use crate::error::StoreError;
use crate::tally::{OTHER, other_group};

/// Groups that a report names; those beyond, in the order of their first interval, are added up as `_other`. Nobody
/// reads so many; they come from patterns that never repeat, and must not fill the memory of the reader.
const MAX_REPORT_GROUPS: usize = 10_000;
/// Mismatches that are tried as the example of a group: the newest may have been dropped before it was stored.
pub(super) const EXAMPLES_TRIED: usize = 4;
/// The quantiles of a report.
const QUANTILES: [(&str, f64); 2] = [("p50", 0.5), ("p99", 0.99)];

/// The counts of one tally.
pub(super) struct CountsRow<'a> {
    pub(super) instance: &'a str,
    pub(super) interval_start: Timestamp,
    pub(super) interval_us: i64,
    pub(super) route: &'a str,
    pub(super) counts: Counts,
}

/// What a report wants of a tally beyond its counts.
pub(super) struct DetailsRow {
    pub(super) rule_hits: BTreeMap<String, u64>,
    pub(super) legacy_latency: Histogram,
    pub(super) candidate_latency: Histogram,
}

/// What an example is made from.
pub(super) struct ExampleRow {
    pub(super) path: String,
    pub(super) query: String,
    pub(super) findings: Vec<RecordedFinding>,
}

/// Sums of rows.
#[derive(Default)]
pub(super) struct Sums {
    window: Option<Window>,
    instances: BTreeSet<String>,
    routes: BTreeMap<String, RouteSums>,
    rules: BTreeMap<String, u64>,
    groups: HashMap<String, HashMap<String, GroupSums>>,
    group_count: usize,
}

#[derive(Default)]
struct RouteSums {
    counts: Counts,
    legacy_latency: Histogram,
    candidate_latency: Histogram,
}

struct GroupSums {
    group: Group,
    count: u64,
    first_seen: Timestamp,
    last_seen: Timestamp,
    /// Newest first.
    examples: Vec<(Timestamp, Uuid)>,
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
        self.route(row.route).counts.merge(&row.counts);
    }

    pub(super) fn add_details(&mut self, route: &str, row: DetailsRow) {
        let sums = self.route(route);
        sums.legacy_latency.merge(&row.legacy_latency);
        sums.candidate_latency.merge(&row.candidate_latency);
        for (rule, hits) in row.rule_hits {
            *self.rules.entry(rule).or_default() += hits;
        }
    }

    pub(super) fn add_group(&mut self, row: GroupTally) {
        let route = row.route.as_str();
        let full = self.group_count >= MAX_REPORT_GROUPS;
        if !self.groups.contains_key(route) {
            self.groups.insert(route.to_owned(), HashMap::new());
        }
        let Some(groups) = self.groups.get_mut(route) else {
            return;
        };
        let group = if full && !groups.contains_key(&row.group.fingerprint) {
            other_group()
        } else {
            row.group
        };
        if let Some(sums) = groups.get_mut(&group.fingerprint) {
            sums.count += row.count;
            sums.first_seen = sums.first_seen.min(row.first_seen);
            sums.last_seen = sums.last_seen.max(row.last_seen);
            sums.add_example(row.last_seen, row.example_id);
            return;
        }
        self.group_count += 1;
        let fingerprint = group.fingerprint.clone();
        let sums = GroupSums {
            group,
            count: row.count,
            first_seen: row.first_seen,
            last_seen: row.last_seen,
            examples: vec![(row.last_seen, row.example_id)],
        };
        groups.insert(fingerprint, sums);
    }

    /// Mismatches that may be looked up as examples.
    pub(super) fn example_ids(&self) -> impl Iterator<Item = Uuid> + '_ {
        self.groups
            .values()
            .flat_map(HashMap::values)
            .flat_map(|sums| sums.examples.iter().map(|(_, id)| *id))
    }

    /// Groups, by route and fingerprint, none of whose examples is among those that were found.
    pub(super) fn groups_without(&self, found: impl Fn(&Uuid) -> bool) -> Vec<(&str, &str)> {
        self.groups
            .iter()
            .flat_map(|(route, groups)| {
                groups
                    .iter()
                    .filter(|(_, sums)| !sums.examples.iter().any(|(_, id)| found(id)))
                    .map(move |(fingerprint, _)| (route.as_str(), fingerprint.as_str()))
            })
            .collect()
    }

    /// More examples of a group that is known.
    pub(super) fn add_example(
        &mut self,
        route: &str,
        fingerprint: &str,
        seen: Timestamp,
        id: Uuid,
    ) {
        let group = self
            .groups
            .get_mut(route)
            .and_then(|groups| groups.get_mut(fingerprint));
        if let Some(sums) = group {
            sums.add_example(seen, id);
        }
    }

    /// The evidence; `None` without any row.
    pub(super) fn into_evidence(self, identity: Identity) -> Option<Evidence> {
        Some(Evidence {
            identity,
            window: self.window?,
            instances: self.instances.into_iter().collect(),
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

    /// The report; `example` looks a mismatch up.
    pub(super) fn into_report(
        self,
        identity: Identity,
        mut example: impl FnMut(Uuid) -> Result<Option<ExampleRow>, StoreError>,
    ) -> Result<Report, StoreError> {
        let mut counts = Counts::default();
        for sums in self.routes.values() {
            counts.merge(&sums.counts);
        }
        let mut groups = Vec::with_capacity(self.group_count);
        for (route, of_route) in self.groups {
            for sums in of_route.into_values() {
                groups.push(sums.into_report(&route, &mut example)?);
            }
        }
        groups.sort_unstable_by(|one, other| {
            (other.count, &one.route, &one.fingerprint).cmp(&(
                one.count,
                &other.route,
                &other.fingerprint,
            ))
        });
        let mut rules: Vec<RuleHits> = self
            .rules
            .into_iter()
            .map(|(id, hits)| RuleHits { id, hits })
            .collect();
        // Stable, and sorted by id before.
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.hits));
        Ok(Report {
            schema: REPORT_SCHEMA.to_owned(),
            migration: identity.migration,
            legacy_version: identity.legacy_version,
            candidate_version: identity.candidate_version,
            rules_hash: identity.rules_hash,
            window: self.window,
            instances: self.instances.into_iter().collect(),
            counts,
            routes: routes(self.routes),
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

/// The report of a selection that fits nothing.
pub(super) fn nothing(selection: &Selection) -> Result<Report, StoreError> {
    let identity = Identity {
        migration: selection.migration().to_owned(),
        legacy_version: selection.legacy_version.clone().unwrap_or_default(),
        candidate_version: selection.candidate_version.clone().unwrap_or_default(),
        rules_hash: String::new(),
    };
    Sums::default().into_report(identity, |_| Ok(None))
}

fn routes(sums: BTreeMap<String, RouteSums>) -> Vec<RouteReport> {
    let mut routes: Vec<RouteReport> = sums
        .into_iter()
        .map(|(route, sums)| RouteReport {
            route,
            counts: sums.counts,
            legacy_us: quantiles(&sums.legacy_latency),
            candidate_us: quantiles(&sums.candidate_latency),
        })
        .collect();
    // Stable, and sorted by name before.
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

impl GroupSums {
    /// Keeps the newest, each once.
    fn add_example(&mut self, seen: Timestamp, id: Uuid) {
        self.examples.push((seen, id));
        self.examples.sort_unstable_by(|one, other| other.cmp(one));
        self.examples.dedup();
        self.examples.truncate(EXAMPLES_TRIED);
    }

    fn into_report(
        self,
        route: &str,
        example: &mut impl FnMut(Uuid) -> Result<Option<ExampleRow>, StoreError>,
    ) -> Result<GroupReport, StoreError> {
        let mut example_id = self.examples.first().map_or(Uuid::nil(), |(_, id)| *id);
        let mut shown = None;
        for (_, id) in &self.examples {
            if let Some(row) = example(*id)? {
                example_id = *id;
                shown = example_of(&self.group, row);
                break;
            }
        }
        Ok(GroupReport {
            fingerprint: self.group.fingerprint,
            route: route.to_owned(),
            part: self.group.part,
            pattern: self.group.pattern,
            kind: self.group.kind,
            explanation: self.group.explanation,
            legacy_status: self.group.legacy_status,
            candidate_status: self.group.candidate_status,
            count: self.count,
            first_seen: self.first_seen,
            last_seen: self.last_seen,
            example_id,
            example: shown,
        })
    }
}

/// The finding of the group; of `_other`, which no finding names, the first.
fn example_of(group: &Group, row: ExampleRow) -> Option<GroupExample> {
    let finding = row
        .findings
        .into_iter()
        .find(|finding| group.fingerprint == OTHER || finding.fingerprint == group.fingerprint)?;
    let target = if row.query.is_empty() {
        row.path
    } else {
        format!("{}?{}", row.path, row.query)
    };
    Some(GroupExample {
        target,
        path: finding.path,
        candidate_path: finding.candidate_path,
        legacy: finding.legacy,
        candidate: finding.candidate,
        text_diff: finding.text_diff,
    })
}
