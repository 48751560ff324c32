//! Converts multipart bodies (RFC 2046) to a list of parts, each with its header fields and its body.
//!
//! The boundary is chosen at random, so it never counts as a difference. A part's body is compared by its own media
//! type: JSON as JSON, text as text, anything else by hash and length. A body with invalid framing is refused as a
//! whole.
//!
//! A part is `{"part-headers":{…},KIND:BODY}`. The key `json`, `text` or `sha256` tells what the body was, so no text
//! can pass for JSON or for a hash. The body of a form field is nested in an object under the field's name, so that
//! paths show the name, and redaction finds secret names in the usual way.

use http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH};
use parity_schemas::fields::FieldLines;

use crate::collect::digest;
use crate::media::{BodyKind, Declared};
use crate::message::read_fields;
use crate::notation::string;

/// Most parts of one body; more are an attack, and each costs memory.
const MAX_PARTS: usize = 10_000;
/// Most names of one part. Readers disagree on which of several names counts, so the body is nested in all of them.
/// More are an attack, and each is a level of nesting.
const MAX_NAMES: usize = 4;

const NO_BOUNDARY: &str = "the media type of a multipart body names no boundary";
const TOO_MANY: &str = "more parts than are followed";
const NOT_CLOSED: &str = "the closing boundary of a multipart body is missing";
const NO_HEADER: &str = "the header of a part is no header";
const MANY_NAMES: &str = "a part with more names than are followed";

/// The key of the header fields of a part.
pub(crate) const HEADERS: &str = "part-headers";
/// The key of a body that is JSON.
const JSON: &str = "json";
/// The key of a body that is text.
pub(crate) const TEXT: &str = "text";
/// The key of the hash of a body.
pub(crate) const DIGEST: &str = "sha256";

/// The parts as one JSON array of objects; the error tells what is wrong.
pub(crate) fn to_json(
    body: &[u8],
    boundary: Option<&str>,
    is_json: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<Vec<u8>, &'static str> {
    let boundary = boundary
        .filter(|boundary| !boundary.is_empty())
        .ok_or(NO_BOUNDARY)?;
    let mut out = vec![b'['];
    for (index, part) in parts(body, boundary.as_bytes())?.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(part, is_json, &mut out)?;
    }
    out.push(b']');
    Ok(out)
}

/// The bytes between the boundary lines; those before the first and after the last are ignored.
fn parts<'a>(body: &'a [u8], boundary: &[u8]) -> Result<Vec<&'a [u8]>, &'static str> {
    let delimiter = [b"--", boundary].concat();
    let mut parts = Vec::new();
    let mut begin = None;
    let mut from = 0;
    while let Some(found) = memchr::memmem::find(&body[from..], &delimiter) {
        let at = from + found;
        from = at + delimiter.len();
        if at > 0 && body[at - 1] != b'\n' {
            continue;
        }
        let rest = &body[from..];
        let last = rest.starts_with(b"--");
        // Only white space may follow the boundary (RFC 2046 §5.1.1).
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if !(last || line.trim_ascii().is_empty()) {
            continue;
        }
        if let Some(begin) = begin {
            let end = at - usize::from(at > begin) - usize::from(body[..at].ends_with(b"\r\n"));
            parts.push(body.get(begin..end).unwrap_or_default());
        }
        if last {
            return Ok(parts);
        }
        if parts.len() >= MAX_PARTS {
            return Err(TOO_MANY);
        }
        from += (line.len() + 1).min(rest.len());
        begin = Some(from);
    }
    Err(NOT_CLOSED)
}

fn write(
    part: &[u8],
    is_json: &mut dyn FnMut(&[u8]) -> bool,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let (fields, content) = read_fields(part).map_err(|_| NO_HEADER)?;
    // The length follows from the body.
    let (_, fields) = fields.partition(|name| name == CONTENT_LENGTH);
    out.push(b'{');
    string::quote(HEADERS, out);
    out.extend_from_slice(b":{");
    for (index, lines) in fields
        .sorted()
        .chunk_by(|one, two| one.0 == two.0)
        .enumerate()
    {
        if index > 0 {
            out.push(b',');
        }
        string::quote(lines[0].0.as_str(), out);
        out.push(b':');
        let values: Vec<_> = lines.iter().map(|(_, value)| value.as_bytes()).collect();
        header_value(&values.join(&b", "[..]), out);
    }
    out.extend_from_slice(b"},");
    let names = field_names(&fields);
    if names.len() > MAX_NAMES {
        return Err(MANY_NAMES);
    }
    let kind = Declared::of(&fields).kind;
    let text = std::str::from_utf8(content);
    let key = match text {
        // Bytes of a binary type may be valid text by chance.
        Ok(_) if kind == Some(BodyKind::Bytes) => DIGEST,
        Ok(_) if kind == Some(BodyKind::Json) && is_json(content) => JSON,
        Ok(_) => TEXT,
        Err(_) => DIGEST,
    };
    string::quote(key, out);
    out.push(b':');
    for name in &names {
        out.push(b'{');
        string::quote(name, out);
        out.push(b':');
    }
    match text {
        Ok(_) if key == JSON => out.extend_from_slice(content),
        Ok(text) if key == TEXT => string::quote(text, out),
        _ => string::quote(&digest(content).shown(), out),
    }
    out.extend(std::iter::repeat_n(b'}', names.len() + 1));
    Ok(())
}

/// Writes a value as text. One that is not UTF-8 becomes an object, so that no text is equal to it.
fn header_value(value: &[u8], out: &mut Vec<u8>) {
    if let Ok(text) = std::str::from_utf8(value) {
        string::quote(text, out);
    } else {
        out.extend_from_slice(b"{\"latin1\":");
        string::quote(&latin1(value), out);
        out.push(b'}');
    }
}

fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// The values of all `name` parameters of the disposition. Nothing in quotes ends a parameter, so the name of a file
/// cannot hide that of the field.
fn field_names(fields: &FieldLines) -> Vec<String> {
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
            if let Some(behind) = rest.strip_prefix(b"=") {
                let (name, behind) = parameter_value(behind.trim_ascii_start());
                rest = behind;
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
        let (value, behind) = value.split_at(length);
        rest = behind;
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
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match (byte, behind.split_first()) {
            (b'"', _) => break,
            (b'\\', Some((escaped @ (b'"' | b'\\'), behind))) => {
                value.push(*escaped);
                rest = behind;
            }
            _ => value.push(*byte),
        }
    }
    (value, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(body: &str) -> Result<String, &'static str> {
        let out = to_json(body.as_bytes(), Some("x"), &mut |part| {
            serde_json::from_slice::<serde_json::Value>(part).is_ok()
        })?;
        Ok(String::from_utf8(out).expect("UTF-8"))
    }

    #[test]
    fn parts_are_compared_by_what_they_are() {
        let part = |head: &str, body: &str| format!("--x\r\n{head}\r\n\r\n{body}\r\n");
        let body = [
            "a preamble --x is none\r\n".to_owned(),
            part(
                "Content-Type: application/json\r\nContent-Length: 7",
                "{\"a\":1}",
            ),
            part(
                "Content-Disposition: form-data; name=\"f\"",
                "line\r\n--xy\r\n",
            ),
            "--x\n\nbare\n--x--\r\nan epilogue".to_owned(),
        ]
        .concat();
        assert_eq!(
            json(&body).as_deref(),
            Ok(concat!(
                r#"[{"part-headers":{"content-type":"application/json"},"json":{"a":1}},"#,
                r#"{"part-headers":{"content-disposition":"form-data; name=\"f\""},"text":{"f":"line\r\n--xy\r\n"}},"#,
                r#"{"part-headers":{},"text":"bare"}]"#
            ))
        );
        assert_eq!(json("--x--").as_deref(), Ok("[]"));
        assert_eq!(
            json("--x\n\n\n--x--").as_deref(),
            Ok(r#"[{"part-headers":{},"text":""}]"#)
        );
    }

    #[test]
    fn what_is_not_framed_is_refused() {
        for body in [
            "",
            "text",
            "--x\r\n\r\nno end\r\n",
            "--x\r\nno header\r\n--x--",
        ] {
            assert!(json(body).is_err(), "{body:?}");
        }
        assert!(to_json(b"--x--", None, &mut |_| true).is_err());
    }

    #[test]
    fn bytes_are_shown_by_their_hash() {
        let body = b"--x\r\nContent-Type: image/png\r\n\r\n\xff\xfe\r\n--x--";
        let out = to_json(body, Some("x"), &mut |_| true).expect("framed");
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(
            text.contains("\"sha256\":\"sha256:") && text.contains("(2 bytes)"),
            "{text}"
        );
    }

    #[test]
    fn a_field_stands_below_its_names_and_no_header_is_lossy() {
        let shown = |disposition: &[u8]| {
            let body = [
                b"--x\r\nContent-Disposition: ",
                disposition,
                b"\r\n\r\nv\r\n--x--",
            ]
            .concat();
            let out = to_json(&body, Some("x"), &mut |_| true).expect("framed");
            String::from_utf8(out).expect("UTF-8")
        };
        for (disposition, expected) in [
            (&b"form-data; name=a"[..], r#""text":{"a":"v"}}]"#),
            (
                b"form-data; filename=\"; x\"; NAME = \"p\\\"q\"",
                r#""text":{"p\"q":"v"}}]"#,
            ),
            (b"form-data; filename=\"; name=b\"", r#""text":"v"}]"#),
            (b"form-data; name=a;name=\"b", r#""text":{"a":{"b":"v"}}}]"#),
            (
                b"form-data; filename=\"\xe9\"",
                r#"{"content-disposition":{"latin1":"form-data; filename=\"é\""}},"text":"v"}]"#,
            ),
            (b"form-data; name=\"\xe9\"", r#""text":{"é":"v"}}]"#),
        ] {
            let json = shown(disposition);
            assert!(json.ends_with(expected), "{json}");
        }
        let many =
            b"--x\r\nContent-Disposition: a;name=1;name=2;name=3;name=4;name=5\r\n\r\nv\r\n--x--";
        assert!(to_json(many, Some("x"), &mut |_| true).is_err());
    }
}
