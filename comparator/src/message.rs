//! Reads a stored HTTP/1 answer: a status line, fields, and the rest as the body.
//!
//! It is for files that people keep (`curl -i`, a saved capture), so line ends may be bare and a body may be shorter or
//! longer than its Content-Length says; a chunked body is put together, because that is how it was meant. It is not
//! for sockets: nothing of the proxy goes through here.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use parity_schemas::exchange::Capture;

/// Fields that one answer may have; real ones have a few dozen.
const MAX_FIELDS: usize = 1_000;

/// Why a text is not an HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The first line.
    #[error("`{0}` is not a status line; write for example `HTTP/1.1 200 OK`")]
    StatusLine(String),
    /// A line before the empty one.
    #[error(
        "line {line}: `{text}` is not a header field; write `name: value`, and an empty line before the body"
    )]
    Field {
        /// Counted from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// Too many lines before the empty one.
    #[error("more than {MAX_FIELDS} header fields")]
    TooMany,
    /// The chunks do not add up.
    #[error("the chunked body is broken at byte {0} of the body")]
    Chunk(usize),
}

/// Reads an answer.
pub fn read_answer(text: &[u8]) -> Result<Capture, MessageError> {
    let (first, rest) = line(text);
    let status = status_of(first).ok_or_else(|| MessageError::StatusLine(lossy(first)))?;
    let (headers, rest) = read_fields(rest, 2)?;
    let chunked = headers
        .get_all(http::header::TRANSFER_ENCODING)
        .iter()
        .any(|value| value.as_bytes().eq_ignore_ascii_case(b"chunked"));
    let (body, trailers) = if chunked {
        unchunk(rest)?
    } else {
        (rest.to_vec(), None)
    };
    Ok(Capture {
        status,
        headers,
        body: body.into(),
        trailers,
        elapsed: Duration::ZERO,
    })
}

/// The fields up to the empty line, and what follows; `first` is the number of the first line.
pub(crate) fn read_fields(text: &[u8], first: usize) -> Result<(HeaderMap, &[u8]), MessageError> {
    let (mut headers, mut rest) = (HeaderMap::new(), text);
    for number in first.. {
        let (field, after) = line(rest);
        rest = after;
        if field.is_empty() {
            break;
        }
        if headers.len() >= MAX_FIELDS {
            return Err(MessageError::TooMany);
        }
        let (name, value) = parse_field(field).ok_or_else(|| MessageError::Field {
            line: number,
            text: lossy(field),
        })?;
        headers.append(name, value);
    }
    Ok((headers, rest))
}

/// The first line without its end, and what follows.
fn line(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'\n', text) {
        Some(end) => (
            text[..end].strip_suffix(b"\r").unwrap_or(&text[..end]),
            &text[end + 1..],
        ),
        None => (text, &[]),
    }
}

fn status_of(line: &[u8]) -> Option<u16> {
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    words
        .next()
        .filter(|version| version.starts_with("HTTP/"))?;
    let status = words.next().filter(|word| word.len() == 3)?.parse().ok()?;
    (100..1000).contains(&status).then_some(status)
}

fn parse_field(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = memchr::memchr(b':', line)?;
    let name = HeaderName::from_bytes(&line[..colon]).ok()?;
    let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
    Some((name, value))
}

/// A chunked body in one piece, with its trailers.
fn unchunk(text: &[u8]) -> Result<(Vec<u8>, Option<HeaderMap>), MessageError> {
    let mut body = Vec::new();
    let mut rest = text;
    loop {
        let error = MessageError::Chunk(text.len() - rest.len());
        let (size, after) = line(rest);
        let digits = size
            .split(|byte| *byte == b';')
            .next()
            .unwrap_or_default()
            .trim_ascii();
        let size = std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let Some(size) = size else {
            return Err(error);
        };
        if size == 0 {
            return Ok((body, trailers(after)));
        }
        let Some((chunk, after)) = after.split_at_checked(size) else {
            return Err(error);
        };
        body.extend_from_slice(chunk);
        let (end, after) = line(after);
        if !end.is_empty() {
            return Err(error);
        }
        rest = after;
    }
}

fn trailers(mut rest: &[u8]) -> Option<HeaderMap> {
    let mut found = HeaderMap::new();
    while found.len() < MAX_FIELDS {
        let (field, after) = line(rest);
        let Some((name, value)) = parse_field(field) else {
            break;
        };
        found.append(name, value);
        rest = after;
    }
    (!found.is_empty()).then_some(found)
}

fn lossy(text: &[u8]) -> String {
    /// Enough of a line to recognize it.
    const SHOWN_BYTES: usize = 80;
    crate::collect::shown(text, SHOWN_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_with_bare_line_ends_and_one_in_chunks() {
        let plain = read_answer(b"HTTP/1.1 200 OK\nContent-Type: text/plain\nx-a:  b \n\nbody\r\n")
            .expect("an answer");
        assert_eq!(
            (plain.status, &*plain.body.contiguous()),
            (200, &b"body\r\n"[..])
        );
        assert_eq!(plain.headers["x-a"], "b");
        let chunked = read_answer(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nx-sum: 1\r\n\r\n").expect("an answer");
        assert_eq!(&*chunked.body.contiguous(), b"abcde");
        assert_eq!(chunked.trailers.expect("trailers")["x-sum"], "1");
    }

    #[test]
    fn what_is_no_answer_is_refused_with_its_place() {
        for (text, message) in [
            (
                &b""[..],
                "`` is not a status line; write for example `HTTP/1.1 200 OK`",
            ),
            (
                b"GET / HTTP/1.1\n\n",
                "`GET / HTTP/1.1` is not a status line; write for example `HTTP/1.1 200 OK`",
            ),
            (
                b"HTTP/1.1 200 OK\n{}\n",
                "line 2: `{}` is not a header field; write `name: value`, and an empty line before the body",
            ),
            (
                b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\nzz\n",
                "the chunked body is broken at byte 0 of the body",
            ),
            (
                b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\nffffffffffffffff\nabc",
                "the chunked body is broken at byte 0 of the body",
            ),
        ] {
            let error = read_answer(text).err().expect("no answer");
            assert_eq!(error.to_string(), message);
        }
    }
}
