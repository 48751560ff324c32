//! The labels of shapes, as they are stored and read back.

use std::fmt;
use std::str::FromStr;

use super::{Precision, Shape, ValueShape, Zone};

/// What stands between the two sides of a label.
const ARROW: char = '→';

/// A text that is no shape.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a shape of two values")]
pub struct UnknownShape(String);

const PRECISIONS: [(Precision, &str); 4] = [
    (Precision::Seconds, "s"),
    (Precision::Millis, "ms"),
    (Precision::Micros, "us"),
    (Precision::Nanos, "ns"),
];
const ZONES: [(Zone, &str); 3] = [
    (Zone::Utc, "utc"),
    (Zone::Offset, "offset"),
    (Zone::Local, "local"),
];
/// The shapes that are one word.
const WORDS: [(ValueShape, &str); 27] = [
    (ValueShape::Missing, "missing"),
    (ValueShape::Null, "null"),
    (ValueShape::Boolean, "boolean"),
    (ValueShape::Integer, "integer"),
    (ValueShape::Decimal, "decimal"),
    (ValueShape::Blank, "blank"),
    (ValueShape::EmptyArray, "empty-array"),
    (ValueShape::EmptyObject, "empty-object"),
    (ValueShape::Array, "array"),
    (ValueShape::Object, "object"),
    (ValueShape::Uuid, "uuid"),
    (ValueShape::UpperUuid, "upper-uuid"),
    (ValueShape::NilUuid, "nil-uuid"),
    (ValueShape::Date, "date"),
    (ValueShape::WordedInstant, "worded-instant"),
    (ValueShape::IntegerText, "integer-text"),
    (ValueShape::DecimalText, "decimal-text"),
    (ValueShape::Pattern, "pattern"),
    (ValueShape::Text, "text"),
    (ValueShape::LongText, "long-text"),
    (ValueShape::Status, "status"),
    (ValueShape::TextBody, "text-body"),
    (ValueShape::Bytes, "bytes"),
    (ValueShape::Described, "described"),
    (ValueShape::Broken, "broken"),
    (ValueShape::Order, "order"),
    (ValueShape::DuplicateKey, "duplicate-key"),
];

/// A shape by its length.
type BySize = fn(u32) -> ValueShape;

impl fmt::Display for ValueShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hex(length) => write!(f, "hex{length}"),
            Self::UpperHex(length) => write!(f, "upper-hex{length}"),
            Self::Word(length) => write!(f, "word{length}"),
            Self::Instant(precision, zone) => {
                let fraction = PRECISIONS.iter().find(|(known, _)| known == precision);
                let zone = ZONES.iter().find(|(known, _)| known == zone);
                let (fraction, zone) = (
                    fraction.map_or("", |(_, word)| word),
                    zone.map_or("", |(_, word)| word),
                );
                write!(f, "instant-{fraction}-{zone}")
            }
            shape => {
                let word = WORDS.iter().find(|(known, _)| known == shape);
                f.write_str(word.map_or("", |(_, word)| word))
            }
        }
    }
}

impl FromStr for ValueShape {
    type Err = UnknownShape;

    fn from_str(label: &str) -> Result<Self, UnknownShape> {
        let unknown = || UnknownShape(label.chars().take(64).collect());
        if let Some((shape, _)) = WORDS.iter().find(|(_, word)| *word == label) {
            return Ok(*shape);
        }
        if let Some(rest) = label.strip_prefix("instant-") {
            let (precision, zone) = rest.split_once('-').ok_or_else(unknown)?;
            let precision = PRECISIONS.iter().find(|(_, word)| *word == precision);
            let zone = ZONES.iter().find(|(_, word)| *word == zone);
            return match (precision, zone) {
                (Some((precision, _)), Some((zone, _))) => Ok(Self::Instant(*precision, *zone)),
                _ => Err(unknown()),
            };
        }
        let sized: [(&str, BySize); 3] = [
            ("upper-hex", Self::UpperHex),
            ("hex", Self::Hex),
            ("word", Self::Word),
        ];
        for (word, shape) in sized {
            if let Some(length) = label.strip_prefix(word) {
                return length.parse().map(shape).map_err(|_| unknown());
            }
        }
        Err(unknown())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{ARROW}{}", self.legacy, self.candidate)
    }
}

impl FromStr for Shape {
    type Err = UnknownShape;

    fn from_str(label: &str) -> Result<Self, UnknownShape> {
        let (legacy, candidate) = label
            .split_once(ARROW)
            .ok_or_else(|| UnknownShape(label.chars().take(64).collect()))?;
        Ok(Self {
            legacy: legacy.parse()?,
            candidate: candidate.parse()?,
        })
    }
}
