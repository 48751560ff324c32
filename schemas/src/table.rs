//! The tables of a store. Each column is declared once, next to the record that has it as a field.
//!
//! A record has a macro that lists its columns (`mismatch_columns!`, `tally_columns!`, …), a line for each:
//!
//! ```text
//! Fixed query: Text = query, since 1;
//! ```
//!
//! In this order: what a repeated write does with it ([`Role`]), for tables whose rows are added up also how ([`Fold`], as in
//! `Grown(Sum)`), its name, how it is stored ([`Form`]), the field of
//! the record, and the step that adds the column, if it is not in the tables of `sqlite/` and `clickhouse/`. Code that
//! reads or writes a table is generated from these lines: lists of names, types, order, and steps.
//!
//! Such a macro takes the name of another macro, and calls it with `[the other arguments]` and the lines.

mod fold;
mod form;
mod steps;

pub use fold::Fold;
pub use form::*;
pub(crate) use steps::{STEPS, clickhouse_steps, in_order, sqlite_steps};

use crate::record::RecordType;

/// What a repeated write of one id does with a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Identifies the row.
    Key,
    /// Is the same in all writes of one row.
    Fixed,
    /// May change; the value of the highest revision is valid.
    Grown,
}

/// A column of a table, in every store.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name, which is also that of the field of the record.
    pub name: &'static str,
    /// See [`Role`].
    pub role: Role,
    /// Its type in `SQLite`.
    pub sqlite: &'static str,
    /// The value for older rows in `SQLite`, as a literal.
    pub absent: &'static str,
    /// Its type in `ClickHouse`.
    pub stored: &'static str,
    /// How `ClickHouse` compresses it; empty for the usual way.
    pub codec: &'static str,
    /// Its type in inserts into `ClickHouse`, which builds dictionaries itself.
    pub sent: &'static str,
    /// How many pieces it has in the `Native` format of `ClickHouse`.
    pub pieces: usize,
    /// How a reader adds it up.
    pub fold: Fold,
    /// The step that adds it; 0 if it is in the files.
    pub since: u32,
}

impl Column {
    /// A column of this form.
    pub const fn new<F: Form>(name: &'static str, role: Role, since: u32) -> Self {
        Self {
            name: column_name(name),
            role,
            sqlite: F::SQLITE,
            absent: F::ABSENT,
            stored: F::STORED,
            codec: F::CODEC,
            sent: F::SENT,
            pieces: F::PIECES,
            fold: Fold::Nothing,
            since,
        }
    }

    /// The same column, summed this way.
    #[must_use]
    pub const fn folded(mut self, fold: Fold) -> Self {
        self.fold = fold;
        self
    }
}

/// The name of a column, from the identifier of its field (without `r#`).
pub const fn column_name(identifier: &'static str) -> &'static str {
    match identifier.as_bytes() {
        [b'r', b'#', ..] => identifier.split_at(2).1,
        _ => identifier,
    }
}

macro_rules! columns {
    ([] $($role:ident $(($fold:ident))? $name:ident: $form:ident = $($path:ident).+ $(, since $step:literal)?;)*) => {
        &[$(Column::new::<$form>(stringify!($name), Role::$role, 0 $(+ $step)?)$(.folded(Fold::$fold))?),*]
    };
}

/// The columns of `mismatches`.
pub const MISMATCHES: &[Column] = crate::mismatch_columns!(columns);
/// The columns of `tallies`.
pub const TALLIES: &[Column] = crate::tally_columns!(columns);
/// The columns of `group_tallies`.
pub const GROUP_TALLIES: &[Column] = crate::group_tally_columns!(columns);
/// The columns of `set_tallies`.
pub const SET_TALLIES: &[Column] = crate::set_tally_columns!(columns);
/// The columns of `watermarks`.
pub const WATERMARKS: &[Column] = crate::watermark_columns!(columns);
/// The columns of `terms`.
pub const TERMS: &[Column] = crate::terms_columns!(columns);
/// The columns of `audit`.
pub const AUDIT: &[Column] = crate::audit_columns!(columns);
/// The columns of `decisions`.
pub const DECISIONS: &[Column] = crate::decision_columns!(columns);

impl RecordType {
    /// The columns of its table.
    pub const fn columns(self) -> &'static [Column] {
        match self {
            Self::Mismatch => MISMATCHES,
            Self::Tally => TALLIES,
            Self::GroupTally => GROUP_TALLIES,
            Self::SetTally => SET_TALLIES,
            Self::Decision => DECISIONS,
            Self::Terms => TERMS,
            Self::Audit => AUDIT,
            Self::Watermark => WATERMARKS,
        }
    }
}

#[cfg(test)]
mod tests;
