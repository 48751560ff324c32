//! By what a reader knows which counts have changed since it read them.
//!
//! `SQLite` keeps a mark of each five minutes that triggers move. Here there is none: what is not changed in one place, but
//! replaced by a later row, has nothing to trigger. So a mark is made of the rows themselves: of the key, the revision and the main counts
//! of each, which no merge of parts changes. That reads a few columns where a report reads all.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use clickhouse::Row;
use parity_schemas::record::RecordType;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use serde::Deserialize;

use super::ClickHouseReader;
use super::replicas::{BY_ORIGIN, ORIGIN};
use crate::error::StoreError;
use crate::read::Selection;
use crate::remembered::{Marks, SLOT_MICROS};

/// The tables that counts are in, with what makes a row of them.
const TABLES: [(RecordType, &str); 3] = [
    (
        RecordType::SetTally,
        "t.tally_id, t.set_id, t.revision, mapValues(t.classes)",
    ),
    (
        RecordType::GroupTally,
        "t.tally_id, t.fingerprint, t.revision, t.count",
    ),
    (
        RecordType::Tally,
        "t.id, t.revision, t.received, t.match, t.mismatch",
    ),
];

#[derive(Row, Deserialize)]
struct SlotRow {
    shard: u32,
    server: String,
    slot: i64,
    keys: u64,
}

#[derive(Row, Deserialize)]
struct FirstRow {
    shard: u32,
    server: String,
    began_at: i64,
}

impl ClickHouseReader {
    /// The marks of what began from this time on, or in the same slot. They are read before what they are of: so of what changes
    /// between the two, it is thought that it has changed since.
    pub(super) fn slot_marks(&self, identity: &Identity, from: i64) -> Result<Marks, StoreError> {
        let mut known = self.marks.borrow_mut();
        let marks = match known.take() {
            Some((of, marks)) if of == *identity => marks,
            _ => self.read_marks(identity)?,
        };
        let first = marks
            .0
            .partition_point(|(slot, _)| *slot < from / SLOT_MICROS);
        let wanted = Marks(marks.0[first..].to_vec());
        *known = Some((identity.clone(), marks));
        Ok(wanted)
    }

    fn read_marks(&self, identity: &Identity) -> Result<Marks, StoreError> {
        let selection = Selection::default();
        let mut hashers: BTreeMap<i64, DefaultHasher> = BTreeMap::new();
        for (table, key) in TABLES {
            let select = format!(
                "SELECT {ORIGIN}, intDiv(toUnixTimestamp64Micro(t.interval_start), {SLOT_MICROS}) AS slot, \
                 sum(cityHash64({key})) AS keys FROM {} AS t FINAL",
                table.table()
            );
            let tail = format!("GROUP BY slot, {BY_ORIGIN} ORDER BY slot, shard");
            let question = self.of_identity(&select, identity, &selection, &tail);
            for row in self.ask::<SlotRow>(question)? {
                self.came_from(row.shard, row.server)?;
                let hasher = hashers.entry(row.slot).or_default();
                (table.table(), row.shard, row.keys).hash(hasher);
            }
        }
        let marks = hashers.into_iter();
        Ok(Marks(
            marks
                .map(|(slot, hasher)| (slot, hasher.finish().cast_signed()))
                .collect(),
        ))
    }

    /// When the first interval of a migration at or after a time began.
    pub(super) fn first_interval(
        &self,
        identity: &Identity,
        from: i64,
    ) -> Result<Option<i64>, StoreError> {
        let selection = Selection {
            since: Some(Timestamp::from_micros(from)),
            ..Selection::default()
        };
        let select = format!(
            "SELECT {ORIGIN}, min(toUnixTimestamp64Micro(t.interval_start)) AS began_at FROM tallies AS t"
        );
        let tail = format!("GROUP BY {BY_ORIGIN}");
        let question = self.of_identity(&select, identity, &selection, &tail);
        let mut first = None;
        for row in self.ask::<FirstRow>(question)? {
            self.came_from(row.shard, row.server)?;
            first = Some(row.began_at.min(first.unwrap_or(i64::MAX)));
        }
        Ok(first)
    }
}
