//! Times as services write them: RFC 3339 with any number of fractional digits, and Unix times.
//!
//! Fractions are kept as digits, so two times are equal exactly or not at all. A time without an offset is *naive*:
//! it is never taken for UTC, and equals only another naive time with the same reading.

use smallvec::SmallVec;

use crate::json::number::Decimal;

/// A moment, or a naive reading of a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instant {
    /// Since 1970-01-01T00:00:00, rounded down.
    seconds: i64,
    /// Digits behind the point, without trailing zeros.
    fraction: SmallVec<[u8; 16]>,
    naive: bool,
}

/// Unix times from these on are read as milli-, micro- and nanoseconds: in seconds they would lie beyond the year
/// 5000, and in the smaller unit they begin in 1973.
const UNITS: [(u128, i128); 3] = [
    (100_000_000_000_000_000, -9),
    (100_000_000_000_000, -6),
    (100_000_000_000, -3),
];

impl Instant {
    /// Reads `2026-01-31T09:30:00.12+01:00`, also with a space or a lower-case letter between date and time.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let (date, rest) = (text.get(..10)?, text.get(10..)?);
        let ([b'T' | b't' | b' ', ..], [_, _, _, _, b'-', _, _, b'-', _, _]) = (rest, date) else {
            return None;
        };
        let (time, rest) = (rest.get(1..9)?, rest.get(9..)?);
        let [_, _, b':', _, _, b':', _, _] = time else {
            return None;
        };
        let (year, month, day) = (
            digits(&date[..4])?,
            digits(&date[5..7])?,
            digits(&date[8..])?,
        );
        let (hour, minute, second) = (
            digits(&time[..2])?,
            digits(&time[3..5])?,
            digits(&time[6..])?,
        );
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let days = days_since_epoch(year, month, day)?;
        let (fraction, zone) = match rest {
            [b'.' | b',', more @ ..] => {
                let length = more.iter().take_while(|byte| byte.is_ascii_digit()).count();
                (
                    more.get(..length).filter(|fraction| !fraction.is_empty())?,
                    more.get(length..)?,
                )
            }
            _ => (&[][..], rest),
        };
        let offset = match zone {
            [] => None,
            [b'Z' | b'z'] => Some(0),
            [sign @ (b'+' | b'-'), hours @ .., b':', m1, m2]
            | [sign @ (b'+' | b'-'), hours @ .., m1, m2]
                if hours.len() == 2 =>
            {
                let minutes = digits(hours)? * 60 + digits(&[*m1, *m2])?;
                Some(if *sign == b'-' { -minutes } else { minutes })
            }
            _ => return None,
        };
        Some(Self {
            seconds: days * 86_400 + hour * 3_600 + minute * 60 + second - offset.unwrap_or(0) * 60,
            fraction: trimmed(fraction),
            naive: offset.is_none(),
        })
    }

    /// Reads a JSON number as a Unix time; its size tells the unit.
    pub(crate) fn from_number(lexeme: &[u8]) -> Option<Self> {
        let number = Decimal::parse(lexeme)?;
        let (whole, _) = number.split(19)?;
        let size = whole
            .iter()
            .fold(0_u128, |value, digit| value * 10 + u128::from(digit - b'0'));
        let power = UNITS
            .iter()
            .find(|(from, _)| size >= *from)
            .map_or(0, |(_, power)| *power);
        let negative = number.is_negative();
        let (whole, fraction) = number.shifted(power).split(19)?;
        let seconds = whole.iter().try_fold(0_i64, |value, digit| {
            value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))
        })?;
        // A fraction before the epoch would have to be complemented; no service sends one.
        if negative && !fraction.is_empty() {
            return None;
        }
        Some(Self {
            seconds: if negative { -seconds } else { seconds },
            fraction: trimmed(&fraction),
            naive: false,
        })
    }

    /// Whether one is the other cut to fewer fractional digits.
    pub(crate) fn is_cut_of(&self, other: &Self) -> bool {
        self != other
            && (self.seconds, self.naive) == (other.seconds, other.naive)
            && (self.fraction.starts_with(&other.fraction)
                || other.fraction.starts_with(&self.fraction))
    }
}

fn trimmed(fraction: &[u8]) -> SmallVec<[u8; 16]> {
    let length = fraction
        .iter()
        .rposition(|digit| *digit != b'0')
        .map_or(0, |last| last + 1);
    SmallVec::from_slice(&fraction[..length])
}

fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit()
            .then(|| value * 10 + i64::from(byte - b'0'))
    })
}

/// Days of the proleptic Gregorian calendar. Formula: years are counted from March, so that the leap day is the last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let march_year = if month <= 2 { year - 1 } else { year };
    let (era, month_index) = (march_year.div_euclid(400), (month + 9) % 12);
    let year_of_era = march_year.rem_euclid(400);
    let day_of_year = (153 * month_index + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Instant {
        Instant::parse(text.as_bytes()).expect("a time")
    }

    #[test]
    fn spellings_of_one_instant_are_equal() {
        let base = at("2020-01-02T03:04:05.12Z");
        for same in [
            "2020-01-02T03:04:05.120Z",
            "2020-01-02T04:04:05.12+01:00",
            "2020-01-02 03:04:05.12z",
            "2020-01-01T22:04:05.12-0500",
        ] {
            assert_eq!(base, at(same), "{same}");
        }
        for number in [
            "1577934245.12",
            "1577934245120",
            "1577934245120000",
            "1577934245120000000",
        ] {
            assert_eq!(
                Some(&base),
                Instant::from_number(number.as_bytes()).as_ref(),
                "{number}"
            );
        }
        assert_ne!(base, at("2020-01-02T03:04:05.12"));
        assert_eq!(at("2020-01-02T03:04:05.10"), at("2020-01-02T03:04:05.1"));
    }

    #[test]
    fn a_cut_time_is_not_an_equal_one() {
        let (long, short) = (
            at("2020-01-02T03:04:05.123456Z"),
            at("2020-01-02T03:04:05.123Z"),
        );
        assert!(long.is_cut_of(&short) && short.is_cut_of(&long) && long != short);
        assert!(!long.is_cut_of(&at("2020-01-02T03:04:05.124Z")));
        assert!(!long.is_cut_of(&at("2020-01-02T03:04:05.123")));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "2020-01-02",
            "2020-13-02T00:00:00Z",
            "2021-02-29T00:00:00Z",
            "2020-01-02T24:00:00Z",
            "2020-01-02T00:00:00.Z",
            "2020-01-02T00:00:00+1",
            "20200102T000000Z12",
            "2020-01-02T00:00:00Zx",
        ] {
            assert!(Instant::parse(text.as_bytes()).is_none(), "{text}");
        }
        assert_eq!(days_since_epoch(1970, 1, 1), Some(0));
        assert_eq!(days_since_epoch(2000, 2, 29), Some(11_016));
        assert_eq!(days_since_epoch(1969, 12, 31), Some(-1));
    }
}
