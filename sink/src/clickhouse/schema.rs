//! The tables in `ClickHouse`: applied, and checked before anybody reads or writes.
//!
//! Applying is idempotent and may be done by several at once: every statement says IF NOT EXISTS, and a version is
//! noted only after all of its statements. A program that finds a version above its own touches nothing.

use std::fmt;
use std::time::Duration;

use parity_schemas::clickhouse::{
    Layout, VERSION, VERSION_TABLE, migrations, record_version, version_table,
};
use serde::Deserialize;

use super::{Fault, Server, runtime, within};
use crate::error::StoreError;
use crate::store::StoreConfig;
use crate::write::Retention;

/// Looking at one small table.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);
/// `UNKNOWN_TABLE` and `UNKNOWN_DATABASE`.
const ABSENT: [u32; 2] = [60, 81];
const PROGRAM: &str = concat!("parity ", env!("CARGO_PKG_VERSION"));

/// What applying did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The version before; 0 when there was nothing.
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

/// Creates what is missing, and sets how long what is kept.
pub fn apply_schema(
    store: &StoreConfig,
    layout: &Layout,
    retention: &Retention,
) -> Result<Applied, StoreError> {
    let server = Server::of(store)?;
    runtime()?.block_on(apply(&server, layout, retention))
}

/// Whether the tables are there, in the version that this program reads and writes.
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
        _ => Ok(()),
    }
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
    create_database(server, layout).await?;
    let failed = |fault: Fault| server.failed("apply the schema to", &fault);
    for statement in version_table(layout) {
        server.execute(&statement).await.map_err(failed)?;
    }
    let missing = migrations(layout)
        .into_iter()
        .filter(|migration| migration.version > from);
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
    // Asked without a database: the one that is meant is not there yet.
    let client = server.client().clone().with_database("default");
    within(CHECK_TIMEOUT, client.query_raw(&create).execute())
        .await
        .map_err(|fault| server.failed("create the database of", &fault))
}

/// TTLs by the configuration. They are metadata; `materialize_ttl_after_modify = 0` leaves rows that are there to the
/// next merges instead of rewriting all of them now.
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
        ("watermarks", "written", retention.tallies),
    ] {
        statements.push(format!(
            "ALTER TABLE {table}{suffix}{on_cluster} MODIFY TTL toDateTime({column}) + INTERVAL {} SECOND \
             SETTINGS materialize_ttl_after_modify = 0",
            kept.as_secs()
        ));
    }
    statements
}

/// The highest version that is noted; 0 without any.
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
