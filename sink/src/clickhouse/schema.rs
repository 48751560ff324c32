//! The tables in `ClickHouse`: creating and migrating them, and checking them before they are read or written.
//!
//! Applying the schema is idempotent, and several processes may do it at once: every statement says IF NOT EXISTS, and
//! a version is recorded only after all of its statements. A program that finds a version above its own changes
//! nothing.

use std::fmt;
use std::time::Duration;

use parity_schemas::clickhouse::{
    Layout, VERSION, VERSION_TABLE, migrations, record_version, version_table,
};
use parity_schemas::record::RecordType;
use serde::Deserialize;

use super::{Fault, QUESTION_TIMEOUT, Server, within};
use crate::error::StoreError;
use crate::retention::Retention;
use crate::runtime::runtime;
use crate::store::StoreConfig;

/// Time limit for reading one small table.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a server waits for the other servers of its cluster to run a statement, in seconds. Shorter than our own
/// time-out, so that the server can report which of them did not; those run it when they are back.
const ON_CLUSTER_SECONDS: &str = "60";
/// `UNKNOWN_TABLE` and `UNKNOWN_DATABASE`.
const ABSENT: [u32; 2] = [60, 81];
const PROGRAM: &str = concat!("parity ", env!("CARGO_PKG_VERSION"));

/// The result of applying the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The version before; 0 if there were no tables.
    pub from: u32,
    /// The version now.
    pub to: u32,
}

impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from {
            from if from == self.to => write!(f, "schema version {from}, up to date"),
            0 => write!(f, "created, schema version {}", self.to),
            from => write!(f, "schema version {from} brought to {}", self.to),
        }
    }
}

/// Creates missing tables and columns, and sets the retention. Existing tables keep their layout: tables of a cluster
/// are changed on the whole cluster, even if [`Layout::Single`] is given.
pub fn apply_schema(
    store: &StoreConfig,
    layout: &Layout,
    retention: &Retention,
) -> Result<Applied, StoreError> {
    let settings = [("distributed_ddl_task_timeout", ON_CLUSTER_SECONDS)];
    let server = Server::of(store)?.with_settings(&settings);
    runtime()?.block_on(apply(&server, layout, retention))
}

/// Checks that the tables exist, in the version that this program reads and writes.
pub(crate) async fn check(server: &Server) -> Result<(), StoreError> {
    let found = version(server).await?;
    let url = server.url().clone();
    match found {
        0 => Err(StoreError::NoTables {
            url,
            message: format!("it holds no {VERSION_TABLE}"),
        }),
        found if found < VERSION => Err(StoreError::OlderTables {
            url,
            found,
            known: VERSION,
        }),
        found if found > VERSION => Err(newer(server, found)),
        _ => match missing_table(server).await? {
            Some(table) => Err(StoreError::NoTables {
                url,
                message: format!("its table {table} is not there"),
            }),
            None => Ok(()),
        },
    }
}

/// A table that is missing although its version is recorded, so somebody has dropped it. The table of decisions is not
/// checked, because not every reader has access to it.
async fn missing_table(server: &Server) -> Result<Option<&'static str>, StoreError> {
    #[derive(clickhouse::Row, Deserialize)]
    struct Found {
        name: String,
    }
    let sql = "SELECT name FROM system.tables WHERE database = currentDatabase()";
    let asked = within(
        CHECK_TIMEOUT,
        server.client().query_raw(sql).fetch_all::<Found>(),
    );
    let found = asked
        .await
        .map_err(|fault| server.failed("look at the schema of", &fault))?;
    let tables = RecordType::ALL.iter().map(|record| record.table());
    let mut missing = tables
        .filter(|table| *table != RecordType::Decision.table())
        .filter(|table| found.iter().all(|found| found.name != *table));
    Ok(missing.next())
}

async fn apply(
    server: &Server,
    layout: &Layout,
    retention: &Retention,
) -> Result<Applied, StoreError> {
    let from = match version(server).await {
        Ok(found) => found,
        Err(StoreError::NoTables { .. }) => 0,
        Err(error) => return Err(error),
    };
    if from > VERSION {
        return Err(newer(server, from));
    }
    // If a table was dropped, run all statements: each says IF NOT EXISTS, so only the missing table is created.
    let done = match from {
        VERSION if missing_table(server).await?.is_some() => 0,
        from => from,
    };
    let layout = &layout_there(server, layout).await?;
    create_database(server, layout).await?;
    let failed = |fault: Fault| server.failed("apply the schema to", &fault);
    for statement in version_table(layout) {
        server.execute(&statement).await.map_err(failed)?;
    }
    let missing = migrations(layout)
        .into_iter()
        .filter(|migration| migration.version > done);
    for migration in missing {
        for statement in &migration.statements {
            server.execute(statement).await.map_err(failed)?;
        }
        let noted = record_version(migration.version, PROGRAM);
        server.execute(&noted).await.map_err(failed)?;
    }
    for statement in retention_statements(layout, retention) {
        server.execute(&statement).await.map_err(failed)?;
    }
    Ok(Applied { from, to: VERSION })
}

/// The layout of the existing tables, or the wanted one if there are none.
async fn layout_there(server: &Server, wanted: &Layout) -> Result<Layout, StoreError> {
    #[derive(clickhouse::Row, Deserialize)]
    struct Found {
        engine: String,
        engine_full: String,
    }
    let sql = format!(
        "SELECT engine, engine_full FROM system.tables WHERE database = currentDatabase() AND name = '{VERSION_TABLE}'"
    );
    let asked = within(
        CHECK_TIMEOUT,
        server.client().query_raw(&sql).fetch_all::<Found>(),
    );
    let found = match asked.await {
        Ok(mut found) => found.pop(),
        // The database itself does not exist.
        Err(fault) if fault.code.is_some_and(|code| ABSENT.contains(&code)) => None,
        Err(fault) => return Err(server.failed("look at the schema of", &fault)),
    };
    let Some(found) = found else {
        return Ok(wanted.clone());
    };
    let cluster = (found.engine == "Distributed")
        .then(|| cluster_of(&found.engine_full))
        .flatten();
    match (cluster, wanted) {
        (None, Layout::Single) => Ok(Layout::Single),
        (None, Layout::Cluster(cluster)) => Err(StoreError::OneServer {
            url: server.url().clone(),
            cluster: cluster.clone(),
        }),
        // The same servers may be a cluster under several names.
        (Some(_), Layout::Cluster(cluster)) => Ok(Layout::Cluster(cluster.clone())),
        (Some(cluster), Layout::Single) => Ok(Layout::Cluster(cluster)),
    }
}

/// The cluster in `Distributed('cluster', 'database', 'table', …)`.
fn cluster_of(engine: &str) -> Option<String> {
    let quoted = engine.strip_prefix("Distributed(")?.trim_start();
    let quoted = quoted.strip_prefix('\'')?;
    let mut name = String::new();
    let mut rest = quoted.chars();
    loop {
        match rest.next()? {
            '\'' => return Some(name),
            '\\' => name.push(rest.next()?),
            other => name.push(other),
        }
    }
}

/// A user who may not create databases may still use one that is there.
async fn create_database(server: &Server, layout: &Layout) -> Result<(), StoreError> {
    let exists = "SELECT count() > 0 FROM system.databases WHERE name = currentDatabase()";
    let asked = within(
        CHECK_TIMEOUT,
        server.client().query_raw(exists).fetch_one::<bool>(),
    );
    if matches!(asked.await, Ok(true)) {
        return Ok(());
    }
    let name = server
        .url()
        .database
        .replace('\\', "\\\\")
        .replace('`', "\\`");
    let on_cluster = match layout {
        Layout::Single => String::new(),
        Layout::Cluster(cluster) => format!(" ON CLUSTER '{}'", cluster.replace('\'', "\\'")),
    };
    let create = format!("CREATE DATABASE IF NOT EXISTS `{name}`{on_cluster}");
    // Sent to the default database, because the configured one does not exist yet.
    let client = server.client().clone().with_database("default");
    within(QUESTION_TIMEOUT, client.query_raw(&create).execute())
        .await
        .map_err(|fault| server.failed("create the database of", &fault))
}

/// Sets the configured TTLs. They are metadata: with `materialize_ttl_after_modify = 0`, existing rows are handled by
/// the next merges instead of being rewritten now.
fn retention_statements(layout: &Layout, retention: &Retention) -> Vec<String> {
    let (suffix, on_cluster) = match layout {
        Layout::Single => ("", String::new()),
        Layout::Cluster(cluster) => (
            "_local",
            format!(" ON CLUSTER '{}'", cluster.replace('\'', "\\'")),
        ),
    };
    let mut statements = vec![format!(
        "ALTER TABLE mismatches{suffix}{on_cluster} MODIFY COLUMN sample TTL toDateTime(time) + INTERVAL {} SECOND \
         SETTINGS materialize_ttl_after_modify = 0",
        retention.samples.as_secs()
    )];
    for (table, column, kept) in [
        ("mismatches", "time", retention.mismatches),
        ("tallies", "interval_start", retention.tallies),
        ("group_tallies", "interval_start", retention.tallies),
        ("set_tallies", "interval_start", retention.tallies),
        ("watermarks", "written", retention.tallies),
        ("audit", "time", retention.tallies),
    ] {
        statements.push(format!(
            "ALTER TABLE {table}{suffix}{on_cluster} MODIFY TTL toDateTime({column}) + INTERVAL {} SECOND \
             SETTINGS materialize_ttl_after_modify = 0",
            kept.as_secs()
        ));
    }
    statements
}

/// The highest recorded version; 0 if there is none.
async fn version(server: &Server) -> Result<u32, StoreError> {
    #[derive(clickhouse::Row, Deserialize)]
    struct Found {
        version: u32,
    }
    let sql = format!("SELECT max(version) AS version FROM {VERSION_TABLE}");
    let asked = within(
        CHECK_TIMEOUT,
        server.client().query_raw(&sql).fetch_one::<Found>(),
    );
    match asked.await {
        Ok(found) => Ok(found.version),
        Err(fault) if fault.code.is_some_and(|code| ABSENT.contains(&code)) => {
            Err(StoreError::NoTables {
                url: server.url().clone(),
                message: fault.message,
            })
        }
        Err(fault) => Err(server.failed("look at the schema of", &fault)),
    }
}

fn newer(server: &Server, found: u32) -> StoreError {
    StoreError::NewerTables {
        url: server.url().clone(),
        found,
        known: VERSION,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cluster_is_read_out_of_the_engine() {
        for (engine, expected) in [
            (
                "Distributed('main', 'parity', 'tallies_local', cityHash64(id))",
                Some("main"),
            ),
            (
                r"Distributed('it\'s', currentDatabase(), 't')",
                Some("it's"),
            ),
            ("Distributed('main", None),
            ("ReplacingMergeTree ORDER BY version", None),
        ] {
            assert_eq!(cluster_of(engine).as_deref(), expected, "{engine}");
        }
    }
}
