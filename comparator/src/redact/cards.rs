//! Payment card numbers in any text.
//!
//! A card number is 13 to 19 digits with a valid Luhn check digit, written in one piece or in groups parted by single
//! spaces or dashes, and begins with 2 to 6, as all payment schemes do. (A time in milliseconds begins with 1; without
//! that condition one in ten of them would be taken for a card.)

use std::borrow::Cow;
use std::ops::Range;

const MIN_DIGITS: usize = 13;
const MAX_DIGITS: usize = 19;
/// Groups of one number: 4-4-4-4-3 at most.
const MAX_GROUPS: usize = 5;

/// `text` with each card number replaced by what `replacement` makes of its digits.
pub(super) fn replace(text: &str, replacement: impl Fn(&str) -> String) -> Cow<'_, str> {
    let found = find(text.as_bytes());
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 32);
    let mut last = 0;
    for range in found {
        // Ranges begin and end at ASCII digits, which are character boundaries.
        let number = text.get(range.clone()).unwrap_or_default();
        let digits: String = number.chars().filter(char::is_ascii_digit).collect();
        out.push_str(text.get(last..range.start).unwrap_or_default());
        out.push_str(&replacement(&digits));
        last = range.end;
    }
    out.push_str(text.get(last..).unwrap_or_default());
    Cow::Owned(out)
}

/// Whether there is any.
pub(super) fn any(text: &[u8]) -> bool {
    !find(text).is_empty()
}

/// A generalized path without card numbers, for groups, which are named and counted without a key.
pub(crate) fn starred(path: &str) -> String {
    replace(path, |_| "*".to_owned()).into_owned()
}

fn find(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if !text[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let groups = groups(text, at);
        let card = groups.iter().rev().find(|end| is_card(&text[at..**end]));
        if let Some(end) = card {
            found.push(at..*end);
            at = *end;
        } else {
            // Next group: never from inside of one.
            at = groups.first().copied().unwrap_or(at + 1);
        }
    }
    found
}

/// The ends of the groups of digits from `from` on that are parted by one space or dash.
fn groups(text: &[u8], from: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = from;
    while ends.len() < MAX_GROUPS {
        let length = text[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if length == 0 {
            break;
        }
        at += length;
        ends.push(at);
        if !matches!(text.get(at), Some(b' ' | b'-')) {
            break;
        }
        at += 1;
    }
    ends
}

fn is_card(text: &[u8]) -> bool {
    let digits = || {
        text.iter()
            .rev()
            .filter(|byte| byte.is_ascii_digit())
            .map(|byte| u32::from(byte - b'0'))
    };
    let count = digits().count();
    if !(MIN_DIGITS..=MAX_DIGITS).contains(&count) || !matches!(text.first(), Some(b'2'..=b'6')) {
        return false;
    }
    let sum: u32 = digits()
        .enumerate()
        .map(|(index, digit)| match (index % 2, digit * 2) {
            (0, _) => digit,
            (_, doubled) if doubled > 9 => doubled - 9,
            (_, doubled) => doubled,
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_found_in_every_writing_and_other_numbers_are_not() {
        let cut = |text: &str| replace(text, |digits| format!("<{}>", digits.len())).into_owned();
        for (text, expected) in [
            ("4111111111111111", "<16>"),
            ("pay 4111 1111 1111 1111 now", "pay <16> now"),
            ("no. 12 4111-1111-1111-1111", "no. 12 <16>"),
            ("3782 822463 10005", "<15>"),
            ("é5555555555554444é", "é<16>é"),
            ("6011000990139424,30569309025904", "<16>,<14>"),
            ("4111111111111112", "4111111111111112"),
            ("94111111111111111", "94111111111111111"),
            ("1577934245120", "1577934245120"),
            ("9007199254740993", "9007199254740993"),
            ("4111 1111", "4111 1111"),
            ("", ""),
        ] {
            assert_eq!(cut(text), expected, "{text}");
        }
        assert_eq!(starred("/cards/4111111111111111/name"), "/cards/*/name");
    }
}
