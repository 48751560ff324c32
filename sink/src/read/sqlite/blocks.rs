//! Counts of six hours that are kept in the file, added up.
//!
//! Ten days of a hundred routes are three million rows, and a process that has just started would read all of them for its first
//! page. So the writer adds up the rows of each six hours once, and keeps the sums beside them (`block_sums`). A block is a cache
//! and never evidence: it counts only while its mark is the one that the rows have now, see [`block_mark`], and else the rows
//! are read. It holds rows as the tables have them, several added up to one, so everything behind it is as for every store.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use parity_schemas::attributes::{AttributeCounts, add_attributes};
use parity_schemas::histogram::Histogram;
use parity_schemas::recheck::{add_counts, complete_classes};
use parity_schemas::record::RecordType;
use parity_schemas::tally::{GroupTally, Identity, SetTally, Tally};
use parity_schemas::time::Timestamp;
use rusqlite::params;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::SqliteReader;
use super::rows::all_of;
use crate::error::StoreError;
use crate::read::assemble::Added;
use crate::read::charged::Charged;
use crate::read::groups::{EXAMPLES_TRIED, Spread};
use crate::read::runs::StoredSums;
use crate::remembered::{Marks, SLOT_MICROS};

/// Six hours: of ten days there are forty blocks, and what is not in one yet is read in less than a second. A day is a whole
/// number of them, so a block has no parts of two days, by which rechecks are counted.
pub(crate) const BLOCK_SLOTS: i64 = 72;
pub(crate) const BLOCK_MICROS: i64 = BLOCK_SLOTS * SLOT_MICROS;
/// Another number when rows are added up in another way, besides other columns.
const FORMAT: u32 = 2;
/// Most sums of a block. Patterns that never repeat make hundreds of thousands in six hours, as many as there are rows: they are
/// not worth keeping, and would not fit into the memory of the process that writes. Such a block is not kept, and its rows are read.
const MAX_SUMS: usize = 10_000;

/// The sums of a block, in the order in which each was first counted.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Sums {
    tallies: Vec<Tally>,
    groups: Vec<GroupSum>,
    sets: Vec<SetTally>,
}

#[derive(Serialize, Deserialize)]
struct GroupSum {
    row: GroupTally,
    /// The newest mismatches that may be shown, the newest first.
    examples: Vec<(Timestamp, Uuid)>,
}

/// What each run has stored of a block.
pub(crate) type Runs = BTreeMap<Uuid, StoredSums>;

/// The number of a block while its slots have these marks.
pub(crate) fn block_mark(marks: &Marks, block: i64) -> i64 {
    let slots = block * BLOCK_SLOTS..(block + 1) * BLOCK_SLOTS;
    let mut hasher = DefaultHasher::new();
    FORMAT.hash(&mut hasher);
    for table in [
        RecordType::Tally,
        RecordType::GroupTally,
        RecordType::SetTally,
    ] {
        for column in table.columns() {
            column.name.hash(&mut hasher);
        }
    }
    let place = |limit: i64| marks.0.partition_point(|(slot, _)| *slot < limit);
    marks.0[place(slots.start)..place(slots.end)].hash(&mut hasher);
    hasher.finish().cast_signed()
}

/// Which block, and of which rows it is made.
#[derive(Clone, Copy, Hash)]
pub(crate) struct BlockOf<'a> {
    pub(crate) identity: &'a Identity,
    pub(crate) block: i64,
    pub(crate) mark: i64,
}

/// Digits that a kept text begins with.
const DIGEST_DIGITS: usize = 16;

impl BlockOf<'_> {
    /// What is kept in a column: JSON behind its digest. So a text that a bad disk or a person has changed, or that is of another
    /// block, is not taken for what the rows add up to, however valid it is.
    /// Its rows are then read, until they change and the block is made again: that takes time and nothing else.
    fn sealed(self, column: &str, json: &str) -> String {
        format!("{}{json}", self.digest(column, json))
    }

    /// The JSON of a text that is as it was kept.
    fn opened<'t>(&self, column: &str, text: &'t str) -> Option<&'t str> {
        let (digest, json) = text.split_at_checked(DIGEST_DIGITS)?;
        (digest == self.digest(column, json)).then_some(json)
    }

    fn digest(&self, column: &str, json: &str) -> String {
        let mut hasher = DefaultHasher::new();
        (self, column, json).hash(&mut hasher);
        format!("{:0DIGEST_DIGITS$x}", hasher.finish())
    }
}

/// Adds up the rows of a block.
#[derive(Default)]
pub(crate) struct Folding {
    sums: Sums,
    runs: Runs,
    charged: [Charged; 3],
    tallies: HashMap<(String, Uuid, String, String), usize>,
    groups: HashMap<(String, String, Uuid), usize>,
    sets: HashMap<(String, String), usize>,
}

impl Folding {
    /// Adds a row of `tallies`.
    fn tally(&mut self, mut row: Tally) -> Result<(), StoreError> {
        self.charged[0].row(&row)?;
        let run = self.runs.entry(row.run).or_default();
        run.tallies += 1;
        run.received += row.counts.received;
        run.settled += row.counts.settled();
        run.newest = run.newest.max(row.revision);
        row.counts.classes = complete_classes(row.counts.classes, row.counts.mismatch);
        let key = (
            row.instance.clone(),
            row.run,
            row.route.clone(),
            row.target_key.clone(),
        );
        let Some(place) = self.tallies.get(&key) else {
            self.tallies.insert(key, self.sums.tallies.len());
            self.sums.tallies.push(row);
            return Ok(());
        };
        let sum = &mut self.sums.tallies[*place];
        let end = |tally: &Tally| {
            tally
                .interval_start
                .saturating_add_micros(tally.interval_us)
        };
        let (begins, ends) = (
            sum.interval_start.min(row.interval_start),
            end(sum).max(end(&row)),
        );
        sum.interval_start = begins;
        sum.interval_us = ends.as_micros().saturating_sub(begins.as_micros());
        sum.counts.merge(&row.counts);
        for (rule, hits) in row.rule_hits {
            *sum.rule_hits.entry(rule).or_default() += hits;
        }
        sum.legacy_latency.merge(&row.legacy_latency);
        sum.candidate_latency.merge(&row.candidate_latency);
        sum.legacy_head_latency.merge(&row.legacy_head_latency);
        sum.candidate_head_latency
            .merge(&row.candidate_head_latency);
        sum.targets.merge(&row.targets);
        sum.frequent_targets.merge(&row.frequent_targets);
        add_attributes(&mut sum.attributes, &row.attributes);
        Ok(())
    }

    /// Adds a row of `group_tallies`.
    fn group(&mut self, mut row: GroupTally) -> Result<(), StoreError> {
        self.charged[1].row(&row)?;
        let run = self.runs.entry(row.run).or_default();
        run.in_groups += row.count;
        run.newest = run.newest.max(row.revision);
        row.classes = complete_classes(row.classes, row.count);
        let example = (row.last_seen, row.example_id);
        let key = (row.route.clone(), row.group.fingerprint.clone(), row.run);
        let Some(place) = self.groups.get(&key) else {
            self.groups.insert(key, self.sums.groups.len());
            let examples = vec![example];
            self.sums.groups.push(GroupSum { row, examples });
            return Ok(());
        };
        let GroupSum { row: sum, examples } = &mut self.sums.groups[*place];
        sum.count += row.count;
        sum.first_seen = sum.first_seen.min(row.first_seen);
        sum.last_seen = sum.last_seen.max(row.last_seen);
        sum.exchange_digest.add(row.exchange_digest);
        add_counts(&mut sum.classes, &row.classes);
        add_counts(&mut sum.evidence, &row.evidence);
        add_attributes(&mut sum.attributes, &row.attributes);
        examples.push(example);
        examples.sort_unstable_by(|one, other| other.cmp(one));
        examples.dedup();
        examples.truncate(EXAMPLES_TRIED);
        if let Some((_, newest)) = examples.first() {
            sum.example_id = *newest;
        }
        Ok(())
    }

    /// Adds a row of `set_tallies`.
    fn set(&mut self, row: SetTally) -> Result<(), StoreError> {
        self.charged[2].row(&row)?;
        let run = self.runs.entry(row.run).or_default();
        run.in_sets += row.classes.values().sum::<u64>();
        run.newest = run.newest.max(row.revision);
        let key = (row.route.clone(), row.set_id.clone());
        let Some(place) = self.sets.get(&key) else {
            self.sets.insert(key, self.sums.sets.len());
            self.sums.sets.push(row);
            return Ok(());
        };
        let sum = &mut self.sums.sets[*place];
        add_counts(&mut sum.classes, &row.classes);
        sum.never_asked += row.never_asked;
        Ok(())
    }

    /// Whether there are more sums than are kept.
    pub(crate) fn is_too_large(&self) -> bool {
        self.sums.tallies.len() + self.sums.groups.len() + self.sums.sets.len() > MAX_SUMS
    }

    /// The sums, and what each run has stored, as they are kept.
    pub(crate) fn into_texts(self, of: BlockOf<'_>) -> Result<[String; 2], serde_json::Error> {
        Ok([
            of.sealed("sums", &serde_json::to_string(&self.sums)?),
            of.sealed("runs", &serde_json::to_string(&self.runs)?),
        ])
    }

    /// The same for a block whose rows are to be read.
    pub(crate) fn none() -> [String; 2] {
        ["null".to_owned(), "null".to_owned()]
    }
}

impl Sums {
    /// Adds them to what is added up of rows.
    pub(super) fn add_to(self, added: &mut Added, with_details: bool) -> Result<(), StoreError> {
        let Added { sums, charged } = added;
        let [of_tallies, of_groups, of_sets] = charged;
        for mut tally in self.tallies {
            if !with_details {
                without_details(&mut tally);
            }
            of_tallies.row(&tally)?;
            sums.add(tally);
        }
        for GroupSum { mut row, examples } in self.groups {
            if !with_details {
                row.attributes.clear();
            }
            of_groups.row(&row)?;
            let (route, fingerprint) = (row.route.clone(), row.group.fingerprint.clone());
            let spread = Spread::of(&row);
            sums.groups.add(row, spread);
            for (seen, id) in examples {
                sums.groups.add_example(&route, &fingerprint, seen, id);
            }
        }
        for set in self.sets {
            of_sets.row(&set)?;
            sums.sets.add(set);
        }
        Ok(())
    }
}

/// Sets what is not read without details to what a row has that lacks it.
fn without_details(tally: &mut Tally) {
    *tally = Tally {
        rule_hits: BTreeMap::new(),
        legacy_latency: Histogram::default(),
        candidate_latency: Histogram::default(),
        legacy_head_latency: Histogram::default(),
        candidate_head_latency: Histogram::default(),
        attributes: AttributeCounts::new(),
        ..std::mem::take(tally)
    };
}

impl SqliteReader {
    /// Adds all rows that begin from one time on and before another one to a block.
    pub(crate) fn fold_rows(
        &self,
        identity: &Identity,
        folding: &mut Folding,
        (from, to): (i64, i64),
    ) -> Result<(), StoreError> {
        // Runs and revisions, too, by which it is checked whether all is there.
        self.each_counted(identity, (all_of, ""), (from, to), |row| {
            if folding.is_too_large() {
                return Ok(());
            }
            match row {
                CountedRow::Tally(tally) => folding.tally(*tally),
                CountedRow::Group(group) => folding.group(group),
                CountedRow::Set(set) => folding.set(set),
            }
        })
    }

    /// The mark that a block has now.
    pub(crate) fn mark_of_block(&self, identity: &Identity, block: i64) -> Result<i64, StoreError> {
        let first = block * BLOCK_SLOTS;
        let marks = self.marks_of(identity, first, first + BLOCK_SLOTS)?;
        Ok(block_mark(&marks, block))
    }

    /// The blocks from one on and before another one that are not added up as their rows are now, the newest last.
    pub(crate) fn changed_blocks(
        &self,
        first: i64,
        end: i64,
    ) -> Result<Vec<(Identity, i64)>, StoreError> {
        let identities = self.rows(
            SELECT_IDENTITIES,
            [first * BLOCK_SLOTS],
            "slot_marks",
            |row| {
                Ok(Identity {
                    migration: row.text(0, "migration")?.to_owned(),
                    legacy_version: row.text(1, "legacy_version")?.to_owned(),
                    candidate_version: row.text(2, "candidate_version")?.to_owned(),
                    rules_hash: row.text(3, "rules_hash")?.to_owned(),
                })
            },
        )?;
        let mut changed = Vec::new();
        for identity in identities {
            let marks = self.marks_of(&identity, first * BLOCK_SLOTS, end * BLOCK_SLOTS)?;
            let of_slots = marks.0.iter().map(|(slot, _)| slot / BLOCK_SLOTS);
            let counted: BTreeSet<i64> = of_slots.collect();
            let kept: BTreeSet<i64> = self
                .valid_blocks(&identity, first * BLOCK_MICROS, end * BLOCK_MICROS)?
                .into_iter()
                .map(|(block, _)| block)
                .collect();
            let missing = counted.difference(&kept);
            changed.extend(missing.map(|block| (identity.clone(), *block)));
        }
        changed.sort_by_key(|(_, block)| *block);
        Ok(changed)
    }

    /// Calls `add_block` with what is kept in a column of each block in a time whose rows are still the same, and `add_rows`
    /// with the times between them; all in order.
    pub(super) fn through_blocks<T, B: DeserializeOwned>(
        &self,
        (identity, column): (&Identity, &'static str),
        (from, to): (i64, i64),
        state: &mut T,
        add_block: impl Fn(&mut T, B) -> Result<(), StoreError>,
        add_rows: impl Fn(&mut T, i64, i64) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut at = from;
        for (block, mark) in self.valid_blocks(identity, from, to)? {
            let of = BlockOf {
                identity,
                block,
                mark,
            };
            let begins = block * BLOCK_MICROS;
            let sql = format!(
                "SELECT {column} FROM block_sums WHERE migration = ?1 AND candidate_version = ?2 AND legacy_version = ?3 \
                 AND rules_hash = ?4 AND block = ?5"
            );
            let values = params![
                identity.migration,
                identity.candidate_version,
                identity.legacy_version,
                identity.rules_hash,
                block
            ];
            // Where it cannot be read, the rows can.
            let found = self.rows(&sql, values, "block_sums", |row| {
                let json = of.opened(column, row.text(0, column).unwrap_or_default());
                Ok(json.and_then(|json| serde_json::from_str::<B>(json).ok()))
            })?;
            let Some(kept) = found.into_iter().flatten().next() else {
                continue;
            };
            if begins > at {
                add_rows(state, at, begins)?;
            }
            add_block(state, kept)?;
            at = begins + BLOCK_MICROS;
        }
        add_rows(state, at, to)
    }

    /// The blocks within a time whose rows are still those that were added up, with their marks, in order.
    fn valid_blocks(
        &self,
        identity: &Identity,
        from: i64,
        to: i64,
    ) -> Result<Vec<(i64, i64)>, StoreError> {
        // None begins before 1970: there a slot has the one behind it.
        let first = from.max(1).saturating_add(BLOCK_MICROS - 1) / BLOCK_MICROS;
        let end = to / BLOCK_MICROS;
        if first >= end {
            return Ok(Vec::new());
        }
        let values = params![
            identity.migration,
            identity.candidate_version,
            identity.legacy_version,
            identity.rules_hash,
            first,
            end,
        ];
        let kept = self.rows(SELECT_BLOCKS, values, "block_sums", |row| {
            Ok(row
                .integer(0, "block")
                .ok()
                .zip(row.integer(1, "mark").ok()))
        })?;
        let kept: Vec<(i64, i64)> = kept.into_iter().flatten().collect();
        let (Some((oldest, _)), Some((newest, _))) = (kept.first(), kept.last()) else {
            return Ok(Vec::new());
        };
        let slots = (oldest * BLOCK_SLOTS, (newest + 1) * BLOCK_SLOTS);
        let marks = self.marks_of(identity, slots.0, slots.1)?;
        let kept = kept.into_iter();
        let valid = kept.filter(|(block, mark)| block_mark(&marks, *block) == *mark);
        Ok(valid.collect())
    }
}

/// A row of one of the three tables.
pub(super) enum CountedRow {
    Tally(Box<Tally>),
    Group(GroupTally),
    Set(SetTally),
}

const SELECT_BLOCKS: &str = "SELECT block, mark FROM block_sums WHERE migration = ?1 AND candidate_version = ?2 \
     AND legacy_version = ?3 AND rules_hash = ?4 AND block >= ?5 AND block < ?6 ORDER BY block";

const SELECT_IDENTITIES: &str = "SELECT DISTINCT migration, legacy_version, candidate_version, rules_hash FROM slot_marks \
     WHERE slot >= ?1";
