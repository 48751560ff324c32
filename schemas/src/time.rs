//! Times in records: UTC, microseconds, nothing else.
//!
//! One newtype over microseconds since the Unix epoch: it is what `SQLite` stores as INTEGER and `ClickHouse` as
//! `DateTime64(6)`. JSON carries RFC 3339 with exactly six fractional digits and `Z`, so text order is time order.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The text is not a time with an offset.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not an RFC 3339 time such as 2026-01-31T09:30:00Z")]
pub struct ParseTimestampError(String);

impl Timestamp {
    /// The present time of the system clock.
    pub fn now() -> Self {
        Self(jiff::Timestamp::now().as_microsecond())
    }

    /// From microseconds since the Unix epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// This time moved by `micros`, stopping at the ends of the range.
    #[must_use]
    pub const fn saturating_add_micros(self, micros: i64) -> Self {
        Self(self.0.saturating_add(micros))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(time) => write!(f, "{time:.6}"),
            // Beyond the year 9999 there is no RFC 3339 text; the number itself is still right.
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>()
            .map(|time| Self(time.as_microsecond()))
            .map_err(|_| ParseTimestampError(text.to_owned()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        // A visitor, so that a text is read where it stands: millions of records have one each.
        impl de::Visitor<'_> for Text {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 time")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "date-time",
            "description": "UTC, RFC 3339 with six fractional digits and Z"
        })
    }
}

/// Microseconds in a readable unit, for people.
pub fn elapsed(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{:.1} ms", micros as f64 / 1e3),
        _ => format!("{:.1} s", micros as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_six_digits_and_reads_back() {
        for (micros, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (1_767_225_600_000_001, "2026-01-01T00:00:00.000001Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
        ] {
            assert_eq!(Timestamp::from_micros(micros).to_string(), text);
            assert_eq!(
                text.parse::<Timestamp>().expect("own text"),
                Timestamp::from_micros(micros)
            );
        }
    }

    #[test]
    fn an_offset_is_understood_and_a_naive_time_is_refused() {
        let time: Timestamp = "2026-01-01T01:00:00+01:00"
            .parse()
            .expect("an offset is fine");
        assert_eq!(time.to_string(), "2026-01-01T00:00:00.000000Z");
        assert!("2026-01-01T01:00:00".parse::<Timestamp>().is_err());
    }
}
