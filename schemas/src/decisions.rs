//! Documents about stored decisions: a list of them, one with all that it rests on, and what checking that showed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::evidence::{Decision, Outcome};
use crate::terms::Terms;
use crate::time::Timestamp;
use crate::vocabulary::{UnknownWord, vocabulary};

/// Name and version of a list of decisions.
pub const DECISIONS_SCHEMA: &str = "parity.decisions/v1";
/// Name and version of an exported decision.
pub const EXPORT_SCHEMA: &str = "parity.decision_export/v1";
/// Name and version of what checking an export showed.
pub const VERIFICATION_SCHEMA: &str = "parity.verification/v1";

/// A stored decision in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionLine {
    /// The decision's.
    pub id: Uuid,
    /// When it was decided.
    pub time: Timestamp,
    /// For which effort.
    pub migration: String,
    /// The answer.
    pub outcome: Outcome,
    /// As recorded; empty when nothing was.
    pub legacy_version: String,
    /// As recorded; empty when nothing was.
    pub candidate_version: String,
    /// As recorded; empty when nothing was.
    pub rules_hash: String,
    /// What was decided, in one sentence; empty in decisions of older programs.
    pub headline: String,
}

/// Stored decisions, the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionPage {
    /// [`DECISIONS_SCHEMA`].
    pub schema: String,
    /// Those of this page.
    pub decisions: Vec<DecisionLine>,
    /// What `after` takes to get the next page; `None` on the last one.
    pub next: Option<String>,
}

/// A decision as one file, with all that it rests on.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionExport {
    /// [`EXPORT_SCHEMA`].
    pub schema: String,
    /// SHA-256 of `content` without the white space between its tokens: 64 hex digits.
    pub sha256: String,
    /// An [`ExportContent`], as it was written.
    #[schemars(with = "ExportContent")]
    pub content: Box<RawValue>,
}

/// What an exported decision rests on. Programs of a later version may say more here.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExportContent {
    /// When the file was written.
    pub exported: Timestamp,
    /// By which program.
    pub program: String,
    /// The decision as it was stored, with the counts of every route, what was taken for noise, thresholds, versions, window,
    /// instances and sampling.
    #[schemars(with = "Decision")]
    pub decision: Box<RawValue>,
    /// Under which terms the requests were counted, the latest first: with the text of the rules. Behind them those of earlier
    /// rules whose counts still hold.
    pub terms: Vec<Terms>,
    /// There are more terms, which are not in the file: the latest are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terms_cut: bool,
}

vocabulary! {
    /// What was checked of an exported decision.
    CheckName as "check" {
        /// The digest of the file.
        Digest = "digest" => "the file is as it was written",
        /// Fields that this program does not know.
        Fields = "fields" => "this program knows all that the file says",
        /// The text of the rules and their hash.
        Rules = "rules" => "the text of the rules has the hash that the decision names",
        /// The terms in the file.
        Terms = "terms" => "the terms are as they were written, and those that the decision names",
        /// Deciding again from the counts in the file.
        Again = "again" => "deciding again from the counts in the file gives the same, word for word",
        /// The decision in the store.
        Stored = "stored" => "the store has the same decision",
        /// The terms in the store.
        StoredTerms = "stored_terms" => "the store has the same terms",
        /// The tallies in the store.
        Tallies = "tallies" => "the tallies in the store still add up to the counts in the file",
    }
}

vocabulary! {
    /// What a check showed.
    CheckState as "state of a check" {
        /// It holds.
        Holds = "holds" => "it holds",
        /// It does not, or it cannot be shown that it does.
        Fails = "fails" => "it does not hold",
        /// It cannot be checked any more, which is nobody's fault.
        Unknown = "unknown" => "it can no longer be checked",
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Of what.
    pub name: CheckName,
    /// What it showed.
    pub state: CheckState,
    /// In sentences, if there is more to say.
    pub told: Vec<String>,
}

/// Sentences of one check; more say nothing that these do not.
const MAX_TOLD: usize = 20;

impl Check {
    /// A check that holds if there is nothing to say.
    pub fn of(name: CheckName, mut told: Vec<String>) -> Self {
        let state = if told.is_empty() {
            CheckState::Holds
        } else {
            CheckState::Fails
        };
        if told.len() > MAX_TOLD {
            let more = told.len() - MAX_TOLD;
            told.truncate(MAX_TOLD);
            told.push(format!("and {more} more"));
        }
        Self { name, state, told }
    }
}

/// What checking an exported decision showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// [`VERIFICATION_SCHEMA`].
    pub schema: String,
    /// The decision's; `None` if the file does not even say that.
    pub decision_id: Option<Uuid>,
    /// No check failed.
    pub holds: bool,
    /// One by one.
    pub checks: Vec<Check>,
}
