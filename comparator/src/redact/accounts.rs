//! What may be a secret by its form alone: the number of an account, and a password behind a user.

use std::ops::RangeInclusive;

/// Lengths of international bank account numbers.
const IBAN_BYTES: RangeInclusive<usize> = 15..=34;
/// Digits of a port, or of an hour and the like.
const MAX_PORT_DIGITS: usize = 5;

/// Whether the name of a parameter is the number of an account, or a user with a password behind a colon.
pub(super) fn may_be_secret(name: &str) -> bool {
    is_account(name) || !has_only_ports(name)
}

/// Whether nothing but a number stands behind each colon, as the port behind a host: not a password behind a user.
pub(super) fn has_only_ports(value: &str) -> bool {
    value.split(':').skip(1).all(|after| {
        let length = after.find(|sign: char| !sign.is_ascii_alphanumeric());
        let word = after
            .get(..length.unwrap_or(after.len()))
            .unwrap_or_default();
        (1..=MAX_PORT_DIGITS).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether a value is an international bank account number, by its check digits.
pub(super) fn is_account(value: &str) -> bool {
    let sign = |byte: &u8| !matches!(byte, b' ' | b'-' | b'.');
    let (mut length, mut rest) = (0, 0);
    let of_country = value.bytes().filter(sign).take(4);
    for (at, byte) in value
        .bytes()
        .filter(sign)
        .skip(4)
        .chain(of_country)
        .enumerate()
    {
        rest = match byte {
            b'0'..=b'9' => rest * 10 + u32::from(byte - b'0'),
            b'A'..=b'Z' | b'a'..=b'z' => {
                rest * 100 + u32::from(byte.to_ascii_uppercase() - b'A') + 10
            }
            _ => return false,
        } % 97;
        length = at + 1;
    }
    let mut begin = value.bytes().filter(sign);
    let mut is_next = |test: fn(&u8) -> bool| begin.next().is_some_and(|byte| test(&byte));
    is_next(u8::is_ascii_alphabetic)
        && is_next(u8::is_ascii_alphabetic)
        && is_next(u8::is_ascii_digit)
        && is_next(u8::is_ascii_digit)
        && IBAN_BYTES.contains(&length)
        && rest == 1
}
