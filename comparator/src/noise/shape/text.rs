//! The kinds of texts.

use super::form::{form, is_of_word};
use super::pieces::{Likeness, are_alike, likeness};
use super::skeleton::SHORTEST_ID;
use super::{MAX_LENGTH, ValueShape, length_class};
use crate::notation::string::unescape;

/// Shortest run of hexadecimal digits that is a hash, and not a word such as `face` or a number.
const SHORTEST_HEX: usize = 8;
/// Shortest text around a token that makes a pattern of it: `ch_` before an id.
const SHORTEST_PREFIX: usize = 3;
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

/// The text of a JSON string; `None` where it is none.
pub(in crate::noise) fn unquoted(json: &str) -> Option<String> {
    let inside = json.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = Vec::new();
    unescape(inside.as_bytes(), &mut text);
    Some(String::from_utf8_lossy(&text).into_owned())
}
