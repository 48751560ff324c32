//! How parity held over time: what of the counts does not count, and since when the services differ.
//!
//! The counts are the store's ([`parity_sink::read::history`]). What is noise or known is decided from a report, so that a
//! bucket counts what the report counts. A history is no evidence: no decision is made from it.

mod chart;
mod groups;
mod hour;
mod onset;

use std::collections::HashSet;

use parity_schemas::evidence::{Outcome, Thresholds};
use parity_schemas::history::{Compared, History};
use parity_schemas::noise::{NoiseState, NoiseUse};
use parity_schemas::report::Report;
use parity_schemas::time::Timestamp;
use parity_sink::read::history::{ExcusedSet, HistoryFilter, MAX_EXCUSED};
use parity_sink::{Reader, Selection, StoreError};

pub(crate) use chart::ChartView;
pub(crate) use groups::{DAY_MICROS, GroupTimes, SeenAt};

use self::hour::Hour;
use self::onset::onset;
use super::decided::{Decided, decided};
use crate::question::Question;

/// What is asked of a history.
#[derive(Clone, Debug, Default)]
pub struct HistoryQuestion {
    /// Which tallies, and what is allowed.
    pub question: Question,
    /// Only intervals that begin before this time.
    pub until: Option<Timestamp>,
    /// Only of this route.
    pub route: Option<String>,
    /// The groups that are told one by one.
    pub fingerprints: Vec<String>,
    /// Count also what is noise or known: what they are need not be read, which takes most of the time.
    pub count_excused: bool,
}

/// Reads the history that is asked for.
pub fn history(reader: &Reader, asked: &HistoryQuestion) -> Result<History, StoreError> {
    let question = &asked.question;
    let excused = if asked.count_excused {
        None
    } else {
        let decided = decided(reader, question)?;
        Some(excused_sets(&decided.report, question.thresholds.noise))
    };
    let filter = HistoryFilter {
        selection: question.selection.clone(),
        until: asked.until,
        route: asked.route.clone(),
        fingerprints: asked.fingerprints.clone(),
        excused,
    };
    read(reader, &filter, &question.thresholds)
}

/// The history to a report that is there: of its range, but of all versions and rules, so that what changed can be seen.
pub fn history_of(
    reader: &Reader,
    question: &Question,
    decided: &Decided,
) -> Result<History, StoreError> {
    let usage = question.thresholds.noise;
    let filter = HistoryFilter {
        selection: Selection {
            migration: question.selection.migration.clone(),
            since: question.selection.since,
            ..Selection::default()
        },
        excused: Some(excused_sets(&decided.report, usage)),
        ..HistoryFilter::default()
    };
    read(reader, &filter, &question.thresholds)
}

fn read(
    reader: &Reader,
    filter: &HistoryFilter,
    thresholds: &Thresholds,
) -> Result<History, StoreError> {
    let mut history = reader.history(filter)?;
    judge(&mut history, thresholds);
    Ok(history)
}

/// Says since when the services differ: on all routes together, and on each.
fn judge(history: &mut History, thresholds: &Thresholds) {
    let micros =
        i64::try_from(history.bucket_seconds.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
    let all = history.buckets.iter().map(|bucket| {
        let compared = Compared {
            compared: bucket.compared,
            differing: bucket.differing,
        };
        (bucket.from, compared)
    });
    let all: Vec<_> = all.collect();
    history.onset = Some(onset(&all, micros, thresholds));
    let Some(window) = history.window else {
        return;
    };
    for route in &mut history.routes {
        let counts = route
            .compared_by_bucket
            .iter()
            .zip(&route.differing_by_bucket);
        let buckets = counts.zip(0_i64..).map(|((compared, differing), place)| {
            let from = window
                .from
                .saturating_add_micros(place.saturating_mul(micros));
            let compared = Compared {
                compared: *compared,
                differing: *differing,
            };
            (from, compared)
        });
        let buckets: Vec<_> = buckets.collect();
        route.onset = Some(onset(&buckets, micros, thresholds));
    }
}

/// The sets of groups whose mismatches do not count in a report, the most frequent first.
fn excused_sets(report: &Report, usage: NoiseUse) -> Vec<ExcusedSet> {
    let known: HashSet<(&str, &str)> = report
        .known
        .iter()
        .flat_map(|entry| entry.groups.iter().filter(|group| entry.excuses(group)))
        .map(|group| (group.route.as_str(), group.group.fingerprint.as_str()))
        .collect();
    let proven = report
        .noise
        .iter()
        .filter(|group| usage == NoiseUse::Use && group.state == NoiseState::Proven);
    let noise: HashSet<(&str, &str)> = proven
        .map(|group| (group.route.as_str(), group.group.fingerprint.as_str()))
        .collect();
    let mut sets: Vec<(u64, ExcusedSet)> = report
        .sets
        .iter()
        .filter(|set| !set.fingerprints.is_empty())
        .filter_map(|set| {
            let mut names = set
                .fingerprints
                .iter()
                .map(|name| (set.route.as_str(), name.as_str()));
            let is_known = names.clone().all(|name| known.contains(&name));
            let is_excused = names.all(|name| known.contains(&name) || noise.contains(&name));
            is_excused.then(|| {
                let excused = ExcusedSet {
                    route: set.route.clone(),
                    fingerprints: set.fingerprints.clone(),
                    with_never_asked: is_known,
                };
                (set.classes.values().sum(), excused)
            })
        })
        .collect();
    sets.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    sets.truncate(MAX_EXCUSED);
    sets.into_iter().map(|(_, set)| set).collect()
}

/// Routes that are told of beside all together.
const MAX_ROUTES_TOLD: usize = 3;

/// Since when the services differ, in sentences: of all requests, and of the routes that fail. They are not made visible.
pub(crate) fn sentences(history: &History, decided: &Decided) -> Vec<String> {
    let hour = Hour::of(history);
    let mut told: Vec<String> = Vec::new();
    let all = history.onset.as_ref();
    told.extend(all.and_then(|all| onset::sentence(all, None, history, &hour)));
    let failing = decided.decision.routes.iter();
    let failing = failing.filter(|route| route.outcome == Outcome::Fail);
    let of_route = |name: &str| history.routes.iter().find(|route| route.route == name);
    let routes = failing.filter_map(|route| {
        let found = of_route(&route.route)?;
        onset::sentence(found.onset.as_ref()?, Some(&found.route), history, &hour)
    });
    told.extend(routes.take(MAX_ROUTES_TOLD));
    told
}
