//! Forms and YAML that can be read, although they are hardly what somebody wrote: almost any text is one or the other, so
//! what damage leaves is known by its oddities.

use std::borrow::Cow;

use parity_schemas::exchange::Exchange;
use parity_schemas::visible::is_hidden;

use super::body::UNPACKED_BYTES;
use super::claim::{Claim, in_utf8};
use super::encoded::undone;
use super::escapes::without_escapes;
use super::{Redactor, markup};
use crate::{decode, form, yaml};

impl Redactor {
    /// Whether an answer is of a kind that is compared by its names, although no strict reader takes it: what is a name
    /// in it may have been a value.
    pub(super) fn are_names_in_doubt(&self, exchange: &Exchange) -> bool {
        [&exchange.legacy, &exchange.candidate]
            .iter()
            .any(|answer| {
                let (claim, charset) = Claim::of(&answer.headers);
                if !matches!(claim, Claim::Form | Claim::Yaml) {
                    return false;
                }
                let raw = answer.body.contiguous();
                let limit = UNPACKED_BYTES.max(raw.len());
                let decoded = decode::decode(&raw, &decode::encodings(&answer.headers), limit);
                let text = decoded
                    .ok()
                    .and_then(|decoded| in_utf8(decoded, charset.as_deref()));
                let text = text
                    .as_deref()
                    .and_then(|text| std::str::from_utf8(text).ok());
                text.is_none_or(|text| match claim {
                    Claim::Form => !self.is_whole_form(text),
                    _ => self.is_doubtful_yaml(text.trim_start_matches('\u{feff}'), &[]),
                })
            })
    }

    /// Whether a form is whole, or says nothing of a secret, so that no value can have lost its name.
    pub(super) fn is_whole_form(&self, text: &str) -> bool {
        form::is_whole(text, |field| self.names.are_among(field)) || !self.speaks_of_a_secret(text)
    }

    /// Whether YAML that can be read is hardly what somebody wrote, and speaks of a secret: see [`yaml::is_doubtful`]; or
    /// it is a text that does, with no structure to say where.
    pub(super) fn is_doubtful_yaml(&self, text: &str, documents: &[Vec<u8>]) -> bool {
        let texts = documents.iter().filter(|json| json.starts_with(b"\""));
        (yaml::is_doubtful(text, |name| self.names.are_among(name))
            && self.speaks_of_a_secret(text))
            || texts
                .into_iter()
                .any(|json| self.names.are_among(&String::from_utf8_lossy(json)))
    }

    /// Whether a word of a text, or a few of them together, is the name of a secret, in any writing.
    pub(super) fn speaks_of_a_secret(&self, text: &str) -> bool {
        let names = |text: &str| self.names.are_among(text) || self.names.are_in_words(text);
        if names(text) {
            return true;
        }
        let plain = without_hidden(text);
        if plain != text && names(&plain) {
            return true;
        }
        (text.contains('%') && names(&undone(text)))
            || (text.contains('\\') && names(&without_escapes(text)))
            || (text.contains('&') && names(&markup::unescaped(text)))
    }
}

/// A text without the signs that nobody sees.
fn without_hidden(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    text.chars().filter(|sign| !is_hidden(*sign)).collect()
}
