//! The content of JSON strings.
//!
//! Escapes are undone into WTF-8: UTF-8 in which a lone surrogate (`"\ud800"`, which JavaScript sends) is its own
//! three-byte code. So two strings are equal exactly when their sequences of UTF-16 code units are, and nothing is
//! lost or replaced.

/// Undoes the escapes of `content`, the bytes between the quotes of a string that the parser has accepted.
pub(crate) fn unescape(content: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut rest = content;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        match rest.get(1) {
            Some(b'u') => {
                let (code, used) = unicode_escape(rest);
                push_code_point(code, out);
                rest = &rest[used..];
            }
            Some(byte) => {
                out.push(match byte {
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => *other,
                });
                rest = &rest[2..];
            }
            None => break,
        }
    }
    out.extend_from_slice(rest);
}

/// The code point of the `\uXXXX` at the start of `text`, two of them when they are a surrogate pair, and how many
/// bytes that took.
fn unicode_escape(text: &[u8]) -> (u32, usize) {
    let high = code_unit(text).unwrap_or(0xfffd);
    if (0xd800..0xdc00).contains(&high)
        && let Some(low) = text.get(6..).and_then(code_unit)
        && (0xdc00..0xe000).contains(&low)
    {
        return (0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12);
    }
    (high, text.len().min(6))
}

fn code_unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |code, digit| {
        Some(code * 16 + char::from(*digit).to_digit(16)?)
    })
}

fn push_code_point(code: u32, out: &mut Vec<u8>) {
    if let Some(character) = char::from_u32(code) {
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    } else {
        let low_six = |shift: u32| 0x80 | ((code >> shift) & 0x3f) as u8;
        out.extend_from_slice(&[0xe0 | (code >> 12) as u8, low_six(6), low_six(0)]);
    }
}

/// `text` as a JSON string with its quotes, escaped no more than JSON demands.
pub(crate) fn quote(text: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => out.extend_from_slice(&[
                b'\\',
                b'u',
                b'0',
                b'0',
                HEX[usize::from(byte >> 4)],
                HEX[usize::from(byte & 15)],
            ]),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// A hash of a key's content, the same for every spelling of it. It only narrows a search: equality is always decided
/// by the bytes, and sorting falls back to them, so colliding keys cost comparisons, not correctness.
pub(crate) fn hash(content: &[u8]) -> u32 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |state: u64, word: u64| {
        let product = u128::from(state ^ word) * u128::from(MULTIPLIER);
        (product as u64) ^ ((product >> 64) as u64)
    };
    let mut state = content.len() as u64 ^ MULTIPLIER;
    if let Some(last) = content.last_chunk::<8>() {
        let mut words = content;
        while let Some((word, rest)) = words.split_first_chunk::<8>() {
            state = mix(state, u64::from_le_bytes(*word));
            words = rest;
        }
        state = mix(state, u64::from_le_bytes(*last));
    } else if let (Some(first), Some(last)) =
        (content.first_chunk::<4>(), content.last_chunk::<4>())
    {
        let word =
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last));
        state = mix(state, word);
    } else {
        for byte in content {
            state = state << 8 | u64::from(*byte);
        }
        state = mix(state, 0);
    }
    (state >> 32) as u32 ^ state as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unescaped(content: &str) -> Vec<u8> {
        let mut out = Vec::new();
        unescape(content.as_bytes(), &mut out);
        out
    }

    #[test]
    fn escapes_are_undone_and_lone_surrogates_kept_apart() {
        assert_eq!(unescaped(r#"a\u003c\/\n\"\\"#), b"a</\n\"\\");
        assert_eq!(unescaped(r"\ud83d\ude00"), "😀".as_bytes());
        assert_eq!(unescaped(r"\uD83D\uDE00"), "😀".as_bytes());
        assert_ne!(unescaped(r"\ud800"), unescaped(r"\ud801"));
        assert_ne!(unescaped(r"\ud800"), unescaped(r"\ufffd"));
        assert_eq!(unescaped(r"\ud800x").len(), 4);
    }

    #[test]
    fn quoting_reads_back() {
        let text = "a\"\\\n\u{1}é";
        let mut quoted = Vec::new();
        quote(text, &mut quoted);
        assert_eq!(quoted, b"\"a\\\"\\\\\\n\\u0001\xc3\xa9\"");
        assert_eq!(
            unescaped(std::str::from_utf8(&quoted[1..quoted.len() - 1]).expect("UTF-8")),
            text.as_bytes()
        );
    }
}
