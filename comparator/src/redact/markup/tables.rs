//! Tables in markup. If one column has a secret name, all cells of its table are hidden, because cells may span several
//! columns.
//!
//! The names may be at the foot of the table, behind its cells, or in a table of their own that has no other rows, as pages
//! write them that scroll the rows below.

use super::MarkupReader;

/// A table that is open.
#[derive(Default)]
pub(super) struct OpenTable {
    /// Where it begins.
    at: usize,
    /// Number of elements around it.
    around: usize,
    /// Whether one of its columns has a secret name.
    secret: bool,
    /// Rows so far, and cells in the last row.
    rows: usize,
    cells: usize,
    /// Whether a cell of the first row is the name of a secret.
    named: bool,
    /// Whether a cell of any row is.
    speaks: bool,
    /// Cells outside of its head and foot.
    values: usize,
}

impl MarkupReader<'_> {
    pub(super) fn is_column_secret(&self) -> bool {
        self.tables.last().is_some_and(|table| table.secret)
    }

    /// A table nested in a secret cell is secret.
    pub(super) fn table_begins(&mut self, at: usize) {
        let headed = self.headed.take().is_some();
        self.tables.push(OpenTable {
            at,
            around: self.open.len(),
            secret: headed || self.is_column_secret() || self.known.is_table_secret(at),
            ..OpenTable::default()
        });
    }

    /// Drops the tables that are no longer open.
    pub(super) fn tables_end(&mut self) {
        let open = self.open.len();
        let kept = self
            .tables
            .iter()
            .skip(1)
            .take_while(|table| table.around < open)
            .count();
        for ended in self.tables.drain(kept + 1..) {
            self.headed = (ended.secret && ended.values == 0).then_some(ended.at);
        }
    }

    /// Ends a table whose start tag was lost, with its rows.
    pub(super) fn rows_end(&mut self) {
        if let [outside] = self.tables.as_mut_slice() {
            *outside = OpenTable::default();
        }
    }

    pub(super) fn row_or_cell(&mut self, name: &str) {
        match name {
            "tr" | "thead" | "tbody" | "tfoot" => {
                self.row_ended();
                if let Some(table) = self.tables.last_mut().filter(|_| name == "tr") {
                    table.rows += 1;
                }
            }
            "td" | "th" => {
                let head = self.is_within(&["thead", "tfoot"]);
                if let Some(table) = self.tables.last_mut() {
                    table.cells += 1;
                    table.values += usize::from(name == "td" && !head);
                }
            }
            _ => {}
        }
    }

    /// The first row is a header if it has several cells.
    pub(super) fn row_ended(&mut self) {
        if let Some(table) = self.tables.last_mut() {
            table.secret |= table.named && table.cells > 1;
            table.named = false;
            table.cells = 0;
        }
    }

    /// Ends a header whose start tag was lost.
    pub(super) fn head_ended(&mut self) {
        if let Some(table) = self.tables.last_mut() {
            table.secret |= table.speaks;
        }
    }

    /// Notes a label that may be the header of a column: it is outside of any cell, or in a `<th>`, or in `<thead>`, or
    /// in the first row unless a colon tells that the value follows.
    pub(super) fn is_head_of_column(&mut self, label: &str) {
        let Some(place) = self.nearest_of_table() else {
            return;
        };
        let is_cell = place == "td";
        let foot = self.is_within(&["tfoot"])
            && (!is_cell || self.redactor.secret_names.contains_exactly(label.trim()));
        let head = foot || self.is_within(&["thead"]);
        let leads_on = label.trim_end().ends_with([':', '=', '：', '＝']);
        let outside = self.tables.len() == 1;
        if let Some(table) = self.tables.last_mut() {
            if foot && !outside {
                self.found.tables.insert(table.at);
            }
            table.secret |= !is_cell || head;
            table.speaks = true;
            table.named |= table.rows <= 1 && !leads_on;
        }
    }

    /// Whether the position is in one of these parts of the innermost table.
    fn is_within(&self, parts: &[&str]) -> bool {
        let names = self.open.iter().rev().map(|open| open.name.as_str());
        names
            .take_while(|name| *name != "table")
            .any(|name| parts.contains(&name))
    }

    /// The innermost open element that is part of a table.
    pub(super) fn nearest_of_table(&self) -> Option<&str> {
        let names = self.open.iter().rev().map(|open| open.name.as_str());
        names
            .into_iter()
            .find(|name| matches!(*name, "td" | "th" | "tr" | "thead" | "tbody" | "table"))
    }
}
