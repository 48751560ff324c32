//! Checks the headers that say where a body ends: `Transfer-Encoding` and `Content-Length`.
//!
//! The HTTP library decides where a body ends. It does not check these headers on a message without a body, so they are
//! checked here: the next hop could reject contradicting values.

use http::StatusCode;
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};

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
        return loses_coding(headers);
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

/// Whether removing the header would lose a transfer coding. A repeated `chunked` is accepted here: some services send
/// it, and clients accept it.
fn loses_coding(headers: &HeaderMap) -> bool {
    elements(headers, &TRANSFER_ENCODING).any(|coding| {
        let kept: [&[u8]; 3] = [b"", b"chunked", b"identity"];
        !kept.iter().any(|kept| coding.eq_ignore_ascii_case(kept))
    })
}

/// The length, if all lines and list elements agree.
fn length(headers: &HeaderMap) -> Option<u64> {
    let mut lengths = elements(headers, &CONTENT_LENGTH).map(number);
    let first = lengths.next()??;
    lengths.all(|other| other == Some(first)).then_some(first)
}

/// All list elements of all lines of a header, empty ones included.
fn elements<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    let lines = headers.get_all(name).iter();
    lines.flat_map(|line| {
        let elements = line.as_bytes().split(|byte| *byte == b',');
        elements.map(<[u8]>::trim_ascii)
    })
}

fn number(digits: &[u8]) -> Option<u64> {
    // `parse` would accept a sign.
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lengths: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for length in lengths {
            headers.append(CONTENT_LENGTH, HeaderValue::from_static(length));
        }
        headers
    }

    #[test]
    fn equal_lengths_become_one_and_others_are_none() {
        for (said, expected) in [
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
            let mut headers = lines(said);
            let unusable = is_unusable(StatusCode::OK, &headers);
            assert_eq!(unusable, expected.is_none(), "{said:?}");
            merge_lengths(&mut headers);
            if let Some(expected) = expected {
                assert_eq!(headers, lines(&[expected]), "{said:?}");
            }
        }
        assert!(!is_unusable(StatusCode::OK, &HeaderMap::new()));
        assert!(!is_unusable(
            StatusCode::SWITCHING_PROTOCOLS,
            &lines(&["x"])
        ));
    }
}
