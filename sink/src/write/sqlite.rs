//! Batches into the `SQLite` file.
//!
//! Every statement is idempotent by the record's own id; a tally is replaced by a higher revision only.
//!
//! Rows are turned into text before the transaction begins, so that the write lock, which the gate may be waiting
//! for, is held for the inserts alone.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use parity_schemas::evidence::Decision;
use parity_schemas::record::{Mismatch, MismatchClass, Record, RecordType};
use parity_schemas::tally::{GroupTally, Tally};
use parity_schemas::verdict::Explanation;
use parity_schemas::watermark::Watermark;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, params};
use serde::Serialize;
use uuid::Uuid;

use super::queue::Queued;
use super::retention::{Retention, Step};
use super::worker::{BatchStore, Written};
use crate::error::StoreError;
use crate::sqlite;
use crate::sqlite::guard::{Fault, FileId, Guard};
use crate::tally::Snapshot;

/// How long one attempt waits for another writer. Short, because the writer tries again by itself and must notice
/// in between that it shall end.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);
/// How long opening waits for another process, which needs milliseconds to set a file up. The proxy may be waiting.
const OPEN_PATIENCE: Duration = Duration::from_millis(500);
/// How long closing waits for readers before it leaves the log to whoever opens the file next.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// The file, held by the writer thread.
pub(super) struct SqliteStore {
    connection: Connection,
    path: PathBuf,
    guard: Guard,
}

/// Why the file cannot be written to, with its path.
#[derive(Debug)]
pub(super) struct SqliteFault {
    path: PathBuf,
    fault: Fault,
}

impl fmt::Display for SqliteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.fault {
            Fault::Lost(loss) => write!(f, "{path}: {loss}"),
            fault => write!(f, "cannot write to {path}: {fault}"),
        }
    }
}

impl SqliteStore {
    pub(super) fn open(path: &Path, max_page_count: Option<u32>) -> Result<Self, StoreError> {
        let unguarded = |fault| StoreError::Unguarded {
            path: path.into(),
            why: format!("{fault}"),
        };
        let before = FileId::at(path).map_err(unguarded)?;
        let connection = sqlite::open_or_create(path, OPEN_PATIENCE)?;
        let failed = |error| sqlite::failed("open", path, error);
        connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        if let Some(pages) = max_page_count {
            connection
                .pragma_update(None, "max_page_count", pages)
                .map_err(failed)?;
        }
        let guard = Guard::of(&connection, path, before).map_err(unguarded)?;
        Ok(Self {
            connection,
            path: path.into(),
            guard,
        })
    }

    fn fault(&self, fault: impl Into<Fault>) -> SqliteFault {
        SqliteFault {
            path: self.path.clone(),
            fault: fault.into(),
        }
    }

    /// Inserts all rows in one transaction, or none.
    fn insert(&mut self, rows: &[Row<'_>]) -> rusqlite::Result<Written> {
        let mut written = Written::default();
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for row in rows {
            match row.insert(&transaction) {
                Ok(_) if matches!(row, Row::Watermark { .. }) => {}
                Ok(_) => written.rows += 1,
                Err(error) if is_fault_of_the_row(&error) => {
                    tracing::error!(%error, table = row.table(), "the store refused a record");
                    written.rejected += 1;
                }
                Err(error) => return Err(error),
            }
        }
        transaction.commit()?;
        Ok(written)
    }
}

impl BatchStore for SqliteStore {
    type Error = SqliteFault;

    fn check(&mut self) -> Result<(), SqliteFault> {
        self.guard
            .check(&self.connection)
            .map_err(|fault| self.fault(fault))
    }

    fn write(
        &mut self,
        records: &[Queued],
        snapshot: Option<&Snapshot>,
    ) -> Result<Written, SqliteFault> {
        let rows: Vec<Row<'_>> = records
            .iter()
            .map(|queued| Row::of(&queued.record))
            .chain(snapshot.into_iter().flat_map(|snapshot| {
                let tallies = snapshot.tallies.iter().map(Row::tally);
                let groups = snapshot.groups.iter().map(Row::Group);
                let watermarks = snapshot.watermarks.iter().map(Row::watermark);
                tallies.chain(groups).chain(watermarks)
            }))
            .collect();
        let written = self.insert(&rows).map_err(|error| self.fault(error))?;
        let last = snapshot.and_then(|snapshot| snapshot.tallies.last());
        let known = last.map(|tally| (tally.id.to_string(), tally.revision));
        self.guard
            .wrote(&self.connection, known)
            .map_err(|fault| self.fault(fault))?;
        Ok(written)
    }

    fn may_take_tallies(error: &SqliteFault) -> bool {
        // Whoever holds the lock holds it against tallies too, and what is not there takes none.
        matches!(&error.fault, Fault::Database(error) if !matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        ))
    }

    fn is_lost(error: &SqliteFault) -> bool {
        matches!(error.fault, Fault::Lost(_))
    }

    fn give_up(self, error: &SqliteFault) {
        if let Fault::Lost(loss) = error.fault {
            self.guard.give_up(self.connection, loss);
        }
    }

    /// Removes what is too old, and in the end copies the log into the file: what stands in the log alone is never older
    /// than the counts that the book still has, should the log be lost.
    fn retain(&mut self, retention: &Retention) -> Result<Step, SqliteFault> {
        let mut retain = || {
            let step = super::retention::step(&mut self.connection, retention)?;
            if !matches!(step, Step::More) {
                // What a reader is in the way of is copied the next time.
                self.connection
                    .query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()))?;
            }
            Ok(step)
        };
        let step = retain().map_err(|error: rusqlite::Error| self.fault(error))?;
        self.guard
            .wrote(&self.connection, None)
            .map_err(|fault| self.fault(fault))?;
        Ok(step)
    }

    /// Size on disk, the log included.
    fn bytes(&self) -> Option<u64> {
        Some(self.guard.bytes())
    }

    /// Copies the log into the file and closes it. A log that cannot be copied now is no loss: whoever opens the file
    /// next finds it.
    fn close(self) -> Result<(), SqliteFault> {
        let path = self.path;
        let close = || {
            self.connection.busy_timeout(CLOSE_TIMEOUT)?;
            let copied = self
                .connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()));
            let closed = self.connection.close().map_err(|(_, error)| error);
            copied.and(closed)
        };
        close().map_err(|error| SqliteFault {
            path,
            fault: error.into(),
        })
    }
}

/// Adds a decision to an existing store, also while a mirror writes to it.
pub(super) fn record_decision(path: &Path, decision: &Decision) -> Result<(), StoreError> {
    let mut connection = sqlite::open_existing(path)?;
    let failed = |error| sqlite::failed("write the decision to", path, error);
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    insert_decision(&transaction, decision).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// Whether the row itself is to blame: the next attempt would fail alike, and no other row with it.
fn is_fault_of_the_row(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::ConstraintViolation
                | ErrorCode::TooBig
                | ErrorCode::TypeMismatch
                | ErrorCode::ParameterOutOfRange
        )
    )
}

/// A record with its lists and maps as text.
enum Row<'a> {
    Mismatch {
        mismatch: &'a Mismatch,
        fingerprints: String,
        findings: String,
        tolerated: String,
        sample: Option<String>,
    },
    Tally {
        tally: &'a Tally,
        clients: String,
        not_compared: String,
        rule_hits: String,
        legacy_latency: String,
        candidate_latency: String,
        legacy_head_latency: String,
        candidate_head_latency: String,
    },
    Group(&'a GroupTally),
    Decision(&'a Decision),
    Watermark {
        watermark: &'a Watermark,
        under_way: String,
        open: String,
    },
}

impl<'a> Row<'a> {
    fn of(record: &'a Record) -> Self {
        match record {
            Record::Mismatch(mismatch) => Self::Mismatch {
                mismatch,
                fingerprints: json(&mismatch.fingerprints),
                findings: json(&mismatch.findings),
                tolerated: json(&mismatch.tolerated),
                sample: mismatch.sample.as_ref().map(json),
            },
            Record::Tally(tally) => Self::tally(tally),
            Record::GroupTally(group) => Self::Group(group),
            Record::Decision(decision) => Self::Decision(decision),
            Record::Watermark(watermark) => Self::watermark(watermark),
        }
    }

    fn watermark(watermark: &'a Watermark) -> Self {
        Self::Watermark {
            watermark,
            under_way: json(&watermark.under_way),
            open: json(&watermark.open),
        }
    }

    fn tally(tally: &'a Tally) -> Self {
        Self::Tally {
            tally,
            clients: json(&tally.counts.clients),
            not_compared: json(&tally.counts.not_compared),
            rule_hits: json(&tally.rule_hits),
            legacy_latency: tally.legacy_latency.to_runs(),
            candidate_latency: tally.candidate_latency.to_runs(),
            legacy_head_latency: tally.legacy_head_latency.to_runs(),
            candidate_head_latency: tally.candidate_head_latency.to_runs(),
        }
    }

    fn table(&self) -> &'static str {
        match self {
            Self::Mismatch { .. } => RecordType::Mismatch,
            Self::Tally { .. } => RecordType::Tally,
            Self::Group(_) => RecordType::GroupTally,
            Self::Decision(_) => RecordType::Decision,
            Self::Watermark { .. } => RecordType::Watermark,
        }
        .table()
    }

    fn insert(&self, transaction: &Transaction<'_>) -> rusqlite::Result<usize> {
        match self {
            Self::Mismatch {
                mismatch,
                fingerprints,
                findings,
                tolerated,
                sample,
            } => transaction
                .prepare_cached(INSERT_MISMATCH)?
                .execute(params![
                    mismatch.id.to_string(),
                    mismatch.identity.migration,
                    mismatch.identity.legacy_version,
                    mismatch.identity.candidate_version,
                    mismatch.identity.rules_hash,
                    mismatch.time.as_micros(),
                    mismatch.instance,
                    mismatch.route,
                    mismatch.method,
                    mismatch.path,
                    mismatch.query,
                    fingerprints,
                    findings,
                    mismatch.findings_cut,
                    tolerated,
                    mismatch.legacy_status,
                    mismatch.candidate_status,
                    integer(mismatch.legacy_us),
                    integer(mismatch.candidate_us),
                    mismatch.trace_id,
                    match mismatch.class {
                        MismatchClass::Unconfirmed => "unconfirmed",
                    },
                    sample,
                ]),
            Self::Tally {
                tally,
                clients,
                not_compared,
                rule_hits,
                legacy_latency,
                candidate_latency,
                legacy_head_latency,
                candidate_head_latency,
            } => transaction.prepare_cached(INSERT_TALLY)?.execute(params![
                tally.id.to_string(),
                tally.revision,
                tally.identity.migration,
                tally.identity.legacy_version,
                tally.identity.candidate_version,
                tally.identity.rules_hash,
                tally.instance,
                tally.interval_start.as_micros(),
                tally.interval_us,
                tally.route,
                integer(tally.counts.received),
                integer(tally.counts.matched),
                integer(tally.counts.mismatch),
                not_compared,
                rule_hits,
                legacy_latency,
                candidate_latency,
                clients,
                legacy_head_latency,
                candidate_head_latency,
                run(tally.run),
            ]),
            Self::Group(group) => transaction.prepare_cached(INSERT_GROUP)?.execute(params![
                group.tally_id.to_string(),
                group.revision,
                group.group.fingerprint,
                group.group.part.as_str(),
                group.group.pattern,
                group.group.kind.as_str(),
                group.group.explanation.map(Explanation::as_str),
                group.group.legacy_status,
                group.group.candidate_status,
                integer(group.count),
                group.first_seen.as_micros(),
                group.last_seen.as_micros(),
                group.example_id.to_string(),
                group.identity.migration,
                group.identity.legacy_version,
                group.identity.candidate_version,
                group.identity.rules_hash,
                group.interval_start.as_micros(),
                group.route,
                group.exchange_digest.number(),
            ]),
            Self::Decision(decision) => insert_decision(transaction, decision),
            Self::Watermark {
                watermark,
                under_way,
                open,
            } => insert_watermark(transaction, watermark, under_way, open),
        }
    }
}

fn insert_watermark(
    transaction: &Transaction<'_>,
    watermark: &Watermark,
    under_way: &str,
    open: &str,
) -> rusqlite::Result<usize> {
    transaction
        .prepare_cached(INSERT_WATERMARK)?
        .execute(params![
            watermark.id.to_string(),
            watermark.revision,
            watermark.identity.migration,
            watermark.identity.legacy_version,
            watermark.identity.candidate_version,
            watermark.identity.rules_hash,
            watermark.instance,
            watermark.started.as_micros(),
            watermark.written.as_micros(),
            watermark.complete_until.as_micros(),
            watermark.ended,
            under_way,
            watermark.counted_from.as_micros(),
            watermark.open_from.as_micros(),
            integer(watermark.tallies),
            integer(watermark.received),
            integer(watermark.settled),
            open,
        ])
}

/// The id of a run; empty for programs without.
fn run(run: Uuid) -> String {
    if run.is_nil() {
        String::new()
    } else {
        run.to_string()
    }
}

fn insert_decision(transaction: &Transaction<'_>, decision: &Decision) -> rusqlite::Result<usize> {
    let (legacy_version, candidate_version, rules_hash) = decision.versions();
    transaction
        .prepare_cached(INSERT_DECISION)?
        .execute(params![
            decision.decision_id.to_string(),
            decision.migration,
            decision.time.as_micros(),
            decision.outcome.as_str(),
            legacy_version,
            candidate_version,
            rules_hash,
            json(&decision.thresholds),
            json(decision),
        ])
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("records are made of strings, numbers and lists only")
}

/// A count as `SQLite` holds it: 63 bits are enough for a request per nanosecond and three centuries.
fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

const INSERT_MISMATCH: &str = "INSERT INTO mismatches (id, migration, legacy_version, candidate_version, rules_hash, \
    time, instance, route, method, path, query, fingerprints, findings, findings_cut, tolerated, legacy_status, \
    candidate_status, legacy_us, candidate_us, trace_id, class, sample) \
    VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22) \
    ON CONFLICT (id) DO NOTHING";

const INSERT_TALLY: &str = "INSERT INTO tallies (id, revision, migration, legacy_version, candidate_version, \
    rules_hash, instance, interval_start, interval_us, route, received, \"match\", mismatch, not_compared, rule_hits, \
    legacy_latency, candidate_latency, clients, legacy_head_latency, candidate_head_latency, run) \
    VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21) \
    ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, interval_us = excluded.interval_us, \
    received = excluded.received, \"match\" = excluded.\"match\", mismatch = excluded.mismatch, \
    not_compared = excluded.not_compared, rule_hits = excluded.rule_hits, \
    legacy_latency = excluded.legacy_latency, candidate_latency = excluded.candidate_latency, \
    clients = excluded.clients, legacy_head_latency = excluded.legacy_head_latency, \
    candidate_head_latency = excluded.candidate_head_latency \
    WHERE excluded.revision > tallies.revision";

const INSERT_GROUP: &str = "INSERT INTO group_tallies (tally_id, revision, fingerprint, part, pattern, kind, \
    explanation, legacy_status, candidate_status, count, first_seen, last_seen, example_id, migration, legacy_version, \
    candidate_version, rules_hash, interval_start, route, exchange_digest) \
    VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20) \
    ON CONFLICT (tally_id, fingerprint) DO UPDATE SET revision = excluded.revision, count = excluded.count, \
    first_seen = excluded.first_seen, last_seen = excluded.last_seen, example_id = excluded.example_id, \
    exchange_digest = excluded.exchange_digest \
    WHERE excluded.revision > group_tallies.revision";

const INSERT_WATERMARK: &str = "INSERT INTO watermarks (id, revision, migration, legacy_version, candidate_version, \
    rules_hash, instance, started, written, complete_until, ended, under_way, counted_from, open_from, tallies, \
    received, settled, open) \
    VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18) \
    ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, written = excluded.written, \
    complete_until = excluded.complete_until, ended = excluded.ended, under_way = excluded.under_way, \
    counted_from = excluded.counted_from, open_from = excluded.open_from, tallies = excluded.tallies, \
    received = excluded.received, settled = excluded.settled, open = excluded.open \
    WHERE excluded.revision > watermarks.revision";

const INSERT_DECISION: &str = "INSERT INTO decisions (id, migration, time, outcome, legacy_version, \
    candidate_version, rules_hash, thresholds, document) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9) \
    ON CONFLICT (id) DO NOTHING";
