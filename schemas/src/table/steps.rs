//! The statements that add columns which the files in `sqlite/` and `clickhouse/` do not have.
//!
//! A step consists of all columns with the same `since`, in all tables. A released step never changes, because a store
//! that has applied it does not apply it again.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::Column;
use crate::record::RecordType;

/// How many steps there are.
pub(crate) const STEPS: u32 = highest();

const fn highest() -> u32 {
    let (mut highest, mut table) = (0, 0);
    while table < RecordType::ALL.len() {
        let columns = RecordType::ALL[table].columns();
        let mut at = 0;
        while at < columns.len() {
            if columns[at].since > highest {
                highest = columns[at].since;
            }
            at += 1;
        }
        table += 1;
    }
    highest
}

/// The steps in `SQLite`, in order.
pub(crate) fn sqlite_steps() -> impl Iterator<Item = String> {
    steps(sqlite)
}

/// The steps in `ClickHouse`, in order, written as the files are.
pub(crate) fn clickhouse_steps() -> impl Iterator<Item = String> {
    steps(clickhouse)
}

fn steps(of_table: fn(&str, &[&Column]) -> String) -> impl Iterator<Item = String> {
    (1..).take(STEPS as usize).map(move |step| {
        let tables = RecordType::ALL.into_iter().map(|record| {
            let columns = record.columns().iter();
            let added: Vec<&Column> = columns.filter(|column| column.since == step).collect();
            of_table(record.table(), &added)
        });
        tables.collect()
    })
}

/// Files and steps in the order in which they were released; with each file stands how many steps come before it.
pub(crate) fn in_order(
    files: &[(u32, &'static str)],
    steps: impl Iterator<Item = String>,
) -> Vec<Cow<'static, str>> {
    let mut all = Vec::new();
    let mut steps = steps.map(Cow::Owned);
    for before in 0.. {
        let next = files.iter().filter(|(after, _)| *after == before);
        all.extend(next.map(|(_, file)| Cow::Borrowed(*file)));
        match steps.next() {
            Some(step) => all.push(step),
            None => break,
        }
    }
    all
}

pub(super) fn sqlite(table: &str, added: &[&Column]) -> String {
    let mut sql = String::new();
    for column in added {
        // Writing to a String cannot fail.
        let _infallible = writeln!(
            sql,
            "ALTER TABLE {table} ADD COLUMN \"{}\" {} DEFAULT {};",
            column.name, column.sqlite, column.absent
        );
    }
    sql
}

pub(super) fn clickhouse(table: &str, added: &[&Column]) -> String {
    if added.is_empty() {
        return String::new();
    }
    let list = |with_codec: bool| {
        let columns = added.iter().map(|column| {
            let codec = match column.codec {
                codec if with_codec && !codec.is_empty() => format!(" CODEC({codec})"),
                _ => String::new(),
            };
            format!(
                "\n    ADD COLUMN IF NOT EXISTS {} {}{codec}",
                column.name, column.stored
            )
        });
        columns.collect::<Vec<_>>().join(",")
    };
    // The columns of a view are those that its table had when it was made.
    format!(
        "ALTER TABLE @name:{table}@ @on_cluster@{};\n@over_shards:{table}@{};\n\
         CREATE OR REPLACE VIEW {table}_final @on_cluster@ AS SELECT * FROM {table} FINAL;\n",
        list(true),
        list(false)
    )
}
