//! The tables that the migrations make have the columns that are declared, and no others.

use std::collections::BTreeSet;

use parity_schemas::record::RecordType;
use parity_schemas::table::{Column, Role};
use rusqlite::Connection;

use crate::servers::ClickHouse;
use crate::support::{Store, with_tables};

/// A line for each column, with its properties.
fn declared(record: RecordType, say: impl Fn(&Column) -> String) -> BTreeSet<String> {
    let columns = record.columns().iter();
    columns
        .map(|column| format!("{} {}", column.name, say(column)))
        .collect()
}

fn in_sqlite(connection: &Connection, table: &str) -> BTreeSet<String> {
    let mut list = connection
        .prepare("SELECT name, type, \"notnull\", pk > 0 FROM pragma_table_info(?1)")
        .expect("SQL");
    let columns = list.query_map([table], |row| {
        let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
        let (required, key): (bool, bool) = (row.get(2)?, row.get(3)?);
        let required = if required { " NOT NULL" } else { "" };
        Ok(format!("{name} {kind}{required}, key: {key}"))
    });
    let columns = columns.expect("it is asked");
    columns.map(|column| column.expect("a row")).collect()
}

#[test]
fn the_file_has_the_declared_columns() {
    let store = Store::new();
    store.fill([]);
    let connection = store.sql();
    for record in RecordType::ALL {
        let expected = declared(record, |column| {
            format!("{}, key: {}", column.sqlite, column.role == Role::Key)
        });
        assert_eq!(in_sqlite(&connection, record.table()), expected);
    }
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn the_database_has_the_declared_columns() {
    let database = ClickHouse::shared().database();
    with_tables(&database);
    for record in RecordType::ALL {
        let found = database.sql(&format!(
            "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = '{}'",
            record.table()
        ));
        let found: BTreeSet<String> = found
            .lines()
            .map(|line| line.replace('\t', " ").replace("\\'", "'"))
            .collect();
        assert_eq!(found, declared(record, |column| column.stored.to_owned()));
    }
}
