//! HTML elements whose end tag is optional: they end where the next of their kind begins.

use super::{Dialect, MarkupReader};

/// Container elements: an element within one never ends an element outside of it.
const BLOCKS: [&str; 21] = [
    "article", "body", "button", "details", "div", "dl", "fieldset", "form", "html", "main",
    "menu", "nav", "object", "ol", "section", "select", "table", "td", "template", "th", "ul",
];

/// Whether the end tag of an element is optional.
pub(super) fn may_stay_open(name: &str) -> bool {
    ended_by(name).is_some()
}

/// The elements that the start of this one ends, and the containers that this does not reach beyond.
fn ended_by(name: &str) -> Option<(&'static [&'static str], &'static [&'static str])> {
    Some(match name {
        "li" => (&["li"], &BLOCKS),
        "dt" | "dd" => (&["dt", "dd"], &BLOCKS),
        "p" => (&["p"], &BLOCKS),
        "option" => (&["option"], &BLOCKS),
        "td" | "th" => (&["td", "th"], &["table", "tr"]),
        "tr" => (&["tr", "td", "th"], &["table"]),
        "thead" | "tbody" | "tfoot" => (&["tr", "td", "th", "thead", "tbody", "tfoot"], &["table"]),
        _ => return None,
    })
}

/// Whether an element is a part of a table.
pub(super) fn is_of_table(name: &str) -> bool {
    ["td", "th", "tr", "thead", "tbody", "tfoot"].contains(&name)
}

impl MarkupReader<'_> {
    /// Closes the elements that the one at `at` ends.
    pub(super) fn end_before(&mut self, name: &str, at: usize) -> Option<()> {
        let Some((kinds, around)) = ended_by(name) else {
            return Some(());
        };
        let mut found = None;
        for (index, open) in self.open.iter().enumerate().rev() {
            if kinds.contains(&&*open.name) {
                found = Some(index);
            } else if around.contains(&&*open.name) || open.hidden.is_some() {
                // Hidden content ends only with its own element.
                break;
            }
        }
        match found {
            Some(found) => self.end(found, at),
            None => Some(()),
        }
    }

    /// The end of the text closes elements whose end tag is optional.
    pub(super) fn end_with_the_text(&mut self) -> Option<()> {
        let hidden = self.hidden.and_then(|outer| self.open.get(outer));
        if self.dialect == Dialect::Html && hidden.is_some_and(|open| may_stay_open(&open.name)) {
            return self.end(0, self.text.len());
        }
        Some(())
    }
}
