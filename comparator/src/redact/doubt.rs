//! Forms and YAML that can be read, although they are hardly what somebody wrote: almost any text is one or the other, so
//! what damage leaves is known by its oddities.

use parity_schemas::exchange::Exchange;

use super::Redactor;
use super::body::UNPACKED_BYTES;
use super::claim::{Claim, in_utf8};
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

    pub(super) fn is_whole_form(&self, text: &str) -> bool {
        form::is_whole(text, |field| self.names.are_among(field))
    }

    /// Whether YAML that can be read is hardly what somebody wrote: see [`yaml::is_doubtful`]; or it is a text that speaks
    /// of a secret, with no structure to say where.
    pub(super) fn is_doubtful_yaml(&self, text: &str, documents: &[Vec<u8>]) -> bool {
        let texts = documents.iter().filter(|json| json.starts_with(b"\""));
        yaml::is_doubtful(text, |name| self.names.are_among(name))
            || texts
                .into_iter()
                .any(|json| self.names.are_among(&String::from_utf8_lossy(json)))
    }
}
