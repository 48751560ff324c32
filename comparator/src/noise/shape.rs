//! What kind of values a finding is about, as one short label: `uuid→uuid`, `uuid→null`, `integer→decimal`.
//!
//! Two fresh ids differ in every answer and are the same kind of thing; an id and `null` are not. So a group of findings
//! holds one pair of shapes, and what is known of `uuid→uuid` at a place excuses no `uuid→null` there.
//!
//! A label is stored and shown without redaction, so it says nothing of a value but its kind, from a fixed list, and a
//! length in bytes where that is the kind (a hash) or its power of two. There is no label for each text: a hash of words
//! could be guessed, and every customer's name would be a group.
//!
//! Whether a shape is seen must not depend on chance, or noise would change its shape once in a while: random characters
//! are not told from words by how they look, only by their alphabet and length. Eight digits may be eight hexadecimal
//! ones, so the two sides of a pair are looked at together.

mod form;
mod label;
mod letters;
mod pieces;
mod skeleton;
mod text;
mod words;

use parity_schemas::side::{CUT_MARK, Side};
use parity_schemas::verdict::{Finding, Kind, Part, TextDiff};

use crate::notation::number::is_number;
pub use label::UnknownShape;
pub(super) use pieces::{ids_in, spots};
use text::Text;
pub(super) use text::unquoted;

/// Lines of a text that may differ if it is a pattern; with more of them it stays a text.
const LINES: usize = 64;
/// Longest length that a label says: longer values are of one class.
const MAX_LENGTH: u32 = 4_096;

/// The kind of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueShape {
    /// Nothing is there.
    Missing,
    /// JSON's `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A JSON number without point and exponent.
    Integer,
    /// Any other JSON number.
    Decimal,
    /// A text without a character.
    Blank,
    /// `[]`.
    EmptyArray,
    /// `{}`.
    EmptyObject,
    /// An array with elements.
    Array,
    /// An object with members.
    Object,
    /// A UUID in lower case.
    Uuid,
    /// A UUID in upper case.
    UpperUuid,
    /// The UUID that is all zeros.
    NilUuid,
    /// A date without a time of day.
    Date,
    /// A date and time of day.
    Instant(Precision, Zone),
    /// A date in words, as HTTP and mail write it.
    WordedInstant,
    /// A text that is an integer.
    IntegerText,
    /// A text that is any other number.
    DecimalText,
    /// So many hexadecimal digits in lower case.
    Hex(u32),
    /// So many hexadecimal digits in upper case.
    UpperHex(u32),
    /// Letters, digits and what stands in tokens, without white space; at least so many bytes, less than twice as many.
    Word(u32),
    /// Texts that are equal but for the numbers, ids, times and hashes in them.
    Pattern,
    /// Any other text.
    Text,
    /// A text that was cut, of which only the begin is known.
    LongText,
    /// A status code.
    Status,
    /// A whole body of text.
    TextBody,
    /// Bytes that are no text.
    Bytes,
    /// A body that is known by a description only.
    Described,
    /// What is not what it claims to be.
    Broken,
    /// The elements of an array, or lines, in some order.
    Order,
    /// A key that stands twice in one object.
    DuplicateKey,
}

/// How fine an instant is written. Languages leave out zeros at the end, so the digits are taken by threes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precision {
    /// No fraction.
    Seconds,
    /// One to three digits.
    Millis,
    /// Four to six.
    Micros,
    /// More.
    Nanos,
}

/// How an instant says its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Zone {
    /// `Z`.
    Utc,
    /// In digits or by a name.
    Offset,
    /// Not at all.
    Local,
}

/// The kinds of both sides of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    /// Of what the legacy has.
    pub legacy: ValueShape,
    /// Of what the candidate has.
    pub candidate: ValueShape,
}

impl Shape {
    /// The shapes of the two sides of a finding.
    pub fn of(finding: &Finding) -> Self {
        let both = |shape| Self {
            legacy: shape,
            candidate: shape,
        };
        match (finding.part, finding.kind) {
            (Part::Status, _) => return both(ValueShape::Status),
            (_, Kind::Decode) => return both(ValueShape::Broken),
            (_, Kind::Order) => return both(ValueShape::Order),
            (_, Kind::DuplicateKey) => return both(ValueShape::DuplicateKey),
            _ => {}
        }
        if let (Side::Line(_), Side::Line(_)) = (&finding.legacy, &finding.candidate) {
            // The first line that differs says nothing of the others; the whole diff does.
            let alike = finding.text_diff.as_ref().is_some_and(is_pattern_diff);
            return both(if alike {
                ValueShape::Pattern
            } else {
                ValueShape::TextBody
            });
        }
        Self::of_sides(finding.part, &finding.legacy, &finding.candidate).joined()
    }

    /// Shapes that a service changes between by the value alone are one: JavaScript writes 12.0 as an integer, Java and Go
    /// leave out zeros of a fraction. Which side does so how often is counted, see
    /// [`RecheckEvidence::CandidateOdd`](parity_schemas::recheck::RecheckEvidence::CandidateOdd).
    fn joined(self) -> Self {
        let both = |shape| Self {
            legacy: shape,
            candidate: shape,
        };
        match (self.legacy, self.candidate) {
            (ValueShape::Integer, ValueShape::Decimal)
            | (ValueShape::Decimal, ValueShape::Integer) => both(ValueShape::Decimal),
            (ValueShape::Instant(one, zone), ValueShape::Instant(two, other)) if zone == other => {
                both(ValueShape::Instant(one.max(two), zone))
            }
            _ => self,
        }
    }

    /// The shapes of two values in one part of an answer.
    pub(super) fn of_sides(part: Part, legacy: &Side, candidate: &Side) -> Self {
        let (one, two) = (Seen::of(part, legacy), Seen::of(part, candidate));
        match (&one, &two) {
            (Seen::Text(one), Seen::Text(two)) => {
                let (legacy, candidate) = Text::shapes(one, two);
                Self { legacy, candidate }
            }
            _ => Self {
                legacy: one.alone(),
                candidate: two.alone(),
            },
        }
    }

    /// The same pair with the sides exchanged.
    #[must_use]
    pub fn mirrored(self) -> Self {
        Self {
            legacy: self.candidate,
            candidate: self.legacy,
        }
    }

    /// Whether both sides are of one shape.
    pub fn is_alike(self) -> bool {
        self.legacy == self.candidate
    }

    /// Whether both are the same two shapes, whichever side has which.
    pub fn is_same_pair(self, other: Self) -> bool {
        self == other || self == other.mirrored()
    }

    /// Whether values of these shapes may differ by chance alone. Not those that stand for the answer as a whole, and no free
    /// texts: what is behind them is not known, so anything could hide there.
    pub fn may_be_noise(self) -> bool {
        // A text that is there or not is another matter.
        if (self.legacy, self.candidate) == (ValueShape::Text, ValueShape::Text) {
            return false;
        }
        ![self.legacy, self.candidate].iter().any(|shape| {
            matches!(
                shape,
                ValueShape::Status
                    | ValueShape::TextBody
                    | ValueShape::LongText
                    | ValueShape::Bytes
                    | ValueShape::Described
                    | ValueShape::Broken
                    | ValueShape::DuplicateKey
            )
        })
    }

    /// Whether a service may change values of these shapes by chance, provable or not.
    pub fn may_move(self) -> bool {
        let text = |shape| {
            matches!(
                shape,
                ValueShape::Text | ValueShape::LongText | ValueShape::TextBody
            )
        };
        self.may_be_noise() || (text(self.legacy) && text(self.candidate))
    }

    /// Whether the values have an order, so that one side can be above the other: of numbers and times their own, of tokens
    /// and what holds them their length, by which one that was cut short is told.
    pub fn is_ordered(self) -> bool {
        let ordered = |shape| {
            matches!(
                shape,
                ValueShape::Integer
                    | ValueShape::Decimal
                    | ValueShape::IntegerText
                    | ValueShape::DecimalText
                    | ValueShape::Date
                    | ValueShape::Instant(..)
                    | ValueShape::WordedInstant
                    | ValueShape::Word(_)
                    | ValueShape::Pattern
            )
        };
        ordered(self.legacy) && ordered(self.candidate)
    }
}

/// One side as it is looked at for its shape.
enum Seen {
    /// Not a text within a message.
    Other(ValueShape),
    /// A text, without quotes.
    Text(String),
}

impl Seen {
    fn of(part: Part, side: &Side) -> Self {
        let other = Self::Other;
        let excerpt = match side {
            Side::Absent => return other(ValueShape::Missing),
            Side::Value(excerpt) => excerpt,
            Side::Line(_) | Side::Body(_) => return other(ValueShape::TextBody),
            Side::Bytes(_) => return other(ValueShape::Bytes),
            Side::Described(_) => return other(ValueShape::Described),
            Side::Broken { .. } => return other(ValueShape::Broken),
        };
        let text = excerpt.text.as_str();
        let is_cut = excerpt.whole.is_some();
        if part != Part::Body {
            return if is_cut {
                other(ValueShape::LongText)
            } else {
                Self::Text(text.to_owned())
            };
        }
        let is_empty = |text: &str| text.split_at(1).1.trim_start().len() == 1;
        match text.as_bytes() {
            [b'"', ..] if is_cut => other(ValueShape::LongText),
            [b'"', ..] => unquoted(text).map_or(other(ValueShape::Text), Self::Text),
            [b'{', ..] if is_empty(text) => other(ValueShape::EmptyObject),
            [b'{', ..] => other(ValueShape::Object),
            [b'[', ..] if is_empty(text) => other(ValueShape::EmptyArray),
            [b'[', ..] => other(ValueShape::Array),
            b"null" => other(ValueShape::Null),
            b"true" | b"false" => other(ValueShape::Boolean),
            number if is_number(number) => {
                let is_decimal = number.iter().any(|byte| b".eE".contains(byte));
                other(if is_decimal {
                    ValueShape::Decimal
                } else {
                    ValueShape::Integer
                })
            }
            _ => other(ValueShape::LongText),
        }
    }

    fn alone(&self) -> ValueShape {
        match self {
            Self::Other(shape) => *shape,
            Self::Text(text) => Text::of(text).shape(),
        }
    }
}

/// Whether the lines that a unified diff takes away are, but for the numbers and ids in them, those that it adds.
fn is_pattern_diff(diff: &TextDiff) -> bool {
    changed_lines(diff).is_some_and(|lines| {
        let mut lines = lines.into_iter();
        lines.all(|(_, one, two)| pieces::are_alike(one, two))
    })
}

/// The lines that a unified diff exchanges one for one, each with its number; `None` if there are others, or too many.
pub(super) fn changed_lines(diff: &TextDiff) -> Option<Vec<(usize, &str, &str)>> {
    // What was cut may hide anything.
    if diff.is_cut {
        return None;
    }
    let (mut changed, mut old, mut new) = (Vec::new(), Vec::new(), Vec::new());
    let mut number = 0;
    for line in diff.lines.lines() {
        let is_whole = !line.ends_with(CUT_MARK);
        if let Some(line) = line.strip_prefix('-').filter(|_| is_whole) {
            old.push(line);
            continue;
        }
        if let Some(line) = line.strip_prefix('+').filter(|_| is_whole) {
            new.push(line);
            continue;
        }
        if line.starts_with('\\') {
            continue;
        }
        take_lines(&mut changed, &mut old, &mut new, &mut number)?;
        if let Some(header) = line.strip_prefix("@@ -") {
            number = header_number(header)?;
        } else if line.starts_with(' ') {
            number += 1;
        } else {
            return None;
        }
    }
    take_lines(&mut changed, &mut old, &mut new, &mut number)?;
    (changed.len() <= LINES).then_some(changed)
}

/// Pairs the lines that were taken away with those that stand in their place.
fn take_lines<'a>(
    changed: &mut Vec<(usize, &'a str, &'a str)>,
    old: &mut Vec<&'a str>,
    new: &mut Vec<&'a str>,
    number: &mut usize,
) -> Option<()> {
    if old.len() != new.len() {
        return None;
    }
    for (one, two) in old.drain(..).zip(new.drain(..)) {
        changed.push((*number, one, two));
        *number += 1;
    }
    Some(())
}

/// The number of the first line, from the head of a hunk: `3,7 +3,7 @@`. Both texts have as many lines before it.
fn header_number(header: &str) -> Option<usize> {
    let (old, new) = header.split_once(" +")?;
    let number = |text: &str| text.split(',').next()?.parse::<usize>().ok();
    number(old).filter(|old| number(new) == Some(*old))
}

/// The greatest power of two that is not above a length.
fn length_class(length: usize) -> u32 {
    let length = u32::try_from(length)
        .unwrap_or(MAX_LENGTH)
        .clamp(1, MAX_LENGTH);
    1 << length.ilog2()
}

#[cfg(test)]
mod tests;
