//! Requests at the end of a history that a version of the candidate did not answer, as its buckets tell them.

use std::collections::BTreeSet;

use parity_schemas::history::History;
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;

use super::part::{Part, part};
use super::{Between, LATELY_MICROS, length};
use crate::view::words::grouped;

/// Requests, one after the other, of which the candidate answered none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    /// When the first of them was sent: in the first bucket of them.
    pub(crate) since: Between,
    /// When the last one was sent, at the latest.
    pub(crate) until: Timestamp,
    /// How many they are.
    pub(crate) failed: u64,
    /// The step before, if the candidate failed in that, too: there it began, unless in between.
    pub(crate) before: Option<Beginning>,
}

/// The step in which requests began to be failed on, among which some were answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beginning {
    /// The begin of the step.
    pub(crate) from: Timestamp,
    /// Its end.
    pub(crate) to: Timestamp,
    /// What was sent in it.
    pub(crate) sent: u64,
    /// What of that was not answered.
    pub(crate) failed: u64,
}

impl Beginning {
    /// In words, behind how many requests failed since; `moment` writes a time.
    pub(crate) fn told(self, moment: impl Fn(Timestamp) -> String) -> String {
        format!(
            ", and on {} of {} from {} to {}",
            grouped(self.failed),
            grouped(self.sent),
            moment(self.from),
            moment(self.to)
        )
    }
}

/// The versions that get requests now.
pub(super) struct Versions<'a> {
    pub(super) at: Timestamp,
    pub(super) live: &'a BTreeSet<&'a str>,
}

impl Versions<'_> {
    /// The minute that runs, if a version failed on most in it and answered some.
    pub(super) fn mostly(&self, history: &History, version: &str) -> Option<Beginning> {
        let micros = length(history);
        let mut buckets = history.buckets.iter().rev();
        let found = buckets.find_map(|bucket| match part(history, bucket, version, self.live) {
            Part::Its(sent) if sent.is_any() => Some((bucket.from, sent)),
            _ => None,
        });
        let (from, sent) = found?;
        let to = from.saturating_add_micros(micros);
        let is_now = micros <= INTERVAL_MICROS && to > self.at;
        (is_now && sent.fails_mostly() && !sent.is_silent()).then(|| Beginning {
            from,
            to: to.min(self.at),
            sent: sent.compared,
            failed: sent.unanswered,
        })
    }

    /// The requests at the end of a history that a version did not answer.
    pub(super) fn silence(&self, history: &History, version: &str) -> Option<Silence> {
        // What is in a longer bucket may be of its begin.
        let long = length(history).min(LATELY_MICROS);
        let mut found: Option<Silence> = None;
        let mut is_beside = false;
        for bucket in history.buckets.iter().rev() {
            let sent = match part(history, bucket, version, self.live) {
                Part::Its(sent) => sent,
                Part::Others => {
                    is_beside = true;
                    continue;
                }
                Part::Unknown => break,
            };
            if !sent.is_any() {
                continue;
            }
            let end = bucket.from.saturating_add_micros(long);
            let was_away = found.is_some_and(|found| {
                found.since.from.as_micros() - end.as_micros() > LATELY_MICROS
            });
            // Others took its place meanwhile: what it did before is of another time.
            if is_beside && was_away {
                break;
            }
            if !sent.is_silent() {
                // It failed at the end of that, or in the midst of it: the step does not say.
                if let Some(found) = found.as_mut().filter(|_| sent.unanswered > 0 && !was_away) {
                    let whole = bucket.from.saturating_add_micros(length(history));
                    found.since.from = bucket.from;
                    found.before = Some(Beginning {
                        from: bucket.from,
                        to: whole.min(found.since.to),
                        sent: sent.compared,
                        failed: sent.unanswered,
                    });
                }
                break;
            }
            let (until, failed) = found.map_or((end, 0), |found| (found.until, found.failed));
            found = Some(Silence {
                since: Between {
                    from: bucket.from,
                    to: bucket
                        .from
                        .saturating_add_micros(length(history))
                        .min(self.at),
                },
                until: until.min(self.at),
                failed: failed + sent.unanswered,
                before: None,
            });
            is_beside = false;
        }
        found
    }

    /// The same of the last minutes, which may have begun before them: `whole` is of longer steps.
    pub(super) fn silence_since(
        &self,
        recent: &History,
        whole: &History,
        version: &str,
    ) -> Option<Silence> {
        let lately = self.silence(recent, version);
        let before = self.silence(whole, version);
        let mut sent = recent.buckets.iter();
        let first = sent.find(|bucket| match part(recent, bucket, version, self.live) {
            Part::Its(sent) => sent.is_any(),
            Part::Unknown => true,
            Part::Others => false,
        });
        match (lately, before) {
            // Nothing was sent lately.
            (None, Some(before)) if first.is_none() => Some(Silence {
                until: before
                    .until
                    .min(self.at.saturating_add_micros(-LATELY_MICROS)),
                ..before
            }),
            (Some(lately), Some(before))
                if first.is_some_and(|first| lately.since.from <= first.from)
                    && lately.before.is_none()
                    && before.since.from < lately.since.from
                    && before.until >= lately.since.from =>
            {
                Some(Silence {
                    until: lately.until,
                    ..before
                })
            }
            (lately, _) => lately,
        }
    }
}
