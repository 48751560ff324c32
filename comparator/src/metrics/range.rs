//! Between which numbers a measure is, and how one is held against another.
//!
//! Either end may be unknown, and stays so whatever is done with it: an unknown end never becomes a number.

use parity_schemas::metrics::MetricValue;

/// How thresholds are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Judged {
    /// By the bounds: what could be on either side of a threshold is undecided.
    #[default]
    ByBounds,
    /// By the values, as a dashboard shows them.
    ByValues,
}

impl Judged {
    /// The words for them.
    pub const WORDS: [(&'static str, Self); 2] =
        [("bounds", Self::ByBounds), ("values", Self::ByValues)];
}

/// Between which numbers something is.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
}

impl Range {
    /// Of which nothing is unknown.
    pub(super) fn exact(value: f64) -> Self {
        Self {
            low: Some(value),
            high: Some(value),
        }
    }

    /// Of a measure.
    pub(super) fn of(value: &MetricValue, judged: Judged) -> Self {
        match judged {
            Judged::ByBounds => Self {
                low: value.low,
                high: value.high,
            },
            Judged::ByValues => Self::exact(value.value),
        }
    }

    /// So many times of this.
    pub(super) fn times(self, ratio: f64) -> Self {
        let of = |end: Option<f64>| end.map(|end| end * ratio);
        Self {
            low: of(self.low),
            high: of(self.high),
        }
    }

    /// What it is in words.
    pub(super) fn told(self, shown: impl Fn(f64) -> String) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) if low.to_bits() == high.to_bits() => shown(low),
            (Some(low), Some(high)) => format!("{} to {}", shown(low), shown(high)),
            (Some(low), None) => format!("at least {}", shown(low)),
            (None, Some(high)) => format!("at most {}", shown(high)),
            (None, None) => "unknown".to_owned(),
        }
    }

    /// Of this by another one, where nothing is negative; `None` by what may be nothing, which is no ratio.
    pub(super) fn by(self, other: Self) -> Option<Self> {
        let ratio = |one: Option<f64>, other: Option<f64>| Some(one? / other?);
        let ratios = Self {
            low: ratio(self.low, other.high),
            high: ratio(self.high, other.low),
        };
        let mut ends = [ratios.low, ratios.high].into_iter().flatten();
        ends.all(f64::is_finite).then_some(ratios)
    }
}
