//! Compares two scalars under rules: tolerances, and types that are compared by their meaning.

use std::time::Duration;

use crate::explain;
use crate::instant::Instant;
use crate::notation::index::{NodeKind, Tree};
use crate::notation::number::Decimal;
use crate::rules::Action;

/// A scalar as rules see it: a string with its escapes undone, anything else as its text.
pub(crate) struct Scalar<'a> {
    kind: NodeKind,
    text: &'a [u8],
}

impl<'a> Scalar<'a> {
    /// A text that is in no document, such as the value of a header.
    pub(crate) fn of_text(text: &'a [u8]) -> Self {
        Self {
            kind: NodeKind::String,
            text,
        }
    }

    pub(super) fn new(tree: Tree<'a>, at: u32, scratch: &'a mut Vec<u8>) -> Self {
        let kind = tree.kind(at);
        let text = match kind {
            NodeKind::String => tree.unescaped(at, scratch),
            _ => tree.content(at),
        };
        Self { kind, text }
    }

    fn is_text(&self) -> bool {
        self.kind == NodeKind::String
    }

    /// Whether the candidate's value, `other`, is equal to this one of the legacy by what a rule does. `apart` is how long the slower answer
    /// took: two clocks that are read while both services answer may show times that are apart by as much, and by what a rule allows.
    pub(crate) fn equal(
        &self,
        other: &Self,
        action: &Action,
        as_numbers: bool,
        apart: Duration,
    ) -> bool {
        let decimals = || Some((self.decimal(as_numbers)?, other.decimal(as_numbers)?));
        match action {
            Action::Absolute(bound) => decimals().is_some_and(|(one, two)| one.within(&two, bound)),
            Action::Relative(factor) => {
                decimals().is_some_and(|(one, two)| one.within_relative(&two, factor))
            }
            Action::Scale(factor) => {
                let numbers = self.decimal(true).zip(other.decimal(true));
                numbers.is_some_and(|(legacy, candidate)| {
                    legacy.is_negative() == candidate.is_negative()
                        && legacy.is_times(factor, &candidate)
                })
            }
            Action::Within(bound) => {
                let times = self
                    .is_time_beside(other)
                    .then(|| self.instant().zip(other.instant()));
                let times = times.flatten();
                let found = times.and_then(|(one, two)| one.compare(&two));
                found.zip(bound.count()).is_some_and(|((_, found), bound)| {
                    found.saturating_sub(apart.as_nanos()) <= bound
                })
            }
            Action::Parts(parts) => {
                self.is_text() && other.is_text() && parts.leave_equal(self.text, other.text)
            }
            Action::Json => {
                self.is_text() && other.is_text() && explain::same_documents(self.text, other.text)
            }
            Action::Number => decimals().is_some_and(|(one, two)| one == two),
            // 1772357412 and 1772357412000 are two numbers: nothing says that one of them is in another unit.
            Action::Timestamp => {
                let is_number = |scalar: &Self| scalar.kind == NodeKind::Number;
                let times = self.instant().zip(other.instant());
                !(is_number(self) && is_number(other)) && times.is_some_and(|(one, two)| one == two)
            }
            Action::Uuid => {
                matches!((self.uuid(), other.uuid()), (Some(one), Some(two)) if one == two)
            }
            _ => false,
        }
    }

    /// Whether two values may be times in one unit: two numbers are Unix times only with ten digits or more, as many in both.
    /// Seconds and milliseconds are another unit, and no tolerance.
    fn is_time_beside(&self, other: &Self) -> bool {
        const MIN_DIGITS: usize = 10;
        let whole = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.kind != NodeKind::Number
            || other.kind != NodeKind::Number
            || (whole(self.text) >= MIN_DIGITS && whole(self.text) == whole(other.text))
    }

    fn decimal(&self, also_text: bool) -> Option<Decimal> {
        match self.kind {
            NodeKind::Number => Decimal::parse(self.text),
            NodeKind::String if also_text => Decimal::parse(self.text),
            _ => None,
        }
    }

    fn instant(&self) -> Option<Instant> {
        match self.kind {
            NodeKind::Number => Instant::from_number(self.text),
            NodeKind::String => Instant::parse(self.text),
            _ => None,
        }
    }

    fn uuid(&self) -> Option<uuid::Uuid> {
        match self.kind {
            NodeKind::String => uuid::Uuid::try_parse_ascii(self.text).ok(),
            _ => None,
        }
    }
}
