//! Queries on stored decisions, and on the tallies that one rests on.

use parity_schemas::decisions::DecisionLine;
use parity_schemas::record::RecordType;
use parity_schemas::tally::Identity;
use rusqlite::params;
use uuid::Uuid;

use super::rows::{needed_of, tally};
use super::{OF_IDENTITY, SqliteReader, within};
use crate::error::StoreError;
use crate::read::assemble::Sums;
use crate::read::decisions::{Counted, CountedWindow, DecisionFilter};

impl SqliteReader {
    pub(super) fn list_decisions(
        &self,
        filter: &DecisionFilter,
        limit: usize,
    ) -> Result<Vec<DecisionLine>, StoreError> {
        let (before, before_id) = filter
            .before
            .map_or((i64::MAX, String::new()), |(time, id)| {
                (time.as_micros(), id.to_string())
            });
        let outcome = filter
            .outcome
            .map(parity_schemas::evidence::Outcome::as_str);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values = params![before, before_id, filter.migration, outcome, limit];
        self.rows(SELECT_LINES, values, "decisions", |row| {
            Ok(DecisionLine {
                id: row.word(0, "id")?,
                time: row.time(1, "time")?,
                migration: row.text(2, "migration")?.to_owned(),
                outcome: row.word(3, "outcome")?,
                legacy_version: row.text(4, "legacy_version")?.to_owned(),
                candidate_version: row.text(5, "candidate_version")?.to_owned(),
                rules_hash: row.text(6, "rules_hash")?.to_owned(),
                headline: row.text(7, "document")?.to_owned(),
            })
        })
    }

    pub(super) fn find_decision(&self, id: Uuid) -> Result<Option<String>, StoreError> {
        let sql = "SELECT document FROM decisions WHERE id = ?1";
        let found = self.rows(sql, [id.to_string()], "decisions", |row| {
            Ok(row.text(0, "document")?.to_owned())
        })?;
        Ok(found.into_iter().next())
    }

    pub(super) fn count(
        &self,
        identity: &Identity,
        asked: &CountedWindow,
    ) -> Result<Counted, StoreError> {
        let mut sql = format!(
            "SELECT {} FROM tallies {OF_IDENTITY} AND interval_start < {} AND interval_start + interval_us <= {}",
            needed_of(RecordType::Tally, false),
            asked.window.to.as_micros(),
            asked.closed_by.as_micros()
        );
        for span in &asked.left_out {
            sql.extend([" AND NOT ", &within(span)]);
        }
        let mut sums = Sums::default();
        self.each(&sql, RecordType::Tally, identity, &asked.since(), |row| {
            sums.add(tally(row)?);
            Ok(())
        })?;
        Ok(sums.into_counted())
    }
}

const SELECT_LINES: &str = "SELECT id, time, migration, outcome, legacy_version, candidate_version, rules_hash, \
     CASE WHEN json_valid(document) THEN coalesce(json_extract(document, '$.headline'), '') ELSE '' END \
     FROM decisions WHERE (time, id) < (?1, ?2) AND (?3 IS NULL OR migration = ?3) AND (?4 IS NULL OR outcome = ?4) \
     ORDER BY time DESC, id DESC LIMIT ?5";
