//! The parts of a table: what tells whether it has changed, and in which times, without reading a row.
//!
//! A part never changes. An insert makes one, a merge makes one of several, a deletion makes another one of the next version. The
//! server keeps a hash of the files of each: so where all parts are the same, the rows are, and where one has come or gone, only
//! rows of its times can be others. It tells that of its own tables, and not of those behind a distributed one.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clickhouse::Row;
use parity_schemas::record::RecordType;
use serde::Deserialize;

use super::ClickHouseReader;
use super::replicas::ORIGIN;
use crate::error::StoreError;
use crate::remembered::SLOT_MICROS;

/// Spans of a condition. More of them become one that has them all: a server reads what is between faster than a long condition.
const MAX_SPANS: usize = 8;

/// So long the parts that a reader has seen are those that it goes by: a page is read within it. Somebody who keeps a reader for
/// longer sees what has come since.
const SEEN_FOR: Duration = Duration::from_secs(1);

/// A server, and the name of a part and the hash of its files.
pub(super) type PartName = (String, String);

/// The parts of one table, with the number of their rows and their first and last slot.
#[derive(Clone, Default, Debug, PartialEq, Eq, Hash)]
pub(super) struct Parts(BTreeMap<PartName, (u64, i64, i64)>);

impl Parts {
    /// The slots whose rows may be others when these parts have become the given ones.
    pub(super) fn changed(&self, now: &Self) -> Spans {
        let gone = self.0.iter().filter(|one| now.0.get(one.0) != Some(one.1));
        let come = now.0.iter().filter(|one| self.0.get(one.0) != Some(one.1));
        let spans = gone
            .chain(come)
            .map(|(_, (_, first, last))| (*first, last.saturating_add(1)));
        Spans::of(spans.collect())
    }

    pub(super) fn has(&self, name: &PartName) -> bool {
        self.0.contains_key(name)
    }

    /// Those that have rows, with how many. What stands for the table itself has none.
    pub(super) fn with_rows(&self) -> impl Iterator<Item = (&PartName, u64)> {
        let each = self.0.iter().map(|(name, (rows, ..))| (name, *rows));
        each.filter(|(_, rows)| *rows > 0)
    }

    /// About how many bytes they take.
    pub(super) fn bytes(&self) -> usize {
        let each = self.0.keys();
        each.map(|(server, name)| 96 + server.len() + name.len())
            .sum()
    }
}

/// Slots, as spans with their end, in order and without overlap.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Spans(Vec<(i64, i64)>);

impl Spans {
    /// Every slot.
    pub(super) fn all() -> Self {
        Self(vec![(i64::MIN, i64::MAX)])
    }

    fn of(mut spans: Vec<(i64, i64)>) -> Self {
        spans.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::new();
        for (first, end) in spans {
            match merged.last_mut() {
                Some(last) if first <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((first, end)),
            }
        }
        // Before 1970 the server counts slots towards zero: their ends are others.
        if merged.first().is_some_and(|(first, _)| *first <= 0) {
            return Self::all();
        }
        if merged.len() > MAX_SPANS
            && let (Some(first), Some(last)) = (merged.first(), merged.last())
        {
            merged = vec![(first.0, last.1)];
        }
        Self(merged)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a slot is one of them.
    pub(super) fn have(&self, slot: i64) -> bool {
        let spans = self.0.iter();
        spans
            .map(|(first, end)| *first..*end)
            .any(|span| span.contains(&slot))
    }

    /// The condition that a row is of them, which begins with `AND`; `time` gives the time at which a slot begins.
    pub(super) fn condition(&self, time: impl Fn(i64) -> String) -> String {
        if *self == Self::all() {
            return String::new();
        }
        let each = self.0.iter().map(|(first, end)| {
            format!(
                "(t.interval_start >= {} AND t.interval_start < {})",
                time(*first),
                time(*end)
            )
        });
        format!("AND ({})", each.collect::<Vec<_>>().join(" OR "))
    }
}

#[derive(Row, Deserialize)]
struct PartRow {
    shard: u32,
    server: String,
    table: String,
    name: String,
    rows: u64,
    first_second: u32,
    last_second: u32,
}

impl PartRow {
    /// The first and the last slot of its rows.
    fn slots(&self) -> (i64, i64) {
        /// The first of 2036. The server keeps these times in 32 bits without a sign, in which those before 1970 come behind it.
        const NOT_BEFORE_1970: u32 = 2_082_758_400;
        let slot = |second: u32| i64::from(second) * 1_000_000 / SLOT_MICROS;
        if self.first_second > self.last_second || self.last_second >= NOT_BEFORE_1970 {
            return (i64::MIN, i64::MAX);
        }
        (slot(self.first_second), slot(self.last_second))
    }
}

/// The parts of all tables of a database that has them itself, as they were at one time.
pub(super) struct Seen {
    at: Instant,
    origins: BTreeSet<(u32, String)>,
    tables: BTreeMap<String, Parts>,
}

impl ClickHouseReader {
    /// The parts of a table; `None` where they are not known: the table is distributed, or the user may not ask.
    pub(super) fn parts(&self, table: RecordType) -> Result<Option<Parts>, StoreError> {
        let Some(seen) = self.seen()? else {
            return Ok(None);
        };
        Ok(seen.tables.get(table.table()).cloned())
    }

    /// One number for what is in some tables, another one when that has changed; `None` where it is not known of each of them.
    pub(super) fn contents(&self, tables: &[&str]) -> Result<Option<u64>, StoreError> {
        let Some(seen) = self.seen()? else {
            return Ok(None);
        };
        let mut hasher = DefaultHasher::new();
        for table in tables {
            let Some(parts) = seen.tables.get(*table) else {
                return Ok(None);
            };
            (table, parts).hash(&mut hasher);
        }
        Ok(Some(hasher.finish()))
    }

    /// One number for which tables there are, with what is in this one.
    pub(super) fn tables_with(&self, table: &str) -> Result<Option<u64>, StoreError> {
        let names: Option<Vec<String>> = self
            .seen()?
            .map(|seen| seen.tables.keys().cloned().collect());
        let of_it = self.contents(&[table])?;
        Ok(names.zip(of_it).map(|both| {
            let mut hasher = DefaultHasher::new();
            both.hash(&mut hasher);
            hasher.finish()
        }))
    }

    /// What is read from here on is not older than what was read before. Where all of that was kept, it is as old as what was seen
    /// of the parts; what was asked for is newer, and so the parts are looked at again.
    pub(super) fn look_again(&self) {
        if self.asked.take() {
            self.seen.take();
            self.marks.take();
        }
    }

    /// The parts are asked for before the rows: what comes between the two is then read once more the next time.
    fn seen(&self) -> Result<Option<Arc<Seen>>, StoreError> {
        let known = self.seen.borrow().clone();
        let seen = if let Some(seen) = known.filter(|seen| seen.at.elapsed() < SEEN_FOR) {
            seen
        } else {
            // Who fails here reads the rows, and is told there what is wrong.
            let Ok(seen) = self.read_parts() else {
                return Ok(None);
            };
            let seen = Arc::new(seen);
            self.asked.set(false);
            self.seen.replace(Some(Arc::clone(&seen)));
            seen
        };
        // Of the replica that the rows are read from: another one may lack parts.
        for (shard, server) in &seen.origins {
            self.came_from(*shard, server.clone())?;
        }
        Ok(Some(seen))
    }

    fn read_parts(&self) -> Result<Seen, StoreError> {
        let mut seen = Seen {
            at: Instant::now(),
            origins: BTreeSet::new(),
            tables: BTreeMap::new(),
        };
        let sql = SELECT_PARTS.replace("ORIGIN", ORIGIN);
        for row in self.ask::<PartRow>(self.server.client().query(&sql))? {
            let (first, last) = row.slots();
            let parts = seen.tables.entry(row.table).or_default();
            parts
                .0
                .insert((row.server.clone(), row.name), (row.rows, first, last));
            seen.origins.insert((row.shard, row.server));
        }
        Ok(seen)
    }
}

/// Each table is a part of its own, by its id: so a table without rows is known, too, and one that was made anew is another one. That
/// part is of all times.
const SELECT_PARTS: &str = "SELECT ORIGIN, table, concat(name, ' ', hash_of_all_files) AS name, rows, \
     toUnixTimestamp(min_time) AS first_second, toUnixTimestamp(max_time) AS last_second FROM system.parts \
     WHERE active AND database = currentDatabase() UNION ALL \
     SELECT ORIGIN, name, toString(uuid), toUInt64(0), toUInt32(1), toUInt32(0) FROM system.tables \
     WHERE database = currentDatabase() AND endsWith(engine, 'MergeTree')";

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(of: &[(&str, u64, i64, i64)]) -> Parts {
        let each = of.iter();
        let part = |(name, rows, first, last): &(&str, u64, i64, i64)| {
            let name = ("server".to_owned(), (*name).to_owned());
            (name, (*rows, *first, *last))
        };
        Parts(each.map(part).collect())
    }

    #[test]
    fn a_part_that_came_or_went_tells_which_slots_have_changed() {
        let before = parts(&[
            ("1_1_0", 10, 3, 5),
            ("2_2_0", 10, 5, 6),
            ("9_9_0", 1, 40, 40),
        ]);
        assert!(before.changed(&before).is_empty());
        let inserted = parts(&[
            ("1_1_0", 10, 3, 5),
            ("2_2_0", 10, 5, 6),
            ("3_3_0", 4, 6, 6),
            ("9_9_0", 1, 40, 40),
        ]);
        assert_eq!(before.changed(&inserted), Spans(vec![(6, 7)]));
        let merged = parts(&[("1_2_1", 20, 3, 6), ("9_9_0", 1, 40, 40)]);
        assert_eq!(before.changed(&merged), Spans(vec![(3, 7)]));
        let dropped = parts(&[("1_1_0", 10, 3, 5)]);
        assert_eq!(before.changed(&dropped), Spans(vec![(5, 7), (40, 41)]));
        // A part of this name with other rows: the table is another one.
        let other = parts(&[
            ("1_1_0", 11, 3, 5),
            ("2_2_0", 10, 5, 6),
            ("9_9_0", 1, 40, 40),
        ]);
        assert_eq!(before.changed(&other), Spans(vec![(3, 6)]));
        let changed = before.changed(&dropped);
        let has: Vec<i64> = (0..50).filter(|slot| changed.have(*slot)).collect();
        assert_eq!(has, [5, 6, 40]);
        assert_eq!(
            changed.condition(|slot| format!("s{slot}")),
            "AND ((t.interval_start >= s5 AND t.interval_start < s7) OR (t.interval_start >= s40 AND t.interval_start < s41))"
        );
        assert_eq!(Spans::all().condition(|slot| slot.to_string()), "");
    }

    #[test]
    fn times_that_the_server_cannot_tell_are_all_times() {
        let slots = |first_second, last_second| {
            let row = PartRow {
                shard: 0,
                server: String::new(),
                table: String::new(),
                name: String::new(),
                rows: 1,
                first_second,
                last_second,
            };
            row.slots()
        };
        assert_eq!(slots(600, 1_200), (2, 4));
        let all = (i64::MIN, i64::MAX);
        // A minute before 1970, alone and beside one after it.
        assert_eq!(slots(u32::MAX - 59, u32::MAX - 59), all);
        assert_eq!(slots(u32::MAX - 59, 1_200), all);
        assert_eq!(Spans::of(vec![(i64::MIN, i64::MAX)]), Spans::all());
    }

    #[test]
    fn many_spans_become_one() {
        let few: Vec<(i64, i64)> = (1..9).map(|at| (at * 10, at * 10 + 1)).collect();
        assert_eq!(Spans::of(few.clone()), Spans(few.clone()));
        let many = few.into_iter().chain([(100, 101)]).collect();
        assert_eq!(Spans::of(many), Spans(vec![(10, 101)]));
        assert_eq!(Spans::of(vec![(0, 1), (70, 71)]), Spans::all());
    }
}
