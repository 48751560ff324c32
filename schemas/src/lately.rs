//! What clients got in the last seconds, as the process that served them has counted it.
//!
//! A record counts by minutes, in which an outage of some seconds looks small while it lasts, and stays for minutes after it. So a
//! process that serves clients keeps the last seconds in memory, beside the record, for whoever asks how it is now. Nothing of it is
//! stored, and no decision rests on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clients::{ClientOutcome, Clients};
use crate::time::Timestamp;

/// How long "now" is: long enough that a client who comes every few seconds is in it, and short enough that somebody who looks at a
/// clock agrees.
pub const NOW_MICROS: i64 = 10_000_000;

/// What clients got in the last seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientsNow {
    /// When those seconds began: ten of them ago, or with the process.
    pub from: Timestamp,
    /// When they ended: when it was asked.
    pub to: Timestamp,
    /// How requests ended in them; outcomes without a count are absent.
    pub clients: Clients,
    /// The last stretch of time in which clients got no whole answer; `None` if that never happened since the process began.
    pub failures: Option<ClientFailures>,
    /// The stretches before it, the earliest first: the latest of them.
    #[serde(default)]
    pub earlier_failures: Vec<ClientFailures>,
}

/// Stretches of failures that a process keeps in memory, of clients and of the candidate: a night of many, and some kilobytes.
pub const MAX_STRETCHES: usize = 50;

/// A stretch of time in which clients that were there got no whole answer, with less than ten seconds from one to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientFailures {
    /// When the first of them was noticed, to within a quarter of a second.
    pub from: Timestamp,
    /// When the last one was.
    pub to: Timestamp,
    /// How many they are.
    pub failed: u64,
}

/// A stretch of time in which the candidate answered less than half of what a process sent it, as that process noticed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateFailures {
    /// Its version; may be empty.
    pub candidate_version: String,
    /// When the first failure was noticed, to within a quarter of a second.
    pub from: Timestamp,
    /// When the last one was.
    pub to: Timestamp,
    /// When it answered again; `None` while it does not.
    pub answered: Option<Timestamp>,
    /// Requests that it did not answer.
    pub failed: u64,
    /// Requests that were not sent to it meanwhile, because it kept failing. Older programs do not tell.
    #[serde(default)]
    pub not_sent: u64,
}

/// A stretch of time in which the candidate answered with server errors (5xx) where the legacy did not, surely on more than one in twenty
/// of the compared requests, as the process that compared them counted it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateErrors {
    /// Its version; may be empty.
    pub candidate_version: String,
    /// When the first request that it answered so was received.
    pub from: Timestamp,
    /// When the last one was.
    pub to: Timestamp,
    /// When so many others were compared behind it that it is over, or its process ended; `None` while it goes on.
    pub ended: Option<Timestamp>,
    /// Requests whose two answers were compared, up to the last of these.
    pub compared: u64,
    /// Those of them that the candidate answered with an error.
    pub errors: u64,
    /// Those of them that the legacy did.
    pub legacy_errors: u64,
}

/// What a process has seen of its candidate, as it writes it into its watermark. So whoever reads the record alone knows to the second
/// what the counts of a minute hide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateSeen {
    /// Stretches in which it gave no answer, the earliest first: of many those that cost the most, and the last.
    pub failures: Vec<CandidateFailures>,
    /// Those in which it answered with errors, the earliest first: of many those with the most.
    pub errors: Vec<CandidateErrors>,
}

/// Stretches of each kind that a watermark has: those of a bad night. A watermark is written each second, so it is small.
pub const MAX_RECORDED: usize = 20;

impl ClientsNow {
    /// Requests that ended.
    pub fn ended(&self) -> u64 {
        self.sum(|_| true)
    }

    /// Those of them whose client was there and got no whole answer.
    pub fn failed(&self) -> u64 {
        self.sum(ClientOutcome::is_failure)
    }

    /// Those of these outcomes.
    pub fn sum(&self, wanted: impl Fn(ClientOutcome) -> bool) -> u64 {
        let counted = self.clients.iter().filter(|(outcome, _)| wanted(**outcome));
        counted.fold(0, |sum: u64, (_, count)| sum.saturating_add(*count))
    }

    /// Adds one, at this time, to the stretch of failures, or begins another one; returns the one that is over by that.
    pub fn fail(
        failures: &mut Option<ClientFailures>,
        failed: u64,
        now: Timestamp,
    ) -> Option<ClientFailures> {
        let is_one = |last: &ClientFailures| {
            let passed = now.as_micros().saturating_sub(last.to.as_micros());
            // A clock that is set back joins what it has told before.
            passed < NOW_MICROS
        };
        match failures.as_mut().filter(|last| is_one(last)) {
            Some(last) => {
                last.to = last.to.max(now);
                last.failed = last.failed.saturating_add(failed);
                None
            }
            None => failures.replace(ClientFailures {
                from: now,
                to: now,
                failed,
            }),
        }
    }
}
