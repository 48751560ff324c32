//! Compares two scalars under rules: tolerances, and types that are compared by their meaning.

use crate::instant::Instant;
use crate::notation::index::{NodeKind, Tree};
use crate::notation::number::Decimal;
use crate::rules::Action;

/// A scalar as rules see it: a string with its escapes undone, anything else as its text.
pub(super) struct Scalar<'a> {
    kind: NodeKind,
    text: &'a [u8],
}

impl<'a> Scalar<'a> {
    pub(super) fn new(tree: Tree<'a>, at: u32, scratch: &'a mut Vec<u8>) -> Self {
        let kind = tree.kind(at);
        let text = match kind {
            NodeKind::String => tree.unescaped(at, scratch),
            _ => tree.content(at),
        };
        Self { kind, text }
    }

    pub(super) fn equal(&self, other: &Self, action: &Action, as_numbers: bool) -> bool {
        let decimals = || Some((self.decimal(as_numbers)?, other.decimal(as_numbers)?));
        match action {
            Action::Absolute(bound) => decimals().is_some_and(|(one, two)| one.within(&two, bound)),
            Action::Relative(factor) => {
                decimals().is_some_and(|(one, two)| one.within_relative(&two, factor))
            }
            Action::Number => decimals().is_some_and(|(one, two)| one == two),
            Action::Timestamp => {
                matches!((self.instant(), other.instant()), (Some(one), Some(two)) if one == two)
            }
            Action::Uuid => {
                matches!((self.uuid(), other.uuid()), (Some(one), Some(two)) if one == two)
            }
            _ => false,
        }
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
