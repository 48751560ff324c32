//! What rows count, added up before anything else is done with them: a store that was tampered with makes no sum overflow.

use parity_schemas::extent::{Extent, MOST_COUNTED};
use parity_schemas::record::RecordType;
use parity_schemas::tally::{GroupTally, SetTally, Tally};

use crate::error::StoreError;

/// The sum of all counts of some rows.
#[derive(Clone, Copy, Default)]
pub(super) struct Charged(u64);

/// A row of counts.
pub(super) trait Row: Extent {
    const TABLE: RecordType;
    /// By what a person finds it.
    fn name(&self) -> String;
    /// Whether its counts exclude each other. It is asked of what is not too large to be added up.
    fn contradicts_itself(&self) -> bool {
        false
    }
}

impl Row for Tally {
    const TABLE: RecordType = RecordType::Tally;
    fn name(&self) -> String {
        self.route.clone()
    }
    /// Each mismatch is of one class, and both are counted at once. Older programs did not tell the class.
    fn contradicts_itself(&self) -> bool {
        self.counts.classes.values().sum::<u64>() > self.counts.mismatch
    }
}

impl Row for GroupTally {
    const TABLE: RecordType = RecordType::GroupTally;
    fn name(&self) -> String {
        format!("{}, group {}", self.route, self.group.fingerprint)
    }
}

impl Row for SetTally {
    const TABLE: RecordType = RecordType::SetTally;
    fn name(&self) -> String {
        format!("{}, set {}", self.route, self.set_id)
    }
}

impl Charged {
    /// Adds a row.
    pub(super) fn row<T: Row>(&mut self, row: &T) -> Result<(), StoreError> {
        self.rows(row, row.extent())
    }

    /// Adds rows that a store has added up to one, which may have overflown: `extent` has not.
    pub(super) fn rows<T: Row>(&mut self, row: &T, extent: u64) -> Result<(), StoreError> {
        self.0 = self.0.saturating_add(extent);
        if self.0 < MOST_COUNTED && !row.contradicts_itself() {
            return Ok(());
        }
        Err(StoreError::Impossible {
            table: T::TABLE.table(),
            row: row.name(),
        })
    }
}
