//! Splits Rust source into names and signs, with just enough grammar to skip comments and strings.

/// Whether a name or a keyword begins here.
pub(super) fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Names and signs, without comments, strings and characters.
pub(super) fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => block_comment(rest),
            '"' => quoted(rest, '"'),
            'r' | 'b' | 'c' if raw(rest).is_some() => raw(rest).unwrap_or_default(),
            '\'' => character(rest),
            _ if is_name(rest) => {
                let end = rest.find(|one: char| !one.is_alphanumeric() && one != '_');
                let (name, _) = rest.split_at(end.unwrap_or(rest.len()));
                tokens.push(name.to_owned());
                name.len()
            }
            _ if rest.starts_with("::") => {
                tokens.push("::".to_owned());
                2
            }
            _ => {
                if !first.is_whitespace() {
                    tokens.push(first.to_string());
                }
                first.len_utf8()
            }
        };
        (_, rest) = rest.split_at(length);
    }
    tokens
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let step = if rest.starts_with("/*") {
            depth += 1;
            2
        } else if rest.starts_with("*/") {
            depth -= 1;
            2
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a quoted string.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, one) in text.char_indices().skip(1) {
        if one == quote && !escaped {
            return at + one.len_utf8();
        }
        escaped = one == '\\' && !escaped;
    }
    text.len()
}

/// The length of a raw string that begins here, if one does.
fn raw(text: &str) -> Option<usize> {
    let behind = text.trim_start_matches(['b', 'c']).strip_prefix('r')?;
    let hashes = behind.len() - behind.trim_start_matches('#').len();
    let begin = text.len() - behind.len() + hashes;
    let inner = text.get(begin..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = inner.find(&end)?;
    Some(begin + 1 + length + end.len())
}

/// The length of a character, or of the quote before a lifetime.
fn character(text: &str) -> usize {
    let mut inner = text.chars().skip(1);
    match (inner.next(), inner.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => quoted(text, '\''),
        _ => 1,
    }
}
