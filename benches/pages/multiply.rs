//! Many hours of the one hour that is there: each table once for each further hour, shifted.

use std::path::Path;

use parity_schemas::record::RecordType;

use crate::fill::Shape;
use crate::servers::Database;

const HOUR_MICROS: u64 = 3_600_000_000;

const TABLES: [RecordType; 4] = [
    RecordType::Tally,
    RecordType::GroupTally,
    RecordType::SetTally,
    RecordType::Mismatch,
];

/// The columns of a table, those that change as expressions. `renamed` is the expression of a column that names groups, of
/// which `variant` says the name.
fn columns(
    table: RecordType,
    shifted_id: impl Fn(&str, &str) -> String,
    time: impl Fn(&str) -> String,
    renamed: impl Fn(&str) -> String,
    variant: u64,
) -> String {
    let begins = match table {
        RecordType::Mismatch => "time",
        _ => "interval_start",
    };
    let columns = table.columns().iter().map(|column| match column.name {
        name @ ("id" | "tally_id" | "example_id") => shifted_id(name, begins),
        name @ ("interval_start" | "time" | "first_seen" | "last_seen") => time(name),
        name @ ("fingerprint" | "fingerprints" | "set_id" | "findings") => renamed(name),
        "pattern" => format!("replace(pattern, '/v0/', '/v{variant}/')"),
        name => format!("\"{name}\""),
    });
    columns.collect::<Vec<_>>().join(", ")
}

fn names(table: RecordType) -> String {
    let names = table.columns().iter();
    let names: Vec<String> = names.map(|column| format!("\"{}\"", column.name)).collect();
    names.join(", ")
}

pub(crate) fn sqlite(path: &Path, shape: &Shape) {
    let connection = rusqlite::Connection::open(path).expect("the file opens");
    connection
        .execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000")
        .expect("settings");
    let oldest: i64 = connection
        .query_row("SELECT min(interval_start) FROM tallies", (), |row| {
            row.get(0)
        })
        .expect("there is one");
    for hour in (1..shape.hours).rev() {
        let shift = hour * HOUR_MICROS;
        let id = |name: &str, begins: &str| {
            let millis = format!("(({begins} - {begins} % 60000000 - {shift}) / 1000)");
            format!("printf('%08x-%04x', {millis} >> 16, {millis} & 65535) || substr({name}, 14)")
        };
        let sql: Vec<String> = TABLES
            .iter()
            .map(|table| {
                let begins = if *table == RecordType::Mismatch { "time" } else { "interval_start" };
                let variant = hour % shape.variants;
                let renamed = |name: &str| format!("replace({name}, 'fff0', 'fff{variant}')");
                let columns = columns(*table, id, |name| format!("{name} - {shift}"), renamed, variant);
                format!(
                    "INSERT INTO {0} ({1}) SELECT {columns} FROM {0} WHERE {begins} >= {oldest} AND migration = 'default';",
                    table.table(),
                    names(*table),
                )
            })
            .collect();
        connection
            .execute_batch(&format!("BEGIN; {} COMMIT;", sql.join(" ")))
            .expect("rows are made");
    }
    connection
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .expect("it is in the file");
}

pub(crate) fn clickhouse(database: &Database<'_>, shape: &Shape) {
    let oldest = database.number("SELECT toUnixTimestamp64Micro(min(interval_start)) FROM tallies");
    for hour in (1..shape.hours).rev() {
        let id = |name: &str, begins: &str| {
            // `hex` leaves out zeros at the front, byte by byte.
            let millis = format!(
                "leftPad(hex(toInt64(toUnixTimestamp(toStartOfMinute({begins}))) * 1000 - {}), 16, '0')",
                hour * HOUR_MICROS / 1_000
            );
            format!(
                "toUUID(concat(substr({millis}, 5, 8), '-', substr({millis}, 13, 4), substr(toString({name}), 14)))"
            )
        };
        for table in TABLES {
            let begins = if table == RecordType::Mismatch {
                "time"
            } else {
                "interval_start"
            };
            let variant = hour % shape.variants;
            let replaced = |name: &str| format!("replaceAll({name}, 'fff0', 'fff{variant}')");
            // Lists here, and of findings the first member names the group.
            let renamed = |name: &str| match name {
                "fingerprints" => format!("arrayMap(one -> {}, {name})", replaced("one")),
                "findings" => format!(
                    "arrayMap(one -> tuple({}, {}), {name})",
                    replaced("one.1"),
                    (2..=10)
                        .map(|at| format!("one.{at}"))
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
                name => replaced(name),
            };
            let columns = columns(
                table,
                id,
                |name| format!("{name} - INTERVAL {hour} HOUR"),
                renamed,
                variant,
            );
            database.sql(&format!(
                "INSERT INTO {0} ({1}) SELECT {columns} FROM {0} WHERE {begins} >= fromUnixTimestamp64Micro({oldest})",
                table.table(),
                names(table),
            ));
        }
    }
}
