//! When the candidate gave no answer in the range of a history, or clients got none, and how exactly the record knows it.
//!
//! An outage of minutes is not seen in a bucket of a quarter of an hour, but the record has counts of each minute. So the minutes of those
//! buckets are read in which something failed, all in one question, the latest first, and only as many as a page has time for: of
//! those before, the longer steps tell.

use std::collections::BTreeSet;

use parity_schemas::evidence::Window;
use parity_schemas::history::{CandidateOutage, ClientOutage, History, HistoryBucket};
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;
use parity_sink::read::history::{HistoryFilter, Minute, MinutesFilter};
use parity_sink::{Reader, StoreError};

use crate::view::down::{ClientStep, Step, client_outages, length, outages};

/// Minutes that are read once more: a day. A page waits for them, a tenth of what ten days take.
const MAX_MINUTES: i64 = 24 * 60;
/// Outages that are told, the latest: more lines cannot be told apart in a chart.
pub(super) const MAX_OUTAGES: usize = 20;
/// Versions whose outages are told.
const MAX_VERSIONS: usize = 8;

/// The outages in a history that was read with this filter.
pub(super) fn of(
    reader: &Reader,
    filter: &HistoryFilter,
    history: &mut History,
) -> Result<(), StoreError> {
    let spans = spans(history, filter.selection.since, filter.until);
    let minutes = if spans.is_empty() {
        Vec::new()
    } else {
        let mut of = HistoryFilter {
            route: filter.route.clone(),
            ..HistoryFilter::default()
        };
        of.selection.clone_from(&filter.selection);
        reader.minutes(&MinutesFilter {
            of,
            spans: spans.clone(),
        })?
    };
    (history.outages, history.client_outages) = told(history, &spans, &minutes);
    Ok(())
}

/// Whether an outage may be in it that is shorter than it.
fn may_hide(bucket: &HistoryBucket) -> bool {
    bucket.candidate_unanswered > 0 || bucket.breaker_open > 0 || bucket.clients_failed > 0
}

/// The spans of those buckets whose minutes are read, in order; none if the buckets are minutes.
fn spans(history: &History, since: Option<Timestamp>, until: Option<Timestamp>) -> Vec<Window> {
    let step = length(history);
    if step <= INTERVAL_MICROS {
        return Vec::new();
    }
    let mut spans: Vec<Window> = Vec::new();
    let mut left = MAX_MINUTES.saturating_mul(INTERVAL_MICROS);
    for bucket in history.buckets.iter().rev().filter(|one| may_hide(one)) {
        left = left.saturating_sub(step);
        if left < 0 {
            break;
        }
        let end = bucket.from.saturating_add_micros(step);
        let span = Window {
            from: since.map_or(bucket.from, |since| since.max(bucket.from)),
            to: until.map_or(end, |until| until.min(end)),
        };
        match spans.last_mut() {
            Some(next) if next.from == span.to => next.from = span.from,
            _ => spans.push(span),
        }
    }
    spans.reverse();
    spans
}

/// The outages of candidate and clients: by the minutes of these spans, and by the buckets elsewhere.
fn told(
    history: &History,
    spans: &[Window],
    minutes: &[Minute],
) -> (Vec<CandidateOutage>, Vec<ClientOutage>) {
    let micros = length(history);
    let is_read = |bucket: &HistoryBucket| {
        let end = bucket.from.saturating_add_micros(micros);
        let mut spans = spans.iter();
        spans.any(|span| span.from < end && bucket.from < span.to)
    };
    let whole: Vec<&HistoryBucket> = history.buckets.iter().filter(|one| !is_read(one)).collect();
    let of_buckets = whole.iter().flat_map(|bucket| history.versions(bucket));
    let of_minutes = minutes.iter().map(|one| one.candidate_version.as_str());
    let versions: BTreeSet<&str> = of_buckets.chain(of_minutes).collect();
    let mut found = Vec::new();
    for version in versions.into_iter().take(MAX_VERSIONS) {
        let own = minutes.iter();
        let own = own.filter(|minute| minute.candidate_version == version);
        let own = own.map(Step::of_minute);
        let buckets = whole.iter();
        let buckets = buckets.filter_map(|bucket| Step::of(history, bucket, version));
        let mut steps: Vec<Step> = own.chain(buckets).collect();
        steps.sort_by_key(Step::from);
        found.extend(outages(version, &steps));
    }
    found.sort_by_key(|outage| (outage.from, outage.to));
    let surplus = found.len().saturating_sub(MAX_OUTAGES);
    found.drain(..surplus);
    let mut steps: Vec<ClientStep> = Vec::new();
    for minute in minutes {
        match steps.last_mut() {
            Some(last) if last.from() == minute.from => last.add(&minute.clients),
            _ => {
                let clients = minute.clients.clone();
                steps.push(ClientStep::of(minute.from, INTERVAL_MICROS, clients));
            }
        }
    }
    let buckets = whole.iter();
    steps.extend(buckets.map(|bucket| ClientStep::of(bucket.from, micros, bucket.clients.clone())));
    steps.sort_by_key(ClientStep::from);
    let mut clients = client_outages(&steps);
    let surplus = clients.len().saturating_sub(MAX_OUTAGES);
    clients.drain(..surplus);
    (found, clients)
}

#[cfg(test)]
mod tests {
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
                "clients_failed": 0, "identities": [0], "legacy_head_us": {}, "candidate_head_us": {}
            })
        });
        let buckets: Vec<_> = buckets.collect();
        serde_json::from_value(serde_json::json!({
            "schema": "", "migration": "m", "legacy_version": null, "candidate_version": null, "route": null, "window": null,
            "bucket_seconds": step * 60, "buckets": buckets, "without_excused": true, "with_latency": false,
            "identities": [{"legacy_version": "", "candidate_version": "2", "rules_hash": "", "first": minute(0).to_string(),
                            "last": minute(0).to_string()}],
            "marks": [], "routes": [], "routes_left_out": 0, "groups": []
        }))
        .expect("a history")
    }

    fn of_minutes(minutes: &[(i64, u64, u64)]) -> Vec<Minute> {
        let each = minutes.iter().map(|(from, compared, unanswered)| Minute {
            from: minute(*from),
            candidate_version: "2".to_owned(),
            compared: *compared,
            unanswered: *unanswered,
            ..Minute::default()
        });
        each.collect()
    }

    fn windows(spans: &[Window]) -> Vec<(i64, i64)> {
        let minute = |time: Timestamp| time.as_micros() / INTERVAL_MICROS;
        let each = spans.iter();
        each.map(|span| (minute(span.from), minute(span.to)))
            .collect()
    }

    #[test]
    fn the_minutes_are_read_in_which_something_failed_and_no_others() {
        let day = history(
            15,
            &[
                (0, 900, 0),
                (15, 900, 64),
                (30, 900, 9),
                (45, 900, 0),
                (60, 900, 0),
                (75, 900, 12),
            ],
        );
        let spans = spans(&day, None, None);
        assert_eq!(windows(&spans), [(15, 45), (75, 90)]);
        let (found, _) = told(
            &day,
            &spans,
            &of_minutes(&[
                (28, 60, 0),
                (29, 64, 64),
                (30, 60, 9),
                (31, 60, 0),
                // Seconds, an hour later: they stand there although a quarter of an hour hides them.
                (79, 60, 0),
                (80, 60, 12),
                (81, 60, 0),
            ]),
        );
        let found: Vec<_> = found
            .iter()
            .map(|one| {
                let minute = |time: Timestamp| time.as_micros() / INTERVAL_MICROS;
                (
                    minute(one.from),
                    minute(one.to),
                    one.sent,
                    one.unanswered,
                    one.step_seconds,
                )
            })
            .collect();
        assert_eq!(found, [(29, 31, 73, 73, 60), (80, 81, 12, 12, 60)]);
        // Of minutes there is nothing shorter.
        assert!(super::spans(&history(1, &[(0, 9, 9)]), None, None).is_empty());
        // No more than was asked for.
        let asked = super::spans(&day, Some(minute(20)), Some(minute(80)));
        assert_eq!(windows(&asked), [(20, 45), (75, 80)]);
    }

    #[test]
    fn a_candidate_that_always_fails_a_little_is_not_read_for_ever() {
        let many: Vec<_> = (0..120).map(|hour| (hour * 180, 900, 9)).collect();
        let days = history(180, &many);
        let spans = spans(&days, None, None);
        assert_eq!(windows(&spans), [(112 * 180, 120 * 180)]);
        let (found, _) = told(&days, &spans, &[]);
        assert!(found.is_empty(), "{found:?}");
    }
}
