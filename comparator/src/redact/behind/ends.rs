//! Where a value behind a name ends: as late as its line, its quotes or its brackets allow.

use super::{Name, is_name_character};

pub(super) fn length(text: &str, name: &Name, value: &str, sign: char, spaced: bool) -> usize {
    let Some(first) = value.chars().next() else {
        return 0;
    };
    match first {
        '\n' | '\r' => block(text, name, value),
        '"' | '\'' | '`' => literals(value),
        '\\' => escaped_literal(value),
        '{' | '[' | '(' => {
            let length = bracketed(value);
            length
                + glued(
                    value.get(length..).unwrap_or_default(),
                    &quotes_before(text, name),
                )
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
    QUOTES
        .iter()
        .filter(|quote| before.contains(**quote))
        .collect()
}

/// What stands behind brackets without a gap, and is part of the value.
fn glued(rest: &str, quotes: &str) -> usize {
    match rest.chars().next() {
        Some(next) if next.is_alphanumeric() || "_-.$@!%*+/:~^".contains(next) => {
            word(rest, quotes)
        }
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
