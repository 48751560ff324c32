//! The kinds of texts.

use super::letters::{self, Reading};
use super::pieces::{Likeness, are_alike, likeness};
use super::{MAX_LENGTH, Precision, ValueShape, Zone, length_class};
use crate::instant::Instant;
use crate::notation::number::is_number;
use crate::notation::string::unescape;

/// Shortest run of hexadecimal digits that is a hash, and not a word such as `face` or a number.
const SHORTEST_HEX: usize = 8;
/// Shortest word within a text that is taken for an id when letters and digits are mixed in it.
const SHORTEST_ID: usize = 8;
/// Bytes of a UUID as it is written.
const UUID_BYTES: usize = 36;
/// Shortest text around a token that makes a pattern of it: `ch_` before an id.
const SHORTEST_PREFIX: usize = 3;
/// Longest instant that is looked for within a text.
const LONGEST_INSTANT: usize = 40;

/// A text by what it is made of.
pub(in crate::noise) struct Text<'a> {
    content: &'a str,
    /// What it is by its own form, if it has one.
    form: Option<ValueShape>,
    alphabet: Alphabet,
}

/// What characters there are; each contains those before, but for the two cases of hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    Digits,
    Hex,
    UpperHex,
    Word,
    Any,
}

impl Alphabet {
    fn of(text: &str) -> Self {
        let all = |known: fn(u8) -> bool| text.bytes().all(known);
        if all(|byte| byte.is_ascii_digit()) {
            Self::Digits
        } else if all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            Self::Hex
        } else if all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F')) {
            Self::UpperHex
        } else if all(is_of_word) {
            Self::Word
        } else {
            Self::Any
        }
    }

    /// What holds the characters of both.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, two) if one == two => one,
            (Self::Digits, other) | (other, Self::Digits) => other,
            (Self::Any, _) | (_, Self::Any) => Self::Any,
            _ => Self::Word,
        }
    }
}

/// Letters, digits and the other characters of tokens (base64 in its alphabets, JWT, percent-encoding).
pub(super) fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=.~%".contains(&byte)
}

impl<'a> Text<'a> {
    pub(in crate::noise) fn of(text: &'a str) -> Self {
        Self {
            content: text,
            form: form(text),
            alphabet: Alphabet::of(text),
        }
    }

    /// The shape of one text alone.
    pub(in crate::noise) fn shape(&self) -> ValueShape {
        if let Some(form) = self.form {
            return form;
        }
        self.by(self.alphabet)
    }

    fn by(&self, alphabet: Alphabet) -> ValueShape {
        let length = self.content.len();
        let exact = u32::try_from(length).unwrap_or(MAX_LENGTH).min(MAX_LENGTH);
        match alphabet {
            Alphabet::Digits => ValueShape::IntegerText,
            Alphabet::Hex if length >= SHORTEST_HEX => ValueShape::Hex(exact),
            Alphabet::UpperHex if length >= SHORTEST_HEX => ValueShape::UpperHex(exact),
            Alphabet::Hex | Alphabet::UpperHex | Alphabet::Word => {
                ValueShape::Word(length_class(length))
            }
            Alphabet::Any => ValueShape::Text,
        }
    }

    /// The shapes of two texts that are looked at together.
    pub(in crate::noise) fn shapes(one: &str, two: &str) -> (ValueShape, ValueShape) {
        let (first, second) = (Text::of(one), Text::of(two));
        let shapes = (first.shape(), second.shape());
        if shapes.0 == shapes.1 && !matches!(shapes.0, ValueShape::Text | ValueShape::Word(_)) {
            return shapes;
        }
        // Digits alone are a number, and so are digits around an `e`.
        let is_number = |form| matches!(form, ValueShape::IntegerText | ValueShape::DecimalText);
        let plain = |text: &Text<'_>| text.form.is_none_or(is_number);
        if one.len() == two.len() && one.len() >= SHORTEST_HEX && plain(&first) && plain(&second) {
            let alphabet = first.alphabet.and(second.alphabet);
            if matches!(alphabet, Alphabet::Hex | Alphabet::UpperHex) {
                return (first.by(alphabet), second.by(alphabet));
            }
        }
        if first.form.is_some() || second.form.is_some() {
            return shapes;
        }
        let are_words = first.alphabet != Alphabet::Any && second.alphabet != Alphabet::Any;
        let is_pattern = if are_words {
            match likeness(one, two) {
                // A prefix as some services give to ids. Of random tokens one in a million has one in common by chance.
                Likeness::Token(around) => around >= SHORTEST_PREFIX,
                // Of random characters some happen to have separators at the same places.
                Likeness::Pattern => !(is_only_ids(one) && is_only_ids(two)),
                Likeness::Equal | Likeness::None => false,
            }
        } else {
            are_alike(one, two)
        };
        if is_pattern {
            return (ValueShape::Pattern, ValueShape::Pattern);
        }
        shapes
    }
}

/// Whether a text is nothing but what [`skeleton`] takes for ids, with separators between them.
fn is_only_ids(text: &str) -> bool {
    let mut words = text
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words.all(|word| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        word.len() >= SHORTEST_ID && digits > 0 && digits < word.len()
    })
}

/// What a whole text is, where its form says it.
fn form(text: &str) -> Option<ValueShape> {
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

/// A text with its numbers, UUIDs, times, hashes and ids replaced by what they are.
pub(in crate::noise) fn skeleton(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = text.get(at..).unwrap_or_default();
        let length = run(rest);
        if length == 0 {
            let Some(character) = rest.chars().next() else {
                break;
            };
            out.push(character);
            at += character.len_utf8();
        } else if let Some((length, word)) = value_at(text, at) {
            out.push_str(word);
            at += length;
        } else {
            push_word(rest.get(..length).unwrap_or_default(), &mut out);
            at += length;
        }
    }
    out
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

/// A run of letters and digits: as it is, if it is a word; else what it is.
fn push_word(word: &str, out: &mut String) {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_id = word.len() >= SHORTEST_ID
        && digits > 0
        // `Windows10Professional` is none.
        && letters::reading(word) != Reading::Words;
    if digits == word.len() && !is_id {
        out.push('#');
    } else if is_id {
        // A number of eight digits may be a hash of eight digits.
        out.push_str(if digits == word.len() && word.len() > 2 * SHORTEST_ID {
            "#"
        } else {
            "<id>"
        });
        if digits < word.len() && word.len() > 2 * SHORTEST_ID {
            out.push_str(&length_class(word.len()).to_string());
        }
    } else {
        // Digits within a short word are numbers: `web3`, `v12`.
        let mut in_number = false;
        for character in word.chars() {
            if !character.is_ascii_digit() {
                out.push(character);
            } else if !in_number {
                out.push('#');
            }
            in_number = character.is_ascii_digit();
        }
    }
}

/// The text of a JSON string; `None` where it is none.
pub(in crate::noise) fn unquoted(json: &str) -> Option<String> {
    let inside = json.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = Vec::new();
    unescape(inside.as_bytes(), &mut text);
    Some(String::from_utf8_lossy(&text).into_owned())
}
