//! Texts cut into what may differ by chance and what stands around it.
//!
//! Two texts are of one pattern if they are equal but for numbers, times, ids and random tokens at the same places. A
//! number, a UUID or a time is known by its form. A token is known only beside another one: one of the two must look random
//! and the other one must not look like words, or a token that happens to have no digit would be a word once in a while.
//!
//! It does not see that a token is another kind of token: that its letters are others, or that it is a little shorter.

use super::form::{is_of_word, run, value_at};
use super::letters::{self, Reading};
use super::skeleton::{ID, skeleton};
use crate::notation::number::is_number;

/// Shortest run that may be a token.
const SHORTEST_TOKEN: usize = 8;
/// Shortest run that is known to be a token without another one beside it.
const SHORTEST_ALONE: usize = 16;
/// Shortest word that is looked for between tokens, so that `‹token›/paid/‹token›` is not one of them.
const SHORTEST_WORD: usize = 4;
/// Tokens of one kind differ in length by at most a quarter (and [`SLACK`]): what they hold may be longer or shorter.
const QUARTER: usize = 4;
/// Bytes by which even short tokens may differ in length.
const SLACK: usize = 2;

/// A part of a text.
#[derive(Clone, Copy)]
struct Piece<'a> {
    kind: Kind,
    text: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A UUID or time, by its word.
    Value(&'static str),
    /// Characters that stand in words and tokens.
    Run,
    /// White space and punctuation.
    Other,
}

/// How two runs are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// They are equal.
    Equal,
    /// But for numbers and ids between separators.
    Pattern,
    /// Both have a token, with so many bytes around it that are equal.
    Token(usize),
    /// Not.
    None,
}

/// Cuts a text.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut begun, mut at) = (0, 0);
    let mut begun_kind = Kind::Other;
    let mut end = |from: usize, until: usize, kind: Kind| {
        if let Some(text) = text.get(from..until).filter(|text| !text.is_empty()) {
            pieces.push(Piece { kind, text });
        }
    };
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let letters = run(rest);
        if letters > 0
            && let Some((length, word)) = value_at(text, at)
        {
            end(begun, at, begun_kind);
            end(at, at + length, Kind::Value(word));
            at += length;
            (begun, begun_kind) = (at, Kind::Other);
            continue;
        }
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let is_run = rest.bytes().next().is_some_and(is_of_word);
        let kind = if is_run { Kind::Run } else { Kind::Other };
        if kind != begun_kind {
            end(begun, at, begun_kind);
            (begun, begun_kind) = (at, kind);
        }
        at += letters.max(first);
    }
    end(begun, text.len(), begun_kind);
    pieces
}

/// Whether two texts are equal but for numbers, times, ids and tokens.
pub(super) fn are_alike(one: &str, two: &str) -> bool {
    if skeleton(one) == skeleton(two) {
        return true;
    }
    let (one, two) = (pieces(one), pieces(two));
    one.len() == two.len() && one.iter().zip(&two).all(|(one, two)| one.is_like(two))
}

/// The ids in a text: UUIDs, and long runs that are plainly random.
pub(in crate::noise) fn ids_in(text: &str) -> Vec<&str> {
    let pieces = pieces(text).into_iter();
    let parts = pieces.flat_map(|piece| match piece.kind {
        Kind::Value("<uuid>") => vec![piece.text],
        Kind::Run => {
            let is_id = |part: &&str| {
                part.len() >= SHORTEST_ALONE
                    && part.bytes().any(|byte| byte.is_ascii_alphabetic())
                    && letters::reading(part) == Reading::Random
            };
            parts(piece.text).into_iter().filter(is_id).collect()
        }
        _ => Vec::new(),
    });
    parts.collect()
}

/// The numbers, times, ids and tokens in which any of four texts differ; `None` if they are not of one pattern.
pub(in crate::noise) fn spots(texts: [&str; 4]) -> Option<Vec<[String; 4]>> {
    let cut = texts.map(pieces);
    let [first, others @ ..] = &cut;
    let mut spots = Vec::new();
    for (at, piece) in first.iter().enumerate() {
        let there = |other: &Vec<Piece<'_>>| other.len() == first.len() && other[at].is_like(piece);
        if !others.iter().all(there) {
            return None;
        }
        let values = [0, 1, 2, 3].map(|text: usize| cut[text][at].text);
        if piece.kind == Kind::Run {
            push_parts(values, &mut spots);
        } else {
            push_spot(values, &mut spots);
        }
    }
    (cut.iter().all(|pieces| pieces.len() == first.len())).then_some(spots)
}

/// Adds the parts of runs that can be laid over each other, or else the runs.
fn push_parts(runs: [&str; 4], spots: &mut Vec<[String; 4]>) {
    let skeletons = runs.map(skeleton);
    let [l1, c1, l2, c2] = runs.map(parts);
    let is_one = skeletons.iter().all(|other| *other == skeletons[0])
        && [&c1, &l2, &c2].iter().all(|other| other.len() == l1.len());
    if !is_one {
        return push_spot(runs, spots);
    }
    for (((l1, c1), l2), c2) in l1.iter().zip(c1).zip(l2).zip(c2) {
        push_spot([*l1, c1, l2, c2], spots);
    }
}

fn push_spot(values: [&str; 4], spots: &mut Vec<[String; 4]>) {
    if values.iter().any(|value| *value != values[0]) {
        spots.push(values.map(str::to_owned));
    }
}

/// A run cut into numbers, with their fractions and without their units, and other runs of letters and digits.
fn parts(run: &str) -> Vec<&str> {
    let bytes = run.as_bytes();
    let until = |from: usize, known: fn(&u8) -> bool| {
        let rest = bytes.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| known(byte)).count()
    };
    let (mut parts, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let mut end = until(at, u8::is_ascii_alphanumeric);
        if end == at {
            at += 1;
            continue;
        }
        let mut number = until(at, u8::is_ascii_digit);
        if number == end && bytes.get(end) == Some(&b'.') {
            let fraction = until(end + 1, u8::is_ascii_digit);
            if fraction > end + 1 {
                (number, end) = (fraction, until(fraction, u8::is_ascii_alphanumeric));
            }
        }
        // Letters alone behind it are a unit: `12.345ms`.
        if number > at && until(number, u8::is_ascii_alphabetic) == end {
            parts.extend(run.get(at..number));
            at = number;
        }
        parts.extend(run.get(at..end).filter(|part| !part.is_empty()));
        at = end;
    }
    parts
}

impl Piece<'_> {
    fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind
            && match self.kind {
                Kind::Value(_) => true,
                Kind::Run => likeness(self.text, other.text) != Likeness::None,
                Kind::Other => self.text == other.text,
            }
    }
}

/// How two runs are alike.
pub(super) fn likeness(one: &str, two: &str) -> Likeness {
    if one == two {
        return Likeness::Equal;
    }
    // However many digits: a duration has seven now and eight then.
    if [one, two].iter().all(|run| is_number(run.as_bytes())) {
        return Likeness::Pattern;
    }
    let around = common(one.bytes(), two.bytes());
    let rest = |text: &str| text.get(around..).unwrap_or_default().len();
    let behind = common(one.bytes().rev(), two.bytes().rev()).min(rest(one).min(rest(two)));
    let middle = |text: &'_ str| -> usize { text.len() - behind };
    let inner = [one, two].map(|text| text.get(around..middle(text)).unwrap_or_default());
    let skeletons = [one, two].map(skeleton);
    let are_equal = skeletons[0] == skeletons[1];
    // Numbers with a unit are no tokens, however many digits they have.
    if are_equal && !skeletons[0].contains(ID) {
        Likeness::Pattern
    } else if are_tokens(inner[0], inner[1]) {
        Likeness::Token(around + behind)
    } else if are_equal {
        Likeness::Pattern
    } else {
        Likeness::None
    }
}

/// Bytes that both begin with, up to the last one that is no letter or digit.
fn common(one: impl Iterator<Item = u8>, two: impl Iterator<Item = u8>) -> usize {
    let mut until = 0;
    let both = one.zip(two).take_while(|(one, two)| one == two);
    for (at, (byte, _)) in both.enumerate() {
        if !byte.is_ascii_alphanumeric() {
            until = at + 1;
        }
    }
    until
}

/// Characters, of which those that are escaped (`%2F`) are one.
fn length(run: &str) -> usize {
    let escapes = run.bytes().filter(|byte| *byte == b'%').count();
    run.len().saturating_sub(2 * escapes)
}

/// Whether two different runs are tokens of one kind.
fn are_tokens(one: &str, two: &str) -> bool {
    let lengths = [one, two].map(length);
    let (shorter, longer) = (lengths[0].min(lengths[1]), lengths[0].max(lengths[1]));
    if shorter < SHORTEST_TOKEN || longer > shorter + shorter / QUARTER + SLACK {
        return false;
    }
    let is_random = match (letters::reading(one), letters::reading(two)) {
        (Reading::Words, _) | (_, Reading::Words) | (Reading::Unclear, Reading::Unclear) => false,
        (Reading::Random, _) | (_, Reading::Random) => true,
    };
    is_random && !have_words(one, two)
}

/// Whether both have a word at the same place, counted from either end, among tokens.
fn have_words(one: &str, two: &str) -> bool {
    let parts = |text: &str| -> Vec<bool> {
        let parts = text.split(|character: char| !character.is_ascii_alphanumeric());
        parts.map(is_word).collect()
    };
    let (one, two) = (parts(one), parts(two));
    let is_both = |(one, two): (&bool, &bool)| *one && *two;
    one.iter().zip(&two).any(is_both) || one.iter().rev().zip(two.iter().rev()).any(is_both)
}

/// Whether a part between separators is one word, in one case or with a capital.
fn is_word(part: &str) -> bool {
    let rest = part.get(1..).unwrap_or_default();
    part.len() >= SHORTEST_WORD
        && part.bytes().all(|byte| byte.is_ascii_alphabetic())
        && (rest.bytes().all(|byte| byte.is_ascii_lowercase())
            || part.bytes().all(|byte| byte.is_ascii_uppercase()))
        && letters::is_wordlike(part)
}
