//! Causes: what explains many groups at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::severity::Severity;
use crate::verdict::{Explanation, Kind, Part};

/// What several groups share. No group is in two causes, and all groups of a cause are equally grave, but for what follows
/// from another status code.
///
/// `legacy_status` and `candidate_status` are the pair of codes, where that is what they share; otherwise `pattern` with `part`
/// is the place, or, without a place, `explanation` is all that they share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CauseReport {
    /// How grave it is. Absent in documents of older programs.
    #[serde(default)]
    pub severity: Severity,
    /// How near the sides are in all of them.
    pub explanation: Option<Explanation>,
    /// The part of the answers that differs, where they share it.
    pub part: Option<Part>,
    /// The name of a field, or a path in bodies. It begins with `/**/` if it stands for every path that ends so.
    pub pattern: Option<String>,
    /// How the sides differ; `null` for a pair of status codes.
    pub kind: Option<Kind>,
    /// The legacy's status code.
    #[serde(default)]
    pub legacy_status: Option<u16>,
    /// The candidate's status code.
    #[serde(default)]
    pub candidate_status: Option<u16>,
    /// Routes that it is found on.
    pub routes: u64,
    /// How often it is found: once for each mismatch and group.
    pub findings: u64,
    /// Mismatches that it is found in, at least: one may be in several of the groups.
    pub at_least: u64,
    /// Mismatches that it is found in, at most. Equal to `at_least` if their number is known. 0 in documents of older programs.
    #[serde(default)]
    pub at_most: u64,
    /// How many of the groups only follow from the pair of status codes.
    #[serde(default)]
    pub consequences: u64,
    /// How many other groups differ at such a place in another way, or have the explanation perhaps by chance.
    #[serde(default)]
    pub exceptions: u64,
    /// The groups, the most frequent first.
    pub fingerprints: Vec<String>,
}
