//! Finds where the value after a name ends: as late as its line, quotes or brackets allow.

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
        _ => match called(value) {
            Some(name) => name + bracketed(value.get(name..).unwrap_or_default()),
            None => word(value, &quotes_before(text, name)),
        },
    }
}

/// The length of the name of a type whose quoted argument is the value: `SecretStr('…')`.
fn called(value: &str) -> Option<usize> {
    /// Longest name that is looked for.
    const MAX_BYTES: usize = 64;
    let part = |sign: &u8| sign.is_ascii_alphanumeric() || b"_.".contains(sign);
    let length = value.bytes().take(MAX_BYTES).take_while(part).count();
    let argument = value.get(length..)?.strip_prefix('(')?;
    (length > 0 && argument.starts_with(['"', '\''])).then_some(length)
}

/// Quote characters.
const QUOTES: [char; 3] = ['"', '\'', '`'];

/// The quote characters shortly before a name: one of them may end the text that the name is in.
fn quotes_before(text: &str, name: &Name) -> String {
    /// A quoted text usually begins near the name in it; if not, too much is hidden.
    const MAX_BYTES: usize = 512;
    let from = text.floor_char_boundary(name.span.start.saturating_sub(MAX_BYTES));
    let before = text.get(from..name.span.start).unwrap_or_default();
    QUOTES
        .iter()
        .filter(|quote| before.contains(**quote))
        .collect()
}

/// The text that follows brackets without a gap and is part of the value.
fn glued(rest: &str, quotes: &str) -> usize {
    match rest.chars().next() {
        Some(next) if next.is_alphanumeric() || "_-.$@!%*+/:~^".contains(next) => {
            word(rest, quotes)
        }
        _ => 0,
    }
}

/// Length to the end of the line.
fn line(value: &str) -> usize {
    value.find(['\n', '\r']).unwrap_or(value.len())
}

/// Length to the end of the line and of those after it that it is continued on, as in properties and shell scripts.
fn continued(value: &str) -> usize {
    let mut end = 0;
    for piece in value.split_inclusive('\n') {
        let written = piece.trim_end_matches(['\n', '\r']);
        if !written.ends_with('\\') {
            return end + written.len();
        }
        end += piece.len();
    }
    end
}

/// Length to where a word ends in a query, a log line or a list. Only these quotes end it.
fn word(value: &str, quotes: &str) -> usize {
    let mut end = value.len();
    for (at, character) in value.char_indices() {
        let ends = match character {
            '&' | '<' | '>' => true,
            quote if QUOTES.contains(&quote) => quotes.contains(quote),
            // Part of the value, unless another name follows.
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

/// Whether a name is the first in its line, apart from quotes and list markers.
fn is_first(text: &str, name: &Name) -> bool {
    let before = text.get(..name.phrase).unwrap_or_default();
    let part_of_it = |character: &char| {
        !matches!(character, '\n' | '\r')
            && (character.is_whitespace() || "-?\"'`*:{,+".contains(*character))
    };
    let mut after = before.chars().rev().skip_while(part_of_it);
    after
        .next()
        .is_none_or(|first| matches!(first, '\n' | '\r'))
}

/// Length of the line, and of the lines indented below it if the name begins its line.
fn block_if_first(text: &str, name: &Name, value: &str) -> usize {
    if is_first(text, name) {
        block(text, name, value)
    } else {
        line(value)
    }
}

/// Length of the rest of the line and of the lines below that are indented more than the name. If the rest is empty, at
/// least one of them counts.
fn block(text: &str, name: &Name, value: &str) -> usize {
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let before = text.get(..name.span.start).unwrap_or_default();
    let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let own = indent(text.get(start..).unwrap_or_default());
    let mut length = line(value);
    let mut wanted = value.get(..length).unwrap_or_default().trim().is_empty();
    let mut at = length;
    // The first piece is the end of the line itself.
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

/// Length of the quoted text at the start and of what follows without a gap; all of the text if the quote does not
/// close.
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

/// Length of the quoted text at the start, in single or triple quotes.
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

/// Length of a literal in a string that was escaped once or several times: `\"…\"`. It ends at a quote with at most as
/// many backslashes before it.
fn escaped_literal(text: &str) -> usize {
    let depth = text.bytes().take_while(|byte| *byte == b'\\').count();
    let quote = text.as_bytes().get(depth).copied();
    if !matches!(quote, Some(b'"' | b'\'')) {
        return continued(text);
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

/// Length of the bracketed text at the start; all of the text if the brackets do not close.
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
