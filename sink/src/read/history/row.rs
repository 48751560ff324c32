//! The rows that stores give to a history, and how much may be added up of them.

use parity_schemas::extent::MOST_COUNTED;
use parity_schemas::record::RecordType;
use parity_schemas::time::Timestamp;

use super::cell::Cell;
use crate::error::StoreError;

/// A row: the counts of one identity and route, of one tally or of several in one bucket.
#[derive(Clone, Copy, Debug)]
pub(in crate::read) struct Row<'a> {
    /// When its first interval began.
    pub(in crate::read) first: i64,
    /// When its last one began.
    pub(in crate::read) last: i64,
    /// Versions of legacy and candidate, and the hash of the rules.
    pub(in crate::read) identity: [&'a str; 3],
    /// `METHOD /template`.
    pub(in crate::read) route: &'a str,
    pub(in crate::read) counts: Cell,
}

/// Mismatches of one set of groups in one bucket.
#[derive(Clone, Copy, Debug)]
pub(in crate::read) struct SetRow<'a> {
    /// When one of its intervals began.
    pub(in crate::read) begins: i64,
    /// Of legacy and candidate.
    pub(in crate::read) versions: [&'a str; 2],
    pub(in crate::read) route: &'a str,
    pub(in crate::read) set_id: &'a str,
    /// Those that count by their class.
    pub(in crate::read) counting: u64,
    /// Those about which is never asked again.
    pub(in crate::read) never_asked: u64,
}

/// One group in one bucket.
#[derive(Clone, Copy, Debug)]
pub(in crate::read) struct GroupRow<'a> {
    /// When one of its intervals began.
    pub(in crate::read) begins: i64,
    pub(in crate::read) route: &'a str,
    pub(in crate::read) fingerprint: &'a str,
    pub(in crate::read) count: u64,
    pub(in crate::read) first_seen: Timestamp,
    pub(in crate::read) last_seen: Timestamp,
}

/// All that was counted, so that no sum overflows.
#[derive(Default)]
pub(super) struct Charge(u64);

impl Charge {
    /// Counts what a row of this table has; an error if there cannot be so much.
    pub(super) fn add(
        &mut self,
        table: RecordType,
        route: &str,
        extent: u64,
    ) -> Result<(), StoreError> {
        self.0 = self.0.saturating_add(extent);
        if self.0 < MOST_COUNTED {
            return Ok(());
        }
        Err(StoreError::Impossible {
            table: table.table(),
            row: route.to_owned(),
        })
    }
}
