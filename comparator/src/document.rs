//! What `parity diff` prints: one comparison as a document.
//!
//! Its inputs are the user's own files, so values are shown as they are. Nothing else may be made into this document:
//! captured traffic leaves through [`crate::redact`] only. A [`Comparison`] cannot be serialized by accident; it is
//! turned into this explicitly.

use std::borrow::Cow;
use std::cmp::Reverse;

use parity_schemas::report::RuleHits;
use parity_schemas::verdict::{Explanation, Finding, Kind, Note, Part, Reason, Tolerated, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::comparator::Comparison;
use crate::groups::{FindingGroup, FindingGroups};
use crate::rules::Rules;

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
    /// Of a mismatch: why there is no finding of the bodies, where they could not be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_not_compared: Option<Reason>,
    /// What a reader should know of the pair as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// What differs.
    pub findings: Vec<DiffFinding>,
    /// What differs but counts as equal.
    pub tolerated: Vec<Tolerated>,
    /// There is more than is listed.
    pub truncated: bool,
    /// The findings by what they have in common, the most frequent first; only where it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<DiffGroup>,
    /// Every rule that was given, with how much it excused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleHits>,
}

/// Findings of the same pattern, kind and explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffGroup {
    /// Which part of the answer.
    pub part: Part,
    /// The generalized path.
    pub pattern: String,
    /// How the sides differ.
    pub kind: Kind,
    /// How near they are.
    pub explanation: Option<Explanation>,
    /// How many of those that are listed.
    pub count: u64,
}

impl DiffDocument {
    /// With the findings counted by group, and the hits of `rules`, by which they were compared.
    #[must_use]
    pub fn with_counts(mut self, comparison: &Comparison, rules: &Rules) -> Self {
        let mut groups = FindingGroups::by_pattern(&comparison.findings).groups;
        groups.sort_unstable_by(|one, two| {
            (Reverse(one.count), &one.key).cmp(&(Reverse(two.count), &two.key))
        });
        self.groups = groups
            .into_iter()
            .map(|FindingGroup { key, count, .. }| DiffGroup {
                part: key.part,
                pattern: key.pattern,
                kind: key.kind,
                explanation: key.explanation,
                count,
            })
            .collect();
        self.rules = hits(comparison, rules)
            .map(|(id, hits)| RuleHits {
                id: id.to_owned(),
                hits,
            })
            .collect();
        self
    }
}

/// Every one of `rules` with how much it excused.
pub fn hits<'a>(
    comparison: &'a Comparison,
    rules: &'a Rules,
) -> impl Iterator<Item = (&'a str, u64)> {
    rules.ids().enumerate().map(|(position, id)| {
        let hits = comparison
            .rule_hits
            .iter()
            .find(|(rule, _)| *rule == position)
            .map_or(0, |(_, hits)| u64::from(*hits));
        (id, hits)
    })
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
            body_not_compared: comparison.body_not_compared,
            notes: comparison.notes.clone(),
            findings: comparison.findings.iter().map(DiffFinding::from).collect(),
            tolerated: comparison.tolerated.clone(),
            truncated: comparison.findings_cut,
            groups: Vec::new(),
            rules: Vec::new(),
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
            legacy: finding.legacy.shown().map(Cow::into_owned),
            candidate: finding.candidate.shown().map(Cow::into_owned),
            explanation: finding.explanation,
            text_diff: finding.text_diff.as_ref().map(ToString::to_string),
        }
    }
}
