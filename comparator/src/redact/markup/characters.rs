//! Text between tags, comments, and what a text says of what stands beside it.

use std::ops::Range;

use super::{Dialect, Reader, escape, is_naming, strict, unescaped};
use crate::redact::Redactor;
use crate::redact::hidden::Why;

/// Longest text that is taken for the label of what follows.
const MAX_LABEL_BYTES: usize = 64;

impl Reader<'_> {
    /// Text between tags.
    pub(super) fn characters(&mut self, span: Range<usize>, escaped: bool) {
        if self.hidden.is_some() {
            return;
        }
        let raw = self.text.get(span).unwrap_or_default();
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
        let cell = self.secret_column && self.nearest_of_table() != Some("th");
        if labelled || emptied || cell || remains {
            // What is left of a name still names what follows.
            self.labelled = remains && self.redactor.names.are_among(raw);
            self.is_head_of_column();
            let (begin, end) = (raw.trim_start(), raw.trim());
            let blank = raw.len() - begin.len();
            self.out.push_str(raw.get(..blank).unwrap_or_default());
            let hash = self.redactor.hash(plain.trim().as_bytes());
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
        self.labelled = self.is_label(&plain);
        if self.labelled {
            self.name_siblings();
        }
        self.is_head_of_column();
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

    /// A label in a table that is in none of its cells is the head of a column.
    fn is_head_of_column(&mut self) {
        if self.labelled {
            let place = self.nearest_of_table();
            self.secret_column |= place.is_some_and(|place| place != "td");
        }
    }

    /// The innermost element of a table that is open.
    fn nearest_of_table(&self) -> Option<&str> {
        let names = self.open.iter().rev().map(|open| open.name.as_str());
        names
            .into_iter()
            .find(|name| matches!(*name, "td" | "th" | "tr" | "thead" | "tbody" | "table"))
    }

    /// The element that is open is called `name` or the like, and its text is the name of a secret: in XML, the elements
    /// beside it hold its value, also those before it.
    pub(super) fn name_siblings(&mut self) {
        /// Elements of what is named so at the most; else it is a document that speaks of a secret.
        const MAX_CHILDREN: usize = 8;
        let [.., parent, own] = self.open.as_mut_slice() else {
            return;
        };
        if self.dialect == Dialect::Xml && is_naming(&own.name) && parent.naming.is_none() {
            parent.naming = Some(own.name.clone());
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
        if name.len() == text.len() && (count > 3 || name.len() > MAX_LABEL_BYTES) {
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
