//! Queries on mismatches, as whole rows or as examples.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use clickhouse::{Row, RowOwned, RowRead};
use parity_schemas::record::{Mismatch, RecordType};
use parity_schemas::table::{self, Column, Role};
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

use super::decisions::OF_TERMS;
use super::forms::{FromColumn, SelectColumn};
use super::rows::{MISMATCH, MismatchRow, plain, select};
use super::{ClickHouseReader, time, word};
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

/// How far a list reaches, and how many rows are until there.
#[derive(Row, Deserialize)]
struct ReachRow {
    found: u64,
    reached_at: i64,
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
        let sql = |reach: &str| {
            format!(
                "SELECT {} FROM mismatches AS t WHERE (t.time, t.id) GLOBAL IN (\
                 SELECT t.time, t.id FROM mismatches AS t {} {order} LIMIT 1 BY t.id LIMIT {limit}) {reach} \
                 {order} LIMIT 1 BY t.id",
                all_columns(),
                conditions.sql_with(reach),
                order = conditions.order()
            )
        };
        let rows = self.within_reach::<MismatchRow>(&conditions, (limit, Side::Older), sql)?;
        let rows = rows.iter().cloned();
        rows.map(MismatchRow::into_record).collect()
    }

    /// The rows of a list, which reads no more of the table than where they are.
    ///
    /// A server gives times in the order of its table without reading all of it, and ids only after that. So the time that the list
    /// reaches to is asked for first. `sql` is the question with a condition for that, which begins with `AND` or is empty.
    fn within_reach<T>(
        &self,
        conditions: &Conditions,
        (limit, side): (usize, Side),
        sql: impl Fn(&str) -> String,
    ) -> Result<Arc<Vec<T>>, StoreError>
    where
        T: RowOwned + RowRead + Send + Sync + 'static,
    {
        // Rows that are there twice are one row of the list.
        let rows = limit.saturating_mul(2);
        let (reached, order, sign) = match side {
            Side::Older => ("min", "DESC", ">="),
            Side::Newer => ("max", "ASC", "<="),
        };
        let question = format!(
            "SELECT count() AS found, {reached}(toUnixTimestamp64Micro(time)) AS reached_at FROM (\
             SELECT t.time AS time FROM mismatches AS t {} ORDER BY t.time {order} LIMIT {rows})",
            conditions.sql()
        );
        let question = self.bound(&question, conditions);
        let reach = self.kept::<ReachRow>(&[RecordType::Mismatch], question)?;
        let ask = |reach: &str| {
            let question = self.bound(&sql(reach), conditions);
            self.kept::<T>(&[RecordType::Mismatch], question)
        };
        let Some(reach) = reach.first().filter(|reach| reach.found > 0) else {
            return ask("");
        };
        let listed = ask(&format!("AND t.time {sign} {}", time(reach.reached_at)))?;
        let is_all = usize::try_from(reach.found).is_ok_and(|found| found < rows);
        // Rows that are there many times leave room for others.
        if is_all || listed.len() >= limit {
            return Ok(listed);
        }
        ask("")
    }

    pub(super) fn list_beside(
        &self,
        filter: &MismatchFilter,
        (at, id): (Timestamp, Uuid),
        side: Side,
    ) -> Result<Beside, StoreError> {
        let mut conditions = of_mismatches(filter);
        let order = match side {
            Side::Newer => {
                conditions.is_after(at, id);
                conditions.order_by_age()
            }
            Side::Older => {
                conditions.is_before(at, id);
                conditions.order()
            }
        };
        let limit = MAX_NEIGHBOURS + 1;
        let sql = |reach: &str| {
            let matching = conditions.sql_with(reach);
            format!(
                "SELECT toString(t.id) AS name FROM mismatches AS t {matching} {order} LIMIT 1 BY t.id LIMIT {limit}"
            )
        };
        let found = self.within_reach::<NameRow>(&conditions, (limit, side), sql)?;
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
            // An id begins with the time at which it was made, which is that of its row but for a recording that is compared later.
            self.add_examples(identity, ids, &made_about(ids), &mut found)?;
            let lacking: Vec<Uuid> = ids
                .iter()
                .copied()
                .filter(|id| !found.contains_key(id))
                .collect();
            if !lacking.is_empty() {
                self.add_examples(identity, &lacking, "", &mut found)?;
            }
        }
        Ok(found)
    }

    /// `condition` is a further one, which begins with `AND`.
    fn add_examples(
        &self,
        identity: &Identity,
        ids: &[Uuid],
        condition: &str,
        found: &mut HashMap<Uuid, Rc<ExampleRow>>,
    ) -> Result<(), StoreError> {
        let list: Vec<String> = ids.iter().map(|id| format!("'{id}'")).collect();
        let sql = format!(
            "SELECT {} FROM mismatches AS t WHERE migration = ? {condition} AND t.id IN ({}) LIMIT 1 BY t.id",
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
        Ok(())
    }
}

/// The condition that a row is of about the time at which one of these ids was made.
fn made_about(ids: &[Uuid]) -> String {
    /// A request is compared within seconds.
    const ABOUT: i64 = 3_600_000_000;
    let times = ids.iter().filter_map(Uuid::get_timestamp).map(|made| {
        let (seconds, nanos) = made.to_unix();
        i64::try_from(seconds.saturating_mul(1_000_000))
            .unwrap_or(i64::MAX)
            .saturating_add(i64::from(nanos) / 1_000)
    });
    let (Some(first), Some(last)) = (times.clone().min(), times.max()) else {
        return String::new();
    };
    format!(
        "AND t.time >= {} AND t.time <= {}",
        time(first.saturating_sub(ABOUT)),
        time(last.saturating_add(ABOUT))
    )
}
