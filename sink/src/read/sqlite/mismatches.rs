//! Lists of mismatches, the newest first: whole rows, or the ids of those beside one.

use parity_schemas::record::{Mismatch, RecordType};
use parity_schemas::time::Timestamp;
use uuid::Uuid;

use super::SqliteReader;
use super::decisions::SPELLING;
use super::rows::{all_of, mismatch};
use crate::error::StoreError;
use crate::read::MismatchFilter;
use crate::read::conditions::Conditions;
use crate::read::neighbours::{LISTED, Side};

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

    pub(super) fn list_beside(
        &self,
        filter: &MismatchFilter,
        of: (Timestamp, Uuid),
        side: Side,
    ) -> Result<Vec<Uuid>, StoreError> {
        let (sql, conditions) = beside(filter, of, side);
        let values = rusqlite::params_from_iter(&conditions.values);
        self.rows(&sql, values, "mismatches", |row| row.word(0, "id"))
    }
}

/// The list is JSON, so a fingerprint in quotes is only found as a whole; the index contains the list.
fn of_mismatches(filter: &MismatchFilter) -> Conditions {
    let quoted = filter.fingerprint.as_deref().map(serde_json::Value::from);
    let holds = (
        "instr(fingerprints, ?) > 0",
        quoted.map(|quoted| quoted.to_string()),
    );
    Conditions::of_mismatches(filter, holds, &SPELLING)
}

fn beside(
    filter: &MismatchFilter,
    (time, id): (Timestamp, Uuid),
    side: Side,
) -> (String, Conditions) {
    let mut conditions = of_mismatches(filter);
    let order = match side {
        Side::Newer => {
            conditions.is_after(time, id);
            conditions.order_by_age()
        }
        Side::Older => {
            conditions.is_before(time, id);
            conditions.order()
        }
    };
    let sql = format!(
        "SELECT id FROM mismatches INDEXED BY mismatches_by_time {} {order} LIMIT {LISTED}",
        conditions.sql()
    );
    (sql, conditions)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is beside a mismatch is found from its place in the index on, and nothing is sorted.
    #[test]
    fn neighbours_are_read_in_the_order_of_the_index() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("parity.db");
        let connection = crate::sqlite::open_or_create(&path, std::time::Duration::from_secs(10));
        let connection = connection.expect("a store");
        let filter = MismatchFilter {
            migration: Some("default".to_owned()),
            route: Some("GET /a".to_owned()),
            fingerprint: Some("f00d".to_owned()),
            ..MismatchFilter::default()
        };
        for side in [Side::Newer, Side::Older] {
            let (sql, conditions) = beside(&filter, (Timestamp::from_micros(1), Uuid::nil()), side);
            let mut explain = connection
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .expect("a statement");
            let values = rusqlite::params_from_iter(&conditions.values);
            let plan: Vec<String> = explain
                .query_map(values, |row| row.get(3))
                .expect("a plan")
                .collect::<Result<_, _>>()
                .expect("text");
            let plan = plan.join("\n");
            assert!(
                plan.contains("SEARCH mismatches USING INDEX mismatches_by_time (time")
                    && !plan.contains("B-TREE"),
                "{side:?}: {plan}"
            );
        }
    }
}
