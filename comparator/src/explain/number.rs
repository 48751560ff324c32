//! How two different numbers are related.

use std::cmp::Ordering;

use parity_schemas::verdict::{Explanation, FACTORS};

use super::cut_to;
use crate::instant::Unix;
use crate::notation::number::{self, Decimal};

/// Units in the last place by which two doubles may differ and still be one calculation, rounded at other points: what
/// googletest's `FloatEq` allows.
const NEAR_ULPS: u64 = 4;

pub(super) fn numbers(one: &[u8], two: &[u8]) -> Option<Explanation> {
    if number::same_decimal(one, two) {
        return Some(Explanation::EqualDecimal);
    }
    if let Some(cut) = cut_unix_times(one, two) {
        return Some(cut);
    }
    if let Some(near) = doubles(one, two) {
        return Some(near);
    }
    let (first, second) = (Decimal::parse(one)?, Decimal::parse(two)?);
    if let Some(power) = first.power_over(&second)
        && matches!(power.abs(), 3 | 6 | 9)
    {
        let factor = 10_u32.pow(power.unsigned_abs() as u32);
        return word(factor, power < 0);
    }
    if number::is_rounded(one, two) {
        return Some(
            match kept(&first, &second, ["0.005", "0.05"], Ordering::is_le) {
                2 => Explanation::Rounded,
                1 => Explanation::RoundedToTenths,
                _ => Explanation::RoundedToWhole,
            },
        );
    }
    if cut(one, two) {
        return Some(
            match kept(&first, &second, ["0.01", "0.1"], Ordering::is_lt) {
                2 => Explanation::CutDecimals,
                1 => Explanation::CutToTenths,
                _ => Explanation::CutToWhole,
            },
        );
    }
    scaled(&first, &second)
}

/// How many decimal places two numbers may share, two for more: what they lost is `within` half a unit of the last one, or a unit.
fn kept(one: &Decimal, two: &Decimal, bounds: [&str; 2], within: impl Fn(Ordering) -> bool) -> u8 {
    let lost = one.distance(two);
    let is_within = |bound: &str| {
        let bound = Decimal::parse(bound.as_bytes());
        let order = lost
            .as_ref()
            .zip(bound)
            .map(|(lost, bound)| lost.compare(&bound));
        order.is_some_and(&within)
    };
    match bounds.map(is_within) {
        [true, _] => 2,
        [false, true] => 1,
        [false, false] => 0,
    }
}

/// What says that the candidate's number is larger by this factor, or smaller.
fn word(factor: u32, is_larger: bool) -> Option<Explanation> {
    let found = FACTORS.iter().find(|(of, ..)| *of == factor);
    found.map(|(_, up, down)| if is_larger { *up } else { *down })
}

/// The factor between two numbers, if it is a usual one and the smaller has so many digits that it is no chance.
fn scaled(one: &Decimal, two: &Decimal) -> Option<Explanation> {
    /// `5` and `50` are two small numbers; `12.5` and `1250` are euros and cents.
    const MIN_DIGITS: usize = 2;
    if one.is_negative() != two.is_negative() {
        return None;
    }
    let is = |large: &Decimal, small: &Decimal, factor: &Decimal| {
        small.digit_count() >= MIN_DIGITS && small.is_times(factor, large)
    };
    FACTORS.iter().find_map(|(factor, up, down)| {
        let factor = Decimal::parse(factor.to_string().as_bytes())?;
        let larger = is(two, one, &factor).then_some(*up);
        larger.or_else(|| is(one, two, &factor).then_some(*down))
    })
}

/// The unit of two integers that are one Unix time in two units, where the coarser lost the digits in between. Plain integers
/// only: `12.9` and `12` are likelier to be something else.
fn cut_unix_times(one: &[u8], two: &[u8]) -> Option<Explanation> {
    let plain = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    if !(plain(one) && plain(two) && one.len() != two.len()) {
        return None;
    }
    let (first, second) = (Unix::from_number(one)?, Unix::from_number(two)?);
    let is_cut = first.instant.is_cut_of(&second.instant);
    is_cut.then(|| cut_to(first.unit.min(second.unit)))
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
