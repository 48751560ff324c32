//! Encoded rows of one table, as a whole and in halves.
//!
//! When a server refuses rows for a fault of their own it does not say which. So they are halved until the one that is
//! to blame stands alone; nothing is copied on the way.

use bytes::Bytes;
use parity_schemas::record::RecordType;

use super::insert::EncodedRows;

/// Rows of one table, complete.
pub(crate) struct Table {
    rows: EncodedRows,
    ends: Vec<usize>,
    sources: Vec<usize>,
}

impl Table {
    pub(super) fn new(
        table: RecordType,
        bytes: Vec<u8>,
        ends: Vec<usize>,
        sources: Vec<usize>,
    ) -> Self {
        Self {
            rows: EncodedRows {
                table,
                bytes: Bytes::from(bytes),
            },
            ends,
            sources,
        }
    }

    pub(crate) fn whole(&self) -> Slice<'_> {
        Slice {
            rows: self.rows.clone(),
            begin: 0,
            ends: &self.ends,
            sources: &self.sources,
        }
    }
}

/// Some of the rows of a table.
pub(crate) struct Slice<'a> {
    pub(crate) rows: EncodedRows,
    /// Where the rows begin, and where each ends, counted from the first byte of the whole table.
    begin: usize,
    ends: &'a [usize],
    /// For each row, the number that its record was added under.
    pub(crate) sources: &'a [usize],
}

impl Slice<'_> {
    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The same rows of the same batch have the same token; other rows have another.
    pub(crate) fn token(&self, name: &str) -> String {
        let first = self.sources.first().copied().unwrap_or_default();
        format!("{name}-{first}+{}", self.sources.len())
    }

    pub(crate) fn halves(&self) -> (Self, Self) {
        let middle = self.ends.len() / 2;
        let (first_ends, second_ends) = self.ends.split_at(middle);
        let (first_sources, second_sources) = self.sources.split_at(middle);
        let cut = first_ends.last().copied().unwrap_or(self.begin);
        let half = |bytes| EncodedRows {
            table: self.rows.table,
            bytes,
        };
        (
            Self {
                rows: half(self.rows.bytes.slice(..cut - self.begin)),
                begin: self.begin,
                ends: first_ends,
                sources: first_sources,
            },
            Self {
                rows: half(self.rows.bytes.slice(cut - self.begin..)),
                begin: cut,
                ends: second_ends,
                sources: second_sources,
            },
        )
    }
}
