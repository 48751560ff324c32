//! Writing batches to the `SQLite` file.
//!
//! Rows are turned into text before the transaction begins, so that the write lock, which the gate may be waiting
//! for, is held for the inserts alone.

mod condense;
mod forms;
mod namesake;
mod rows;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parity_schemas::record::{Record, RecordType};
use parity_schemas::watermark::Watermark;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use uuid::Uuid;

use self::condense::Condenser;
use self::namesake::Namesake;
use self::rows::{Row, Statements};
use super::batch_store::{BatchStore, Written};
use super::queue::Queued;
use super::retention::Step;
use crate::error::StoreError;
use crate::retention::Retention;
use crate::sqlite;
use crate::sqlite::begun;
use crate::sqlite::guard::{Fault, FileId, Guard};
use crate::tally::Snapshot;

/// How long one attempt waits for another writer. Short, because the writer thread retries anyway, and checks in
/// between whether it must end.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);
/// The last attempt waits at least this long, even after the deadline: a batch of another process takes milliseconds.
const MIN_BUSY_TIMEOUT: Duration = Duration::from_millis(100);
/// How long opening waits for another process, which needs milliseconds to set a file up. The proxy may be waiting.
const OPEN_PATIENCE: Duration = Duration::from_millis(500);
/// While there is more to remove or to add up, the log is copied into the file as often as this: the book has the counts of the
/// last minutes, in case the log is lost, and no more.
const CHECKPOINT_PERIOD: Duration = Duration::from_mins(1);
/// How long closing waits for readers before it leaves the log as it is.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// The file, held by the writer thread.
pub(super) struct SqliteStore {
    connection: Connection,
    statements: Statements,
    path: PathBuf,
    guard: Guard,
    condenser: Condenser,
    /// When the log was last copied into the file.
    checkpointed: Instant,
    /// The present run left a note beside the file, which goes when the run has a watermark in it.
    noted: Option<Uuid>,
    namesake: Namesake,
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
    /// Opens the file for the run that is at work; a note beside it tells readers of the run until it has written. For the time of a
    /// `handover` another process may write under its name.
    pub(super) fn open(
        path: &Path,
        max_page_count: Option<u32>,
        run: &Watermark,
        handover: Duration,
    ) -> Result<Self, StoreError> {
        let left = begun::leave(path, run).unwrap_or_else(|error| {
            // Where not even a link can be made, a store is rarely opened: the error of that is told.
            tracing::debug!(%error, path = %path.display(), "no note could be left beside the store");
            None
        });
        let opened = Self::open_file(path, max_page_count, run.id, handover);
        if let (Err(error), Some(note)) = (&opened, left)
            && error.is_configuration()
        {
            // Nothing begins with such an error, and the file may not be ours.
            begun::withdraw(&note);
        }
        opened
    }

    fn open_file(
        path: &Path,
        max_page_count: Option<u32>,
        run: Uuid,
        handover: Duration,
    ) -> Result<Self, StoreError> {
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
            statements: Statements::new(),
            path: path.into(),
            guard,
            condenser: Condenser::of(path),
            checkpointed: Instant::now(),
            noted: Some(run),
            namesake: Namesake::from(Instant::now(), handover),
        })
    }

    fn fault(&self, fault: impl Into<Fault>) -> SqliteFault {
        SqliteFault {
            path: self.path.clone(),
            fault: fault.into(),
        }
    }

    /// Replaces the notes beside the file by watermarks in it, which say the same. Our own run has one already.
    fn take_notes(&mut self, ours: Uuid) {
        let Ok(mut notes) = begun::list(&self.path) else {
            return;
        };
        notes.retain(|note| note.has_identity || note.run.id == ours);
        let rows: Vec<Row<'_>> = notes
            .iter()
            .filter(|note| note.run.id != ours)
            .map(|note| Row::watermark(&note.run))
            .collect();
        if rows.is_empty() || self.insert(&rows).is_ok() {
            begun::remove(&notes);
            self.noted = None;
        }
    }

    /// Inserts all rows in one transaction, or none.
    fn insert(&mut self, rows: &[Row<'_>]) -> rusqlite::Result<Written> {
        let mut written = Written::default();
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (at, row) in rows.iter().enumerate() {
            match row.insert(&transaction, &self.statements) {
                Ok(_) if row.table == RecordType::Watermark => {}
                Ok(_) => written.rows += 1,
                Err(error) if is_fault_of_the_row(&error) => {
                    tracing::error!(%error, table = row.table.table(), "the store refused a record");
                    written.rejected.push(at);
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
                let groups = snapshot.groups.iter().map(Row::group);
                let sets = snapshot.sets.iter().map(Row::set);
                let terms = snapshot.terms.iter().map(Row::terms);
                let watermarks = snapshot.watermarks.iter().map(Row::watermark);
                let counts = tallies.chain(groups).chain(sets);
                counts.chain(terms).chain(watermarks)
            }))
            .collect();
        let written = self.insert(&rows).map_err(|error| self.fault(error))?;
        let last = snapshot.and_then(|snapshot| snapshot.tallies.last());
        let known = last.map(|tally| (tally.id.to_string(), tally.revision));
        self.guard
            .wrote(&self.connection, known)
            .map_err(|fault| self.fault(fault))?;
        if let Some(snapshot) = snapshot {
            let own = &snapshot.watermarks;
            self.namesake.look(&self.connection, own, Instant::now());
        }
        // Only now is it certain that the watermarks are in the file at the path.
        if let (Some(_), Some(ours)) = (snapshot, self.noted) {
            self.take_notes(ours);
            self.guard
                .wrote(&self.connection, None)
                .map_err(|fault| self.fault(fault))?;
        }
        Ok(written)
    }

    fn limit_wait(&mut self, limit: Duration) {
        let limit = limit.clamp(MIN_BUSY_TIMEOUT, BUSY_TIMEOUT);
        if let Err(error) = self.connection.busy_timeout(limit) {
            tracing::debug!(%error, "the busy time-out cannot be changed");
        }
    }

    fn may_take_tallies(error: &SqliteFault) -> bool {
        // A lock prevents writing tallies too, and so does a lost store.
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

    /// Removes old rows, adds up what is over, and finally checkpoints the log into the file. So rows that are only in the log are never
    /// older than the counts that the book still has in memory, in case the log is lost.
    fn retain(&mut self, retention: &Retention) -> Result<Step, SqliteFault> {
        let mut retain = || {
            let mut step = super::retention::step(&mut self.connection, retention)?;
            let has_room = self.guard.bytes() < retention.max_bytes / 10 * 9;
            if matches!(step, Step::Done)
                && has_room
                && self.condenser.step(&self.connection, retention)
            {
                step = Step::More;
            }
            if !matches!(step, Step::More) || self.checkpointed.elapsed() > CHECKPOINT_PERIOD {
                self.checkpointed = Instant::now();
                // Pages that a reader still needs are copied at the next checkpoint.
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

    /// Checkpoints the log into the file and closes it. If that fails nothing is lost: SQLite recovers the log when the
    /// file is next opened.
    fn close(self) -> Result<(), SqliteFault> {
        // The last connection that is closed removes the log.
        drop(self.condenser);
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

/// Adds a record to an existing store, also while a mirror writes to it.
pub(super) fn add(path: &Path, record: &Record, action: &'static str) -> Result<(), StoreError> {
    let mut connection = sqlite::open_existing(path)?;
    let failed = |error| sqlite::failed(action, path, error);
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    Row::of(record)
        .insert(&transaction, &Statements::new())
        .map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// Whether the row itself is at fault: it would fail again, and other rows would not.
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
