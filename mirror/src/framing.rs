//! Checks the headers that say where a body ends: `Transfer-Encoding` and `Content-Length`.
//!
//! The HTTP library decides where a body ends. It does not check these headers on a message without a body, so they are
//! checked here: the next hop could reject contradicting values.

use http::StatusCode;
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};
use parity_schemas::framing::{agreed_length, has_unknown_coding};

/// Whether a body uses a transfer coding other than `chunked`. Only `chunked` is decoded here, and the header is
/// removed at this hop; so the service would get encoded bytes without knowing it.
///
/// `chunked` named twice, in one line or in two, is refused too: implementations disagree about what it means.
pub(crate) fn has_other_coding(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else {
        return false;
    };
    codings.next().is_some()
        || !coding
            .as_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(b"chunked")
}

/// Whether an answer cannot be passed on: its body has a transfer coding that the client would not learn of, or its
/// length is invalid. A 101 has neither body nor length.
pub(crate) fn is_unusable(status: StatusCode, headers: &HeaderMap) -> bool {
    if headers.contains_key(TRANSFER_ENCODING) {
        // RFC 9112 §6.3: with it, `Content-Length` is ignored.
        return has_unknown_coding(lines(headers, &TRANSFER_ENCODING));
    }
    status != StatusCode::SWITCHING_PROTOCOLS
        && headers.contains_key(CONTENT_LENGTH)
        && length(headers).is_none()
}

/// Merges repeated equal `Content-Length` values into one (RFC 9110 §8.6): not every receiver accepts two.
pub(crate) fn merge_lengths(headers: &mut HeaderMap) {
    let mut lines = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = lines.next() else {
        return;
    };
    if lines.next().is_none() && !first.as_bytes().contains(&b',') {
        return;
    }
    if let Some(length) = length(headers) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
}

/// The values of all lines of a header.
fn lines<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    headers.get_all(name).iter().map(HeaderValue::as_bytes)
}

/// The length, if all lines and list elements agree.
fn length(headers: &HeaderMap) -> Option<u64> {
    agreed_length(lines(headers, &CONTENT_LENGTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(lengths: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for length in lengths {
            headers.append(CONTENT_LENGTH, HeaderValue::from_static(length));
        }
        headers
    }

    #[test]
    fn equal_lengths_become_one_and_others_are_none() {
        for (lengths, expected) in [
            (&["3"][..], Some("3")),
            (&["003"], Some("003")),
            (&["3", "3"], Some("3")),
            (&["3", "03 , 3"], Some("3")),
            (&["3", "4"], None),
            (&["3,"], None),
            (&[""], None),
            (&["+3"], None),
            (&["-3"], None),
            (&["3", "x"], None),
            (&["18446744073709551616"], None),
        ] {
            let mut headers = said(lengths);
            let unusable = is_unusable(StatusCode::OK, &headers);
            assert_eq!(unusable, expected.is_none(), "{lengths:?}");
            merge_lengths(&mut headers);
            if let Some(expected) = expected {
                assert_eq!(headers, said(&[expected]), "{lengths:?}");
            }
        }
        assert!(!is_unusable(StatusCode::OK, &HeaderMap::new()));
        assert!(!is_unusable(StatusCode::SWITCHING_PROTOCOLS, &said(&["x"])));
    }
}
