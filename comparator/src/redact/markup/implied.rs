//! Elements of HTML that end where the next of their kind begins.

use super::{Dialect, Reader};

/// Elements that hold others, and within which those begin anew.
const BLOCKS: [&str; 21] = [
    "article", "body", "button", "details", "div", "dl", "fieldset", "form", "html", "main",
    "menu", "nav", "object", "ol", "section", "select", "table", "td", "template", "th", "ul",
];

/// Whether an element may have no end of its own.
pub(super) fn may_stay_open(name: &str) -> bool {
    ended_by(name).is_some()
}

/// Which elements end where one of this name begins, and what around them they do not leave.
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

/// Whether an element is a part of the table around it.
pub(super) fn is_of_table(name: &str) -> bool {
    ["td", "th", "tr", "thead", "tbody", "tfoot"].contains(&name)
}

impl Reader<'_> {
    /// Ends what the element that begins at `at` ends.
    pub(super) fn end_before(&mut self, name: &str, at: usize) -> Option<()> {
        let Some((kinds, around)) = ended_by(name) else {
            return Some(());
        };
        let mut found = None;
        for (index, open) in self.open.iter().enumerate().rev() {
            if kinds.contains(&&*open.name) {
                found = Some(index);
            } else if around.contains(&&*open.name) || open.hidden.is_some() {
                // What is hidden ends only with itself.
                break;
            }
        }
        match found {
            Some(found) => self.end(found, at),
            None => Some(()),
        }
    }

    /// Where the text ends, so does what need not have an end.
    pub(super) fn end_with_the_text(&mut self) -> Option<()> {
        let hidden = self.hidden.and_then(|outer| self.open.get(outer));
        if self.dialect == Dialect::Html && hidden.is_some_and(|open| may_stay_open(&open.name)) {
            return self.end(0, self.text.len());
        }
        Some(())
    }
}
