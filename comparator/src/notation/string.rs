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

/// Whether two contents are the same bytes. Most are short, and for those a call of the C library's `memcmp` costs more
/// than the comparison.
#[inline]
pub(crate) fn same_bytes(one: &[u8], two: &[u8]) -> bool {
    /// Longer ones are worth the call.
    const SHORT: usize = 16;
    if one.len() != two.len() {
        return false;
    }
    if one.len() > SHORT {
        return one == two;
    }
    // The first and the last bytes, which overlap.
    if let (Some(first), Some(other)) = (one.first_chunk::<8>(), two.first_chunk::<8>()) {
        let word = |chunk: &[u8; 8]| u64::from_le_bytes(*chunk);
        let difference = match (one.last_chunk::<8>(), two.last_chunk::<8>()) {
            (Some(last), Some(end)) => word(last) ^ word(end),
            _ => 1,
        };
        return (word(first) ^ word(other)) | difference == 0;
    }
    if let (Some(first), Some(other)) = (one.first_chunk::<4>(), two.first_chunk::<4>()) {
        let word = |chunk: &[u8; 4]| u32::from_le_bytes(*chunk);
        let difference = match (one.last_chunk::<4>(), two.last_chunk::<4>()) {
            (Some(last), Some(end)) => word(last) ^ word(end),
            _ => 1,
        };
        return (word(first) ^ word(other)) | difference == 0;
    }
    one.iter().zip(two).all(|(one, two)| one == two)
}

/// A hash of a key's content, the same for every spelling of it. It only narrows a search: equality is always decided
/// by the bytes, and sorting falls back to them, so colliding keys cost comparisons, not correctness.
#[inline]
pub(crate) fn hash(content: &[u8]) -> u32 {
    const SEEDS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93];
    #[cfg(test)]
    if super::colliding::are_all() {
        return 0;
    }
    let mix = |low: u64, high: u64| {
        let product = u128::from(low ^ SEEDS[0]) * u128::from(high ^ SEEDS[1]);
        (product as u64) ^ ((product >> 64) as u64)
    };
    let length = content.len() as u64;
    // The first and the last bytes, which overlap in short keys: one multiplication serves up to sixteen.
    let state = if let (Some(first), Some(last)) =
        (content.first_chunk::<8>(), content.last_chunk::<8>())
    {
        let mut low = u64::from_le_bytes(*first);
        let mut rest = content;
        while rest.len() > 16
            && let Some((chunk, behind)) = rest.split_first_chunk::<8>()
        {
            low = mix(low, u64::from_le_bytes(*chunk));
            rest = behind;
        }
        if rest.len() < content.len()
            && let Some(chunk) = rest.first_chunk::<8>()
        {
            low = mix(low, u64::from_le_bytes(*chunk));
        }
        mix(low, u64::from_le_bytes(*last) ^ length)
    } else if let (Some(first), Some(last)) =
        (content.first_chunk::<4>(), content.last_chunk::<4>())
    {
        let word = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
        mix(word(first), word(last) ^ length << 32)
    } else {
        let word = content
            .iter()
            .fold(length, |word, byte| word << 8 | u64::from(*byte));
        mix(word, 0)
    };
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

    #[test]
    fn equality_looks_at_every_byte() {
        for length in 0..40 {
            let plain = vec![b'a'; length];
            assert!(same_bytes(&plain, &plain.clone()));
            assert!(!same_bytes(&plain, &vec![b'a'; length + 1]));
            for at in 0..length {
                let mut other = plain.clone();
                other[at] = b'b';
                assert!(!same_bytes(&plain, &other), "{length} {at}");
            }
        }
    }

    #[test]
    fn every_byte_of_a_key_is_in_its_hash() {
        for length in 1..40 {
            let plain = vec![b'a'; length];
            for at in 0..length {
                let mut other = plain.clone();
                other[at] = b'b';
                assert_ne!(hash(&plain), hash(&other), "{length} {at}");
            }
            assert_ne!(hash(&plain), hash(&plain[1..]));
        }
    }
}
