//! Forms, YAML, events and multipart bodies in strings. Such a string is redacted as plain text. If parsing it reveals
//! a secret that the patterns missed, the whole string is hidden.

use super::body::is_framed;
use super::{Redactor, strings};
use crate::{events, form, yaml};

/// Lines of secret values that are searched for in the redacted text; each search costs the length of the text.
const MAX_LINES: usize = 16;
/// JSON takes at most this many times the bytes of the YAML that it was made from, if that has no aliases.
const GROWTH: usize = 6;
/// Nesting of YAML in a string; people write only a few levels.
const MAX_LEVELS: usize = 64;

impl Redactor {
    /// Whether parsing the text reveals a secret that `shown`, the text as redacted by patterns, still contains.
    pub(super) fn hides_more(&self, text: &str, shown: &str, depth: usize) -> bool {
        // The query of a URL may be a form, too.
        let query = text.split_once('?').map(|(_, query)| query);
        let mut forms = std::iter::once(text)
            .chain(query)
            .filter(|fields| fields.contains('&') && strings::is_form(fields))
            .peekable();
        if forms.peek().is_some() {
            return self.mentions_secret(text)
                && forms.any(|fields| {
                    !self.is_whole_form(fields)
                        || self.is_visible(&form::to_json(fields), text, shown, depth)
                });
        }
        if !text.contains('\n') {
            return false;
        }
        let framed = text.starts_with("--") && is_framed(text);
        if !((framed || begins_as_fields(text)) && self.mentions_secret(text)) {
            return false;
        }
        if framed && text.to_ascii_lowercase().contains("content-disposition:") {
            return true;
        }
        if text.lines().any(|line| line.starts_with("data:")) && events::is_strict(text) {
            let events = events::to_json(text, &mut |_| false);
            return self.is_visible(&events, text, shown, depth);
        }
        let limit = text.len() * GROWTH + MAX_LEVELS;
        match yaml::documents(text, MAX_LEVELS, limit) {
            Ok(documents) => documents
                .iter()
                .filter(|json| json.starts_with(b"{") || json.starts_with(b"["))
                .any(|json| self.is_visible(json, text, shown, depth)),
            Err(yaml::YamlError::Limit(_)) => true,
            Err(yaml::YamlError::Syntax(_)) => false,
        }
    }

    /// Whether a line of a secret value is in the redacted text. Also true if a line is not in the original text,
    /// because then it is written there in another form that cannot be searched for.
    fn is_visible(&self, json: &[u8], text: &str, shown: &str, depth: usize) -> bool {
        let Some(values) = self.hidden_in(json, text.contains('*'), depth + 1) else {
            return true;
        };
        let mut lines = values
            .iter()
            .flat_map(|value| value.lines())
            .map(str::trim)
            .filter(|line| !line.is_empty());
        lines
            .by_ref()
            .take(MAX_LINES)
            .any(|line| !text.contains(line) || shown.contains(line))
            || lines.next().is_some()
    }
}

/// Whether the first line of a text may be YAML or an event: a short name and a colon, a list item, or a document
/// marker.
fn begins_as_fields(text: &str) -> bool {
    /// Longer names are sentences.
    const MAX_WORDS: usize = 3;
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !(line.is_empty() || line.starts_with('#')));
    first.is_some_and(|line| {
        let item = line.trim_start_matches(['-', '?', ' ']);
        let name = match item.split_once(": ") {
            Some((name, _)) => Some(name),
            None => item
                .strip_suffix(':')
                .or_else(|| Some(item.split_once(':')?.0)),
        };
        item.is_empty()
            || line.starts_with(['-', '%', '!', '&'])
            || name.is_some_and(|name| name.split_whitespace().count() <= MAX_WORDS)
    })
}
