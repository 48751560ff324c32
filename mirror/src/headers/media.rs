//! What a message is by its `Content-Type`. Only what decides how it is forwarded or captured; what is compared in which way is the
//! comparator's.

use http::header::{CONTENT_TYPE, HeaderMap};
use http_body::SizeHint;

/// Whether an answer is a stream that has no end by design. One that announces its length has an end, and is a body like others.
pub(crate) fn is_stream(headers: &HeaderMap, size: &SizeHint) -> bool {
    is_media(headers, b"text/event-stream") && size.exact().is_none()
}

/// Whether a message is gRPC over HTTP/2: `application/grpc`, with or without `+proto` and the like.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    is_media(headers, b"application/grpc")
}

/// Whether a message is gRPC-Web, which any version of HTTP carries.
pub(crate) fn is_grpc_web(headers: &HeaderMap) -> bool {
    is_media(headers, b"application/grpc-web")
}

/// Whether a message is gRPC-Web in base64.
pub(crate) fn is_grpc_web_text(headers: &HeaderMap) -> bool {
    is_media(headers, b"application/grpc-web-text")
}

/// Whether an answer may be one message or a stream of them, by its type: gRPC or gRPC-Web.
pub(crate) fn may_be_messages(headers: &HeaderMap) -> bool {
    is_grpc(headers) || is_grpc_web(headers) || is_grpc_web_text(headers)
}

/// Whether a `Content-Type` is that of gRPC over HTTP/2.
pub(crate) fn is_grpc_type(value: &[u8]) -> bool {
    is_type(value, b"application/grpc")
}

fn is_media(headers: &HeaderMap, wanted: &[u8]) -> bool {
    let value = headers.get(CONTENT_TYPE);
    value.is_some_and(|value| is_type(value.as_bytes(), wanted))
}

fn is_type(value: &[u8], wanted: &[u8]) -> bool {
    value
        .get(..wanted.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(wanted))
        && matches!(
            value.get(wanted.len()),
            None | Some(b';' | b' ' | b'\t' | b'+')
        )
}
