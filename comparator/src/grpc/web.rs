//! gRPC-Web: the framing of gRPC with the trailers as a last frame, for clients that see no trailers of HTTP.
//!
//! An answer is turned into the gRPC answer that it stands for, so that all else is compared as gRPC: the status, the
//! messages, and what makes no difference. In the form for browsers that read text only, the frames are base64, which may
//! be padded in the middle because servers encode each frame by itself.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use http::HeaderName;
use http::header::CONTENT_ENCODING;
use parity_schemas::exchange::Capture;
use parity_schemas::fields::FieldLines;

use super::{ENCODING, PREFIX};
use crate::decode::{self, DecodeError};
use crate::media::{self, GrpcWeb};

/// The bit of a frame's first byte that says that it has trailers.
const TRAILERS: u8 = 0x80;
/// Most lines in a frame of trailers: what HTTP servers accept of them.
const MAX_LINES: usize = 1_000;

/// Browsers do not look at the bits behind the last byte either.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Why an answer is not the gRPC-Web that it claims to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Invalid {
    /// Clients cannot read it, for this reason.
    Broken(&'static str),
    /// Its encoding cannot be undone; that is told where encodings are.
    Encoded,
}

/// The answer as gRPC; `None` if it is no gRPC-Web, or its body was not kept.
pub(crate) fn as_grpc(answer: &Capture, limit: usize) -> Option<Result<Capture, Invalid>> {
    let form = media::grpc_web(&answer.headers)?;
    if answer.body.omission().is_some() {
        return None;
    }
    let encodings = decode::encodings(&answer.headers);
    let Ok(body) = decode::decode(&answer.body.contiguous(), &encodings, limit)
        .map(std::borrow::Cow::into_owned)
    else {
        return Some(Err(Invalid::Encoded));
    };
    let parts = parts(&body, form, &answer.headers, limit);
    Some(parts.map(|(frames, trailers)| {
        let (_, headers) = answer.headers.partition(|name| *name == CONTENT_ENCODING);
        Capture {
            status: answer.status,
            headers,
            body: frames.into(),
            trailers: trailers.or_else(|| answer.trailers.clone()),
            hidden: None,
            head_elapsed: answer.head_elapsed,
            elapsed: answer.elapsed,
        }
    }))
}

/// The frames of a decoded body that are messages; `None` if it is not gRPC-Web.
pub(super) fn frames(body: &[u8], headers: &FieldLines, limit: usize) -> Option<Vec<u8>> {
    let form = media::grpc_web(headers)?;
    parts(body, form, headers, limit)
        .ok()
        .map(|(frames, _)| frames)
}

/// The frames that are messages, and the trailers if there are any.
fn parts(
    body: &[u8],
    form: GrpcWeb,
    headers: &FieldLines,
    limit: usize,
) -> Result<(Vec<u8>, Option<FieldLines>), Invalid> {
    let mut frames = match form {
        GrpcWeb::Binary => body.to_vec(),
        GrpcWeb::Text => from_base64(body)?,
    };
    let mut at = 0;
    while let Some(rest) = frames.get(at..).filter(|rest| !rest.is_empty()) {
        let ([flags, a, b, c, d], rest) = rest
            .split_first_chunk::<PREFIX>()
            .ok_or(Invalid::Broken("a frame that is cut"))?;
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        let (content, behind) = rest
            .split_at_checked(length)
            .ok_or(Invalid::Broken("a frame that is cut"))?;
        match *flags {
            0 | 1 => at += PREFIX + length,
            TRAILERS | 0x81 if !behind.is_empty() => {
                return Err(Invalid::Broken("something behind the trailers"));
            }
            flags @ (TRAILERS | 0x81) => {
                let encodings = decode::listed(headers, &ENCODING);
                let encodings = if flags == TRAILERS {
                    &[][..]
                } else {
                    &encodings
                };
                let content =
                    decode::decode(content, encodings, limit).map_err(|error| match error {
                        DecodeError::TooLarge => Invalid::Broken("trailers over a limit"),
                        _ => Invalid::Broken("trailers that cannot be decompressed"),
                    })?;
                let trailers = lines(&content)?;
                frames.truncate(at);
                return Ok((frames, Some(trailers)));
            }
            _ => return Err(Invalid::Broken("a frame of an unknown kind")),
        }
    }
    Ok((frames, None))
}

/// The fields of a frame of trailers, which are written as in HTTP/1.
fn lines(content: &[u8]) -> Result<FieldLines, Invalid> {
    const BROKEN: Invalid = Invalid::Broken("trailers that are no fields");
    let mut fields = FieldLines::default();
    for line in content.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':').ok_or(BROKEN)?;
        let (name, value) = line.split_at(colon);
        let name = HeaderName::from_bytes(name.trim_ascii()).map_err(|_| BROKEN)?;
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        if fields.len() == MAX_LINES
            || value
                .iter()
                .any(|byte| byte.is_ascii_control() && *byte != b'\t')
        {
            return Err(BROKEN);
        }
        fields.push(name, value);
    }
    Ok(fields)
}

/// Base64 in pieces, each padded or not.
fn from_base64(body: &[u8]) -> Result<Vec<u8>, Invalid> {
    let mut rest = body.trim_ascii_end();
    let mut bytes = Vec::with_capacity(rest.len() / 4 * 3);
    while !rest.is_empty() {
        // A piece ends with the four characters that have the padding.
        let end = match rest.iter().position(|byte| *byte == b'=') {
            Some(padding) => (padding / 4 + 1) * 4,
            None => rest.len(),
        };
        let (piece, behind) = rest
            .split_at_checked(end)
            .ok_or(Invalid::Broken("base64 that is cut"))?;
        let length = piece.len();
        BASE64.decode_vec(piece, &mut bytes).map_err(|_| {
            Invalid::Broken(if length % 4 == 0 {
                "invalid base64"
            } else {
                "base64 that is cut"
            })
        })?;
        rest = behind;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parted(body: &[u8], form: GrpcWeb) -> Result<(Vec<u8>, Option<Vec<String>>), Invalid> {
        let (frames, trailers) = parts(body, form, &FieldLines::default(), 1 << 20)?;
        let shown = |fields: FieldLines| {
            let lines = fields.iter();
            lines
                .map(|(name, value)| format!("{name}={}", value.lossy()))
                .collect()
        };
        Ok((frames, trailers.map(shown)))
    }

    #[test]
    fn trailers_are_taken_out_of_the_body() {
        let message = b"\0\0\0\0\x02hi";
        let trailers = b"\x80\0\0\0\x21grpc-status:0\r\nGrpc-Message: ok\r\n";
        let expected = Some(vec![
            "grpc-status=0".to_owned(),
            "grpc-message=ok".to_owned(),
        ]);
        let whole = [&message[..], trailers].concat();
        assert_eq!(
            parted(&whole, GrpcWeb::Binary),
            Ok((message.to_vec(), expected.clone()))
        );
        // Encoded frame by frame, as a whole, and with bits that mean nothing.
        for text in [
            format!("{}{}", BASE64.encode(message), BASE64.encode(trailers)),
            BASE64.encode(&whole),
            format!("{}\r\n", BASE64.encode(&whole)),
        ] {
            assert_eq!(
                parted(text.as_bytes(), GrpcWeb::Text),
                Ok((message.to_vec(), expected.clone())),
                "{text}"
            );
        }
        assert_eq!(parted(b"", GrpcWeb::Binary), Ok((Vec::new(), None)));
        assert_eq!(
            parted(message, GrpcWeb::Binary),
            Ok((message.to_vec(), None))
        );
    }

    #[test]
    fn what_no_client_can_read_is_told() {
        for (body, form, problem) in [
            (&b"\0\0\0\0"[..], GrpcWeb::Binary, "a frame that is cut"),
            (
                b"\0\xff\xff\xff\xffa",
                GrpcWeb::Binary,
                "a frame that is cut",
            ),
            (
                b"\x02\0\0\0\0",
                GrpcWeb::Binary,
                "a frame of an unknown kind",
            ),
            (
                b"\x80\0\0\0\0\0\0\0\0\0",
                GrpcWeb::Binary,
                "something behind the trailers",
            ),
            (
                b"\x80\0\0\0\x03abc",
                GrpcWeb::Binary,
                "trailers that are no fields",
            ),
            (
                b"\x80\0\0\0\x05a b:c",
                GrpcWeb::Binary,
                "trailers that are no fields",
            ),
            (
                b"\x80\0\0\0\x05a:b\x1bc",
                GrpcWeb::Binary,
                "trailers that are no fields",
            ),
            (b"AAAA*", GrpcWeb::Text, "base64 that is cut"),
            (b"AAA*", GrpcWeb::Text, "invalid base64"),
            (b"AAAAAA", GrpcWeb::Text, "base64 that is cut"),
            (b"AA=", GrpcWeb::Text, "base64 that is cut"),
            (b"=AAA", GrpcWeb::Text, "invalid base64"),
        ] {
            assert_eq!(
                parted(body, form),
                Err(Invalid::Broken(problem)),
                "{body:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn nothing_panics_and_no_message_is_lost(bytes in prop::collection::vec(any::<u8>(), 0..60), messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..4)) {
            let _read = parted(&bytes, GrpcWeb::Binary);
            let _read = parted(&bytes, GrpcWeb::Text);
            let framed = super::super::framed(&messages);
            let mut whole = framed.clone();
            whole.extend_from_slice(b"\x80\0\0\0\x0dgrpc-status:7");
            let expected = Ok((framed, Some(vec!["grpc-status=7".to_owned()])));
            prop_assert_eq!(parted(&whole, GrpcWeb::Binary), expected.clone());
            let cut = whole.len() / 2;
            let text = format!("{}{}", BASE64.encode(&whole[..cut]), BASE64.encode(&whole[cut..]));
            prop_assert_eq!(parted(text.as_bytes(), GrpcWeb::Text), expected);
        }
    }
}
