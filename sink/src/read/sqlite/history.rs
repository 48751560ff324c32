//! The rows of a history.
//!
//! Counts are read from an index that has all of them, row by row: the rows of a tally are ten times as long, and grouping
//! them in SQL, which sorts, takes twice as long as adding them up as they come.

use std::str::FromStr;

use parity_schemas::histogram::Histogram;
use parity_schemas::history::History;
use parity_schemas::recheck::ClassCounts;
use parity_schemas::record::MismatchClass;
use parity_schemas::time::Timestamp;
use rusqlite::types::Value;

use super::SqliteReader;
use super::fields::Fields;
use crate::error::StoreError;
use crate::read::history::cell::Cell;
use crate::read::history::grid::Grid;
use crate::read::history::minutes::Minutes;
use crate::read::history::row::{GroupRow, Row, SetRow};
use crate::read::history::sums::HistorySums;
use crate::read::history::whole::nothing;
use crate::read::history::{HistoryFilter, MAX_GROUPS, MAX_TERMS, Minute, MinutesFilter, Termed};

impl SqliteReader {
    pub(super) fn read_history(
        &self,
        filter: &HistoryFilter,
        now: Timestamp,
    ) -> Result<History, StoreError> {
        let _moment = self.moment()?;
        let asked = filter.asked();
        let (from, to) = asked.limits(now);
        let range = Asking {
            filter,
            table: "tallies",
            from,
            to,
        };
        let interval = |order: &str| {
            let (sql, values) = range.interval(order);
            let values = rusqlite::params_from_iter(values);
            let found = self.rows(&sql, values, "tallies", |row| row.time(0, "interval_start"))?;
            Ok::<_, StoreError>(found.into_iter().next())
        };
        let (Some(first), Some(last)) = (interval("ASC")?, interval("DESC")?) else {
            return Ok(nothing(filter));
        };
        let grid = Grid::of(asked, (first, last), now);
        let window = grid.window();
        // Of the last bucket only what was asked for.
        let (from, to) = (
            window.from.as_micros().max(from),
            window.to.as_micros().min(to),
        );
        let mut sums = HistorySums::new(grid, filter);
        let of = |table| Asking {
            filter,
            table,
            from,
            to,
        };
        self.add_each(of("tallies").counts(), "tallies", |row| {
            counts(row, |row| sums.add(row, 0))
        })?;
        if sums.has_room_for_latencies() {
            self.add_each(of("tallies").latencies(), "tallies", |row| {
                let of = |at, column| row.read(at, column, Histogram::from_text);
                let times = [
                    of(1, "legacy_head_latency")?,
                    of(2, "candidate_head_latency")?,
                ];
                sums.add_latencies(row.integer(0, "interval_start")?, &times, 0)
            })?;
        }
        if filter.excused.iter().flatten().next().is_some() {
            self.add_each(of("set_tallies").sets(), "set_tallies", |row| {
                set(row, &mut sums)
            })?;
        }
        if !filter.fingerprints.is_empty() {
            self.add_each(of("group_tallies").groups(), "group_tallies", |row| {
                group(row, &mut sums)
            })?;
        }
        let terms = self.terms_before(filter, to)?;
        Ok(sums.into_history(filter, &terms))
    }

    pub(super) fn read_minutes(&self, filter: &MinutesFilter) -> Result<Vec<Minute>, StoreError> {
        let _moment = self.moment()?;
        let mut minutes = Minutes::default();
        for span in &filter.spans {
            let range = Asking {
                filter: &filter.of,
                table: "tallies",
                from: span.from.as_micros(),
                to: span.to.as_micros(),
            };
            self.add_each(range.counts(), "tallies", |row| {
                counts(row, |row| minutes.add(row, 0))
            })?;
        }
        Ok(minutes.into_minutes())
    }

    fn add_each(
        &self,
        (sql, values): (String, Vec<Value>),
        table: &'static str,
        mut each: impl FnMut(&Fields<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error| self.failed(error);
        let mut statement = self.connection.prepare_cached(&sql).map_err(failed)?;
        let values = rusqlite::params_from_iter(values);
        let mut rows = statement.query(values).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            each(&self.fields(row, table))?;
        }
        Ok(())
    }

    /// The latest terms that began before `to`, the earliest first.
    fn terms_before(&self, filter: &HistoryFilter, to: i64) -> Result<Vec<Termed>, StoreError> {
        let (versions, mut values) = of_versions(filter);
        let sql = format!(
            "SELECT time, coverage FROM terms WHERE {versions} AND time < ? ORDER BY time DESC, id DESC LIMIT {MAX_TERMS}"
        );
        values.push(to.into());
        let values = rusqlite::params_from_iter(values);
        let mut terms = self.rows(&sql, values, "terms", |row| {
            Ok(Termed {
                time: row.time(0, "time")?,
                coverage: row.json(1, "coverage")?,
            })
        })?;
        terms.reverse();
        Ok(terms)
    }
}

/// A list as one value.
fn list<T: serde::Serialize>(texts: impl IntoIterator<Item = T>) -> Value {
    let texts: Vec<T> = texts.into_iter().collect();
    Value::Text(serde_json::to_string(&texts).unwrap_or_default())
}

/// Conditions on migration and versions, with their values.
fn of_versions(filter: &HistoryFilter) -> (String, Vec<Value>) {
    let selection = &filter.selection;
    let mut sql = "migration = ?".to_owned();
    let mut values: Vec<Value> = vec![selection.migration().to_owned().into()];
    for (condition, version) in [
        (" AND legacy_version = ?", &selection.legacy_version),
        (" AND candidate_version = ?", &selection.candidate_version),
    ] {
        if let Some(version) = version {
            sql.push_str(condition);
            values.push(version.clone().into());
        }
    }
    (sql, values)
}

/// Which rows of a table are selected. Only conditions that are asked for are written, so that the index is used.
struct Asking<'a> {
    filter: &'a HistoryFilter,
    table: &'static str,
    from: i64,
    to: i64,
}

impl Asking<'_> {
    fn in_range(&self) -> (String, Vec<Value>) {
        let (sql, mut values) = of_versions(self.filter);
        values.extend([self.from.into(), self.to.into()]);
        let sql = format!("{sql} AND interval_start >= ? AND interval_start < ?");
        (sql, values)
    }

    /// The first or the last interval of all routes: a route that is rare has the same range as the others.
    fn interval(&self, order: &str) -> (String, Vec<Value>) {
        let (range, values) = self.in_range();
        let table = self.table;
        let sql = format!(
            "SELECT interval_start FROM {table} WHERE {range} ORDER BY interval_start {order} LIMIT 1"
        );
        (sql, values)
    }

    fn select(&self, columns: &str, index: &str) -> (String, Vec<Value>) {
        let (range, mut values) = self.in_range();
        let table = self.table;
        let mut sql = format!("SELECT {columns} FROM {table} {index} WHERE {range}");
        if let Some(route) = &self.filter.route {
            sql.push_str(" AND route = ?");
            values.push(route.clone().into());
        }
        (sql, values)
    }

    /// The index is named, because by another one all tallies would be read whole.
    fn counts(&self) -> (String, Vec<Value>) {
        self.select(
            "interval_start, legacy_version, candidate_version, rules_hash, route, received, \"match\", mismatch, not_compared, \
             clients, classes",
            "INDEXED BY tallies_by_identity",
        )
    }

    fn latencies(&self) -> (String, Vec<Value>) {
        self.select(
            "interval_start, legacy_head_latency, candidate_head_latency",
            "INDEXED BY tallies_by_identity",
        )
    }

    fn sets(&self) -> (String, Vec<Value>) {
        let (sql, mut values) =
            self.select("interval_start, route, set_id, classes, never_asked, legacy_version, candidate_version", "");
        values.push(list(self.filter.excused_ids()));
        (format!("{sql} AND set_id IN ({LIST})"), values)
    }

    fn groups(&self) -> (String, Vec<Value>) {
        let (sql, mut values) = self.select(
            "interval_start, route, fingerprint, count, first_seen, last_seen",
            "",
        );
        values.push(list(self.filter.fingerprints.iter().take(MAX_GROUPS)));
        (format!("{sql} AND fingerprint IN ({LIST})"), values)
    }
}

/// The elements of a list that is one value.
const LIST: &str = "SELECT value FROM json_each(?)";

/// Reads counts by word; one that is not known is an error.
fn each_count<K: FromStr>(
    row: &Fields<'_>,
    at: usize,
    column: &'static str,
    mut add: impl FnMut(K, u64),
) -> Result<(), StoreError> {
    let text = row.optional_text(at, column)?.unwrap_or("{}");
    if text == "{}" {
        return Ok(());
    }
    let wrong = || StoreError::value("tallies", column, text);
    let counts: std::collections::BTreeMap<&str, u64> =
        serde_json::from_str(text).map_err(|_| wrong())?;
    for (word, count) in counts {
        add(word.parse().map_err(|_| wrong())?, count);
    }
    Ok(())
}

fn counts(
    row: &Fields<'_>,
    add: impl FnOnce(&Row<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let begins = row.integer(0, "interval_start")?;
    let counted = [
        row.count(5, "received")?,
        row.count(6, "match")?,
        row.count(7, "mismatch")?,
    ];
    let mut cell = Cell::of(1, counted);
    each_count(row, 8, "not_compared", |reason, count| {
        cell.add_reason(reason, count);
    })?;
    each_count(row, 9, "clients", |outcome, count| {
        cell.add_client(outcome, count);
    })?;
    each_count(row, 10, "classes", |class, count| {
        cell.add_class(class, count);
    })?;
    let row = Row {
        first: begins,
        last: begins,
        identity: [
            row.text(1, "legacy_version")?,
            row.text(2, "candidate_version")?,
            row.text(3, "rules_hash")?,
        ],
        route: row.text(4, "route")?,
        counts: cell,
    };
    add(&row)
}

fn set(row: &Fields<'_>, sums: &mut HistorySums) -> Result<(), StoreError> {
    let classes: ClassCounts = row.json(3, "classes")?;
    let counting = classes
        .iter()
        .filter(|(class, _)| **class != MismatchClass::Transient);
    sums.excuse(&SetRow {
        begins: row.integer(0, "interval_start")?,
        versions: [
            row.text(5, "legacy_version")?,
            row.text(6, "candidate_version")?,
        ],
        route: row.text(1, "route")?,
        set_id: row.text(2, "set_id")?,
        counting: counting.fold(0, |sum: u64, (_, count)| sum.saturating_add(*count)),
        never_asked: row.count(4, "never_asked")?,
    });
    Ok(())
}

fn group(row: &Fields<'_>, sums: &mut HistorySums) -> Result<(), StoreError> {
    sums.add_group(&GroupRow {
        begins: row.integer(0, "interval_start")?,
        route: row.text(1, "route")?,
        fingerprint: row.text(2, "fingerprint")?,
        count: row.count(3, "count")?,
        first_seen: row.time(4, "first_seen")?,
        last_seen: row.time(5, "last_seen")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Selection;
    use rusqlite::Connection;

    fn plan((sql, values): &(String, Vec<Value>)) -> String {
        let connection = Connection::open_in_memory().expect("it opens");
        for (_, sql) in parity_schemas::sqlite::migrations() {
            connection.execute_batch(&sql).expect("a migration");
        }
        let mut statement = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .expect("SQL");
        let values = rusqlite::params_from_iter(values);
        let lines = statement.query_map(values, |row| row.get::<_, String>(3));
        let lines: Result<Vec<String>, _> = lines.expect("a plan").collect();
        lines.expect("text").join("\n")
    }

    #[test]
    fn counts_are_read_from_the_index_alone_and_nothing_is_sorted() {
        for of_one in [false, true] {
            let name = |name: &str| of_one.then(|| name.to_owned());
            let filter = HistoryFilter {
                selection: Selection {
                    legacy_version: name("go"),
                    candidate_version: name("rust"),
                    ..Selection::default()
                },
                route: name("GET /a"),
                ..HistoryFilter::default()
            };
            let of = |table| Asking {
                filter: &filter,
                table,
                from: 0,
                to: 1,
            };
            let tallies = of("tallies");
            for asked in [
                tallies.counts(),
                tallies.interval("ASC"),
                tallies.interval("DESC"),
            ] {
                let plan = plan(&asked);
                assert!(
                    plan.contains("USING COVERING INDEX tallies_by_identity (migration=? AND interval_start>? AND interval_start<?)")
                        && !plan.contains("TEMP B-TREE"),
                    "{asked:?}: {plan}"
                );
            }
            for (asked, index) in [
                (
                    of("group_tallies").groups(),
                    "group_tallies_by_group (migration=? AND fingerprint=? AND interval_start>? AND interval_start<?)",
                ),
                (of("set_tallies").sets(), "set_tallies_by_identity"),
            ] {
                let plan = plan(&asked);
                assert!(plan.contains(index), "{asked:?}: {plan}");
            }
        }
    }
}
