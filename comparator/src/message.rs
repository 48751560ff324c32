//! Parses a stored HTTP/1 answer: a status line, fields, and the rest as the body.
//!
//! It is for files that people keep (`curl -i`, a saved capture), so line ends may be bare and a body may be longer
//! than its Content-Length; [`cut_short`] tells whether it is shorter. A chunked body is joined, because that is what
//! was meant. But curl undoes chunks, and `--compressed` the content encoding, and both keep the fields that announced
//! them; so a body that does not match these fields is taken as it is. Of several answers in one file (`100 Continue`,
//! the tunnel of a proxy, followed redirects) the last one counts. It is not for sockets: no proxied traffic is parsed
//! here.

use std::time::Duration;

use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderName, HeaderValue};
use parity_schemas::exchange::Capture;
use parity_schemas::fields::{FieldLines, FieldValue};
use parity_schemas::framing::{agreed_length, has_unknown_coding, line, unchunk};

use crate::decode;

/// Fields that one answer may have; real ones have a few dozen.
const MAX_FIELDS: usize = 1_000;

/// Why a text is not an HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The first line.
    #[error("`{0}` is not a status line; write for example `HTTP/1.1 200 OK`")]
    StatusLine(String),
    /// A line before the empty line.
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
}

/// Most answers before the one that counts; curl follows fifty redirects.
const MAX_EARLIER_ANSWERS: usize = 64;

/// Encodings that `curl --compressed` asks for.
const UNDONE_BY_CURL: [&str; 5] = ["gzip", "x-gzip", "deflate", "br", "zstd"];

/// Whether a text begins with the head of an answer.
pub fn is_answer(text: &[u8]) -> bool {
    read_head(text, 1).is_ok()
}

/// Parses an answer.
pub fn read_answer(text: &[u8]) -> Result<Capture, MessageError> {
    let mut head = read_head(text, 1)?;
    for _ in 0..MAX_EARLIER_ANSWERS {
        if !head.is_followed() {
            break;
        }
        head = read_head(head.rest, head.next_line)?;
    }
    let AnswerHead {
        status,
        mut headers,
        rest,
        ..
    } = head;
    let chunked = headers
        .get_all(&TRANSFER_ENCODING)
        .any(|value| value.as_bytes().eq_ignore_ascii_case(b"chunked"));
    let joined = chunked.then(|| unchunk(rest)).flatten();
    let (body, trailers) = joined.map_or_else(
        || (rest.to_vec(), None),
        |(body, after)| (body, trailers(after)),
    );
    // Compressed data is not valid UTF-8: gzip and zstd begin with invalid bytes, deflate and brotli are valid only by
    // chance.
    let encodings = decode::encodings(&headers);
    let undoes = |name: &String| UNDONE_BY_CURL.contains(&name.as_str());
    if !encodings.is_empty() && encodings.iter().all(undoes) && std::str::from_utf8(&body).is_ok() {
        // The stated length is that of the encoded body.
        let believed = !contradicts_itself(&headers);
        (_, headers) = headers
            .partition(|name| *name == CONTENT_ENCODING || (believed && *name == CONTENT_LENGTH));
    }
    Ok(Capture {
        status,
        headers,
        body: body.into(),
        trailers,
        hidden: None,
        head_elapsed: Duration::ZERO,
        elapsed: Duration::ZERO,
    })
}

/// The number of bytes of a saved body and its stated `Content-Length`, if it was cut short. A missing body does not
/// count as cut: the answer to HEAD states a length, and so does an answer that was saved without its body.
pub fn cut_short(answer: &Capture) -> Option<(usize, usize)> {
    if answer.headers.contains(&TRANSFER_ENCODING) {
        return None;
    }
    let announced = agreed_length(values(&answer.headers, &CONTENT_LENGTH))?;
    let announced = usize::try_from(announced).ok()?;
    let there = answer.body.len();
    (there > 0 && there < announced).then_some((there, announced))
}

/// Whether clients refuse an answer with these fields, as the proxy does: lengths that contradict each other, a length
/// that is no number, a transfer coding other than `chunked`. With a transfer coding, lengths are ignored (RFC 9112 §6.3).
pub fn contradicts_itself(headers: &FieldLines) -> bool {
    if headers.contains(&TRANSFER_ENCODING) {
        return has_unknown_coding(values(headers, &TRANSFER_ENCODING));
    }
    headers.contains(&CONTENT_LENGTH) && agreed_length(values(headers, &CONTENT_LENGTH)).is_none()
}

fn values<'a>(headers: &'a FieldLines, name: &'a HeaderName) -> impl Iterator<Item = &'a [u8]> {
    headers.get_all(name).map(FieldValue::as_bytes)
}

/// A status line with its fields, and what follows them.
struct AnswerHead<'a> {
    status: u16,
    headers: FieldLines,
    rest: &'a [u8],
    next_line: usize,
}

impl AnswerHead<'_> {
    /// Whether another answer follows and is the one that counts. What follows an answer with a body is that body,
    /// whatever it looks like.
    fn is_followed(&self) -> bool {
        let no_body = match self.status {
            // After 401 and 407 curl asks again with credentials, and leaves out the body of the refusal.
            100..=199 | 300..=399 | 401 | 407 => true,
            // The answer of a proxy to CONNECT.
            200..300 => !self.headers.contains(&CONTENT_TYPE),
            _ => false,
        };
        no_body && status_of(line(self.rest).0).is_some()
    }
}

fn read_head(text: &[u8], from_line: usize) -> Result<AnswerHead<'_>, MessageError> {
    let (first, rest) = line(text);
    let status = status_of(first).ok_or_else(|| MessageError::StatusLine(lossy(first)))?;
    let (headers, rest, next_line) = numbered_fields(rest, from_line + 1)?;
    Ok(AnswerHead {
        status,
        headers,
        rest,
        next_line,
    })
}

/// The fields up to the empty line, and what follows.
pub(crate) fn read_fields(text: &[u8]) -> Result<(FieldLines, &[u8]), MessageError> {
    numbered_fields(text, 1).map(|(headers, rest, _)| (headers, rest))
}

/// The same, with the number of the line after them; `first` is the number of the first line.
fn numbered_fields(text: &[u8], first: usize) -> Result<(FieldLines, &[u8], usize), MessageError> {
    let (mut headers, mut rest) = (FieldLines::default(), text);
    for number in (first..).take(MAX_FIELDS + 1) {
        let (field, after) = line(rest);
        rest = after;
        if field.is_empty() {
            return Ok((headers, rest, number + 1));
        }
        let (name, value) = parse_field(field).ok_or_else(|| MessageError::Field {
            line: number,
            text: lossy(field),
        })?;
        headers.push(name, value.as_bytes());
    }
    Err(MessageError::TooMany)
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

fn trailers(mut rest: &[u8]) -> Option<FieldLines> {
    let mut found = FieldLines::default();
    while found.len() < MAX_FIELDS {
        let (field, after) = line(rest);
        let Some((name, value)) = parse_field(field) else {
            break;
        };
        found.push(name, value.as_bytes());
        rest = after;
    }
    (!found.is_empty()).then_some(found)
}

fn lossy(text: &[u8]) -> String {
    /// Bytes of a line that an error shows, enough to recognize it.
    const SHOWN_BYTES: usize = 80;
    crate::collect::shown(text, SHOWN_BYTES)
}

#[cfg(test)]
mod tests {
    use parity_schemas::fields::FieldValue;

    use super::*;

    #[test]
    fn an_answer_with_bare_line_ends_and_one_in_chunks() {
        let plain = read_answer(b"HTTP/1.1 200 OK\nContent-Type: text/plain\nx-a:  b \n\nbody\r\n")
            .expect("an answer");
        assert_eq!(
            (plain.status, &*plain.body.contiguous()),
            (200, &b"body\r\n"[..])
        );
        let shown = |lines: &FieldLines, name: &'static str| {
            let value = lines.get(&HeaderName::from_static(name));
            value.and_then(FieldValue::as_str).map(str::to_owned)
        };
        assert_eq!(shown(&plain.headers, "x-a").as_deref(), Some("b"));
        let chunked = read_answer(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nx-sum: 1\r\n\r\n").expect("an answer");
        assert_eq!(&*chunked.body.contiguous(), b"abcde");
        let trailers = chunked.trailers.expect("trailers");
        assert_eq!(shown(&trailers, "x-sum").as_deref(), Some("1"));
    }

    #[test]
    fn what_curl_has_undone_is_taken_as_it_is() {
        let chunked = "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n";
        let gzip = "HTTP/2 200 \r\ncontent-encoding: gzip\r\n\r\n";
        for (head, body) in [
            (chunked, "{\"a\":1}"),
            (chunked, "zz\n"),
            (chunked, "0"),
            (chunked, "3"),
            (chunked, "ffffffffffffffff\nabc"),
            (gzip, "{\"a\":1}"),
        ] {
            let answer = read_answer(format!("{head}{body}").as_bytes()).expect("an answer");
            assert_eq!(&*answer.body.contiguous(), body.as_bytes(), "{head}");
            assert!(!answer.headers.contains(&CONTENT_ENCODING));
        }
        let compressed = [gzip.as_bytes(), &[0x1f, 0x8b, 8, 0]].concat();
        let kept = read_answer(&compressed).expect("an answer");
        let kept = kept.headers.get(&CONTENT_ENCODING);
        assert_eq!(kept.and_then(FieldValue::as_str), Some("gzip"));
    }

    #[test]
    fn of_several_answers_the_last_counts_but_a_body_is_no_answer() {
        let last = "HTTP/1.1 200 OK\nContent-Type: text/plain\n\n";
        for (before, after, status, body) in [
            ("HTTP/1.1 100 Continue\r\n\r\n", "x", 200, "x"),
            ("HTTP/1.1 200 Connection established\r\n\r\n", "x", 200, "x"),
            (
                "HTTP/1.1 301 Moved\nLocation: /b\n\nHTTP/2 302 \n\n",
                "x",
                200,
                "x",
            ),
            (
                "HTTP/1.1 401 Unauthorized\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n",
                "x",
                200,
                "x",
            ),
            ("", "HTTP/1.1 500 No\n\n", 200, "HTTP/1.1 500 No\n\n"),
        ] {
            let text = format!("{before}{last}{after}");
            let answer = read_answer(text.as_bytes()).expect("an answer");
            assert_eq!(
                (answer.status, &*answer.body.contiguous()),
                (status, body.as_bytes()),
                "{text}"
            );
        }
        let broken = read_answer(b"HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\n{}\n");
        assert!(
            broken
                .err()
                .is_some_and(|error| error.to_string().starts_with("line 4: `{}`"))
        );
    }

    #[test]
    fn invalid_answers_are_refused_with_their_line() {
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
        ] {
            let error = read_answer(text).err().expect("no answer");
            assert_eq!(error.to_string(), message);
        }
    }
}
