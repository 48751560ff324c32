//! Limits that a user sets: `p99 <= 50ms` of the candidate alone, `p99 <= +10%` beside the legacy.

use std::fmt;
use std::str::FromStr;

use parity_schemas::metrics::{
    JudgedThreshold, Measure, Measured, MetricValue, MetricsOutcome, Unit,
};
use parity_schemas::spelling;

use super::advice::Advice;
use super::names::unit_of;
use super::range::{Judged, Range};
use super::shown::shown;

/// What a candidate may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    text: String,
    measure: Measure,
    /// Whether more is worse.
    is_most: bool,
    limit: Limit,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// Of the candidate, in the unit of the measure.
    Value(f64),
    /// Of the candidate's by the legacy's.
    Ratio(f64),
}

/// Why a threshold cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ThresholdError {
    /// It has another form.
    #[error(
        "`{0}` is no threshold; write a measure, <= or >=, and a limit: `p99 <= 50ms`, or `p99 <= +10%` for a tenth more than the legacy"
    )]
    Form(String),
    /// It is about nothing that is measured.
    #[error("`{word}` is no measure; {hint}")]
    Measure {
        /// The word.
        word: String,
        /// What could be meant.
        hint: String,
    },
    /// Its limit has no unit or another one.
    #[error("`{limit}` is no limit of {measure}; write {example}, or +10% beside the legacy")]
    Limit {
        /// The limit.
        limit: String,
        /// Of what.
        measure: Measure,
        /// How one is written.
        example: &'static str,
    },
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || ThresholdError::Form(text.to_owned());
        let at = text.find(['<', '>']).ok_or_else(form)?;
        let (word, rest) = text.split_at(at);
        let is_most = rest.starts_with('<');
        let limit = rest
            .get(1..)
            .and_then(|rest| rest.strip_prefix('='))
            .ok_or_else(form)?;
        let (word, limit) = (word.trim(), limit.trim());
        let measure = Measure::from_str(word).map_err(|_| {
            let known = || Measure::ALL.iter().map(|measure| measure.as_str());
            let hint = spelling::nearest(word, known()).map_or_else(
                || format!("those known are {}", known().collect::<Vec<_>>().join(", ")),
                |meant| format!("did you mean `{meant}`?"),
            );
            ThresholdError::Measure {
                word: word.to_owned(),
                hint,
            }
        })?;
        let unknown = || ThresholdError::Limit {
            limit: limit.to_owned(),
            measure,
            example: example(measure.unit()),
        };
        Ok(Self {
            text: text.trim().to_owned(),
            measure,
            is_most,
            limit: read_limit(limit, measure.unit()).ok_or_else(unknown)?,
        })
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn example(unit: Unit) -> &'static str {
    match unit {
        Unit::PerSecond => "500",
        Unit::Share => "0.1%",
        Unit::Seconds => "50ms",
        Unit::Cores => "1.5",
        Unit::Bytes => "200MiB",
        Unit::Number => "100",
    }
}

fn read_limit(text: &str, unit: Unit) -> Option<Limit> {
    let number = |text: &str| {
        let text = text.trim();
        let is_plain = text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
        // A number that is too long to be one is infinite.
        text.parse::<f64>()
            .ok()
            .filter(|number| is_plain && number.is_finite())
    };
    let relative = text.strip_suffix('%').and_then(|text| {
        let (sign, text) = match text.strip_prefix('+') {
            Some(text) => (1.0, text),
            None => (-1.0, text.strip_prefix('-')?),
        };
        Some(1.0 + sign * number(text)? / 100.0)
    });
    if let Some(ratio) = relative {
        return (ratio >= 0.0).then_some(Limit::Ratio(ratio));
    }
    let value = match unit {
        Unit::Share => number(text.strip_suffix('%')?)? / 100.0,
        Unit::PerSecond | Unit::Cores | Unit::Number => number(text)?,
        Unit::Seconds | Unit::Bytes => {
            let at = text.find(|character: char| character.is_alphabetic())?;
            let (value, word) = text.split_at(at);
            let factor = if unit == Unit::Seconds {
                seconds_in(word)?
            } else {
                unit_of(word).filter(|_| seconds_in(word).is_none())?
            };
            number(value)? * factor
        }
    };
    Some(Limit::Value(value))
}

/// A unit of time, also as the settings write it.
fn seconds_in(word: &str) -> Option<f64> {
    match word {
        "s" | "ms" | "us" | "µs" | "ns" | "min" => unit_of(word),
        "m" => Some(60.0),
        "h" => Some(3_600.0),
        "d" => Some(86_400.0),
        _ => None,
    }
}

impl Threshold {
    /// What it is about.
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// Whether it holds the candidate against the legacy.
    pub fn is_beside_legacy(&self) -> bool {
        matches!(self.limit, Limit::Ratio(_))
    }

    pub(super) fn judge(
        &self,
        measures: &[Measured],
        judged: Judged,
        advice: Advice,
    ) -> JudgedThreshold {
        let mut measures = measures.iter();
        let measured = measures.find(|measured| measured.measure == self.measure);
        let (outcome, why) = measured.map_or_else(
            || (MetricsOutcome::Undecided, "it was not measured".to_owned()),
            |measured| self.outcome(measured, judged, advice),
        );
        JudgedThreshold {
            threshold: self.text.clone(),
            outcome,
            why,
        }
    }

    fn outcome(
        &self,
        measured: &Measured,
        judged: Judged,
        advice: Advice,
    ) -> (MetricsOutcome, String) {
        let missing = |side: &str| {
            let mut notes = measured.notes.iter();
            let why = notes.find(|note| note.starts_with(side));
            let why = why.map_or_else(|| format!("{side}: not measured"), Clone::clone);
            (MetricsOutcome::Undecided, why)
        };
        let Some(candidate) = &measured.candidate else {
            return missing("candidate");
        };
        let own = Range::of(candidate, judged);
        let unit = |value: f64| shown(value, self.measure.unit());
        // A candidate is held against so many times of the legacy, and not their ratio against a number: nothing by nothing is none.
        let (limit, seen) = match self.limit {
            Limit::Value(limit) => (Range::exact(limit), own.told(unit)),
            Limit::Ratio(limit) => {
                let Some(legacy) = &measured.legacy else {
                    return missing("legacy");
                };
                let change = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
                let by_values = candidate.value / legacy.value;
                let legacy = Range::of(legacy, judged);
                let seen = own.by(legacy).map_or_else(
                    || format!("{} beside {}", own.told(unit), legacy.told(unit)),
                    |ratio| {
                        let told = ratio.told(change);
                        let is_unknown = ratio.low.is_none() && ratio.high.is_none();
                        if is_unknown && by_values.is_finite() {
                            return format!("{told} ({} by the values)", change(by_values));
                        }
                        told
                    },
                );
                // At least as much as nothing is anything, also what did nothing.
                let says_nothing =
                    !self.is_most && legacy.high == Some(0.0) && own.low == Some(0.0);
                if says_nothing {
                    let why = format!("it is {seen}: what does nothing cannot be held against it");
                    return (MetricsOutcome::Undecided, why);
                }
                (legacy.times(limit), seen)
            }
        };
        let is_over = |one: Option<f64>, other: Option<f64>| {
            one.zip(other).is_some_and(|(one, other)| one > other)
        };
        let is_within = |one: Option<f64>, other: Option<f64>| {
            one.zip(other).is_some_and(|(one, other)| one <= other)
        };
        let (holds, broken) = if self.is_most {
            (is_within(own.high, limit.low), is_over(own.low, limit.high))
        } else {
            (is_within(limit.high, own.low), is_over(limit.low, own.high))
        };
        match () {
            () if holds => (MetricsOutcome::Pass, format!("it is {seen}")),
            () if broken => (MetricsOutcome::Fail, format!("it is {seen}")),
            () => (MetricsOutcome::Undecided, {
                let legacy = measured.legacy.as_ref();
                let legacy = legacy.filter(|_| self.is_beside_legacy());
                let values: Vec<&MetricValue> = legacy.into_iter().chain([candidate]).collect();
                let would_tell = advice.told(self.measure, &values);
                format!("it is {seen}: {would_tell}")
            }),
        }
    }
}

#[cfg(test)]
mod tests;
