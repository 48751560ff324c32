//! Spans of time that somebody chose not to count, such as a restart of the candidate that was planned.
//!
//! Who chooses after having seen the result can make any candidate look good. So a span has a reason, and whoever leaves it
//! out is told, with the decision, how much it held and how much of that differed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Window;
use crate::tally::INTERVAL_MICROS;
use crate::time::Timestamp;

/// A span of time that is not counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutSpan {
    /// Inclusive.
    pub from: Timestamp,
    /// Exclusive.
    pub to: Timestamp,
    /// Why it is left out, in the words of who did it.
    pub reason: String,
}

impl LeftOutSpan {
    /// Longest reason in bytes: it is repeated in each decision.
    pub const MAX_REASON: usize = 200;

    /// When the intervals begin that are left out: after the first time and before the second. Counts are kept by
    /// interval, so one that the span only touches is left out as a whole.
    pub fn begins(&self) -> (Timestamp, Timestamp) {
        (self.from.saturating_add_micros(-INTERVAL_MICROS), self.to)
    }
}

/// A span that was left out, and what it held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Which.
    #[serde(flatten)]
    pub span: LeftOutSpan,
    /// Requests received in the intervals that it touches.
    pub received: u64,
    /// Those that the gate would have counted.
    pub compared: u64,
    /// Mismatches and failures of the candidate, with those that are transient or noise.
    pub differing: u64,
}

impl LeftOut {
    /// From the begin of the first to the end of the last that held something: the window of evidence of which nothing
    /// else is left.
    pub fn window(all: &[Self]) -> Option<Window> {
        let held = || all.iter().filter(|one| one.received > 0);
        Some(Window {
            from: held().map(|one| one.span.from).min()?,
            to: held().map(|one| one.span.to).max()?,
        })
    }
}
