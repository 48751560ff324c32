//! Splits a name into words, and replaces letters by the plain ones that they look like.

use std::borrow::Cow;

use smallvec::SmallVec;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::decompose_canonical;

use crate::visible::is_hidden;

/// Letters of other scripts, and of the Latin one, that look or sound like plain ones. Unicode's table of confusables has
/// thousands; these are the ones that a name can be mistaken for as a whole.
const LIKE: &[(char, &str)] = &[
    ('ß', "ss"),
    ('æ', "ae"),
    ('ø', "o"),
    ('œ', "oe"),
    ('đ', "d"),
    ('ı', "i"),
    ('ł', "l"),
    ('ſ', "s"),
    ('ħ', "h"),
    ('ŧ', "t"),
    ('ƀ', "b"),
    ('ƚ', "l"),
    ('ƶ', "z"),
    ('ǥ', "g"),
    ('ɑ', "a"),
    ('ɡ', "g"),
    ('ɩ', "i"),
    ('α', "a"),
    ('ε', "e"),
    ('ι', "i"),
    ('κ', "k"),
    ('ν', "v"),
    ('ο', "o"),
    ('ρ', "p"),
    ('ѕ', "s"),
    ('τ', "t"),
    ('υ', "u"),
    ('ω', "w"),
    ('а', "a"),
    ('в', "b"),
    ('г', "r"),
    ('е', "e"),
    ('к', "k"),
    ('м', "m"),
    ('н', "h"),
    ('о', "o"),
    ('р', "p"),
    ('с', "c"),
    ('т', "t"),
    ('у', "y"),
    ('х', "x"),
    ('і', "i"),
    ('ј', "j"),
    ('ԁ', "d"),
    ('һ', "h"),
    ('ԛ', "q"),
    ('ԝ', "w"),
];

/// The words of a name in lower case, parted by single spaces.
pub struct Words(pub(super) SmallVec<[u8; 64]>);

impl Words {
    /// Parts a name; without an allocation where it is short, because every segment of every path is asked.
    pub fn of(name: &str) -> Self {
        #[derive(Clone, Copy, PartialEq)]
        enum Case {
            Gap,
            Lower,
            Upper,
        }
        let mut text: SmallVec<[u8; 64]> = SmallVec::new();
        let mut before = Case::Gap;
        let mut characters = name.chars();
        while let Some(character) = characters.next() {
            let case = match character {
                _ if !character.is_alphabetic() => Case::Gap,
                _ if character.is_uppercase() => Case::Upper,
                _ => Case::Lower,
            };
            let mut ahead = characters.clone();
            let begins = match (before, case) {
                (Case::Lower, Case::Upper) => true,
                // The last capital of `APIKey` begins a word, that of `PINs` does not.
                (Case::Upper, Case::Upper) => {
                    let next = ahead.next();
                    let plural = next == Some('s') && !ahead.next().is_some_and(char::is_lowercase);
                    next.is_some_and(char::is_lowercase) && !plural
                }
                _ => false,
            };
            if (case == Case::Gap || begins) && text.last().is_some_and(|last| *last != b' ') {
                text.push(b' ');
            }
            if case != Case::Gap {
                for lower in character.to_lowercase() {
                    text.extend_from_slice(lower.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
            before = case;
        }
        if text.last() == Some(&b' ') {
            text.pop();
        }
        Self(text)
    }

    /// Each word, a plural as the word itself.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b' ').map(singular)
    }

    /// The name as one word.
    pub fn joined(&self) -> SmallVec<[u8; 64]> {
        let letters = self.0.iter().copied();
        letters.filter(|byte| *byte != b' ').collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

pub(super) fn singular(word: &[u8]) -> &[u8] {
    match word {
        [rest @ .., b's'] if rest.len() >= 2 && rest.last() != Some(&b's') => rest,
        _ => word,
    }
}

/// A name as it is read: compatibility forms of letters are the letters, what is not seen is not there, accents are
/// dropped.
pub(super) fn seen(name: &str) -> String {
    name.chars()
        .filter(|character| !is_hidden(*character))
        .nfkc()
        .map(|character| {
            if character.is_ascii() {
                return character;
            }
            let mut base = None;
            decompose_canonical(character, |part| {
                base.get_or_insert(part);
            });
            base.filter(char::is_ascii).unwrap_or(character)
        })
        .collect()
}

/// A name as whoever is to take it for another one reads it: as [`seen`], with plain letters for those that look alike.
pub fn folded(name: &str) -> Cow<'_, str> {
    if name.is_ascii() {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len());
    for character in seen(name).chars() {
        let lower = character.to_lowercase().next().unwrap_or(character);
        match LIKE.iter().find(|(other, _)| *other == lower) {
            Some((_, plain)) if !character.is_ascii() && character == lower => out.push_str(plain),
            Some((_, plain)) if !character.is_ascii() => out.push_str(&plain.to_uppercase()),
            _ => out.push(character),
        }
    }
    Cow::Owned(out)
}
