//! What a message says of where its body ends: transfer codings and lengths.
//!
//! The library that speaks HTTP decides where a body ends. Of a message that has none it does not look at what is said,
//! so that must be looked at here: the next reader would not take what contradicts itself.

use http::StatusCode;
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};

/// Whether a body comes in another transfer coding than chunks. It is decoded here as far as chunks go, and the field
/// ends here, so that any other coding would be lost and the service would get coded bytes for plain ones.
///
/// Chunks that are named twice, in a list with nothing else in it, or in two fields, are not taken either: readers
/// disagree about what that is.
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

/// Whether an answer cannot be passed on: its body comes in a coding that the client would not be told of, or its length
/// is none. A 101 has neither body nor length.
pub(crate) fn is_unusable(status: StatusCode, headers: &HeaderMap) -> bool {
    if headers.contains_key(TRANSFER_ENCODING) {
        // RFC 9112 §6.3: a length beside it does not count.
        return loses_coding(headers);
    }
    status != StatusCode::SWITCHING_PROTOCOLS
        && headers.contains_key(CONTENT_LENGTH)
        && length(headers).is_none()
}

/// Makes one line of a length that is said more than once (RFC 9110 §8.6): not every reader takes two.
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

/// Whether a coding would be lost with its field. Services that name chunks twice are common enough, and their clients
/// take it.
fn loses_coding(headers: &HeaderMap) -> bool {
    elements(headers, &TRANSFER_ENCODING).any(|coding| {
        let kept: [&[u8]; 3] = [b"", b"chunked", b"identity"];
        !kept.iter().any(|kept| coding.eq_ignore_ascii_case(kept))
    })
}

/// The length that all lines and all elements of lists agree about.
fn length(headers: &HeaderMap) -> Option<u64> {
    let mut lengths = elements(headers, &CONTENT_LENGTH).map(number);
    let first = lengths.next()??;
    lengths.all(|other| other == Some(first)).then_some(first)
}

/// What all lines of a field list, also where that is nothing.
fn elements<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    let lines = headers.get_all(name).iter();
    lines.flat_map(|line| {
        let elements = line.as_bytes().split(|byte| *byte == b',');
        elements.map(<[u8]>::trim_ascii)
    })
}

fn number(digits: &[u8]) -> Option<u64> {
    // `parse` would take a sign.
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
