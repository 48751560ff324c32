//! Tables in markup: a column with a secret name makes all cells of its table secret, because cells may span several.

use super::Reader;

/// A table that is open.
#[derive(Default)]
pub(super) struct Table {
    /// Elements around it.
    around: usize,
    /// One of its columns has a secret name.
    secret: bool,
    /// Rows so far, and cells of the last one.
    rows: usize,
    cells: usize,
    /// A cell of the first row is the name of a secret.
    named: bool,
    /// A cell of any row is.
    speaks: bool,
}

impl Reader<'_> {
    pub(super) fn is_column_secret(&self) -> bool {
        self.tables.last().is_some_and(|table| table.secret)
    }

    /// Within a secret cell, all is secret.
    pub(super) fn table_begins(&mut self) {
        self.tables.push(Table {
            around: self.open.len(),
            secret: self.is_column_secret(),
            ..Table::default()
        });
    }

    /// Of tables that are no longer open.
    pub(super) fn tables_end(&mut self) {
        let open = self.open.len();
        let kept = self
            .tables
            .iter()
            .skip(1)
            .take_while(|table| table.around < open)
            .count();
        self.tables.truncate(kept + 1);
    }

    /// The end of a table whose begin was lost, with rows that stood in none.
    pub(super) fn rows_end(&mut self) {
        if let [outside] = self.tables.as_mut_slice() {
            *outside = Table::default();
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
                if let Some(table) = self.tables.last_mut() {
                    table.cells += 1;
                }
            }
            _ => {}
        }
    }

    /// The first row is a head if it has several cells.
    pub(super) fn row_ended(&mut self) {
        if let Some(table) = self.tables.last_mut() {
            table.secret |= table.named && table.cells > 1;
            table.named = false;
            table.cells = 0;
        }
    }

    /// The end of a head whose begin was lost.
    pub(super) fn head_ended(&mut self) {
        if let Some(table) = self.tables.last_mut() {
            table.secret |= table.speaks;
        }
    }

    /// A label in a table is the head of a column: in none of its cells, in one of its head, and in one of the first row
    /// unless a colon says that the value is beside it.
    pub(super) fn is_head_of_column(&mut self, label: &str) {
        let Some(place) = self.nearest_of_table() else {
            return;
        };
        let is_cell = place == "td";
        let names = self.open.iter().rev().map(|open| open.name.as_str());
        let head = names
            .take_while(|name| *name != "table")
            .any(|name| name == "thead");
        let leads_on = label.trim_end().ends_with([':', '=', '：', '＝']);
        if let Some(table) = self.tables.last_mut() {
            table.secret |= !is_cell || head;
            table.speaks = true;
            table.named |= table.rows <= 1 && !leads_on;
        }
    }

    /// The innermost element of a table that is open.
    pub(super) fn nearest_of_table(&self) -> Option<&str> {
        let names = self.open.iter().rev().map(|open| open.name.as_str());
        names
            .into_iter()
            .find(|name| matches!(*name, "td" | "th" | "tr" | "thead" | "tbody" | "table"))
    }
}
