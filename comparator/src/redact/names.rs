//! Which keys have secret values: those that everybody has, and the operator's own.
//!
//! Names are compared without case and without `_`, `-`, `.` and spaces, so `apiKey`, `api_key` and `API-KEY` are one.

use parity_schemas::secret::is_secret_name;

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
        is_secret_name(name) || (!self.own.is_empty() && self.own.contains(&normalized(name)))
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
