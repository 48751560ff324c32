//! By what a reader knows which counts have changed since it read them.
//!
//! `SQLite` keeps a mark of each five minutes that triggers move. Here there is none: what is not changed in one place, but
//! replaced by a later row, has nothing to trigger. So a mark is made of the rows themselves: of all of their columns, which no merge of
//! parts changes, and a person with SQL does.
//!
//! Of which rows marks must be made again is known by the parts that a table consists of ([`parts`](super::parts)). So a page of a store
//! in which nothing happens reads no rows for its marks, and one of a store that is written to reads those of the last minutes. The
//! first time there is nothing that they could differ from, and it is only read which times there are.
//!
//! Where the parts are not known, on a cluster, all rows are read for each page. There a mark is made of the key, the revision and the
//! counts of a row, which takes a tenth of the time: what somebody edits in place beside them is seen by the next process.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use clickhouse::Row;
use parity_schemas::id::new_id;
use parity_schemas::record::RecordType;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

use super::parts::{Parts, Spans};
use super::replicas::{BY_ORIGIN, ORIGIN};
use super::{ClickHouseReader, time};
use crate::error::StoreError;
use crate::read::Selection;
use crate::remembered::{Key, Marks, SLOT_MICROS, Weighed, What};

/// The tables that counts are in, with what makes a row of them where all must be read each time.
const TABLES: [(RecordType, &str); 3] = [
    (
        RecordType::SetTally,
        "t.tally_id, t.set_id, t.revision, t.route, t.fingerprints, t.classes, t.never_asked",
    ),
    (
        RecordType::GroupTally,
        "t.tally_id, t.fingerprint, t.revision, t.route, t.count, t.classes, t.example_id",
    ),
    (
        RecordType::Tally,
        "t.id, t.revision, t.route, t.received, t.match, t.mismatch, t.classes, t.not_compared, t.clients",
    ),
];

/// What the rows of a slot on a shard are known by.
type Keys = BTreeMap<(i64, u32), u64>;

/// What marks are made of.
#[derive(PartialEq, Eq)]
enum MadeOf {
    Columns(&'static str),
    /// Only which times there are.
    Nothing,
}

/// What one table of one identity has.
#[derive(Clone, Default)]
struct TableMarks {
    /// Another one each time that nothing was known before, so that no such mark is that of an earlier time.
    begun: Option<Uuid>,
    /// `None` where they are not known.
    parts: Option<Parts>,
    keys: Keys,
}

/// What all of them have.
#[derive(Clone, Default)]
struct StoredMarks {
    tables: [TableMarks; TABLES.len()],
}

impl Weighed for StoredMarks {
    fn bytes(&self) -> usize {
        /// A key, its value and a share of its node.
        const OF_A_KEY: usize = 32;
        let each = self.tables.iter();
        each.map(|table| table.parts.as_ref().map_or(0, Parts::bytes) + table.keys.len() * OF_A_KEY)
            .sum()
    }
}

impl StoredMarks {
    fn marks(&self) -> Marks {
        let mut hashers: BTreeMap<i64, DefaultHasher> = BTreeMap::new();
        for ((table, _), stored) in TABLES.iter().zip(&self.tables) {
            for ((slot, shard), keys) in &stored.keys {
                let hasher = hashers.entry(*slot).or_default();
                (table.table(), stored.begun, shard, keys).hash(hasher);
            }
        }
        let marks = hashers.into_iter();
        Marks(
            marks
                .map(|(slot, hasher)| (slot, hasher.finish().cast_signed()))
                .collect(),
        )
    }
}

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
        let Some(remembered) = &self.remembered else {
            return Ok(self.renewed_marks(identity, None)?.marks());
        };
        let key = Key {
            identity: identity.clone(),
            from: i64::MIN,
            of: What::Marks,
        };
        let renew = |known| self.renewed_marks(identity, known);
        let stored = remembered.of::<StoredMarks>().renewed(&key, renew)?;
        Ok(stored.marks())
    }

    /// What is known, with what is no more as it was read again.
    fn renewed_marks(
        &self,
        identity: &Identity,
        known: Option<Arc<StoredMarks>>,
    ) -> Result<Arc<StoredMarks>, StoreError> {
        let mut stored = known.unwrap_or_default();
        for (place, (table, key)) in TABLES.into_iter().enumerate() {
            // Before the rows: what comes between the two is then read once more the next time.
            let parts = self.parts(table)?;
            let (spans, made_of) = match (&stored.tables[place].parts, &parts) {
                (Some(before), Some(now)) => (before.changed(now), MadeOf::Columns("t.*")),
                (None, Some(_)) => (Spans::all(), MadeOf::Nothing),
                (_, None) => (Spans::all(), MadeOf::Columns(key)),
            };
            if spans.is_empty() {
                continue;
            }
            let read = self.keys(identity, (table, &made_of), &spans)?;
            let table: &mut TableMarks = &mut Arc::make_mut(&mut stored).tables[place];
            if made_of == MadeOf::Nothing {
                table.begun = Some(new_id());
            }
            table.keys.retain(|(slot, _), _| !spans.have(*slot));
            table.keys.extend(read);
            table.parts = parts;
        }
        Ok(stored)
    }

    /// What the rows of some times are known by.
    fn keys(
        &self,
        identity: &Identity,
        (table, made_of): (RecordType, &MadeOf),
        spans: &Spans,
    ) -> Result<Keys, StoreError> {
        let (keys, latest) = match made_of {
            MadeOf::Nothing => ("toUInt64(0)".to_owned(), ""),
            MadeOf::Columns(columns) => (format!("sum(cityHash64({columns}))"), "FINAL"),
        };
        let select = format!(
            "SELECT {ORIGIN}, intDiv(toUnixTimestamp64Micro(t.interval_start), {SLOT_MICROS}) AS slot, \
             {keys} AS keys FROM {} AS t {latest}",
            table.table()
        );
        let condition = spans.condition(|slot| time(slot.saturating_mul(SLOT_MICROS)));
        let tail = format!("{condition} GROUP BY slot, {BY_ORIGIN} ORDER BY slot, shard");
        let question = self.of_identity(&select, identity, &Selection::default(), &tail);
        let rows = self.ask::<SlotRow>(question)?.into_iter();
        rows.map(|row| {
            self.came_from(row.shard, row.server)?;
            Ok(((row.slot, row.shard), row.keys))
        })
        .collect()
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
