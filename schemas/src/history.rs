//! How parity held over time: the tallies of a selection, added up in buckets of equal length.
//!
//! Unlike a report, a history is of all versions and rules that counted in its range, because it shows what changed when.
//! Which of them counted in a bucket is told, so that a change can be marked. What is absent was not recorded: a bucket
//! without tallies is in no list, and is not the same as one in which nothing was received.

mod mark;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clients::Clients;
use crate::evidence::Window;
use crate::lately::CandidateErrors;
use crate::recheck::ClassCounts;
use crate::time::Timestamp;
use crate::vocabulary::{UnknownWord, vocabulary};

pub use self::mark::{Mark, MarkKind};

/// Name and version of the document.
pub const HISTORY_SCHEMA: &str = "parity.history/v1";

/// The history of a selection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct History {
    /// [`HISTORY_SCHEMA`].
    pub schema: String,
    /// The name of the effort.
    pub migration: String,
    /// The only version of the legacy that was asked for; `None` for all.
    pub legacy_version: Option<String>,
    /// The only version of the candidate that was asked for; `None` for all.
    pub candidate_version: Option<String>,
    /// The only route that was asked for; `None` for all together.
    pub route: Option<String>,
    /// From the begin of the first bucket to the end of the last; `None` if nothing is recorded.
    pub window: Option<Window>,
    /// How long each bucket is. They begin at whole multiples of it, in UTC.
    pub bucket_seconds: u64,
    /// Buckets with tallies, in order. One that is absent has none: whether anything was received then is not known.
    pub buckets: Vec<HistoryBucket>,
    /// Since when the services differ; `None` until somebody has said what is allowed.
    #[serde(default)]
    pub onset: Option<Onset>,
    /// Whether `differing` is without what is noise or known, or excused by the rules in force, as in a report; otherwise that counts, too.
    pub without_excused: bool,
    /// Whether the buckets have latencies. They are only read where few tallies are in the range.
    pub with_latency: bool,
    /// The version of the candidate that `onset` and `routes` are of, where several counted in the range: a rate of several is
    /// that of none. `None` where all is of one.
    #[serde(default)]
    pub of_candidate: Option<String>,
    /// What counted, by when it first did.
    pub identities: Vec<HistoryIdentity>,
    /// What changed, in order.
    pub marks: Vec<Mark>,
    /// When a version of the candidate gave no answer, in order: to the second where a mirror that is asked has seen it itself, else to
    /// within a minute where the counts of each minute could be read.
    #[serde(default)]
    pub outages: Vec<CandidateOutage>,
    /// When a version of the candidate answered with server errors (5xx) where the legacy did not, on one in twenty requests or more, in
    /// order, as mirrors have counted it. Older programs do not tell.
    #[serde(default)]
    pub candidate_errors: Vec<CandidateErrors>,
    /// When clients got no whole answer, in order, as exactly as `outages`.
    #[serde(default)]
    pub client_outages: Vec<ClientOutage>,
    /// When no process recorded, in order: the latest. `None` if that is not known.
    #[serde(default)]
    pub unrecorded: Option<Vec<Unrecorded>>,
    /// Groups that were first seen behind the begin of what counts, in order: the latest of them.
    #[serde(default)]
    pub news: Vec<NewGroup>,
    /// By route, the most differing first; of one version of the candidate, see `of_candidate`.
    pub routes: Vec<RouteHistory>,
    /// Routes that are not in `routes`, because it is full; they are in `buckets`.
    pub routes_left_out: u64,
    /// Of the groups that were asked for, in that order.
    pub groups: Vec<GroupHistory>,
}

/// What began in one span of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryBucket {
    /// When it begins.
    pub from: Timestamp,
    /// Request heads parsed.
    pub received: u64,
    /// What the gate counts: matches, mismatches, and the times that the candidate failed.
    pub compared: u64,
    /// What counts against the candidate: `mismatches` without those that are transient or `excused`, and
    /// `candidate_failures`.
    pub differing: u64,
    /// All mismatches.
    pub mismatches: u64,
    /// Them by class; their sum is `mismatches`.
    pub classes: ClassCounts,
    /// Mismatches of noise or of known differences, or that the rules in force when it is read excuse: they do not count.
    pub excused: u64,
    /// Times the candidate failed, or only its answer could not be compared.
    pub candidate_failures: u64,
    /// Those of them in which it gave no whole answer: no connection, a time-out, or no HTTP.
    #[serde(default)]
    pub candidate_unanswered: u64,
    /// Clients that were there and did not get a whole answer.
    pub clients_failed: u64,
    /// All clients by outcome; outcomes without a count are absent.
    #[serde(default)]
    pub clients: Clients,
    /// Requests that were not compared because shadowing was off.
    #[serde(default)]
    pub shadowing_off: u64,
    /// Requests that were not compared because the candidate kept failing and was left alone.
    #[serde(default)]
    pub breaker_open: u64,
    /// Places in `identities` of those that counted.
    pub identities: Vec<u32>,
    /// What was sent to each version of the candidate, where several counted; empty where one did.
    #[serde(default)]
    pub candidates: Vec<CandidateBucket>,
    /// What of `compared` and `differing` is of the version that `of_candidate` of the history names, where another one counted
    /// beside it.
    #[serde(default)]
    pub of_candidate: Option<Compared>,
    /// The legacy's time to the head of the answer in µs, `p50` and `p99`; empty where it is not known.
    pub legacy_head_us: BTreeMap<String, u64>,
    /// The candidate's.
    pub candidate_head_us: BTreeMap<String, u64>,
}

/// What was sent to one version of the candidate in a span of time in which several counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateBucket {
    /// As recorded; may be empty.
    pub candidate_version: String,
    /// As `compared` of the bucket.
    pub compared: u64,
    /// As `candidate_unanswered` of the bucket.
    pub unanswered: u64,
    /// As `breaker_open` of the bucket.
    pub breaker_open: u64,
}

/// What tallies are evidence for, and when they began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryIdentity {
    /// As recorded; may be empty.
    pub legacy_version: String,
    /// As recorded; may be empty.
    pub candidate_version: String,
    /// Hash of the rules.
    pub rules_hash: String,
    /// When the first of its intervals in the range began.
    pub first: Timestamp,
    /// When the last one began.
    pub last: Timestamp,
}

/// A stretch of time in which a version of the candidate gave no answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateOutage {
    /// As recorded; may be empty.
    pub candidate_version: String,
    /// The begin of the first step in which it failed.
    pub from: Timestamp,
    /// The end of the last one. Where a mirror has seen it and it goes on, when that mirror last said so.
    pub to: Timestamp,
    /// How long these steps are: so exactly both times are known. 1 where a mirror has seen the first and the last failure itself.
    pub step_seconds: u64,
    /// Whether it answered again. Otherwise nothing that it answered is recorded behind it.
    pub ended: bool,
    /// When it answered again, where a mirror has seen that itself.
    #[serde(default)]
    pub answered: Option<Timestamp>,
    /// Requests that were sent to it in this time. Of a step in which it answered most, only those that failed: when the others
    /// were sent is not known.
    pub sent: u64,
    /// Those of them that it did not answer.
    pub unanswered: u64,
    /// Requests that were not sent to it, because it kept failing.
    pub not_sent: u64,
}

/// A stretch of time in which clients that were there got no whole answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientOutage {
    /// The begin of the first step in which one of them did not.
    pub from: Timestamp,
    /// The end of the last one.
    pub to: Timestamp,
    /// How long these steps are, as in [`CandidateOutage`].
    pub step_seconds: u64,
    /// Whether requests behind it got their answers.
    pub ended: bool,
    /// How many got none.
    pub failed: u64,
    /// Why; outcomes without a count are absent.
    pub clients: Clients,
}

/// A stretch of time in which no process recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unrecorded {
    /// When the last process before was last heard of.
    pub from: Timestamp,
    /// When the next one began; `None` if none has.
    pub to: Option<Timestamp>,
    /// The process that was there before.
    pub before: String,
    /// The one that came next; empty if none has.
    pub after: String,
}

/// A group of differences that is new.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewGroup {
    /// Sixteen hex digits.
    pub fingerprint: String,
    /// `METHOD /template`.
    pub route: String,
    /// What differs there, in words.
    pub what: String,
    /// When it was first seen.
    pub first_seen: Timestamp,
    /// Mismatches with it since then.
    pub count: u64,
}

/// One route over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RouteHistory {
    /// `METHOD /template`.
    pub route: String,
    /// In the whole range.
    pub received: u64,
    /// In the whole range.
    pub compared: u64,
    /// In the whole range.
    pub differing: u64,
    /// Since when it differs; `None` as for all routes.
    #[serde(default)]
    pub onset: Option<Onset>,
    /// What was compared, for each bucket from `window.from` on, also for those without tallies.
    pub compared_by_bucket: Vec<u64>,
    /// What of it differs.
    pub differing_by_bucket: Vec<u64>,
    /// What of it counts against the candidate without a group, because it failed.
    #[serde(default)]
    pub candidate_failures_by_bucket: Vec<u64>,
}

/// One group of differences over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupHistory {
    /// Sixteen hex digits.
    pub fingerprint: String,
    /// `METHOD /template`; empty if it was not seen in the range.
    pub route: String,
    /// Mismatches with a finding of it, in the whole range.
    pub count: u64,
    /// When it was first seen in the range; `None` if it was not.
    pub first_seen: Option<Timestamp>,
    /// When it was last seen in the range.
    pub last_seen: Option<Timestamp>,
    /// Mismatches, for each bucket from `window.from` on.
    pub count_by_bucket: Vec<u64>,
}

vocabulary! {
    /// How the rate of differing requests stands to the allowed one, over time.
    OnsetState as "state of parity over time" {
        /// Never more than is allowed.
        Holds = "holds" => "no stretch of time has a higher rate than is allowed",
        /// It is too high, up to the end.
        Differs = "differs" => "the rate is higher than is allowed, up to the end",
        /// It was too high, and is not any more.
        Differed = "differed" => "the rate was higher than is allowed, and is within it again",
        /// Some buckets have a higher rate than is allowed, and too few requests to prove it.
        Open = "open" => "some buckets have a higher rate than is allowed, which too few requests show to prove it",
        /// Nothing was compared.
        Nothing = "nothing" => "nothing was compared",
    }
}

/// Since when the services differ by more than is allowed, as far as buckets tell: of one version of the candidate, unless a
/// history has several and none was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Onset {
    /// How it stands.
    pub state: OnsetState,
    /// The highest allowed share of differing requests.
    pub allowed: f64,
    /// When the last time began in which the rate is higher; with `holds` and `nothing`, `None`.
    pub from: Option<Timestamp>,
    /// The end of its last such bucket.
    pub to: Option<Timestamp>,
    /// What that stretch has, from `from` to `to`.
    pub stretch: Compared,
    /// What was compared before it, in the range: as far back as the rate is not higher, and at the earliest from the begin.
    pub before: Compared,
    /// The end of the last bucket before it in which anything was compared. The change lies between that and the end of the
    /// first bucket of the stretch; `None` if nothing was compared before, so that it may be older than the range.
    pub after: Option<Timestamp>,
    /// What was compared behind it, up to the end.
    #[serde(default)]
    pub since: Compared,
    /// That it differed before that in the range, too, with times in between in which it did not.
    #[serde(default)]
    pub earlier: Option<Earlier>,
    /// How exactly `from` and `to` are known: the steps by which they were found, which may be shorter than the buckets; 0 of an older
    /// program, whose steps were the buckets.
    #[serde(default)]
    pub step_seconds: u64,
}

/// When the services differed by more than is allowed before they do so now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Earlier {
    /// How often, with calm times in between that are no chance.
    pub times: u64,
    /// When the first of them began.
    pub from: Timestamp,
    /// When the last of them ended.
    pub to: Timestamp,
}

impl Earlier {
    /// Together with others, which may have been before or behind.
    #[must_use]
    pub fn with(self, other: Option<Self>) -> Self {
        other.map_or(self, |other| Self {
            times: self.times.saturating_add(other.times),
            from: self.from.min(other.from),
            to: self.to.max(other.to),
        })
    }
}

/// How many requests were compared, and differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// Compared requests.
    pub compared: u64,
    /// Those of them that count against the candidate.
    pub differing: u64,
}

impl Compared {
    /// Together with others.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self {
            compared: self.compared.saturating_add(other.compared),
            differing: self.differing.saturating_add(other.differing),
        }
    }

    /// differing / compared; 0 where nothing was compared.
    pub fn rate(self) -> f64 {
        self.differing as f64 / self.compared.max(1) as f64
    }
}

impl History {
    /// The place of a bucket in the lists that have all of them.
    pub fn place(&self, bucket: &HistoryBucket) -> Option<usize> {
        let micros = i64::try_from(self.bucket_seconds)
            .ok()?
            .checked_mul(1_000_000)?;
        let from = self.window?.from;
        let since = bucket.from.as_micros().checked_sub(from.as_micros())?;
        usize::try_from(since.checked_div(micros)?).ok()
    }

    /// The versions of the candidate that counted in a bucket.
    pub fn versions(&self, bucket: &HistoryBucket) -> BTreeSet<&str> {
        let places = bucket.identities.iter();
        let known = places.filter_map(|place| self.identities.get(*place as usize));
        known
            .map(|identity| identity.candidate_version.as_str())
            .collect()
    }

    /// How many buckets the range has, with those that are absent.
    pub fn places(&self) -> usize {
        let Some(window) = self.window else {
            return 0;
        };
        let micros =
            i64::try_from(self.bucket_seconds.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
        let length = window
            .to
            .as_micros()
            .saturating_sub(window.from.as_micros());
        usize::try_from(length / micros.max(1)).unwrap_or(0)
    }
}
