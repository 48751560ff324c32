//! What people write beside a record: the reason and the owner of a rule, why a span of time is left out.
//!
//! They are no captured values, and a person may have pasted a secret into one. So they are searched as plain text is, and what
//! is found is replaced. Not by its keyed hash: nobody compares these, and the text must be the same whatever the key is,
//! because ids and digests are made of it.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use parity_schemas::secret::is_token;
use parity_schemas::terms::HIDDEN;

use super::config::MIN_KEY_BYTES;
use super::{RedactConfig, Redactor};
use crate::rules::Rules;

/// Finds secrets by the well-known names, and by those of the operator.
pub(super) struct ByHand(Redactor);

/// By the well-known names alone.
static KNOWN: LazyLock<ByHand> = LazyLock::new(|| {
    let known = ByHand::new(&RedactConfig::default());
    known.expect("the defaults are right, as a test shows")
});

/// A text that a person wrote, without what looks like a secret in it. To hide it again changes nothing.
pub fn by_hand(text: &str) -> Cow<'_, str> {
    KNOWN.hide(text)
}

impl ByHand {
    /// `None` if the settings are refused, which whoever reads them reports.
    pub(super) fn new(config: &RedactConfig) -> Option<Self> {
        let redactor = Redactor::new(config, &[0; MIN_KEY_BYTES], Arc::new(Rules::default()));
        redactor.ok().map(Self)
    }

    /// The text without what looks like a secret in it.
    pub(super) fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut spans = self.0.secrets_in(text, 0, false);
        let begin = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
        let tokens = text.split_whitespace().filter(|word| is_token(word));
        spans.extend(tokens.map(|word| begin(word)..begin(word) + word.len()));
        // What is hidden already stays as it is.
        spans.retain(|span| {
            let found = text.get(span.clone()).unwrap_or_default();
            !found.trim_matches(['(', ')']).eq("hidden")
        });
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for span in super::text::merged(spans) {
            out.push_str(text.get(at..span.start).unwrap_or_default());
            out.push_str(HIDDEN);
            at = span.end;
        }
        out.push_str(text.get(at..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Whether a path or the name of a field has what looks like a secret in it. It speaks of secrets all the time
    /// (`/user/password/*`), so that names alone say nothing.
    pub(super) fn finds_in_path(&self, path: &str) -> bool {
        is_token(path)
            || !super::cards::find(path).is_empty()
            || path.contains(['=', ' ']) && matches!(self.hide(path), Cow::Owned(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_a_sentence_is_hidden_and_the_sentence_stays() {
        for (written, shown) in [
            ("the password is Hunter2x", "the password is (hidden)"),
            ("asked with token=abc123", "asked with token=(hidden)"),
            ("restart, password: hunter2!", "restart, password: (hidden)"),
            ("see xK9fQ2mZ7pL4vR8tW3sB6nD1 there", "see (hidden) there"),
            ("card 4111 1111 1111 1111", "card (hidden)"),
        ] {
            assert_eq!(by_hand(written), shown);
            assert_eq!(by_hand(shown), shown, "hidden again");
        }
        for harmless in [
            "set on read",
            "payments",
            "a planned restart of the candidate",
            "the new service issues another token each time",
            "password is required by the new form",
            "agreed in ABC-1234 with the payments team",
        ] {
            assert_eq!(by_hand(harmless), harmless);
        }
    }

    #[test]
    fn names_of_the_operator_count() {
        let config = RedactConfig {
            mask_keys: vec!["tax_number".to_owned()],
            ..RedactConfig::default()
        };
        let own = ByHand::new(&config).expect("right settings");
        let text = "tax_number=12345 differs";
        assert!(own.finds_in_path(text) && by_hand(text) == text);
        assert_eq!(own.hide(text), "tax_number=(hidden) differs");
    }
}
