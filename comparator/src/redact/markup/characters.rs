//! Text between tags, comments, and which text is a label for what.

use std::ops::Range;

use super::known::HOLDING;
use super::{Dialect, MarkupReader, Tag, escape, is_naming, name_at, strict, unescaped};
use crate::redact::Redactor;
use crate::redact::hidden::HideReason;
use crate::redact::last_word;

/// Longest text that may be a label.
const MAX_LABEL_BYTES: usize = 64;
/// Most remarks between a label and its value.
const MAX_REMARKS: usize = 4;
/// Most children of an element in which one child names the others; with more, it is a document that mentions a secret.
const MAX_CHILDREN: usize = 8;
/// Elements that are a label as a whole.
const LABELS: [&str; 11] = [
    "caption", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "label", "legend", "th",
];
/// Other elements that hold labels and values.
const ENDED: [&str; 15] = [
    "a", "b", "code", "dd", "div", "em", "li", "p", "pre", "small", "span", "strong", "table",
    "td", "tr",
];
/// Elements of tables and of lists of terms.
const BEGUN: [&str; 9] = [
    "dd", "dt", "table", "tbody", "td", "tfoot", "th", "thead", "tr",
];
/// Elements that hold remarks, or controls for a value.
pub(super) const REMARKS: [&str; 7] = ["a", "abbr", "button", "label", "small", "sub", "sup"];

/// The label that was last read.
#[derive(Default)]
pub(super) struct Label {
    /// Number of open elements, including the label; 0 if there is none.
    pub(super) open: usize,
    /// Whether it is a link, so that links after it hold other things.
    pub(super) linked: bool,
    /// Whether a link or similar element began that has no end tag.
    pub(super) begun: bool,
    /// How many more texts may be remarks on it.
    remarks: usize,
}

impl MarkupReader<'_> {
    /// Text between tags.
    pub(super) fn characters(&mut self, span: Range<usize>, escaped: bool) {
        let raw = self.text.get(span).unwrap_or_default();
        self.broken |= escaped && self.holds_end(raw);
        if self.hidden.is_some() {
            return;
        }
        let plain = if escaped {
            unescaped(raw)
        } else {
            raw.to_owned()
        };
        if plain.trim().is_empty() {
            self.out.push_str(raw);
            return;
        }
        let emptied = std::mem::take(&mut self.emptied);
        let labelled = std::mem::take(&mut self.labelled);
        let remains = escaped && was_tag(self.redactor, raw, self.dialect);
        let cell = self.is_column_secret() && self.nearest_of_table() != Some("th");
        if labelled || emptied || cell || remains {
            let text = plain.trim();
            let begun = std::mem::take(&mut self.label.begun);
            if labelled
                && self.label.remarks > 0
                && (remains || begun || self.is_remark(text) || self.is_label(text))
            {
                self.label.remarks -= 1;
                self.labelled = true;
            }
            // The rest of a damaged name still names what follows.
            if remains && self.redactor.secret_names.any_word_of(raw) {
                self.labelled();
                self.name_siblings(text);
                self.is_head_of_column(text);
            }
            // A colon, or the star of a required field.
            if text.chars().count() == 1 && !text.contains(char::is_alphanumeric) && !cell {
                self.out.push_str(raw);
                return;
            }
            let (begin, end) = (raw.trim_start(), raw.trim());
            let blank = raw.len() - begin.len();
            self.out.push_str(raw.get(..blank).unwrap_or_default());
            let hash = self.redactor.hash(text.as_bytes());
            self.out.push_str(&hash);
            self.out
                .push_str(raw.get(blank + end.len()..).unwrap_or_default());
            return;
        }
        let clean = self.redactor.string_at(&plain, self.depth + 1);
        if clean == plain {
            self.out.push_str(raw);
        } else if escaped {
            self.out.push_str(&escape(&clean));
        } else {
            self.out.push_str(&clean.replace("]]>", "] ]>"));
        }
        if self.is_label(&plain) {
            self.labelled();
            self.label_found();
            self.name_siblings(&plain);
            self.is_head_of_column(&plain);
        }
    }

    /// Whether a text holds the end tag of a known element, or the start tag of one of a table, with its first
    /// character lost.
    fn holds_end(&self, raw: &str) -> bool {
        let is_tag = |before: &str| {
            let begun = before
                .rsplit(char::is_whitespace)
                .next()
                .is_some_and(|word| BEGUN.iter().any(|name| is_after_one_character(word, name)));
            let ended = before.rsplit_once('<').is_some_and(|(_, word)| {
                let mut known = BEGUN.iter().chain(&LABELS).chain(&ENDED);
                known.any(|name| is_after_one_character(word, name))
            });
            begun
                || ended
                || before.rsplit_once('/').is_some_and(|(text, name)| {
                    let mut known = LABELS.iter().chain(&ENDED);
                    !text.ends_with("lt;") && known.any(|known| name.eq_ignore_ascii_case(known))
                })
        };
        self.dialect == Dialect::Html
            && raw.contains('>')
            && raw.split('>').rev().skip(1).any(is_tag)
    }

    /// Notes that the last text is a label for what comes next.
    pub(super) fn labelled(&mut self) {
        let last = self.open.last().map(|open| open.name.as_str());
        let is_one_of = |names: &[&str]| last.is_some_and(|last| names.contains(&last));
        self.label.open = if is_one_of(&LABELS) {
            self.open.len()
        } else {
            0
        };
        self.label.linked = is_one_of(&["a", "button"]);
        self.label.remarks = MAX_REMARKS;
        self.labelled = true;
    }

    /// Whether a text after a label is a remark, so that the value may still follow: punctuation, parentheses, a text
    /// that ends in a colon, the rest of the label, or a link.
    fn is_remark(&self, text: &str) -> bool {
        let last = self.open.last().map(|open| open.name.as_str());
        let letters = text.chars().filter(|sign| sign.is_alphanumeric());
        letters.take(2).count() < 2
            || (text.starts_with('(') && text.ends_with(')'))
            || text.ends_with([':', '=', '：', '＝'])
            || (self.label.open > 0 && self.open.len() >= self.label.open)
            || (self.dialect == Dialect::Html
                && !self.label.linked
                && last.is_some_and(|last| REMARKS.contains(&last)))
    }

    /// Redacts a comment. If it contains tags that are not well formed, all of it is hidden.
    pub(super) fn comment(&mut self, content: &str) {
        let piece = || strict::structure_of(content).is_some_and(|form| form.is_piece());
        let clean = if content.contains(['<', '>']) && !piece() {
            self.redactor
                .hide(content.as_bytes(), HideReason::Invalid("markup"))
                .into()
        } else {
            self.redactor.string_at(content, self.depth + 1)
        };
        self.out.push_str("<!--");
        self.out.push_str(&clean.replace("--", "- -"));
        self.out.push_str("-->");
    }

    /// Notes that the text of the innermost element is the name of a secret. In XML, the siblings of an element called
    /// `name` or the like hold its value, also those before it. If the text is exactly a secret name, those after it do
    /// in any case.
    pub(super) fn name_siblings(&mut self, label: &str) {
        let [.., parent, own] = self.open.as_mut_slice() else {
            return;
        };
        if self.dialect == Dialect::Html || parent.naming.is_some() {
            return;
        }
        let naming = is_naming(&own.name) || last_word::says_name(name_at(self.text, own.at + 1));
        if naming || self.redactor.secret_names.contains_exactly(label.trim()) {
            parent.naming = Some(own.name.clone());
            parent.rewritten = naming && (2..=MAX_CHILDREN).contains(&parent.children);
        }
    }

    /// The same for an element whose text is in an attribute: `<name value="password"/>`.
    pub(super) fn is_named_by_value(&mut self, lower: &str, tag: &Tag) {
        let Some(parent) = self.open.last_mut() else {
            return;
        };
        if self.dialect == Dialect::Html || parent.naming.is_some() {
            return;
        }
        let holds = |name: &str| HOLDING.iter().any(|held| name.eq_ignore_ascii_case(held));
        let names = &self.redactor.secret_names;
        let secret = tag.attributes.iter().any(|attribute| {
            let value = self.text.get(attribute.value.clone()).unwrap_or_default();
            holds(&attribute.name) && names.contains_label(&unescaped(value))
        });
        if secret && (is_naming(lower) || last_word::says_name(&tag.name)) {
            parent.naming = Some(lower.to_owned());
            parent.rewritten = (2..=MAX_CHILDREN).contains(&parent.children);
        }
    }

    /// The same for an empty element with nothing but the name in it: `<c n="password"/><c v="…"/>`. What follows directly
    /// holds the value, too.
    pub(super) fn names_what_follows(&mut self, lower: &str, tag: &Tag) {
        if self.dialect == Dialect::Html || !tag.closed || tag.attributes.is_empty() {
            return;
        }
        let names = &self.redactor.secret_names;
        let mut secret = false;
        for attribute in &tag.attributes {
            if !self.is_naming(&attribute.name) {
                return;
            }
            let value = self.text.get(attribute.value.clone()).unwrap_or_default();
            secret |= names.contains_exactly(unescaped(value).trim());
        }
        if secret {
            self.follows = Some(tag.end);
            if let Some(parent) = self.open.last_mut().filter(|open| open.naming.is_none()) {
                parent.naming = Some(lower.to_owned());
            }
        }
    }

    /// Whether the element that begins here is the sibling of an element that names a secret. If names and values
    /// alternate, only the next sibling is.
    pub(super) fn is_named(&mut self, name: &str) -> bool {
        let Some(parent) = self.open.last_mut() else {
            return false;
        };
        parent.children += 1;
        if parent.naming.as_deref() == Some(name) {
            parent.naming = None;
            parent.rewritten = false;
        }
        parent.naming.is_some()
    }

    /// Whether a text is a secret name or ends in one, so that it names what follows.
    pub(super) fn is_label(&self, text: &str) -> bool {
        let text = text.trim();
        let name = text.trim_end_matches([':', '=', '：', '＝']).trim_end();
        let verbs = [" is", " was", " ist"];
        let name = verbs
            .iter()
            .find_map(|verb| name.strip_suffix(verb))
            .unwrap_or(name);
        let words: Vec<&str> = name.split_whitespace().collect();
        let count = words.len();
        if name.len() < text.len() {
            // A text that ends in a colon or a verb may be a whole sentence.
            let sentence = name.rsplit(". ").next();
            if sentence.is_some_and(|sentence| self.redactor.secret_names.any_word_of(sentence)) {
                return true;
            }
        } else if count > 3 || name.len() > MAX_LABEL_BYTES {
            return false;
        }
        let last = words.get(count.saturating_sub(3)..).unwrap_or_default();
        self.redactor.secret_names.contains(&last.join(" "))
    }
}

/// Whether a text may be the rest of a tag that lost its start: it contains `>` and also `=` or a secret name, or the
/// `>` directly follows a character that no text has there. Arrows and comparisons do not count.
fn was_tag(redactor: &Redactor, raw: &str, dialect: Dialect) -> bool {
    if !raw.contains('>') {
        return false;
    }
    let signs = ["=>", ">=", "==", "->"];
    let rest = signs
        .iter()
        .fold(raw.to_owned(), |rest, sign| rest.replace(sign, " "));
    let ends = |before: char| {
        matches!(before, '/' | '"' | '\'') || (dialect == Dialect::Xml && before.is_alphanumeric())
    };
    rest.contains('>')
        && (rest.contains('=')
            || rest
                .split('>')
                .rev()
                .skip(1)
                .any(|before| before.ends_with(ends))
            || redactor.secret_names.any_word_of(&rest))
}

/// The text of a piece, without its tags.
pub(super) fn without_tags(content: &str) -> String {
    content
        .split('<')
        .enumerate()
        .map(|(at, piece)| match piece.split_once('>') {
            Some((_, text)) if at > 0 => text,
            _ => piece,
        })
        .collect()
}

/// Whether a word is this name, or this name after one other character.
fn is_after_one_character(word: &str, name: &str) -> bool {
    word.len()
        .checked_sub(name.len())
        .and_then(|at| word.split_at_checked(at))
        .is_some_and(|(before, end)| {
            before.chars().nth(1).is_none() && end.eq_ignore_ascii_case(name)
        })
}
