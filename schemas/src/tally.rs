//! Counts of verdicts per route and interval, from one instance.
//!
//! A tally is a running total of its interval: while the interval is open the instance writes it again and again
//! under the same id with a higher `revision`, and the highest revision is the truth. So at most one write interval
//! of counts is lost with the process, the number of rows stays at one per route and interval, and writing a tally
//! twice changes nothing. Reports and decisions count from tallies only.

mod groups;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::attributes::AttributeCounts;
use crate::clients::{ClientOutcome, Clients};
use crate::field_share::FieldCounts;
use crate::histogram::Histogram;
use crate::recheck::{ClassCounts, RecheckEvent, add_counts, complete_classes};
use crate::targets::{DistinctTargets, FrequentTargets};
use crate::time::Timestamp;
use crate::verdict::Reason;

pub use groups::{Group, GroupTally, MAX_GROUPS_OF_SET, SetTally, set_id};

/// Length of the interval that one tally covers: long enough that a year of a hundred routes is a few gigabytes,
/// short enough for a `--since` in minutes.
pub const INTERVAL_MICROS: i64 = 60_000_000;

/// The number of the minute (interval) that contains a time.
pub fn minute(time: Timestamp) -> i64 {
    time.as_micros().div_euclid(INTERVAL_MICROS)
}

/// What tallies must have in common to be added up as one evidence.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Identity {
    /// The name of the migration from legacy to candidate.
    pub migration: String,
    /// As given by the operator; may be empty.
    pub legacy_version: String,
    /// As given by the operator; may be empty.
    pub candidate_version: String,
    /// Hash of all rules that decide what is equal.
    pub rules_hash: String,
}

/// How requests ended. `received` is counted on its own, where the request head is parsed. It is settled twice: by what
/// the client got, and by the verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenCounts")]
pub struct Counts {
    /// Request heads parsed.
    pub received: u64,
    /// What became of the clients, by outcome; outcomes without a count are absent.
    pub clients: Clients,
    /// Verdict `match`.
    #[serde(rename = "match")]
    pub matched: u64,
    /// Verdict `mismatch`.
    pub mismatch: u64,
    /// The mismatches by class; their sum is `mismatch`. Those of older programs are unconfirmed.
    pub classes: ClassCounts,
    /// What happened to rechecks and controls; what did not happen is absent.
    pub rechecks: BTreeMap<RecheckEvent, u64>,
    /// Verdict `not_compared`, by reason; reasons without a count are absent.
    pub not_compared: BTreeMap<Reason, u64>,
    /// Answers of the legacy in exchanges with a verdict, `match` or `mismatch`, by status class. Counts of older
    /// programs do not include them, so their sum may be smaller than that of the verdicts.
    pub legacy_answers: Clients,
    /// Of a sample of the exchanges with a verdict: the fields of the legacy's answer, and those that rules leave to compare.
    /// Absent in counts of older programs: not known.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: FieldCounts,
}

/// Counts as they are stored, also by older programs.
#[derive(Deserialize, JsonSchema)]
struct WrittenCounts {
    /// Request heads parsed.
    received: u64,
    /// What became of the clients, by outcome; outcomes without a count are absent. Older programs do not tell.
    clients: Option<Clients>,
    /// Verdict `match`.
    #[serde(rename = "match")]
    matched: u64,
    /// Verdict `mismatch`.
    mismatch: u64,
    /// The mismatches by class; their sum is `mismatch`. Older programs do not tell: unconfirmed.
    #[serde(default)]
    classes: ClassCounts,
    /// What happened to rechecks and controls; what did not happen is absent.
    #[serde(default)]
    rechecks: BTreeMap<RecheckEvent, u64>,
    /// Verdict `not_compared`, by reason; reasons without a count are absent.
    not_compared: BTreeMap<Reason, u64>,
    /// What the legacy answered where there is a verdict, `match` or `mismatch`, by the class of the status. Older programs
    /// do not tell.
    #[serde(default)]
    legacy_answers: Clients,
    /// Of a sample of the exchanges with a verdict: the fields of the legacy's answer, and those that rules leave to compare.
    /// Older programs do not tell.
    #[serde(default)]
    fields: FieldCounts,
}

impl From<WrittenCounts> for Counts {
    fn from(written: WrittenCounts) -> Self {
        Self {
            received: written.received,
            clients: written
                .clients
                .unwrap_or_else(|| Self::clients_not_recorded(written.received)),
            matched: written.matched,
            mismatch: written.mismatch,
            classes: complete_classes(written.classes, written.mismatch),
            rechecks: written.rechecks,
            not_compared: written.not_compared,
            legacy_answers: written.legacy_answers,
            fields: written.fields,
        }
    }
}

impl Counts {
    /// The client outcomes of `received` requests that an older program counted without outcomes.
    pub fn clients_not_recorded(received: u64) -> Clients {
        (received > 0)
            .then_some((ClientOutcome::NotRecorded, received))
            .into_iter()
            .collect()
    }

    /// Adds what `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.received += other.received;
        add_counts(&mut self.clients, &other.clients);
        self.matched += other.matched;
        self.mismatch += other.mismatch;
        add_counts(&mut self.classes, &other.classes);
        add_counts(&mut self.rechecks, &other.rechecks);
        add_counts(&mut self.not_compared, &other.not_compared);
        add_counts(&mut self.legacy_answers, &other.legacy_answers);
        add_counts(&mut self.fields, &other.fields);
    }

    /// Requests that have an outcome. At rest this equals `received` (invariant 2).
    pub fn settled(&self) -> u64 {
        self.matched + self.mismatch + self.not_compared.values().sum::<u64>()
    }

    /// Requests whose client has an outcome. At rest this equals `received`, too.
    pub fn clients_settled(&self) -> u64 {
        self.clients.values().sum()
    }

    /// Clients that were there and did not get a whole answer (see [`ClientOutcome::is_failure`]).
    pub fn clients_failed(&self) -> u64 {
        self.clients_where(ClientOutcome::is_failure)
    }

    /// Clients that got the whole answer of the service that served them, whatever it said.
    pub fn clients_answered(&self) -> u64 {
        self.clients_where(ClientOutcome::is_answered)
    }

    fn clients_where(&self, wanted: impl Fn(ClientOutcome) -> bool) -> u64 {
        self.clients
            .iter()
            .filter(|(outcome, _)| wanted(**outcome))
            .map(|(_, count)| count)
            .sum()
    }

    /// Times the candidate failed, or only its answer could not be compared.
    pub fn candidate_failures(&self) -> u64 {
        self.sum_where(Reason::is_candidate_failure)
    }

    /// How the candidate failed, or why only its answer could not be compared, with the most frequent first.
    pub fn failures_by_reason(&self) -> Vec<(Reason, u64)> {
        let counts = self.not_compared.iter();
        let mut failures: Vec<(Reason, u64)> = counts
            .map(|(reason, count)| (*reason, *count))
            .filter(|(reason, count)| reason.is_candidate_failure() && *count > 0)
            .collect();
        failures.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), *reason));
        failures
    }

    /// What the candidate did not give, where none of so many `differing` requests is one whose answers differ: it failed in all of them, so
    /// there is nothing that would differ. `None` where some answer differs, or nothing does.
    pub fn lacking(&self, differing: u64) -> Option<&'static str> {
        if differing == 0 || self.candidate_failures() < differing {
            return None;
        }
        let mut reasons = self.failures_by_reason().into_iter();
        let is_answered = reasons.any(|(reason, _)| !reason.is_unanswered());
        Some(if is_answered {
            "answer of the candidate that can be compared"
        } else {
            "whole answer of the candidate"
        })
    }

    /// Requests without a time of the candidate, which it may be the cause of (see [`Reason::hides_candidate_time`]).
    pub fn hidden_times(&self) -> u64 {
        self.sum_where(Reason::hides_candidate_time)
    }

    /// Times we gave up ourselves.
    pub fn our_drops(&self) -> u64 {
        self.sum_where(Reason::is_our_drop)
    }

    /// Times that nothing could be compared because of the client, the legacy, or both services (see
    /// [`Reason::is_uncomparable`]).
    pub fn uncomparable(&self) -> u64 {
        self.sum_where(Reason::is_uncomparable)
    }

    /// What the gate counts for or against the candidate: match + mismatch + candidate failures.
    pub fn compared(&self) -> u64 {
        self.matched + self.mismatch + self.candidate_failures()
    }

    /// What the gate counts against it: mismatch + candidate failures.
    pub fn differing(&self) -> u64 {
        self.mismatch + self.candidate_failures()
    }

    fn sum_where(&self, wanted: impl Fn(Reason) -> bool) -> u64 {
        self.not_compared
            .iter()
            .filter(|(reason, _)| wanted(**reason))
            .map(|(_, count)| count)
            .sum()
    }
}

/// One route in one interval, as one instance counted it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// Made by the instance when the interval began for this route.
    pub id: Uuid,
    /// Increases with every write of the same id.
    pub revision: u32,
    /// What it is evidence for.
    #[serde(flatten)]
    pub identity: Identity,
    /// Which process counted; the host name unless configured.
    pub instance: String,
    /// The run of that process, see [`crate::watermark`]. Absent in records of older programs, which is nil.
    #[serde(default)]
    pub run: Uuid,
    /// Begin of the interval, at the earliest the start of the process.
    pub interval_start: Timestamp,
    /// Its length so far in microseconds; longer than [`INTERVAL_MICROS`] only when a store was away for long.
    pub interval_us: i64,
    /// `METHOD /template`, or `_other` beyond the cardinality cap.
    pub route: String,
    /// The outcomes.
    #[serde(flatten)]
    pub counts: Counts,
    /// Differences that each rule excused, by rule id.
    pub rule_hits: BTreeMap<String, u64>,
    /// Of compared requests: from sending the request to the last byte of the answer.
    pub legacy_latency: Histogram,
    /// Of compared requests.
    pub candidate_latency: Histogram,
    /// Of compared requests: from sending the request to the head of the answer. Absent in records of older programs.
    #[serde(default)]
    pub legacy_head_latency: Histogram,
    /// Of compared requests.
    #[serde(default)]
    pub candidate_head_latency: Histogram,
    /// Names the key of the hashes by which targets are counted. Only what was counted under one key can be added up. Empty
    /// in records of older programs, which did not count targets.
    #[serde(default)]
    pub target_key: String,
    /// The distinct targets of requests with a verdict, `match` or `mismatch`.
    #[serde(default)]
    pub targets: DistinctTargets,
    /// The most frequent ones of them.
    #[serde(default)]
    pub frequent_targets: FrequentTargets,
    /// Attributes of requests with a verdict, `match` or `mismatch`. Absent in records of older programs.
    #[serde(default)]
    pub attributes: AttributeCounts,
}

/// Gives the columns of `tallies` to a macro, see [`crate::table`].
#[macro_export]
macro_rules! tally_columns {
    ($with:ident $($given:tt)*) => {
        $with! {
            [$($given)*]
            Key id: Id = id;
            Grown revision: Number = revision;
            Fixed migration: Label = identity.migration;
            Fixed legacy_version: Label = identity.legacy_version;
            Fixed candidate_version: Label = identity.candidate_version;
            Fixed rules_hash: Label = identity.rules_hash;
            Fixed(By) instance: Label = instance;
            Fixed(Min) interval_start: Time = interval_start;
            Grown(Interval) interval_us: Span = interval_us;
            Fixed(By) route: Label = route;
            Grown(Sum) received: Count = counts.received;
            Grown(Sum) r#match: Count = counts.matched;
            Grown(Sum) mismatch: Count = counts.mismatch;
            Grown(Sum) not_compared: Counts = counts.not_compared;
            Grown(Detail) rule_hits: Counts = rule_hits;
            Grown(Detail) legacy_latency: Buckets = legacy_latency;
            Grown(Detail) candidate_latency: Buckets = candidate_latency;
            Grown(Sum) clients: ClientCounts = counts.clients;
            Grown(Detail) legacy_head_latency: Buckets = legacy_head_latency;
            Grown(Detail) candidate_head_latency: Buckets = candidate_head_latency;
            Fixed(By) run: Run = run;
            Grown(Sum) legacy_answers: Counts = counts.legacy_answers;
            Grown(Sum) classes: Counts = counts.classes, since 1;
            Grown(Sum) rechecks: Counts = counts.rechecks, since 1;
            Fixed(By) target_key: Label = target_key, since 1;
            Grown(Max) targets: Registers = targets, since 1;
            Grown(Frequent) frequent_targets: Hashes = frequent_targets, since 1;
            Grown(Detail) attributes: Counts = attributes, since 2;
            Grown(Sum) fields: Counts = counts.fields, since 3;
        }
    };
}

#[cfg(test)]
mod tests;
