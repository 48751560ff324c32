//! Which names have secret values, wherever they stand: keys of a body, fields of a form, segments of a path.
//!
//! Redaction hashes the values behind these names; the naming of routes must not spell them out either, because the
//! label of a route is stored with every count. Names are compared without case and without `_`, `-`, `.` and spaces.
//! Words that are secret in any compound (`userPassword`, `refresh_token`) are looked for at the end of a name, short
//! words that begin or end many harmless ones (`pin`, `session`) only as the whole.

/// Secret as the end of a name.
const ENDINGS: &[&[u8]] = &[
    b"password",
    b"passwd",
    b"passphrase",
    b"pwd",
    b"secret",
    b"token",
    b"apikey",
    b"privatekey",
    b"secretkey",
    b"accesskey",
    b"credential",
    b"credentials",
    b"authorization",
    b"passcode",
    b"otp",
];
/// Secret as the whole name.
const WHOLE: &[&[u8]] = &[
    b"auth",
    b"bearer",
    b"cardnumber",
    b"cookie",
    b"cookies",
    b"cvc",
    b"cvv",
    b"jwt",
    b"pan",
    b"pass",
    b"pin",
    b"securitycode",
    b"session",
    b"sessionid",
    b"setcookie",
    b"sid",
    b"signature",
    b"ssn",
    b"xapikey",
];

/// Longer than every word, so that the rest of a name decides nothing but whether it is longer.
const LONGEST: usize = 16;

/// Whether values of this name are secret. Allocates nothing: it is asked for every segment of every path.
pub fn is_secret_name(name: &str) -> bool {
    let mut buffer = [0; LONGEST];
    let mut start = LONGEST;
    let mut longer = false;
    for byte in name.bytes().rev() {
        if matches!(byte, b'_' | b'-' | b'.' | b' ') {
            continue;
        }
        if start == 0 {
            longer = true;
            break;
        }
        start -= 1;
        buffer[start] = byte.to_ascii_lowercase();
    }
    let plain = &buffer[start..];
    ENDINGS.iter().any(|word| plain.ends_with(word)) || (!longer && WHOLE.contains(&plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compounds_and_spellings_are_known_and_harmless_names_are_not() {
        for secret in [
            "password",
            "Password",
            "user_password",
            "clientSecret",
            "API-Key",
            "PIN",
            "a-very-long-prefixed-refresh_token",
        ] {
            assert!(is_secret_name(secret), "{secret}");
        }
        for harmless in [
            "",
            "pinned",
            "tokens_used",
            "passenger",
            "sessions",
            "accounts",
            "a-very-long-name-that-ends-in-pin",
        ] {
            assert!(!is_secret_name(harmless), "{harmless}");
        }
        assert!(ENDINGS.iter().chain(WHOLE).all(|word| word.len() < LONGEST));
    }
}
