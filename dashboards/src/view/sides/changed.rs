//! Which parts of two differing texts are equal, and which have changed.
//!
//! First it finds the common begin and end; then, between them, the words that both have in the same order. It only serves
//! readers: no verdict depends on it. For long texts everything between the equal ends counts as changed.

use parity_schemas::visible::visible;
use similar::{Algorithm, DiffTag, capture_diff_slices};

/// Words are aligned up to this product of their numbers: a thousand by a thousand takes a few milliseconds.
const MAX_WORD_CELLS: usize = 1_000_000;
/// Changes are marked if this share of the longer text is equal. With less, nearly everything would be marked.
const MIN_EQUAL_SHARE: f64 = 0.3;

/// A span of one of the two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span<'a> {
    pub(crate) text: &'a str,
    pub(crate) changed: bool,
}

impl Span<'_> {
    /// The span as it is shown. In changed spans, characters that look like others are written as escapes, too: a no-break
    /// space, a combining accent.
    pub(crate) fn revealed(&self) -> String {
        if !self.changed || self.text.is_ascii() {
            return visible(self.text);
        }
        let mut out = String::new();
        for character in self.text.chars() {
            let lookalike = match character {
                '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{20d0}'..='\u{20ff}' => true,
                _ => character.is_whitespace() && !character.is_ascii(),
            };
            if lookalike {
                out.extend(character.escape_unicode());
            } else {
                out.push_str(&visible(character.encode_utf8(&mut [0; 4])));
            }
        }
        out
    }
}

/// The two texts in spans.
pub(crate) struct Changed<'a> {
    pub(crate) legacy: Vec<Span<'a>>,
    pub(crate) candidate: Vec<Span<'a>>,
}

impl<'a> Changed<'a> {
    pub(crate) fn between(legacy: &'a str, candidate: &'a str) -> Self {
        let (head, one, two) = split_common(legacy, candidate, common_prefix);
        let (tail, one, two) = {
            let suffix = common_suffix(one, two);
            let (one, tail) = one.split_at(one.len() - suffix);
            let (two, _) = two.split_at(two.len() - suffix);
            (tail, one, two)
        };
        let mut changed = Self {
            legacy: Vec::new(),
            candidate: Vec::new(),
        };
        push(&mut changed.legacy, head, false);
        push(&mut changed.candidate, head, false);
        changed.words(one, two);
        push(&mut changed.legacy, tail, false);
        push(&mut changed.candidate, tail, false);
        changed
    }

    /// Whether enough is equal to mark the rest.
    pub(crate) fn are_near(&self) -> bool {
        let share = |spans: &[Span<'_>]| {
            let total: usize = spans.iter().map(|span| span.text.len()).sum();
            let same: usize = spans
                .iter()
                .filter(|span| !span.changed)
                .map(|span| span.text.len())
                .sum();
            same as f64 / total.max(1) as f64
        };
        share(&self.legacy).min(share(&self.candidate)) >= MIN_EQUAL_SHARE
    }

    /// Whether the given texts differ at all; they may have been cut.
    pub(crate) fn any(&self) -> bool {
        let mut spans = self.legacy.iter().chain(&self.candidate);
        spans.any(|span| span.changed)
    }

    fn words(&mut self, one: &'a str, two: &'a str) {
        let (first, second) = (words(one), words(two));
        let cells = first.len().saturating_mul(second.len());
        if cells == 0 || cells > MAX_WORD_CELLS {
            push(&mut self.legacy, one, true);
            push(&mut self.candidate, two, true);
            return;
        }
        for op in capture_diff_slices(Algorithm::Myers, &first, &second) {
            let (old, new) = (op.old_range(), op.new_range());
            // A single space or comma between two changes is marked with them, which is easier to read.
            let island = op.tag() == DiffTag::Equal
                && !first[old.clone()]
                    .iter()
                    .any(|word| word.contains(char::is_alphanumeric));
            let changed = island || op.tag() != DiffTag::Equal;
            for word in &first[old] {
                push(&mut self.legacy, word, changed);
            }
            for word in &second[new] {
                push(&mut self.candidate, word, changed);
            }
        }
        merge(&mut self.legacy, one);
        merge(&mut self.candidate, two);
    }
}

fn push<'a>(spans: &mut Vec<Span<'a>>, text: &'a str, changed: bool) {
    if !text.is_empty() {
        spans.push(Span { text, changed });
    }
}

/// Joins the words of `text`, which are the last of `spans`, into spans.
fn merge<'a>(spans: &mut Vec<Span<'a>>, text: &'a str) {
    let mut length = 0;
    let mut from = spans.len();
    while length < text.len() {
        from -= 1;
        length += spans[from].text.len();
    }
    let words = spans.split_off(from);
    let mut rest = text;
    for run in words.chunk_by(|one, two| one.changed == two.changed) {
        let length = run.iter().map(|word| word.text.len()).sum();
        let (stretch, after) = rest.split_at(length);
        push(spans, stretch, run[0].changed);
        rest = after;
    }
}

fn split_common<'a>(
    legacy: &'a str,
    candidate: &'a str,
    common: impl Fn(&str, &str) -> usize,
) -> (&'a str, &'a str, &'a str) {
    let length = common(legacy, candidate);
    let (head, one) = legacy.split_at(length);
    let (_, two) = candidate.split_at(length);
    (head, one, two)
}

/// Length in bytes of the common begin.
fn common_prefix(one: &str, two: &str) -> usize {
    let pairs = one.chars().zip(two.chars());
    pairs
        .take_while(|(one, two)| one == two)
        .map(|(character, _)| character.len_utf8())
        .sum()
}

fn common_suffix(one: &str, two: &str) -> usize {
    let pairs = one.chars().rev().zip(two.chars().rev());
    pairs
        .take_while(|(one, two)| one == two)
        .map(|(character, _)| character.len_utf8())
        .sum()
}

/// Runs of letters and digits, and everything else character by character.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = if first.is_alphanumeric() {
            rest.find(|character: char| !character.is_alphanumeric())
                .unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spans of one side with the changed ones in brackets.
    fn marked(spans: &[Span<'_>]) -> String {
        let mark = |span: &Span<'_>| {
            let text = span.revealed();
            if span.changed {
                format!("[{text}]")
            } else {
                text
            }
        };
        spans.iter().map(mark).collect()
    }

    #[test]
    fn what_changed_is_told_from_what_did_not() {
        for (legacy, candidate, one, two) in [
            ("12.50", "12.51", "12.5[0]", "12.5[1]"),
            ("\"a\"", "\"ab\"", "\"a\"", "\"a[b]\""),
            (
                "the quick brown fox jumps",
                "the slow brown dog jumps",
                "the [quick] brown [fox] jumps",
                "the [slow] brown [dog] jumps",
            ),
            ("one, two", "three, four", "[one, two]", "[three, four]"),
            ("a\u{a0}b", "a b", "a[\\u{a0}]b", "a[ ]b"),
            ("Zo\u{eb}", "Zoe\u{308}", "Zo[\u{eb}]", "Zo[e\\u{308}]"),
            ("漢字", "漢語", "漢[字]", "漢[語]"),
            ("aa", "aaa", "aa", "aa[a]"),
            ("", "x", "", "[x]"),
        ] {
            let changed = Changed::between(legacy, candidate);
            assert_eq!(
                (marked(&changed.legacy), marked(&changed.candidate)),
                (one.to_owned(), two.to_owned())
            );
            assert!(changed.any());
        }
        assert!(!Changed::between("same", "same").any());
    }

    #[test]
    fn texts_with_little_in_common_are_not_marked() {
        assert!(Changed::between("order 1234567", "order 1234568").are_near());
        assert!(!Changed::between("abcdefghij", "Xbzzzzzzzz").are_near());
    }
}
