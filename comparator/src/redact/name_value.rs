//! Finds names in plain text, and where the value after a name begins and ends.
//!
//! Names and values are separated as in a dozen languages: `:`, `=`, `=>`, quotes, brackets, the space after an option.
//! A value ends as late as its line, quotes or brackets allow; one whose quotes or brackets do not close goes on to the
//! end of the text.

mod ends;

use std::ops::Range;

use parity_schemas::visible::is_hidden;

use super::escapes::{percent_decoded, without_escapes};
use ends::length;

/// A word that may be a name.
pub(super) struct Name {
    pub(super) span: Range<usize>,
    /// Where the phrase begins that ends with it: up to two words before it in its line.
    pub(super) phrase: usize,
}

/// Most words of a name that is separated by spaces: `card security code`.
const MAX_PHRASE_WORDS: usize = 3;

impl Name {
    /// The word with percent encoding and the escapes of string literals undone.
    pub(super) fn decoded(&self, text: &str) -> String {
        let word = text.get(self.span.clone()).unwrap_or_default();
        let plain = percent_decoded(word);
        if plain.contains('\\') {
            without_escapes(&plain)
        } else {
            plain
        }
    }
}

fn is_name_character(character: char) -> bool {
    character.is_alphanumeric()
        || matches!(character, '_' | '-' | '.' | '%' | '$' | '@')
        || (!character.is_whitespace() && !character.is_control() && is_hidden(character))
}

/// The words of a text, in order.
pub(super) fn names(text: &str) -> impl Iterator<Item = Name> + '_ {
    let mut at = 0;
    let mut before: [usize; MAX_PHRASE_WORDS - 1] = [0; MAX_PHRASE_WORDS - 1];
    let mut words = 0;
    let mut end_before = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let mut start = at + rest.find(is_name_character)?;
        let begins_escaped = text
            .get(at..start)
            .is_some_and(|before| before.ends_with('\\'))
            && text
                .get(start..)
                .is_some_and(|word| word.starts_with(['u', 'x', 'U']));
        start -= usize::from(begins_escaped);
        let mut end = start;
        // An escape within a word is part of the word, whether it stands for a letter or not.
        while let Some(rest) = text.get(end..).filter(|rest| !rest.is_empty()) {
            let run = rest
                .find(|next| !is_name_character(next))
                .unwrap_or(rest.len());
            end += run;
            let escaped = rest.get(run..).and_then(|rest| rest.strip_prefix('\\'));
            match escaped.and_then(|rest| rest.chars().next()) {
                Some('u' | 'x' | 'U') => end += 2,
                _ => break,
            }
        }
        let gap = text.get(end_before..start).unwrap_or_default();
        if words == 0
            || gap.is_empty()
            || !gap.chars().all(|gap| matches!(gap, ' ' | '\t' | '\u{a0}'))
        {
            words = 0;
        }
        let phrase = if words == 0 {
            start
        } else {
            before[before.len() - words.min(before.len())]
        };
        before.rotate_left(1);
        before[MAX_PHRASE_WORDS - 2] = start;
        words = (words + 1).min(before.len());
        (at, end_before) = (end, end);
        Some(Name {
            span: start..end,
            phrase,
        })
    })
}

/// What separates a name from its value.
pub(super) struct Separator {
    /// Which one it counts as: `:`, `=` or a space.
    kind: char,
    /// Whether it has spaces on both sides.
    spaced: bool,
    /// Where the value begins.
    from: usize,
}

impl Separator {
    /// The span of the value after it.
    pub(super) fn value(&self, text: &str, name: &Name) -> Range<usize> {
        let value = text.get(self.from..).unwrap_or_default();
        self.from..self.from + length(text, name, value, self.kind, self.spaced)
    }
}

/// The separator after a name; `None` if there is none.
pub(super) fn separator_after(text: &str, name: &Name) -> Option<Separator> {
    let rest = text.get(name.span.end..)?;
    let option = text.get(name.span.clone())?.starts_with('-');
    let closed = rest.trim_start_matches(['"', '\'', '`', ']', ')', '\\', '*', '}']);
    let blank = closed.trim_start_matches(is_blank);
    // The separator may begin the next line, as after the `? key` of YAML.
    let signed = match blank.strip_prefix(['\n', '\r']) {
        Some(next) if next.trim_start().starts_with([':', '=']) => next.trim_start(),
        _ => blank,
    };
    let (sign, after) = match separator(signed) {
        Some(found) => found,
        // `PASSWORD 'x'`, `password("x")`.
        None if closed.len() > blank.len() && blank.starts_with(['\'', '"', '`']) => (' ', blank),
        None if rest.starts_with("('") || rest.starts_with("(\"") => (' ', rest.get(1..)?),
        None if is_statement(blank) => (' ', blank.split_once(' ')?.1),
        None if closed.len() > blank.len() && looks_generated(blank) => (' ', blank),
        None if let Some(value) = in_brackets(rest) => (' ', value),
        None if let Some(value) = behind_arrow(blank) => (':', value),
        // A message in the text form of protobuf, a block of HCL.
        None if signed.starts_with('{') => (' ', signed),
        None if let Some(value) = after_length(closed) => (' ', value),
        None if option && closed.len() > blank.len() && !blank.starts_with('-') => (' ', blank),
        None => return None,
    };
    let spaced = blank.len() < closed.len();
    let value = after
        .trim_start_matches(['*', '\\'])
        .trim_start_matches(is_blank);
    let value = if after.starts_with("\\\"") || after.starts_with("\\'") {
        after
    } else if after.trim_start_matches(is_blank).starts_with('\\') {
        after.trim_start_matches(is_blank)
    } else {
        value
    };
    Some(Separator {
        kind: sign,
        spaced: spaced && value.len() < after.len(),
        from: text.len() - value.len(),
    })
}

/// The value in ` (x1y2z3)`; a remark in brackets has words.
fn in_brackets(text: &str) -> Option<&str> {
    let value = text.trim_start_matches(is_blank).strip_prefix('(')?;
    let (word, _) = value.split_once(')')?;
    looks_generated(word).then_some(value)
}

/// The value behind an arrow, unless it is a word: a page may stand there, `Password → Reset`.
fn behind_arrow(text: &str) -> Option<&str> {
    let value = text.strip_prefix(['→', '⇒'])?;
    let word = value.split_whitespace().next()?;
    (!word.chars().all(char::is_alphabetic)).then_some(value)
}

/// The value of a member as PHP writes it: `s:8:"password";s:7:"…"`.
fn after_length(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(';')?;
    let rest = rest.strip_prefix(['s', 'S'])?.strip_prefix(':')?;
    let value = rest.trim_start_matches(|sign: char| sign.is_ascii_digit());
    let value = value.strip_prefix(':')?;
    value.starts_with('"').then_some(value)
}

/// Whether a sentence continues as in `password is x1`. A word of lower-case letters is not a value but part of the
/// sentence.
fn is_statement(text: &str) -> bool {
    let told = ["is ", "was ", "ist ", "est ", "es "];
    told.iter().any(|verb| {
        let word = text
            .strip_prefix(verb)
            .and_then(|rest| rest.split_whitespace().next());
        let letters = |word: &str| {
            word.trim_end_matches(['.', ',', ':', ';', '!', '?'])
                .chars()
                .all(char::is_lowercase)
        };
        word.is_some_and(|word| !letters(word))
    })
}

/// Whether the next word looks generated: letters mixed with digits, or capitals inside it.
fn looks_generated(text: &str) -> bool {
    /// Shorter words are quantities or names.
    const MIN_BYTES: usize = 6;
    let word = text.split_whitespace().next().unwrap_or_default();
    let has = |test: fn(&u8) -> bool| word.bytes().any(|byte| test(&byte));
    let capitals = || {
        word.as_bytes()
            .windows(2)
            .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
    };
    word.len() >= MIN_BYTES
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ((has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)) || capitals())
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\u{a0}' | '\u{3000}')
}

/// The separator at the start of a text, and what follows.
fn separator(text: &str) -> Option<(char, &str)> {
    for (written, sign) in [
        ("=>", ':'),
        ("->", ':'),
        (":=", ':'),
        ("::", ':'),
        ("==", '='),
        ("=", '='),
        ("＝", '='),
        (":", ':'),
        ("：", ':'),
        ("%3D", '='),
        ("%3d", '='),
        ("%3A", '='),
        ("%3a", '='),
        ("&#61;", '='),
        ("&#58;", ':'),
    ] {
        if let Some(after) = text.strip_prefix(written) {
            return Some((sign, after));
        }
    }
    None
}
