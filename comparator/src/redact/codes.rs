//! Finds codes to log in that a message tells: `Your code: 493817`, `the code is 493817`.
//!
//! A code is most often that of an error, a country or a product, so it counts only where a message speaks to somebody of
//! theirs, or tells just this. Names that say more (`verification code`) are secret ones anyway.

use std::ops::Range;

use super::name_value::Name;

/// Digits of a code that a message calls the reader's.
const YOURS: std::ops::RangeInclusive<usize> = 4..=8;
/// Digits of one that it only tells: codes of errors have fewer.
const TOLD: std::ops::RangeInclusive<usize> = 6..=8;
/// Words before `code` for what the reader has and everybody knows.
const KNOWN: [&str; 24] = [
    "area",
    "bar",
    "booking",
    "country",
    "coupon",
    "currency",
    "discount",
    "error",
    "exit",
    "fare",
    "language",
    "order",
    "postal",
    "postcode",
    "product",
    "promo",
    "promotion",
    "qr",
    "reference",
    "response",
    "source",
    "status",
    "tracking",
    "zip",
];
/// Words before `code` that say nothing of which one it is.
const PLAIN: [&str; 6] = ["the", "this", "my", "new", "following", "use"];
/// Words between `code` and its digits.
const VERBS: [&str; 2] = ["is", "was"];

/// The digits of the code that the text behind `name`, which is the word `code`, tells.
pub(super) fn told(text: &str, name: &Name) -> Option<Range<usize>> {
    let before = text.get(name.phrase..name.span.start)?.to_ascii_lowercase();
    let before: Vec<&str> = before.split_whitespace().collect();
    let last = before.last().copied();
    if last.is_some_and(|last| KNOWN.contains(&last)) {
        return None;
    }
    let rest = text.get(name.span.end..)?;
    let signed = rest.trim_start_matches([' ', '\t', '\u{a0}']);
    let colon = signed.strip_prefix(':');
    let after = colon.unwrap_or(signed).trim_start();
    let verb = VERBS.iter().find_map(|verb| {
        let rest = after.strip_prefix(verb)?;
        rest.starts_with([' ', ':', '\u{a0}']).then_some(rest)
    });
    let value = verb
        .unwrap_or(after)
        .trim_start_matches([' ', ':', '\u{a0}']);
    let from = text.len() - value.len();
    let (length, digits) = code(value)?;
    let is_theirs = before.iter().any(|word| ["your", "yours"].contains(word));
    let is_plain = last.is_none_or(|last| PLAIN.contains(&last)) && verb.is_some();
    ((is_theirs && YOURS.contains(&digits)) || (is_plain && TOLD.contains(&digits)))
        .then_some(from..from + length)
}

/// The length of the code with which a text begins, and how many digits it has: `493817`, `493-817`, `G-493817`.
fn code(text: &str) -> Option<(usize, usize)> {
    let (mut digits, mut length) = (0, 0);
    let prefix = text
        .strip_prefix(|letter: char| letter.is_ascii_uppercase())
        .and_then(|rest| rest.strip_prefix('-'))
        .map_or(0, |rest| text.len() - rest.len());
    for (at, sign) in text.get(prefix..)?.char_indices() {
        match sign {
            '0'..='9' => {
                digits += 1;
                length = prefix + at + 1;
            }
            // Between two halves.
            '-' | ' ' if digits == 3 && length == prefix + at => {}
            _ => break,
        }
    }
    let after = text.get(length..)?.chars().next();
    // A number goes on: an amount, a date, a version.
    let ends = !after.is_some_and(|sign| sign.is_alphanumeric() || sign == '_');
    let goes_on = text.get(length..)?.chars().nth(1);
    let is_decimal = after.is_some_and(|sign| ".,:-/".contains(sign))
        && goes_on.is_some_and(|sign| sign.is_ascii_digit());
    (digits > 0 && ends && !is_decimal).then_some((length, digits))
}
