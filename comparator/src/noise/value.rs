//! Values that have an order: numbers and times, compared exactly.

use std::cmp::Ordering;

use parity_schemas::side::{Excerpt, Side};
use parity_schemas::verdict::Part;

use super::shape::unquoted;
use crate::instant::Instant;
use crate::notation::number::Decimal;

/// A number or a time.
pub(super) enum Ordered {
    Number(Decimal),
    Instant(Instant),
}

/// How two ordered values stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// Of the first, seen from the second.
    pub(super) order: Ordering,
    /// The power of two of their distance: of the number, or of nanoseconds. The least there is where they are equal.
    pub(super) power: i32,
}

impl Ordered {
    /// Reads a side of a finding; `None` for anything else.
    pub(super) fn of(part: Part, side: &Side) -> Option<Self> {
        let Side::Value(Excerpt { text, whole: None }) = side else {
            return None;
        };
        let unquoted = if part == Part::Body {
            unquoted(text)
        } else {
            None
        };
        let text = unquoted.as_deref().unwrap_or(text).as_bytes();
        if let Some(number) = Decimal::parse(text) {
            return Some(Self::Number(number));
        }
        if let Some(instant) = Instant::parse(text) {
            return Some(Self::Instant(instant));
        }
        // A date alone is the begin of its day, for what is asked here.
        let midnight = (text.len() == 10).then(|| [text, b"T00:00:00"].concat())?;
        Instant::parse(&midnight).map(Self::Instant)
    }

    /// How the first stands to the second; `None` for a number and a time, or what is too far apart to be told.
    pub(super) fn compare(&self, other: &Self) -> Option<Difference> {
        let power = |power: Option<i128>| {
            let bounded =
                power.map(|power| power.clamp(i128::from(i32::MIN + 1), i128::from(i32::MAX)));
            bounded.map_or(i32::MIN, |power| power as i32)
        };
        match (self, other) {
            (Self::Number(one), Self::Number(two)) => Some(Difference {
                order: one.compare(two),
                power: power(one.distance(two)?.power_of_two()),
            }),
            (Self::Instant(one), Self::Instant(two)) => {
                let (order, nanoseconds) = one.compare(two)?;
                Some(Difference {
                    order,
                    power: power(nanoseconds.checked_ilog2().map(i128::from)),
                })
            }
            _ => None,
        }
    }
}
