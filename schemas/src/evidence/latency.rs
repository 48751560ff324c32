//! How slow the candidate may be, and what is proven of it.

use std::fmt::Write as _;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::outcome::Outcome;

/// A quantile of the candidate's times to the first byte may be at most the legacy's times a factor, and a constant more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyLimit {
    /// Which quantile, above 0 and below 1: 0.99 is that which 99 % of the answers are faster than.
    pub quantile: f64,
    /// By which the legacy's is multiplied.
    pub factor: f64,
    /// Microseconds that are added.
    #[serde(default)]
    pub plus_us: u64,
}

/// Between which two times a quantile is proven to be, in microseconds; `None` where nothing is proven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimesBetween {
    /// It is this or more.
    pub at_least_us: Option<u64>,
    /// It is below this.
    pub at_most_us: Option<u64>,
}

/// What is proven of one limit, for one route or for all requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyDecision {
    /// `METHOD /template`; empty for all requests.
    pub route: String,
    /// What is allowed.
    #[serde(flatten)]
    pub limit: LatencyLimit,
    /// Requests whose times are known of both services.
    pub requests: u64,
    /// Requests whose times are not known for a reason that a slow candidate can cause, such as `candidate_timeout` or
    /// `in_flight_cap`: each bound takes them as what it must not rest on. 0 in documents of older programs, which left them
    /// out.
    #[serde(default)]
    pub without_time: u64,
    /// The legacy's quantile.
    pub legacy: TimesBetween,
    /// The candidate's.
    pub candidate: TimesBetween,
    /// Of this limit alone.
    pub outcome: Outcome,
    /// How many more requests, if they are like those that were seen, would settle it; 0 if it is settled, or if no number
    /// would.
    pub needed: u64,
}

/// A limit that is written otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is no limit of a latency; write QUANTILE=FACTORx, for example p99=1.5x, or with a time that is added p99=1.5x+5ms"
)]
pub struct NoLatencyLimit(String);

impl LatencyLimit {
    /// The quantile as people write it: `p99`, `p99.9`.
    pub fn name(&self) -> String {
        // Without the last digits of a product of doubles.
        format!("p{}", (self.quantile * 1e8).round() / 1e6)
    }

    /// What is allowed, in words.
    pub fn allowed(&self) -> String {
        let mut text = format!("{} times the legacy's", self.factor);
        if self.plus_us > 0 {
            // Writing to a String cannot fail.
            let _infallible = write!(text, " and {} ms", self.plus_us as f64 / 1e3);
        }
        text
    }
}

impl FromStr for LatencyLimit {
    type Err = NoLatencyLimit;

    fn from_str(text: &str) -> Result<Self, NoLatencyLimit> {
        let read = || {
            let (name, limit) = text.trim().split_once('=')?;
            let percent: f64 = name.trim().strip_prefix('p')?.parse().ok()?;
            let (factor, plus) = limit.trim().split_once('x')?;
            let factor: f64 = factor.trim().parse().ok()?;
            let plus_us = match plus.trim() {
                "" => 0,
                more => time(more.strip_prefix('+')?.trim())?,
            };
            let is_known = percent > 0.0 && percent < 100.0 && factor.is_finite() && factor > 0.0;
            is_known.then_some(Self {
                quantile: percent / 100.0,
                factor,
                plus_us,
            })
        };
        read().ok_or_else(|| NoLatencyLimit(text.to_owned()))
    }
}

/// A time with its unit, in microseconds.
fn time(text: &str) -> Option<u64> {
    const UNITS: [(&str, f64); 4] = [("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("s", 1e6)];
    let (number, unit) = UNITS
        .iter()
        .find_map(|(unit, length)| Some((text.strip_suffix(unit)?, length)))?;
    let micros = number.trim().parse::<f64>().ok()? * unit;
    // A day is longer than any answer that is waited for.
    (0.0..=86_400e6)
        .contains(&micros)
        .then_some(micros.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_what_is_none_is_refused_with_an_example() {
        for (text, quantile, factor, plus_us, name) in [
            ("p99=1.5x", 0.99, 1.5, 0, "p99"),
            ("p50=1x+5ms", 0.5, 1.0, 5_000, "p50"),
            (" p99.9 = 0.5x + 1.5 s", 0.999, 0.5, 1_500_000, "p99.9"),
            ("p95=2x+200us", 0.95, 2.0, 200, "p95"),
        ] {
            let limit: LatencyLimit = text.parse().expect(text);
            assert!((limit.quantile - quantile).abs() < 1e-12, "{text}");
            assert_eq!(
                (limit.factor, limit.plus_us, limit.name()),
                (factor, plus_us, name.to_owned())
            );
        }
        for text in [
            "",
            "p99",
            "p99=",
            "p99=1.5",
            "99=1.5x",
            "p0=1x",
            "p100=1x",
            "pxx=1x",
            "p99=0x",
            "p99=-1x",
            "p99=infx",
            "p99=nanx",
            "pnan=1x",
            "p99=1x5ms",
            "p99=1x+5",
            "p99=1x+-5ms",
            "p99=1x+5m",
            "p99=1x+1e99s",
        ] {
            let error = text.parse::<LatencyLimit>().expect_err(text);
            assert!(error.to_string().contains("p99=1.5x+5ms"), "{error}");
        }
    }

    #[test]
    fn what_is_allowed_is_said_in_words() {
        let limit = |text: &str| text.parse::<LatencyLimit>().expect(text).allowed();
        assert_eq!(limit("p99=1.5x"), "1.5 times the legacy's");
        assert_eq!(limit("p99=2x+5ms"), "2 times the legacy's and 5 ms");
    }
}
