//! How two different values are near each other.
//!
//! An explanation never changes a verdict; it groups findings with one cause and tells the reader where to look.
//! The first that holds is given, in the order of the vocabulary. All are symmetric in the two sides.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use parity_schemas::verdict::Explanation;
use unicode_normalization::UnicodeNormalization;

use crate::instant::Instant;
use crate::json::index::{NodeKind, Tree};
use crate::json::number::{self, Decimal};

/// Texts longer than this are not searched for a likeness beyond being cut: it would cost more than it tells.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// A shorter beginning is shared by chance too often.
const MIN_SHARED_BYTES: usize = 4;
/// Bytes as base64 are recognized from this length on; shorter words decode by chance.
const MIN_BASE64_BYTES: usize = 8;

/// How two values of one document each are near, when they are.
pub(crate) fn values(
    legacy: Tree<'_>,
    at: u32,
    candidate: Tree<'_>,
    other: u32,
) -> Option<Explanation> {
    use NodeKind::{Array, False, Null, Number, String, True};
    let (one, two) = (Value::new(legacy, at), Value::new(candidate, other));
    match (one.kind(), two.kind()) {
        (Number, Number) => numbers(legacy.content(at), candidate.content(other)),
        (String, String) => texts(&one.text, &two.text),
        (String, Number) => text_and_number(&one.text, candidate.content(other)),
        (Number, String) => text_and_number(&two.text, legacy.content(at)),
        (String, True | False) => {
            (*one.text == *candidate.content(other)).then_some(Explanation::TypeOnly)
        }
        (True | False, String) => {
            (*two.text == *legacy.content(at)).then_some(Explanation::TypeOnly)
        }
        (Null, _) if two.is_empty() => Some(Explanation::NullVsEmpty),
        (_, Null) if one.is_empty() => Some(Explanation::NullVsEmpty),
        (String, Array) => bytes_and_array(&one.text, candidate, other),
        (Array, String) => bytes_and_array(&two.text, legacy, at),
        _ => None,
    }
}

/// How a value is near to being absent, when it is.
pub(crate) fn absent(tree: Tree<'_>, at: u32) -> Option<Explanation> {
    let zero = || Decimal::parse(tree.content(at)).is_some_and(|number| number.is_zero());
    match tree.kind(at) {
        NodeKind::Null => Some(Explanation::NullVsMissing),
        NodeKind::False => Some(Explanation::EmptyVsMissing),
        NodeKind::Number if zero() => Some(Explanation::EmptyVsMissing),
        _ if Value::new(tree, at).is_empty() => Some(Explanation::EmptyVsMissing),
        _ => None,
    }
}

struct Value<'a> {
    tree: Tree<'a>,
    at: u32,
    /// Of strings, without escapes.
    text: Vec<u8>,
}

impl<'a> Value<'a> {
    fn new(tree: Tree<'a>, at: u32) -> Self {
        let mut scratch = Vec::new();
        let text = match tree.kind(at) {
            NodeKind::String => tree.unescaped(at, &mut scratch).to_vec(),
            _ => Vec::new(),
        };
        Self { tree, at, text }
    }

    fn kind(&self) -> NodeKind {
        self.tree.kind(self.at)
    }

    /// `""`, `[]` or `{}`.
    fn is_empty(&self) -> bool {
        match self.kind() {
            NodeKind::String => self.text.is_empty(),
            NodeKind::Array | NodeKind::Object => self.tree.next(self.at) == self.at + 1,
            _ => false,
        }
    }
}

fn numbers(one: &[u8], two: &[u8]) -> Option<Explanation> {
    if let Some(near) = decimals(one, two) {
        return Some(near);
    }
    let power = Decimal::parse(one)?.power_over(&Decimal::parse(two)?);
    if power.is_some_and(|power| matches!(power.abs(), 3 | 6 | 9)) {
        return Some(Explanation::ScaledBy1000);
    }
    cut_number(one, two).then_some(Explanation::Truncated)
}

/// What also holds for decimals that are written as strings.
fn decimals(one: &[u8], two: &[u8]) -> Option<Explanation> {
    let double = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<f64>().ok();
    if let (Some(first), Some(second)) = (double(one), double(two))
        && first.is_finite()
        && first.to_bits() == second.to_bits()
    {
        return Some(Explanation::EqualDouble);
    }
    number::is_rounded(one, two).then_some(Explanation::Rounded)
}

/// `12.349` and `12.34`, `12.9` and `12`: decimal places were dropped.
fn cut_number(one: &[u8], two: &[u8]) -> bool {
    let (short, long) = if one.len() < two.len() {
        (one, two)
    } else {
        (two, one)
    };
    long.strip_prefix(short).is_some_and(|rest| {
        let places_only = rest
            .iter()
            .skip_while(|byte| **byte == b'.')
            .all(u8::is_ascii_digit);
        places_only && (rest.first() == Some(&b'.') || short.contains(&b'.'))
    })
}

/// How two different strings are near; also used for header values and whole texts.
pub(crate) fn texts(one: &[u8], two: &[u8]) -> Option<Explanation> {
    if let (Some(first), Some(second)) = (Instant::parse(one), Instant::parse(two)) {
        if first == second {
            return Some(Explanation::SameInstant);
        }
        if first.is_cut_of(&second) {
            return Some(Explanation::TruncatedTime);
        }
    }
    if one.contains(&b'.') || two.contains(&b'.') {
        let near = number::is_number(one).then(|| decimals(one, two)).flatten();
        if near.is_some() {
            return near;
        }
    }
    if one.len().max(two.len()) <= MAX_TEXT_BYTES
        && let Some(near) = alike(one, two)
    {
        return Some(near);
    }
    let (short, long) = if one.len() < two.len() {
        (one, two)
    } else {
        (two, one)
    };
    (short.len() >= MIN_SHARED_BYTES && long.starts_with(short)).then_some(Explanation::Truncated)
}

fn alike(one: &[u8], two: &[u8]) -> Option<Explanation> {
    let (Ok(first), Ok(second)) = (std::str::from_utf8(one), std::str::from_utf8(two)) else {
        return None;
    };
    let lower = |text: &str| {
        text.chars()
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    if lower(first) == lower(second) {
        return Some(Explanation::CaseOnly);
    }
    let visible = |text: &str| {
        text.chars()
            .filter(|character| !character.is_whitespace())
            .collect::<String>()
    };
    if visible(first) == visible(second) {
        return Some(Explanation::WhitespaceOnly);
    }
    if first.nfc().eq(second.nfc()) {
        return Some(Explanation::UnicodeNfc);
    }
    let bytes = decode_base64(one)?;
    (bytes == decode_base64(two)?).then_some(Explanation::SameBytes)
}

fn text_and_number(text: &[u8], number: &[u8]) -> Option<Explanation> {
    if let (Some(time), Some(unix)) = (Instant::parse(text), Instant::from_number(number)) {
        return if time == unix {
            Some(Explanation::SameInstant)
        } else if time.is_cut_of(&unix) {
            Some(Explanation::TruncatedTime)
        } else {
            None
        };
    }
    let same = number::same_decimal(text, number);
    same.then_some(Explanation::TypeOnly)
}

fn bytes_and_array(text: &[u8], tree: Tree<'_>, array: u32) -> Option<Explanation> {
    let bytes = decode_base64(text)?;
    let mut expected = bytes.iter();
    for element in tree.elements(array) {
        let number: u8 = std::str::from_utf8(tree.content(element))
            .ok()?
            .parse()
            .ok()?;
        if expected.next() != Some(&number) {
            return None;
        }
    }
    expected.next().is_none().then_some(Explanation::SameBytes)
}

/// Bytes of base64 text in either alphabet, padded or not.
fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let lenient = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let alphabet = if text.iter().any(|byte| matches!(byte, b'-' | b'_')) {
        &alphabet::URL_SAFE
    } else {
        &alphabet::STANDARD
    };
    if !(MIN_BASE64_BYTES..=MAX_TEXT_BYTES).contains(&text.len()) {
        return None;
    }
    GeneralPurpose::new(alphabet, lenient).decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::index::{Index, Layout, ROOT};

    fn near(one: &str, two: &str) -> Option<Explanation> {
        let (mut first, mut second) = (Index::default(), Index::default());
        let one = first
            .read(one.as_bytes(), Layout::Document, 9)
            .expect("JSON");
        let two = second
            .read(two.as_bytes(), Layout::Document, 9)
            .expect("JSON");
        values(one, ROOT, two, ROOT)
    }

    #[test]
    fn each_likeness_is_named_and_symmetric() {
        use Explanation as E;
        for (one, two, expected) in [
            (
                r#""2020-01-02T03:04:05.12Z""#,
                r#""2020-01-02T03:04:05.120Z""#,
                Some(E::SameInstant),
            ),
            (
                r#""2020-01-02T03:04:05Z""#,
                "1577934245",
                Some(E::SameInstant),
            ),
            (
                r#""2020-01-02T03:04:05.123456Z""#,
                r#""2020-01-02T03:04:05.123Z""#,
                Some(E::TruncatedTime),
            ),
            (
                r#""2020-01-02T03:04:05""#,
                r#""2020-01-02T03:04:05Z""#,
                Some(E::Truncated),
            ),
            ("9007199254740993", "9007199254740992", Some(E::EqualDouble)),
            ("12.345", "12.35", Some(E::Rounded)),
            (r#""12.345""#, r#""12.35""#, Some(E::Rounded)),
            ("1", r#""1""#, Some(E::TypeOnly)),
            ("true", r#""true""#, Some(E::TypeOnly)),
            ("null", "[]", Some(E::NullVsEmpty)),
            ("null", r#""""#, Some(E::NullVsEmpty)),
            ("null", "0", None),
            (r#""Abc""#, r#""aBC""#, Some(E::CaseOnly)),
            (r#""a b""#, r#""a  b ""#, Some(E::WhitespaceOnly)),
            ("\"e\u{301}\"", "\"\u{e9}\"", Some(E::UnicodeNfc)),
            (r#""aGVsbG8/""#, r#""aGVsbG8_""#, Some(E::SameBytes)),
            (
                r#""aGVsbG8h""#,
                "[104,101,108,108,111,33]",
                Some(E::SameBytes),
            ),
            ("1577934245", "1577934245000", Some(E::ScaledBy1000)),
            ("12.349", "12.34", Some(E::Truncated)),
            ("12.9", "12", Some(E::Truncated)),
            ("1", "12", None),
            (r#""abcd""#, r#""abcdef""#, Some(E::Truncated)),
            (r#""ab""#, r#""cd""#, None),
            ("12.50", "12.51", None),
        ] {
            assert_eq!(near(one, two), expected, "{one} {two}");
            assert_eq!(near(two, one), expected, "{two} {one}");
        }
    }
}
