//! What a file has counts of: the identity that was last in force, and the versions of a migration.

use std::collections::BTreeMap;

use parity_schemas::lately::CandidateSeen;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use rusqlite::params;

use super::SqliteReader;
use super::fields::Fields;
use crate::error::StoreError;
use crate::read::Selection;
use crate::read::counting::since;
use crate::read::history::Versions;
use crate::read::in_force::{RunTimes, last_in_force};
use crate::read::seen::RunSeen;
use crate::remembered::SLOT_MICROS;

fn identity(migration: &str, row: &Fields<'_>) -> Result<Identity, StoreError> {
    Ok(Identity {
        migration: migration.to_owned(),
        legacy_version: row.text(0, "legacy_version")?.to_owned(),
        candidate_version: row.text(1, "candidate_version")?.to_owned(),
        rules_hash: row.text(2, "rules_hash")?.to_owned(),
    })
}

impl SqliteReader {
    /// The migration that counted last.
    pub(super) fn find_newest_migration(&self) -> Result<Option<String>, StoreError> {
        let found = self.rows(SELECT_NEWEST_MIGRATION, (), "tallies", |row| {
            Ok(row.text(0, "migration")?.to_owned())
        })?;
        Ok(found.into_iter().next())
    }

    /// The identity that was last in force.
    pub(super) fn identity(&self, selection: &Selection) -> Result<Option<Identity>, StoreError> {
        let migration = selection.migration();
        let values = params![
            migration,
            selection.legacy_version,
            selection.candidate_version,
            since(selection),
            selection.rules_hash
        ];
        let counted = self.rows(SELECT_NEWEST, values, "tallies", |row| {
            Ok((identity(migration, row)?, row.time(3, "interval_start")?))
        })?;
        let runs = self.list_runs(migration)?;
        Ok(last_in_force(runs, selection, counted.into_iter().next()))
    }

    /// When all runs of a migration were at work.
    pub(super) fn list_runs(&self, migration: &str) -> Result<Vec<RunTimes>, StoreError> {
        self.rows(SELECT_RUNS, [migration], "watermarks", |row| {
            Ok(RunTimes {
                identity: identity(migration, row)?,
                instance: row.text(3, "instance")?.to_owned(),
                started: row.time(4, "started")?,
                written: row.time(5, "written")?,
            })
        })
    }

    /// What the runs have seen of their candidates that wrote at this time or later.
    pub(super) fn list_seen(
        &self,
        migration: &str,
        since: Timestamp,
    ) -> Result<Vec<RunSeen>, StoreError> {
        let values = params![migration, since.as_micros()];
        self.rows(SELECT_SEEN, values, "watermarks", |row| {
            let candidate: Option<CandidateSeen> = row.json(4, "candidate")?;
            Ok(RunSeen {
                instance: row.text(0, "instance")?.to_owned(),
                candidate_version: row.text(1, "candidate_version")?.to_owned(),
                written: row.time(2, "written")?,
                ended: row.integer(3, "ended")? != 0,
                candidate: candidate.unwrap_or_default(),
            })
        })
    }

    /// The versions of both services that a migration has counts of, and the end of the last slot of each.
    pub(super) fn list_counted(&self, of: &Selection) -> Result<Vec<(Versions, i64)>, StoreError> {
        self.rows(SELECT_COUNTED, [of.migration()], "slot_marks", |row| {
            let versions = Versions {
                legacy: row.text(0, "legacy_version")?.to_owned(),
                candidate: row.text(1, "candidate_version")?.to_owned(),
            };
            let end = row.integer(2, "slot")?.saturating_add(1);
            Ok((versions, end.saturating_mul(SLOT_MICROS).saturating_sub(1)))
        })
    }

    /// The versions of the candidate that a migration has, the newest first. Only the last slot of each is looked at, or all
    /// tallies would be read for a few names.
    pub(super) fn versions(&self, migration: &str) -> Result<Vec<String>, StoreError> {
        let mut began: BTreeMap<String, i64> = BTreeMap::new();
        let slots = self.rows(SELECT_SLOTS, [migration], "slot_marks", |row| {
            let version = row.text(0, "candidate_version")?.to_owned();
            Ok((version, row.integer(1, "slot")?))
        })?;
        for (version, slot) in slots {
            if began.contains_key(&version) {
                continue;
            }
            // A slot of which nothing is left has a mark, too. Before 1970, a slot has the one behind it.
            let from = slot
                .saturating_sub(i64::from(slot <= 0))
                .saturating_mul(SLOT_MICROS);
            let to = slot.saturating_add(1).saturating_mul(SLOT_MICROS);
            let values = params![migration, from, to, version];
            let last = self.rows(SELECT_LAST_IN, values, "tallies", |row| {
                row.optional_integer(0, "interval_start")
            })?;
            if let Some(last) = last.into_iter().flatten().next() {
                began.insert(version, last);
            }
        }
        let runs = self.rows(SELECT_RUN_VERSIONS, [migration], "watermarks", |row| {
            let version = row.text(0, "candidate_version")?.to_owned();
            Ok((version, row.integer(1, "started")?))
        })?;
        for (version, started) in runs {
            let last = began.entry(version).or_insert(started);
            *last = started.max(*last);
        }
        let mut versions: Vec<(String, i64)> = began.into_iter().collect();
        versions.sort_by_key(|(_, began)| std::cmp::Reverse(*began));
        let versions = versions.into_iter().take(MAX_VERSIONS);
        Ok(versions.map(|(version, _)| version).collect())
    }
}

/// From name to name by the index, and of each only its end. A run that has counted nothing has begun.
const SELECT_NEWEST_MIGRATION: &str = "WITH RECURSIVE names(name) AS (SELECT min(migration) FROM tallies UNION ALL \
     SELECT (SELECT min(migration) FROM tallies WHERE migration > name) FROM names WHERE name IS NOT NULL) \
     SELECT migration FROM (SELECT name AS migration, (SELECT max(interval_start) FROM tallies WHERE migration = name) AS began \
     FROM names WHERE name IS NOT NULL UNION ALL SELECT migration, max(started) FROM watermarks GROUP BY migration) \
     ORDER BY began DESC, migration LIMIT 1";

const SELECT_NEWEST: &str = "SELECT legacy_version, candidate_version, rules_hash, interval_start FROM tallies \
     WHERE migration = ?1 AND (?2 IS NULL OR legacy_version = ?2) AND (?3 IS NULL OR candidate_version = ?3) \
     AND interval_start >= ?4 AND (?5 IS NULL OR rules_hash = ?5) ORDER BY interval_start DESC, id DESC LIMIT 1";

const SELECT_RUNS: &str = "SELECT legacy_version, candidate_version, rules_hash, instance, started, written \
     FROM watermarks WHERE migration = ?1 ORDER BY id";

const SELECT_SEEN: &str = "SELECT instance, candidate_version, written, ended, candidate FROM watermarks \
     WHERE migration = ?1 AND written >= ?2 AND candidate <> 'null' ORDER BY started, id";

/// Which slots each version has, those that something was ever counted in.
const SELECT_SLOTS: &str = "SELECT DISTINCT candidate_version, slot FROM slot_marks WHERE migration = ?1 \
     ORDER BY candidate_version, slot DESC";

/// A slot of which nothing is left has a mark, too: then nothing is found of these versions there.
const SELECT_COUNTED: &str = "SELECT legacy_version, candidate_version, max(slot) FROM slot_marks WHERE migration = ?1 \
     GROUP BY candidate_version, legacy_version";

const SELECT_LAST_IN: &str = "SELECT max(interval_start) FROM tallies WHERE migration = ?1 AND interval_start >= ?2 \
     AND interval_start < ?3 AND candidate_version = ?4";

const SELECT_RUN_VERSIONS: &str =
    "SELECT candidate_version, max(started) FROM watermarks WHERE migration = ?1 GROUP BY 1";

/// Versions of a migration that are told.
const MAX_VERSIONS: usize = 100;
