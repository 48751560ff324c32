//! The counts of one identity, added up by the server and handed over row by row.
//!
//! A group is one row whatever the time: what must be told apart by process and day comes in it, as arrays. So a reader holds
//! what it keeps, and never all rows at once.

use parity_schemas::evidence::LeftOutSpan;
use parity_schemas::record::RecordType;
use parity_schemas::tally::{Identity, Tally};
use parity_schemas::time::Timestamp;

use super::replicas::{BY_ORIGIN, ORIGIN};
use super::rows::{
    GROUP, GroupRow, SET, SetRow, TALLY, TallyRow, extent, folded, grouped_by, parts, select,
};
use super::{ClickHouseReader, since_condition, time, touched};
use crate::error::StoreError;
use crate::read::Selection;
use crate::read::assemble::{Added, Sums};
use crate::read::charged::Charged;
use crate::read::counting::{Counting, CountingRows, count_up};
use crate::remembered::Marks;

impl ClickHouseReader {
    /// A query on the tallies or groups of one identity; `tail` follows its conditions.
    pub(super) fn of_identity(
        &self,
        select: &str,
        identity: &Identity,
        selection: &Selection,
        tail: &str,
    ) -> clickhouse::query::Query {
        let sql = format!(
            "{select} WHERE t.migration = ? AND t.legacy_version = ? AND t.candidate_version = ? AND t.rules_hash = ?{} {tail} \
             SETTINGS do_not_merge_across_partitions_select_final = 1",
            since_condition(selection)
        );
        let question = self
            .server
            .client()
            .query(&sql)
            .bind(&identity.migration)
            .bind(&identity.legacy_version)
            .bind(&identity.candidate_version)
            .bind(&identity.rules_hash);
        match selection.since {
            Some(since) => question.bind(since.as_micros()),
            None => question,
        }
    }

    /// A query on a table of counts of one identity, added up by its columns of [`Fold::By`]. `condition` is a further one,
    /// that begins with `AND`.
    fn summed(
        &self,
        table: RecordType,
        forms: &[&str],
        (identity, selection, condition): (&Identity, &Selection, &str),
        with_details: bool,
    ) -> clickhouse::query::Query {
        let columns = table.columns();
        let mut list = select(columns, forms, |column| folded(column, with_details));
        if table == RecordType::GroupTally {
            list = format!("{}, {list}", parts());
        }
        list = format!("{}, {list}", extent(columns, with_details));
        let query = format!("SELECT {ORIGIN}, {list} FROM {} AS t FINAL", table.table());
        // In a fixed order, because a report merges what is beyond its caps in the order of the rows.
        let by = grouped_by(columns);
        let tail = format!(
            "{condition} GROUP BY {by}, {BY_ORIGIN} ORDER BY min(t.interval_start), {by}, shard"
        );
        self.of_identity(&query, identity, selection, &tail)
    }

    /// All counts of an identity, added up.
    pub(super) fn sums(
        &self,
        identity: &Identity,
        selection: &Selection,
        with_details: bool,
    ) -> Result<Sums, StoreError> {
        let counting = Counting {
            identity,
            selection,
            with_details,
        };
        count_up(self, self.remembered.as_ref(), &counting)
    }

    /// Hands out the tallies of an identity, summed by route and run.
    pub(super) fn tallies(
        &self,
        of: (&Identity, &Selection, &str),
        with_details: bool,
        charged: &mut Charged,
        mut add: impl FnMut(Tally),
    ) -> Result<(), StoreError> {
        let tallies = self.summed(RecordType::Tally, TALLY, of, with_details);
        self.each(tallies, |mut row: TallyRow| {
            self.came_from(row.shard, std::mem::take(&mut row.server))?;
            let extent = row.extent as u64;
            let tally = row.into_record()?;
            charged.rows(&tally, extent)?;
            add(tally);
            Ok(())
        })?;
        Ok(())
    }
}

impl CountingRows for ClickHouseReader {
    fn first_from(&self, identity: &Identity, from: i64) -> Result<Option<i64>, StoreError> {
        self.first_interval(identity, from)
    }

    fn marks(&self, identity: &Identity, from: i64) -> Result<Marks, StoreError> {
        self.slot_marks(identity, from)
    }

    fn add_span(
        &self,
        counting: &Counting<'_>,
        span: &LeftOutSpan,
        held: &mut Sums,
    ) -> Result<(), StoreError> {
        let condition = format!("AND {}", touched(span));
        let of = (counting.identity, counting.selection, condition.as_str());
        self.tallies(of, false, &mut Charged::default(), |tally| held.add(tally))
    }

    /// Tallies are read last: what they count may then be missing in the groups and sets for a moment, and never the other way
    /// round, so that no more can be excused than was counted.
    fn add_rows(
        &self,
        counting: &Counting<'_>,
        added: &mut Added,
        from: i64,
        to: i64,
    ) -> Result<(), StoreError> {
        let (identity, with_details) = (counting.identity, counting.with_details);
        let mut condition = counting.outside(touched);
        if to < i64::MAX {
            condition = format!("{condition} AND t.interval_start < {}", time(to));
        }
        let selection = Selection {
            since: (from > i64::MIN).then(|| Timestamp::from_micros(from)),
            ..counting.selection.clone()
        };
        let of = (identity, &selection, condition.as_str());
        let Added { sums, charged } = added;
        let [of_tallies, of_groups, of_sets] = charged;
        let sets = self.summed(RecordType::SetTally, SET, of, with_details);
        self.each(sets, |mut row: SetRow| {
            self.came_from(row.shard, std::mem::take(&mut row.server))?;
            let extent = row.extent as u64;
            let set = row.into_record()?;
            of_sets.rows(&set, extent)?;
            sums.sets.add(set);
            Ok(())
        })?;
        let groups = self.summed(RecordType::GroupTally, GROUP, of, with_details);
        self.each(groups, |mut row: GroupRow| {
            self.came_from(row.shard, std::mem::take(&mut row.server))?;
            let extent = row.extent as u64;
            let (group, spread) = row.into_spread()?;
            of_groups.rows(&group, extent)?;
            sums.groups.add(group, spread);
            Ok(())
        })?;
        self.tallies(of, with_details, of_tallies, |tally| sums.add(tally))
    }
}
