//! The mark of a database.

use clickhouse::Row;
use serde::Deserialize;

use super::ClickHouseReader;
use crate::error::StoreError;
use crate::read::mark::Mark;

#[derive(Row, Deserialize)]
struct MarkRow {
    runs: u64,
    counted: u64,
    mismatches: u64,
    groups: u64,
    decisions: u64,
    changes: u64,
}

impl ClickHouseReader {
    pub(super) fn read_mark(&self) -> Result<Mark, StoreError> {
        let question = self.server.client().query(SELECT_MARK);
        let rows = self.ask::<MarkRow>(question)?;
        let numbers = rows.iter().map(|row| {
            [
                row.runs,
                row.counted,
                row.mismatches,
                row.groups,
                row.decisions,
                row.changes,
            ]
        });
        Ok(Mark::of(numbers.collect::<Vec<_>>()))
    }
}

/// Numbers of rows are known to the server without reading any. A merge changes them, too: then somebody looks once in vain.
const SELECT_MARK: &str = "SELECT count() AS runs, groupBitXor(cityHash64(toString(w.id), w.tallies, w.received, w.settled, \
     w.in_groups, w.in_sets, w.ended, w.open, toString(w.terms))) AS counted, \
     assumeNotNull((SELECT count() FROM mismatches)) AS mismatches, \
     assumeNotNull((SELECT count() FROM group_tallies)) AS groups, \
     assumeNotNull((SELECT count() FROM decisions)) AS decisions, \
     assumeNotNull((SELECT count() FROM audit)) AS changes FROM watermarks AS w FINAL";
