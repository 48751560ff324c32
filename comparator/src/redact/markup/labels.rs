//! Labels that do not stand directly before their values: those that name a control by its `id`, those that stand in one
//! element with it or behind it, and the names of columns at the foot of a table.
//!
//! A label behind its value is known only when the value has been written. So the text is read a second time, with what
//! the first reading has found.

use std::collections::HashSet;

use super::tag::Tag;
use super::{Dialect, MarkupReader, unescaped};

/// Elements with a value that a person gives.
const CONTROLS: [&str; 6] = ["input", "meter", "output", "progress", "select", "textarea"];
/// Types of inputs that no label names.
const UNLABELLED: [&str; 5] = ["button", "hidden", "image", "reset", "submit"];
/// Elements around a label that may have the `id` by which something else refers to it.
const MAX_AROUND: usize = 4;

/// What names values anywhere in a text.
#[derive(Default)]
pub(super) struct Found {
    /// Ids of controls that a secret label is for.
    fields: HashSet<String>,
    /// Ids of elements that hold a secret label.
    labels: HashSet<String>,
    /// Where controls begin that the label behind them names.
    controls: HashSet<usize>,
    /// Where tables begin whose foot names a secret column.
    pub(super) tables: HashSet<usize>,
}

impl Found {
    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
            && self.labels.is_empty()
            && self.controls.is_empty()
            && self.tables.is_empty()
    }
}

/// What the first reading found; nothing while it reads.
#[derive(Default)]
pub(super) struct Known(Found);

impl Known {
    pub(super) fn of(found: Found) -> Self {
        Self(found)
    }

    pub(super) fn is_table_secret(&self, at: usize) -> bool {
        self.0.tables.contains(&at)
    }
}

/// The controls near the position.
#[derive(Default)]
pub(super) struct Controls {
    /// Where the last control begins that no label names so far.
    unnamed: Option<usize>,
    /// Whether that control is in a label of its own.
    within: bool,
    waiting: Waiting,
    /// Whether an element refers to its label by an id.
    refers: bool,
    /// Whether a cell with the role of a column's header has a secret name.
    grid: bool,
}

/// What waits for the next control.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Waiting {
    #[default]
    Nothing,
    Label,
    SecretLabel,
}

impl Controls {
    pub(super) fn of(text: &str, dialect: Dialect) -> Self {
        Self {
            refers: dialect == Dialect::Html
                && text.to_ascii_lowercase().contains("aria-labelledby"),
            ..Self::default()
        }
    }
}

/// What an open element says for what stands elsewhere.
#[derive(Default)]
pub(super) struct Mark {
    /// Its `for` or `id`.
    id: Option<String>,
    /// Whether it has the role of a column's header.
    head: bool,
}

impl MarkupReader<'_> {
    /// Whether a label elsewhere says that the value of this element is secret.
    pub(super) fn is_labelled_elsewhere(&self, lower: &str, at: usize, tag: &Tag) -> bool {
        let Found {
            fields,
            labels,
            controls,
            ..
        } = &self.known.0;
        if controls.contains(&at) {
            return true;
        }
        if fields.is_empty() && labels.is_empty() {
            return false;
        }
        tag.attributes.iter().any(|attribute| {
            let value = || unescaped(self.text.get(attribute.value.clone()).unwrap_or_default());
            if attribute.name.eq_ignore_ascii_case("id") {
                lower != "label" && fields.contains(value().trim())
            } else if attribute.name.eq_ignore_ascii_case("aria-labelledby") {
                value().split_whitespace().any(|id| labels.contains(id))
            } else {
                false
            }
        })
    }

    /// Notes a control, or the label that waits for one. True for the control that a secret label has been waiting for,
    /// whatever stands between the two.
    pub(super) fn is_awaited(&mut self, lower: &str, tag: &Tag) -> bool {
        if lower == "label" {
            self.controls.waiting = Waiting::Label;
            if std::mem::take(&mut self.controls.within) {
                self.controls.unnamed = None;
            }
            return false;
        }
        if !CONTROLS.contains(&lower)
            || UNLABELLED.contains(&&*value_of(self.text, tag, "type").to_ascii_lowercase())
        {
            return false;
        }
        let waiting = std::mem::take(&mut self.controls.waiting);
        let label = waiting != Waiting::Nothing;
        self.controls.within = self.open.iter().any(|open| open.name == "label");
        self.controls.unnamed = (!label || self.controls.within).then_some(tag.at);
        waiting == Waiting::SecretLabel
    }

    /// Notes that the innermost open elements hold the label of a secret.
    pub(super) fn label_found(&mut self) {
        let around = || self.open.iter().rev().take(MAX_AROUND);
        self.controls.grid |= around().any(|open| open.mark.head);
        let Some(label) = around().find(|open| open.name == "label") else {
            if self.controls.refers {
                let ids = around().filter_map(|open| open.mark.id.clone());
                self.found.labels.extend(ids);
            }
            return;
        };
        // A control within the label, or directly before it.
        let before = self.controls.unnamed.take();
        if before.is_none_or(|control| control < label.at) {
            self.controls.waiting = Waiting::SecretLabel;
        }
        self.found.controls.extend(before);
        self.found.fields.extend(label.mark.id.clone());
    }

    /// Whether a tag begins a cell of a grid without a table that has a secret column.
    pub(super) fn is_grid_cell(&self, tag: &Tag) -> bool {
        self.controls.grid && ["cell", "gridcell"].contains(&&*value_of(self.text, tag, "role"))
    }
}

pub(super) fn mark_of(text: &str, lower: &str, tag: &Tag) -> Mark {
    let name = if lower == "label" { "for" } else { "id" };
    Mark {
        id: Some(value_of(text, tag, name)).filter(|id| !id.is_empty()),
        head: value_of(text, tag, "role") == "columnheader",
    }
}

/// The value of an attribute; empty if there is none.
fn value_of(text: &str, tag: &Tag, name: &str) -> String {
    let mut attributes = tag.attributes.iter();
    let found = attributes.find(|attribute| attribute.name.eq_ignore_ascii_case(name));
    let value = found.and_then(|found| text.get(found.value.clone()));
    unescaped(value.unwrap_or_default()).trim().to_owned()
}
