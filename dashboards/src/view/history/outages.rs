//! When the candidate gave no answer in the range of a history, and how exactly the record knows it.
//!
//! An outage of minutes is not seen in a bucket of a quarter of an hour, but the record has counts of each minute. So buckets in which
//! the candidate failed are read once more in shorter steps, the latest first, and only as many as a page has time for: of those
//! before, the longer steps tell.

use std::collections::BTreeSet;

use parity_schemas::history::{CandidateOutage, History, HistoryBucket};
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;
use parity_sink::read::history::HistoryFilter;
use parity_sink::{Reader, StoreError};

use crate::view::down::{Step, length, outages};

/// Stretches that are read once more: a page waits for each.
const MAX_READS: usize = 6;
/// The longest one, in its own steps: those that a history has at the most, see [`HistoryFilter`].
const MAX_STEPS: i64 = 120;
/// Outages that are told, the latest: more lines cannot be told apart in a chart.
const MAX_OUTAGES: usize = 20;
/// Steps that are gone through of all versions.
const MAX_VERSIONS: usize = 8;

/// A bucket with the history that it is of.
type Piece = (usize, HistoryBucket);

/// The outages in a history that was read with this filter.
pub(super) fn of(
    reader: &Reader,
    filter: &HistoryFilter,
    history: &History,
) -> Result<Vec<CandidateOutage>, StoreError> {
    let ask = |from: Timestamp, to: Timestamp| {
        let mut closer = HistoryFilter {
            until: Some(filter.until.map_or(to, |until| until.min(to))),
            route: filter.route.clone(),
            without_latency: true,
            ..HistoryFilter::default()
        };
        closer.selection.clone_from(&filter.selection);
        closer.selection.since = Some(from.max(filter.selection.since.unwrap_or(from)));
        reader.history(&closer)
    };
    let (histories, pieces) = closer(history, ask)?;
    let all = pieces.iter();
    let all: Vec<_> = all
        .filter_map(|(number, bucket)| Some((histories.get(*number)?, bucket)))
        .collect();
    let named = all.iter().flat_map(|(of, bucket)| of.versions(bucket));
    let versions: BTreeSet<&str> = named.collect();
    let mut found = Vec::new();
    for version in versions.into_iter().take(MAX_VERSIONS) {
        let steps = all.iter();
        let steps = steps.filter_map(|(of, bucket)| Step::of(of, bucket, version));
        found.extend(outages(version, &steps.collect::<Vec<Step>>()));
    }
    found.sort_by_key(|outage| (outage.from, outage.to));
    let surplus = found.len().saturating_sub(MAX_OUTAGES);
    found.drain(..surplus);
    Ok(found)
}

/// Whether an outage may be in it that is shorter than it.
fn may_hide(bucket: &HistoryBucket) -> bool {
    bucket.candidate_unanswered > 0 || bucket.breaker_open > 0
}

/// The buckets of a history in order, those in which the candidate failed in steps as short as there are.
fn closer(
    history: &History,
    ask: impl Fn(Timestamp, Timestamp) -> Result<History, StoreError>,
) -> Result<(Vec<History>, Vec<Piece>), StoreError> {
    let mut histories = vec![history.clone()];
    let mut pieces: Vec<Piece> = Vec::new();
    let buckets = history.buckets.iter().cloned();
    let mut open: Vec<Piece> = buckets.map(|bucket| (0, bucket)).collect();
    let mut reads = 0;
    // The latest is the last, and so the first that is taken.
    while let Some((number, bucket)) = open.pop() {
        let step = histories.get(number).map_or(0, length);
        if step <= INTERVAL_MICROS || reads >= MAX_READS || !may_hide(&bucket) {
            pieces.push((number, bucket));
            continue;
        }
        // Those before that are as near and fail, too, are read together.
        let to = bucket.from.saturating_add_micros(step);
        let mut from = bucket.from;
        let longest = (INTERVAL_MICROS * MAX_STEPS).max(step);
        while let Some((of, before)) = open.last() {
            let is_next = *of == number && before.from.saturating_add_micros(step) == from;
            let is_short = to.as_micros() - before.from.as_micros() <= longest;
            if !(is_next && is_short && may_hide(before)) {
                break;
            }
            from = before.from;
            open.pop();
        }
        reads += 1;
        let read = ask(from, to)?;
        if length(&read) >= step {
            // Nothing shorter is there; what was read is of the same time.
            reads = MAX_READS;
        }
        let of = histories.len();
        open.extend(read.buckets.iter().map(|bucket| (of, bucket.clone())));
        histories.push(read);
    }
    pieces.reverse();
    Ok((histories, pieces))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn minute(minute: i64) -> Timestamp {
        Timestamp::from_micros(minute * INTERVAL_MICROS)
    }

    /// Of steps of so many minutes: when each begins, what was sent, and what was not answered.
    fn history(step: u64, buckets: &[(i64, u64, u64)]) -> History {
        let buckets = buckets.iter().map(|(from, compared, unanswered)| {
            serde_json::json!({
                "from": minute(*from).to_string(), "received": compared, "compared": compared, "differing": 0, "mismatches": 0,
                "classes": {}, "excused": 0, "candidate_failures": unanswered, "candidate_unanswered": unanswered,
                "clients_failed": 0, "identities": [], "legacy_head_us": {}, "candidate_head_us": {}
            })
        });
        let buckets: Vec<_> = buckets.collect();
        serde_json::from_value(serde_json::json!({
            "schema": "", "migration": "m", "legacy_version": null, "candidate_version": null, "route": null, "window": null,
            "bucket_seconds": step * 60, "buckets": buckets, "without_excused": true, "with_latency": false,
            "identities": [], "marks": [], "routes": [], "routes_left_out": 0, "groups": []
        }))
        .expect("a history")
    }

    #[test]
    fn buckets_in_which_it_failed_are_read_in_minutes_and_the_others_are_not() {
        let day = history(
            15,
            &[(0, 900, 0), (15, 900, 64), (30, 900, 9), (45, 900, 0)],
        );
        let asked = Cell::new(0);
        let (histories, pieces) = closer(&day, |from, to| {
            asked.set(asked.get() + 1);
            assert_eq!((from, to), (minute(15), minute(45)));
            Ok(history(
                1,
                &[(28, 60, 0), (29, 64, 64), (30, 60, 9), (31, 60, 0)],
            ))
        })
        .expect("read");
        assert_eq!((asked.get(), histories.len()), (1, 2));
        let begins: Vec<i64> = pieces
            .iter()
            .map(|(_, bucket)| bucket.from.as_micros() / INTERVAL_MICROS)
            .collect();
        assert_eq!(begins, [0, 28, 29, 30, 31, 45]);
    }

    #[test]
    fn a_candidate_that_always_fails_a_little_is_not_read_for_ever() {
        let many: Vec<_> = (0..120).map(|day| (day * 1_440, 900, 9)).collect();
        let days = history(1_440, &many);
        let asked = Cell::new(0);
        let (_, pieces) = closer(&days, |from, to| {
            asked.set(asked.get() + 1);
            let from = from.as_micros() / INTERVAL_MICROS;
            let to = to.as_micros() / INTERVAL_MICROS;
            let step = (to - from) / 96;
            let steps: Vec<_> = (0..96).map(|at| (from + at * step, 9, 1)).collect();
            Ok(history(step.unsigned_abs().max(1), &steps))
        })
        .expect("read");
        assert_eq!(asked.get(), MAX_READS);
        assert!(pieces.is_sorted_by_key(|(_, bucket)| bucket.from));
        // Not even if a store has nothing shorter.
        let (_, same) = closer(&days, |_, _| Ok(history(1_440, &many[119..]))).expect("read");
        assert_eq!(same.len(), 120);
    }
}
