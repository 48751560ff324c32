//! How parity held over time: what of the counts does not count, and since when the services differ.
//!
//! The counts are the store's ([`parity_sink::read::history`]). What is noise or known is decided from a report, so that a
//! bucket counts what the report counts. A history is no evidence: no decision is made from it.

mod began;
mod changed;
mod chart;
mod erring;
mod excused;
mod groups;
mod hour;
mod killed;
mod marks;
mod news;
mod onset;
mod outages;
mod recorded;
mod replaced;
mod serving;
mod shared;
mod witnessed;

use parity_schemas::evidence::{Outcome, Thresholds};
use parity_schemas::history::{GroupHistory, History};
use parity_schemas::time::Timestamp;
use parity_sink::read::history::{Buckets, HistoryFilter};
use parity_sink::{Reader, Selection, StoreError};

pub(crate) use self::marks::{starts, switches};
pub(crate) use self::witnessed::witness;
pub(crate) use changed::{Change, Stretch};
pub(crate) use chart::ChartView;
pub(crate) use groups::{GroupTimes, SeenAt, a_day_ago};

use self::excused::Excused;
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
    let filter = HistoryFilter {
        selection: question.selection.clone(),
        until: asked.until,
        route: asked.route.clone(),
        fingerprints: asked.fingerprints.clone(),
        ..HistoryFilter::default()
    };
    match &decided {
        Some(decided) => without_excused(reader, filter, question, decided),
        None => read(reader, &filter, None, &question.thresholds),
    }
}

/// The version that a report is of; `None` if it has nothing and names none. One that is named and of which nothing is recorded
/// yet has done nothing: what another one did is not told as its own.
fn version_of(decided: &Decided) -> Option<String> {
    let report = &decided.report;
    let is_known = report.window.is_some() || !report.candidate_version.is_empty();
    is_known.then(|| report.candidate_version.clone())
}

/// The history to a report that was asked for by this question: from a time on, but of all versions and rules, so that what changed can be
/// seen.
pub fn history_of(
    reader: &Reader,
    (question, since): (&Question, Option<Timestamp>),
    decided: &Decided,
) -> Result<History, StoreError> {
    beside(reader, (question, since), decided, None)
}

/// The same of one route alone.
pub fn history_of_route(
    reader: &Reader,
    asked: (&Question, Option<Timestamp>),
    decided: &Decided,
    route: &str,
) -> Result<History, StoreError> {
    beside(reader, asked, decided, Some(route.to_owned()))
}

fn beside(
    reader: &Reader,
    (question, since): (&Question, Option<Timestamp>),
    decided: &Decided,
    route: Option<String>,
) -> Result<History, StoreError> {
    let filter = HistoryFilter {
        selection: Selection {
            migration: question.selection.migration.clone(),
            since,
            ..Selection::default()
        },
        route,
        ..HistoryFilter::default()
    };
    without_excused(reader, filter, question, decided)
}

/// Reads a history without what the reports on its versions excuse, each asked for as this one was.
fn without_excused(
    reader: &Reader,
    mut filter: HistoryFilter,
    question: &Question,
    decided: &Decided,
) -> Result<History, StoreError> {
    let Excused { of, as_recorded } = Excused::read(reader, question, &filter, decided)?;
    filter.excused = Some(of);
    let mut history = read(reader, &filter, Some(decided), &question.thresholds)?;
    history.as_recorded = as_recorded;
    Ok(history)
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
        .extend(decided.map_or_else(Vec::new, |decided| {
            news::names(decided, filter.route.as_deref())
        }));
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
    let now = Timestamp::now();
    if let Some(window) = history.window {
        history.unrecorded = recorded::unrecorded(&runs, window, now);
        let seen = reader.seen(migration, window.from)?;
        witnessed::recorded(&mut history, &seen, now);
        let killed = killed::marks(&runs, &seen, window);
        history.marks.extend(killed);
    }
    replaced::end(&mut history.outages, &runs, now);
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
            let more = self.more as u64;
            let routes = plural(more, "more route that fails", "more routes that fail");
            format!("and {routes}")
        })
    }
}

/// What is told of the history of one route.
pub(crate) fn sentences_of_route(history: &History, decided: &Decided, route: &str) -> Told {
    let version = decided.report.candidate_version.as_str();
    let mut versions = history.identities.iter();
    let has_others = versions.any(|one| one.candidate_version != version);
    let of = Of {
        route: Some(route),
        version: has_others.then_some(version),
    };
    let onset = history.onset.as_ref();
    let told = onset.and_then(|onset| onset::sentence(onset, &of, history, &Hour::of(history)));
    Told {
        sentences: told.into_iter().map(|told| (told, None)).collect(),
        more: 0,
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
