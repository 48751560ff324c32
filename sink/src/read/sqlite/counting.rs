//! The rows of counts of a file, for who adds them up.

use parity_schemas::evidence::LeftOutSpan;
use parity_schemas::record::RecordType;
use parity_schemas::tally::Identity;
use rusqlite::params;

use super::blocks::{self, CountedRow};
use super::rows::{group_tally, needed_of, set_tally, tally};
use super::{OF_IDENTITY, SqliteReader, within};
use crate::error::StoreError;
use crate::read::assemble::{Added, Sums};
use crate::read::charged::Charged;
use crate::read::counting::{Counting, CountingRows, since};
use crate::remembered::{Marks, SLOT_MICROS};

impl CountingRows for SqliteReader {
    fn first_from(&self, identity: &Identity, from: i64) -> Result<Option<i64>, StoreError> {
        let values = params![identity.migration, from];
        let first = self.rows(SELECT_FIRST, values, "tallies", |row| {
            row.integer(0, "interval_start")
        })?;
        Ok(first.first().copied())
    }

    fn marks(&self, identity: &Identity, from: i64) -> Result<Marks, StoreError> {
        self.marks_of(identity, from / SLOT_MICROS, i64::MAX)
    }

    fn add_span(
        &self,
        counting: &Counting<'_>,
        span: &LeftOutSpan,
        held: &mut Sums,
    ) -> Result<(), StoreError> {
        let sql = format!(
            "SELECT {} FROM tallies {OF_IDENTITY} AND {}",
            needed_of(RecordType::Tally, false),
            within(span)
        );
        let mut charged = Charged::default();
        let times = (since(counting.selection), None);
        self.each(&sql, RecordType::Tally, counting.identity, times, |row| {
            let tally = tally(row)?;
            charged.row(&tally)?;
            held.add(tally);
            Ok(())
        })
    }

    fn add_rows(
        &self,
        counting: &Counting<'_>,
        added: &mut Added,
        from: i64,
        to: i64,
    ) -> Result<(), StoreError> {
        let (identity, with_details) = (counting.identity, counting.with_details);
        let counted = counting.outside(within);
        let add_rows = |added: &mut Added, from, to| {
            let Added { sums, charged } = added;
            let [of_tallies, of_groups, of_sets] = charged;
            let times = (from, to);
            let columns = |table| needed_of(table, with_details);
            self.each_counted(identity, (columns, &counted), times, |row| {
                match row {
                    CountedRow::Tally(tally) => {
                        of_tallies.row(&*tally)?;
                        sums.add(*tally);
                    }
                    CountedRow::Group(group) => {
                        of_groups.row(&group)?;
                        sums.groups.add_row(group);
                    }
                    CountedRow::Set(set) => {
                        of_sets.row(&set)?;
                        sums.sets.add(set);
                    }
                }
                Ok(())
            })
        };
        if !counted.is_empty() {
            // Blocks have what is left out.
            return add_rows(added, from, to);
        }
        self.through_blocks(
            (identity, "sums"),
            (from, to),
            added,
            |added, block: blocks::Sums| block.add_to(added, with_details),
            add_rows,
        )
    }
}

impl SqliteReader {
    /// The marks of the slots from one on and before another one.
    pub(super) fn marks_of(
        &self,
        identity: &Identity,
        from: i64,
        to: i64,
    ) -> Result<Marks, StoreError> {
        let values = params![
            identity.migration,
            identity.candidate_version,
            identity.legacy_version,
            identity.rules_hash,
            from,
            to,
        ];
        let marks = self.rows(SELECT_MARKS, values, "slot_marks", |row| {
            Ok((row.integer(0, "slot")?, row.integer(1, "mark")?))
        })?;
        Ok(Marks(marks))
    }

    /// Hands out the rows of all intervals that begin from one time on and before another one, those of which a further condition
    /// holds, with these columns of a table.
    pub(super) fn each_counted(
        &self,
        identity: &Identity,
        (columns, condition): (impl Fn(RecordType) -> String, &str),
        (from, to): (i64, i64),
        mut each: impl FnMut(CountedRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        // The last one there can be is before no other.
        let end = if to == i64::MAX { "<=" } else { "<" };
        for (table, order) in [
            (RecordType::Tally, ""),
            (RecordType::GroupTally, GROUPS_IN_ORDER),
            (RecordType::SetTally, SETS_IN_ORDER),
        ] {
            let sql = format!(
                "SELECT {} FROM {} {OF_IDENTITY} AND interval_start {end} ?6{condition} {order}",
                columns(table),
                table.table()
            );
            self.each(&sql, table, identity, (from, Some(to)), |row| {
                each(match table {
                    RecordType::GroupTally => CountedRow::Group(group_tally(row)?),
                    RecordType::SetTally => CountedRow::Set(set_tally(row)?),
                    _ => CountedRow::Tally(Box::new(tally(row)?)),
                })
            })?;
        }
        Ok(())
    }
}

/// The order of groups and of sets: fixed and that of every store, because a report folds those beyond its cap in the order
/// in which they come.
const GROUPS_IN_ORDER: &str = "ORDER BY interval_start, route, fingerprint";
const SETS_IN_ORDER: &str = "ORDER BY interval_start, route, set_id";

const SELECT_MARKS: &str = "SELECT slot, mark FROM slot_marks WHERE migration = ?1 AND candidate_version = ?2 \
     AND legacy_version = ?3 AND rules_hash = ?4 AND slot >= ?5 AND slot < ?6 ORDER BY slot";

const SELECT_FIRST: &str = "SELECT interval_start FROM tallies WHERE migration = ?1 AND interval_start >= ?2 \
     ORDER BY interval_start LIMIT 1";
