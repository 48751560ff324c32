//! Multipart bodies (RFC 2046) as a list of parts, each with its header fields and its body.
//!
//! The boundary is chosen at random and is no difference. A part's body is compared as its own media type says: JSON as
//! such, text as text, anything else by hash and length. What is not framed as it says is refused as a whole.

use http::HeaderName;
use http::header::CONTENT_LENGTH;
use sha2::{Digest, Sha256};

use crate::comparator::body::DIGEST_MARK;
use crate::json::string;
use crate::media::{BodyKind, Declared};
use crate::message::read_fields;

/// Parts of one body; more are an attack, and each costs memory.
const MAX_PARTS: usize = 10_000;

/// The parts as one JSON array of objects with `headers` and `body`; the error says what is wrong.
pub(crate) fn to_json(
    body: &[u8],
    boundary: Option<&str>,
    is_json: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<Vec<u8>, &'static str> {
    let boundary = boundary
        .filter(|boundary| !boundary.is_empty())
        .ok_or("the media type of a multipart body names no boundary")?;
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

/// What stands between the lines with the boundary; what is before the first and behind the last is nothing.
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
        // Behind the boundary only white space (RFC 2046 §5.1.1).
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
            return Err("more parts than are followed");
        }
        from += (line.len() + 1).min(rest.len());
        begin = Some(from);
    }
    Err("the closing boundary of a multipart body is missing")
}

fn write(
    part: &[u8],
    is_json: &mut dyn FnMut(&[u8]) -> bool,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let (mut fields, content) =
        read_fields(part).map_err(|_| "the header of a part is no header")?;
    // It follows from the rest.
    fields.remove(CONTENT_LENGTH);
    out.extend_from_slice(b"{\"headers\":{");
    let mut names: Vec<&HeaderName> = fields.keys().collect();
    names.sort_by_key(|name| name.as_str());
    for (index, name) in names.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        string::quote(name.as_str(), out);
        out.push(b':');
        let values: Vec<_> = fields
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()))
            .collect();
        string::quote(&values.join(", "), out);
    }
    out.extend_from_slice(b"},\"body\":");
    let kind = Declared::of(&fields).kind;
    match std::str::from_utf8(content) {
        Ok(_) if kind == Some(BodyKind::Json) && is_json(content) => out.extend_from_slice(content),
        Ok(text) => string::quote(text, out),
        Err(_) => {
            let hash = crate::hex::encode(&Sha256::digest(content));
            let summary = format!("{DIGEST_MARK}{hash} ({} bytes)", content.len());
            string::quote(&summary, out);
        }
    }
    out.push(b'}');
    Ok(())
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
                r#"[{"headers":{"content-type":"application/json"},"body":{"a":1}},"#,
                r#"{"headers":{"content-disposition":"form-data; name=\"f\""},"body":"line\r\n--xy\r\n"},"#,
                r#"{"headers":{},"body":"bare"}]"#
            ))
        );
        assert_eq!(json("--x--").as_deref(), Ok("[]"));
        assert_eq!(
            json("--x\n\n\n--x--").as_deref(),
            Ok(r#"[{"headers":{},"body":""}]"#)
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
            text.contains("\"body\":\"sha256:") && text.contains("(2 bytes)"),
            "{text}"
        );
    }
}
