//! Detects forms and YAML that can be parsed but are probably damaged. Almost any text parses as one or the other, so
//! damage shows only in what nobody would write.

use std::borrow::Cow;

use parity_schemas::exchange::Exchange;
use parity_schemas::visible::is_hidden;

use super::body::UNPACKED_BYTES;
use super::claim::{Claim, in_utf8};
use super::encoded::fully_percent_decoded;
use super::escapes::without_escapes;
use super::{Redactor, markup};
use crate::{decode, form, yaml};

impl Redactor {
    /// Whether an answer is a form or YAML that only a lenient parser accepts. What looks like a name in it may have
    /// been a value.
    pub(super) fn are_names_in_doubt(&self, exchange: &Exchange) -> bool {
        [&exchange.legacy, &exchange.candidate]
            .iter()
            .any(|answer| {
                let (claim, declared) = Claim::of(&answer.headers);
                if !matches!(claim, Claim::Form | Claim::Yaml) {
                    return false;
                }
                let raw = answer.body.contiguous();
                let limit = UNPACKED_BYTES.max(raw.len());
                let decoded = decode::decode(&raw, &decode::encodings(&answer.headers), limit);
                let text = decoded
                    .ok()
                    .and_then(|decoded| in_utf8(decoded, declared.charset.as_deref()));
                let text = text
                    .as_deref()
                    .and_then(|text| std::str::from_utf8(text).ok());
                text.is_none_or(|text| match claim {
                    Claim::Form => !self.is_whole_form(text),
                    _ => self.is_doubtful_yaml(text.trim_start_matches('\u{feff}'), &[]),
                })
            })
    }

    /// Whether a form is undamaged or mentions no secret, so that no secret value can have lost its name.
    pub(super) fn is_whole_form(&self, text: &str) -> bool {
        form::is_whole(text, |field| self.secret_names.any_word_of(field))
            || !self.mentions_secret(text)
    }

    /// Whether parsed YAML is probably damaged and mentions a secret (see [`yaml::is_doubtful`]), or is a single string
    /// that mentions one, without a structure to tell where its value is.
    pub(super) fn is_doubtful_yaml(&self, text: &str, documents: &[Vec<u8>]) -> bool {
        let texts = documents.iter().filter(|json| json.starts_with(b"\""));
        (yaml::is_doubtful(text, |name| self.secret_names.any_word_of(name))
            && self.mentions_secret(text))
            || texts.into_iter().any(|json| {
                self.secret_names
                    .any_word_of(&String::from_utf8_lossy(json))
            })
    }

    /// Whether one or several words of a text are the name of a secret, in any encoding.
    pub(super) fn mentions_secret(&self, text: &str) -> bool {
        let names = |text: &str| {
            self.secret_names.any_word_of(text) || self.secret_names.any_phrase_of(text)
        };
        if names(text) {
            return true;
        }
        let plain = without_hidden(text);
        if plain != text && names(&plain) {
            return true;
        }
        (text.contains('%') && names(&fully_percent_decoded(text)))
            || (text.contains('\\') && names(&without_escapes(text)))
            || (text.contains('&') && names(&markup::unescaped(text)))
    }
}

/// A text without invisible characters.
fn without_hidden(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    text.chars().filter(|sign| !is_hidden(*sign)).collect()
}
