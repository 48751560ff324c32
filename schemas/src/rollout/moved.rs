//! What lines of the audit record say of a rollout: a change of the percent, and how it stood when a process began.
//!
//! They are words for people that are read again, because a line has no columns for them: whoever writes one and whoever reads it have it from
//! here. Words that are none of these say nothing of the percent, and are told as they are.

use std::fmt;

use super::{RolloutDocument, RolloutFall};

/// What stands behind a percent.
const PERCENT: &str = " %";
/// Between the percent before and the one after.
const TO: &str = " % → ";
/// What stands before how the rollout was when a process began.
const BEGINS: &str = "rollout at ";

/// A change of the percent: `10 % → 30 %: the gate passes`.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutMove {
    /// The percent before.
    pub from: f64,
    /// The percent from then on.
    pub to: f64,
    /// Why, in words; empty if nobody said.
    pub why: String,
}

impl fmt::Display for RolloutMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, why } = self;
        write!(f, "{from}{TO}{to}{PERCENT}")?;
        if why.is_empty() {
            return Ok(());
        }
        write!(f, ": {why}")
    }
}

impl RolloutMove {
    /// What a line says; `None` if it says nothing of this.
    pub fn read(detail: &str) -> Option<Self> {
        let (from, rest) = detail.split_once(TO)?;
        let (to, why) = rest.split_once(PERCENT)?;
        Some(Self {
            from: read(from)?,
            to: read(to)?,
            // Earlier programs wrote a comma, or a semicolon.
            why: why.trim_start_matches([':', ',', ';']).trim().to_owned(),
        })
    }
}

/// How a rollout stood when its process began: `rollout at 10 %`.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutBegin {
    /// The percent.
    pub percent: f64,
    /// What had taken the clients back before, if that still holds; the reason and who it was are not told again.
    pub fell_from: Option<f64>,
}

impl fmt::Display for RolloutBegin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{BEGINS}{}{PERCENT}", self.percent)?;
        match self.fell_from {
            Some(from) => write!(f, ", after a fall back from {from}{PERCENT}"),
            None => Ok(()),
        }
    }
}

impl From<&RolloutDocument> for RolloutBegin {
    fn from(document: &RolloutDocument) -> Self {
        let fell = |fall: &RolloutFall| fall.from;
        Self {
            percent: document.percent,
            fell_from: document.fell_back.as_ref().map(fell),
        }
    }
}

impl RolloutBegin {
    /// What a line says somewhere; `None` if it says nothing of this.
    pub fn read(detail: &str) -> Option<Self> {
        let (_, rest) = detail.split_once(BEGINS)?;
        let (percent, rest) = rest.split_once(PERCENT)?;
        let fell = rest.split_once("a fall back from ");
        let fell = fell.and_then(|(_, from)| read(from.split_once(PERCENT)?.0));
        Some(Self {
            percent: read(percent)?,
            fell_from: fell,
        })
    }
}

/// A percent.
fn read(text: &str) -> Option<f64> {
    let percent: f64 = text.trim().parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_nothing_else() {
        for (from, to, why) in [
            (0.0, 10.0, "the gate passes"),
            (0.0001, 100.0, ""),
            (30.0, 0.0, "2.00 % errors: 3 % → 4 % of them"),
        ] {
            let moved = RolloutMove {
                from,
                to,
                why: why.to_owned(),
            };
            assert_eq!(RolloutMove::read(&moved.to_string()), Some(moved));
        }
        let earlier = RolloutMove::read("40 % → 100 %, insisted although it served 3");
        assert_eq!(
            earlier.map(|moved| moved.why).as_deref(),
            Some("insisted although it served 3")
        );
        for none in [
            "",
            "10 %: the gate fails",
            "x % → 10 %",
            "10 % → 101 %",
            "10 % → NaN %",
            "-1 % → 10 %",
            "10 % → 10",
        ] {
            assert_eq!(RolloutMove::read(none), None, "{none}");
        }
    }

    #[test]
    fn how_a_process_began_is_read_out_of_its_line() {
        for fell_from in [None, Some(30.5)] {
            let begin = RolloutBegin {
                percent: 0.0,
                fell_from,
            };
            let line = format!("shadowing is on; {begin}");
            assert_eq!(RolloutBegin::read(&line), Some(begin));
        }
        assert_eq!(RolloutBegin::read("shadowing is on"), None);
        assert_eq!(RolloutBegin::read("rollout at many %"), None);
    }
}
