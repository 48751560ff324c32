//! What is written to a store: redacted, bounded, idempotent by id.
//!
//! The types are the columns of every store, under the same names. A [`Mismatch`] can only be made
//! from captured values by the comparator's `redact` module.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::audit::Audit;
use crate::evidence::Decision;
pub use crate::recheck::MismatchClass;
use crate::route::split_operation;
use crate::tally::{GroupTally, Identity, SetTally, Tally};
use crate::terms::Terms;
use crate::time::Timestamp;
use crate::verdict::{Explanation, Kind, Part, Tolerated};
use crate::watermark::Watermark;

/// Version of the records as JSON, sent with each one (see [`VERSION_HEADER`]). Raised for a change that an older
/// reader would misunderstand, but not for a field that an older reader may ignore.
pub const RECORD_VERSION: u32 = 1;
/// Header of a message that names the [`RecordType`].
pub const TYPE_HEADER: &str = "parity-type";
/// Header of a message that holds the [`RECORD_VERSION`] of its writer, in decimal.
pub const VERSION_HEADER: &str = "parity-schema-version";

/// What a record is; the word that stands in [`TYPE_HEADER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordType {
    /// [`Mismatch`].
    Mismatch,
    /// [`Tally`].
    Tally,
    /// [`GroupTally`].
    GroupTally,
    /// [`SetTally`].
    SetTally,
    /// [`Decision`].
    Decision,
    /// [`Terms`].
    Terms,
    /// [`Audit`].
    Audit,
    /// [`Watermark`].
    Watermark,
}

impl RecordType {
    /// Every type, in the order in which a store should get them: a tally never comes behind its groups and sets, and what says
    /// how far the record is complete comes last.
    pub const ALL: [Self; 8] = [
        Self::Tally,
        Self::GroupTally,
        Self::SetTally,
        Self::Mismatch,
        Self::Decision,
        Self::Terms,
        Self::Audit,
        Self::Watermark,
    ];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mismatch => "mismatch",
            Self::Tally => "tally",
            Self::GroupTally => "group_tally",
            Self::SetTally => "set_tally",
            Self::Decision => "decision",
            Self::Terms => "terms",
            Self::Audit => "audit",
            Self::Watermark => "watermark",
        }
    }

    /// The table that holds it, in every store.
    pub const fn table(self) -> &'static str {
        match self {
            Self::Mismatch => "mismatches",
            Self::Tally => "tallies",
            Self::GroupTally => "group_tallies",
            Self::SetTally => "set_tallies",
            Self::Decision => "decisions",
            Self::Terms => "terms",
            Self::Audit => "audit",
            Self::Watermark => "watermarks",
        }
    }

    /// The type of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == word)
    }
}

/// Any record that is stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// One exchange that differed.
    Mismatch(Box<Mismatch>),
    /// Counts of a route and interval.
    Tally(Box<Tally>),
    /// Counts of a group within a tally.
    GroupTally(Box<GroupTally>),
    /// Counts of a set of groups within a tally.
    SetTally(Box<SetTally>),
    /// A decision of the gate.
    Decision(Box<Decision>),
    /// Under which terms requests were counted.
    Terms(Box<Terms>),
    /// A change of a running process.
    Audit(Box<Audit>),
    /// How far the record of a process is complete.
    Watermark(Box<Watermark>),
}

impl Record {
    /// What it is.
    pub const fn record_type(&self) -> RecordType {
        match self {
            Self::Mismatch(_) => RecordType::Mismatch,
            Self::Tally(_) => RecordType::Tally,
            Self::GroupTally(_) => RecordType::GroupTally,
            Self::SetTally(_) => RecordType::SetTally,
            Self::Decision(_) => RecordType::Decision,
            Self::Terms(_) => RecordType::Terms,
            Self::Audit(_) => RecordType::Audit,
            Self::Watermark(_) => RecordType::Watermark,
        }
    }

    /// The id by which a store deduplicates it.
    pub const fn id(&self) -> Uuid {
        match self {
            Self::Mismatch(mismatch) => mismatch.id,
            Self::Tally(tally) => tally.id,
            Self::GroupTally(group) => group.tally_id,
            Self::SetTally(set) => set.tally_id,
            Self::Decision(decision) => decision.decision_id,
            Self::Terms(terms) => terms.id,
            Self::Audit(audit) => audit.id,
            Self::Watermark(watermark) => watermark.id,
        }
    }

    /// Appends it as one JSON object, by the schema of its type.
    pub fn write_json(&self, to: &mut Vec<u8>) {
        let written = match self {
            Self::Mismatch(mismatch) => serde_json::to_writer(to, mismatch),
            Self::Tally(tally) => serde_json::to_writer(to, tally),
            Self::GroupTally(group) => serde_json::to_writer(to, group),
            Self::SetTally(set) => serde_json::to_writer(to, set),
            Self::Decision(decision) => serde_json::to_writer(to, decision),
            Self::Terms(terms) => serde_json::to_writer(to, terms),
            Self::Audit(audit) => serde_json::to_writer(to, audit),
            Self::Watermark(watermark) => serde_json::to_writer(to, watermark),
        };
        written.expect("records are made of strings, numbers and lists only, and memory takes all");
    }
}

/// A finding as it may leave the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedFinding {
    /// Which group it belongs to.
    pub fingerprint: String,
    /// Which part of the answer.
    pub part: Part,
    /// JSON Pointer or header name.
    pub path: String,
    /// The candidate's path, where it differs.
    pub candidate_path: Option<String>,
    /// The generalized path.
    pub pattern: String,
    /// How the sides differ.
    pub kind: Kind,
    /// Redacted value of the legacy.
    pub legacy: Option<String>,
    /// Redacted value of the candidate.
    pub candidate: Option<String>,
    /// How near they are.
    pub explanation: Option<Explanation>,
    /// For text bodies: a unified diff, capped and redacted.
    pub text_diff: Option<String>,
}

/// A request or an answer as it may leave the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedMessage {
    /// Header names and redacted values, in the order received.
    pub headers: Vec<(String, String)>,
    /// The redacted body as text; for bytes that are no text, `hmac:…` of them.
    pub body: String,
    /// Length of the original body in bytes, as received; at least that of one that was not kept, and 0 of one without an
    /// end.
    pub body_bytes: u64,
    /// The recorded text was cut at the limit for samples; nothing is left of a body that was not kept.
    pub body_cut: bool,
}

/// The full exchange behind a mismatch, kept for the first few of each group and interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// What the client sent.
    pub request: RecordedMessage,
    /// What the client got.
    pub legacy: RecordedMessage,
    /// What the candidate would have answered.
    pub candidate: RecordedMessage,
}

/// One exchange that differed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mismatch {
    /// Made where the exchange was compared.
    pub id: Uuid,
    /// What it is evidence for.
    #[serde(flatten)]
    pub identity: Identity,
    /// When the request was received.
    pub time: Timestamp,
    /// Which process compared it.
    pub instance: String,
    /// `METHOD /template`.
    pub route: String,
    /// The method.
    pub method: String,
    /// The path as received, redacted.
    pub path: String,
    /// The query as received, redacted; empty without one.
    pub query: String,
    /// The groups it belongs to, each once.
    pub fingerprints: Vec<String>,
    /// What differs.
    pub findings: Vec<RecordedFinding>,
    /// There were more findings than are listed.
    pub findings_cut: bool,
    /// What differs but counts as equal; 256 at most.
    pub tolerated: Vec<Tolerated>,
    /// Status code of the legacy.
    pub legacy_status: u16,
    /// Status code of the candidate.
    pub candidate_status: u16,
    /// Time of the legacy's answer in microseconds.
    pub legacy_us: u64,
    /// Time of the candidate's answer in microseconds.
    pub candidate_us: u64,
    /// 32 hex digits from `traceparent`; empty without one.
    pub trace_id: String,
    /// See [`MismatchClass`].
    pub class: MismatchClass,
    /// For the first few of a group and interval.
    pub sample: Option<Sample>,
}

impl Mismatch {
    /// See [`target`].
    pub fn target(&self) -> String {
        target(&self.path, &self.query, &self.route)
    }
}

/// What a request asked for, as a person names it: path, query, and of GraphQL the operation, whose path and method are
/// those of all others.
pub fn target(path: &str, query: &str, route: &str) -> String {
    let mut text = path.to_owned();
    if !query.is_empty() {
        text.push('?');
        text.push_str(query);
    }
    if let Some((_, operation)) = split_operation(route) {
        text.push(' ');
        text.push_str(operation);
    }
    text
}

/// Gives the columns of `mismatches` to a macro, see [`crate::table`].
#[macro_export]
macro_rules! mismatch_columns {
    ($with:ident $($given:tt)*) => {
        $with! {
            [$($given)*]
            Key id: Id = id;
            Fixed migration: Label = identity.migration;
            Fixed legacy_version: Label = identity.legacy_version;
            Fixed candidate_version: Label = identity.candidate_version;
            Fixed rules_hash: Label = identity.rules_hash;
            Fixed time: Time = time;
            Fixed instance: Label = instance;
            Fixed route: Label = route;
            Fixed method: Label = method;
            Fixed path: Text = path;
            Fixed query: Text = query;
            Fixed fingerprints: Texts = fingerprints;
            Fixed findings: Findings = findings;
            Fixed findings_cut: Flag = findings_cut;
            Fixed tolerated: Tolerations = tolerated;
            Fixed legacy_status: Status = legacy_status;
            Fixed candidate_status: Status = candidate_status;
            Fixed legacy_us: Count = legacy_us;
            Fixed candidate_us: Count = candidate_us;
            Fixed trace_id: Text = trace_id;
            Fixed class: Word = class;
            Fixed sample: OptionalDocument = sample;
        }
    };
}
