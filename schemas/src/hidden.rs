//! The form of what stands in a record in the place of a hidden body.
//!
//! A service may answer with a text that begins with the same letters, so only the exact form is taken for it.

/// What stands in the place of a hidden value begins so.
pub const HASH: &str = "hmac:";
/// Hexadecimal digits behind it.
const DIGITS: usize = 32;

/// Whether a recorded body is the keyed hash of one: `hmac:`, 32 lower-case hexadecimal digits, and behind them nothing but how long
/// the body was, and why it is hidden.
pub fn is_hash_of_body(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(HASH) else {
        return false;
    };
    let Some((digits, behind)) = rest.split_at_checked(DIGITS) else {
        return false;
    };
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let inner = behind
        .strip_prefix(" (")
        .and_then(|behind| behind.strip_suffix(')'));
    let is_told = inner.is_some_and(|inner| {
        let (length, why) = inner.split_once(" bytes").unwrap_or_default();
        !length.is_empty()
            && length.bytes().all(|byte| byte.is_ascii_digit())
            && (why.is_empty() || why.starts_with(", "))
            && !why.contains(['\n', '(', ')'])
    });
    digits.bytes().all(is_digit) && (behind.is_empty() || is_told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_form_is_a_hash() {
        let hash = "hmac:0123456789abcdef0123456789abcdef";
        for behind in ["", " (12 bytes)", " (12 bytes, invalid JSON)"] {
            assert!(is_hash_of_body(&format!("{hash}{behind}")), "{behind}");
        }
        for behind in [
            "0",
            " ",
            "\n",
            " (12 bytes",
            " (12 bytes) and more",
            " ( bytes)",
            " (x bytes)",
            " (12 bytesx)",
            " (12 bytes, a\nb)",
            " hello",
        ] {
            assert!(!is_hash_of_body(&format!("{hash}{behind}")), "{behind}");
        }
        for text in [
            "",
            "hmac:",
            "hmac:hello",
            "hmac:0123456789abcdef",
            "hmac:0123456789ABCDEF0123456789ABCDEF",
            "hmac:0123456789abcdef0123456789abcdeé",
            " hmac:0123456789abcdef0123456789abcdef",
        ] {
            assert!(!is_hash_of_body(text), "{text}");
        }
    }
}
