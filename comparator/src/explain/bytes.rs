//! Recognizes bytes as serializers write them: base64 in either alphabet, padded or not, in lines or not; hexadecimal;
//! an array of numbers, signed or not; and Node's `{"type":"Buffer","data":[…]}` and `{"0":104,"1":105}`.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::Value;
use crate::notation::index::{NodeKind, Tree};

/// Longest text that is decoded; more would cost more than it tells.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Shortest text that may be an encoding of another one; shorter words decode by chance.
const MIN_TEXT_BYTES: usize = 8;

/// Whether two values of different types are the same bytes.
pub(super) fn same(one: &Value<'_>, two: &Value<'_>) -> bool {
    let text = |value: &Value<'_>| value.kind() == NodeKind::String;
    match (text(one), text(two)) {
        // An empty text and an empty list are two empty values, not bytes.
        (true, false) => decoded(&one.text)
            .iter()
            .any(|bytes| !bytes.is_empty() && listed(two.tree, two.at, bytes)),
        (false, false) => {
            let mut bytes = Vec::new();
            each(one.tree, one.at, |byte| {
                bytes.push(byte);
                bytes.len() <= MAX_TEXT_BYTES
            }) && listed(two.tree, two.at, &bytes)
        }
        _ => false,
    }
}

/// Whether two different texts are the same bytes: in two encodings, or encoded and plain.
pub(super) fn same_texts(one: &[u8], two: &[u8]) -> bool {
    let (first, second) = (decoded(one), decoded(two));
    // Digits alone are numbers, not bytes in hexadecimal.
    let may_be_encoded =
        |text: &[u8]| text.len() >= MIN_TEXT_BYTES && !text.iter().all(u8::is_ascii_digit);
    let plain = |source: &[u8], encoded: &[Vec<u8>], text: &[u8]| {
        may_be_encoded(source) && encoded.iter().any(|bytes| bytes == text)
    };
    plain(one, &first, two)
        || plain(two, &second, one)
        || one.len().min(two.len()) >= MIN_TEXT_BYTES
            && first.iter().any(|bytes| second.contains(bytes))
}

/// Whether an array or an object lists exactly these bytes.
fn listed(tree: Tree<'_>, at: u32, bytes: &[u8]) -> bool {
    let mut expected = bytes.iter();
    each(tree, at, |byte| expected.next() == Some(&byte)) && expected.next().is_none()
}

/// Calls `take` for every byte that a value lists, until it returns false. Returns false as well if the value lists no
/// bytes.
fn each(tree: Tree<'_>, at: u32, mut take: impl FnMut(u8) -> bool) -> bool {
    let mut number = |at: u32| byte(tree, at).is_some_and(&mut take);
    match tree.kind(at) {
        NodeKind::Array => tree.elements(at).all(number),
        NodeKind::Object => {
            if let Some(data) = buffer(tree, at) {
                return tree.elements(data).all(number);
            }
            let mut any = false;
            tree.keys(at).enumerate().all(|(index, key)| {
                any = true;
                tree.content(key) == index.to_string().as_bytes() && number(key + 1)
            }) && any
        }
        _ => false,
    }
}

/// The array of a `Buffer` as JSON.
fn buffer(tree: Tree<'_>, object: u32) -> Option<u32> {
    let (mut named, mut data) = (false, None);
    for key in tree.keys(object).take(3) {
        match tree.content(key) {
            b"type" => named = tree.content(key + 1) == b"Buffer",
            b"data" if tree.kind(key + 1) == NodeKind::Array => data = Some(key + 1),
            _ => return None,
        }
    }
    data.filter(|_| named)
}

/// A number from -128 to 255: Java's bytes have signs.
fn byte(tree: Tree<'_>, at: u32) -> Option<u8> {
    let number: i16 = match tree.kind(at) {
        NodeKind::Number => std::str::from_utf8(tree.content(at)).ok()?.parse().ok()?,
        _ => return None,
    };
    (-128..=255).contains(&number).then_some(number as u8)
}

/// The bytes that a text may encode: as base64 and as hexadecimal.
fn decoded(text: &[u8]) -> Vec<Vec<u8>> {
    if text.len() > MAX_TEXT_BYTES {
        return Vec::new();
    }
    let mut found = Vec::new();
    found.extend(base64(text));
    found.extend(hex(text));
    found
}

fn base64(text: &[u8]) -> Option<Vec<u8>> {
    // No encoder leaves bits behind the last byte. With them, two ids that differ in their last sign would be one.
    let lenient =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    // MIME puts 76 characters on a line.
    let text: Cow<'_, [u8]> = if text.contains(&b'\n') {
        let is_break = |byte: &u8| matches!(byte, b'\r' | b'\n');
        text.iter()
            .copied()
            .filter(|byte| !is_break(byte))
            .collect()
    } else {
        Cow::Borrowed(text)
    };
    let alphabet = if text.iter().any(|byte| matches!(byte, b'-' | b'_')) {
        &alphabet::URL_SAFE
    } else {
        &alphabet::STANDARD
    };
    GeneralPurpose::new(alphabet, lenient).decode(&*text).ok()
}

/// Decodes pairs of digits, also after `0x` or SQL's `\x`.
fn hex(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text
        .strip_prefix(b"0x")
        .or_else(|| text.strip_prefix(b"\\x"))
        .unwrap_or(text);
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    pairs
        .iter()
        .map(|pair| {
            let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
            Some((high? * 16 + low?) as u8)
        })
        .collect()
}
