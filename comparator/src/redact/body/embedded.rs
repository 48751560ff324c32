//! Texts within a body that was converted to JSON: the body of a part, or the data of an event.

use std::borrow::Cow;

use super::{MAX_BODY_BYTES, Redactor, is_json};
use crate::limits::MAX_DEPTH;
use crate::redact::claim::{Claim, is_text};
use crate::redact::config::PlainText;
use crate::redact::hidden::HideReason;
use crate::{events, form, yaml};

impl Redactor {
    /// Redacts a text within a body that we turned into JSON: the body of a part, or the data of an event.
    pub(in crate::redact) fn claimed_text<'t>(
        &self,
        claim: &Claim,
        text: &'t str,
        depth: usize,
    ) -> Cow<'t, str> {
        let hidden = |why| Cow::Owned(self.hide(text.as_bytes(), why));
        let json = |text: &[u8]| {
            let text = std::str::from_utf8(text).ok()?;
            self.nested_json(text, depth + 1)
        };
        if !is_text(text) {
            return hidden(HideReason::Binary);
        }
        let shown = match claim {
            Claim::Plain | Claim::Undeclared if self.text == PlainText::Hidden => {
                return match json(text.as_bytes()) {
                    Some(shown) if self.claims_json(text) => Cow::Owned(shown),
                    _ => hidden(HideReason::Requested),
                };
            }
            Claim::Plain | Claim::Undeclared => return self.string_at(text, depth),
            Claim::Bytes => return hidden(HideReason::Binary),
            Claim::Unsupported | Claim::Multipart(_) | Claim::MultipartForm(_) => {
                return hidden(HideReason::Unsupported);
            }
            Claim::Json => json(text.as_bytes()),
            Claim::Lines => {
                let lines = text.lines().map(|line| match line.trim() {
                    "" => Some(String::new()),
                    line => self.nested_json(line, depth + 1),
                });
                lines
                    .collect::<Option<Vec<_>>>()
                    .map(|lines| lines.join("\n"))
            }
            Claim::Yaml => yaml::documents(text, MAX_DEPTH, MAX_BODY_BYTES)
                .ok()
                .filter(|documents| !self.is_doubtful_yaml(text, documents))
                .and_then(|documents| {
                    let single = documents.len() == 1;
                    let json = yaml::joined(documents, single);
                    self.nested_yaml(&json, text.contains('*'), depth + 1)
                }),
            Claim::Form if !self.is_whole_form(text) => None,
            Claim::Form => json(&form::to_json(text)),
            Claim::Events if !events::is_strict(text) && self.mentions_secret(text) => None,
            Claim::Events => json(&events::to_json(text, &mut is_json)),
            Claim::Xml | Claim::Csv(_) | Claim::Markup(_) | Claim::GraphQl | Claim::Table => {
                self.structured(claim, text)
            }
        };
        match shown {
            Some(shown) if shown == text => Cow::Borrowed(text),
            Some(shown) => Cow::Owned(shown),
            None => hidden(match claim {
                Claim::Yaml => HideReason::Invalid("YAML"),
                Claim::Xml | Claim::Csv(_) | Claim::Markup(_) | Claim::GraphQl | Claim::Table => {
                    self.invalid(claim)
                }
                _ => HideReason::Invalid("JSON"),
            }),
        }
    }
}
