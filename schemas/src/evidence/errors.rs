//! How often the candidate fails where the legacy does not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::time::Timestamp;

/// What is proven of the candidate's failures, for one route or for all requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorDecision {
    /// `METHOD /template`; empty for all requests.
    pub route: String,
    /// match + mismatch + candidate failures.
    pub compared: u64,
    /// Candidate failures, and server errors (5xx) of the candidate where the legacy answered with another status, without
    /// those that rechecks found to be transient or noise.
    pub errors: u64,
    /// At most so many there may be: with those, and with mismatches whose statuses are not known because there were too
    /// many groups.
    pub at_most: u64,
    /// One-sided lower bound of their share.
    pub lower: f64,
    /// One-sided upper bound.
    pub upper: f64,
    /// Of this alone.
    pub outcome: Outcome,
    /// How many more requests, if the candidate fails at none, would make it pass; 0 if it is settled, or if no number would.
    pub needed: u64,
}

/// What differs because the legacy answered with a server error (5xx) and the candidate did not. It counts against the candidate like
/// anything else; whoever reads a fail must know it all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LegacyErrors {
    /// So many of the requests that differ.
    pub differing: u64,
    /// When the last of them was received.
    pub last_seen: Timestamp,
    /// What was received since then has none of them any more; `None` while nothing was counted behind them.
    pub none_since: Option<Timestamp>,
}
