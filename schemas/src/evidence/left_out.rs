//! Spans of time that somebody chose not to count, such as a restart of the candidate that was planned.
//!
//! Who chooses after having seen the result can make any candidate look good. So a span has a reason, and whoever leaves it
//! out is told, with the decision, how much it held and how much of that differed.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

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

    /// What is left out in fact: counts are kept by interval, and an interval ends with its minute. So one that the span only
    /// touches is left out as a whole: those that begin in these minutes.
    pub fn minutes(&self) -> Window {
        let minute = |micros: i64| micros.div_euclid(INTERVAL_MICROS);
        let last = minute(self.to.as_micros().saturating_sub(1));
        let begin = |minute: i64| Timestamp::from_micros(minute.saturating_mul(INTERVAL_MICROS));
        Window {
            from: begin(minute(self.from.as_micros())),
            to: begin(last.saturating_add(1)),
        }
    }
}

/// A span that is written otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}`: {what}; write for example 2026-01-31T09:30:00Z..2026-01-31T09:35:00Z=restart")]
pub struct NoLeftOutSpan {
    text: String,
    what: String,
}

impl FromStr for LeftOutSpan {
    type Err = NoLeftOutSpan;

    /// `FROM..TO=REASON`, of two times with an offset.
    fn from_str(text: &str) -> Result<Self, NoLeftOutSpan> {
        let wrong = |what: String| NoLeftOutSpan {
            text: text.to_owned(),
            what,
        };
        let (span, reason) = text
            .split_once('=')
            .ok_or_else(|| wrong("it has no =REASON".to_owned()))?;
        let (from, to) = span
            .split_once("..")
            .ok_or_else(|| wrong("it is not FROM..TO=REASON".to_owned()))?;
        let time = |text: &str| {
            let parsed: Result<Timestamp, _> = text.trim().parse();
            parsed.map_err(|_| wrong(format!("`{text}` is not a time with an offset")))
        };
        let (from, to, reason) = (time(from)?, time(to)?, reason.trim());
        if from >= to {
            return Err(wrong(format!("{to} is not after {from}")));
        }
        if reason.is_empty() || reason.len() > Self::MAX_REASON {
            return Err(wrong(format!(
                "the reason has {} bytes, and may have 1 to {}",
                reason.len(),
                Self::MAX_REASON
            )));
        }
        Ok(Self {
            from,
            to,
            reason: reason.to_owned(),
        })
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
            from: held().map(|one| one.span.minutes().from).min()?,
            to: held().map(|one| one.span.minutes().to).max()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_minutes_are_left_out_that_a_span_touches() {
        let minutes = |span: &str| {
            let span: LeftOutSpan = format!("{span}=x").parse().expect("a span");
            let Window { from, to } = span.minutes();
            format!("{from}..{to}").replace(".000000Z", "Z")
        };
        for (asked, left_out) in [
            (
                "2026-01-01T09:12:00Z..2026-01-01T09:15:00Z",
                "2026-01-01T09:12:00Z..2026-01-01T09:15:00Z",
            ),
            (
                "2026-01-01T09:12:20Z..2026-01-01T09:12:30Z",
                "2026-01-01T09:12:00Z..2026-01-01T09:13:00Z",
            ),
            (
                "2026-01-01T09:12:59Z..2026-01-01T09:13:01Z",
                "2026-01-01T09:12:00Z..2026-01-01T09:14:00Z",
            ),
            (
                "1969-12-31T23:59:30Z..1970-01-01T00:00:00Z",
                "1969-12-31T23:59:00Z..1970-01-01T00:00:00Z",
            ),
        ] {
            assert_eq!(minutes(asked), left_out);
        }
    }

    #[test]
    fn a_span_has_two_times_in_order_and_a_reason() {
        let read = |text: &str| text.parse::<LeftOutSpan>();
        let span =
            read("2026-01-01T00:00:00Z..2026-01-01T00:05:00+00:00= restart of = the candidate ")
                .expect("a span");
        assert_eq!(span.reason, "restart of = the candidate");
        assert_eq!(span.to.as_micros() - span.from.as_micros(), 300_000_000);
        let long = format!(
            "2026-01-01T00:00:00Z..2026-01-02T00:00:00Z={}",
            "x".repeat(201)
        );
        for (text, wrong) in [
            ("2026-01-01T00:00:00Z..2026-01-01T00:05:00Z", "no =REASON"),
            ("2026-01-01T00:00:00Z..2026-01-01T00:05:00Z=", "has 0 bytes"),
            ("2026-01-01T00:00:00Z=x", "FROM..TO=REASON"),
            (
                "2026-01-01T00:05:00Z..2026-01-01T00:00:00Z=x",
                "is not after",
            ),
            (
                "2026-01-01T00:05:00Z..2026-01-01T00:05:00Z=x",
                "is not after",
            ),
            ("2026-01-01T00:05:00Z..=x", "`` is not a time"),
            ("..2026-01-01T00:05:00Z=x", "`` is not a time"),
            ("noon..2026-01-01T00:00:00Z=x", "`noon` is not a time"),
            (&long, "has 201 bytes"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(wrong), "{error}");
            assert!(error.contains(text), "{error}");
        }
    }
}
