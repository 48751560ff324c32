//! Undoes escapes before a text is searched for names and secrets.

use std::borrow::Cow;

/// Undoes `%XX` and `+`; bytes that are not UTF-8 become U+FFFD.
pub(super) fn percent_decoded(text: &str) -> String {
    if !text.contains(['%', '+']) {
        return text.to_owned();
    }
    let spaced = text.replace('+', " ");
    let bytes = Cow::from(percent_encoding::percent_decode_str(&spaced));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A name without the escapes of string literals.
pub(super) fn without_escapes(plain: &str) -> String {
    let mut out = String::with_capacity(plain.len());
    let mut rest = plain;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let digits = match after.chars().next() {
            Some('u') => 4,
            Some('x') => 2,
            Some('U') => 8,
            _ => 0,
        };
        let code = after
            .get(1..=digits)
            .and_then(|hex| u32::from_str_radix(hex, 16).ok())
            .and_then(char::from_u32);
        rest = match code {
            Some(character) if digits > 0 => {
                out.push(character);
                after.get(digits + 1..).unwrap_or_default()
            }
            _ => after,
        };
    }
    out.push_str(rest);
    out
}
