//! Errors of a store, with what a user can do about them.

use std::path::PathBuf;
use std::time::Duration;

use crate::url::{ClickHouseUrl, KafkaUrl};

/// A store cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Readers never create a store.
    #[error(
        "there is no store at {path}; `parity mirror` creates it, or name the right one with --store", path = path.display()
    )]
    Missing {
        /// As given.
        path: PathBuf,
    },
    /// The folder of the file is not there.
    #[error("cannot create {path}: its folder does not exist", path = path.display())]
    NoFolder {
        /// As given.
        path: PathBuf,
    },
    /// Not a database, or a database of something else.
    #[error("{path} is not a record of parity: {why}; name another file with --store", path = path.display())]
    NotARecord {
        /// As given.
        path: PathBuf,
        /// What it is instead.
        why: &'static str,
    },
    /// Written by a later version of this program.
    #[error(
        "{path} has schema version {found}, this program knows up to {known}; use the newer parity that wrote it", path = path.display()
    )]
    NewerSchema {
        /// As given.
        path: PathBuf,
        /// The version of the file.
        found: u32,
        /// The version of this program.
        known: u32,
    },
    /// Written by an earlier version of this program.
    #[error(
        "{path} has schema version {found}, this program needs {known}; start `parity mirror` on it once to bring it up to date", path = path.display()
    )]
    OlderSchema {
        /// As given.
        path: PathBuf,
        /// The version of the file.
        found: u32,
        /// The version of this program.
        known: u32,
    },
    /// Another process held the write lock all the time.
    #[error("{path} was locked by another process for {waited:?}; try again", path = path.display())]
    Locked {
        /// As given.
        path: PathBuf,
        /// How long we waited.
        waited: Duration,
    },
    /// It changed while it was being opened, or its files cannot be examined.
    #[error("cannot open {path}: {why}", path = path.display())]
    Unguarded {
        /// As given.
        path: PathBuf,
        /// What was seen.
        why: String,
    },
    /// Anything else that the database said.
    #[error("cannot {action} {path}", path = path.display())]
    Database {
        /// What was tried.
        action: &'static str,
        /// As given.
        path: PathBuf,
        /// What was said.
        source: rusqlite::Error,
    },
    /// A topic cannot be queried.
    #[error(
        "{url} can only be written to; read from the ClickHouse that `parity sink` fills: --store clickhouse://USER@HOST:8123/DATABASE"
    )]
    WriteOnly {
        /// As given.
        url: KafkaUrl,
    },
    /// A ClickHouse URL is needed here.
    #[error(
        "`{url}` is not a ClickHouse; write for example clickhouse://parity@127.0.0.1:8123/parity"
    )]
    NotClickHouse {
        /// As given.
        url: String,
    },
    /// The configured certificates cannot be used.
    #[error("cannot use the certificates in {path}: {why}", path = path.display())]
    Certificates {
        /// As given.
        path: PathBuf,
        /// What is wrong with them.
        why: String,
    },
    /// No answer, or not that of a ClickHouse.
    #[error("cannot reach {url}: {message}; is it up, and is this the port of its HTTP interface?")]
    Unreachable {
        /// As given.
        url: ClickHouseUrl,
        /// What happened on the way.
        message: String,
    },
    /// The server rejects our login or rights.
    #[error(
        "{url} refuses us: {message}; the user is in the URL, the password in PARITY_CLICKHOUSE_PASSWORD or clickhouse.password_file"
    )]
    Refused {
        /// As given.
        url: ClickHouseUrl,
        /// What it said.
        message: String,
    },
    /// The tables of the record do not exist.
    #[error(
        "{url} holds no record of parity ({message}); `parity schema apply --clickhouse {url}` creates the tables"
    )]
    NoTables {
        /// As given.
        url: ClickHouseUrl,
        /// What it said.
        message: String,
    },
    /// Tables of an earlier version of this program.
    #[error(
        "{url} has schema version {found}, this program needs {known}; `parity schema apply --clickhouse {url}` brings it up to date"
    )]
    OlderTables {
        /// As given.
        url: ClickHouseUrl,
        /// The version there.
        found: u32,
        /// The version of this program.
        known: u32,
    },
    /// Tables of a later version of this program.
    #[error(
        "{url} has schema version {found}, this program knows up to {known}; use the newer parity that applied it"
    )]
    NewerTables {
        /// As given.
        url: ClickHouseUrl,
        /// The version there.
        found: u32,
        /// The version of this program.
        known: u32,
    },
    /// The replicas changed during every attempt to read.
    #[error(
        "cannot read {url} from one replica: the replica that answers for shard {shard} changed in each of {attempts} attempts; ask again when the cluster is quiet"
    )]
    Replicas {
        /// As given.
        url: ClickHouseUrl,
        /// The number of the shard.
        shard: u32,
        /// How often it was tried.
        attempts: usize,
    },
    /// Tables of one server cannot be converted to tables of a cluster.
    #[error(
        "{url} holds the tables of one server, which cannot be spread over the cluster {cluster}; name another database, or leave out --cluster"
    )]
    OneServer {
        /// As given.
        url: ClickHouseUrl,
        /// As given.
        cluster: String,
    },
    /// Anything else that the server said.
    #[error("cannot {action} {url}: {message}")]
    Server {
        /// As given.
        url: ClickHouseUrl,
        /// What was tried.
        action: &'static str,
        /// What was said.
        message: String,
    },
    /// The spool folder belongs to another process or topic.
    #[error("cannot use the spool {folder}: {why}", folder = folder.display())]
    Spool {
        /// As given.
        folder: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The spool folder cannot be used because of an I/O error.
    #[error("cannot use the spool {folder}", folder = folder.display())]
    SpoolIo {
        /// As given.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A Kafka URL is needed here.
    #[error(
        "`{url}` is not a Kafka topic; write for example kafka://127.0.0.1:9092/parity.records"
    )]
    NotKafka {
        /// As given.
        url: String,
    },
    /// The Kafka client rejects its configuration.
    #[error("cannot use {url}: {message}")]
    KafkaConfig {
        /// As given.
        url: KafkaUrl,
        /// What librdkafka said.
        message: String,
    },
    /// No broker answers.
    #[error(
        "cannot reach {url}: {message}; is a broker up there, and do [kafka] security and login fit?"
    )]
    NoBroker {
        /// As given.
        url: KafkaUrl,
        /// What librdkafka said.
        message: String,
    },
    /// The topic does not exist and cannot be created.
    #[error(
        "{url}: the topic is missing and cannot be made: {message}; create it, or name the right one"
    )]
    NoTopic {
        /// As given.
        url: KafkaUrl,
        /// What the broker said.
        message: String,
    },
    /// A stored value is not what this version writes.
    #[error(
        "{table}.{column} holds `{value}`, which this version does not understand; was it edited, or written by a newer parity?"
    )]
    Value {
        /// Which table.
        table: &'static str,
        /// Which column.
        column: &'static str,
        /// The value, cut.
        value: String,
    },
    /// Rows count more than there can be.
    #[error(
        "the rows of {table} count what no traffic has, at the latest with that of {row}: more than any, or more of a kind than of all; was the store edited?"
    )]
    Impossible {
        /// Which table.
        table: &'static str,
        /// What the row is of with which they do.
        row: String,
    },
    /// The system refused a thread.
    #[error("cannot start the writer thread")]
    Thread(#[source] std::io::Error),
    /// The writer is stuck in the operating system.
    #[error("the writer did not end within {0:?}; what it had not written yet is lost")]
    Stuck(Duration),
}

/// The reason for a file that has just been created.
pub(crate) const EMPTY: &str = "it is empty";

/// Longest value in a message: a stored value may be a whole body.
const MAX_SHOWN_BYTES: usize = 100;

impl StoreError {
    /// Whether a retry is useless until somebody changes the configuration, because this is the wrong store or not one
    /// for this program. A mirror does not start with such a store. Everything else (a full disk, a lock, an
    /// unavailable server) may pass, and a mirror starts nevertheless.
    pub fn is_configuration(&self) -> bool {
        match self {
            Self::Missing { .. }
            | Self::NoFolder { .. }
            | Self::NotARecord { .. }
            | Self::NewerSchema { .. }
            | Self::OlderSchema { .. }
            | Self::WriteOnly { .. }
            | Self::NotClickHouse { .. }
            | Self::Certificates { .. }
            | Self::Refused { .. }
            | Self::NoTables { .. }
            | Self::OneServer { .. }
            | Self::OlderTables { .. }
            | Self::NewerTables { .. }
            | Self::Spool { .. }
            | Self::NotKafka { .. }
            | Self::KafkaConfig { .. }
            | Self::NoTopic { .. } => true,
            Self::Locked { .. }
            | Self::Unguarded { .. }
            | Self::Database { .. }
            | Self::Unreachable { .. }
            | Self::Server { .. }
            | Self::Replicas { .. }
            | Self::SpoolIo { .. }
            | Self::NoBroker { .. }
            | Self::Value { .. }
            | Self::Impossible { .. }
            | Self::Thread(_)
            | Self::Stuck(_) => false,
        }
    }

    /// Whether another process that is starting may be about to create the store, or to migrate it.
    pub fn may_come(&self) -> bool {
        match self {
            Self::Missing { .. }
            | Self::OlderSchema { .. }
            | Self::Locked { .. }
            | Self::Unreachable { .. }
            | Self::NoTables { .. }
            | Self::OlderTables { .. } => true,
            Self::NotARecord { why, .. } => *why == EMPTY,
            _ => false,
        }
    }

    /// The error and its cause in one line.
    pub(crate) fn told(&self) -> String {
        match std::error::Error::source(self) {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }

    pub(crate) fn value(table: &'static str, column: &'static str, value: &str) -> Self {
        let mut value = value.to_owned();
        if value.len() > MAX_SHOWN_BYTES {
            value.truncate(value.floor_char_boundary(MAX_SHOWN_BYTES));
            value.push('…');
        }
        Self::Value {
            table,
            column,
            value,
        }
    }
}
