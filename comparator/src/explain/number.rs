//! How two different numbers are related.

use parity_schemas::verdict::Explanation;

use crate::instant::Instant;
use crate::notation::number::{self, Decimal};

/// Units in the last place by which two doubles may differ and still be one calculation, rounded at other points: what
/// googletest's `FloatEq` allows.
const NEAR_ULPS: u64 = 4;

pub(super) fn numbers(one: &[u8], two: &[u8]) -> Option<Explanation> {
    if number::same_decimal(one, two) {
        return Some(Explanation::EqualDecimal);
    }
    if cut_unix_times(one, two) {
        return Some(Explanation::TruncatedTime);
    }
    if let Some(near) = doubles(one, two) {
        return Some(near);
    }
    let (first, second) = (Decimal::parse(one)?, Decimal::parse(two)?);
    let power = first.power_over(&second);
    if power.is_some_and(|power| matches!(power.abs(), 3 | 6 | 9)) {
        return Some(Explanation::ScaledBy1000);
    }
    if number::is_rounded(one, two) {
        return Some(Explanation::Rounded);
    }
    if cut(one, two) {
        return Some(Explanation::Truncated);
    }
    scaled(&first, &second)
}

/// The factor between two numbers, if it is a usual one and the smaller has so many digits that it is no chance.
fn scaled(one: &Decimal, two: &Decimal) -> Option<Explanation> {
    /// `5` and `50` are two small numbers; `12.5` and `1250` are euros and cents.
    const MIN_DIGITS: usize = 2;
    const FACTORS: [(&[u8], Explanation); 7] = [
        (b"10", Explanation::ScaledBy10),
        (b"100", Explanation::ScaledBy100),
        (b"60", Explanation::ScaledBy60),
        (b"3600", Explanation::ScaledBy60),
        (b"1024", Explanation::ScaledBy1024),
        (b"1048576", Explanation::ScaledBy1024),
        (b"1073741824", Explanation::ScaledBy1024),
    ];
    if one.is_negative() != two.is_negative() {
        return None;
    }
    let is = |large: &Decimal, small: &Decimal, factor: &Decimal| {
        small.digit_count() >= MIN_DIGITS && small.is_times(factor, large)
    };
    FACTORS.iter().find_map(|(factor, word)| {
        let factor = Decimal::parse(factor)?;
        (is(one, two, &factor) || is(two, one, &factor)).then_some(*word)
    })
}

/// Whether two integers are one Unix time in two units, where the coarser lost the digits in between. Plain integers
/// only: `12.9` and `12` are likelier to be something else.
fn cut_unix_times(one: &[u8], two: &[u8]) -> bool {
    let plain = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    plain(one)
        && plain(two)
        && one.len() != two.len()
        && match (Instant::from_number(one), Instant::from_number(two)) {
            (Some(first), Some(second)) => first.is_cut_of(&second),
            _ => false,
        }
}

/// Whether both numbers read as the same double, or as two neighbouring ones.
fn doubles(one: &[u8], two: &[u8]) -> Option<Explanation> {
    let (first, second) = (double(one)?, double(two)?);
    if !(first.is_finite() && second.is_finite()) {
        return None;
    }
    if first.to_bits() == second.to_bits() {
        return Some(Explanation::EqualDouble);
    }
    // Large integers whose doubles are neighbours are as likely two identifiers.
    let fractional = |text: &[u8]| text.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    (first.to_bits().abs_diff(second.to_bits()) <= NEAR_ULPS
        && (fractional(one) || fractional(two)))
    .then_some(Explanation::NearDouble)
}

fn double(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether a number exceeds every double, so that JavaScript and Python read it as infinity.
pub(super) fn overflows(number: &[u8]) -> bool {
    double(number).is_some_and(f64::is_infinite)
}

/// Whether a text is what serializers write for infinity and NaN, which JSON has no number for.
pub(super) fn names_no_number(text: &[u8]) -> bool {
    matches!(text, b"NaN" | b"Infinity" | b"-Infinity")
}

/// Whether a text names the infinity that a number overflows to.
pub(super) fn is_infinity(text: &[u8], number: &[u8]) -> bool {
    let wanted: &[u8] = if number.starts_with(b"-") {
        b"-Infinity"
    } else {
        b"Infinity"
    };
    text == wanted && overflows(number)
}

/// Whether one number is the other with decimal places dropped: `12.349` and `12.34`, `12.9` and `12`. One digit besides
/// zeros must be left: `0` is the begin of every small number, and explains none.
fn cut(one: &[u8], two: &[u8]) -> bool {
    let (short, long) = if one.len() < two.len() {
        (one, two)
    } else {
        (two, one)
    };
    let is_something = short.iter().any(|digit| matches!(digit, b'1'..=b'9'));
    is_something
        && long.strip_prefix(short).is_some_and(|rest| {
            let places_only = rest
                .iter()
                .skip_while(|byte| **byte == b'.')
                .all(u8::is_ascii_digit);
            places_only && (rest.first() == Some(&b'.') || short.contains(&b'.'))
        })
}
