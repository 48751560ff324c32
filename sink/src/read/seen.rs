//! What each run has seen of its candidate, as its last watermark has it: to the second, where counts are of minutes.

use parity_schemas::lately::CandidateSeen;
use parity_schemas::time::Timestamp;

/// What one run has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSeen {
    /// Which process.
    pub instance: String,
    /// The version of the candidate that it counts for.
    pub candidate_version: String,
    /// When it wrote this.
    pub written: Timestamp,
    /// Whether it ended in order.
    pub ended: bool,
    /// What it has seen.
    pub candidate: CandidateSeen,
}
