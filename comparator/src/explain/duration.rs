//! Recognizes durations as serializers write them: a count of some unit, ISO 8601, and Go's and protobuf's `1m30s`.

use parity_schemas::verdict::Explanation;

use crate::notation::number::Decimal;

/// Longest text that is tried; `106751d23h47m16.854775807s` is shorter.
const MAX_TEXT_BYTES: usize = 48;
/// Most digits of a whole part; more would be longer than the universe is old.
const MAX_DIGITS: usize = 20;

/// A duration, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nanoseconds(i128);

impl Nanoseconds {
    pub(super) fn of(seconds: i64, nanos: u32) -> Self {
        Self(i128::from(seconds) * 1_000_000_000 + i128::from(nanos))
    }

    /// Parses `PT1.5S`, `P1DT12H`, `1.5s`, `1h30m0s`. Years and months have no fixed length, so they are refused.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        if text.len() > MAX_TEXT_BYTES {
            return None;
        }
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if text.is_empty() {
            return None;
        }
        let sum = match text.strip_prefix('P') {
            Some(rest) => iso(rest)?,
            None => parts(
                text,
                &[
                    ("h", 3_600_000_000_000),
                    ("m", 60_000_000_000),
                    ("s", 1_000_000_000),
                    ("ms", 1_000_000),
                    ("us", 1_000),
                    ("µs", 1_000),
                    ("ns", 1),
                ],
            )?,
        };
        Some(Self(if negative { -sum } else { sum }))
    }

    /// How many, unless it is negative.
    pub(crate) fn count(self) -> Option<u128> {
        u128::try_from(self.0).ok()
    }

    /// How a number is this duration, in seconds, milli-, micro- or nanoseconds. Of 0 no unit is proven.
    pub(super) fn as_number(self, lexeme: &[u8]) -> Option<Explanation> {
        use Explanation as E;
        const UNITS: [(i128, Explanation); 4] = [
            (9, E::DurationSeconds),
            (6, E::DurationMillis),
            (3, E::DurationMicros),
            (0, E::DurationNanos),
        ];
        let number = Decimal::parse(lexeme)?;
        let negative = number.is_negative();
        let unit = UNITS.into_iter().find(|(power, _)| {
            let nanos = whole(&number.clone().shifted(*power));
            nanos.is_some_and(|nanos| self.0 == if negative { -nanos } else { nanos })
        });
        let (_, word) = unit?;
        Some(if self.0 == 0 { E::SameDuration } else { word })
    }
}

fn iso(text: &str) -> Option<i128> {
    let (days, time) = text.split_once('T').unwrap_or((text, ""));
    let days = match days {
        "" => 0,
        days => parts(
            days,
            &[("W", 604_800_000_000_000), ("D", 86_400_000_000_000)],
        )?,
    };
    let time = match time {
        // `P1DT` is not a duration.
        "" if text.ends_with('T') || text.is_empty() => return None,
        "" => 0,
        time => parts(
            time,
            &[
                ("H", 3_600_000_000_000),
                ("M", 60_000_000_000),
                ("S", 1_000_000_000),
            ],
        )?,
    };
    days.checked_add(time)
}

/// The sum of numbers that are each followed by a unit.
fn parts(mut text: &str, units: &[(&str, i128)]) -> Option<i128> {
    let mut sum: i128 = 0;
    while !text.is_empty() {
        let unit_at = text.find(|character: char| !matches!(character, '0'..='9' | '.' | '-'))?;
        let (number, rest) = text.split_at(unit_at);
        let unit_end = rest
            .find(|character: char| matches!(character, '0'..='9' | '-'))
            .unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(unit_end);
        let (_, nanos) = units.iter().find(|(name, _)| *name == unit)?;
        // As a count of nanoseconds; the unit has at most fifteen digits and the number MAX_DIGITS.
        let number = Decimal::parse(number.as_bytes())?;
        let billionths = whole(&number.clone().shifted(9))?;
        let part = billionths.checked_mul(*nanos)?;
        if part % 1_000_000_000 != 0 {
            return None;
        }
        let part = part / 1_000_000_000;
        sum = sum.checked_add(if number.is_negative() { -part } else { part })?;
        text = rest;
    }
    Some(sum)
}

/// The magnitude of a whole number.
fn whole(number: &Decimal) -> Option<i128> {
    let (digits, fraction) = number.split(MAX_DIGITS + 9)?;
    fraction.is_empty().then(|| {
        digits
            .iter()
            .fold(0, |value, digit| value * 10 + i128::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_duration_in_its_spellings() {
        let base = Nanoseconds::of(129_600, 0);
        for same in [
            "PT36H",
            "P1DT12H",
            "PT2160M",
            "36h0m0s",
            "129600s",
            "129600.000s",
        ] {
            assert_eq!(Nanoseconds::parse(same.as_bytes()), Some(base), "{same}");
        }
        for (same, unit) in [
            ("129600", Explanation::DurationSeconds),
            ("129600.000", Explanation::DurationSeconds),
            ("129600000", Explanation::DurationMillis),
            ("129600000000", Explanation::DurationMicros),
            ("129600000000000", Explanation::DurationNanos),
            ("1.296e5", Explanation::DurationSeconds),
        ] {
            assert_eq!(base.as_number(same.as_bytes()), Some(unit), "{same}");
        }
        let nothing = Nanoseconds(0).as_number(b"0");
        assert_eq!(nothing, Some(Explanation::SameDuration), "in any unit");
        for (text, nanos) in [
            ("PT1.5S", 1_500_000_000),
            ("1.5s", 1_500_000_000),
            ("-1.5s", -1_500_000_000),
            ("PT-1.5S", -1_500_000_000),
            ("-PT1.5S", -1_500_000_000),
            ("1m0.25s", 60_250_000_000),
            ("1.5ms", 1_500_000),
            ("2µs", 2_000),
            ("P1W", 604_800_000_000_000),
        ] {
            assert_eq!(
                Nanoseconds::parse(text.as_bytes()),
                Some(Nanoseconds(nanos)),
                "{text}"
            );
        }
        let micros = Some(Explanation::DurationMicros);
        assert_eq!(Nanoseconds(-1_500).as_number(b"-1.5"), micros);
        assert_eq!(Nanoseconds(1_500).as_number(b"-1.5"), None);
    }

    #[test]
    fn other_texts_are_not_durations() {
        for text in [
            "P",
            "PT",
            "P1DT",
            "P1Y",
            "P1M",
            "1",
            "1.5",
            "s",
            "1x",
            "1.s",
            "PT1S1",
            "0.1ns",
            "99999999999999999999999999999999h",
            "PT1e999999999S",
        ] {
            assert_eq!(Nanoseconds::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Nanoseconds(0).as_number(b"1e999999999"), None);
    }
}
