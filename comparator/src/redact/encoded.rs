//! Finds secrets in encoded text: percent encoding, base64, hexadecimal digits, entities, and compressed data.
//!
//! An encoded piece of a text is decoded and redacted like any other text. If a secret was in it, the whole piece is
//! hidden.

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine;
use base64::engine::GeneralPurposeConfig;
use base64::engine::general_purpose::GeneralPurpose;

use super::Redactor;
use super::escapes::{percent_decoded, without_escapes};

/// Layers of percent encoding that are undone.
const MAX_ENCODINGS: usize = 3;
/// Shortest base64 that is decoded: `{"pin":"1"}` takes sixteen characters.
pub(super) const MIN_BASE64_BYTES: usize = 16;
/// Either alphabet, with or without padding.
const BASE64: [GeneralPurpose; 2] = [
    GeneralPurpose::new(&base64::alphabet::STANDARD, LENIENT),
    GeneralPurpose::new(&base64::alphabet::URL_SAFE, LENIENT),
];
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent);
/// The first bytes of gzip, zlib, zstd, bzip2, xz and zip.
const COMPRESSED_PREFIXES: [&[u8]; 8] = [
    b"\x1f\x8b",
    b"\x78\x01",
    b"\x78\x9c",
    b"\x78\xda",
    b"\x28\xb5\x2f\xfd",
    b"BZh",
    b"\xfd7zXZ",
    b"PK\x03\x04",
];

impl Redactor {
    /// Adds the spans of encoded pieces that hold a secret, such as a return URL in the query of another URL.
    pub(super) fn encoded(&self, text: &str, depth: usize, spans: &mut Vec<Range<usize>>) {
        if text.contains('%') {
            let ends =
                |character: char| character.is_whitespace() || "\"'<>&;,()".contains(character);
            pieces(text, ends, spans, |piece| {
                let plain = fully_percent_decoded(piece);
                plain != piece && matches!(self.string_at(&plain, depth + 1), Cow::Owned(_))
            });
        }
        if text.len() >= MIN_BASE64_BYTES {
            pieces(
                text,
                |character| !is_base64(character),
                spans,
                |piece| self.holds_encoded(piece, depth),
            );
        }
    }

    /// Whether a piece is base64 or hexadecimal for compressed data or for a text that holds a secret.
    pub(super) fn holds_encoded(&self, piece: &str, depth: usize) -> bool {
        if piece.len() < MIN_BASE64_BYTES {
            return false;
        }
        let piece = piece.trim();
        [from_hexadecimal(piece), from_base64(piece)]
            .into_iter()
            .flatten()
            .any(|bytes| {
                COMPRESSED_PREFIXES
                    .iter()
                    .any(|begin| bytes.starts_with(begin))
                    || text_prefix(&bytes).is_some_and(|plain| {
                        matches!(self.string_at(plain, depth + 1), Cow::Owned(_))
                    })
            })
    }
}

/// Adds the spans of the pieces that must be hidden.
fn pieces(
    text: &str,
    ends: impl Fn(char) -> bool + Copy,
    spans: &mut Vec<Range<usize>>,
    hidden: impl Fn(&str) -> bool,
) {
    let mut start = 0;
    for piece in text.split_inclusive(ends) {
        let from = start;
        start += piece.len();
        let piece = piece.trim_end_matches(ends);
        if !piece.is_empty() && hidden(piece) {
            spans.push(from..from + piece.len());
        }
    }
}

/// A text with all layers of percent encoding undone.
pub(super) fn fully_percent_decoded(text: &str) -> Cow<'_, str> {
    let mut plain = Cow::Borrowed(text);
    for _ in 0..MAX_ENCODINGS {
        let decoded = percent_decoded(&plain);
        if decoded == plain {
            break;
        }
        plain = Cow::Owned(decoded);
    }
    plain
}

/// Returned for a name that cannot be decoded: its reader may see a secret one.
const UNKNOWN: &str = "secret";

/// A name with percent encoding, escapes, and the encoding of header fields (RFC 2047, `=?UTF-8?B?…?=`) undone.
pub(super) fn name(text: &str) -> Cow<'_, str> {
    let plain = if text.contains('%') {
        fully_percent_decoded(text)
    } else {
        Cow::Borrowed(text)
    };
    let escaped = ["\\u", "\\U", "\\x"]
        .iter()
        .any(|begin| plain.contains(begin));
    let plain = if escaped {
        Cow::Owned(without_escapes(&plain))
    } else {
        plain
    };
    if !(plain.starts_with("=?") || plain.ends_with("?=")) {
        return plain;
    }
    let word = plain
        .strip_prefix("=?")
        .and_then(|rest| rest.strip_suffix("?="));
    let Some((kind, coded)) = word.and_then(|word| word.split_once('?')?.1.split_once('?')) else {
        return Cow::Borrowed(UNKNOWN);
    };
    let bytes = if kind.eq_ignore_ascii_case("b") {
        from_base64(coded)
    } else {
        let percent = coded
            .replace('%', "%25")
            .replace('=', "%")
            .replace('_', " ");
        Some(percent_encoding::percent_decode_str(&percent).collect())
    };
    match bytes.map(String::from_utf8) {
        Some(Ok(name)) => Cow::Owned(name),
        _ => Cow::Borrowed(UNKNOWN),
    }
}

fn is_base64(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '+' | '/' | '-' | '_' | '=')
}

/// The decoded bytes of a base64 text.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    if !text.chars().all(is_base64) {
        return None;
    }
    BASE64
        .iter()
        .find_map(|engine| engine.decode(text.as_bytes()).ok())
}

fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let pairs = text.as_bytes().chunks_exact(2);
    pairs
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
        .collect()
}

/// The start of the bytes that is text. Other bytes after it may be damage.
fn text_prefix(bytes: &[u8]) -> Option<&str> {
    /// Fewer bytes may be text by chance.
    const MIN_BYTES: usize = 10;
    let plain = bytes.utf8_chunks().next()?.valid();
    let bad = plain.find(|character: char| character.is_control() && !character.is_whitespace());
    let plain = plain.get(..bad.unwrap_or(plain.len()))?;
    (plain.len() == bytes.len() || plain.len() >= MIN_BYTES).then_some(plain)
}
