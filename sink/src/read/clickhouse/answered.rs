//! Queries on mismatches whose answers are stored.

use clickhouse::Row;
use parity_schemas::record::Mismatch;
use parity_schemas::table;
use serde::Deserialize;
use uuid::Uuid;

use super::ClickHouseReader;
use super::forms::{FromColumn, SelectColumn};
use super::rows::{MISMATCH, MismatchRow, plain, select};
use crate::error::StoreError;
use crate::read::answered::{AnsweredFilter, Chosen, MAX_LISTED};

/// One that is listed.
#[derive(Row, Deserialize)]
struct Listed {
    id: <table::Id as SelectColumn>::Value,
    fingerprints: <table::Texts as SelectColumn>::Value,
}

/// The columns by which the table is sorted come first, so that only a part of it is read.
const SELECTED: &str = "t.migration = ? AND t.time >= fromUnixTimestamp64Micro(toInt64(?), 'UTC') \
     AND t.time <= fromUnixTimestamp64Micro(toInt64(?), 'UTC') AND t.legacy_version = ? AND t.candidate_version = ? \
     AND t.rules_hash = ?";

impl ClickHouseReader {
    pub(super) fn list_with_answers(
        &self,
        filter: &AnsweredFilter,
        fingerprints: &[String],
        chosen: &mut Chosen<'_>,
    ) -> Result<(), StoreError> {
        // `empty` is answered from the lengths of the answers alone.
        let sql = format!(
            "SELECT toString(t.id) AS id, t.fingerprints AS fingerprints FROM mismatches AS t \
             WHERE {SELECTED} AND hasAny(t.fingerprints, ?) AND NOT empty(t.sample) \
             ORDER BY t.time DESC LIMIT {MAX_LISTED} SETTINGS optimize_functions_to_subcolumns = 1"
        );
        let question = self.selected(&sql, filter).bind(fingerprints);
        self.each(question, |row: Listed| {
            let id = table::Id::from_column(row.id, "id")?;
            chosen.offer(id, row.fingerprints.iter().map(String::as_str));
            Ok(())
        })?;
        Ok(())
    }

    pub(super) fn with_answers(
        &self,
        filter: &AnsweredFilter,
        ids: &[Uuid],
    ) -> Result<Vec<Mismatch>, StoreError> {
        let list: Vec<String> = ids.iter().map(|id| format!("'{id}'")).collect();
        let sql = format!(
            "SELECT {} FROM mismatches AS t WHERE {SELECTED} AND t.id IN ({}) LIMIT 1 BY t.id",
            select(table::MISMATCHES, MISMATCH, plain),
            list.join(", ")
        );
        let found = self.ask::<MismatchRow>(self.selected(&sql, filter))?;
        let found = found.into_iter().map(MismatchRow::into_record);
        let mut found = found.collect::<Result<Vec<_>, _>>()?;
        found.retain(|mismatch| mismatch.sample.is_some());
        let place = |id: Uuid| ids.iter().position(|one| *one == id);
        found.sort_by_key(|mismatch| place(mismatch.id));
        Ok(found)
    }

    fn selected(&self, sql: &str, filter: &AnsweredFilter) -> clickhouse::query::Query {
        let identity = &filter.identity;
        self.server
            .client()
            .query(sql)
            .bind(&identity.migration)
            .bind(filter.from.as_micros())
            .bind(filter.to.as_micros())
            .bind(&identity.legacy_version)
            .bind(&identity.candidate_version)
            .bind(&identity.rules_hash)
    }
}
