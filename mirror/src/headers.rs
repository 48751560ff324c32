//! Headers of forwarded messages: what a proxy must remove, and what each HTTP version needs.
//!
//! Removed in both directions: the hop-by-hop headers and every header that a `Connection` line names. `Expect` is
//! removed from requests, and sent again if the legacy can answer it (see `proxy::legacy`; over HTTP/2, where it is
//! rare, the client waits for its own time-out). `Alt-Svc` is removed from answers, because clients would bypass the
//! mirror. [`crate::forwarding`] adds headers.
//!
//! Names are sent in lower case, headers of one name in their order. Other differences that have no meaning in HTTP are
//! not preserved.

mod media;

use http::header::{
    ALT_SVC, CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::uri::{Authority, Scheme, Uri};
use http::{Method, StatusCode};
use parity_schemas::exchange::SHADOW_HEADER;
use smallvec::SmallVec;

pub(crate) use self::media::{
    is_grpc, is_grpc_type, is_grpc_web, is_grpc_web_text, is_stream, may_be_messages,
};
use crate::framing;

/// Marks shadow requests, so that a service can skip side effects.
pub(crate) const SHADOW: HeaderName = HeaderName::from_static(SHADOW_HEADER);
/// The value of `Expect` with which a client waits for `100 Continue`.
pub(crate) const CONTINUE: HeaderValue = HeaderValue::from_static("100-continue");
pub(crate) const CHUNKED: HeaderValue = HeaderValue::from_static("chunked");
/// How many mirrors in a row a shadow may pass. Real chains are short; a longer one is a loop.
const MAX_SHADOW_DEPTH: u32 = 4;
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// Fields that belong to one connection (RFC 9110 §7.6.1 and what Caddy, Go and Envoy add to it).
static HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    KEEP_ALIVE,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    PROXY_CONNECTION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Whether no service gets a field of this name as a client sent it: it is of one connection, or is made anew for each. `TE` is sent
/// on in part.
pub(crate) fn is_made_anew(name: &str) -> bool {
    let mut anew = HOP_BY_HOP.iter().filter(|known| **known != TE);
    anew.any(|known| name.eq_ignore_ascii_case(known.as_str()))
        || [EXPECT, CONTENT_LENGTH]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known.as_str()))
}

/// Removes hop-by-hop headers.
pub fn strip_hop_by_hop(headers: &mut HeaderMap) {
    // One pass over the names is cheaper than eight look-ups, and mostly finds one or none.
    let ending: SmallVec<[HeaderName; 4]> = headers
        .keys()
        .filter(|name| HOP_BY_HOP.contains(name))
        .cloned()
        .collect();
    if ending.contains(&TRANSFER_ENCODING) {
        // RFC 9112 §6.3: `Transfer-Encoding` took precedence, and a different `Content-Length` would truncate the body.
        headers.remove(CONTENT_LENGTH);
    }
    if ending.contains(&CONNECTION) {
        let nominated: SmallVec<[HeaderName; 4]> = connection_tokens(headers)
            // Most lines name only this one, which is removed in any case.
            .filter(|token| !token.eq_ignore_ascii_case(KEEP_ALIVE.as_str()))
            .filter_map(|token| HeaderName::from_bytes(token.as_bytes()).ok())
            // A client must not remove headers for framing or routing: Apache and others had vulnerabilities through
            // this.
            .filter(|name| *name != HOST && *name != CONTENT_LENGTH)
            .collect();
        for name in nominated {
            headers.remove(name);
        }
    }
    for name in ending {
        headers.remove(name);
    }
}

/// Removes hop-by-hop headers from an answer, and headers that an answer with this status must not have.
pub(crate) fn strip_answer(status: StatusCode, headers: &mut HeaderMap) {
    strip_hop_by_hop(headers);
    headers.remove(ALT_SVC);
    if status == StatusCode::NO_CONTENT || status.is_informational() {
        // RFC 9110 §8.6; HTTP/2 clients treat such an answer as malformed.
        headers.remove(CONTENT_LENGTH);
    } else {
        framing::merge_lengths(headers);
    }
}

/// Removes hop-by-hop headers from trailers, and headers that are not allowed there (RFC 9110 §6.5.1).
pub(crate) fn strip_trailers(trailers: &mut HeaderMap) {
    strip_hop_by_hop(trailers);
    trailers.remove(CONTENT_LENGTH);
}

/// The HTTP version of a connection to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Http1,
    Http2,
}

/// The client's headers for any service, without hop-by-hop headers; `host` is used if an HTTP/1.0 client sent no
/// `Host`.
pub(crate) fn for_upstream(received: &HeaderMap, uri: &Uri, host: &HeaderValue) -> HeaderMap {
    let mut headers = received.clone();
    let trailers = wants_trailers(received);
    strip_hop_by_hop(&mut headers);
    framing::merge_lengths(&mut headers);
    headers.remove(EXPECT);
    if trailers {
        // RFC 9110 §10.1.4: TE is hop-by-hop, so it is sent again for the next hop.
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    if let Some(authority) = uri.authority() {
        // RFC 9112 §3.2.2: the target's authority takes precedence. The caller has checked that `Host` agrees with it.
        if let Ok(value) = HeaderValue::from_str(authority.as_str()) {
            headers.insert(HOST, value);
        }
    } else if !headers.contains_key(HOST) {
        headers.insert(HOST, host.clone());
    }
    headers
}

/// Adapts a request to an HTTP version: `Host` in HTTP/1 is the authority of the target in HTTP/2.
pub(crate) fn fit(wire: Wire, uri: Uri, headers: &mut HeaderMap, scheme: &Scheme) -> Uri {
    match wire {
        Wire::Http1 => {
            if headers.contains_key(TE) {
                // `Connection` must name `TE`, so that the next hop does not pass it on.
                headers.insert(CONNECTION, HeaderValue::from_static("te"));
            }
            join_cookies(headers);
            uri
        }
        Wire::Http2 => {
            let authority = headers
                .remove(HOST)
                .and_then(|host| Authority::try_from(host.as_bytes()).ok());
            let mut parts = uri.clone().into_parts();
            parts.scheme = Some(scheme.clone());
            parts.authority = authority;
            Uri::from_parts(parts).unwrap_or(uri)
        }
    }
}

/// RFC 9113 §8.2.3: HTTP/2 may split cookies over several lines, HTTP/1.1 must not.
fn join_cookies(headers: &mut HeaderMap) {
    let mut lines = headers.get_all(COOKIE).iter();
    let (Some(first), Some(second)) = (lines.next(), lines.next()) else {
        return;
    };
    let mut joined = first.as_bytes().to_vec();
    for line in std::iter::once(second).chain(lines) {
        joined.extend_from_slice(b"; ");
        joined.extend_from_slice(line.as_bytes());
    }
    if let Ok(value) = HeaderValue::from_maybe_shared(bytes::Bytes::from(joined)) {
        headers.insert(COOKIE, value);
    }
}

/// Whether the client waits for `100 Continue`. As in hyper, the last of several `Expect` headers counts.
pub(crate) fn expects_continue(headers: &HeaderMap) -> bool {
    let expected = headers.get_all(EXPECT).iter().next_back();
    expected.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(CONTINUE.as_bytes()))
}

/// Marks a request as a shadow, with the number of mirrors that it has passed.
pub(crate) fn mark_shadow(headers: &mut HeaderMap) {
    let depth = shadow_depth(headers).saturating_add(1);
    headers.insert(SHADOW, HeaderValue::from(depth));
}

/// How many mirrors a request has passed as a shadow. A mark that is not a number counts as one.
pub(crate) fn shadow_depth(headers: &HeaderMap) -> u32 {
    let mark = headers.get(SHADOW).and_then(|mark| mark.to_str().ok());
    mark.map_or(0, |mark| mark.trim().parse().unwrap_or(1))
}

/// Whether a method has no effect by its definition (RFC 9110 §9.2.1). TRACE is not among them: it is no read.
pub(crate) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Fields by which frameworks let a client say another method than that of its request.
const OTHER_METHOD: [&str; 3] = [
    "x-http-method-override",
    "x-http-method",
    "x-method-override",
];

/// Whether a field says another method. Interfaces of the kind of CGI make no difference between `-` and `_`.
fn says_other_method(name: &str) -> bool {
    let is = |known: &str| {
        let both = known.bytes().zip(name.bytes());
        known.len() == name.len()
            && both
                .into_iter()
                .all(|(known, byte)| known == byte || (known == b'-' && byte == b'_'))
    };
    name.starts_with('x') && OTHER_METHOD.into_iter().any(is)
}

/// Whether a request with these fields asks for another method that may have an effect.
pub(crate) fn says_unsafe_method<'a>(
    mut fields: impl Iterator<Item = (&'a HeaderName, &'a [u8])>,
) -> bool {
    let is_safe = |value: &[u8]| {
        let value = value.trim_ascii();
        let safe = [&b""[..], b"GET", b"HEAD", b"OPTIONS"];
        safe.iter().any(|safe| value.eq_ignore_ascii_case(safe))
    };
    fields.any(|(name, value)| says_other_method(name.as_str()) && !is_safe(value))
}

/// Names and values of a head's fields.
pub(crate) fn fields(headers: &HeaderMap) -> impl Iterator<Item = (&HeaderName, &[u8])> {
    let fields = headers.iter();
    fields.map(|(name, value)| (name, value.as_bytes()))
}

/// Whether a request has been shadowed so often that it must be in a loop.
pub(crate) fn is_shadowed_out(headers: &HeaderMap) -> bool {
    shadow_depth(headers) >= MAX_SHADOW_DEPTH
}

/// Whether the client asks for a protocol upgrade. `h2c` is ignored, as RFC 9110 §7.8 allows: requests in an HTTP/2
/// tunnel would bypass every check.
pub(crate) fn wants_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(UPGRADE)
        && connection_tokens(headers).any(|token| token.eq_ignore_ascii_case("upgrade"))
        && !headers
            .get_all(UPGRADE)
            .iter()
            .any(|value| tokens(value).any(|token| token.eq_ignore_ascii_case("h2c")))
}

fn wants_trailers(headers: &HeaderMap) -> bool {
    headers.contains_key(TE)
        && headers
            .get_all(TE)
            .iter()
            .any(|value| tokens(value).any(|token| token.eq_ignore_ascii_case("trailers")))
}

fn connection_tokens(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(CONNECTION).iter().flat_map(tokens)
}

fn tokens(value: &HeaderValue) -> impl Iterator<Item = &str> {
    value
        .to_str()
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests;
