//! What `parity check` found: whether a service answers as a file expects.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::RecordedFinding;

/// The schema of the document.
pub const CHECK_SCHEMA: &str = "parity.check/v1";

/// Whether a service answers as a file expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckDocument {
    /// `parity.check/v1`.
    pub schema: String,
    /// The service that was asked.
    pub target: String,
    /// What the exit code says.
    pub outcome: CheckOutcome,
    /// Requests that were asked.
    pub asked: u64,
    /// Of those, the ones that were answered as expected.
    pub as_expected: u64,
    /// Of those, the ones that were not, or not at all.
    pub differing: u64,
    /// Of those, the ones whose answers could not be compared.
    pub not_compared: u64,
    /// Requests of the file that were not asked, by reason: `unsafe_method`, `no_answer` (the file does not say what is expected),
    /// `hidden` (it needs a value that the file hides), `not_sendable`, `timeout` (there was no time left; those behind the first
    /// are not counted), `not_read` (the rest of the file did not come in time, whatever is in it).
    pub not_asked: BTreeMap<String, u64>,
    /// What the requests that count as `hidden` need, with the number of requests.
    #[serde(default)]
    pub needed: BTreeMap<String, u64>,
    /// Parts of the file that could not be read.
    pub unreadable: u64,
    /// Places of expected answers that the file hides, with the number of requests: something was there, and whether it is the same
    /// is not known. `trailer`: the service sent trailers, and the file does not say which are expected. A request of whose answer the
    /// whole body is hidden counts as `not_compared`, because of `legacy_hidden`.
    pub hidden: BTreeMap<String, u64>,
    /// From the first request to the last answer.
    pub elapsed_ms: u64,
    /// The requests that were not answered as expected, the first hundred of them.
    pub requests: Vec<CheckedRequest>,
}

/// What a check says in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// All that was asked was answered as expected, and all could be asked.
    Pass,
    /// An answer differs, or did not come.
    Fail,
    /// Nothing differs, but something could not be read, asked in time or compared.
    Undecided,
}

/// A request that was not answered as expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedRequest {
    /// The file, and the line that it begins on.
    pub place: String,
    /// What was asked, as far as it may be shown.
    pub method: String,
    /// Path and query, as far as they may be shown.
    pub url: String,
    /// `differs`, `no_answer` or `not_compared`.
    pub outcome: String,
    /// Why there is no answer, or no comparison: a reason of `not_compared` in reports.
    pub reason: Option<String>,
    /// The status that is expected.
    pub expected_status: u16,
    /// The status that came.
    pub status: Option<u16>,
    /// What differs; `legacy` is what is expected.
    pub findings: Vec<RecordedFinding>,
    /// Not all that differs is listed.
    pub findings_cut: bool,
}
