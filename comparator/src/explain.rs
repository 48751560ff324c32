//! Explains how two different values are related.
//!
//! An explanation never changes a verdict. It groups findings with one cause and tells the reader where to look. The
//! first one that holds is given, in the order of the vocabulary. All are symmetric in the two sides but for the direction of
//! a factor, reveal nothing of the values but their relation, and cost no more than a few passes over them.

mod bytes;
pub(crate) mod content;
mod duration;
mod echo;
mod localized;
mod number;
mod reshaped;
mod structure;
mod text;

use parity_schemas::verdict::Explanation;

use crate::instant::{Instant, Unit, Unix};
use crate::notation::index::{NodeKind, Tree};
use crate::notation::number::{Decimal, is_number, same_decimal};
use reshaped::reshaped;

pub(crate) use duration::Nanoseconds;
pub(crate) use echo::names_marker;
pub(crate) use reshaped::{same_documents, same_json};
pub(crate) use text::texts;

/// How a value of each document are related, if they are.
pub(crate) fn values(
    legacy: Tree<'_>,
    at: u32,
    candidate: Tree<'_>,
    other: u32,
) -> Option<Explanation> {
    let (one, two) = (Value::new(legacy, at), Value::new(candidate, other));
    near(&one, &two)
        .or_else(|| near(&two, &one).map(Explanation::reversed))
        .or_else(|| reshaped(&one, &two))
        .or_else(|| reshaped(&two, &one))
}

/// Relations between two kinds, which the caller also tries with the sides swapped.
fn near(one: &Value<'_>, two: &Value<'_>) -> Option<Explanation> {
    use NodeKind::{Array, False, Null, Number, Object, String, True};
    match (one.kind(), two.kind()) {
        (Number, Number) => number::numbers(one.content(), two.content()),
        (String, String) => texts(&one.text, &two.text),
        (String, Number) => text_and_number(&one.text, two.content()),
        (String, True | False) => (one.text == two.content()).then_some(Explanation::TypeOnly),
        (Null, String) if number::names_no_number(&two.text) => Some(Explanation::NotFinite),
        (Null, Number) => number::overflows(two.content()).then_some(Explanation::NotFinite),
        (Null, String) if two.is_empty() => Some(Explanation::NullVsBlank),
        (Null, Object) if two.is_empty() => Some(Explanation::NullVsEmptyObject),
        (Null, _) if two.is_empty() => Some(Explanation::NullVsEmpty),
        (String | Number, Array | Object) => structured_time(one, two)
            .or_else(|| bytes::same(one, two).then_some(Explanation::SameBytes)),
        (Array, Object) => bytes::same(one, two).then_some(Explanation::SameBytes),
        _ => None,
    }
}

/// How a value is equivalent to an absent one, if it is.
pub(crate) fn absent(tree: Tree<'_>, at: u32) -> Option<Explanation> {
    let zero = || Decimal::parse(tree.content(at)).is_some_and(|number| number.is_zero());
    match tree.kind(at) {
        NodeKind::Null => Some(Explanation::NullVsMissing),
        NodeKind::False => Some(Explanation::EmptyVsMissing),
        NodeKind::Number if zero() => Some(Explanation::EmptyVsMissing),
        _ if Value::new(tree, at).is_empty() => Some(Explanation::EmptyVsMissing),
        _ if echo::is_echo(tree, at) => Some(Explanation::Echo),
        _ => None,
    }
}

struct Value<'a> {
    tree: Tree<'a>,
    at: u32,
    /// The content of a string, with escapes undone.
    text: Vec<u8>,
}

impl<'a> Value<'a> {
    fn new(tree: Tree<'a>, at: u32) -> Self {
        let mut scratch = Vec::new();
        let text = match tree.kind(at) {
            NodeKind::String => tree.unescaped(at, &mut scratch).to_vec(),
            _ => Vec::new(),
        };
        Self { tree, at, text }
    }

    fn kind(&self) -> NodeKind {
        self.tree.kind(self.at)
    }

    fn content(&self) -> &'a [u8] {
        self.tree.content(self.at)
    }

    /// `""`, `[]` or `{}`.
    fn is_empty(&self) -> bool {
        match self.kind() {
            NodeKind::String => self.text.is_empty(),
            NodeKind::Array | NodeKind::Object => self.tree.next(self.at) == self.at + 1,
            _ => false,
        }
    }
}

fn text_and_number(text: &[u8], number: &[u8]) -> Option<Explanation> {
    if let (Some(time), Some(unix)) = (Instant::parse(text), Unix::from_number(number)) {
        return unix_times(&time, &unix);
    }
    if let Some(duration) = Nanoseconds::parse(text) {
        return duration.as_number(number);
    }
    if number::is_infinity(text, number) {
        return Some(Explanation::NotFinite);
    }
    if !is_number(text) {
        return None;
    }
    if same_decimal(text, number) {
        return Some(Explanation::TypeOnly);
    }
    number::numbers(text, number)
}

/// How two times are related.
fn instants(one: &Instant, two: &Instant) -> Option<Explanation> {
    if one == two {
        Some(Explanation::SameInstant)
    } else if one.is_cut_of(two) {
        Some(Explanation::TruncatedTime)
    } else if one.has_reading_of(two) {
        Some(match (one.offset(), two.offset()) {
            (None, Some(0)) | (Some(0), None) => Explanation::AssumedUtc,
            (None, _) | (_, None) => Explanation::AssumedOffset,
            _ => Explanation::SameReading,
        })
    } else {
        None
    }
}

/// How a time is related to one as a number, in the unit that its size tells.
fn unix_times(time: &Instant, unix: &Unix) -> Option<Explanation> {
    use Explanation as E;
    Some(match (instants(time, &unix.instant)?, unix.unit) {
        (E::SameInstant, Unit::Seconds) => E::UnixSeconds,
        (E::SameInstant, Unit::Millis) => E::UnixMillis,
        (E::SameInstant, Unit::Micros) => E::UnixMicros,
        (E::SameInstant, Unit::Nanos) => E::UnixNanos,
        (E::AssumedUtc, Unit::Seconds) => E::AssumedUtcSeconds,
        (E::AssumedUtc, Unit::Millis) => E::AssumedUtcMillis,
        (E::TruncatedTime, unit) => cut_to(unit),
        _ => return None,
    })
}

/// A time that was cut to this unit.
const fn cut_to(unit: Unit) -> Explanation {
    match unit {
        Unit::Seconds => Explanation::CutUnixSeconds,
        Unit::Millis => Explanation::CutUnixMillis,
        Unit::Micros => Explanation::CutUnixMicros,
        // Digits beyond nanoseconds.
        Unit::Nanos => Explanation::TruncatedTime,
    }
}

/// Relates a time or a duration as a scalar to the parts that a serializer made of it.
fn structured_time(scalar: &Value<'_>, parts: &Value<'_>) -> Option<Explanation> {
    let is_text = scalar.kind() == NodeKind::String;
    if is_text && structure::is_calendar(parts.tree, parts.at, &scalar.text) {
        return Some(Explanation::SameInstant);
    }
    let parts = structure::seconds_and_nanos(parts.tree, parts.at)?;
    let of_parts = Instant::from_unix(parts.seconds, parts.nanos);
    if is_text && let Some(instant) = Instant::parse(&scalar.text) {
        return instants(&instant, &of_parts);
    }
    if !is_text
        && parts.since_epoch
        && let Some(unix) = Unix::from_number(scalar.content())
    {
        return unix_times(&of_parts, &unix);
    }
    let duration = Nanoseconds::of(parts.seconds, parts.nanos);
    if is_text && Nanoseconds::parse(&scalar.text) == Some(duration) {
        return Some(Explanation::SameDuration);
    }
    let number = if is_text {
        &scalar.text
    } else {
        scalar.content()
    };
    duration.as_number(number)
}

#[cfg(test)]
mod tests;
