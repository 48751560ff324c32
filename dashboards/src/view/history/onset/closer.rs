//! Since when each part of a history differs, and the same to the minute where its buckets are longer.
//!
//! A chart of a day counts by quarters of an hour, so three incidents of a minute are one stretch in it. The record has the minutes: those of
//! the last hours are read once more, where it matters, and what was before is told by the buckets.

use parity_schemas::evidence::Thresholds;
use parity_schemas::history::{Compared, History, Onset, OnsetState, RouteHistory};
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;
use parity_sink::read::history::HistoryFilter;
use parity_sink::{Reader, Selection, StoreError};

use super::found::{Step, onset};

/// How much is read by the minute: as many minutes as a history has buckets, and what is on somebody's mind who is on call.
const CLOSER_MICROS: i64 = 2 * 60 * INTERVAL_MICROS;

fn micros(history: &History) -> i64 {
    i64::try_from(history.bucket_seconds.saturating_mul(1_000_000)).unwrap_or(i64::MAX)
}

fn step(from: Timestamp, micros: i64, compared: u64, differing: u64) -> Step {
    Step {
        from,
        to: from.saturating_add_micros(micros),
        compared: Compared {
            compared,
            differing,
        },
    }
}

/// The steps of all requests.
fn of_all(history: &History) -> Vec<Step> {
    let micros = micros(history);
    let buckets = history.buckets.iter();
    let each = buckets.map(|one| step(one.from, micros, one.compared, one.differing));
    each.collect()
}

/// The steps of a route.
fn of_route(history: &History, route: &RouteHistory) -> Vec<Step> {
    let Some(window) = history.window else {
        return Vec::new();
    };
    let micros = micros(history);
    let counts = route
        .compared_by_bucket
        .iter()
        .zip(&route.differing_by_bucket);
    let each = counts.zip(0_i64..).map(|((compared, differing), place)| {
        let from = window
            .from
            .saturating_add_micros(place.saturating_mul(micros));
        step(from, micros, *compared, *differing)
    });
    each.collect()
}

/// Says since when the services differ: on all routes together, and on each.
pub(in super::super) fn judge(history: &mut History, thresholds: &Thresholds) {
    history.onset = Some(onset(&of_all(history), thresholds));
    let routes = history.routes.iter();
    let found = routes.map(|route| onset(&of_route(history, route), thresholds));
    let found: Vec<Onset> = found.collect();
    for (route, found) in history.routes.iter_mut().zip(found) {
        route.onset = Some(found);
    }
}

fn differs(onset: Option<&Onset>) -> bool {
    onset.is_some_and(|onset| onset.state == OnsetState::Differs)
}

/// From when on the minutes are read of a history that is judged: with a bucket, so that none is counted twice. `None` if they tell nothing
/// that its buckets do not.
fn closer_from(history: &History) -> Option<(Timestamp, Timestamp)> {
    let (window, micros) = (history.window?, micros(history));
    let mut routes = history.routes.iter();
    let is_worth =
        differs(history.onset.as_ref()) || routes.any(|route| differs(route.onset.as_ref()));
    if micros <= INTERVAL_MICROS || !is_worth {
        return None;
    }
    let length = window
        .to
        .as_micros()
        .saturating_sub(window.from.as_micros());
    let skipped = length.saturating_sub(CLOSER_MICROS).max(0);
    let whole = skipped.checked_div(micros)? + i64::from(skipped.checked_rem(micros)? > 0);
    let last = length.checked_div(micros)?.saturating_sub(1).max(0);
    let from = window
        .from
        .saturating_add_micros(whole.min(last).saturating_mul(micros));
    Some((from, window.to))
}

/// Judges a history again with the minutes of its last hours. `filter` is that by which it was read, of the version that it is judged by.
pub(in super::super) fn look(
    reader: &Reader,
    filter: &HistoryFilter,
    history: &mut History,
    thresholds: &Thresholds,
) -> Result<(), StoreError> {
    let Some((from, to)) = closer_from(history) else {
        return Ok(());
    };
    let minutes = reader.history(&HistoryFilter {
        selection: Selection {
            since: filter.selection.since.max(Some(from)),
            ..filter.selection.clone()
        },
        until: filter.until.map_or(Some(to), |until| Some(until.min(to))),
        fingerprints: Vec::new(),
        without_latency: true,
        buckets: None,
        ..filter.clone()
    })?;
    take(history, &minutes, from, thresholds);
    Ok(())
}

/// Judges a history again: up to a time by its own buckets, and from there on by those of another one.
fn take(history: &mut History, minutes: &History, from: Timestamp, thresholds: &Thresholds) {
    let both = |buckets: Vec<Step>, minutes: Vec<Step>| {
        let before = buckets.into_iter().filter(|step| step.to <= from);
        let behind = minutes.into_iter().filter(|step| from <= step.from);
        let steps: Vec<Step> = before.chain(behind).collect();
        onset(&steps, thresholds)
    };
    if differs(history.onset.as_ref()) {
        history.onset = Some(both(of_all(history), of_all(minutes)));
    }
    let routes = history.routes.iter();
    let found = routes.map(|route| {
        let mut others = minutes.routes.iter();
        // A history lists only so many routes: one that is not among them is told by its buckets.
        let closer = others.find(|other| other.route == route.route)?;
        let is_worth = differs(route.onset.as_ref());
        is_worth.then(|| both(of_route(history, route), of_route(minutes, closer)))
    });
    let found: Vec<Option<Onset>> = found.collect();
    for (route, found) in history.routes.iter_mut().zip(found) {
        route.onset = found.or_else(|| route.onset.take());
    }
}

#[cfg(test)]
mod tests {
    use parity_schemas::evidence::Window;
    use parity_schemas::history::{Earlier, HistoryBucket};

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_micros(minute * INTERVAL_MICROS)
    }

    /// Ten requests a minute from one minute to another, half of which differ in some minutes, in buckets of so many.
    fn history(range: std::ops::Range<i64>, minutes: i64, bad: &[i64]) -> History {
        let mut history: History = serde_json::from_value(serde_json::json!({
            "schema": "", "migration": "m", "legacy_version": null, "candidate_version": null, "route": null,
            "window": null, "bucket_seconds": minutes * 60, "buckets": [], "without_excused": true, "with_latency": false,
            "identities": [], "marks": [], "routes": [], "routes_left_out": 0, "groups": []
        }))
        .expect("a history");
        history.window = Some(Window {
            from: at(range.start),
            to: at(range.end),
        });
        let begins = (range.start..range.end).step_by(usize::try_from(minutes).expect("small"));
        history.buckets.extend(begins.map(|begin| {
            let within = bad.iter();
            let within = within.filter(|bad| (begin..begin + minutes).contains(*bad));
            HistoryBucket {
                from: at(begin),
                compared: 10 * u64::try_from(minutes).expect("positive"),
                differing: 5 * within.count() as u64,
                ..HistoryBucket::default()
            }
        }));
        history
    }

    /// Three incidents of a minute in three quarters of an hour were one, since the first of them.
    #[test]
    fn incidents_within_the_buckets_of_a_day_are_told_apart_by_minutes() {
        let thresholds = Thresholds::default();
        let bad = [1_400, 1_417, 1_434];
        let mut day = history(0..1_440, 15, &bad);
        judge(&mut day, &thresholds);
        let coarse = day.onset.clone().expect("judged");
        assert_eq!(
            (coarse.state, coarse.from, coarse.step_seconds),
            (OnsetState::Differs, Some(at(1_395)), 900)
        );
        let (from, to) = closer_from(&day).expect("it is worth it");
        assert_eq!((from, to), (at(1_320), at(1_440)));
        take(&mut day, &history(1_320..1_440, 1, &bad), from, &thresholds);
        let closer = day.onset.clone().expect("judged");
        let earlier = Earlier {
            times: 2,
            from: at(1_400),
            to: at(1_418),
        };
        assert_eq!(
            (closer.from, closer.earlier),
            (Some(at(1_434)), Some(earlier))
        );
        assert_eq!(closer.step_seconds, 60);
        // What was before the last hours is told by the buckets, and once.
        let bad = [100, 1_400, 1_434, 1_435, 1_436, 1_437, 1_438, 1_439];
        let mut day = history(0..1_440, 15, &bad);
        judge(&mut day, &thresholds);
        take(&mut day, &history(1_320..1_440, 1, &bad), from, &thresholds);
        let closer = day.onset.clone().expect("judged");
        assert_eq!(
            (
                closer.from,
                closer.earlier.map(|earlier| (earlier.times, earlier.from))
            ),
            (Some(at(1_434)), Some((2, at(90))))
        );
    }

    #[test]
    fn minutes_are_read_only_where_they_may_tell_more() {
        let thresholds = Thresholds::default();
        let judged = |minutes, bad: &[i64]| {
            let mut found = history(0..120, minutes, bad);
            judge(&mut found, &thresholds);
            closer_from(&found)
        };
        assert_eq!(judged(1, &[119]), None);
        assert_eq!(judged(15, &[]), None);
        assert_eq!(judged(15, &[119]), Some((at(0), at(120))));
        // Of a bucket that is longer than what is read, the whole one.
        let bad: Vec<i64> = (5_700..5_760).collect();
        let mut days = history(0..5_760, 1_440, &bad);
        judge(&mut days, &thresholds);
        assert_eq!(closer_from(&days), Some((at(4_320), at(5_760))));
    }
}
