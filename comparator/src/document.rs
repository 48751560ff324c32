//! What `parity diff` prints: one comparison as a document.
//!
//! Its inputs are the user's own files, so values are shown as they are. Nothing else may be made into this document:
//! captured traffic leaves through [`crate::redact`] only. A [`Comparison`] cannot be serialized by accident; it is
//! turned into this explicitly.

use parity_schemas::verdict::{Explanation, Finding, Kind, Part, Reason, Tolerated, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::comparator::Comparison;

/// Name and version of the document.
pub const DIFF_SCHEMA: &str = "parity.diff/v1";

/// One comparison, as printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffDocument {
    /// [`DIFF_SCHEMA`].
    pub schema: String,
    /// `match`, `mismatch` or `not_compared`.
    pub verdict: String,
    /// Why it was not compared.
    pub reason: Option<Reason>,
    /// What differs.
    pub findings: Vec<DiffFinding>,
    /// What differs but counts as equal.
    pub tolerated: Vec<Tolerated>,
    /// There is more than is listed.
    pub truncated: bool,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffFinding {
    /// Which part of the answer.
    pub part: Part,
    /// JSON Pointer in the legacy's document (the candidate's for `extra`), or a header name.
    pub path: String,
    /// The candidate's path, where it differs.
    pub candidate_path: Option<String>,
    /// The generalized path.
    pub pattern: String,
    /// How the sides differ.
    pub kind: Kind,
    /// The legacy's value as received, cut at a limit.
    pub legacy: Option<String>,
    /// The candidate's value, likewise.
    pub candidate: Option<String>,
    /// How near they are.
    pub explanation: Option<Explanation>,
    /// For texts: a unified diff, capped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_diff: Option<String>,
}

impl From<&Comparison> for DiffDocument {
    fn from(comparison: &Comparison) -> Self {
        Self {
            schema: DIFF_SCHEMA.to_owned(),
            verdict: comparison.verdict.as_str().to_owned(),
            reason: match comparison.verdict {
                Verdict::NotCompared(reason) => Some(reason),
                Verdict::Match | Verdict::Mismatch => None,
            },
            findings: comparison.findings.iter().map(DiffFinding::from).collect(),
            tolerated: comparison.tolerated.clone(),
            truncated: comparison.findings_cut,
        }
    }
}

impl From<&Finding> for DiffFinding {
    fn from(finding: &Finding) -> Self {
        Self {
            part: finding.part,
            path: finding.path.clone(),
            candidate_path: finding.candidate_path.clone(),
            pattern: finding.pattern.clone(),
            kind: finding.kind,
            legacy: finding.legacy.clone(),
            candidate: finding.candidate.clone(),
            explanation: finding.explanation,
            text_diff: finding.text_diff.clone(),
        }
    }
}
