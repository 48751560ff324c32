//! What a decision is made from, and what it says.
//!
//! Evidence is the sum of the tallies of one identity within one window. A [`Decision`] repeats what it was bound to,
//! so that it can be checked years later without the tallies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clients::Clients;
use crate::histogram::Histogram;
use crate::known::{KnownUse, NewDifferences};
use crate::noise::{Excused, NoiseGroup};
use crate::recheck::{ClassCounts, EvidenceCounts};
use crate::tally::{Counts, Group, Identity};
use crate::targets::TargetEvidence;
use crate::terms::{Coverage, Terms};
use crate::time::Timestamp;
use crate::watermark::{InstanceWatermark, Run};

pub mod carried;
mod errors;
mod latency;
mod left_out;
mod outcome;
mod thresholds;

use carried::CarriedRules;
pub use errors::{ErrorDecision, LegacyErrors};
pub use latency::{LatencyDecision, LatencyLimit, NoLatencyLimit, TimesBetween};
pub use left_out::{LeftOut, LeftOutSpan, NoLeftOutSpan};
pub use outcome::Outcome;
pub use thresholds::{Bound, Thresholds};

/// From the begin of the first interval to the end of the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Inclusive.
    pub from: Timestamp,
    /// Exclusive.
    pub to: Timestamp,
}

/// The counts of one route.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouteEvidence {
    /// `METHOD /template`.
    pub route: String,
    /// Its outcomes.
    #[serde(flatten)]
    pub counts: Counts,
    /// The targets of its requests with a verdict. In no document: what is shown of them is in those of a decision.
    #[serde(skip)]
    pub targets: TargetEvidence,
    /// The legacy's times to the first byte, if they were asked for. In no document, as before.
    #[serde(skip)]
    pub legacy_head_latency: Histogram,
    /// The candidate's.
    #[serde(skip)]
    pub candidate_head_latency: Histogram,
}

/// The tallies of one identity and window, added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What the tallies have in common.
    pub identity: Identity,
    /// What they cover.
    pub window: Window,
    /// Who counted, sorted.
    pub instances: Vec<String>,
    /// By route, sorted by name.
    pub routes: Vec<RouteEvidence>,
    /// The groups of the mismatches, sorted by route and fingerprint.
    pub groups: Vec<GroupEvidence>,
    /// How many mismatches had exactly the same groups, sorted by route and groups. Not all mismatches are in a set.
    pub sets: Vec<SetEvidence>,
    /// The runs that counted it, with their watermarks.
    pub runs: Vec<Run>,
    /// What was counted under earlier rules and still holds, the newest first. It is part of the counts here.
    pub carried: Vec<CarriedRules>,
    /// What there is of the same versions under other rules, the newest first; none of it is counted here.
    pub other_rules: Vec<OtherRules>,
    /// What was left out on demand; none of it is counted here.
    pub left_out: Vec<LeftOut>,
    /// Routes that were compared in what was left out, or in the day before the begin that was asked for, and not in what is counted
    /// here; a hundred at most, by name.
    pub only_left_out: Vec<String>,
    /// What of it was counted last, if that was asked for; see [`RecentCounts`].
    pub recent: Vec<RecentCounts>,
}

/// How many kinds of slices of time there are, by their length.
pub const RECENT_SLICES: usize = 3;

/// What was counted since the begin of a slice of time: the one before the last, of those of one length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentCounts {
    /// When that slice began.
    pub from: Timestamp,
    /// So many slices of this length began before it since the evidence did, or with it: 1 for the first after that.
    pub number: u64,
    /// By route.
    pub routes: Vec<RouteEvidence>,
    /// The groups of the mismatches.
    pub groups: Vec<GroupEvidence>,
    /// Their sets.
    pub sets: Vec<SetEvidence>,
}

/// What was counted of one group of mismatches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupEvidence {
    /// `METHOD /template`.
    pub route: String,
    /// What the mismatches have in common.
    pub group: Group,
    /// Mismatches with a finding of the group.
    pub count: u64,
    /// Them by the class of the group in them; their sum is `count`.
    pub classes: ClassCounts,
    /// What was counted of the second answers. Of [`RecheckEvidence::Targets`](crate::recheck::RecheckEvidence::Targets),
    /// the largest number of a single process, because two processes may have seen the same ones.
    pub evidence: EvidenceCounts,
    /// When it was last seen.
    pub last_seen: Timestamp,
}

impl GroupEvidence {
    /// The order of [`Evidence::groups`].
    pub fn order(one: &Self, other: &Self) -> std::cmp::Ordering {
        (&one.route, &one.group.fingerprint).cmp(&(&other.route, &other.group.fingerprint))
    }
}

/// How many mismatches of a route had exactly these groups.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SetEvidence {
    /// `METHOD /template`.
    pub route: String,
    /// The groups, sorted.
    pub fingerprints: Vec<String>,
    /// The mismatches by class.
    pub classes: ClassCounts,
    /// Those of them about which the configuration never asks again: what others show says nothing of them.
    #[serde(default)]
    pub never_asked: u64,
}

/// Evidence of the same migration and versions under other rules: it answers another question, so it is not added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherRules {
    /// The hash of those rules.
    pub rules_hash: String,
    /// When the first run under them began.
    pub from: Timestamp,
    /// When the last one was last heard of.
    pub to: Timestamp,
    /// Why nothing of it is carried over to the present rules, in one sentence without a full stop. Absent in documents of
    /// older programs, and where nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Evidence {
    /// All routes added up.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        for route in &self.routes {
            total.merge(&route.counts);
        }
        total
    }

    /// The targets of all routes.
    pub fn targets(&self) -> TargetEvidence {
        let mut all = TargetEvidence::default();
        for route in &self.routes {
            all.merge(&route.targets);
        }
        all
    }
}

/// What a decision says of one route, or of all together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RouteDecision {
    /// `METHOD /template`; empty in the total.
    pub route: String,
    /// Requests received. 0 in documents of older programs.
    #[serde(default)]
    pub received: u64,
    /// Their share of all requests received, 0..=1. 0 in documents of older programs.
    #[serde(default)]
    pub traffic: f64,
    /// It must be proven on its own. Absent in documents of older programs.
    #[serde(default)]
    pub required: bool,
    /// match + mismatch + candidate failures.
    pub compared: u64,
    /// mismatch + candidate failures, without what `excused` says of transient mismatches, noise and known differences.
    pub differing: u64,
    /// Mismatches that do not count, or may not. Absent in documents of older programs, which counted all.
    #[serde(default)]
    pub excused: Excused,
    /// Pairs that could not be compared because of the client, the legacy or both services; part of neither.
    #[serde(default)]
    pub uncomparable: u64,
    /// How many distinct targets (method, path and query) the requests with a verdict had, about; of several processes with
    /// keys of their own, the largest number of one. 0 where it is not known, as in what older programs counted.
    #[serde(default)]
    pub distinct_targets: u64,
    /// At most this share of them had the same target, 0..=1; `None` where it is not known.
    #[serde(default)]
    pub most_frequent_share: Option<f64>,
    /// It was asked for a few times, and clients never got more than a client error (4xx): a path that is not served. Nothing is
    /// decided by it alone. Absent in documents of older programs.
    #[serde(default)]
    pub unserved: bool,
    /// differing / compared; 0 without any.
    pub rate: f64,
    /// One-sided lower bound, of the kind that the thresholds name. Of several routes and the total all hold together.
    pub lower: f64,
    /// The chance of a wrong fail that the lower bound was given: the part that this test has of 1 − confidence. `None` in
    /// documents of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// One-sided upper bound; 1 where nothing was compared.
    pub upper: f64,
    /// What of `differing` is because the legacy alone answered with a server error (5xx), if that is a good part of it. Absent in documents
    /// of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legacy_errors: Option<LegacyErrors>,
    /// Of this route alone.
    pub outcome: Outcome,
    /// How many more requests, if all match, would make it pass; 0 when it is settled, and when no number of requests would
    /// settle it: because rechecks or a rule must (`excused.open`), or because the candidate is never asked.
    pub needed: u64,
    /// All that was counted of the route of this name; `None` in the total, if it was never received, and in documents of
    /// older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<OwnCounts>,
}

/// All that was counted of one route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnCounts {
    /// Its outcomes.
    #[serde(flatten)]
    pub counts: Counts,
    /// Mismatches that do not count, or may not.
    #[serde(default)]
    pub excused: Excused,
}

/// How much a decision says: of how many routes, and of which it says nothing. Routes that are not served are in none of
/// these counts but `unserved`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scope {
    /// Routes that were received or required.
    pub routes: u64,
    /// Among them, those that are proven on their own to be within what is allowed.
    pub proven: u64,
    /// Those that are proven to be outside of it.
    pub failed: u64,
    /// Those of which too little was compared to prove either.
    pub open: u64,
    /// Those of which nothing was ever compared, or not since their counts began anew.
    pub never_compared: Vec<String>,
    /// Routes that are not served.
    pub unserved: u64,
}

/// What a decision was bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceSummary {
    /// As recorded.
    pub legacy_version: String,
    /// As recorded.
    pub candidate_version: String,
    /// As recorded.
    pub rules_hash: String,
    /// Begin of the window.
    pub from: Timestamp,
    /// End of the window.
    pub to: Timestamp,
    /// Who counted.
    pub instances: Vec<String>,
    /// Everything received before is settled and counted, but for what `watermarks` says otherwise; `None` when that is
    /// not known. Absent in documents of older programs.
    #[serde(default)]
    pub complete_until: Option<Timestamp>,
    /// How far the record of each process is complete. Absent in documents of older programs.
    #[serde(default)]
    pub watermarks: Vec<InstanceWatermark>,
    /// What was counted under earlier rules and still holds, the newest first; it is counted here, and not part of the
    /// window above. Absent in documents of older programs.
    #[serde(default)]
    pub carried: Vec<CarriedRules>,
    /// What there is of the same versions under other rules, the newest first; none of it was counted. Absent in documents
    /// of older programs.
    #[serde(default)]
    pub other_rules: Vec<OtherRules>,
    /// What was left out on demand; none of it was counted. Absent in documents of older programs.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// Routes that were compared in what was left out, or in the day before the begin that was asked for, and not in what was counted;
    /// a hundred at most, by name. Absent in documents of older programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_left_out: Vec<String>,
}

/// Under which terms a part of the evidence was counted. The text of the rules is in the record, under their hash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecidedTerms {
    /// The id of the record.
    pub id: Uuid,
    /// When a mirror first counted under them.
    pub time: Timestamp,
    /// The program that counted, with its version.
    pub program: String,
    /// The hash of the rules: that of the evidence, or of earlier rules whose counts still hold. Absent in documents of older
    /// programs.
    #[serde(default)]
    pub rules_hash: String,
    /// What of the traffic was compared.
    pub coverage: Coverage,
}

impl DecidedTerms {
    /// What a decision says of terms.
    pub fn of(terms: Terms) -> Self {
        Self {
            id: terms.id,
            time: terms.time,
            program: terms.program,
            rules_hash: terms.identity.rules_hash,
            coverage: terms.coverage,
        }
    }
}

/// How many targets (method, path and query) the requests with a verdict had, of all routes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecidedTargets {
    /// About how many distinct ones.
    pub distinct: u64,
    /// Requests of which the target is not known, because an older program counted them.
    pub unknown: u64,
    /// Processes that told targets apart by keys of their own.
    pub keys: u64,
    /// All are known to have the same one.
    pub single: bool,
    /// At least this share of the requests has the most frequent one, 0..=1.
    pub at_least: f64,
}

/// Name and version of the decision document.
pub const GATE_SCHEMA: &str = "parity.gate/v1";

/// The gate's answer, as printed and as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// [`GATE_SCHEMA`].
    pub schema: String,
    /// The version of how the gate decides and says so, by which it can be decided again. 0 in documents of older programs.
    #[serde(default)]
    pub method: u32,
    /// Made when it was decided.
    pub decision_id: Uuid,
    /// When it was decided.
    pub time: Timestamp,
    /// For which effort.
    pub migration: String,
    /// The answer.
    pub outcome: Outcome,
    /// What became of the clients meanwhile. Nothing is decided from it. Absent in documents of older programs.
    #[serde(default)]
    pub clients: Clients,
    /// What is decided and for how much of the traffic, in one sentence that claims no more than was proven. Empty in documents
    /// of older programs.
    #[serde(default)]
    pub headline: String,
    /// For which routes it is decided. Absent in documents of older programs.
    #[serde(default)]
    pub scope: Scope,
    /// Why, one sentence each; the first is the weightiest.
    pub reasons: Vec<String>,
    /// What was allowed.
    pub thresholds: Thresholds,
    /// What it was decided from; `None` when nothing was recorded.
    pub evidence: Option<EvidenceSummary>,
    /// Groups that are noise or may be: first those that are proven, the most frequent first. Absent in documents of
    /// older programs.
    #[serde(default)]
    pub noise: Vec<NoiseGroup>,
    /// Entries of the register of known differences that mean groups of this evidence, in the order of the register. Absent in
    /// documents of older programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownUse>,
    /// What is new, if it was demanded that nothing is. Absent in documents of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub news: Option<NewDifferences>,
    /// All routes together.
    pub total: RouteDecision,
    /// One by one, worst first.
    pub routes: Vec<RouteDecision>,
    /// What is proven of each limit of a latency, for all requests and for each required route. Absent in documents of older
    /// programs.
    #[serde(default)]
    pub latency: Vec<LatencyDecision>,
    /// What is proven of the candidate's own failures, if they have a cap: for all requests and for each required route.
    /// Absent in documents of older programs.
    #[serde(default)]
    pub candidate_errors: Vec<ErrorDecision>,
    /// The targets of what was compared. Absent in documents of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<DecidedTargets>,
    /// For how many milliseconds it paused between its looks, for watermarks or for traffic: 0 if the first look was enough.
    /// Absent in documents of older programs.
    #[serde(default)]
    pub waited_ms: u64,
    /// Under which terms the evidence was counted, the latest first: which share of which requests was compared. Empty in
    /// documents of older programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<DecidedTerms>,
    /// There are more terms than are listed: the latest are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terms_cut: bool,
    /// Whether it is in the store. Absent in documents of older programs, which stored each or ended with an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<bool>,
    /// Why it is not in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_stored: Option<String>,
}

impl Decision {
    /// As its table has it.
    pub fn row(&self) -> DecisionRow<'_> {
        let (legacy_version, candidate_version, rules_hash) = self.versions();
        DecisionRow {
            id: self.decision_id,
            migration: &self.migration,
            time: self.time,
            outcome: self.outcome,
            legacy_version,
            candidate_version,
            rules_hash,
            thresholds: &self.thresholds,
            document: self,
        }
    }

    /// Versions of both sides and the rules hash that it was bound to; empty when nothing was recorded.
    pub fn versions(&self) -> (&str, &str, &str) {
        match &self.evidence {
            Some(evidence) => (
                &evidence.legacy_version,
                &evidence.candidate_version,
                &evidence.rules_hash,
            ),
            None => ("", "", ""),
        }
    }
}

/// A decision, and what it is looked for by.
#[derive(Clone, Copy, Debug)]
pub struct DecisionRow<'a> {
    /// The decision's.
    pub id: Uuid,
    /// The decision's.
    pub migration: &'a str,
    /// The decision's.
    pub time: Timestamp,
    /// The decision's.
    pub outcome: Outcome,
    /// See [`Decision::versions`].
    pub legacy_version: &'a str,
    /// The same.
    pub candidate_version: &'a str,
    /// The same.
    pub rules_hash: &'a str,
    /// What was allowed.
    pub thresholds: &'a Thresholds,
    /// All of it.
    pub document: &'a Decision,
}

/// Gives the columns of `decisions` to a macro, see [`crate::table`].
#[macro_export]
macro_rules! decision_columns {
    ($with:ident $($given:tt)*) => {
        $with! {
            [$($given)*]
            Key id: Id = id;
            Fixed migration: Label = migration;
            Fixed time: Time = time;
            Fixed outcome: Word = outcome;
            Fixed legacy_version: Label = legacy_version;
            Fixed candidate_version: Label = candidate_version;
            Fixed rules_hash: Label = rules_hash;
            Fixed thresholds: Document = thresholds;
            Fixed document: Document = document;
        }
    };
}
