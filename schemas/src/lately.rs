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
    /// Clients that left while they waited for the legacy.
    #[serde(default)]
    pub gave_up_on_legacy: GaveUp,
    /// Clients that left while they waited for the candidate, which served them in a rollout.
    #[serde(default)]
    pub gave_up_on_candidate: GaveUp,
    /// How long the legacy took for its whole answers in these seconds; `None` if none was compared in them.
    #[serde(default)]
    pub legacy_took: Option<Took>,
}

/// How long answers took, in microseconds, from sending the request to the last byte: of those that were compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Took {
    /// How many.
    pub answers: u64,
    /// Half of them took no longer.
    pub p50_us: u64,
    /// Ninety-nine in a hundred took no longer.
    pub p99_us: u64,
}

/// Clients that left before they had their whole answer, when a service had kept them waiting for half a second or more: for its begin, or
/// for more of it. They are among those that went away (`client_aborted`), and not among the failures, because people close pages, too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GaveUp {
    /// How many in the last seconds.
    pub now: u64,
    /// The last stretch of time in which some did; `None` if that never happened since the process began.
    pub last: Option<ClientFailures>,
}

/// The service that a client waited for.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WaitedFor {
    /// The legacy.
    #[default]
    Legacy,
    /// The candidate, in a rollout.
    Candidate,
}

impl WaitedFor {
    /// Both, in the order in which they are shown and counted.
    pub const ALL: [Self; 2] = [Self::Legacy, Self::Candidate];

    /// `legacy` or `candidate`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Candidate => "candidate",
        }
    }

    /// Position in [`Self::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// So many clients that gave up in the last seconds are more than somebody who reloads a page.
const MANY_GAVE_UP: u64 = 5;
/// And one in so many of the requests that ended, as for errors of the candidate: on a large site somebody always leaves.
const ONE_IN: u64 = 20;

/// Stretches of failures that a process keeps in memory, of clients and of the candidate: a night of many, and some kilobytes.
pub const MAX_STRETCHES: usize = 50;

/// A stretch of time in which clients got no whole answer, because of a failure or because they gave up, with less than ten seconds from one to the next.
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

/// A stretch of time in which clients got server errors (5xx) from the service that served them, surely with more than one in twenty of its
/// answers, as the process that served them counted it. Each of them got a whole answer, so they are none of the failures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientErrors {
    /// Who answered so: the legacy, or in a rollout the candidate.
    pub service: WaitedFor,
    /// Its version; may be empty.
    pub version: String,
    /// When the first of these answers ended, to within a quarter of a second.
    pub from: Timestamp,
    /// When the last one did.
    pub to: Timestamp,
    /// When so many others ended behind it that it is over, or its process ended; `None` while it goes on.
    pub ended: Option<Timestamp>,
    /// Whole answers that clients got from the service, up to the last of these.
    pub answers: u64,
    /// Those of them that are errors.
    pub errors: u64,
}

/// A stretch of time in which the legacy was slow: surely more than one in twenty of its answers took longer than twice the time that
/// ninety-nine in a hundred took within before, as the process that compared them counted it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlowAnswers {
    /// The version of the legacy; may be empty.
    pub version: String,
    /// When the first slow answer was compared, to within a quarter of a second.
    pub from: Timestamp,
    /// When the last one was.
    pub to: Timestamp,
    /// When it is over, as in [`ClientErrors`]; `None` while it goes on.
    pub ended: Option<Timestamp>,
    /// Answers of the legacy that were compared, up to the last of these.
    pub answers: u64,
    /// Those of them that took longer than `limit_us`.
    pub slow: u64,
    /// From how many microseconds on an answer is slow here.
    pub limit_us: u64,
    /// Within so many microseconds ninety-nine in a hundred of `answers` came.
    pub p99_us: u64,
    /// The same of those before, of an hour or since the process began.
    pub before_p99_us: u64,
}

/// What a process has seen of its candidate and of what its clients got, as it writes it into its watermark. So whoever reads the record alone knows to the second
/// what the counts of a minute hide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateSeen {
    /// Stretches in which it gave no answer, the earliest first: of many those that cost the most, and the last.
    pub failures: Vec<CandidateFailures>,
    /// Those in which it answered with errors, the earliest first: of many those with the most.
    pub errors: Vec<CandidateErrors>,
    /// Those in which clients got errors from the service that served them, the earliest first: of many those with the most. Older
    /// programs do not tell.
    #[serde(default)]
    pub client_errors: Vec<ClientErrors>,
    /// Those in which the legacy was slow, in the same way.
    #[serde(default)]
    pub slow: Vec<SlowAnswers>,
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

    /// Those of them whose client left before it had a whole answer, for whatever reason.
    pub fn left(&self) -> u64 {
        self.sum(|outcome| outcome == ClientOutcome::ClientAborted)
    }

    /// Those that gave up on each service.
    pub fn gave_up(&self) -> [(WaitedFor, &GaveUp); 2] {
        WaitedFor::ALL.map(|service| {
            let gave_up = match service {
                WaitedFor::Legacy => &self.gave_up_on_legacy,
                WaitedFor::Candidate => &self.gave_up_on_candidate,
            };
            (service, gave_up)
        })
    }

    /// The services on which clients give up now, and not just here and there: on each five or more, and one in twenty of all.
    pub fn given_up(&self) -> impl Iterator<Item = (WaitedFor, &GaveUp)> {
        let ended = self.ended();
        let each = self.gave_up().into_iter();
        each.filter(move |(_, gone)| {
            gone.now >= MANY_GAVE_UP && gone.now.saturating_mul(ONE_IN) >= ended
        })
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
