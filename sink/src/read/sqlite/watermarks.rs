//! Watermarks out of the file. What was written together is read together, so none lacks its tallies.

use std::collections::BTreeMap;

use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Watermark;
use rusqlite::params;

use super::{Fields, SqliteReader, since};
use crate::error::StoreError;
use crate::read::Selection;
use crate::read::assemble::Heard;

impl SqliteReader {
    /// What the runs of one identity said last.
    pub(super) fn heard(
        &self,
        identity: &Identity,
        selection: &Selection,
    ) -> Result<Heard, StoreError> {
        let values = params![
            identity.migration,
            identity.legacy_version,
            identity.candidate_version,
            identity.rules_hash,
            since(selection)
        ];
        let watermarks = self.rows(SELECT_WATERMARKS, values, "watermarks", |row| {
            Ok((watermark(row, identity)?, false))
        })?;
        let latest: BTreeMap<String, Timestamp> = self
            .rows(SELECT_LATEST, [&identity.migration], "watermarks", |row| {
                Ok((row.text(0, "instance")?.to_owned(), row.time(1, "started")?))
            })?
            .into_iter()
            .collect();
        Ok(Heard { watermarks, latest })
    }
}

fn watermark(row: &Fields<'_>, identity: &Identity) -> Result<Watermark, StoreError> {
    Ok(Watermark {
        id: row.word(0, "id")?,
        revision: row.number(1, "revision")?,
        identity: identity.clone(),
        instance: row.text(2, "instance")?.to_owned(),
        started: row.time(3, "started")?,
        written: row.time(4, "written")?,
        complete_until: row.time(5, "complete_until")?,
        ended: row.integer(6, "ended")? != 0,
        under_way: row.json(7, "under_way")?,
        counted_from: row.time(8, "counted_from")?,
        open_from: row.time(9, "open_from")?,
        tallies: row.count(10, "tallies")?,
        received: row.count(11, "received")?,
        settled: row.count(12, "settled")?,
        open: row.json(13, "open")?,
    })
}

const SELECT_WATERMARKS: &str = "SELECT id, revision, instance, started, written, complete_until, ended, under_way, \
     counted_from, open_from, tallies, received, settled, open FROM watermarks \
     WHERE migration = ?1 AND legacy_version = ?2 AND candidate_version = ?3 AND rules_hash = ?4 AND written >= ?5 \
     ORDER BY instance, started, id";

const SELECT_LATEST: &str =
    "SELECT instance, max(started) FROM watermarks WHERE migration = ?1 GROUP BY instance";
