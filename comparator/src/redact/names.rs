//! Decides which keys have secret values: the well-known ones, and those that the operator adds.
//!
//! A name is compared as a person reads it: compatibility forms of letters count as the letters, and invisible
//! characters are left out. Its words then decide, by the rules of `parity_schemas::secret`. An operator's name matches
//! wherever its words occur next to each other in a key: `iban` also matches `customerIban` and `ibans`.

use parity_schemas::secret::{Words, folded, is_exactly_secret, is_secret_name};

use super::encoded;

/// Longest text that may be a name.
const MAX_NAME_BYTES: usize = 64;
/// Most words of a name: `Card security code`.
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
    /// The operator's names, each in two forms: its words separated and surrounded by spaces, and its words joined.
    own: Vec<(String, String)>,
    /// Other names of secret fields, with their words joined. What only has their words in it is something else.
    whole: Vec<String>,
}

impl SecretNames {
    /// Adds the operator's names. The error is a name without any word in it.
    pub(super) fn new(own: &[String]) -> Result<Self, String> {
        let own = own
            .iter()
            .map(|name| match spelt(&Words::of(&folded(name))) {
                (_, joined) if joined.is_empty() => Err(name.clone()),
                spelt => Ok(spelt),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            own,
            whole: Vec::new(),
        })
    }

    /// The same names, and these, which hide nothing but what is called exactly so.
    pub(super) fn with_whole(&self, names: &[&str]) -> Self {
        let joined = names.iter().map(|name| joined(name));
        Self {
            own: self.own.clone(),
            whole: joined.filter(|name| !name.is_empty()).collect(),
        }
    }

    fn is_whole(&self, name: &str) -> bool {
        // In XML a prefix, which says nothing, may stand before it.
        let local = name.rsplit([':', '@']).next().unwrap_or(name);
        self.has_whole()
            && [name, local]
                .iter()
                .any(|name| self.whole.contains(&joined(name)))
    }

    /// Whether there are names that hide nothing but what is called exactly so.
    pub(super) fn has_whole(&self) -> bool {
        !self.whole.is_empty()
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.contains_anywhere(name)
            || (self.has_whole() && {
                let bare = name.rsplit_once("''").map_or(name, |(_, rest)| rest);
                [name, bare]
                    .iter()
                    .any(|name| self.is_whole(&encoded::name(name)))
            })
    }

    /// The same without the names that rules make secret, which are so at some places.
    pub(super) fn contains_anywhere(&self, name: &str) -> bool {
        // `UTF-8''name` (RFC 5987).
        if let Some((_, rest)) = name.rsplit_once("''")
            && self.contains_anywhere(rest)
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

    /// Whether the whole text is a secret name, so that it tells what a value next to it is.
    pub(super) fn contains_exactly(&self, name: &str) -> bool {
        if is_exactly_secret(name) || self.is_whole(name) {
            return true;
        }
        if self.own.is_empty() || name.len() > MAX_NAME_BYTES {
            return false;
        }
        let joined = joined(name);
        self.own.iter().any(|(_, own)| joined == *own)
    }

    /// Whether one word of a text is a secret name.
    pub(super) fn any_word_of(&self, text: &str) -> bool {
        text.split(|sign: char| !(sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.')))
            .any(|word| self.contains(word))
    }

    /// Whether two or three consecutive words of a text form a secret name.
    pub(super) fn any_phrase_of(&self, text: &str) -> bool {
        text.split(|sign: char| !(sign.is_alphanumeric() || matches!(sign, '_' | '-' | ' ')))
            .filter(|piece| piece.trim().contains(' '))
            .any(|piece| {
                let words: Vec<&str> = piece.split_whitespace().collect();
                [2, 3].iter().any(|count| {
                    words
                        .windows(*count)
                        .any(|words| self.contains(&words.join(" ")))
                })
            })
    }

    /// Whether a text is short enough for a name and is a secret one. A remark in parentheses is ignored.
    pub(super) fn contains_label(&self, text: &str) -> bool {
        let name = match text.split_once(" (") {
            Some((name, _)) if !name.trim().is_empty() => name.trim_end(),
            _ => text,
        };
        // A punctuation character in a name, or in place of one of its letters, leaves it the same name.
        let joined = || {
            name.len() <= MAX_NAME_BYTES
                && !name.contains([' ', '/', '@'])
                && (self.any_word_of(name)
                    || self.contains(&name.replace(|sign: char| !sign.is_alphanumeric(), "-")))
        };
        // In place of the parenthesis may be another sign: `password ,old)`.
        let before_sign = || {
            let blank = text.as_bytes().windows(2);
            let mut blank = blank.enumerate().filter(|(_, pair)| pair[0] == b' ');
            let at = blank.find(|(_, pair)| pair[1].is_ascii_punctuation())?.0;
            text.get(..at).map(str::trim_end)
        };
        (is_name(name) && self.contains(name))
            || joined()
            || before_sign().is_some_and(|name| is_name(name) && self.contains(name))
    }
}

/// The words of a name, written together.
fn joined(name: &str) -> String {
    spelt(&Words::of(&folded(name))).1
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
            assert!(names.contains(secret), "{secret}");
        }
        for harmless in ["caliban", "tax", "number", "number_tax", "", "straße"] {
            assert!(!names.contains(harmless), "{harmless}");
        }
        assert_eq!(
            SecretNames::new(&["--".to_owned()]).err(),
            Some("--".to_owned())
        );
    }
}
