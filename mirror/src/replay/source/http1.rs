//! A message as HTTP/1 wrote it, in a recording that keeps the bytes of connections.
//!
//! A request must be whole: another body would be another request. An answer that is not whole is none.

use std::time::Duration;

use http::Method;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use httparse::{EMPTY_HEADER, Status};
use parity_schemas::exchange::{Capture, Request};
use parity_schemas::fields::{FieldLines, FieldValue};
use parity_schemas::framing::{agreed_length, has_unknown_coding, unchunk};
use parity_schemas::recording::UNKNOWN_TRAILERS;

use crate::replay::recorded::{MAX_FIELDS, Pieces, Why, fields};

/// Reads a request, and tells the host that it was for.
pub(super) fn request(message: &[u8]) -> Result<(Request, Option<Box<str>>), Why> {
    let mut lines = vec![EMPTY_HEADER; MAX_FIELDS];
    let mut head = httparse::Request::new(&mut lines);
    let read = match head.parse(message) {
        Ok(Status::Complete(read)) => read,
        Ok(Status::Partial) => return Err(Why::CutOff),
        Err(error) => {
            let what = format!("not a request of HTTP/1 ({error})");
            return Err(Why::Malformed(what));
        }
    };
    let rest = message.get(read..).unwrap_or_default();
    let headers: Vec<_> = head
        .headers
        .iter()
        .map(|line| (line.name.as_bytes(), line.value))
        .collect();
    let framing = fields(headers.iter().copied())?;
    let body = match body(&framing, rest, false) {
        Found::Whole(body) => body.to_vec(),
        Found::Joined(body, _) => body,
        Found::Cut => return Err(Why::NoBody("it ends before its stated length".to_owned())),
    };
    Pieces {
        method: head.method.unwrap_or_default().as_bytes(),
        target: head.path.unwrap_or_default().as_bytes(),
        headers,
        body,
        client: None,
    }
    .request()
}

/// Reads the answer to a request with this method; `None` if it is not one that was recorded whole.
pub(super) fn answer(message: &[u8], method: &Method) -> Option<Capture> {
    let mut rest = message;
    loop {
        let mut lines = vec![EMPTY_HEADER; MAX_FIELDS];
        let mut head = httparse::Response::new(&mut lines);
        let Ok(Status::Complete(read)) = head.parse(rest) else {
            return None;
        };
        rest = rest.get(read..).unwrap_or_default();
        let status = head.code?;
        if (100..200).contains(&status) && status != 101 {
            continue;
        }
        let lines = head.headers.iter();
        let headers = fields(lines.map(|line| (line.name.as_bytes(), line.value))).ok()?;
        let has_body = *method != Method::HEAD && !matches!(status, 101 | 204 | 304);
        let (body, trailers) = match body(&headers, if has_body { rest } else { &[] }, true) {
            _ if !has_body => (Vec::new(), Trailers::Known(None)),
            Found::Whole(body) => (body.to_vec(), Trailers::Known(None)),
            Found::Joined(body, rest) => (body, self::trailers(rest)),
            Found::Cut => return None,
        };
        let (trailers, hidden) = match trailers {
            Trailers::Known(trailers) => (trailers, None),
            Trailers::Cut => (None, Some([UNKNOWN_TRAILERS.to_owned()].into())),
        };
        return Some(Capture {
            status,
            headers,
            body: body.into(),
            trailers,
            hidden,
            head_elapsed: Duration::ZERO,
            elapsed: Duration::ZERO,
        });
    }
}

enum Found<'a> {
    Whole(&'a [u8]),
    /// With what follows the last chunk.
    Joined(Vec<u8>, &'a [u8]),
    Cut,
}

/// What follows a body in chunks.
enum Trailers {
    Known(Option<FieldLines>),
    /// They are not whole, or no fields.
    Cut,
}

fn trailers(rest: &[u8]) -> Trailers {
    let mut lines = vec![EMPTY_HEADER; MAX_FIELDS];
    let Ok(Status::Complete((_, lines))) = httparse::parse_headers(rest, &mut lines) else {
        return Trailers::Cut;
    };
    let lines = lines.iter();
    match fields(lines.map(|line| (line.name.as_bytes(), line.value))) {
        Ok(fields) => Trailers::Known((!fields.is_empty()).then_some(fields)),
        Err(_) => Trailers::Cut,
    }
}

/// The body that `rest` begins with. Without a length, an answer has all of it and a request nothing.
fn body<'a>(headers: &FieldLines, rest: &'a [u8], is_answer: bool) -> Found<'a> {
    fn values<'f>(
        headers: &'f FieldLines,
        name: &'f http::HeaderName,
    ) -> impl Iterator<Item = &'f [u8]> {
        headers.get_all(name).map(FieldValue::as_bytes)
    }
    if headers.contains(&TRANSFER_ENCODING) {
        if has_unknown_coding(values(headers, &TRANSFER_ENCODING)) {
            return Found::Cut;
        }
        return unchunk(rest).map_or(Found::Cut, |(body, rest)| Found::Joined(body, rest));
    }
    if headers.contains(&CONTENT_LENGTH) {
        let length = agreed_length(values(headers, &CONTENT_LENGTH));
        let length = length.and_then(|length| usize::try_from(length).ok());
        return match length.and_then(|length| rest.get(..length)) {
            Some(body) => Found::Whole(body),
            None => Found::Cut,
        };
    }
    Found::Whole(if is_answer { rest } else { &[] })
}
