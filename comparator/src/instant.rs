//! Parses times as services write them: RFC 3339 with any number of fractional digits and the formats that languages
//! print by default, the dates of HTTP and mail, and Unix times.
//!
//! Fractions are kept as digits, so equality is exact. A time without an offset is *naive*: it is never taken for UTC,
//! and equals only another naive time with the same date and time of day.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::notation::number::Decimal;

/// Longest text that is parsed: a date in words with the name of its zone. It bounds the cost of a fraction.
const MAX_TEXT_BYTES: usize = 128;

/// A point in time, or a naive date and time of day.
#[derive(Clone, Debug)]
pub(crate) struct Instant {
    /// Since 1970-01-01T00:00:00, rounded down.
    seconds: i64,
    /// Digits after the decimal point, without trailing zeros.
    fraction: SmallVec<[u8; 16]>,
    /// East of UTC, in seconds; `None` for a naive time.
    offset: Option<i64>,
    /// What stands behind the offset.
    place: Place,
}

/// The offset says how an instant is written, not which one it is. The name of a place says more: whoever adds a month to a time in
/// Paris has another one than in Algiers.
impl PartialEq for Instant {
    fn eq(&self, other: &Self) -> bool {
        self.seconds == other.seconds
            && self.fraction == other.fraction
            && self.is_written_as(other)
    }
}

impl Eq for Instant {}

/// From these values on, Unix times are read as milli-, micro- and nanoseconds: in seconds they would be after the year
/// 5000, and in the smaller unit they begin in 1973.
const UNITS: [(u128, i128, Unit); 3] = [
    (100_000_000_000_000_000, -9, Unit::Nanos),
    (100_000_000_000_000, -6, Unit::Micros),
    (100_000_000_000, -3, Unit::Millis),
];

/// The unit of a time that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unit {
    Seconds,
    Millis,
    Micros,
    Nanos,
}

/// A time that is a number.
#[derive(Clone, Debug)]
pub(crate) struct Unix {
    pub(crate) instant: Instant,
    pub(crate) unit: Unit,
}

impl Unix {
    /// Parses a JSON number as a Unix time; its size tells the unit.
    pub(crate) fn from_number(lexeme: &[u8]) -> Option<Self> {
        let number = Decimal::parse(lexeme)?;
        let (whole, _) = number.split(19)?;
        let size = whole
            .iter()
            .fold(0_u128, |value, digit| value * 10 + u128::from(digit - b'0'));
        let (power, unit) = UNITS
            .iter()
            .find(|(from, ..)| size >= *from)
            .map_or((0, Unit::Seconds), |(_, power, unit)| (*power, *unit));
        let negative = number.is_negative();
        let (whole, fraction) = number.shifted(power).split(19)?;
        let seconds = whole.iter().try_fold(0_i64, |value, digit| {
            value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))
        })?;
        // A fraction before the epoch would need its complement; no service sends one.
        if negative && !fraction.is_empty() {
            return None;
        }
        let instant = Instant {
            seconds: if negative { -seconds } else { seconds },
            fraction: trimmed(&fraction),
            offset: Some(0),
            place: Place::default(),
        };
        Some(Self { instant, unit })
    }
}

impl Instant {
    /// Parses `2026-01-31T09:30:00.12+01:00` and its variants: a space or a lower-case letter before the time, no
    /// seconds (Java), `+00` or `+0000` for the offset (SQL), a space and `UTC` or the name of the zone at the end (Go,
    /// Ruby, RFC 9557); or `Sat, 31 Jan 2026 08:30:00 GMT` and its variants.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        if text.len() > MAX_TEXT_BYTES {
            return None;
        }
        Self::parse_iso(text).or_else(|| Self::parse_words(text))
    }

    fn parse_iso(text: &[u8]) -> Option<Self> {
        let (date, rest) = (text.get(..10)?, text.get(10..)?);
        let ([b'T' | b't' | b' ', time @ ..], [_, _, _, _, b'-', _, _, b'-', _, _]) = (rest, date)
        else {
            return None;
        };
        let days = days_since_epoch(
            digits(&date[..4])?,
            digits(&date[5..7])?,
            digits(&date[8..])?,
        )?;
        let (clock, rest) = match time {
            [_, _, b':', _, _, b':', ..] => time.split_at_checked(8)?,
            _ => time.split_at_checked(5)?,
        };
        let of_day = clock_seconds(clock)?;
        let (fraction, zone) = match rest {
            [b'.' | b',', more @ ..] if clock.len() == 8 => {
                let length = more.iter().take_while(|byte| byte.is_ascii_digit()).count();
                if length == 0 {
                    return None;
                }
                more.split_at(length)
            }
            _ => (&[][..], rest),
        };
        Some(Self::at(days, of_day, fraction, zone_offset(zone)?))
    }

    /// The dates of RFC 9110 §5.6.7 (`Thu, 02 Jan 2020 03:04:05 GMT`, `Thursday, 02-Jan-20 03:04:05 GMT`,
    /// `Thu Jan  2 03:04:05 2020`), with the dashes of old cookies, the offset of mail, and the order of JavaScript.
    fn parse_words(text: &[u8]) -> Option<Self> {
        const MONTHS: [&[u8; 3]; 12] = [
            b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov",
            b"dec",
        ];
        let clock_at = memchr::memchr(b':', text)?.checked_sub(2)?;
        let (date, rest) = text.split_at(clock_at);
        let (clock, rest) = rest.split_at_checked(8)?;
        let of_day = clock_seconds(clock)?;
        let (mut day, mut month, mut year, mut weekday) = (None, None, None, None);
        let words = date
            .split(|byte| matches!(byte, b' ' | b',' | b'-'))
            .filter(|word| !word.is_empty());
        for (position, word) in words.enumerate() {
            let known = (1..)
                .zip(MONTHS)
                .find(|(_, month)| word.eq_ignore_ascii_case(*month));
            let known = known.map(|(number, _)| number);
            match (word.len(), known) {
                (_, Some(number)) if month.is_none() => month = Some(number),
                (1..=2, _) if day.is_none() => day = Some(digits(word)?),
                (2 | 4, _) if year.is_none() => year = Some(four_digits(word)?),
                // Any other word is one that says something: `closed 02 Jan 2020 03:04:05` is no date.
                _ if position == 0 => weekday = Some(weekday_of(word)?),
                _ => return None,
            }
        }
        let zone = match (year, rest) {
            (Some(_), zone) => zone,
            // The year is at the end, so there is no zone.
            (None, [b' ', last @ ..]) if last.len() == 4 => {
                year = Some(four_digits(last)?);
                &[]
            }
            _ => return None,
        };
        let zone = zone
            .strip_prefix(b" GMT")
            .filter(|zone| !zone.is_empty())
            .unwrap_or(zone);
        let days = days_since_epoch(year?, month?, day?)?;
        // Readers refuse a date that contradicts itself. The first of January 1970 was a Thursday, the fourth day from Monday.
        if weekday.is_some_and(|weekday| weekday != (days + 3).rem_euclid(7)) {
            return None;
        }
        Some(Self::at(days, of_day, &[], zone_offset(zone)?))
    }

    fn at(days: i64, of_day: i64, fraction: &[u8], (offset, place): Zone) -> Self {
        Self {
            seconds: days * 86_400 + of_day - offset.unwrap_or(0),
            fraction: trimmed(fraction),
            offset,
            place,
        }
    }

    /// Whether both are naive or none is, and both name the same place.
    fn is_written_as(&self, other: &Self) -> bool {
        self.offset.is_none() == other.offset.is_none() && self.place.agrees(&other.place)
    }

    /// A time from the parts that the `time` crate serializes by default: year, day of the year, hour, minute, second,
    /// nanosecond, and the three parts of the offset.
    pub(crate) fn from_ordinal(parts: [i64; 9]) -> Option<Self> {
        /// The least and the greatest of each part.
        const RANGES: [(i64, i64); 9] = [
            (0, 9_999),
            (1, 366),
            (0, 23),
            (0, 59),
            (0, 59),
            (0, 999_999_999),
            (-23, 23),
            (-59, 59),
            (-59, 59),
        ];
        let in_range =
            |(part, (least, greatest)): (&i64, (i64, i64))| (least..=greatest).contains(part);
        if !parts.iter().zip(RANGES).all(in_range) {
            return None;
        }
        let [year, ordinal, hour, minute, second, nanos, oh, om, os] = parts;
        let days = days_since_epoch(year, 1, 1)? + ordinal - 1;
        let of_day = hour * 3_600 + minute * 60 + second;
        let offset = oh * 3_600 + om * 60 + os;
        Some(Self::at(
            days,
            of_day,
            format!("{nanos:09}").as_bytes(),
            (Some(offset), Place::default()),
        ))
    }

    /// A Unix time in seconds and nanoseconds, as serde writes Rust's system times and as protobuf's `Timestamp` has
    /// it.
    pub(crate) fn from_unix(seconds: i64, nanos: u32) -> Self {
        Self {
            seconds,
            fraction: trimmed(format!("{nanos:09}").as_bytes()),
            offset: Some(0),
            place: Place::default(),
        }
    }

    /// Parses a JSON number as a Unix time; its size tells the unit.
    pub(crate) fn from_number(lexeme: &[u8]) -> Option<Self> {
        Unix::from_number(lexeme).map(|unix| unix.instant)
    }

    /// East of UTC, in seconds; `None` for a naive time.
    pub(crate) fn offset(&self) -> Option<i64> {
        self.offset
    }

    /// Which of two is later, and by how many nanoseconds; `None` when one of them is naive and the other is not, or when they name
    /// two places.
    pub(crate) fn compare(&self, other: &Self) -> Option<(Ordering, u128)> {
        if !self.is_written_as(other) {
            return None;
        }
        let nanoseconds = |instant: &Self| {
            let digits = instant.fraction.iter().chain(std::iter::repeat(&b'0'));
            let fraction = digits.take(9).fold(0, |value: i128, digit| {
                value * 10 + i128::from(digit - b'0')
            });
            i128::from(instant.seconds) * 1_000_000_000 + fraction
        };
        let order = (self.seconds, &self.fraction).cmp(&(other.seconds, &other.fraction));
        Some((order, nanoseconds(self).abs_diff(nanoseconds(other))))
    }

    /// Whether this is the other time cut to fewer fractional digits.
    pub(crate) fn is_cut_of(&self, other: &Self) -> bool {
        self != other
            && self.seconds == other.seconds
            && self.is_written_as(other)
            && (self.fraction.starts_with(&other.fraction)
                || other.fraction.starts_with(&self.fraction))
    }

    /// Whether two different times have the same date and time of day, with different offsets or none.
    pub(crate) fn has_reading_of(&self, other: &Self) -> bool {
        self != other
            && self.place.agrees(&other.place)
            && self.fraction == other.fraction
            && self.seconds + self.offset.unwrap_or(0) == other.seconds + other.offset.unwrap_or(0)
    }

    /// Unix seconds; a naive time is taken for UTC, as the dates of HTTP that name no zone are.
    pub(crate) fn utc_seconds(&self) -> i64 {
        self.seconds
    }

    /// Whole seconds from `other` until this; `None` when one of them is naive.
    pub(crate) fn seconds_since(&self, other: &Self) -> Option<i64> {
        (self.offset.is_some() && other.offset.is_some()).then(|| self.seconds - other.seconds)
    }
}

/// `09:30` or `09:30:59` in seconds.
fn clock_seconds(clock: &[u8]) -> Option<i64> {
    let (hour, minute, second) = match clock {
        [h1, h2, b':', m1, m2] => ([*h1, *h2], [*m1, *m2], *b"00"),
        [h1, h2, b':', m1, m2, b':', s1, s2] => ([*h1, *h2], [*m1, *m2], [*s1, *s2]),
        _ => return None,
    };
    let (hour, minute, second) = (digits(&hour)?, digits(&minute)?, digits(&second)?);
    (hour < 24 && minute < 60 && second < 60).then_some(hour * 3_600 + minute * 60 + second)
}

/// What stands behind the offset of a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Nothing that the offset does not say.
    #[default]
    None,
    /// The short name or the comment of whoever wrote it (`CET`, `(Central European Standard Time)`): it may be left out.
    Remark(SmallVec<[u8; 16]>),
    /// The name of a zone or of a calendar (RFC 9557, Java): from it, times that are not written follow.
    Named(SmallVec<[u8; 16]>),
}

impl Place {
    fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::Remark(_)) | (Self::Remark(_), Self::None) => true,
            _ => self == other,
        }
    }
}

/// An offset in seconds, or none, and what stands behind it.
type Zone = (Option<i64>, Place);

/// What follows the time of day; `None` if it cannot be read.
fn zone_offset(zone: &[u8]) -> Option<Zone> {
    let zone = zone
        .strip_prefix(b" ")
        .filter(|rest| !rest.is_empty())
        .unwrap_or(zone);
    // The `time` crate also writes the seconds of an offset, which are zero in this century.
    let zone = match zone {
        [b'+' | b'-', _, _, b':', _, _, b':', b'0', b'0'] => &zone[..6],
        _ => zone,
    };
    let (offset, name) = match zone {
        [] => return Some((None, Place::None)),
        [b'Z' | b'z', name @ ..]
        | [b'U', b'T', b'C', name @ ..]
        | [b'G', b'M', b'T', name @ ..] => (0, name),
        [sign @ (b'+' | b'-'), h1, h2, rest @ ..] => {
            let (minutes, name) = match rest {
                [b':', m1, m2, name @ ..] | [m1 @ b'0'..=b'9', m2, name @ ..] => ([*m1, *m2], name),
                name => (*b"00", name),
            };
            let (hours, minutes) = (digits(&[*h1, *h2])?, digits(&minutes)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let seconds = hours * 3_600 + minutes * 60;
            (if *sign == b'-' { -seconds } else { seconds }, name)
        }
        _ => return None,
    };
    // The offset says when it is, and a name behind it where.
    let says_no_more = offset == 0 && matches!(name, b"[UTC]" | b"[Etc/UTC]" | b"[GMT]" | b"[Z]");
    let place = match name {
        [] => Place::None,
        _ if says_no_more => Place::None,
        [b'[', inside @ .., b']'] if !inside.is_empty() => Place::Named(name.into()),
        [b' ', b'(', inside @ .., b')'] if !inside.is_empty() => Place::Remark(inside.into()),
        [b' ', short @ ..]
            if (1..=5).contains(&short.len()) && short.iter().all(u8::is_ascii_uppercase) =>
        {
            Place::Remark(short.into())
        }
        _ => return None,
    };
    Some((Some(offset), place))
}

/// The day of the week, from 0 for Monday, by its short or its whole name.
fn weekday_of(word: &[u8]) -> Option<i64> {
    const DAYS: [&str; 7] = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    (0..)
        .zip(DAYS)
        .find(|(_, day)| is(day) || is(day.split_at(3).0))
        .map(|(number, _)| number)
}

/// A year of four digits, or of two as RFC 6265 §5.1.1 reads them.
fn four_digits(text: &[u8]) -> Option<i64> {
    let year = digits(text)?;
    Some(match (text.len(), year) {
        (2, 70..) => year + 1_900,
        (2, _) => year + 2_000,
        _ => year,
    })
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
mod tests;
