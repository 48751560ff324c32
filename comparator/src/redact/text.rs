//! Plain text, forms, queries and paths.
//!
//! In plain text a value is secret when it stands behind a secret name: `name=value`, `name: value`,
//! `"name": "value"`, `<name>value</name>`. Forms and queries are taken apart by field, after undoing the percent
//! encoding, so that no spelling of a name hides its value.

use super::json::{ends_in_digits, partial_card};
use super::{Redactor, cards};
use crate::collect::CUT_MARK;

impl Redactor {
    /// Text without values behind secret names and without card numbers.
    pub(super) fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(is_name_character) {
            let (before, from) = rest.split_at(start);
            out.push_str(before);
            let end = from
                .find(|character| !is_name_character(character))
                .unwrap_or(from.len());
            let (name, behind) = from.split_at(end);
            out.push_str(name);
            rest = behind;
            if self.names.contain(name)
                && let Some((gap, value)) = value_behind(behind)
            {
                let (gap, tail) = behind.split_at(gap);
                let (secret, tail) = tail.split_at(value);
                out.push_str(gap);
                if !secret.is_empty() {
                    out.push_str(&self.hash(secret.as_bytes()));
                }
                rest = tail;
            }
        }
        out.push_str(rest);
        self.without_cards(&out)
    }

    /// Text without card numbers, nor the beginning of one where the text was cut.
    pub(super) fn without_cards(&self, text: &str) -> String {
        let mut clean = cards::replace(text, |card| self.hash(card.as_bytes())).into_owned();
        if ends_in_digits(&clean) {
            let kept = clean.trim_end_matches(CUT_MARK);
            // What the last hash ends in is no card; it is hexadecimal, and its digits are harmless twice hashed.
            if let Some(from) = partial_card(kept) {
                let hash = self.hash(kept.get(from..).unwrap_or_default().as_bytes());
                clean.truncate(from);
                clean.push_str(&hash);
                clean.push(CUT_MARK);
            }
        }
        clean
    }

    /// A form (`a=1&b=2`): values of secret names are hashed, the others freed of card numbers.
    pub(super) fn form(&self, form: &str) -> String {
        fields(form, |name, value| {
            if self.secret_field(name) || name.contains(char::REPLACEMENT_CHARACTER) {
                Some(self.hash(value.as_bytes()))
            } else if cards::any(value.as_bytes()) {
                Some(self.without_cards(value))
            } else {
                None
            }
        })
    }

    /// A query: only values of listed names are kept, and those as in a form.
    pub(super) fn query(&self, query: &str) -> String {
        fields(query, |name, value| {
            if self.keep_query.contains(name) && !self.secret_field(name) {
                cards::any(value.as_bytes()).then(|| self.without_cards(value))
            } else {
                Some(self.hash(value.as_bytes()))
            }
        })
    }

    /// `user[password]` is as secret as `password`.
    pub(super) fn secret_field(&self, name: &str) -> bool {
        name.split(['[', ']']).any(|part| self.names.contain(part))
    }

    /// A path: segments behind a secret name are hashed, the others freed of card numbers.
    pub(super) fn path(&self, path: &str) -> String {
        let mut secret = false;
        let segments: Vec<String> = path
            .split('/')
            .map(|segment| {
                let plain = percent_decoded(segment);
                let shown = if secret && !plain.is_empty() {
                    self.hash(plain.as_bytes())
                } else if cards::any(plain.as_bytes()) {
                    self.without_cards(&plain)
                } else {
                    segment.to_owned()
                };
                secret = self.names.contain(&plain);
                shown
            })
            .collect();
        segments.join("/")
    }
}

/// Rewrites the values of a form or query; `replacement` sees name and value without percent encoding, and `None`
/// keeps the text. A part without `=` is a value without a name.
fn fields(form: &str, replacement: impl Fn(&str, &str) -> Option<String>) -> String {
    let mut out = String::with_capacity(form.len());
    for (index, part) in form.split('&').enumerate() {
        if index > 0 {
            out.push('&');
        }
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (Some(name), value),
            None => (None, part),
        };
        let plain_name = name.map(percent_decoded).unwrap_or_default();
        if let Some(name) = name {
            if cards::any(plain_name.as_bytes()) {
                out.push_str(&replacement("", &plain_name).unwrap_or_default());
            } else {
                out.push_str(name);
            }
            out.push('=');
        }
        if value.is_empty() {
            continue;
        }
        match replacement(&plain_name, &percent_decoded(value)) {
            Some(shown) => out.push_str(&shown),
            None => out.push_str(value),
        }
    }
    out
}

/// `%XX` and `+` undone; what is no UTF-8 then becomes U+FFFD.
fn percent_decoded(text: &str) -> String {
    if !text.contains(['%', '+']) {
        return text.to_owned();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        let hex = |digit: &u8| char::from(*digit).to_digit(16);
        rest = behind;
        match (byte, behind) {
            (b'%', [high, low, behind @ ..]) if hex(high).is_some() && hex(low).is_some() => {
                let code = hex(high).unwrap_or(0) * 16 + hex(low).unwrap_or(0);
                out.push(code as u8);
                rest = behind;
            }
            (b'+', _) => out.push(b' '),
            _ => out.push(*byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}

/// How far behind a name its value begins, and how long it is; `None` when no value follows.
fn value_behind(behind: &str) -> Option<(usize, usize)> {
    let after_name = behind
        .trim_start_matches(['"', '\'', ']', '\\'])
        .trim_start_matches([' ', '\t']);
    let mut characters = after_name.chars();
    let sign = characters
        .next()
        .filter(|sign| matches!(sign, '=' | ':' | '>'))?;
    let value = characters.as_str().trim_start_matches([' ', '\t']);
    let gap = behind.len() - value.len();
    let ends = |stop: &dyn Fn(char) -> bool| value.find(stop).unwrap_or(value.len());
    let escaped_quote = value.starts_with("\\\"");
    let length = match value.chars().next()? {
        '\n' | '\r' => return None,
        '"' | '\'' => quoted(value),
        '{' | '[' => bracketed(value),
        _ if escaped_quote => value
            .get(2..)
            .and_then(|inner| inner.find("\\\""))
            .map_or(value.len(), |end| end + 4),
        _ if sign == '>' => ends(&|character| character == '<'),
        _ if sign == '=' => ends(&|character| {
            character.is_whitespace()
                || matches!(character, '&' | ';' | ',' | '"' | '\'' | '<' | '>')
        }),
        _ => ends(&|character| matches!(character, '\n' | '\r')),
    };
    Some((gap, length))
}

/// Length of the quoted text at the start; all of it when the quote does not end.
fn quoted(text: &str) -> usize {
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

/// Length of the container at the start; all of the text when it does not end.
fn bracketed(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => {
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
