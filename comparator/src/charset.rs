//! Decodes text in a charset other than UTF-8.
//!
//! The charset that the media type names is trusted and decoded by the WHATWG Encoding Standard, so that a legacy in
//! Latin-1 and a candidate in UTF-8 differ in their `Content-Type` only, and not again in every accented letter. If the
//! charset is unknown, or the bytes are not valid in it, the body stays as it is: nothing is replaced. An XML document for
//! which the media type names none names it itself ([`of_xml`]).

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

/// Whether a label means UTF-8, or ASCII, which is part of it.
pub(crate) fn is_utf8(label: &str) -> bool {
    ["utf-8", "utf8", "us-ascii"]
        .iter()
        .any(|utf8| label.eq_ignore_ascii_case(utf8))
}

/// The charset other than UTF-8 that an XML document is in by its first bytes or its declaration (XML 1.0 appendix F).
pub(crate) fn of_xml(body: &[u8]) -> Option<String> {
    /// Longer than any declaration that people write.
    const MAX_DECLARATION: usize = 256;
    let wide = match body {
        [0xff, 0xfe, ..] | [b'<', 0, ..] => Some("utf-16le"),
        [0xfe, 0xff, ..] | [0, b'<', ..] => Some("utf-16be"),
        _ => None,
    };
    if let Some(wide) = wide {
        return Some(wide.to_owned());
    }
    let start = body.get(..MAX_DECLARATION).unwrap_or(body);
    let declaration = start.strip_prefix(b"<?xml")?;
    let end = memchr::memmem::find(declaration, b"?>")?;
    let declaration = std::str::from_utf8(declaration.get(..end)?).ok()?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value
        .chars()
        .next()
        .filter(|sign| matches!(sign, '"' | '\''))?;
    let (label, _) = value.strip_prefix(quote)?.split_once(quote)?;
    // A declaration that can be read byte by byte is not in UTF-16, whatever it says.
    let wide =
        Encoding::for_label(label.as_bytes()).is_some_and(|known| !known.is_ascii_compatible());
    (!is_utf8(label) && !wide).then(|| label.to_owned())
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

    #[test]
    fn xml_says_its_charset() {
        for (body, charset) in [
            (
                &b"<?xml version='1.0' encoding='ISO-8859-1'?><a/>"[..],
                Some("ISO-8859-1"),
            ),
            (
                b"<?xml version=\"1.0\" encoding = \"windows-1252\" ?><a/>",
                Some("windows-1252"),
            ),
            (b"<?xml version='1.0' encoding='UTF-8'?><a/>", None),
            (b"<?xml version='1.0' encoding='utf-16'?><a/>", None),
            (b"<?xml version='1.0'?><a encoding='latin1'/>", None),
            (b"<a/>", None),
            (b"<\0a\0", Some("utf-16le")),
            (b"\xfe\xff\0<", Some("utf-16be")),
            (b"", None),
        ] {
            assert_eq!(of_xml(body).as_deref(), charset, "{body:?}");
        }
    }
}
