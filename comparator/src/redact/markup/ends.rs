//! End tags: what they close, and what becomes of the content that was hidden until there.

use super::characters::without_tags;
use super::known::RAW;
use super::tag::name_at;
use super::{Dialect, MarkupReader, implied, unescaped};

impl MarkupReader<'_> {
    pub(super) fn close(&mut self, at: usize, end: usize) -> Option<()> {
        self.follows = None;
        let name = name_at(self.text, at + 2).to_ascii_lowercase();
        let found = self.open.iter().rposition(|open| open.name == name);
        // An end tag within a table does not close elements around the table.
        let found = found.filter(|found| {
            let mut within = self.open.iter().skip(found + 1);
            !implied::is_of_table(&name) || within.all(|open| open.name != "table")
        });
        let Some(found) = found else {
            // HTML allows a stray end tag. But if its start tag was lost, the text before it was its content.
            let content = self.redactor.secret_names.contains(&name) || RAW.contains(&&*name);
            if self.dialect == Dialect::Xml || content {
                return None;
            }
            match &*name {
                "thead" => self.head_ended(),
                "table" => self.rows_end(),
                _ => {}
            }
            let tag = self.text.get(at..end)?;
            self.push(tag);
            return Some(());
        };
        if self.dialect == Dialect::Xml && found + 1 != self.open.len() {
            return None;
        }
        self.end(found, at)?;
        if name == "tr" {
            self.row_ended();
        }
        let tag = self.text.get(at..end)?;
        self.push(tag);
        Some(())
    }

    /// Closes the elements from `found` on, at `at`.
    pub(super) fn end(&mut self, found: usize, at: usize) -> Option<()> {
        /// Longest hidden content that may be a label.
        const MAX_BYTES: usize = 512;
        let mut labelled = false;
        // Hidden content ends with its own element, or with one around it.
        if let Some(outer) = self.hidden
            && found <= outer
        {
            let from = self.open.get(outer).and_then(|open| open.hidden)?;
            let content = self.text.get(from..at)?;
            self.hidden = None;
            if self.open.get(outer).is_some_and(|open| open.name == "th") {
                self.is_head_of_column("");
            }
            if content.trim().is_empty() {
                self.emptied = true;
            } else {
                let hash = self.redactor.hash(content.trim().as_bytes());
                self.out.push_str(&hash);
                // Hidden content may itself be the label of another value.
                let short = content.len() <= MAX_BYTES && !content.contains("<input");
                let plain = short.then(|| unescaped(&without_tags(content)));
                if let Some(plain) = plain.filter(|plain| self.is_label(plain)) {
                    self.label_found();
                    self.name_siblings(&plain);
                    labelled = self.dialect == Dialect::Html
                        || !plain.trim().contains(char::is_whitespace);
                    if labelled {
                        self.is_head_of_column(&plain);
                    }
                }
            }
        } else {
            self.emptied = false;
        }
        let ended = self.open.get(found);
        if let Some(open) = ended.filter(|open| open.rewritten && self.hidden.is_none()) {
            let content = self.text.get(open.content..at)?;
            let hash = self.redactor.hash(content.trim().as_bytes());
            self.out.truncate(open.written);
            self.out.push_str(&hash);
        }
        self.open.truncate(found);
        self.tables_end();
        if self.open.len() < self.label.open {
            self.label.open = 0;
        }
        if labelled {
            self.labelled();
        }
        Some(())
    }
}
