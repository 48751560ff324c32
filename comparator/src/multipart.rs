//! Converts multipart bodies (RFC 2046) to a list of parts, each with its header fields and its body.
//!
//! The boundary is chosen at random, so it never counts as a difference. A part's body is compared by its own media
//! type: JSON as JSON, text as text, anything else by hash and length. A body with invalid framing is refused as a
//! whole.
//!
//! A part is `{"part-headers":{…},KIND:BODY}`. The key `json`, `text` or `sha256` tells what the body was, so no text
//! can pass for JSON or for a hash. The body of a form field is nested in an object under the field's name, so that
//! paths show the name, and redaction finds secret names in the usual way.

mod disposition;
mod renamed;

use http::header::CONTENT_LENGTH;
use parity_schemas::fields::FieldLines;

use crate::collect::digest;
use crate::media::{BodyKind, Declared};
use crate::message::read_fields;
use crate::notation::string;
use crate::part_keys::{DIGEST, HEADERS, JSON, TEXT};
use disposition::field_names;
pub(crate) use disposition::is_readable;
pub(crate) use renamed::{pair, restore};

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

/// One part of a body.
pub(crate) struct Part<'a> {
    fields: FieldLines,
    content: &'a [u8],
    names: Vec<String>,
    /// The fields that it is compared with, if they are not these.
    compared_as: Option<FieldLines>,
}

/// The parts of a body; the error tells what is wrong.
pub(crate) fn read<'a>(
    body: &'a [u8],
    boundary: Option<&str>,
) -> Result<Vec<Part<'a>>, &'static str> {
    let boundary = boundary
        .filter(|boundary| !boundary.is_empty())
        .ok_or(NO_BOUNDARY)?;
    let parts = parts(body, boundary.as_bytes())?;
    parts.into_iter().map(Part::read).collect()
}

/// The parts as one JSON array of objects, as they are compared.
pub(crate) fn to_json(parts: &[Part<'_>], is_json: &mut dyn FnMut(&[u8]) -> bool) -> Vec<u8> {
    listed(parts, is_json, |part| {
        part.compared_as.as_ref().unwrap_or(&part.fields)
    })
}

/// The same, as they were sent.
fn as_sent(parts: &[Part<'_>], is_json: &mut dyn FnMut(&[u8]) -> bool) -> Vec<u8> {
    listed(parts, is_json, |part| &part.fields)
}

fn listed<'p>(
    parts: &'p [Part<'p>],
    is_json: &mut dyn FnMut(&[u8]) -> bool,
    fields: impl Fn(&'p Part<'p>) -> &'p FieldLines,
) -> Vec<u8> {
    let mut out = vec![b'['];
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        part.write(fields(part), is_json, &mut out);
    }
    out.push(b']');
    out
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

impl<'a> Part<'a> {
    fn read(part: &'a [u8]) -> Result<Self, &'static str> {
        let (fields, content) = read_fields(part).map_err(|_| NO_HEADER)?;
        // The length follows from the body.
        let (_, fields) = fields.partition(|name| name == CONTENT_LENGTH);
        let names = field_names(&fields);
        if names.len() > MAX_NAMES {
            return Err(MANY_NAMES);
        }
        Ok(Self {
            fields,
            content,
            names,
            compared_as: None,
        })
    }

    fn write(
        &self,
        fields: &FieldLines,
        is_json: &mut dyn FnMut(&[u8]) -> bool,
        out: &mut Vec<u8>,
    ) {
        let Self { content, names, .. } = self;
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
        let kind = Declared::of(fields).kind;
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
        for name in names {
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
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn json(body: &str) -> Result<String, &'static str> {
        let parts = read(body.as_bytes(), Some("x"))?;
        let out = to_json(&parts, &mut |part| {
            serde_json::from_slice::<serde_json::Value>(part).is_ok()
        });
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
        assert!(read(b"--x--", None).is_err());
    }

    #[test]
    fn bytes_are_shown_by_their_hash() {
        let body = b"--x\r\nContent-Type: image/png\r\n\r\n\xff\xfe\r\n--x--";
        let out = to_json(&read(body, Some("x")).expect("framed"), &mut |_| true);
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(
            text.contains("\"sha256\":\"sha256:") && text.contains("(2 bytes)"),
            "{text}"
        );
    }

    #[test]
    fn a_field_is_nested_in_its_names_and_no_header_is_lossy() {
        let shown = |disposition: &[u8]| {
            let body = [
                b"--x\r\nContent-Disposition: ",
                disposition,
                b"\r\n\r\nv\r\n--x--",
            ]
            .concat();
            let out = to_json(&read(&body, Some("x")).expect("framed"), &mut |_| true);
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
        assert!(read(many, Some("x")).is_err());
    }
}
