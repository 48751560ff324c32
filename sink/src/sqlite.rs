//! The file of the one-machine store: how it is opened, and what makes it ours.
//!
//! WAL mode, because the gate, the report and the UI read and write while a mirror writes. `synchronous=NORMAL`: a
//! commit is in the operating system's hands but not flushed to the disk. So a killed *process* loses nothing that
//! was committed, only what it had not yet written: one batch interval. A lost *machine* (power, kernel) also loses
//! the last batches that the system had not written out by itself (Linux: within half a minute), a suffix of what
//! was committed, and never corrupts the file. `FULL` would cost a disk flush per batch, four a second, for evidence
//! that a minute of traffic restores.
//!
//! A file is ours by its `application_id`; a database of somebody else is refused, never migrated.
//!
//! No file of a store is ever opened but by `SQLite`, not even to create it: see [`guard`].

pub(crate) mod guard;

use std::fs::{OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use parity_schemas::id::new_id;
use parity_schemas::record::RecordType;
use parity_schemas::sqlite::{VERSION, migrations};
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::error::{EMPTY, StoreError};

/// `PRAGMA application_id` of our files: the ASCII letters `prty`.
const APPLICATION_ID: i32 = 0x7072_7479;
/// How long opening and one-off writes wait for another writer. A batch holds the lock for milliseconds, so only
/// somebody's open transaction in a SQL shell makes us give up.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two attempts to open a file that another process is setting up, which takes milliseconds.
const OPEN_AGAIN_AFTER: Duration = Duration::from_millis(5);
/// Pages of the write-ahead log after which it is copied into the file: `SQLite`'s own default, spelt out because the
/// size of the log is part of what we promise to bound.
const WAL_PAGES: u32 = 1_000;
/// The log's file is cut back to this after a reader had made it grow.
const WAL_BYTES_KEPT: u32 = 16 << 20;

const NO_URI: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX;

/// A store is its owner's alone: bodies are kept clear but for secrets.
const MODE: u32 = 0o600;

/// Opens for writing; creates the file and brings its schema up to date. Waits for other processes for at most
/// `patience`.
pub(crate) fn open_or_create(path: &Path, patience: Duration) -> Result<Connection, StoreError> {
    patiently(patience, || create(path, patience))
}

/// `SQLite` does not wait for every lock: who switches a new file to WAL while another process does the same is turned
/// away at once. So opening as a whole is tried again for as long as a wait would have lasted.
fn patiently(
    patience: Duration,
    open: impl Fn() -> Result<Connection, StoreError>,
) -> Result<Connection, StoreError> {
    let began = Instant::now();
    loop {
        match open() {
            Err(StoreError::Locked { .. }) if began.elapsed() < patience => {
                std::thread::sleep(OPEN_AGAIN_AFTER);
            }
            Err(StoreError::Locked { path, .. }) => {
                return Err(StoreError::Locked {
                    path,
                    waited: patience,
                });
            }
            opened => return opened,
        }
    }
}

fn create(path: &Path, patience: Duration) -> Result<Connection, StoreError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return Err(StoreError::NoFolder { path: path.into() });
    }
    let unprotected = make_private(path, folder);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | NO_URI;
    let mut connection = connect(path, flags, patience)?;
    if unprotected {
        // Still before anything is in it.
        let _told_by_the_first_write = std::fs::set_permissions(path, Permissions::from_mode(MODE));
    }
    let failed = |error| failed("open", path, error);
    let is_new = check_owner(&connection, path, true)?;
    let found = version(&connection, path)?;
    if found > VERSION {
        return Err(newer(path, found));
    }
    if is_new {
        // Only a file without any table heeds this, so it comes before the first. In any other it would be a write.
        connection
            .pragma_update(None, "auto_vacuum", "INCREMENTAL")
            .map_err(failed)?;
    }
    for (name, value) in [
        ("journal_mode", "WAL"),
        ("synchronous", "NORMAL"),
        ("temp_store", "MEMORY"),
    ] {
        connection
            .pragma_update(None, name, value)
            .map_err(failed)?;
    }
    for (name, value) in [
        ("wal_autocheckpoint", WAL_PAGES),
        ("journal_size_limit", WAL_BYTES_KEPT),
    ] {
        connection
            .pragma_update(None, name, value)
            .map_err(failed)?;
    }
    migrate(&mut connection, path)?;
    restore(&mut connection).map_err(failed)?;
    Ok(connection)
}

/// Whether a table of the record is not there.
fn lacks_tables(connection: &Connection) -> rusqlite::Result<bool> {
    let mut find = connection
        .prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?;
    for record in RecordType::ALL {
        if !find.exists([record.table()])? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes tables anew that somebody has dropped, as they are in a file of this version.
fn restore(connection: &mut Connection) -> rusqlite::Result<()> {
    if !lacks_tables(connection)? {
        return Ok(());
    }
    let fresh = Connection::open_in_memory()?;
    for (_, sql) in migrations() {
        fresh.execute_batch(&sql)?;
    }
    // Tables before their indexes; what has no text comes with its table.
    let mut list = fresh.prepare(
        "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type = 'index', rowid",
    )?;
    let wanted: Vec<(String, String)> = list
        .query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (name, sql) in wanted {
        let there = transaction
            .prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = ?1")?
            .exists([&name])?;
        if !there {
            transaction.execute_batch(&sql)?;
        }
    }
    transaction.commit()
}

/// Makes a new store, empty and readable by its owner only, before `SQLite` opens it: it would let others read it. Its log
/// gets the mode of the file. A file that is there keeps the mode that its owner gave it.
///
/// The file gets its name when our descriptor of it is closed: as long as it has none, nobody can hold a lock on it that
/// the closing would take away. What goes wrong here, `SQLite` meets as well, and tells better. Whether it did not work.
fn make_private(path: &Path, folder: &Path) -> bool {
    if path.try_exists().unwrap_or(true) {
        return false;
    }
    let nameless = folder.join(format!(".parity-{}.new", new_id()));
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE)
        .open(&nameless)
        .map(drop);
    // Fails where another process was faster, and on file systems without links.
    let named = made.and_then(|()| std::fs::hard_link(&nameless, path));
    let _removed = std::fs::remove_file(&nameless);
    named.is_err()
}

/// Opens an existing, current store for one-off writes.
pub(crate) fn open_existing(path: &Path) -> Result<Connection, StoreError> {
    let connection = open_checked(path, OpenFlags::SQLITE_OPEN_READ_WRITE | NO_URI)?;
    connection
        .pragma_update(None, "synchronous", "NORMAL")
        .map_err(|error| failed("open", path, error))?;
    Ok(connection)
}

/// Opens an existing, current store for reading.
pub(crate) fn open_read_only(path: &Path) -> Result<Connection, StoreError> {
    open_checked(path, OpenFlags::SQLITE_OPEN_READ_ONLY | NO_URI)
}

fn open_checked(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    patiently(BUSY_TIMEOUT, || check(path, flags))
}

fn check(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    if !path.try_exists().unwrap_or(true) {
        return Err(StoreError::Missing { path: path.into() });
    }
    let connection = connect(path, flags, BUSY_TIMEOUT)?;
    check_owner(&connection, path, false)?;
    let found = version(&connection, path)?;
    match found.cmp(&VERSION) {
        std::cmp::Ordering::Equal => Ok(connection),
        std::cmp::Ordering::Less => Err(StoreError::OlderSchema {
            path: path.into(),
            found,
            known: VERSION,
        }),
        std::cmp::Ordering::Greater => Err(newer(path, found)),
    }
}

fn connect(path: &Path, flags: OpenFlags, patience: Duration) -> Result<Connection, StoreError> {
    if path.is_dir() {
        return Err(StoreError::NotARecord {
            path: path.into(),
            why: "it is a folder",
        });
    }
    let failed = |error| failed("open", path, error);
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(patience).map_err(failed)?;
    Ok(connection)
}

/// Refuses files that are not ours; with `may_be_new`, a file without any table is about to become ours. Whether it is
/// such a one.
fn check_owner(connection: &Connection, path: &Path, may_be_new: bool) -> Result<bool, StoreError> {
    let failed = |error| failed("open", path, error);
    // Of one moment: another process may be making the file ours just now.
    let moment = connection.unchecked_transaction().map_err(failed)?;
    let id: i32 = moment
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .map_err(failed)?;
    if id == APPLICATION_ID {
        return Ok(false);
    }
    let tables: i64 = moment
        .query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))
        .map_err(failed)?;
    match (id, tables) {
        (0, 0) if may_be_new => Ok(true),
        (0, 0) => Err(StoreError::NotARecord {
            path: path.into(),
            why: EMPTY,
        }),
        _ => Err(StoreError::NotARecord {
            path: path.into(),
            why: "it is a database of another program",
        }),
    }
}

/// Applies what is missing, in one transaction: two processes that start at once do it once.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| failed("migrate", path, error);
    let found = version(connection, path)?;
    if found == VERSION {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    let found = version(&transaction, path)?;
    if found > VERSION {
        return Err(newer(path, found));
    }
    for (number, sql) in migrations().filter(|(number, _)| *number > found) {
        transaction.execute_batch(&sql).map_err(failed)?;
        transaction
            .pragma_update(None, "user_version", number)
            .map_err(failed)?;
    }
    transaction
        .pragma_update(None, "application_id", APPLICATION_ID)
        .map_err(failed)?;
    transaction.commit().map_err(failed)
}

fn version(connection: &Connection, path: &Path) -> Result<u32, StoreError> {
    connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(|error| failed("open", path, error))
}

fn newer(path: &Path, found: u32) -> StoreError {
    StoreError::NewerSchema {
        path: path.into(),
        found,
        known: VERSION,
    }
}

/// Turns what `SQLite` says into what a user can act on.
pub(crate) fn failed(action: &'static str, path: &Path, error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::NotARecord {
            path: path.into(),
            why: "it is no SQLite database",
        },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked {
            path: path.into(),
            waited: BUSY_TIMEOUT,
        },
        _ => StoreError::Database {
            action,
            path: path.into(),
            source: error,
        },
    }
}
