//! The names that the `Content-Disposition` of a part gives it, and whether they can be trusted.

use http::header::CONTENT_DISPOSITION;
use parity_schemas::fields::FieldLines;

use super::latin1;

/// The values of all `name` parameters of the disposition. Nothing in quotes ends a parameter, so the name of a file
/// cannot hide that of the field.
pub(super) fn field_names(fields: &FieldLines) -> Vec<String> {
    let mut names = Vec::new();
    for value in fields.get_all(&CONTENT_DISPOSITION) {
        // A name in pieces: `name*0="pass"; name*1="word"` (RFC 2231 §3).
        let mut pieces = Vec::new();
        let mut rest = value.as_bytes();
        while let Some(at) = memchr::memchr(b';', rest) {
            rest = rest[at + 1..].trim_ascii_start();
            let length = rest.iter().take_while(|byte| !b"=;".contains(byte)).count();
            let parameter = rest[..length].trim_ascii();
            let wanted =
                parameter.eq_ignore_ascii_case(b"name") || parameter.eq_ignore_ascii_case(b"name*");
            rest = &rest[length..];
            if let Some(after) = rest.strip_prefix(b"=") {
                let (name, after) = parameter_value(after.trim_ascii_start());
                rest = after;
                let piece = parameter.split_at_checked(b"name*".len());
                if piece.is_some_and(|(name, rest)| {
                    name.eq_ignore_ascii_case(b"name*")
                        && rest.first().is_some_and(u8::is_ascii_digit)
                }) {
                    pieces.extend_from_slice(&name);
                } else if wanted {
                    names.push(String::from_utf8(name).unwrap_or_else(|e| latin1(e.as_bytes())));
                }
            }
        }
        if !pieces.is_empty() {
            names.push(String::from_utf8(pieces).unwrap_or_else(|e| latin1(e.as_bytes())));
        }
    }
    names
}

/// The value of a disposition with another name in place of its only one, written as that one is: in quotes or not. `None` if
/// it has no such name, or one that readers may take for another.
pub(super) fn with_name(disposition: &[u8], name: &str) -> Option<Vec<u8>> {
    let mut found = None;
    let mut rest = disposition;
    while let Some(at) = memchr::memchr(b';', rest) {
        rest = rest[at + 1..].trim_ascii_start();
        let length = rest.iter().take_while(|byte| !b"=;".contains(byte)).count();
        let parameter = rest[..length].trim_ascii();
        rest = &rest[length..];
        let Some(after) = rest.strip_prefix(b"=") else {
            continue;
        };
        let value = after.trim_ascii_start();
        rest = parameter_value(value).1;
        if !is_prefix_of(parameter, b"name") {
            continue;
        }
        if parameter.len() != b"name".len() || found.is_some() {
            return None;
        }
        let start = disposition.len() - value.len();
        found = Some(start..disposition.len() - rest.len());
    }
    let span = found?;
    let written = if disposition.get(span.start) == Some(&b'"') {
        format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
    } else if token(name) == name.len() && !name.is_empty() {
        name.to_owned()
    } else {
        return None;
    };
    Some(
        [
            &disposition[..span.start],
            written.as_bytes(),
            &disposition[span.end..],
        ]
        .concat(),
    )
}

/// Whether a parameter is called like this, or so and something else.
fn is_prefix_of(parameter: &[u8], name: &[u8]) -> bool {
    parameter
        .get(..name.len())
        .is_some_and(|begin| begin.eq_ignore_ascii_case(name))
}

/// Whether a disposition reliably tells the name of a part, or that it has none; a part of a form must have one. A lost
/// character may turn `name` into an unknown parameter. So unknown parameters are accepted only if the disposition
/// mentions no secret (`mentions_secret`) and its name is not split into pieces.
pub(crate) fn is_readable(
    disposition: &str,
    form: bool,
    mentions_secret: impl Fn(&str) -> bool,
) -> bool {
    /// The other known parameters, RFC 2183 §2.
    const OTHERS: [&str; 5] = [
        "filename",
        "creation-date",
        "modification-date",
        "read-date",
        "size",
    ];
    let (kind, mut rest) = disposition.split_at(token(disposition));
    let known = kind.eq_ignore_ascii_case("form-data")
        || (!form
            && ["attachment", "inline"]
                .iter()
                .any(|known| kind.eq_ignore_ascii_case(known)));
    let mut named = false;
    let mut unknown = false;
    let mut pieces = 0;
    while let Some(parameter) = rest.trim_start().strip_prefix(';') {
        let parameter = parameter.trim_start();
        if parameter.is_empty() {
            rest = parameter;
            break;
        }
        let (name, value) = parameter.split_at(token(parameter));
        let Some(value) = value.trim_start().strip_prefix('=') else {
            return false;
        };
        let value = value.trim_start();
        let Some(length) = value_length(value) else {
            return false;
        };
        let (value, after) = value.split_at(length);
        rest = after;
        let name = name.to_ascii_lowercase();
        let (base, coded) = name.split_once('*').unwrap_or((&name, "none"));
        // `name*=UTF-8''…`, `name*0=…`, `name*0*=UTF-8''…`.
        let number = coded.trim_end_matches('*');
        let whole = match coded {
            "none" => true,
            "" if base == "name" => is_coded_name(value),
            "" => value.matches('\'').count() >= 2,
            _ if base == "name" => {
                pieces += 1;
                number.parse() == Ok(pieces - 1)
            }
            _ => number.parse::<u16>().is_ok(),
        };
        if !whole || base.is_empty() {
            return false;
        }
        named |= base == "name";
        unknown |= !(base == "name" || OTHERS.contains(&base));
    }
    let sound = !unknown || (pieces == 0 && !mentions_secret(disposition));
    known && sound && rest.trim().is_empty() && (named || !form)
}

/// Whether a name is written as `UTF-8''…`, with letters, digits and escapes only.
fn is_coded_name(value: &str) -> bool {
    let sound = |sign: char| sign.is_alphanumeric() || "%-._~".contains(sign);
    let mut parts = value.splitn(3, '\'');
    parts.nth(2).is_some_and(|name| name.chars().all(sound))
}

/// Length of the token at the start (RFC 9110 §5.6.2), where letters of other scripts count as token characters.
fn token(text: &str) -> usize {
    let ends = |sign: char| {
        sign.is_ascii_whitespace()
            || sign.is_ascii_control()
            || "()<>@,;:\\\"/[]?={}".contains(sign)
    };
    text.find(ends).unwrap_or(text.len())
}

/// Length of the parameter value at the start; `None` if it is neither a token nor closed quotes.
fn value_length(text: &str) -> Option<usize> {
    let Some(inner) = text.strip_prefix('"') else {
        return Some(token(text)).filter(|length| *length > 0);
    };
    let mut escaped = false;
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 2),
            _ => {}
        }
    }
    None
}

/// A parameter's value, a token or in quotes, and what follows it.
fn parameter_value(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let Some(mut rest) = text.strip_prefix(b"\"") else {
        let length = memchr::memchr(b';', text).unwrap_or(text.len());
        return (text[..length].trim_ascii_end().to_vec(), &text[length..]);
    };
    let mut value = Vec::new();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after.split_first()) {
            (b'"', _) => break,
            (b'\\', Some((escaped @ (b'"' | b'\\'), after))) => {
                value.push(*escaped);
                rest = after;
            }
            _ => value.push(*byte),
        }
    }
    (value, rest)
}
