//! Lists of mismatches, the newest first: whole rows, or the ids of those beside one.

use parity_schemas::record::{Mismatch, RecordType};
use parity_schemas::time::Timestamp;
use rusqlite::params;
use uuid::Uuid;

use super::SqliteReader;
use super::decisions::SPELLING;
use super::rows::{all_of, mismatch};
use crate::error::StoreError;
use crate::read::MismatchFilter;
use crate::read::conditions::Conditions;
use crate::read::neighbours::{Beside, MAX_NEIGHBOURS, Side};

/// Mismatches that are looked at on one side to count those of a group, once the nearest is found: a few hundredths of a second.
const LOOKED_AT: usize = 50_000;
/// The same while none is found: a few tenths of a second. One that is farther away is not offered.
const LOOKED_AT_IN_VAIN: usize = 500_000;

impl SqliteReader {
    pub(super) fn list_mismatches(
        &self,
        filter: &MismatchFilter,
        limit: usize,
    ) -> Result<Vec<Mismatch>, StoreError> {
        let mut conditions = of_mismatches(filter);
        if let Some((time, id)) = filter.before {
            conditions.is_before(time, id);
        }
        let sql = format!(
            "SELECT {} FROM mismatches INDEXED BY mismatches_by_time {} {} LIMIT {limit}",
            all_of(RecordType::Mismatch),
            conditions.sql(),
            conditions.order()
        );
        let values = rusqlite::params_from_iter(&conditions.values);
        self.rows(&sql, values, "mismatches", mismatch)
    }

    /// The index has what groups and routes are told by. Only a row that may be one of them is read.
    pub(super) fn list_beside(
        &self,
        filter: &MismatchFilter,
        (time, id): (Timestamp, Uuid),
        side: Side,
    ) -> Result<Beside, StoreError> {
        let failed = |error| self.failed(error);
        let named = quoted(filter);
        let mut statement = self
            .connection
            .prepare_cached(beside(side))
            .map_err(failed)?;
        let since = filter.since.map_or(i64::MIN, Timestamp::as_micros);
        let values = params![time.as_micros(), id.to_string(), since];
        let mut rows = statement.query(values).map_err(failed)?;
        let mut ids = Vec::new();
        let mut looked_at = 0_usize;
        while let Some(row) = rows.next().map_err(failed)? {
            looked_at += 1;
            let row = self.fields(row, "mismatches");
            let is_of_group = match &named {
                Some(name) => row.text(2, "fingerprints")?.contains(name),
                None => true,
            };
            let is_of_route = match &filter.route {
                Some(route) => row.text(1, "route")? == route,
                None => true,
            };
            if is_of_group && is_of_route && self.is_one(filter, row.text(0, "id")?)? {
                ids.push(row.word(0, "id")?);
            }
            // Where there are few among many, the nearest is found, and how many there are need not be known.
            let most = if ids.is_empty() {
                LOOKED_AT_IN_VAIN
            } else {
                LOOKED_AT
            };
            let is_far = looked_at >= most;
            if ids.len() > MAX_NEIGHBOURS || is_far {
                ids.truncate(MAX_NEIGHBOURS);
                return Ok(Beside { ids, is_cut: true });
            }
        }
        Ok(Beside { ids, is_cut: false })
    }

    /// Whether a mismatch is one of those that are selected.
    fn is_one(&self, filter: &MismatchFilter, id: &str) -> Result<bool, StoreError> {
        let mut conditions = of_mismatches(filter);
        conditions.is("id", id);
        let sql = format!("SELECT 1 FROM mismatches {}", conditions.sql());
        let failed = |error| self.failed(error);
        let mut statement = self.connection.prepare_cached(&sql).map_err(failed)?;
        let values = rusqlite::params_from_iter(&conditions.values);
        statement.exists(values).map_err(failed)
    }
}

/// How a list names the fingerprint that is asked for: it is JSON, so in quotes it is only found as a whole.
fn quoted(filter: &MismatchFilter) -> Option<String> {
    let name = filter.fingerprint.as_deref();
    name.map(|name| serde_json::Value::from(name).to_string())
}

fn of_mismatches(filter: &MismatchFilter) -> Conditions {
    let holds = ("instr(fingerprints, ?) > 0", quoted(filter));
    Conditions::of_mismatches(filter, holds, &SPELLING)
}

/// Rows beside one, the nearest first, read from the index alone.
const fn beside(side: Side) -> &'static str {
    match side {
        Side::Newer => {
            "SELECT id, route, fingerprints FROM mismatches INDEXED BY mismatches_by_time \
             WHERE time >= ?1 AND (time, id) > (?1, ?2) AND time >= ?3 ORDER BY time, id"
        }
        Side::Older => {
            "SELECT id, route, fingerprints FROM mismatches INDEXED BY mismatches_by_time \
             WHERE time <= ?1 AND (time, id) < (?1, ?2) AND time >= ?3 ORDER BY time DESC, id DESC"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beside_a_mismatch_is_read_from_its_place_in_the_index_on_and_nothing_is_sorted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("parity.db");
        let connection = crate::sqlite::open_or_create(&path, std::time::Duration::from_secs(10));
        let connection = connection.expect("a store");
        for side in [Side::Newer, Side::Older] {
            let mut explain = connection
                .prepare(&format!("EXPLAIN QUERY PLAN {}", beside(side)))
                .expect("a statement");
            let plan: Vec<String> = explain
                .query_map(params![0, "", 0], |row| row.get(3))
                .expect("a plan")
                .collect::<Result<_, _>>()
                .expect("text");
            let plan = plan.join("\n");
            assert!(
                plan.contains("SEARCH mismatches USING COVERING INDEX mismatches_by_time (time")
                    && !plan.contains("B-TREE"),
                "{side:?}: {plan}"
            );
        }
    }
}
