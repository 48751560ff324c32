//! Text between tags, comments, and what a text says of what stands beside it.

use std::ops::Range;

use super::known::HOLDING;
use super::{Dialect, Reader, Tag, escape, is_naming, name_at, strict, unescaped};
use crate::redact::Redactor;
use crate::redact::hidden::Why;
use crate::redact::last_word;

/// Longest text that is taken for the label of what follows.
const MAX_LABEL_BYTES: usize = 64;
/// Remarks that may stand between a label and its value.
const MAX_REMARKS: usize = 4;
/// Elements of what one of them names at the most; else it is a document that speaks of a secret.
const MAX_CHILDREN: usize = 8;
/// Elements that are a label as a whole.
const LABELS: [&str; 11] = [
    "caption", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "label", "legend", "th",
];
/// Other elements in which labels and values stand.
const ENDED: [&str; 15] = [
    "a", "b", "code", "dd", "div", "em", "li", "p", "pre", "small", "span", "strong", "table",
    "td", "tr",
];
/// Elements that make a table or a list of terms.
const BEGUN: [&str; 9] = [
    "dd", "dt", "table", "tbody", "td", "tfoot", "th", "thead", "tr",
];
/// Elements with remarks, or with what to do about a value.
pub(super) const REMARKS: [&str; 7] = ["a", "abbr", "button", "label", "small", "sub", "sup"];

/// The label that was last read.
#[derive(Default)]
pub(super) struct Label {
    /// How many elements were open, the one that is the label among them; 0 where none is, or no longer.
    pub(super) open: usize,
    /// It is a link, so links behind it hold other things.
    pub(super) linked: bool,
    /// A link, or the like, began that has no end.
    pub(super) begun: bool,
    /// Texts that may still be taken for a remark on it.
    remarks: usize,
}

impl Reader<'_> {
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
            // What is left of a name still names what follows.
            if remains && self.redactor.names.are_among(raw) {
                self.labelled();
                self.name_siblings(text);
                self.is_head_of_column(text);
            }
            // A colon, or the star of what must be filled in.
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
            self.name_siblings(&plain);
            self.is_head_of_column(&plain);
        }
    }

    /// Whether the end of an element of a page stands in a text, or the begin of one of a table, without the sign that it
    /// begins with.
    fn holds_end(&self, raw: &str) -> bool {
        let is_tag = |before: &str| {
            let begun = before
                .rsplit(char::is_whitespace)
                .next()
                .is_some_and(|word| BEGUN.iter().any(|name| is_one_sign_before(word, name)));
            let ended = before.rsplit_once('<').is_some_and(|(_, word)| {
                let mut known = BEGUN.iter().chain(&LABELS).chain(&ENDED);
                known.any(|name| is_one_sign_before(word, name))
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

    /// What was just read names what comes next.
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

    /// Whether a text behind a label is no value, or need not be the only one: signs, something in parentheses, what leads
    /// on, what is still within the label, and links.
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

    /// A comment. Where tags are in it, they are sound, or nothing of it stays.
    pub(super) fn comment(&mut self, content: &str) {
        let piece = || strict::form_of(content).is_some_and(|form| form.is_piece());
        let clean = if content.contains(['<', '>']) && !piece() {
            self.redactor
                .hide(content.as_bytes(), Why::Invalid("markup"))
                .into()
        } else {
            self.redactor.string_at(content, self.depth + 1)
        };
        self.out.push_str("<!--");
        self.out.push_str(&clean.replace("--", "- -"));
        self.out.push_str("-->");
    }

    /// The element that is open is called `name` or the like, and its text is the name of a secret: in XML, the elements
    /// beside it hold its value, also those before it. Where its text is that and nothing else, those behind it do in any
    /// case.
    pub(super) fn name_siblings(&mut self, label: &str) {
        let [.., parent, own] = self.open.as_mut_slice() else {
            return;
        };
        if self.dialect == Dialect::Html || parent.naming.is_some() {
            return;
        }
        let naming = is_naming(&own.name) || last_word::says_name(name_at(self.text, own.at + 1));
        if naming || self.redactor.names.are_exactly(label.trim()) {
            parent.naming = Some(own.name.clone());
            parent.rewritten = naming && (2..=MAX_CHILDREN).contains(&parent.children);
        }
    }

    /// The same of an element whose text is in an attribute: `<name value="password"/>`.
    pub(super) fn is_named_by_value(&mut self, lower: &str, tag: &Tag) {
        let Some(parent) = self.open.last_mut() else {
            return;
        };
        if self.dialect == Dialect::Html || parent.naming.is_some() {
            return;
        }
        let holds = |name: &str| HOLDING.iter().any(|held| name.eq_ignore_ascii_case(held));
        let names = &self.redactor.names;
        let secret = tag.attributes.iter().any(|attribute| {
            let value = self.text.get(attribute.value.clone()).unwrap_or_default();
            holds(&attribute.name) && names.are_named(&unescaped(value))
        });
        if secret && (is_naming(lower) || last_word::says_name(&tag.name)) {
            parent.naming = Some(lower.to_owned());
            parent.rewritten = (2..=MAX_CHILDREN).contains(&parent.children);
        }
    }

    /// Whether what stands beside a name of a secret begins here. Where names and values take turns, only the next is.
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

    /// Whether a text is, or ends in, a secret name and so says what follows.
    pub(super) fn is_label(&self, text: &str) -> bool {
        let text = text.trim();
        let name = text.trim_end_matches([':', '=', '：', '＝']).trim_end();
        let words: Vec<&str> = name.split_whitespace().collect();
        let count = words.len();
        if name.len() < text.len() {
            // What leads on to a value may be a whole sentence.
            let sentence = name.rsplit(". ").next();
            if sentence.is_some_and(|sentence| self.redactor.names.are_among(sentence)) {
                return true;
            }
        } else if count > 3 || name.len() > MAX_LABEL_BYTES {
            return false;
        }
        let last = words.get(count.saturating_sub(3)..).unwrap_or_default();
        self.redactor.names.contain(&last.join(" "))
    }
}

/// Whether a text may be what a tag leaves that lost its begin: it has the end of one, and attributes or the name of a
/// secret; or its end stands right behind something, as nobody writes it there. Arrows and comparisons are neither.
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
            || redactor.names.are_among(&rest))
}

/// What stands between the tags of a piece.
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

/// Whether a word is this name, or it behind one other sign.
fn is_one_sign_before(word: &str, name: &str) -> bool {
    word.len()
        .checked_sub(name.len())
        .and_then(|at| word.split_at_checked(at))
        .is_some_and(|(before, end)| {
            before.chars().nth(1).is_none() && end.eq_ignore_ascii_case(name)
        })
}
