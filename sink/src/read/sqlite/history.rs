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
use crate::read::history::grid::{Asked, Grid};
use crate::read::history::sums::{GroupRow, HistorySums, Row, SetRow, nothing};
use crate::read::history::{HistoryFilter, MAX_GROUPS, MAX_TERMS, Termed};

impl SqliteReader {
    pub(super) fn read_history(
        &self,
        filter: &HistoryFilter,
        now: Timestamp,
    ) -> Result<History, StoreError> {
        let _moment = self.moment()?;
        let asked = Asked {
            since: filter.selection.since,
            until: filter.until,
        };
        let (from, to) = asked.limits(now);
        let conditions = Conditions::of(filter);
        let (first, last) = (conditions.first(), conditions.last());
        let interval = |sql: &str| {
            let values = rusqlite::params_from_iter(conditions.values(from, to));
            let found = self.rows(sql, values, "tallies", |row| row.time(0, "interval_start"))?;
            Ok::<_, StoreError>(found.into_iter().next())
        };
        let (Some(first), Some(last)) = (interval(&first)?, interval(&last)?) else {
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
        let values = || conditions.values(from, to);
        self.add_each(&conditions.counts(), values(), "tallies", |row| {
            counts(row, &mut sums)
        })?;
        if sums.has_room_for_latencies() {
            self.add_each(&conditions.latencies(), values(), "tallies", |row| {
                let of = |at, column| row.read(at, column, Histogram::from_text);
                let times = [
                    of(1, "legacy_head_latency")?,
                    of(2, "candidate_head_latency")?,
                ];
                sums.add_latencies(row.integer(0, "interval_start")?, &times, 0)
            })?;
        }
        if filter.excused.iter().flatten().next().is_some() {
            let mut values = values();
            values.push(list(filter.excused_ids()));
            self.add_each(&conditions.sets(), values, "set_tallies", |row| {
                set(row, &mut sums)
            })?;
        }
        if !filter.fingerprints.is_empty() {
            let mut values = values();
            values.push(list(filter.fingerprints.iter().take(MAX_GROUPS)));
            self.add_each(&conditions.groups(), values, "group_tallies", |row| {
                group(row, &mut sums)
            })?;
        }
        let terms = self.terms_before(filter, to)?;
        Ok(sums.into_history(filter, &terms))
    }

    fn add_each(
        &self,
        sql: &str,
        values: Vec<Value>,
        table: &'static str,
        mut each: impl FnMut(&Fields<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error| self.failed(error);
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let values = rusqlite::params_from_iter(values);
        let mut rows = statement.query(values).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            each(&self.fields(row, table))?;
        }
        Ok(())
    }

    /// The latest terms that began before `to`, the earliest first.
    fn terms_before(&self, filter: &HistoryFilter, to: i64) -> Result<Vec<Termed>, StoreError> {
        let conditions = Conditions::of(filter);
        let sql = format!(
            "SELECT time, coverage FROM terms WHERE migration = ?1 {} AND time < ?2 ORDER BY time DESC, id DESC LIMIT {MAX_TERMS}",
            conditions.versions("?4", "?5")
        );
        let values = conditions.values(to, 0);
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

/// What is selected. Values are numbered, because not every condition is always there: migration, begin, end, versions of
/// legacy and candidate, route, and a list.
struct Conditions<'a> {
    filter: &'a HistoryFilter,
}

impl<'a> Conditions<'a> {
    const fn of(filter: &'a HistoryFilter) -> Self {
        Self { filter }
    }

    /// The values of all conditions; what is not asked for is no condition.
    fn values(&self, from: i64, to: i64) -> Vec<Value> {
        let selection = &self.filter.selection;
        let text = |text: Option<&str>| text.map_or(Value::Null, |text| text.to_owned().into());
        vec![
            selection.migration().to_owned().into(),
            from.into(),
            to.into(),
            text(selection.legacy_version.as_deref()),
            text(selection.candidate_version.as_deref()),
            text(self.filter.route.as_deref()),
        ]
    }

    fn versions(&self, legacy: &str, candidate: &str) -> String {
        let selection = &self.filter.selection;
        let mut sql = String::new();
        if selection.legacy_version.is_some() {
            sql.extend([" AND legacy_version = ", legacy]);
        }
        if selection.candidate_version.is_some() {
            sql.extend([" AND candidate_version = ", candidate]);
        }
        sql
    }

    fn selected(&self) -> String {
        let mut sql = "migration = ?1 AND interval_start >= ?2 AND interval_start < ?3".to_owned();
        sql.push_str(&self.versions("?4", "?5"));
        if self.filter.route.is_some() {
            sql.push_str(" AND route = ?6");
        }
        sql
    }

    fn first(&self) -> String {
        // Of all routes: a route that is rare has the same range as the others.
        format!(
            "SELECT interval_start FROM tallies WHERE migration = ?1 AND interval_start >= ?2 AND interval_start < ?3 \
             AND ?6 IS ?6 {} ORDER BY interval_start LIMIT 1",
            self.versions("?4", "?5")
        )
    }

    fn last(&self) -> String {
        format!("{} ", self.first().replace("LIMIT 1", "DESC LIMIT 1"))
    }

    /// The index is named, because by another one all tallies would be read whole.
    fn counts(&self) -> String {
        format!(
            "SELECT interval_start, legacy_version, candidate_version, rules_hash, route, received, \"match\", mismatch, \
             not_compared, clients, classes FROM tallies INDEXED BY tallies_by_identity WHERE {} AND ?6 IS ?6",
            self.selected()
        )
    }

    fn latencies(&self) -> String {
        format!(
            "SELECT interval_start, legacy_head_latency, candidate_head_latency FROM tallies WHERE {} AND ?6 IS ?6",
            self.selected()
        )
    }

    fn sets(&self) -> String {
        format!(
            "SELECT interval_start, route, set_id, classes, never_asked FROM set_tallies WHERE {} AND ?6 IS ?6 \
             AND set_id IN (SELECT value FROM json_each(?7))",
            self.selected()
        )
    }

    fn groups(&self) -> String {
        format!(
            "SELECT interval_start, route, fingerprint, count, first_seen, last_seen FROM group_tallies WHERE {} AND ?6 IS ?6 \
             AND fingerprint IN (SELECT value FROM json_each(?7))",
            self.selected()
        )
    }
}

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

fn counts(row: &Fields<'_>, sums: &mut HistorySums) -> Result<(), StoreError> {
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
        cell.add_class(class, count)
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
    sums.add(&row, 0)
}

fn set(row: &Fields<'_>, sums: &mut HistorySums) -> Result<(), StoreError> {
    let classes: ClassCounts = row.json(3, "classes")?;
    let counting = classes
        .iter()
        .filter(|(class, _)| **class != MismatchClass::Transient);
    sums.excuse(&SetRow {
        begins: row.integer(0, "interval_start")?,
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

    fn plan(sql: &str) -> String {
        let connection = Connection::open_in_memory().expect("it opens");
        for (_, sql) in parity_schemas::sqlite::migrations() {
            connection.execute_batch(&sql).expect("a migration");
        }
        let mut statement = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .expect("SQL");
        let lines = statement.query_map((), |row| row.get::<_, String>(3));
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
            let conditions = Conditions::of(&filter);
            for sql in [conditions.counts(), conditions.first(), conditions.last()] {
                let plan = plan(&sql);
                assert!(
                    plan.contains("USING COVERING INDEX tallies_by_identity (migration=? AND interval_start>? AND interval_start<?)")
                        && !plan.contains("TEMP B-TREE"),
                    "{sql}: {plan}"
                );
            }
            for (sql, index) in [
                (conditions.groups(), "group_tallies_by_identity"),
                (conditions.sets(), "set_tallies_by_identity"),
            ] {
                let plan = plan(&sql);
                assert!(plan.contains(index), "{sql}: {plan}");
            }
        }
    }
}
