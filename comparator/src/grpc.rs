//! gRPC calls: separates the messages of an answer from its status.
//!
//! A message follows five bytes: whether it is compressed, and its length. Compression is not a property of the answer,
//! so messages are compared decompressed. The status is in the trailers, or in the header if there is no message
//! ("Trailers-Only"); where it is makes no difference either. gRPC-Web ([`web`]) is turned into gRPC first.

pub(crate) mod web;

use std::borrow::Cow;

use http::HeaderName;
use parity_schemas::exchange::Capture;
use parity_schemas::fields::FieldLines;

use crate::decode::{self, DecodeError};
use crate::media::{self, BodyKind};

/// Whether the message is compressed, and its length.
const PREFIX: usize = 5;
/// Fields that tell how a call ended.
const STATUS: [HeaderName; 3] = [
    HeaderName::from_static("grpc-status"),
    HeaderName::from_static("grpc-message"),
    HeaderName::from_static("grpc-status-details-bin"),
];
/// What is wrong with a message that says that it is compressed where the call has no compression.
const NO_ENCODING: &str = "gRPC message: it is marked as compressed, and no grpc-encoding says how";
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// Header and trailer fields, with the status in the trailers.
pub(crate) type Parts<'a> = (Cow<'a, FieldLines>, Cow<'a, FieldLines>);

/// Whether both answers are gRPC, of either form.
pub(crate) fn are_both(legacy: &Capture, candidate: &Capture) -> bool {
    [legacy, candidate]
        .into_iter()
        .all(|answer| media::is_any_grpc(&answer.headers))
}

/// The fields of an answer as received.
pub(crate) fn plain(answer: &Capture) -> Parts<'_> {
    let trailers = match &answer.trailers {
        Some(trailers) => Cow::Borrowed(trailers),
        None => Cow::Owned(FieldLines::default()),
    };
    (Cow::Borrowed(&answer.headers), trailers)
}

/// Whether an answer has its status in the header, and so no trailers.
pub(crate) fn has_status_in_header(answer: &Capture) -> bool {
    answer.trailers.is_none()
        && media::is_any_grpc(&answer.headers)
        && answer.headers.contains(&STATUS[0])
}

/// The fields of an answer, with a status from the header moved into the trailers.
pub(crate) fn parts(answer: &Capture) -> Parts<'_> {
    if !has_status_in_header(answer) {
        return plain(answer);
    }
    let (moved, headers) = answer.headers.partition(|name| STATUS.contains(name));
    (Cow::Owned(headers), Cow::Owned(moved))
}

/// The parts of two bodies that are compared.
pub(crate) struct Messages<'a> {
    pub(crate) legacy: Cow<'a, [u8]>,
    pub(crate) candidate: Cow<'a, [u8]>,
    pub(crate) kind: BodyKind,
}

/// The parts of two bodies that are compared, and their kind. Bodies without valid framing are compared as they are.
/// The error has the legacy's and the candidate's.
pub(crate) fn messages<'a>(
    answers: [&Capture; 2],
    bodies: [&'a [u8]; 2],
    limit: usize,
) -> Result<Messages<'a>, [Option<DecodeError>; 2]> {
    let read = |index: usize| {
        let encodings = decode::listed(&answers[index].headers, &ENCODING);
        unframe(bodies[index], &encodings, limit)
    };
    let (legacy, candidate) = match (read(0), read(1)) {
        (Ok(legacy), Ok(candidate)) => (legacy, candidate),
        (legacy, candidate) => return Err([legacy.err(), candidate.err()]),
    };
    let (Some(legacy), Some(candidate)) = (legacy, candidate) else {
        let [legacy, candidate] = bodies.map(Cow::Borrowed);
        let kind = BodyKind::Bytes;
        return Ok(Messages {
            legacy,
            candidate,
            kind,
        });
    };
    match (
        <[Vec<u8>; 1]>::try_from(legacy),
        <[Vec<u8>; 1]>::try_from(candidate),
    ) {
        (Ok([legacy]), Ok([candidate])) => {
            let json = answers
                .iter()
                .all(|answer| media::is_grpc_json(&answer.headers));
            let kind = if json {
                BodyKind::Json
            } else {
                BodyKind::Bytes
            };
            Ok(Messages {
                legacy: Cow::Owned(legacy),
                candidate: Cow::Owned(candidate),
                kind,
            })
        }
        // With several messages, or none, the boundaries between them count, too.
        (legacy, candidate) => {
            let frame = |messages: Vec<Vec<u8>>| Cow::Owned(framed(&messages));
            Ok(Messages {
                legacy: legacy.map_or_else(frame, |one| frame(one.into())),
                candidate: candidate.map_or_else(frame, |one| frame(one.into())),
                kind: BodyKind::Bytes,
            })
        }
    }
}

/// The message of a call with JSON messages; `None` if it is not such a call, or does not have exactly one message.
pub(crate) fn json_message(headers: &FieldLines, body: &[u8], limit: usize) -> Option<Vec<u8>> {
    if !media::is_grpc_json(headers) {
        return None;
    }
    let frames = match media::grpc_web(headers) {
        Some(_) => Cow::Owned(web::frames(body, headers, limit)?),
        None => Cow::Borrowed(body),
    };
    let messages = unframe(&frames, &decode::listed(headers, &ENCODING), limit).ok()??;
    <[Vec<u8>; 1]>::try_from(messages)
        .ok()
        .map(|[message]| message)
}

/// The decompressed messages of a body; `None` if its framing is invalid.
fn unframe(
    mut body: &[u8],
    encodings: &[String],
    limit: usize,
) -> Result<Option<Vec<Vec<u8>>>, DecodeError> {
    let mut messages = Vec::new();
    let mut left = limit;
    while !body.is_empty() {
        let Some(([compressed, a, b, c, d], rest)) = body.split_first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        let Some((message, rest)) = rest.split_at_checked(length) else {
            return Ok(None);
        };
        let message = match *compressed {
            0 => message.to_vec(),
            // Clients must refuse it.
            1 if encodings.is_empty() => return Err(DecodeError::Broken(NO_ENCODING)),
            1 => decode::decode(message, encodings, left)?.into_owned(),
            _ => return Ok(None),
        };
        left = left.saturating_sub(message.len());
        messages.push(message);
        body = rest;
    }
    Ok(Some(messages))
}

fn framed(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut all = Vec::new();
    for message in messages {
        all.push(0);
        all.extend_from_slice(&(message.len() as u32).to_be_bytes());
        all.extend_from_slice(message);
    }
    all
}
