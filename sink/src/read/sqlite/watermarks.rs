//! Watermarks out of the file, each with whether the tallies that it names are there. They are written together and read
//! together, but a file may have been lost in between: a mirror that makes it anew has the counts of its last minutes only.

use std::collections::BTreeMap;

use parity_schemas::record::RecordType;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Watermark;
use rusqlite::params;

use super::rows::{all_of, watermark};
use super::{SqliteReader, since};
use crate::error::StoreError;
use crate::read::Selection;
use crate::read::assemble::{Found, Heard, VERIFIED_MICROS};
use crate::read::others::{self, OtherRun};

impl SqliteReader {
    /// What the runs of one identity said last.
    pub(super) fn heard(
        &self,
        identity: &Identity,
        selection: &Selection,
    ) -> Result<Heard, StoreError> {
        let since = since(selection);
        let values = params![
            identity.migration,
            identity.legacy_version,
            identity.candidate_version,
            identity.rules_hash,
            since
        ];
        let sql = format!("SELECT {} {WATERMARKS}", all_of(RecordType::Watermark));
        let watermarks = self.rows(&sql, values, "watermarks", watermark)?;
        let oldest = Timestamp::now().saturating_add_micros(-VERIFIED_MICROS);
        let watermarks = watermarks
            .into_iter()
            .map(|watermark| {
                let lacks =
                    watermark.written >= oldest && self.found(&watermark)?.lacks(&watermark);
                Ok((watermark, lacks))
            })
            .collect::<Result<_, StoreError>>()?;
        let latest: BTreeMap<String, Timestamp> = self
            .rows(SELECT_LATEST, [&identity.migration], "watermarks", |row| {
                Ok((row.text(0, "instance")?.to_owned(), row.time(1, "started")?))
            })?
            .into_iter()
            .collect();
        let mut others = self.rows(SELECT_OTHERS, values, "watermarks", |row| {
            Ok(OtherRun {
                id: row.word(0, "id")?,
                rules_hash: row.text(1, "rules_hash")?.to_owned(),
                instance: row.text(2, "instance")?.to_owned(),
                started: row.time(3, "started")?,
                written: row.time(4, "written")?,
                complete_until: row.time(5, "complete_until")?,
                ended: row.integer(6, "ended")? != 0,
                counted: row.integer(7, "received")? != 0,
                receives: false,
            })
        })?;
        others::find_receiving(&mut others, &latest, |run, since| {
            self.received_since(identity, run, since)
        })?;
        Ok(Heard {
            watermarks,
            latest,
            others,
        })
    }

    /// Whether a run under other rules has tallies with requests that began at `since` or later.
    fn received_since(
        &self,
        identity: &Identity,
        run: &OtherRun,
        since: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = params![
            identity.migration,
            identity.legacy_version,
            identity.candidate_version,
            run.rules_hash,
            since.as_micros(),
            run.id.to_string(),
        ];
        let found = self.rows(SELECT_RECEIVED, values, "tallies", |_| Ok(()))?;
        Ok(!found.is_empty())
    }

    /// The tallies of a run.
    fn found(&self, watermark: &Watermark) -> Result<Found, StoreError> {
        let identity = &watermark.identity;
        let rows = self.rows(
            SELECT_FOUND,
            params![
                identity.migration,
                identity.legacy_version,
                identity.candidate_version,
                identity.rules_hash,
                watermark.counted_from.as_micros(),
                watermark.id.to_string(),
            ],
            "tallies",
            |row| {
                Ok((
                    row.text(0, "id")?.to_owned(),
                    row.number(1, "revision")?,
                    row.time(2, "interval_start")?,
                    [
                        row.count(3, "received")?,
                        row.count(4, "match")? + row.count(5, "mismatch")?,
                    ],
                    row.json::<BTreeMap<String, u64>>(6, "not_compared")?,
                ))
            },
        )?;
        let mut found = Found::default();
        for (id, revision, begins, [received, compared], not_compared) in rows {
            if begins >= watermark.open_from {
                found.open.insert(id, revision);
            } else {
                found.tallies += 1;
                found.received += received;
                found.settled += compared + not_compared.values().sum::<u64>();
            }
        }
        Ok(found)
    }
}

const WATERMARKS: &str = "FROM watermarks \
     WHERE migration = ?1 AND legacy_version = ?2 AND candidate_version = ?3 AND rules_hash = ?4 AND written >= ?5 \
     ORDER BY instance, started, id";

const SELECT_OTHERS: &str = "SELECT id, rules_hash, instance, started, written, complete_until, ended, \
     received > 0 OR open <> '[]' OR under_way <> '[]' FROM watermarks \
     WHERE migration = ?1 AND legacy_version = ?2 AND candidate_version = ?3 AND rules_hash <> ?4 AND written >= ?5";

const SELECT_RECEIVED: &str = "SELECT 1 FROM tallies \
     WHERE migration = ?1 AND legacy_version = ?2 AND candidate_version = ?3 AND rules_hash = ?4 \
     AND interval_start >= ?5 AND run = ?6 AND received > 0 LIMIT 1";

const SELECT_FOUND: &str = "SELECT id, revision, interval_start, received, \"match\", mismatch, not_compared FROM tallies \
     WHERE migration = ?1 AND legacy_version = ?2 AND candidate_version = ?3 AND rules_hash = ?4 \
     AND interval_start >= ?5 AND run = ?6";

const SELECT_LATEST: &str =
    "SELECT instance, max(started) FROM watermarks WHERE migration = ?1 GROUP BY instance";
