//! What `parity stub` found: whether both services call the services behind them alike.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::RecordedFinding;
use crate::time::Timestamp;
use crate::verdict::{Explanation, Kind, Part};

/// The schema of the document.
pub const STUB_SCHEMA: &str = "parity.stub/v1";

/// Whether both services make the same calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StubDocument {
    /// `parity.stub/v1`.
    pub schema: String,
    /// What the exit code says.
    pub outcome: StubOutcome,
    /// For how long it listened.
    pub elapsed_ms: u64,
    /// Calls of each side, and what came of them.
    #[serde(flatten)]
    pub counts: StubCounts,
    /// Pairs in another order within one request, of those whose correlation header tells. These pairs are counted by what they have
    /// in their calls besides.
    pub other_order: u64,
    /// Pairs that could not be compared, by a reason of `not_compared` in reports.
    pub not_compared: BTreeMap<String, u64>,
    /// What hit a limit, so that nothing is proven by its absence: `too_large` (the body of a call is over `limits.body`), `bytes` (all
    /// together hold `limits.shadow_bytes`), `waiting` (too many calls without a partner), `crowded` (pairs of many calls at once without a
    /// common id, of which nobody knows whether they belong together), `broken_off` (calls that did not come whole: a head or a body that
    /// never ended, bytes that are no call, what was cut by the end), `http2` (connections that speak HTTP/2, which is not spoken here), `no_place`
    /// (connections that waited for a place until the end), `unsettled` (calls whose partner could still have come when a second signal ended it), `order` (requests whose calls were too
    /// many to tell their order), `internal` (calls that a fault of the stub itself has lost).
    pub limits: BTreeMap<String, u64>,
    /// How calls were answered: `canned`, `upstream`, `played` (to the candidate, what the legacy got), `no_answer` (404, because the file
    /// of answers has none), `upstream_failed` (502), `not_played` (504, because no call of the legacy was known in time), `refused` (413
    /// or 503, by a limit).
    pub answered: BTreeMap<String, u64>,
    /// The same by route, the first that were seen; all others together are `_other`.
    pub routes: Vec<StubRoute>,
    /// What differs in pairs, by what the differences have in common; the most frequent first.
    pub groups: Vec<StubGroup>,
    /// Calls that are not equal, a hundred of them: the first, and before others those that are proven to differ.
    pub calls: Vec<StubCall>,
    /// How many entries `calls` would have without that limit.
    #[serde(default)]
    pub not_equal: u64,
    /// Calls that were answered 404 because the file of answers has none for them, by route.
    #[serde(default)]
    pub unanswered: BTreeMap<String, u64>,
    /// Pairs that must be equal for a pass.
    #[serde(default)]
    pub min_calls: u64,
    /// What stands against a pass besides differences, in words.
    #[serde(default)]
    pub reasons: Vec<String>,
}

/// How many calls there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StubCounts {
    /// Calls of the legacy.
    pub legacy: u64,
    /// Calls of the candidate.
    pub candidate: u64,
    /// Pairs that are equal.
    pub equal: u64,
    /// Pairs that differ.
    pub differing: u64,
    /// Calls of the legacy that the candidate does not make.
    pub missing: u64,
    /// Calls that only the candidate makes.
    pub extra: u64,
    /// Calls of the legacy without a partner of which nothing shows that their requests have reached the candidate: the mirror may
    /// sample.
    #[serde(default)]
    pub not_reached: u64,
}

/// What is said in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StubOutcome {
    /// All calls are equal.
    Pass,
    /// A call differs, is missing, is made besides, or comes in another order.
    Fail,
    /// Nothing or too little was seen or answered, or not all of it could be compared.
    Undecided,
}

/// The calls of one route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StubRoute {
    /// Method and template of the path.
    pub route: String,
    /// Its counts.
    #[serde(flatten)]
    pub counts: StubCounts,
}

/// Differences that have route, place and kind in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StubGroup {
    /// Method and template of the path.
    pub route: String,
    /// In which part of the call.
    pub part: Part,
    /// The generalized path.
    pub pattern: String,
    /// How the sides differ.
    pub kind: Kind,
    /// How near they are.
    pub explanation: Option<Explanation>,
    /// Pairs that have it.
    pub count: u64,
    /// Those of them that were put together by a guess: the two calls differ, and others may be their partners.
    #[serde(default)]
    pub guessed: u64,
}

/// A call that is not equal on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StubCall {
    /// Method and template of the path.
    pub route: String,
    /// The method, as far as it may be shown.
    pub method: String,
    /// Path and query, as far as they may be shown.
    pub url: String,
    /// When it came; of a pair, the legacy's.
    #[serde(default)]
    pub time: Timestamp,
    /// Of which request it is, if a header says so.
    #[serde(default)]
    pub correlation: Option<StubCorrelation>,
    /// `differs`, `missing`, `extra`, `not_reached`, `other_order` or `not_compared`.
    pub outcome: String,
    /// Why it was not compared: a reason of `not_compared` in reports, or `crowded`.
    pub reason: Option<String>,
    /// Its partner is a guess: others have as much in common with it, and no header tells.
    #[serde(default)]
    pub is_guess: bool,
    /// The beginning of its body, redacted; empty where `findings` say what differs.
    #[serde(default)]
    pub body: Option<String>,
    /// There is more of the body.
    #[serde(default)]
    pub body_cut: bool,
    /// What differs, redacted.
    pub findings: Vec<RecordedFinding>,
    /// Not all that differs is listed.
    pub findings_cut: bool,
}

/// Outcomes of calls that are no proof of a difference.
pub const UNPROVEN: [&str; 2] = ["not_reached", "not_compared"];

/// What says of which request a call is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StubCorrelation {
    /// The header, by `--correlate-by`.
    pub header: String,
    /// Its id, as far as it may be shown.
    pub id: String,
}
