//! The ordered DDL migrations of the `ClickHouse` record, for one server or for a cluster: files, and behind them the steps of
//! [`crate::table`].
//!
//! Both forms are generated from one source, so a cluster cannot have other columns than the single server of the
//! tests. On one server a table is a `ReplacingMergeTree` of its own name. On a cluster the rows are in `NAME_local`, a
//! `ReplicatedReplacingMergeTree`, and `NAME` is a `Distributed` table over them, sharded by the id, so that all
//! revisions of an id are in one shard and `FINAL` is right there. Writers and readers use `NAME` in both forms.
//!
//! A released migration never changes; new ones are appended. The table [`VERSION_TABLE`] records which have been
//! applied.

use std::fmt::Write as _;

use crate::table::{STEPS, clickhouse_steps, in_order};

/// Holds one row for each applied migration: `version`, `applied_at`, `program`.
pub const VERSION_TABLE: &str = "parity_schema";

/// The version that this program reads and writes.
pub const VERSION: u32 = FILES.len() as u32 + STEPS;

/// Each with how many steps come before it.
const FILES: &[(u32, &str)] = &[
    (0, include_str!("../clickhouse/0001_record.sql")),
    (0, include_str!("../clickhouse/0002_exchange_digest.sql")),
    (0, include_str!("../clickhouse/0003_clients.sql")),
    (0, include_str!("../clickhouse/0004_watermarks.sql")),
    (0, include_str!("../clickhouse/0005_legacy_answers.sql")),
    (0, include_str!("../clickhouse/0006_set_tallies.sql")),
    (0, include_str!("../clickhouse/0007_terms.sql")),
    (4, include_str!("../clickhouse/0008_audit.sql")),
];

/// How many deduplication tokens a table remembers: far more than one process can repeat, since it has at most one
/// batch per partition under way. Older repeats are deduplicated by id.
const DEDUPLICATION_WINDOW: u32 = 1_000;

/// Where the tables are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One server.
    Single,
    /// The cluster of this name in `remote_servers` of every server.
    Cluster(String),
}

/// One step, to be applied after all before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// From 1 on.
    pub version: u32,
    /// Complete statements without a semicolon, in order. Each may be repeated.
    pub statements: Vec<String>,
}

/// All migrations in ascending order.
pub fn migrations(layout: &Layout) -> Vec<Migration> {
    (1..)
        .zip(in_order(FILES, clickhouse_steps()))
        .map(|(version, source)| Migration {
            version,
            statements: statements(&source, layout),
        })
        .collect()
}

/// Creates [`VERSION_TABLE`]; to be run before any migration.
pub fn version_table(layout: &Layout) -> Vec<String> {
    let source = format!(
        "CREATE TABLE IF NOT EXISTS @name:{VERSION_TABLE}@ @on_cluster@\n\
         (\n    version    UInt32,\n    applied_at DateTime64(6, 'UTC') DEFAULT now64(6),\n    program    String\n)\n\
         ENGINE = @replacing:{VERSION_TABLE}:@\nORDER BY version;\n\
         @distributed:{VERSION_TABLE}:version@;\n"
    );
    statements(&source, layout)
}

/// The migrations as one script, including the rows of [`VERSION_TABLE`], for applying it with other tools.
pub fn script(layout: &Layout, program: &str) -> String {
    let mut script = String::new();
    let mut add = |statement: &str| {
        // Writing to a String cannot fail.
        let _infallible = write!(script, "{statement};\n\n");
    };
    for statement in &version_table(layout) {
        add(statement);
    }
    for migration in migrations(layout) {
        for statement in &migration.statements {
            add(statement);
        }
        add(&record_version(migration.version, program));
    }
    script
}

/// Records in [`VERSION_TABLE`] that a migration has been applied.
pub fn record_version(version: u32, program: &str) -> String {
    format!(
        // On a cluster the insert must be complete when it is answered, because a client of another server may check
        // the version at once.
        "INSERT INTO {VERSION_TABLE} (version, program) SETTINGS distributed_foreground_insert = 1 \
         VALUES ({version}, {})",
        quoted(program)
    )
}

pub(crate) fn statements(source: &str, layout: &Layout) -> Vec<String> {
    let lines: Vec<&str> = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("--"))
        .collect();
    lines
        .join("\n")
        .split(";\n")
        .map(|statement| statement.trim().trim_end_matches(';').trim())
        .filter(|statement| !statement.is_empty())
        .filter_map(|statement| fill_in(statement, layout))
        .collect()
}

/// One statement for `layout`; `None` if the layout does not need it.
fn fill_in(statement: &str, layout: &Layout) -> Option<String> {
    let mut filled = String::with_capacity(statement.len());
    for (index, piece) in statement.split('@').enumerate() {
        if index % 2 == 0 {
            filled.push_str(piece);
        } else {
            filled.push_str(&value(piece, layout)?);
        }
    }
    // `@on_cluster@` leaves a blank before the line's end on one server.
    let lines: Vec<&str> = filled.lines().map(str::trim_end).collect();
    Some(lines.join("\n").replace("  AS ", " AS "))
}

fn value(placeholder: &str, layout: &Layout) -> Option<String> {
    let mut words = placeholder.splitn(3, ':');
    let (kind, table, argument) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    Some(match (kind, layout) {
        ("name", Layout::Single) => table.to_owned(),
        ("name", Layout::Cluster(_)) => format!("{table}_local"),
        ("on_cluster", Layout::Single) => String::new(),
        ("on_cluster", Layout::Cluster(name)) => format!("ON CLUSTER {}", quoted(name)),
        ("replacing", Layout::Single) => format!("ReplacingMergeTree({argument})"),
        ("replacing", Layout::Cluster(_)) => {
            let version = if argument.is_empty() {
                String::new()
            } else {
                format!(", {argument}")
            };
            format!(
                "ReplicatedReplacingMergeTree('/clickhouse/tables/{{shard}}/{{database}}/{table}_local', '{{replica}}'{version})"
            )
        }
        ("settings", Layout::Single) => {
            format!("non_replicated_deduplication_window = {DEDUPLICATION_WINDOW}")
        }
        ("settings", Layout::Cluster(_)) => {
            format!("replicated_deduplication_window = {DEDUPLICATION_WINDOW}")
        }
        ("distributed" | "over_shards", Layout::Single) => return None,
        ("over_shards", Layout::Cluster(name)) => {
            format!("ALTER TABLE {table} ON CLUSTER {}", quoted(name))
        }
        ("distributed", Layout::Cluster(name)) => format!(
            "CREATE TABLE IF NOT EXISTS {table} ON CLUSTER {cluster} AS {table}_local\n\
             ENGINE = Distributed({cluster}, currentDatabase(), {table}_local, {argument})",
            cluster = quoted(name)
        ),
        _ => unreachable!("the migrations are part of this crate and tested: @{placeholder}@"),
    })
}

/// A string literal of `ClickHouse`.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_source_gives_both_forms() {
        let single = script(&Layout::Single, "test");
        assert!(single.contains("CREATE TABLE IF NOT EXISTS mismatches\n"));
        assert!(single.contains("ENGINE = ReplacingMergeTree(revision)"));
        assert!(
            !single.contains('@') && !single.contains("Distributed") && !single.contains("_local")
        );

        let cluster = script(&Layout::Cluster("it's".to_owned()), "test");
        assert!(cluster.contains("CREATE TABLE IF NOT EXISTS tallies_local ON CLUSTER 'it\\'s'\n"));
        assert!(cluster.contains(
            "ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/tallies_local', '{replica}', revision)"
        ));
        assert!(cluster.contains(
            "ENGINE = Distributed('it\\'s', currentDatabase(), group_tallies_local, cityHash64(tally_id))"
        ));
        assert!(
            cluster
                .contains("CREATE VIEW IF NOT EXISTS tallies_final ON CLUSTER 'it\\'s' AS SELECT")
        );
        assert!(!cluster.contains('@'));
    }

    #[test]
    fn versions_rise_by_one() {
        let versions: Vec<u32> = migrations(&Layout::Single)
            .iter()
            .map(|migration| migration.version)
            .collect();
        assert_eq!(versions, (1..=VERSION).collect::<Vec<_>>());
    }
}
