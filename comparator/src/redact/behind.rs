//! Names in plain text, and where the value behind one begins and ends.
//!
//! Between the two stand the signs of a dozen languages (`:`, `=`, `=>`, quotes, brackets, an option's space). Where a
//! value ends is taken as late as its line, its quotes or its brackets allow; a value that does not end goes on to the
//! end of the text.

use std::ops::Range;

use parity_schemas::visible::is_hidden;

/// A word that may be a name.
pub(super) struct Name {
    pub(super) span: Range<usize>,
    /// Where the words begin that stand before it in its line.
    pub(super) phrase: usize,
}

/// Words that one name may consist of when spaces part them: `card security code`.
const MAX_PHRASE_WORDS: usize = 3;

impl Name {
    /// Without percent encoding and without the escapes of string literals.
    pub(super) fn decoded(&self, text: &str) -> String {
        let word = text.get(self.span.clone()).unwrap_or_default();
        let plain = super::text::percent_decoded(word);
        if plain.contains('\\') {
            without_escapes(&plain)
        } else {
            plain
        }
    }
}

/// A name without the escapes of string literals.
pub(super) fn without_escapes(plain: &str) -> String {
    let mut out = String::with_capacity(plain.len());
    let mut rest = plain;
    while let Some((before, behind)) = rest.split_once('\\') {
        out.push_str(before);
        let digits = match behind.chars().next() {
            Some('u') => 4,
            Some('x') => 2,
            Some('U') => 8,
            _ => 0,
        };
        let code = behind
            .get(1..=digits)
            .and_then(|hex| u32::from_str_radix(hex, 16).ok())
            .and_then(char::from_u32);
        rest = match code {
            Some(character) if digits > 0 => {
                out.push(character);
                behind.get(digits + 1..).unwrap_or_default()
            }
            _ => behind,
        };
    }
    out.push_str(rest);
    out
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
        // An escape within a word is part of it, whether it stands for a letter or not.
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

/// What parts a name from its value.
pub(super) struct Sign {
    /// `:`, `=`, or a space, as what it is taken.
    kind: char,
    /// Spaces stand on either side of it.
    spaced: bool,
    /// Where the value begins.
    from: usize,
}

impl Sign {
    /// The value behind it.
    pub(super) fn value(&self, text: &str, name: &Name) -> Range<usize> {
        let value = text.get(self.from..).unwrap_or_default();
        self.from..self.from + length(text, name, value, self.kind, self.spaced)
    }
}

/// The sign behind a name; `None` when there is none.
pub(super) fn sign_behind(text: &str, name: &Name) -> Option<Sign> {
    let rest = text.get(name.span.end..)?;
    let option = text.get(name.span.clone())?.starts_with('-');
    let closed = rest.trim_start_matches(['"', '\'', '`', ']', ')', '\\', '*', '}']);
    let blank = closed.trim_start_matches(is_blank);
    // A sign may begin the next line, as behind the `? key` of YAML.
    let signed = match blank.strip_prefix(['\n', '\r']) {
        Some(next) if next.trim_start().starts_with([':', '=']) => next.trim_start(),
        _ => blank,
    };
    let (sign, behind) = match sign(signed) {
        Some(found) => found,
        // `PASSWORD 'x'`, `password("x")`.
        None if closed.len() > blank.len() && blank.starts_with(['\'', '"', '`']) => (' ', blank),
        None if rest.starts_with("('") || rest.starts_with("(\"") => (' ', rest.get(1..)?),
        None if is_told(blank) => (' ', blank.split_once(' ')?.1),
        None if closed.len() > blank.len() && is_made(blank) => (' ', blank),
        None if option && closed.len() > blank.len() && !blank.starts_with('-') => (' ', blank),
        None => return None,
    };
    let spaced = blank.len() < closed.len();
    let value = behind
        .trim_start_matches(['*', '\\'])
        .trim_start_matches(is_blank);
    let value = if behind.starts_with("\\\"") || behind.starts_with("\\'") {
        behind
    } else if behind.trim_start_matches(is_blank).starts_with('\\') {
        behind.trim_start_matches(is_blank)
    } else {
        value
    };
    Some(Sign {
        kind: sign,
        spaced: spaced && value.len() < behind.len(),
        from: text.len() - value.len(),
    })
}

/// Whether a sentence goes on as in `password is x1`: what is told of a password is small letters.
fn is_told(text: &str) -> bool {
    let told = ["is ", "was ", "ist ", "est ", "es "];
    told.iter().any(|verb| {
        let word = text
            .strip_prefix(verb)
            .and_then(|rest| rest.split_whitespace().next());
        let letters = |word: &str| {
            word.trim_end_matches(['.', ',', ';', '!', '?'])
                .chars()
                .all(char::is_lowercase)
        };
        word.is_some_and(|word| !letters(word))
    })
}

/// Whether the next word is none that somebody says: small letters and digits, or capitals within it.
fn is_made(text: &str) -> bool {
    /// Shorter ones are numbers of something, and names.
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

/// The sign that a text begins with, and what follows.
fn sign(text: &str) -> Option<(char, &str)> {
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
        if let Some(behind) = text.strip_prefix(written) {
            return Some((sign, behind));
        }
    }
    None
}

fn length(text: &str, name: &Name, value: &str, sign: char, spaced: bool) -> usize {
    let Some(first) = value.chars().next() else {
        return 0;
    };
    match first {
        '\n' | '\r' => block(text, name, value),
        '"' | '\'' | '`' => literals(value),
        '\\' => escaped_literal(value),
        '{' | '[' | '(' => {
            let length = bracketed(value);
            length + glued(value.get(length..).unwrap_or_default(), &quotes_before(text, name))
        }
        '|' | '>' | '&' | '!' if sign == ':' => block(text, name, value),
        _ if sign == ':' => block_if_first(text, name, value),
        _ if spaced && is_first(text, name) => line(value),
        _ => word(value, &quotes_before(text, name)),
    }
}

/// Signs that quote a text.
const QUOTES: [char; 3] = ['"', '\'', '`'];

/// The quotes that stand shortly before a name: the text that it is in may end with one of them.
fn quotes_before(text: &str, name: &Name) -> String {
    /// Quoted texts with a name in them begin near it; else too much is hidden.
    const MAX_BYTES: usize = 512;
    let from = text.floor_char_boundary(name.span.start.saturating_sub(MAX_BYTES));
    let before = text.get(from..name.span.start).unwrap_or_default();
    QUOTES.iter().filter(|quote| before.contains(**quote)).collect()
}

/// What stands behind brackets without a gap, and is part of the value.
fn glued(rest: &str, quotes: &str) -> usize {
    match rest.chars().next() {
        Some(next) if next.is_alphanumeric() || "_-.$@!%*+/:~^".contains(next) => word(rest, quotes),
        _ => 0,
    }
}

/// To the end of the line.
fn line(value: &str) -> usize {
    value.find(['\n', '\r']).unwrap_or(value.len())
}

/// To where a word ends in a query, a log line or a list; of quotes, only these end it.
fn word(value: &str, quotes: &str) -> usize {
    let mut end = value.len();
    for (at, character) in value.char_indices() {
        let ends = match character {
            '&' | '<' | '>' => true,
            quote if QUOTES.contains(&quote) => quotes.contains(quote),
            // It may be part of the value, unless another name follows.
            ',' | ';' => {
                let rest = value.get(at + 1..).unwrap_or_default().trim_start();
                let name = rest.trim_start_matches(is_name_character);
                rest.is_empty() || (name.len() < rest.len() && name.starts_with(['=', ':']))
            }
            _ => character.is_whitespace(),
        };
        if ends {
            end = at;
            break;
        }
    }
    end
}

/// Whether a name is the first in its line, but for what quotes it or makes it an item.
fn is_first(text: &str, name: &Name) -> bool {
    let before = text.get(..name.phrase).unwrap_or_default();
    let part_of_it = |character: &char| {
        !matches!(character, '\n' | '\r')
            && (character.is_whitespace() || "-?\"'`*:{,+".contains(*character))
    };
    let mut behind = before.chars().rev().skip_while(part_of_it);
    behind
        .next()
        .is_none_or(|first| matches!(first, '\n' | '\r'))
}

/// The line, and what is indented below it where the name begins its own line.
fn block_if_first(text: &str, name: &Name, value: &str) -> usize {
    if is_first(text, name) {
        block(text, name, value)
    } else {
        line(value)
    }
}

/// The rest of the line and the lines below that are indented more than the name; at least one of them where the rest
/// is empty.
fn block(text: &str, name: &Name, value: &str) -> usize {
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let before = text.get(..name.span.start).unwrap_or_default();
    let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let own = indent(text.get(start..).unwrap_or_default());
    let mut length = line(value);
    let mut wanted = value.get(..length).unwrap_or_default().trim().is_empty();
    let mut at = length;
    // What comes first is the end of the line itself.
    let lines = value
        .get(length..)
        .unwrap_or_default()
        .split_inclusive('\n');
    for (index, below) in lines.enumerate() {
        let from = at;
        at += below.len();
        let blank = below.trim().is_empty();
        if index == 0 || blank {
            continue;
        }
        if indent(below) <= own && !wanted {
            break;
        }
        wanted = false;
        length = from + below.trim_end_matches(['\n', '\r']).len();
    }
    length
}

/// The quoted text at the start, and what follows it without a gap; all of it when the quote does not end.
fn literals(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        match rest.chars().next() {
            Some('"' | '\'' | '`') => at += quoted(rest),
            Some(next) if next.is_alphanumeric() => at += word(rest, "\"'`"),
            _ => return at,
        }
    }
}

/// Length of the quoted text at the start, also in three quotes.
fn quoted(text: &str) -> usize {
    for quote in ["\"\"\"", "'''"] {
        if let Some(inner) = text.strip_prefix(quote) {
            return inner
                .find(quote)
                .map_or(text.len(), |end| end + 2 * quote.len());
        }
    }
    let mut characters = text.char_indices();
    let quote = characters.next().map(|(_, quote)| quote);
    let mut escaped = false;
    for (index, character) in characters {
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if Some(character) == quote {
            return index + character.len_utf8();
        }
    }
    text.len()
}

/// A literal in a string that was quoted itself, once or several times: `\"…\"`. It ends at a quote with as many
/// backslashes before it, or fewer.
fn escaped_literal(text: &str) -> usize {
    let depth = text.bytes().take_while(|byte| *byte == b'\\').count();
    let quote = text.as_bytes().get(depth).copied();
    if !matches!(quote, Some(b'"' | b'\'')) {
        return line(text);
    }
    let mut backslashes = 0;
    for (at, byte) in text.bytes().enumerate().skip(depth + 1) {
        if Some(byte) == quote && backslashes <= depth {
            return at + 1;
        }
        backslashes = if byte == b'\\' { backslashes + 1 } else { 0 };
    }
    text.len()
}

/// Length of what is in brackets at the start; all of the text when they do not end.
fn bracketed(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate() {
        match (byte, quote) {
            _ if escaped => escaped = false,
            (b'\\', _) => escaped = true,
            (_, Some(open)) if byte == open => quote = None,
            (b'"', None) => quote = Some(byte),
            (b'{' | b'[' | b'(', None) => depth += 1,
            (b'}' | b']' | b')', None) => {
                depth -= 1;
                if depth == 0 {
                    return index + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}
