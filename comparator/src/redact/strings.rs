//! Redacts a text of the service, wherever it occurs: a JSON string, an attribute, a header, a whole body.
//!
//! Its start tells what it is: JSON, XML or HTML, GraphQL, a form, or base64 of one of these. Each is redacted by its
//! structure, and a text that starts as one but cannot be parsed is hidden. Anything else is plain text. Texts nested
//! in texts are followed up to a limit.

use std::borrow::Cow;

use super::encoded::MIN_BASE64_BYTES;
use super::hidden::HideReason;
use super::{Redactor, graphql, markup};
use crate::notation::index::{Index, Layout};

/// Most levels of texts nested in texts: each level of escaping doubles the text, so people stop at two or three.
const MAX_DEPTH: usize = 6;

impl Redactor {
    /// The text with its secrets replaced; the text itself if it has none.
    pub(super) fn string<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.string_at(text, 0)
    }

    /// The same for a text that is nested in `depth` others.
    pub(super) fn string_at<'t>(&self, text: &'t str, depth: usize) -> Cow<'t, str> {
        if is_simple(text) {
            return Cow::Borrowed(text);
        }
        let hidden = |why| Cow::Owned(self.hide(text.as_bytes(), why));
        if depth >= MAX_DEPTH {
            return hidden(HideReason::Limit);
        }
        let begin = text.trim_start_matches(|character: char| {
            character.is_whitespace() || parity_schemas::visible::is_hidden(character)
        });
        let read = if self.claims_json(begin) {
            match self.nested_json(begin, depth + 1) {
                Some(shown) => Ok(shown),
                None if claims_graphql(begin) => {
                    graphql::redacted(self, begin, depth).ok_or("GraphQL")
                }
                None => Err("JSON"),
            }
        } else if claims_markup(begin) {
            markup::redacted(self, begin, None, depth + 1).ok_or("markup")
        } else if claims_graphql(begin) {
            graphql::redacted(self, begin, depth).ok_or("GraphQL")
        } else {
            return self.unstructured(text, begin, depth);
        };
        match read {
            Ok(shown) if shown == begin => Cow::Borrowed(text),
            Ok(shown) => {
                let blank = text.len() - begin.len();
                Cow::Owned(format!("{}{shown}", text.get(..blank).unwrap_or_default()))
            }
            Err(kind) => hidden(HideReason::Invalid(kind)),
        }
    }

    /// Whether a text begins as JSON. A text that begins with `[[` or `{}` is often something else, so it counts only
    /// if it parses or mentions a secret.
    pub(super) fn claims_json(&self, begin: &str) -> bool {
        let often_else = || {
            let inner = begin.get(1..).unwrap_or_default().trim_start();
            (begin.starts_with('[') && inner.starts_with('['))
                || (begin.starts_with('{') && inner.starts_with('}'))
        };
        claims_json(begin)
            && (!often_else()
                || Index::default()
                    .read(begin.as_bytes(), Layout::Document, crate::limits::MAX_DEPTH)
                    .is_ok()
                || self.mentions_secret(begin))
    }

    fn unstructured<'t>(&self, text: &'t str, begin: &str, depth: usize) -> Cow<'t, str> {
        // JSON that is a string, a number or a list of them.
        if may_be_json(begin)
            && let Some(shown) = self.nested_value(begin, depth + 1)
        {
            return if shown == begin {
                Cow::Borrowed(text)
            } else {
                Cow::Owned(shown)
            };
        }
        if self.holds_encoded(begin, depth) {
            return Cow::Owned(self.hide(text.as_bytes(), HideReason::Requested));
        }
        if has_tags(text) {
            match markup::redacted(self, text, None, depth + 1) {
                Some(shown) if shown == text => return Cow::Borrowed(text),
                Some(shown) => return Cow::Owned(shown),
                None if self.secret_names.any_word_of(text) => {
                    return Cow::Owned(self.hide(text.as_bytes(), HideReason::Invalid("markup")));
                }
                None => {}
            }
        }
        if is_rest_of_json(text) {
            return Cow::Owned(self.hide(text.as_bytes(), HideReason::Invalid("JSON")));
        }
        if text.contains('&') {
            let plain = markup::unescaped(text);
            if plain != text
                && let Cow::Owned(clean) = self.string_at(&plain, depth + 1)
            {
                return Cow::Owned(markup::escape(&clean));
            }
        }
        let shown = self.text(text, depth);
        if self.hides_more(text, &shown, depth) {
            return Cow::Owned(self.hide(text.as_bytes(), HideReason::Requested));
        }
        shown
    }
}

/// Whether a text cannot hold a secret that is recognized by its look: it has no punctuation and few digits. Most
/// values are like this.
fn is_simple(text: &str) -> bool {
    let mut digits = 0;
    let simple = text.bytes().all(|byte| {
        digits += usize::from(byte.is_ascii_digit());
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
    });
    simple && digits < 13 && text.len() < MIN_BASE64_BYTES && !text.contains("--")
}

/// Whether a text begins as an object, or as a list of more than bare words, in JSON or a similar syntax.
pub(super) fn claims_json(begin: &str) -> bool {
    let inner = |text: &str| text.trim_start().chars().next();
    if let Some(rest) = begin.strip_prefix('[') {
        return matches!(inner(rest), Some('{' | '[' | '"'));
    }
    let Some(rest) = begin.strip_prefix('{') else {
        return false;
    };
    let rest = rest.trim_start();
    match rest.chars().next() {
        None | Some('"' | '\'' | '}' | ':' | '\\') => true,
        _ => {
            let name = rest.trim_start_matches(|character: char| {
                character.is_alphanumeric() || matches!(character, '_' | '-' | '$' | '.')
            });
            name.len() < rest.len() && name.trim_start().starts_with([':', '='])
        }
    }
}

/// Whether a text looks like a JSON object that lost a character: it has members and a closing bracket, but the
/// brackets do not match.
fn is_rest_of_json(text: &str) -> bool {
    text.trim_end().ends_with(['}', ']'])
        && text.contains("\":")
        && (text.trim_start().starts_with('{')
            || [('{', '}'), ('[', ']')]
                .iter()
                .any(|(open, close)| text.matches(*open).count() != text.matches(*close).count()))
}

/// Whether a text may be JSON without claiming to be: a string, a number, a list of words.
pub(super) fn may_be_json(begin: &str) -> bool {
    begin.starts_with(['"', '[', '-']) || begin.starts_with(|digit: char| digit.is_ascii_digit())
}

/// Whether a text begins with a tag, a comment or a declaration. An address in angle brackets is none: messages have them,
/// and as a tag it would be kept with the secrets in it.
pub(super) fn claims_markup(begin: &str) -> bool {
    let mut characters = begin.chars();
    let is_address = begin.starts_with("<https://") || begin.starts_with("<http://");
    !is_address
        && characters.next() == Some('<')
        && characters
            .next()
            .is_some_and(|next| next.is_alphabetic() || matches!(next, '!' | '?' | '/' | '_'))
}

/// Whether a text contains tags.
fn has_tags(text: &str) -> bool {
    text.contains('>')
        && text
            .match_indices('<')
            .any(|(at, _)| text.get(at..).is_some_and(claims_markup))
}

/// Whether a text begins as an operation or fragment of GraphQL, or as the short form of a query.
pub(super) fn claims_graphql(begin: &str) -> bool {
    let mut begin = begin;
    while begin.starts_with('#') {
        begin = begin
            .split_once('\n')
            .map_or("", |(_, rest)| rest)
            .trim_start();
    }
    let word = |text: &str| {
        text.find(|character: char| !(character.is_alphanumeric() || character == '_'))
            .unwrap_or(text.len())
    };
    if let Some(rest) = begin.strip_prefix('{') {
        let rest = rest.trim_start();
        let after = rest.get(word(rest)..).unwrap_or_default();
        return after.len() < rest.len()
            && begin.trim_end().ends_with('}')
            && after.trim_start().starts_with(['(', '{', '}', ':']);
    }
    let (first, rest) = begin.split_at(word(begin));
    matches!(first, "query" | "mutation" | "subscription" | "fragment") && rest.contains('{')
}

/// Whether a text consists of form fields only: names and values without spaces, separated by `&`.
pub(super) fn is_form(text: &str) -> bool {
    let text = text.trim_end();
    text.contains('=')
        && !text.contains("://")
        && text.chars().all(|sign| {
            (sign.is_ascii_graphic() || sign.is_alphanumeric())
                && !matches!(sign, '<' | '>' | '"' | '{' | '}')
        })
        && text
            .split('&')
            .all(|field| !field.is_empty() && !field.starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_claims_to_be() {
        for json in [
            "{\"a\":1}",
            "{ }",
            "{a: 1}",
            "{'a'",
            "[{",
            "[ \"a\"]",
            "{",
            "{:a=>1}",
        ] {
            assert!(claims_json(json), "{json}");
        }
        for text in [
            "[INFO] x",
            "{name} is here",
            "[12:30] x",
            "text",
            "",
            "{bad json",
            "{{name}}",
        ] {
            assert!(!claims_json(text), "{text}");
        }
        for markup in ["<a>", "<?xml ?>", "<!DOCTYPE html>", "</a>"] {
            assert!(claims_markup(markup), "{markup}");
        }
        assert!(!claims_markup("<3") && !claims_markup("< b") && !claims_markup("a<b>"));
        for query in [
            "query { a }",
            "mutation M($p: String!) { b }",
            "{ me { id } }",
            "# c\n{me(id: 1) {id}}",
        ] {
            assert!(claims_graphql(query), "{query}");
        }
        assert!(!claims_graphql("query of a user") && !claims_graphql("{name} is here"));
        assert!(is_form("a=1&b=%20") && is_form("user%5Bpassword%5D=x\n"));
        assert!(!is_form("a = 1") && !is_form("https://x/?a=1") && !is_form("a==&&"));
    }
}
