//! Decodes text in a charset other than UTF-8.
//!
//! The charset that the media type names is trusted and decoded by the WHATWG Encoding Standard, so that a legacy in
//! Latin-1 and a candidate in UTF-8 differ in their `Content-Type` only, and not again in every accented letter. If the
//! charset is unknown, or the bytes are not valid in it, the body stays as it is: nothing is replaced.

use std::borrow::Cow;

use encoding_rs::Encoding;

/// The body in UTF-8 if `charset` can be decoded; borrowed if nothing changes.
pub(crate) fn to_utf8<'a>(body: Cow<'a, [u8]>, charset: Option<&str>) -> Cow<'a, [u8]> {
    let Some(encoding) = charset.and_then(|label| Encoding::for_label(label.as_bytes())) else {
        return body;
    };
    let decoded = match encoding.decode(&body) {
        (Cow::Owned(text), _, false) => Some(text.into_bytes()),
        _ => None,
    };
    decoded.map_or(body, Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_decoded_and_nothing_is_lost() {
        for (body, charset, text) in [
            (&b"caf\xe9"[..], Some("ISO-8859-1"), "café".as_bytes()),
            (b"\x93x\x94", Some("windows-1252"), "“x”".as_bytes()),
            (b"c\0a\0", Some("utf-16le"), b"ca"),
            (b"\xff\xfec\0a\0", Some("utf-16"), b"ca"),
            (b"\x83e", Some("shift_jis"), "テ".as_bytes()),
            (b"caf\xe9", Some("nonsense"), b"caf\xe9"),
            (b"caf\xe9", None, b"caf\xe9"),
            // No such character, so it stays as it is.
            (b"\x81", Some("shift_jis"), b"\x81"),
        ] {
            assert_eq!(&*to_utf8(Cow::Borrowed(body), charset), text, "{charset:?}");
        }
    }
}
