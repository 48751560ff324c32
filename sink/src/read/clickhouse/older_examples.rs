//! Older examples of groups, for those whose newest one is not in the store.

use clickhouse::Row;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

use super::{ClickHouseReader, word};
use crate::error::StoreError;
use crate::read::Selection;
use crate::read::assemble::Sums;
use crate::read::groups::EXAMPLES_TRIED;

/// For how many groups one query fetches older examples.
const GROUPS_PER_QUESTION: usize = 500;

impl ClickHouseReader {
    /// Adds the few next older examples of groups whose newest example is missing (dropped before it was stored, or not
    /// stored yet). Returns whether there are any.
    pub(super) fn add_older_examples(
        &self,
        sums: &mut Sums,
        identity: &Identity,
        selection: &Selection,
        found: impl Fn(&Uuid) -> bool,
    ) -> Result<bool, StoreError> {
        let lacking: Vec<(String, String)> = sums
            .groups
            .without(found)
            .into_iter()
            .map(|(route, fingerprint)| (route.to_owned(), fingerprint.to_owned()))
            .collect();
        let mut any = false;
        for lacking in lacking.chunks(GROUPS_PER_QUESTION) {
            let tail = format!(
                "AND (route, fingerprint) IN ? ORDER BY t.last_seen DESC, toUInt128(t.example_id) DESC \
                 LIMIT {EXAMPLES_TRIED} BY route, fingerprint"
            );
            let select = "SELECT route, fingerprint, toUnixTimestamp64Micro(t.last_seen) AS last_seen, \
                 toString(t.example_id) AS example_id FROM group_tallies AS t FINAL";
            let question = self
                .of_identity(select, identity, selection, &tail)
                .bind(lacking);
            for row in self.ask::<ExampleRow>(question)? {
                any = true;
                sums.groups.add_example(
                    &row.route,
                    &row.fingerprint,
                    Timestamp::from_micros(row.last_seen),
                    word("group_tallies", "example_id", &row.example_id)?,
                );
            }
        }
        Ok(any)
    }
}

#[derive(Row, Deserialize)]
struct ExampleRow {
    route: String,
    fingerprint: String,
    last_seen: i64,
    example_id: String,
}
