//! Rules that leave out parts of a text: what the groups of a regular expression capture may differ, and nothing else.
//!
//! The expression is looked for everywhere in both texts. Each captured part is replaced by one mark, and then the texts
//! must be the same. So a text in which it is not found is compared whole, and so is what an optional group leaves out.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};

/// Memory of a compiled expression: thousands of states, far more than people can read.
const MAX_COMPILED_BYTES: usize = 1 << 20;
/// Largest text in which parts are left out, and most places; with more it is compared whole. Each search may read all of
/// the rest, so a hostile text could cost both multiplied: less than a second.
const MAX_TEXT_BYTES: usize = 256 * 1024;
const MAX_PLACES: usize = 256;
/// Stands for a captured part. No UTF-8 has this byte.
const MARK: u8 = 0xff;

/// A regular expression with groups.
#[derive(Clone)]
pub(crate) struct Parts(Regex);

impl Parts {
    /// Compiles an expression; the error says what is wrong with it.
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        let regex = RegexBuilder::new(pattern)
            .size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|error| error.to_string())?;
        if regex.captures_len() < 2 {
            return Err("it has no group, so it leaves nothing out".to_owned());
        }
        Ok(Self(regex))
    }

    /// Whether two texts are the same but for the captured parts.
    pub(crate) fn leave_equal(&self, one: &[u8], two: &[u8]) -> bool {
        self.without(one)
            .is_some_and(|one| Some(one) == self.without(two))
    }

    /// What the groups capture; `None` if the text is too long, or it is too often found. Some may be within others.
    pub(crate) fn captured(&self, text: &[u8]) -> Option<Vec<Range<usize>>> {
        if text.len() > MAX_TEXT_BYTES {
            return None;
        }
        let mut parts = Vec::new();
        for (place, captures) in self.0.captures_iter(text).enumerate() {
            if place >= MAX_PLACES {
                return None;
            }
            let groups = captures.iter().skip(1).flatten();
            parts.extend(groups.map(|part| part.range()));
        }
        // A group within another one is left out with it.
        parts.sort_by_key(|part| (part.start, std::cmp::Reverse(part.end)));
        Some(parts)
    }

    /// Whether the captured parts are all of a text: what is left is white space.
    pub(crate) fn leave_nothing(&self, text: &[u8]) -> bool {
        let mut end = 0;
        let is_blank = |range: Range<usize>| {
            let between = text.get(range).unwrap_or_default();
            between.iter().all(u8::is_ascii_whitespace)
        };
        let Some(parts) = self.captured(text).filter(|parts| !parts.is_empty()) else {
            return false;
        };
        for part in parts {
            if !is_blank(end..part.start.max(end)) {
                return false;
            }
            end = end.max(part.end);
        }
        is_blank(end..text.len())
    }

    fn without(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        let mut copied = 0;
        for part in self.captured(text)? {
            if part.start >= copied {
                out.extend_from_slice(&text[copied..part.start]);
                out.push(MARK);
                copied = part.end;
            }
        }
        out.extend_from_slice(&text[copied..]);
        Some(out)
    }
}

/// As it is written: this text is part of the hash of the rules.
impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_str().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_captured_may_differ() {
        for (pattern, one, two, equal) in [
            (
                r"in (\d+) ms on node-(\d+)",
                "settled in 95 ms on node-0",
                "settled in 7 ms on node-12",
                true,
            ),
            (
                r"in (\d+) ms on node-(\d+)",
                "settled in 95 ms on node-0",
                "failed in 95 ms on node-0",
                false,
            ),
            (
                r"in (\d+) ms",
                "settled in 95 ms on node-0",
                "settled in 95 ms on node-1",
                false,
            ),
            (
                r"in (\d+) ms",
                "settled in 95 ms",
                "settled in NaN ms",
                false,
            ),
            (r"in (\d+) ms", "settled in 95 ms", "", false),
            // Found more than once.
            (
                r#"value="([^"]+)""#,
                r#"<a value="x"><b value="y">"#,
                r#"<a value="1"><b value="2">"#,
                true,
            ),
            (
                r#"value="([^"]+)""#,
                r#"<a value="x"><b value="y">"#,
                r#"<a value="1"><b value="">"#,
                false,
            ),
            (
                r#"value="([^"]+)""#,
                r#"<a value="x">"#,
                r#"<a value="1"><b value="2">"#,
                false,
            ),
            // A group that takes no part is another text; an empty one is not.
            (r"a(b)?c", "abc", "ac", false),
            (r"a(b?)c", "abc", "ac", true),
            // Groups within groups, and beside each other.
            (r"((\d+)-(\d+))x", "12-3x", "4-56x", true),
            (r"(\d+)(\w)", "12a", "3b", true),
            // Nothing is anchored unless the expression says so.
            (r"^id (\d+)$", "id 12", "id 3", true),
            (r"^id (\d+)$", "an id 12", "an id 3", false),
            (r"(?m)^# (.*)$", "# a\nx\n", "# b\nx\n", true),
            (r"(?m)^# (.*)$", "# a\nx\n", "# b\ny\n", false),
            // An expression that matches nothing at all costs nothing.
            (r"()", "ab", "ab", true),
            (r"()", "ab", "cd", false),
        ] {
            let parts = Parts::new(pattern).expect("an expression");
            let found = parts.leave_equal(one.as_bytes(), two.as_bytes());
            assert_eq!(found, equal, "{pattern}: {one} {two}");
            let swapped = parts.leave_equal(two.as_bytes(), one.as_bytes());
            assert_eq!(swapped, equal, "{pattern}: {two} {one}");
        }
    }

    #[test]
    fn an_expression_that_captures_a_whole_text_leaves_nothing_of_it() {
        for (pattern, text, nothing) in [
            ("(?s)(.*)", "a\nb", true),
            ("(.)", "a\nb", true),
            ("^(.*)$", "a b ", true),
            ("^(.*)$", "a\nb", false),
            (r"(\d+)", "12", true),
            (r"(\d+)", "12 ms", false),
            (r"in (\d+) ms", "in 12 ms", false),
            ("(a)|(b)", "ab", true),
            ("(x)", "", false),
        ] {
            let parts = Parts::new(pattern).expect("an expression");
            assert_eq!(
                parts.leave_nothing(text.as_bytes()),
                nothing,
                "{pattern}: {text}"
            );
        }
    }

    #[test]
    fn what_is_too_long_or_found_too_often_is_compared_whole() {
        let parts = Parts::new(r"x(\d)").expect("an expression");
        for (count, equal) in [(MAX_PLACES, true), (MAX_PLACES + 1, false)] {
            let [one, two] = ["x1", "x2"].map(|text| text.repeat(count));
            assert_eq!(parts.leave_equal(one.as_bytes(), two.as_bytes()), equal);
        }
        for (length, equal) in [(MAX_TEXT_BYTES - 2, true), (MAX_TEXT_BYTES - 1, false)] {
            let [one, two] = ["x1", "x2"].map(|text| format!("{text}{}", " ".repeat(length)));
            assert_eq!(parts.leave_equal(one.as_bytes(), two.as_bytes()), equal);
        }
    }

    #[test]
    fn what_leaves_nothing_out_or_is_too_large_is_refused() {
        for pattern in ["abc", "(?:a)b", "a(", r"(\w{100}){100}(x)", "(?P<a"] {
            assert!(Parts::new(pattern).is_err(), "{pattern}");
        }
    }
}
