//! What the form of a text says: a UUID, a date, a time, a number. Read for a whole text, and for what begins within one.

use super::{Precision, ValueShape, Zone};
use crate::instant::Instant;
use crate::notation::number::is_number;

/// Bytes of a UUID as it is written.
const UUID_BYTES: usize = 36;

/// Longest instant that is looked for within a text.
const LONGEST_INSTANT: usize = 40;

/// Letters, digits and the other characters of tokens (base64 in its alphabets, JWT, percent-encoding).
pub(super) fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=.~%".contains(&byte)
}

/// What a whole text is, where its form says it.
pub(super) fn form(text: &str) -> Option<ValueShape> {
    if text.is_empty() {
        return Some(ValueShape::Blank);
    }
    if let Some(uuid) = uuid_form(text) {
        return Some(uuid);
    }
    if is_date(text.as_bytes()) {
        return Some(ValueShape::Date);
    }
    if Instant::parse(text.as_bytes()).is_some() {
        return Some(instant_form(text));
    }
    is_number(text.as_bytes()).then(|| {
        if text.bytes().any(|byte| b".eE".contains(&byte)) {
            ValueShape::DecimalText
        } else {
            ValueShape::IntegerText
        }
    })
}

fn uuid_form(text: &str) -> Option<ValueShape> {
    let bytes = text.as_bytes();
    if bytes.len() != UUID_BYTES {
        return None;
    }
    let (mut upper, mut lower, mut zeros) = (false, false, true);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 8 | 13 | 18 | 23) {
            if *byte != b'-' {
                return None;
            }
            continue;
        }
        if !byte.is_ascii_hexdigit() {
            return None;
        }
        upper |= byte.is_ascii_uppercase();
        lower |= byte.is_ascii_lowercase();
        zeros &= *byte == b'0';
    }
    Some(match (zeros, upper && !lower) {
        (true, _) => ValueShape::NilUuid,
        (false, true) => ValueShape::UpperUuid,
        (false, false) => ValueShape::Uuid,
    })
}

/// `2026-01-31`.
fn is_date(text: &[u8]) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else {
        return false;
    };
    [y1, y2, y3, y4, m1, m2, d1, d2]
        .iter()
        .all(|byte| byte.is_ascii_digit())
}

/// How an instant is written that could be read.
fn instant_form(text: &str) -> ValueShape {
    let bytes = text.as_bytes();
    if !bytes[0].is_ascii_digit() {
        return ValueShape::WordedInstant;
    }
    let rest = text.get(10..).unwrap_or_default();
    let fraction = rest.find(['.', ',']).map_or(0, |point| {
        let digits = rest.bytes().skip(point + 1);
        digits.take_while(u8::is_ascii_digit).count()
    });
    let precision = match fraction {
        0 => Precision::Seconds,
        1..=3 => Precision::Millis,
        4..=6 => Precision::Micros,
        _ => Precision::Nanos,
    };
    let zone = if rest.ends_with(['Z', 'z']) {
        Zone::Utc
    } else if rest
        .get(1..)
        .unwrap_or_default()
        .contains(['+', '-', ']', ')'])
        || rest.ends_with(|last: char| last.is_ascii_alphabetic())
    {
        Zone::Offset
    } else {
        Zone::Local
    };
    ValueShape::Instant(precision, zone)
}

/// Letters and digits that a text begins with.
pub(super) fn run(text: &str) -> usize {
    let bytes = text.bytes();
    bytes.take_while(u8::is_ascii_alphanumeric).count()
}

/// A UUID or an instant that begins here, with its length.
pub(super) fn value_at(text: &str, at: usize) -> Option<(usize, &'static str)> {
    let until = |length: usize| text.get(at..at + length);
    if let Some(shape) = until(UUID_BYTES).and_then(uuid_form) {
        let word = match shape {
            ValueShape::NilUuid => "<nil-uuid>",
            _ => "<uuid>",
        };
        return Some((UUID_BYTES, word));
    }
    let is_dated = until(11).is_some_and(|begin| {
        is_date(&begin.as_bytes()[..10]) && matches!(begin.as_bytes()[10], b'T' | b't' | b' ')
    });
    if is_dated {
        let bytes = &text.as_bytes()[at..];
        let longest = bytes
            .iter()
            .take(LONGEST_INSTANT)
            .take_while(|byte| byte.is_ascii_digit() || b"-T t:.,+Zz".contains(byte))
            .count();
        let found = (16..=longest)
            .rev()
            .find(|length| Instant::parse(&bytes[..*length]).is_some());
        return found.map(|length| (length, "<instant>"));
    }
    until(10)
        .filter(|date| is_date(date.as_bytes()))
        .map(|_| (10, "<date>"))
}
