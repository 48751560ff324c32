//! Which keys have secret values.
//!
//! Names are compared without case and without `_`, `-`, `.` and spaces, so `apiKey`, `api_key` and `API-KEY` are one.
//! Words that are secret in any compound (`userPassword`, `refresh_token`) are looked for at the end of a name, short
//! words that begin or end many harmless ones (`pin`, `session`) only as the whole.

/// Secret as the end of a name.
const ENDINGS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "privatekey",
    "secretkey",
    "accesskey",
    "credential",
    "credentials",
    "authorization",
    "passcode",
    "otp",
];
/// Secret as the whole name.
const WHOLE: &[&str] = &[
    "auth",
    "bearer",
    "cardnumber",
    "cookie",
    "cookies",
    "cvc",
    "cvv",
    "jwt",
    "pan",
    "pass",
    "pin",
    "securitycode",
    "session",
    "sessionid",
    "setcookie",
    "sid",
    "signature",
    "ssn",
    "xapikey",
];

/// The names whose values are hashed.
pub(super) struct SecretNames {
    /// Of the operator.
    own: Vec<String>,
}

impl SecretNames {
    /// Adds the operator's names; the error is the one that names nothing.
    pub(super) fn new(own: &[String]) -> Result<Self, String> {
        let own = own
            .iter()
            .map(|name| match normalized(name) {
                plain if plain.is_empty() => Err(name.clone()),
                plain => Ok(plain),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { own })
    }

    pub(super) fn contain(&self, name: &str) -> bool {
        let plain = normalized(name);
        ENDINGS.iter().any(|word| plain.ends_with(word))
            || WHOLE.contains(&plain.as_str())
            || self.own.contains(&plain)
    }
}

fn normalized(name: &str) -> String {
    name.chars()
        .filter(|character| !matches!(character, '_' | '-' | '.' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compounds_and_spellings_are_known_and_harmless_names_kept() {
        let names = SecretNames::new(&["IBAN".to_owned()]).expect("a name");
        for secret in [
            "password",
            "Password",
            "user_password",
            "clientSecret",
            "API-Key",
            "x-api-key",
            "refresh_token",
            "i_ban",
            "PIN",
            "credentials",
            "Authorization",
        ] {
            assert!(names.contain(secret), "{secret}");
        }
        for harmless in [
            "pinned",
            "tokens_used",
            "passenger",
            "sessions",
            "id",
            "",
            "shipping",
            "author",
            "ibans",
        ] {
            assert!(!names.contain(harmless), "{harmless}");
        }
        assert_eq!(
            SecretNames::new(&["--".to_owned()]).err(),
            Some("--".to_owned())
        );
    }
}
