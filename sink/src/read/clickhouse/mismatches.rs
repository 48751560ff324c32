//! Queries on mismatches, as whole rows or as examples.

use std::collections::HashMap;
use std::rc::Rc;

use clickhouse::Row;
use parity_schemas::record::Mismatch;
use parity_schemas::table;
use parity_schemas::tally::Identity;
use serde::Deserialize;
use uuid::Uuid;

use super::ClickHouseReader;
use super::forms::{FromColumn, SelectColumn};
use crate::error::StoreError;
use crate::read::MismatchFilter;
use crate::read::groups::ExampleRow;

/// Ids of one query.
const IDS_PER_QUESTION: usize = 1_000;

macro_rules! whole {
    ([] $($role:ident $name:ident: $form:ident = $($path:ident).+ $(, since $step:literal)?;)*) => {
        /// A row of all columns, in their order.
        #[derive(Row, Deserialize)]
        struct MismatchRow {
            $($name: <table::$form as SelectColumn>::Value,)*
        }

        impl MismatchRow {
            fn into_mismatch(self) -> Result<Mismatch, StoreError> {
                let mut record = Mismatch::default();
                $(record.$($path).+ = <table::$form as FromColumn<_>>::from_column(self.$name, stringify!($name))?;)*
                Ok(record)
            }
        }

        /// The expression that selects each column.
        const COLUMNS: &[(&str, &str)] = &[$((stringify!($name), <table::$form as SelectColumn>::AS)),*];
    };
}
parity_schemas::mismatch_columns!(whole);

fn select_list(columns: &[(&str, &str)]) -> String {
    let columns = columns
        .iter()
        .map(|(name, expression)| expression.replace("{}", name));
    columns.collect::<Vec<_>>().join(", ")
}

/// The columns for an example.
#[derive(Row, Deserialize)]
struct ExampleColumns {
    id: <table::Id as SelectColumn>::Value,
    path: <table::Text as SelectColumn>::Value,
    query: <table::Text as SelectColumn>::Value,
    findings: <table::Findings as SelectColumn>::Value,
}

impl ClickHouseReader {
    pub(super) fn find_mismatch(&self, id: Uuid) -> Result<Option<Mismatch>, StoreError> {
        let sql = format!(
            "SELECT {} FROM mismatches AS m WHERE m.id = toUUID(?) LIMIT 1",
            select_list(COLUMNS)
        );
        let question = self.server.client().query(&sql).bind(id.to_string());
        self.ask::<MismatchRow>(question)?
            .pop()
            .map(MismatchRow::into_mismatch)
            .transpose()
    }

    pub(super) fn list_mismatches(
        &self,
        filter: &MismatchFilter,
        limit: usize,
    ) -> Result<Vec<Mismatch>, StoreError> {
        let mut conditions = vec!["1"];
        let words = [
            ("migration = ?", &filter.migration),
            ("route = ?", &filter.route),
            ("has(fingerprints, ?)", &filter.fingerprint),
        ];
        for (condition, value) in &words {
            if value.is_some() {
                conditions.push(condition);
            }
        }
        if filter.before.is_some() {
            // The first condition uses the primary key; the second one orders rows of the same microsecond.
            conditions.push("m.time <= fromUnixTimestamp64Micro(toInt64(?), 'UTC')");
            conditions.push("(toUnixTimestamp64Micro(m.time), toString(m.id)) < (?, ?)");
        }
        let sql = format!(
            "SELECT {} FROM mismatches AS m WHERE {} ORDER BY m.time DESC, toString(m.id) DESC LIMIT 1 BY m.id LIMIT ?",
            select_list(COLUMNS),
            conditions.join(" AND ")
        );
        let mut question = self.server.client().query(&sql);
        for (_, value) in &words {
            if let Some(value) = value {
                question = question.bind(value);
            }
        }
        if let Some((time, id)) = filter.before {
            question = question
                .bind(time.as_micros())
                .bind(time.as_micros())
                .bind(id.to_string());
        }
        let question = question.bind(limit);
        self.ask::<MismatchRow>(question)?
            .into_iter()
            .map(MismatchRow::into_mismatch)
            .collect()
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
                "SELECT {} FROM mismatches AS m WHERE migration = ? AND m.id IN ({}) LIMIT 1 BY m.id",
                select_list(&[
                    ("id", table::Id::AS),
                    ("path", table::Text::AS),
                    ("query", table::Text::AS),
                    ("findings", table::Findings::AS),
                ]),
                list.join(", ")
            );
            let question = self.server.client().query(&sql).bind(&identity.migration);
            for row in self.ask::<ExampleColumns>(question)? {
                let id = table::Id::from_column(row.id, "id")?;
                let example = ExampleRow {
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
