//! The tables of a store, of which each column is declared once, beside the record that it is a field of.
//!
//! A record has a macro that lists its columns (`mismatch_columns!`, `tally_columns!`, …), a line for each:
//!
//! ```text
//! Fixed query: Text = query, since 1;
//! ```
//!
//! That is what a repeated write does with it ([`Role`]), its name, how it is stored ([`Form`]), where the record has it,
//! and, where the tables of the files in `sqlite/` and `clickhouse/` have no such column, the step that adds it. Whoever
//! reads or writes a table makes everything of these lines: the lists of names, the types, the order, and the steps.
//!
//! A macro is called with the name of another one, which gets `[what was given besides]` and the lines.

mod form;
mod steps;

pub use form::*;
pub(crate) use steps::{STEPS, clickhouse_steps, in_order, sqlite_steps};

use crate::record::RecordType;

/// What a repeated write of one id does with a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// By these a store knows that it is the same row.
    Key,
    /// Never differs between two writes of one row.
    Fixed,
    /// That of the highest revision is the truth.
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
    /// What rows of `SQLite` have that are older than it, as a literal.
    pub absent: &'static str,
    /// Its type in `ClickHouse`.
    pub stored: &'static str,
    /// How `ClickHouse` compresses it; empty for the usual way.
    pub codec: &'static str,
    /// Its type as it is sent to `ClickHouse`, which makes dictionaries itself.
    pub sent: &'static str,
    /// Of how many pieces the `Native` format of `ClickHouse` consists for it.
    pub pieces: usize,
    /// The step that adds it; 0 for one that the files have.
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
            since,
        }
    }
}

/// The name of a column that is an identifier of Rust.
pub const fn column_name(identifier: &'static str) -> &'static str {
    match identifier.as_bytes() {
        [b'r', b'#', ..] => identifier.split_at(2).1,
        _ => identifier,
    }
}

macro_rules! columns {
    ([] $($role:ident $name:ident: $form:ident = $($path:ident).+ $(, since $step:literal)?;)*) => {
        &[$(Column::new::<$form>(stringify!($name), Role::$role, 0 $(+ $step)?)),*]
    };
}

/// The columns of `mismatches`.
pub const MISMATCHES: &[Column] = crate::mismatch_columns!(columns);
/// The columns of `tallies`.
pub const TALLIES: &[Column] = crate::tally_columns!(columns);
/// The columns of `group_tallies`.
pub const GROUP_TALLIES: &[Column] = crate::group_tally_columns!(columns);
/// The columns of `watermarks`.
pub const WATERMARKS: &[Column] = crate::watermark_columns!(columns);
/// The columns of `decisions`.
pub const DECISIONS: &[Column] = crate::decision_columns!(columns);

impl RecordType {
    /// The columns of its table.
    pub const fn columns(self) -> &'static [Column] {
        match self {
            Self::Mismatch => MISMATCHES,
            Self::Tally => TALLIES,
            Self::GroupTally => GROUP_TALLIES,
            Self::Decision => DECISIONS,
            Self::Watermark => WATERMARKS,
        }
    }
}

#[cfg(test)]
mod tests;
