//! Percent encoding as forgiving servers undo it: `%uXXXX`, and overlong UTF-8, too. What escapes nothing is left as it is.

use std::borrow::Cow;

/// Without one layer of escapes: `%6C`, and `%u006C` as some servers take it. Bytes that are overlong UTF-8 are the character that they
/// mean, others that are no UTF-8 are replacement characters.
pub(super) fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
        } else if let Some((byte, behind)) = hex(behind, 2) {
            bytes.extend(u8::try_from(byte).ok());
            rest = behind;
        } else if let Some((letter, behind)) = unicode_escape(behind) {
            bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            rest = behind;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8_lossy(&shortest(&bytes)).into_owned()
}

fn unicode_escape(text: &[u8]) -> Option<(char, &[u8])> {
    let behind = text
        .strip_prefix(b"u")
        .or_else(|| text.strip_prefix(b"U"))?;
    let (code, behind) = hex(behind, 4)?;
    Some((char::from_u32(code)?, behind))
}

/// A number of as many hexadecimal digits, and what is behind it.
fn hex(text: &[u8], digits: usize) -> Option<(u32, &[u8])> {
    let (number, behind) = text.split_at_checked(digits)?;
    let add = |sum: u32, digit: &u8| Some(sum * 16 + char::from(*digit).to_digit(16)?);
    Some((number.iter().try_fold(0, add)?, behind))
}

/// ASCII that is written in more bytes than it has is written in one.
pub(super) fn shortest(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes
        .iter()
        .any(|byte| matches!(byte, 0xc0 | 0xc1 | 0xe0 | 0xf0))
    {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        let (byte, behind) = match rest {
            [] => return Cow::Owned(out),
            [first @ (0xc0 | 0xc1), last @ 0x80..=0xbf, behind @ ..]
            | [0xe0, first @ (0x80 | 0x81), last @ 0x80..=0xbf, behind @ ..]
            | [
                0xf0,
                0x80,
                first @ (0x80 | 0x81),
                last @ 0x80..=0xbf,
                behind @ ..,
            ] => (((first & 1) << 6) | (last & 0x3f), behind),
            [first, behind @ ..] => (*first, behind),
        };
        out.push(byte);
        rest = behind;
    }
}
