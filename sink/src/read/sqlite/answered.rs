//! Queries on mismatches whose answers are stored.

use parity_schemas::record::Mismatch;
use parity_schemas::time::Timestamp;
use rusqlite::params;
use uuid::Uuid;

use super::SqliteReader;
use crate::error::StoreError;
use crate::read::RecordReader as _;
use crate::read::answered::{AnsweredFilter, Chosen, MAX_LISTED};

/// The index has only rows with answers. It is named, because by another one every mismatch of the time would be read.
pub(super) const LISTED: &str = "SELECT id, fingerprints FROM mismatches INDEXED BY samples_by_time \
     WHERE sample IS NOT NULL AND time BETWEEN ?1 AND ?2 AND migration = ?3 AND legacy_version = ?4 \
     AND candidate_version = ?5 AND rules_hash = ?6 ORDER BY time DESC LIMIT ?7";

impl SqliteReader {
    pub(super) fn list_with_answers(
        &self,
        filter: &AnsweredFilter,
        chosen: &mut Chosen<'_>,
    ) -> Result<(), StoreError> {
        let failed = |error| self.failed(error);
        let identity = &filter.identity;
        let mut statement = self.connection.prepare_cached(LISTED).map_err(failed)?;
        let mut rows = statement
            .query(params![
                filter.from.as_micros(),
                filter.to.as_micros(),
                identity.migration,
                identity.legacy_version,
                identity.candidate_version,
                identity.rules_hash,
                i64::try_from(MAX_LISTED).unwrap_or(i64::MAX),
            ])
            .map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let row = self.fields(row, "mismatches");
            let id: Uuid = row.word(0, "id")?;
            let fingerprints: Vec<String> = row.json(1, "fingerprints")?;
            chosen.offer(id, fingerprints.iter().map(String::as_str));
        }
        Ok(())
    }

    pub(super) fn with_answers(
        &self,
        filter: &AnsweredFilter,
        ids: &[Uuid],
    ) -> Result<Vec<Mismatch>, StoreError> {
        let time = |time: Timestamp| filter.from <= time && time <= filter.to;
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            let mismatch = self.mismatch(*id)?;
            found.extend(mismatch.filter(|one| one.sample.is_some() && time(one.time)));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of what has answers must not cost more with every mismatch that has none.
    #[test]
    fn only_rows_with_answers_are_read_to_list_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("parity.db");
        let connection = crate::sqlite::open_or_create(&path, std::time::Duration::from_secs(10));
        let connection = connection.expect("a store");
        let mut explain = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {LISTED}"))
            .expect("a statement");
        let values = params![0, 0, "", "", "", "", 1];
        let plan: Vec<String> = explain
            .query_map(values, |row| row.get(3))
            .expect("a plan")
            .collect::<Result<_, _>>()
            .expect("its steps");
        assert_eq!(plan.len(), 1, "it needs no sorting: {plan:?}");
        let step = &plan[0];
        assert!(
            step.starts_with("SEARCH") && step.contains("samples_by_time"),
            "{step}"
        );
    }
}
