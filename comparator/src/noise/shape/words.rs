//! Shapes in words, for people.

use super::{Precision, Shape, ValueShape, Zone};

impl ValueShape {
    /// What a value of it is, such as `a UUID`.
    pub fn words(self) -> String {
        let fixed = match self {
            Self::Missing => "nothing",
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Decimal => "a number",
            Self::Blank => "an empty text",
            Self::EmptyArray => "an empty array",
            Self::EmptyObject => "an empty object",
            Self::Array => "an array",
            Self::Object => "an object",
            Self::Uuid => "a UUID",
            Self::UpperUuid => "a UUID in upper case",
            Self::NilUuid => "the UUID of zeros",
            Self::Date => "a date",
            Self::WordedInstant => "a time in words",
            Self::IntegerText => "an integer as text",
            Self::DecimalText => "a number as text",
            Self::Pattern => "a text that is equal but for its numbers and ids",
            Self::Text => "a text",
            Self::LongText => "a long text",
            Self::Status => "a status code",
            Self::TextBody => "a body of text",
            Self::Bytes => "bytes",
            Self::Described => "a body that is not stored",
            Self::Broken => "broken content",
            Self::Order => "another order",
            Self::DuplicateKey => "a key that stands twice",
            Self::Instant(precision, zone) => return instant(precision, zone),
            Self::Hex(digits) => return format!("{digits} hexadecimal digits"),
            Self::UpperHex(digits) => return format!("{digits} hexadecimal digits in upper case"),
            Self::Word(least) => {
                let most = least.saturating_mul(2).saturating_sub(1).max(least);
                return if most > least {
                    format!("a word of {least} to {most} bytes")
                } else {
                    format!("a word of {least} bytes")
                };
            }
        };
        fixed.to_owned()
    }
}

impl Shape {
    /// What both sides are, such as `a UUID on both sides` or `a UUID → null`.
    pub fn words(self) -> String {
        if self.is_alike() {
            match self.legacy {
                // These say something of both sides already.
                ValueShape::Order | ValueShape::DuplicateKey => self.legacy.words(),
                shape => format!("{} on both sides", shape.words()),
            }
        } else {
            format!("{} → {}", self.legacy.words(), self.candidate.words())
        }
    }
}

fn instant(precision: Precision, zone: Zone) -> String {
    let unit = match precision {
        Precision::Seconds => "second",
        Precision::Millis => "millisecond",
        Precision::Micros => "microsecond",
        Precision::Nanos => "nanosecond",
    };
    let offset = match zone {
        Zone::Utc => " in UTC",
        Zone::Offset => " with an offset",
        Zone::Local => "",
    };
    format!("a time{offset} to the {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_read_well() {
        for (label, words) in [
            ("uuid→uuid", "a UUID on both sides"),
            ("uuid→null", "a UUID → null"),
            ("order→order", "another order"),
            (
                "word8→word16",
                "a word of 8 to 15 bytes → a word of 16 to 31 bytes",
            ),
            ("word1→word1", "a word of 1 bytes on both sides"),
            (
                "instant-ms-utc→instant-ms-utc",
                "a time in UTC to the millisecond on both sides",
            ),
            ("hex32→missing", "32 hexadecimal digits → nothing"),
        ] {
            let shape: Shape = label.parse().expect("a label");
            assert_eq!(shape.words(), words, "{label}");
        }
        // A label from a store may have any length.
        let huge: Shape = "word4294967295→word4294967295".parse().expect("a label");
        assert_eq!(huge.words(), "a word of 4294967295 bytes on both sides");
    }
}
