//! Writes redacted start tags and the content of scripts.

use super::tag::Tag;
use super::{MarkupReader, escape, unescaped};
use crate::redact::hidden::HideReason;

impl MarkupReader<'_> {
    /// Writes the content of an element that is not markup, and its end tag.
    pub(super) fn raw(&mut self, name: &str, tag: &Tag) -> Option<usize> {
        let rest = self.text.get(tag.end..)?;
        let mut from = 0;
        let length = loop {
            let at = from + rest.get(from..)?.find("</")?;
            let end = rest.get(at + 2..at + 2 + name.len());
            if end.is_some_and(|end| end.eq_ignore_ascii_case(name)) {
                break at;
            }
            from = at + 2;
        };
        let content = rest.get(..length)?;
        let json = tag.attributes.iter().any(|attribute| {
            let value = self.text.get(attribute.value.clone());
            attribute.name.eq_ignore_ascii_case("type")
                && value.is_some_and(|value| value.to_ascii_lowercase().contains("json"))
        });
        if json {
            let clean = self
                .redactor
                .nested_json(content, self.depth + 1)
                .unwrap_or_else(|| {
                    self.redactor
                        .hide(content.as_bytes(), HideReason::Invalid("JSON"))
                });
            self.out.push_str(&clean.replace("</", "<\\/"));
        } else if name == "style" {
            let clean = self.redactor.text(content, self.depth);
            self.out.push_str(&clean);
        } else if !content.trim().is_empty() {
            let hash = self
                .redactor
                .hide(content.as_bytes(), HideReason::Unsupported);
            self.out.push_str(&hash);
        }
        let end = tag.end + length;
        let after = end + self.text.get(end..)?.find('>')? + 1;
        let closing = self.text.get(end..after)?;
        self.out.push_str(closing);
        Some(after)
    }

    /// Writes a start tag.
    pub(super) fn attributes(&mut self, at: usize, tag: &Tag, secret: bool, named: bool) {
        let mut from = at;
        for attribute in &tag.attributes {
            let raw = self.text.get(attribute.value.clone()).unwrap_or_default();
            let plain = unescaped(raw);
            let hide = secret
                || self.redactor.secret_names.contains(&attribute.name)
                || (named && !self.is_naming(&attribute.name));
            let declares = attribute.name == "xmlns" || attribute.name.starts_with("xmlns:");
            let clean = if declares || plain.is_empty() {
                continue;
            } else if hide {
                self.redactor.hash(plain.as_bytes())
            } else {
                match self.redactor.string_at(&plain, self.depth + 1) {
                    std::borrow::Cow::Borrowed(_) => continue,
                    std::borrow::Cow::Owned(clean) => {
                        escape(&clean).replace('"', "&quot;").replace('\'', "&#39;")
                    }
                }
            };
            let before = self
                .text
                .get(from..attribute.value.start)
                .unwrap_or_default();
            self.out.push_str(before);
            // An unquoted value gets quotes, so that the replacement does not end it.
            let quoted = before.ends_with(['"', '\'']);
            let bare = if quoted {
                clean
            } else {
                format!("\"{clean}\"")
            };
            self.out.push_str(&bare);
            from = attribute.value.end;
        }
        self.out
            .push_str(self.text.get(from..tag.end).unwrap_or_default());
    }
}
