//! Whether the tallies that watermarks list are there.
//!
//! A run may have a week of them, and each page asks. So a process that serves pages remembers what it found: of a run that is at
//! work the sums of what is closed, of one that has ended the answer, each for as long as the marks of its rows are the same.

use std::collections::HashMap;

use clickhouse::Row;
use parity_schemas::record::RecordType;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Watermark;
use serde::{Deserialize, Serialize};

use super::replicas::{BY_ORIGIN, ORIGIN};
use super::{ClickHouseReader, time};
use crate::error::StoreError;
use crate::read::Selection;
use crate::read::runs::{StoredPart, StoredSums, StoredTallies, StoredTally, VERIFIED_MICROS};
use crate::remembered::{Key, Remembered, SLOT_MICROS, Weighed, What};

/// A run that has written nothing for so long is at work no more, or it is looked at again as a whole.
const QUIET_MICROS: i64 = 15 * 60_000_000;
/// Slots behind the last one that a run wrote in, whose rows may be its own: clocks differ.
const SLOTS_BEHIND: i64 = 2;

/// Whether a run that is at work no more lacks something; `None` until it was looked at.
#[derive(Clone, Copy, Default)]
struct Verified(Option<bool>);

impl Weighed for Verified {
    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

impl ClickHouseReader {
    /// Checks for each watermark whether the tallies that it lists exist.
    pub(super) fn verify(
        &self,
        identity: &Identity,
        watermarks: &mut [(Watermark, bool)],
    ) -> Result<(), StoreError> {
        let now = Timestamp::now();
        let oldest = now.saturating_add_micros(-VERIFIED_MICROS);
        let quiet = now.saturating_add_micros(-QUIET_MICROS);
        let mut together = Vec::new();
        for (place, (watermark, lacks)) in watermarks.iter_mut().enumerate() {
            if watermark.written < oldest {
                continue;
            }
            let from = watermark.counted_from.as_micros();
            match &self.remembered {
                Some(remembered) if watermark.ended || watermark.written < quiet => {
                    *lacks = self.lacks(remembered, identity, watermark)?;
                }
                Some(remembered) => {
                    let (closed, from_then) = self.closed(remembered, identity, watermark)?;
                    // Some of them may be later than what the watermark says: then they are looked at one by one.
                    if closed.newest > watermark.revision {
                        together.push((place, from, StoredSums::default()));
                    } else {
                        together.push((place, from_then, closed));
                    }
                }
                None => together.push((place, from, StoredSums::default())),
            }
        }
        let runs: Vec<(&Watermark, i64)> = together
            .iter()
            .map(|(place, from, _)| (&watermarks[*place].0, *from))
            .collect();
        let mut found = self.stored(identity, &runs)?;
        for (place, _, closed) in together {
            let (watermark, lacks) = &mut watermarks[place];
            let mut stored = found.remove(&watermark.id.to_string()).unwrap_or_default();
            stored.tallies += closed.tallies;
            stored.received += closed.received;
            stored.settled += closed.settled;
            stored.in_groups.closed += closed.in_groups;
            stored.in_sets.closed += closed.in_sets;
            *lacks = stored.lacks(watermark);
        }
        Ok(())
    }

    /// The same of one that is at work no more.
    fn lacks(
        &self,
        remembered: &Remembered,
        identity: &Identity,
        watermark: &Watermark,
    ) -> Result<bool, StoreError> {
        let from = watermark.counted_from.as_micros();
        let look = || {
            let mut found = self.stored(identity, &[(watermark, from)])?;
            let stored = found.remove(&watermark.id.to_string()).unwrap_or_default();
            Ok::<_, StoreError>(stored.lacks(watermark))
        };
        let key = Key {
            identity: identity.clone(),
            from,
            of: What::Ended(watermark.id, watermark.revision),
        };
        let marks = self.slot_marks(identity, from)?;
        let to = watermark.written.as_micros() / SLOT_MICROS + SLOTS_BEHIND;
        let (verified, _) =
            remembered
                .of::<Verified>()
                .closed(&key, &marks, to, |verified, _, _| {
                    verified.0 = Some(look()?);
                    Ok::<_, StoreError>(())
                })?;
        verified.0.map_or_else(look, Ok)
    }

    /// What is closed of a run that is at work, and from when on it may still change.
    fn closed(
        &self,
        remembered: &Remembered,
        identity: &Identity,
        watermark: &Watermark,
    ) -> Result<(StoredSums, i64), StoreError> {
        let from = watermark.counted_from.as_micros();
        let marks = self.slot_marks(identity, from)?;
        let key = Key {
            identity: identity.clone(),
            from,
            of: What::Run(watermark.id),
        };
        let closed_by = watermark.open_from.as_micros() / SLOT_MICROS;
        let to = marks.open_from(Timestamp::now().as_micros()).min(closed_by);
        remembered
            .of::<StoredSums>()
            .closed(&key, &marks, to, |sums, from, to| {
                self.add_stored(watermark, sums, from, to)
            })
    }

    /// Adds up what a run has stored from one time on and before another one.
    fn add_stored(
        &self,
        watermark: &Watermark,
        sums: &mut StoredSums,
        from: i64,
        to: i64,
    ) -> Result<(), StoreError> {
        let selection = Selection {
            since: Some(Timestamp::from_micros(from)),
            ..Selection::default()
        };
        for (table, counts) in SUMMED {
            let select = format!(
                "SELECT {ORIGIN}, {counts}, max(t.revision) AS newest FROM {} AS t FINAL",
                table.table()
            );
            let tail = format!(
                "AND t.run = toUUID('{}') AND t.interval_start < {} GROUP BY {BY_ORIGIN}",
                watermark.id,
                time(to)
            );
            let question = self.of_identity(&select, &watermark.identity, &selection, &tail);
            for row in self.ask::<SumsRow>(question)? {
                self.came_from(row.shard, row.server)?;
                match table {
                    RecordType::GroupTally => sums.in_groups += row.counted,
                    RecordType::SetTally => sums.in_sets += row.counted,
                    _ => {
                        sums.tallies += row.counted;
                        sums.received += row.received_sum;
                        sums.settled += row.settled;
                    }
                }
                sums.newest = sums.newest.max(row.newest);
            }
        }
        Ok(())
    }

    /// The tallies of runs from a time of each on, by the name of the run.
    fn stored(
        &self,
        identity: &Identity,
        runs: &[(&Watermark, i64)],
    ) -> Result<HashMap<String, StoredTallies>, StoreError> {
        let Some(from) = runs.iter().map(|(_, from)| *from).min() else {
            return Ok(HashMap::new());
        };
        let names: Vec<String> = runs.iter().map(|(run, _)| run.id.to_string()).collect();
        let begins: Vec<i64> = runs.iter().map(|(_, from)| *from).collect();
        let opened = runs.iter().map(|(run, _)| run.open_from.as_micros());
        let opened: Vec<i64> = opened.collect();
        let question = self
            .server
            .client()
            .query(&SELECT_FOUND.replace("ORIGIN", ORIGIN))
            .bind(&begins)
            .bind(&names)
            .bind(&opened)
            .bind(&names)
            .bind(&identity.migration)
            .bind(&identity.legacy_version)
            .bind(&identity.candidate_version)
            .bind(&identity.rules_hash)
            .bind(from)
            .bind(&names);
        // A run has tallies on all shards.
        let mut found = HashMap::<String, StoredTallies>::new();
        for row in self.ask::<StoredTalliesRow>(question)? {
            self.came_from(row.shard, row.server)?;
            let sums = found.entry(row.run_id).or_default();
            sums.tallies += row.tallies;
            sums.received += row.received;
            sums.settled += row.settled;
            let open = row.open.into_iter();
            sums.open
                .extend(open.map(|(id, revision, received, settled)| {
                    let tally = StoredTally {
                        revision,
                        received,
                        settled,
                    };
                    (id, tally)
                }));
        }
        for (table, count) in [
            (RecordType::GroupTally, "t.count"),
            (RecordType::SetTally, "arraySum(mapValues(t.classes))"),
        ] {
            let question = SELECT_PARTS.replace("ORIGIN", ORIGIN);
            let question = question
                .replace("TABLE", table.table())
                .replace("COUNT", count);
            let question = self
                .server
                .client()
                .query(&question)
                .bind(&opened)
                .bind(&names)
                .bind(&begins)
                .bind(&names)
                .bind(&identity.migration)
                .bind(&identity.legacy_version)
                .bind(&identity.candidate_version)
                .bind(&identity.rules_hash)
                .bind(from)
                .bind(&names);
            for row in self.ask::<StoredPartsRow>(question)? {
                self.came_from(row.shard, row.server)?;
                let sums = found.entry(row.run_id).or_default();
                let parts = match table {
                    RecordType::SetTally => &mut sums.in_sets,
                    _ => &mut sums.in_groups,
                };
                parts.closed += row.closed;
                let open = row.open.into_iter();
                parts.open.extend(
                    open.map(|(tally, count, revision)| (tally, StoredPart { count, revision })),
                );
            }
        }
        Ok(found)
    }
}

#[derive(Row, Deserialize)]
struct SumsRow {
    shard: u32,
    server: String,
    counted: u64,
    received_sum: u64,
    settled: u64,
    newest: u32,
}

/// The tallies of one run.
#[derive(Row, Serialize, Deserialize)]
struct StoredTalliesRow {
    shard: u32,
    server: String,
    run_id: String,
    tallies: u64,
    received: u64,
    settled: u64,
    open: Vec<(String, u32, u64, u64)>,
}

/// What the groups or sets of one run count.
#[derive(Row, Deserialize)]
struct StoredPartsRow {
    shard: u32,
    server: String,
    run_id: String,
    closed: u64,
    open: Vec<(String, u64, u32)>,
}

/// What is added up of the tallies of a run.
const SUMMED: [(RecordType, &str); 3] = [
    (
        RecordType::Tally,
        "count() AS counted, sum(t.received) AS received_sum, \
         sum(t.match + t.mismatch + arraySum(mapValues(t.not_compared))) AS settled",
    ),
    (
        RecordType::GroupTally,
        "sum(t.count) AS counted, toUInt64(0) AS received_sum, toUInt64(0) AS settled",
    ),
    (
        RecordType::SetTally,
        "toUInt64(sum(arraySum(mapValues(t.classes)))) AS counted, toUInt64(0) AS received_sum, toUInt64(0) AS settled",
    ),
];

/// For each run, the sums of the tallies between its two times, and the later tallies one by one. A closed tally that seems
/// to be later, because the clock was set back, is added to the sums by [`StoredTallies::lacks`].
const SELECT_FOUND: &str = "SELECT shard, server, run_id, countIf(is_closed) AS tallies, sumIf(requests, is_closed) AS received, \
     sumIf(outcomes, is_closed) AS settled, groupArrayIf((tally_id, tally_revision, requests, outcomes), is_open) AS open FROM (\
     SELECT ORIGIN, toString(t.run) AS run_id, toString(t.id) AS tally_id, t.revision AS tally_revision, \
     t.received AS requests, t.match + t.mismatch + arraySum(mapValues(t.not_compared)) AS outcomes, \
     toUnixTimestamp64Micro(t.interval_start) AS begins, \
     toInt64(arrayElement(?, indexOf(?, run_id))) AS counted_from, \
     toInt64(arrayElement(?, indexOf(?, run_id))) AS open_from, \
     begins >= counted_from AND begins < open_from AS is_closed, begins >= open_from AS is_open \
     FROM tallies AS t FINAL WHERE t.migration = ? AND t.legacy_version = ? AND t.candidate_version = ? \
     AND t.rules_hash = ? AND t.interval_start >= fromUnixTimestamp64Micro(toInt64(?), 'UTC') \
     AND run_id IN ?) GROUP BY run_id, shard, server SETTINGS do_not_merge_across_partitions_select_final = 1";

/// For each run, what the rows of groups or sets count between its two times, and later by tally.
const SELECT_PARTS: &str = "SELECT shard, server, run_id, sumIf(counted, NOT is_open) AS closed, \
     groupArrayIf((tally_id, counted, lowest), is_open) AS open FROM (\
     SELECT ORIGIN, toString(t.run) AS run_id, toString(t.tally_id) AS tally_id, \
     any(toUnixTimestamp64Micro(t.interval_start) >= toInt64(arrayElement(?, indexOf(?, toString(t.run))))) AS is_open, \
     sumIf(COUNT, toUnixTimestamp64Micro(t.interval_start) >= toInt64(arrayElement(?, indexOf(?, toString(t.run))))) AS counted, \
     min(t.revision) AS lowest \
     FROM TABLE AS t FINAL WHERE t.migration = ? AND t.legacy_version = ? AND t.candidate_version = ? \
     AND t.rules_hash = ? AND t.interval_start >= fromUnixTimestamp64Micro(toInt64(?), 'UTC') \
     AND toString(t.run) IN ? GROUP BY t.run, t.tally_id, shard, server) GROUP BY run_id, shard, server \
     SETTINGS do_not_merge_across_partitions_select_final = 1";
