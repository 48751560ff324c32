//! Card numbers that are written as numbers with an exponent.

use std::ops::Range;

use super::{Digit, Gap, MAX_DIGITS, MIN_DIGITS, is_card};

/// The spans of card numbers written with an exponent, such as `4.111111111111111e15`.
pub(super) fn exponents(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text
        .get(from..)
        .and_then(|rest| memchr::memchr2(b'e', b'E', rest.as_bytes()))
        .map(|at| from + at)
    {
        from = at + 1;
        let mantissa = text.as_bytes()[..at]
            .iter()
            .rev()
            .take(MAX_DIGITS + 8)
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
            .count();
        let start = at - mantissa;
        if mantissa == 0 {
            continue;
        }
        if let Some((length, digits)) = text.get(start..).and_then(with_exponent)
            && (MIN_DIGITS..=MAX_DIGITS).contains(&digits.len())
        {
            let as_digits: Vec<Digit> = digits
                .iter()
                .map(|value| Digit {
                    start,
                    end: start,
                    value: *value,
                    before: Gap::None,
                })
                .collect();
            if is_card(&as_digits) {
                found.push(start..start + length);
                from = start + length;
            }
        }
    }
    found
}

/// The length of the number with an exponent at the start of the text, and the digits of the whole number that it
/// equals.
pub(super) fn with_exponent(text: &str) -> Option<(usize, Vec<u8>)> {
    let bytes = text.as_bytes();
    let run = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let whole = run(0);
    let mut digits: Vec<u8> = bytes.get(..whole)?.iter().map(|byte| byte - b'0').collect();
    let mut at = whole;
    let mut fraction = 0;
    if bytes.get(at) == Some(&b'.') {
        fraction = run(at + 1);
        digits.extend(
            bytes
                .get(at + 1..at + 1 + fraction)?
                .iter()
                .map(|byte| byte - b'0'),
        );
        at += 1 + fraction;
    }
    if !matches!(bytes.get(at), Some(b'e' | b'E')) || whole + fraction == 0 {
        return None;
    }
    at += 1;
    let negative = bytes.get(at) == Some(&b'-');
    at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
    let length = run(at);
    // No card number needs more.
    if length == 0 || length > 3 {
        return None;
    }
    let exponent: usize = text.get(at..at + length)?.parse().ok()?;
    at += length;
    // Number of digits after the decimal point.
    let after = if negative {
        fraction.checked_add(exponent)?
    } else if exponent >= fraction {
        let zeros = exponent - fraction;
        if zeros > MAX_DIGITS {
            return None;
        }
        digits.extend(std::iter::repeat_n(0, zeros));
        0
    } else {
        fraction - exponent
    };
    let kept = digits.len().checked_sub(after)?;
    if digits.get(kept..)?.iter().any(|digit| *digit != 0) {
        return None;
    }
    digits.truncate(kept);
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    digits.drain(..zeros);
    Some((at, digits))
}
