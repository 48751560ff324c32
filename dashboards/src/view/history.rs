//! How parity held over time: what of the counts does not count, and since when the services differ.
//!
//! The counts are the store's ([`parity_sink::read::history`]). What is noise or known is decided from a report, so that a
//! bucket counts what the report counts. A history is no evidence: no decision is made from it.

mod began;
mod changed;
mod chart;
mod groups;
mod hour;
mod marks;
mod news;
mod onset;
mod outages;
mod recorded;
mod shared;
mod witnessed;

use std::collections::{BTreeSet, HashSet};

use parity_schemas::evidence::{Outcome, Thresholds};
use parity_schemas::history::{GroupHistory, History};
use parity_schemas::noise::{NoiseState, NoiseUse};
use parity_schemas::report::Report;
use parity_schemas::time::Timestamp;
use parity_sink::read::history::{Buckets, ExcusedSet, HistoryFilter, MAX_EXCUSED};
use parity_sink::{Reader, Selection, StoreError};

pub(crate) use self::marks::{starts, switches};
pub(crate) use self::witnessed::witness;
pub(crate) use changed::{Change, Stretch};
pub(crate) use chart::ChartView;
pub(crate) use groups::{GroupTimes, SeenAt, a_day_ago};

use self::hour::Hour;
use self::onset::{Of, judge, look};
use self::shared::share;
use super::decided::{Decided, decided};
use super::words::plural;
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
    let decided = if asked.count_excused {
        None
    } else {
        Some(decided(reader, question)?)
    };
    let decided = decided.as_ref();
    let noise = question.thresholds.noise;
    let excused = decided.map(|decided| excused_sets(&decided.report, noise));
    let filter = HistoryFilter {
        selection: question.selection.clone(),
        until: asked.until,
        route: asked.route.clone(),
        fingerprints: asked.fingerprints.clone(),
        excused,
        ..HistoryFilter::default()
    };
    read(reader, &filter, decided, &question.thresholds)
}

/// The version that a report is of; `None` if it has nothing and names none. One that is named and of which nothing is recorded
/// yet has done nothing: what another one did is not told as its own.
fn version_of(decided: &Decided) -> Option<String> {
    let report = &decided.report;
    let is_known = report.window.is_some() || !report.candidate_version.is_empty();
    is_known.then(|| report.candidate_version.clone())
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
    read(reader, &filter, Some(decided), &question.thresholds)
}

/// Reads a history, and says since when the version of the candidate of a report differs; the newest one if it is not known which.
fn read(
    reader: &Reader,
    filter: &HistoryFilter,
    decided: Option<&Decided>,
    thresholds: &Thresholds,
) -> Result<History, StoreError> {
    let version = decided.and_then(version_of);
    let mut with_news = filter.clone();
    with_news
        .fingerprints
        .extend(decided.map(news::names).unwrap_or_default());
    let mut history = reader.history(&with_news)?;
    outages::of(reader, filter, &mut history)?;
    if let Some(decided) = decided {
        news::tell(&mut history, decided);
    }
    // What nobody asked for is not told.
    let is_asked = |group: &GroupHistory| filter.fingerprints.contains(&group.fingerprint);
    history.groups.retain(is_asked);
    let newest = history.identities.iter().max_by_key(|one| one.last);
    let version = version.or_else(|| newest.map(|newest| newest.candidate_version.clone()));
    let others = history.identities.iter();
    let has_others = version.as_ref().is_some_and(|version| {
        others
            .map(|one| &one.candidate_version)
            .any(|one| one != version)
    });
    if has_others {
        // In the same buckets, so that the two can be laid upon each other, and of the same time.
        let of_version = HistoryFilter {
            selection: Selection {
                candidate_version: version.clone(),
                ..filter.selection.clone()
            },
            buckets: Buckets::of(&history),
            fingerprints: Vec::new(),
            without_latency: true,
            ..filter.clone()
        };
        let mut alone = reader.history(&of_version)?;
        judge(&mut alone, thresholds);
        look(reader, &of_version, &mut alone, thresholds)?;
        history.of_candidate = version;
        lay_upon(&mut history, alone);
    } else {
        judge(&mut history, thresholds);
        look(reader, filter, &mut history, thresholds)?;
    }
    let migration = filter.selection.migration();
    let runs = reader.run_times(migration)?;
    if let Some(window) = history.window {
        let now = Timestamp::now();
        history.unrecorded = recorded::unrecorded(&runs, window, now);
        let seen = reader.seen(migration, window.from)?;
        witnessed::recorded(&mut history, &seen, now);
    }
    marks::of_people(reader, filter, &runs, &mut history)?;
    Ok(history)
}

/// Takes over what is of one version alone: since when it differs, its routes, and its part of what it shares with others. A rate of
/// several versions is that of none of them.
fn lay_upon(history: &mut History, alone: History) {
    share(history, &alone);
    history.onset = alone.onset;
    history.routes = alone.routes;
    history.routes_left_out = alone.routes_left_out;
}

/// The sets of groups whose mismatches do not count in a report, the most frequent first. What the present rules excuse of earlier
/// ones is in the tallies as it was counted then.
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
    let none = BTreeSet::new();
    let counted = report.sets.iter().map(|set| (set, &none));
    let again = report.carried.iter().flat_map(|rules| &rules.decided_again);
    let again = again.flat_map(|route| route.sets.iter().map(|set| (set, &route.fingerprints)));
    let mut sets: Vec<(u64, ExcusedSet)> = counted
        .chain(again)
        .filter(|(set, _)| !set.fingerprints.is_empty())
        .filter_map(|(set, by_rules)| {
            let left = set.fingerprints.iter();
            let mut names = left
                .filter(|name| !by_rules.contains(*name))
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
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// The sentences, each with the route that it is of.
    pub(crate) sentences: Vec<(String, Option<String>)>,
    /// How many more routes there would be something to say of.
    pub(crate) more: usize,
}

impl Told {
    /// In words, how many more routes differ.
    pub(crate) fn others(&self) -> Option<String> {
        (self.more > 0).then(|| {
            let routes = plural(self.more as u64, "more route", "more routes");
            format!("and {routes} that fail")
        })
    }
}

/// What is told of a history.
pub(crate) fn sentences(history: &History, decided: &Decided) -> Told {
    let hour = Hour::of(history);
    let version = decided.report.candidate_version.as_str();
    let mut versions = history.identities.iter();
    let has_others = versions.any(|one| one.candidate_version != version);
    let of = |route| Of {
        route,
        version: has_others.then_some(version),
    };
    let mut told: Vec<(String, Option<String>)> = Vec::new();
    let all = history.onset.as_ref();
    let all = all.and_then(|all| onset::sentence(all, &of(None), history, &hour));
    told.extend(all.map(|all| (all, None)));
    let failing = decided.decision.routes.iter();
    let failing = failing.filter(|route| route.outcome == Outcome::Fail);
    let of_route = |name: &str| history.routes.iter().find(|route| route.route == name);
    let routes = failing.filter_map(|route| {
        let found = of_route(&route.route)?;
        let route = of(Some(found.route.as_str()));
        let told = onset::sentence(found.onset.as_ref()?, &route, history, &hour)?;
        Some((told, Some(found.route.clone())))
    });
    let routes: Vec<_> = routes.collect();
    let more = routes.len().saturating_sub(MAX_ROUTES_TOLD);
    told.extend(routes.into_iter().take(MAX_ROUTES_TOLD));
    Told {
        sentences: told,
        more,
    }
}
