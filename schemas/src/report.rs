//! The report document, the same whatever store it was read from.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::evidence::Window;
use crate::tally::Counts;
use crate::time::Timestamp;
use crate::verdict::{Explanation, Kind, Part};

/// Name and version of the report document.
pub const REPORT_SCHEMA: &str = "parity.report/v1";

/// Everything that a person or a program needs to know of one body of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// [`REPORT_SCHEMA`].
    pub schema: String,
    /// The name of the effort.
    pub migration: String,
    /// As recorded.
    pub legacy_version: String,
    /// As recorded.
    pub candidate_version: String,
    /// As recorded.
    pub rules_hash: String,
    /// `None` when nothing was recorded.
    pub window: Option<Window>,
    /// Who counted.
    pub instances: Vec<String>,
    /// All routes together.
    #[serde(flatten)]
    pub counts: Counts,
    /// By route: most differing first, then most received, then by name.
    pub routes: Vec<RouteReport>,
    /// Most frequent first.
    pub groups: Vec<GroupReport>,
    /// Rules that excused a difference, most hits first.
    pub rules: Vec<RuleHits>,
}

/// One route of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouteReport {
    /// `METHOD /template`.
    pub route: String,
    /// Its outcomes.
    #[serde(flatten)]
    pub counts: Counts,
    /// Microseconds, by quantile name (`p50`, `p99`), of compared requests.
    pub legacy_us: BTreeMap<String, u64>,
    /// Likewise.
    pub candidate_us: BTreeMap<String, u64>,
}

/// One group of mismatches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupReport {
    /// Sixteen hex digits.
    pub fingerprint: String,
    /// `METHOD /template`.
    pub route: String,
    /// Which part of the answer.
    pub part: Part,
    /// The generalized path.
    pub pattern: String,
    /// How the sides differ.
    pub kind: Kind,
    /// How near they are.
    pub explanation: Option<Explanation>,
    /// The legacy's status code.
    pub legacy_status: u16,
    /// The candidate's status code.
    pub candidate_status: u16,
    /// Mismatches with a finding of this group.
    pub count: u64,
    /// The first of them.
    pub first_seen: Timestamp,
    /// The last of them.
    pub last_seen: Timestamp,
    /// Id of a mismatch that shows it.
    pub example_id: Uuid,
    /// That mismatch's finding; `None` once retention has removed it.
    pub example: Option<GroupExample>,
}

/// The two values of one finding, redacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupExample {
    /// The request's path and query, redacted.
    pub target: String,
    /// Where the values are.
    pub path: String,
    /// The candidate's path, where it differs.
    pub candidate_path: Option<String>,
    /// The legacy's value.
    pub legacy: Option<String>,
    /// The candidate's value.
    pub candidate: Option<String>,
    /// For text bodies.
    pub text_diff: Option<String>,
}

/// How often a rule excused a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleHits {
    /// The rule.
    pub id: String,
    /// Differences that it excused.
    pub hits: u64,
}
