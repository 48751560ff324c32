//! The parts of a history that follow from its sums: one that has nothing, a route, the groups that were asked for, quantiles.

use std::collections::{BTreeMap, HashMap, HashSet};

use parity_schemas::histogram::Histogram;
use parity_schemas::history::{GroupHistory, HISTORY_SCHEMA, History, RouteHistory};

use super::cell::Cell;
use super::{HistoryFilter, MAX_GROUPS};

/// The quantiles of a bucket.
const QUANTILES: [(&str, f64); 2] = [("p50", 0.5), ("p99", 0.99)];

/// The history of a selection that has nothing.
pub(in crate::read) fn nothing(filter: &HistoryFilter) -> History {
    let selection = &filter.selection;
    History {
        schema: HISTORY_SCHEMA.to_owned(),
        migration: selection.migration().to_owned(),
        legacy_version: selection.legacy_version.clone(),
        candidate_version: selection.candidate_version.clone(),
        route: filter.route.clone(),
        window: None,
        bucket_seconds: 0,
        buckets: Vec::new(),
        onset: None,
        without_excused: filter.excused.is_some(),
        as_recorded: Vec::new(),
        with_latency: false,
        of_candidate: None,
        identities: Vec::new(),
        marks: Vec::new(),
        outages: Vec::new(),
        candidate_errors: Vec::new(),
        client_outages: Vec::new(),
        client_errors: Vec::new(),
        slow: Vec::new(),
        unrecorded: None,
        news: Vec::new(),
        routes: Vec::new(),
        routes_left_out: 0,
        groups: of_groups(HashMap::new(), &filter.fingerprints, 0),
    }
}

pub(super) fn of_route(route: String, cells: &BTreeMap<u32, Cell>, places: usize) -> RouteHistory {
    let mut all = Cell::default();
    let mut compared = vec![0; places];
    let mut differing = vec![0; places];
    let mut failures = vec![0; places];
    for (place, cell) in cells {
        all.add(cell);
        let at = *place as usize;
        if let (Some(compared), Some(differing)) = (compared.get_mut(at), differing.get_mut(at)) {
            *compared = cell.compared();
            *differing = cell.differing();
        }
        if let Some(failures) = failures.get_mut(at) {
            *failures = cell.candidate_failures;
        }
    }
    RouteHistory {
        route,
        received: all.received,
        compared: all.compared(),
        differing: all.differing(),
        onset: None,
        compared_by_bucket: compared,
        differing_by_bucket: differing,
        candidate_failures_by_bucket: failures,
    }
}

/// The groups that were asked for, each once, also those that were not seen.
pub(super) fn of_groups(
    mut found: HashMap<String, GroupHistory>,
    asked: &[String],
    places: usize,
) -> Vec<GroupHistory> {
    let mut told = HashSet::new();
    let asked = asked.iter().take(MAX_GROUPS);
    asked
        .filter(|name| told.insert(name.as_str()))
        .map(|name| {
            let mut group = found.remove(name).unwrap_or_default();
            name.clone_into(&mut group.fingerprint);
            group.count_by_bucket.resize(places, 0);
            group
        })
        .collect()
}

pub(super) fn quantiles(times: &Histogram) -> BTreeMap<String, u64> {
    let found = QUANTILES.iter().filter_map(|(name, q)| {
        let time = times.quantile(*q)?;
        Some(((*name).to_owned(), time))
    });
    found.collect()
}
