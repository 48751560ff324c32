//! Whether the record has changed, for who looks again and again: a page that is open.
//!
//! It is made of what every write moves, and of no counts: a few small rows, where a report reads all of them. A watermark is
//! written each second without traffic, so of it only counts what it says of the tallies behind it.

use std::hash::{DefaultHasher, Hash, Hasher as _};

/// Of a record: another one when that has changed. It has a meaning only within the process that read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u64);

impl Mark {
    /// Of what a store has.
    pub(super) fn of(rows: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        rows.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// It as a number.
    pub fn number(self) -> u64 {
        self.0
    }
}
