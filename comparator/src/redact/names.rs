//! Which keys have secret values: those that everybody has, and the operator's own.
//!
//! A name is taken as its reader takes it: compatibility forms of letters are the letters, and what is not seen is not
//! there. Then its words decide, as `parity_schemas::secret` says. A name of the operator's is known wherever its words
//! stand together in a name: `iban` also in `customerIban` and `ibans`.

use parity_schemas::secret::{Words, folded, is_exactly_secret, is_secret_name};

use super::encoded;

/// Longest text that is taken for a name.
const MAX_NAME_BYTES: usize = 64;
/// Words that a name of several may have: `Card security code`.
const MAX_NAME_WORDS: usize = 4;

/// Whether a text may be a name rather than a sentence or a value.
fn is_name(text: &str) -> bool {
    text.len() <= MAX_NAME_BYTES
        && text.split_whitespace().count() <= MAX_NAME_WORDS
        && !text.contains(['\n', ',', ';', '=', '{', '(', '<', '"', '!'])
        && !text.contains(": ")
}

/// The names whose values are hidden.
pub(super) struct SecretNames {
    /// Of the operator: the words parted by spaces and with one at either end, and as one word.
    own: Vec<(String, String)>,
}

impl SecretNames {
    /// Adds the operator's names; the error is the one that names nothing.
    pub(super) fn new(own: &[String]) -> Result<Self, String> {
        let own = own
            .iter()
            .map(|name| match spelt(&Words::of(&folded(name))) {
                (_, joined) if joined.is_empty() => Err(name.clone()),
                spelt => Ok(spelt),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { own })
    }

    pub(super) fn contain(&self, name: &str) -> bool {
        // `UTF-8''name` (RFC 5987).
        if let Some((_, rest)) = name.rsplit_once("''")
            && self.contain(rest)
        {
            return true;
        }
        let name = &*encoded::name(name);
        if is_secret_name(name) {
            return true;
        }
        if self.own.is_empty() {
            return false;
        }
        let (words, joined) = spelt(&Words::of(&folded(name)));
        self.own
            .iter()
            .any(|(own_words, own)| words.contains(own_words) || joined == *own)
    }

    /// Whether a text is such a name and nothing else, and so says what stands beside it.
    pub(super) fn are_exactly(&self, name: &str) -> bool {
        if is_exactly_secret(name) {
            return true;
        }
        if self.own.is_empty() || name.len() > MAX_NAME_BYTES {
            return false;
        }
        let (_, joined) = spelt(&Words::of(&folded(name)));
        self.own.iter().any(|(_, own)| joined == *own)
    }

    /// Whether one of the words of a text is such a name.
    pub(super) fn are_among(&self, text: &str) -> bool {
        text.split(|sign: char| !(sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.')))
            .any(|word| self.contain(word))
    }

    /// Whether two or three words of a text that spaces part are such a name.
    pub(super) fn are_in_words(&self, text: &str) -> bool {
        text.split(|sign: char| !(sign.is_alphanumeric() || matches!(sign, '_' | '-' | ' ')))
            .filter(|piece| piece.trim().contains(' '))
            .any(|piece| {
                let words: Vec<&str> = piece.split_whitespace().collect();
                [2, 3].iter().any(|count| {
                    words
                        .windows(*count)
                        .any(|words| self.contain(&words.join(" ")))
                })
            })
    }

    /// Whether a text looks like a name, and like one that is secret; a remark in parentheses is no part of it.
    pub(super) fn are_named(&self, text: &str) -> bool {
        let name = match text.split_once(" (") {
            Some((name, _)) if !name.trim().is_empty() => name.trim_end(),
            _ => text,
        };
        // A sign within a name, or instead of one in it, makes no other text of it.
        let joined = || {
            name.len() <= MAX_NAME_BYTES
                && !name.contains([' ', '/', '@'])
                && (self.are_among(name)
                    || self.contain(&name.replace(|sign: char| !sign.is_alphanumeric(), "-")))
        };
        (is_name(name) && self.contain(name)) || joined()
    }
}

fn spelt(words: &Words) -> (String, String) {
    let mut spaced = String::from(" ");
    for word in words.iter() {
        spaced.push_str(&String::from_utf8_lossy(word));
        spaced.push(' ');
    }
    let joined = spaced.replace(' ', "");
    (spaced, joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operators_names_are_known_by_their_words() {
        let own = ["IBAN".to_owned(), "tax_number".to_owned()];
        let names = SecretNames::new(&own).expect("names");
        for secret in [
            "iban",
            "ibans",
            "customerIban",
            "i_ban",
            "iban_2",
            "tax-number",
            "TaxNumbers",
            "my.taxNumber",
            "password",
            "ｐａｓｓｗｏｒｄ",
            "pass\u{200b}word",
            "𝗽𝗮𝘀𝘀𝘄𝗼𝗿𝗱",
        ] {
            assert!(names.contain(secret), "{secret}");
        }
        for harmless in ["caliban", "tax", "number", "number_tax", "", "straße"] {
            assert!(!names.contain(harmless), "{harmless}");
        }
        assert_eq!(
            SecretNames::new(&["--".to_owned()]).err(),
            Some("--".to_owned())
        );
    }
}
