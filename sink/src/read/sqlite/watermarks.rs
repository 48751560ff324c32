//! Queries on watermarks, each with whether the tallies that it lists exist. Both are written in one transaction, but
//! the file may have been lost in between: a mirror that creates it again has only the counts of its last minutes.

use std::collections::BTreeMap;

use parity_schemas::record::RecordType;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Watermark;
use rusqlite::params;

use super::rows::{all_of, watermark};
use super::{SqliteReader, blocks};
use crate::error::StoreError;
use crate::read::Selection;
use crate::read::counting::CountingRows as _;
use crate::read::others::{self, OtherRun, Starts};
use crate::read::runs::{
    RunWatermarks, StoredPart, StoredParts, StoredSums, StoredTallies, StoredTally, VERIFIED_MICROS,
};
use crate::remembered::{Key, SLOT_MICROS, What};
use crate::sqlite::begun::Note;

impl SqliteReader {
    /// The latest watermarks of the runs of one identity. A note stands for the first watermark of a run that has none
    /// in the file.
    pub(super) fn run_watermarks(
        &self,
        identity: &Identity,
        selection: &Selection,
        mut notes: Vec<Note>,
    ) -> Result<RunWatermarks, StoreError> {
        for note in notes.iter_mut().filter(|note| !note.has_identity) {
            note.run.identity = identity.clone();
        }
        notes.retain(|note| note.run.identity.migration == identity.migration);
        let mut unheard = Vec::new();
        for note in notes {
            let id = [note.run.id.to_string()];
            if self
                .rows(SELECT_RUN, id, "watermarks", |_| Ok(()))?
                .is_empty()
            {
                unheard.push(note.run);
            }
        }
        let starts: Starts = self
            .rows(SELECT_STARTS, [&identity.migration], "watermarks", |row| {
                Ok((row.text(0, "instance")?.to_owned(), row.time(1, "started")?))
            })?
            .into_iter()
            .chain(
                unheard
                    .iter()
                    .map(|run| (run.instance.clone(), run.started)),
            )
            .collect();
        let values = params![
            identity.migration,
            identity.legacy_version,
            identity.candidate_version,
            identity.rules_hash,
        ];
        let sql = format!("SELECT {} {WATERMARKS}", all_of(RecordType::Watermark));
        let mut watermarks = self.rows(&sql, values, "watermarks", watermark)?;
        let (same, other): (Vec<_>, Vec<_>) = unheard
            .into_iter()
            .partition(|run| run.identity == *identity);
        watermarks.extend(same);
        if let Some(since) = selection.since {
            watermarks.retain(|watermark| !starts.is_over(watermark, since));
        }
        let oldest = Timestamp::now().saturating_add_micros(-VERIFIED_MICROS);
        let watermarks = watermarks
            .into_iter()
            .map(|watermark| {
                let lacks = watermark.written >= oldest
                    && self.stored_tallies(&watermark)?.lacks(&watermark);
                Ok((watermark, lacks))
            })
            .collect::<Result<_, StoreError>>()?;
        let values = params![
            identity.migration,
            identity.legacy_version,
            identity.candidate_version,
            identity.rules_hash,
            selection.legacy_version.is_none(),
            selection.candidate_version.is_none(),
        ];
        let mut others = self.rows(SELECT_OTHERS, values, "watermarks", |row| {
            let written = row.time(4, "written")?;
            Ok(OtherRun {
                id: row.word(0, "id")?,
                identity: Identity {
                    migration: identity.migration.clone(),
                    legacy_version: row.text(8, "legacy_version")?.to_owned(),
                    candidate_version: row.text(9, "candidate_version")?.to_owned(),
                    rules_hash: row.text(1, "rules_hash")?.to_owned(),
                },
                instance: row.text(2, "instance")?.to_owned(),
                started: row.time(3, "started")?,
                written,
                complete_until: row.time(5, "complete_until")?,
                ended: row.integer(6, "ended")? != 0,
                counted: row.integer(7, "received")? != 0 && selection.since <= Some(written),
                receives: false,
            })
        })?;
        let other = other.into_iter();
        let other = other.filter(|run| selection.allows(&run.identity));
        others.extend(other.map(unheard_of));
        others::find_receiving(&mut others, &starts, |run, since| {
            self.received_since(run, since)
        })?;
        Ok(RunWatermarks {
            watermarks,
            starts,
            others,
            since: selection.since,
        })
    }

    /// Whether a run of another identity has tallies with requests whose interval began at `since` or later.
    fn received_since(&self, run: &OtherRun, since: Timestamp) -> Result<bool, StoreError> {
        let identity = &run.identity;
        let values = params![
            identity.migration,
            identity.legacy_version,
            identity.candidate_version,
            identity.rules_hash,
            since.as_micros(),
            run.id.to_string(),
        ];
        let found = self.rows(SELECT_RECEIVED, values, "tallies", |_| Ok(()))?;
        Ok(!found.is_empty())
    }

    /// The tallies of a run in the file. Those of long ago are added up once, by a process that remembers.
    fn stored_tallies(&self, watermark: &Watermark) -> Result<StoredTallies, StoreError> {
        let from = watermark.counted_from.as_micros();
        let marks = self.marks(&watermark.identity, from)?;
        let now = Timestamp::now().as_micros();
        let closed_by = watermark.open_from.as_micros() / SLOT_MICROS;
        let to = marks.open_from(now).min(closed_by);
        let key = Key {
            identity: watermark.identity.clone(),
            from,
            of: What::Run(watermark.id),
        };
        let add = |sums: &mut StoredSums, from, to| self.add_stored(watermark, sums, from, to);
        // Who remembers nothing forgets it at once.
        let remembered = self.remembered.clone().unwrap_or_default();
        let (closed, from_then) = remembered
            .of::<StoredSums>()
            .closed(&key, &marks, to, add)?;
        if closed.newest > watermark.revision {
            // Some of them are later than what the watermark says.
            return self.stored_since(watermark, from);
        }
        let mut found = self.stored_since(watermark, from_then)?;
        found.tallies += closed.tallies;
        found.received += closed.received;
        found.settled += closed.settled;
        found.in_groups.closed += closed.in_groups;
        found.in_sets.closed += closed.in_sets;
        Ok(found)
    }

    /// Adds up the tallies of a run that began from one time on and before another one.
    fn add_stored(
        &self,
        watermark: &Watermark,
        sums: &mut StoredSums,
        from: i64,
        to: i64,
    ) -> Result<(), StoreError> {
        self.through_blocks(
            (&watermark.identity, "runs"),
            (from, to),
            sums,
            |sums, kept: blocks::Runs| {
                if let Some(more) = kept.get(&watermark.id) {
                    sums.add(more);
                }
                Ok(())
            },
            |sums, from, to| self.add_stored_rows(watermark, sums, from, to),
        )
    }

    fn add_stored_rows(
        &self,
        watermark: &Watermark,
        sums: &mut StoredSums,
        from: i64,
        to: i64,
    ) -> Result<(), StoreError> {
        for row in self.stored_rows(watermark, from, Some(to))? {
            sums.tallies += 1;
            sums.received += row.received;
            sums.settled += row.settled;
            sums.newest = sums.newest.max(row.revision);
        }
        for (table, count, sum) in [
            ("group_tallies", "count", &mut sums.in_groups),
            ("set_tallies", COUNT_OF_SET, &mut sums.in_sets),
        ] {
            let parts = self.part_rows(watermark, (table, count), from, Some(to))?;
            for (_, _, part) in parts {
                *sum += part.count;
                sums.newest = sums.newest.max(part.newest);
            }
        }
        Ok(())
    }

    fn stored_rows(
        &self,
        watermark: &Watermark,
        from: i64,
        to: Option<i64>,
    ) -> Result<Vec<StoredRow>, StoreError> {
        let identity = &watermark.identity;
        let values = params![
            identity.migration,
            identity.legacy_version,
            identity.candidate_version,
            identity.rules_hash,
            from,
            watermark.id.to_string(),
            to,
        ];
        self.rows(SELECT_FOUND, values, "tallies", |row| {
            let compared = row.count(4, "match")? + row.count(5, "mismatch")?;
            let not_compared = row.json::<BTreeMap<String, u64>>(6, "not_compared")?;
            Ok(StoredRow {
                id: row.text(0, "id")?.to_owned(),
                revision: row.number(1, "revision")?,
                begins: row.time(2, "interval_start")?,
                received: row.count(3, "received")?,
                settled: compared + not_compared.values().sum::<u64>(),
            })
        })
    }

    /// Those that began from this time on.
    fn stored_since(&self, watermark: &Watermark, from: i64) -> Result<StoredTallies, StoreError> {
        let mut found = StoredTallies {
            in_groups: self.stored_parts(watermark, "group_tallies", "count", from)?,
            in_sets: self.stored_parts(watermark, "set_tallies", COUNT_OF_SET, from)?,
            ..StoredTallies::default()
        };
        for row in self.stored_rows(watermark, from, None)? {
            if row.begins >= watermark.open_from || row.revision > watermark.revision {
                let tally = StoredTally {
                    revision: row.revision,
                    received: row.received,
                    settled: row.settled,
                };
                found.open.insert(row.id, tally);
            } else {
                found.tallies += 1;
                found.received += row.received;
                found.settled += row.settled;
            }
        }
        Ok(found)
    }

    /// What the groups or sets of a run count.
    fn stored_parts(
        &self,
        watermark: &Watermark,
        table: &'static str,
        count: &str,
        from: i64,
    ) -> Result<StoredParts, StoreError> {
        let mut found = StoredParts::default();
        for (tally, begins, part) in self.part_rows(watermark, (table, count), from, None)? {
            if begins >= watermark.open_from || part.lowest > watermark.revision {
                let part = StoredPart {
                    count: part.count,
                    revision: part.lowest,
                };
                found.open.insert(tally, part);
            } else {
                found.closed += part.count;
            }
        }
        Ok(found)
    }

    fn part_rows(
        &self,
        watermark: &Watermark,
        (table, count): (&'static str, &str),
        from: i64,
        to: Option<i64>,
    ) -> Result<Vec<(String, Timestamp, PartRow)>, StoreError> {
        let identity = &watermark.identity;
        let sql = format!(
            "SELECT tally_id, interval_start, sum({count}), min(revision), max(revision) FROM {table} \
             WHERE migration = ?1 AND legacy_version = ?2 AND candidate_version = ?3 AND rules_hash = ?4 \
             AND interval_start >= ?5 AND run = ?6 AND (?7 IS NULL OR interval_start < ?7) \
             GROUP BY tally_id, interval_start"
        );
        let values = params![
            identity.migration,
            identity.legacy_version,
            identity.candidate_version,
            identity.rules_hash,
            from,
            watermark.id.to_string(),
            to,
        ];
        self.rows(&sql, values, table, |row| {
            let part = PartRow {
                count: row.count(2, "count")?,
                lowest: row.number(3, "revision")?,
                newest: row.number(4, "revision")?,
            };
            let tally = row.text(0, "tally_id")?.to_owned();
            Ok((tally, row.time(1, "interval_start")?, part))
        })
    }
}

/// What is needed of a tally in the file.
struct StoredRow {
    id: String,
    revision: u32,
    begins: Timestamp,
    received: u64,
    settled: u64,
}

/// The groups or sets of one tally in the file.
struct PartRow {
    count: u64,
    lowest: u32,
    newest: u32,
}

/// How many mismatches a row of a set counts.
const COUNT_OF_SET: &str = "(SELECT sum(value) FROM json_each(classes))";

const WATERMARKS: &str = "FROM watermarks \
     WHERE migration = ?1 AND legacy_version = ?2 AND candidate_version = ?3 AND rules_hash = ?4 \
     ORDER BY instance, started, id";

const SELECT_OTHERS: &str = "SELECT id, rules_hash, instance, started, written, complete_until, ended, \
     received > 0 OR open <> '[]' OR under_way <> '[]', legacy_version, candidate_version FROM watermarks \
     WHERE migration = ?1 AND (?5 OR legacy_version = ?2) AND (?6 OR candidate_version = ?3) \
     AND (legacy_version, candidate_version, rules_hash) <> (?2, ?3, ?4)";

const SELECT_RECEIVED: &str = "SELECT 1 FROM tallies \
     WHERE migration = ?1 AND legacy_version = ?2 AND candidate_version = ?3 AND rules_hash = ?4 \
     AND interval_start >= ?5 AND run = ?6 AND received > 0 LIMIT 1";

const SELECT_FOUND: &str = "SELECT id, revision, interval_start, received, \"match\", mismatch, not_compared FROM tallies \
     WHERE migration = ?1 AND legacy_version = ?2 AND candidate_version = ?3 AND rules_hash = ?4 \
     AND interval_start >= ?5 AND run = ?6 AND (?7 IS NULL OR interval_start < ?7)";

const SELECT_RUN: &str = "SELECT 1 FROM watermarks WHERE id = ?1";

const SELECT_STARTS: &str = "SELECT instance, started FROM watermarks WHERE migration = ?1";

/// A run that the file has not heard of, of another identity.
fn unheard_of(run: Watermark) -> OtherRun {
    OtherRun {
        id: run.id,
        identity: run.identity,
        instance: run.instance,
        started: run.started,
        written: run.written,
        complete_until: run.complete_until,
        ended: false,
        counted: false,
        receives: false,
    }
}
