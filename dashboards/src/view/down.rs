//! Whether the candidate is down: one answer for the pages and for `parity top`.
//!
//! The record tells that the candidate gave no answer to the last requests, and a mirror tells whether it still sends it any. Where a mirror
//! is asked, what it says is valid. Otherwise a candidate is down only if it gave no answer up to now, and something records now: what it did an
//! hour ago, beside a process that has ended, says nothing of this moment, and is told as what was.
//!
//! An answer that cannot be compared is an answer. What another version of the candidate did says nothing of this one.

use std::collections::BTreeSet;

use parity_schemas::history::{History, HistoryBucket};
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{InstanceWatermark, RunState};

use super::Status;

/// What is looked at minute by minute: long enough to say since when something is so that began while somebody was paged.
pub(super) const LATELY_MICROS: i64 = 30 * INTERVAL_MICROS;
/// Whole minutes that are now, besides the running one.
const MINUTES: i64 = 2;
/// Requests in a row on which a candidate fails until it is called down: fewer may be those of one bad client.
const LEAST_DOWN: u64 = 3;

/// When the minutes begin that are now.
pub(super) fn begin_of_now(at: Timestamp) -> Timestamp {
    let at = at.as_micros();
    let minute = at - at.rem_euclid(INTERVAL_MICROS);
    Timestamp::from_micros(minute - MINUTES * INTERVAL_MICROS)
}

/// How long each bucket is.
pub(super) fn length(history: &History) -> i64 {
    let micros = history.bucket_seconds.saturating_mul(1_000_000);
    i64::try_from(micros).unwrap_or(i64::MAX)
}

/// The processes that record now.
pub(super) fn live(runs: &[InstanceWatermark]) -> impl Iterator<Item = &InstanceWatermark> {
    runs.iter().filter(|run| {
        !matches!(
            run.state,
            RunState::Ended
                | RunState::Replaced
                | RunState::Gone
                | RunState::Silent
                | RunState::Unheard
        )
    })
}

/// Requests, one after the other, of which the candidate answered none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    /// When the first bucket of them begins.
    pub(crate) since: Timestamp,
    /// When the last one was sent, at the latest.
    pub(crate) until: Timestamp,
    /// How many they are.
    pub(crate) failed: u64,
}

/// How the candidate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Candidate {
    /// Nothing that is known speaks against it.
    Answers,
    /// It answered none of the last requests. A mirror sends it more, or nobody knows how it is now.
    Failed(Silence),
    /// It is down. `None` if only the mirror knows that by now.
    Down(Option<Silence>),
}

/// What is known beside the counts.
pub(crate) struct Beside<'a> {
    /// When they were read.
    pub(crate) at: Timestamp,
    /// Of the mirror that is asked.
    pub(crate) status: Option<&'a Status>,
    /// How the processes stand.
    pub(crate) runs: &'a [InstanceWatermark],
    /// The version of the candidate that the processes count for that do not name one.
    pub(crate) version: &'a str,
}

/// Whether something was sent to the candidate, or was not because it keeps failing.
fn is_sent(bucket: &HistoryBucket) -> bool {
    bucket.compared > 0 || bucket.breaker_open > 0
}

impl Beside<'_> {
    /// The versions of the candidate that get requests now, or else those that got the last ones.
    fn versions<'b>(&'b self, history: &'b History) -> BTreeSet<&'b str> {
        if let Some(status) = self.status {
            return [status.candidate_version.as_str()].into();
        }
        let of_run = |run: &'b InstanceWatermark| run.candidate_version.as_deref();
        let live = live(self.runs).map(|run| of_run(run).unwrap_or(self.version));
        let live: BTreeSet<&str> = live.collect();
        if !live.is_empty() {
            return live;
        }
        let last = history.identities.iter().map(|one| one.last).max();
        let of_last = history.identities.iter();
        let of_last = of_last.filter(|one| Some(one.last) == last);
        of_last.map(|one| one.candidate_version.as_str()).collect()
    }

    /// The requests at the end of a history that the candidate of now did not answer.
    pub(crate) fn silence(&self, history: &History) -> Option<Silence> {
        let versions = self.versions(history);
        let is_of = |place: &u32| {
            let identity = history.identities.get(*place as usize);
            identity.is_none_or(|one| versions.contains(one.candidate_version.as_str()))
        };
        let is_silent = |bucket: &&HistoryBucket| {
            bucket.candidate_unanswered >= bucket.compared && bucket.identities.iter().all(is_of)
        };
        let sent = history
            .buckets
            .iter()
            .rev()
            .filter(|bucket| is_sent(bucket));
        // What is in a longer bucket may be of its begin.
        let long = length(history).min(LATELY_MICROS);
        let silent = sent.take_while(is_silent);
        silent.fold(None, |found: Option<Silence>, bucket| {
            let until = bucket.from.saturating_add_micros(long);
            let (until, failed) = found.map_or((until, 0), |found| (found.until, found.failed));
            Some(Silence {
                since: bucket.from,
                until: until.min(self.at),
                failed: failed + bucket.candidate_unanswered,
            })
        })
    }

    /// The same of the last minutes, which may have begun before them: `whole` is of longer steps.
    pub(crate) fn silence_since(&self, recent: &History, whole: &History) -> Option<Silence> {
        let (lately, before) = (self.silence(recent), self.silence(whole));
        let first = recent.buckets.iter().find(|bucket| is_sent(bucket));
        match (lately, before) {
            // Nothing was sent lately.
            (None, Some(before)) if first.is_none() => Some(Silence {
                until: before
                    .until
                    .min(self.at.saturating_add_micros(-LATELY_MICROS)),
                ..before
            }),
            (Some(lately), Some(before))
                if first.is_some_and(|first| lately.since <= first.from)
                    && before.since < lately.since
                    && before.until >= lately.since =>
            {
                Some(Silence {
                    until: lately.until,
                    ..before
                })
            }
            (lately, _) => lately,
        }
    }

    /// How the candidate stands that was silent so.
    pub(crate) fn candidate(&self, silence: Option<Silence>) -> Candidate {
        if self
            .status
            .is_some_and(|status| !status.candidate_reachable)
        {
            return Candidate::Down(silence);
        }
        let Some(silence) = silence.filter(|silence| silence.failed >= LEAST_DOWN) else {
            return Candidate::Answers;
        };
        let is_now = silence.until > begin_of_now(self.at);
        let is_lately = silence.until > self.at.saturating_add_micros(-LATELY_MICROS);
        if self.status.is_none() && is_now && live(self.runs).next().is_some() {
            Candidate::Down(Some(silence))
        } else if is_lately {
            Candidate::Failed(silence)
        } else {
            Candidate::Answers
        }
    }
}
