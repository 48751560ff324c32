//! Queries on mismatches, as whole rows or as examples.

use std::collections::HashMap;
use std::rc::Rc;

use clickhouse::Row;
use parity_schemas::record::{Mismatch, RecordType};
use parity_schemas::table::{self, Column, Role};
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

use super::decisions::OF_TERMS;
use super::forms::{FromColumn, SelectColumn};
use super::rows::{MISMATCH, MismatchRow, plain, select};
use super::{ClickHouseReader, word};
use crate::error::StoreError;
use crate::read::MismatchFilter;
use crate::read::conditions::Conditions;
use crate::read::groups::ExampleRow;
use crate::read::neighbours::{Beside, MAX_NEIGHBOURS, Side};

/// Ids of one query.
const IDS_PER_QUESTION: usize = 1_000;

/// All columns, for a SELECT.
fn all_columns() -> String {
    select(table::MISMATCHES, MISMATCH, plain)
}

fn of_mismatches(filter: &MismatchFilter) -> Conditions {
    let holds = ("has(t.fingerprints, ?)", filter.fingerprint.clone());
    Conditions::of_mismatches(filter, holds, &OF_TERMS)
}

#[derive(Row, Deserialize)]
struct NameRow {
    name: String,
}

/// The columns for an example.
#[derive(Clone, Row, Deserialize)]
struct ExampleColumns {
    id: <table::Id as SelectColumn>::Value,
    route: <table::Label as SelectColumn>::Value,
    path: <table::Text as SelectColumn>::Value,
    query: <table::Text as SelectColumn>::Value,
    findings: <table::Findings as SelectColumn>::Value,
}

const EXAMPLE: [Column; 5] = [
    Column::new::<table::Id>("id", Role::Key, 0),
    Column::new::<table::Label>("route", Role::Fixed, 0),
    Column::new::<table::Text>("path", Role::Fixed, 0),
    Column::new::<table::Text>("query", Role::Fixed, 0),
    Column::new::<table::Findings>("findings", Role::Fixed, 0),
];
const EXAMPLE_FORMS: [&str; 5] = [
    table::Id::AS,
    table::Label::AS,
    table::Text::AS,
    table::Text::AS,
    table::Findings::AS,
];

impl ClickHouseReader {
    pub(super) fn find_mismatch(&self, id: Uuid) -> Result<Option<Mismatch>, StoreError> {
        let sql = format!(
            "SELECT {} FROM mismatches AS t WHERE t.id = toUUID(?) LIMIT 1",
            all_columns()
        );
        let question = self.server.client().query(&sql).bind(id.to_string());
        self.ask::<MismatchRow>(question)?
            .pop()
            .map(MismatchRow::into_record)
            .transpose()
    }

    pub(super) fn list_mismatches(
        &self,
        filter: &MismatchFilter,
        limit: usize,
    ) -> Result<Vec<Mismatch>, StoreError> {
        let mut conditions = of_mismatches(filter);
        if let Some((time, id)) = filter.before {
            conditions.is_before(time, id);
        }
        // Which they are first: bodies and findings of all that could be one of them are many times as much to read. A row that is
        // there twice, until parts are merged, is in the list once, and so are the rows of the list.
        let sql = format!(
            "SELECT {} FROM mismatches AS t WHERE (t.time, t.id) GLOBAL IN (\
             SELECT t.time, t.id FROM mismatches AS t {} {order} LIMIT 1 BY t.id LIMIT {limit}) \
             {order} LIMIT 1 BY t.id",
            all_columns(),
            conditions.sql(),
            order = conditions.order()
        );
        let question = self.bound(&sql, conditions);
        self.kept::<MismatchRow>(&[RecordType::Mismatch], question)?
            .iter()
            .cloned()
            .map(MismatchRow::into_record)
            .collect()
    }

    pub(super) fn list_beside(
        &self,
        filter: &MismatchFilter,
        (time, id): (Timestamp, Uuid),
        side: Side,
    ) -> Result<Beside, StoreError> {
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
            "SELECT toString(t.id) AS name FROM mismatches AS t {} {order} LIMIT 1 BY t.id LIMIT {}",
            conditions.sql(),
            MAX_NEIGHBOURS + 1
        );
        let found = self.kept::<NameRow>(&[RecordType::Mismatch], self.bound(&sql, conditions))?;
        let names = found.iter();
        let ids = names.map(|row| word("mismatches", "id", &row.name));
        Ok(Beside::of(ids.collect::<Result<_, _>>()?))
    }

    /// The columns for examples, by id, without those that no longer exist.
    pub(super) fn examples(
        &self,
        identity: &Identity,
        ids: &[Uuid],
    ) -> Result<HashMap<Uuid, Rc<ExampleRow>>, StoreError> {
        let mut found = HashMap::new();
        for ids in ids.chunks(IDS_PER_QUESTION) {
            let list: Vec<String> = ids.iter().map(|id| format!("'{id}'")).collect();
            let sql = format!(
                "SELECT {} FROM mismatches AS t WHERE migration = ? AND t.id IN ({}) LIMIT 1 BY t.id",
                select(&EXAMPLE, &EXAMPLE_FORMS, plain),
                list.join(", ")
            );
            let question = self.server.client().query(&sql).bind(&identity.migration);
            let rows = self.kept::<ExampleColumns>(&[RecordType::Mismatch], question)?;
            for row in rows.iter().cloned() {
                let id = table::Id::from_column(row.id, "id")?;
                let example = ExampleRow {
                    route: row.route,
                    path: row.path,
                    query: row.query,
                    findings: table::Findings::from_column(row.findings, "findings")?,
                };
                found.insert(id, Rc::new(example));
            }
        }
        Ok(found)
    }
}
