//! The file of the one-machine store: how it is opened, and how it is identified as ours.
//!
//! WAL mode, because the gate, the report and the UI read and write while a mirror writes. `synchronous=NORMAL`: a
//! commit is in the page cache but not flushed to the disk. So a killed *process* loses nothing that was committed,
//! only what it had not yet written: one batch interval. A lost *machine* (power, kernel) also loses the last batches
//! that the system had not written yet (Linux: at most half a minute). These are always the latest commits, and the
//! file is never corrupted. `FULL` would cost a disk flush per batch, four a second, for evidence that a minute of
//! traffic restores.
//!
//! A file is ours if it has our `application_id`; a database of another program is refused, never migrated.
//!
//! Only `SQLite` ever opens a file of a store that has its name: see [`guard`].

pub(crate) mod begun;
pub(crate) mod guard;

use std::fmt::Write as _;
use std::fs::{OpenOptions, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parity_schemas::id::new_id;
use parity_schemas::record::RecordType;
use parity_schemas::sqlite::{VERSION, migrations};
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::error::{EMPTY, StoreError};

/// `PRAGMA application_id` of our files: the ASCII letters `prty`.
const APPLICATION_ID: i32 = 0x7072_7479;
/// How long opening and one-off writes wait for another writer. A batch holds the lock for milliseconds, so only an
/// open transaction in a SQL shell can exhaust this.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// The delay between two attempts to open a file that another process is setting up, which takes milliseconds.
const OPEN_AGAIN_AFTER: Duration = Duration::from_millis(5);
/// Pages of the write-ahead log after which it is copied into the file: `SQLite`'s own default, set explicitly because
/// we promise a bound on the size of the log.
const WAL_PAGES: u32 = 1_000;
/// The log's file is truncated to this size after a reader made it grow.
const WAL_BYTES_KEPT: u32 = 16 << 20;

const NO_URI: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX;

/// Only the owner may read a store: bodies are stored in clear except for secrets.
const MODE: u32 = 0o600;

/// Opens for writing; creates the file and brings its schema up to date. Waits for other processes for at most
/// `patience`.
pub(crate) fn open_or_create(path: &Path, patience: Duration) -> Result<Connection, StoreError> {
    patiently(patience, || create(path, patience))
}

/// `SQLite` does not wait for every lock: switching a new file to WAL fails at once while another process does the
/// same. So opening is retried as a whole for as long as it would have waited for a lock.
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
        // Before anything is written to it.
        let _told_by_the_first_write = std::fs::set_permissions(path, Permissions::from_mode(MODE));
    }
    let failed = |error| failed("open", path, error);
    let is_new = check_owner(&connection, path, true)?;
    let found = version(&connection, path)?;
    if found > VERSION {
        return Err(newer(path, found));
    }
    if is_new {
        // Only has an effect in a file without tables, so it must precede the first one. In any other file it would be
        // a write.
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

/// The table by which a reader knows what has changed, and the one of what was added up for it.
const FOR_READERS: [&str; 2] = ["slot_marks", "block_sums"];

/// Whether a table of the record is missing.
fn lacks_tables(connection: &Connection) -> rusqlite::Result<bool> {
    let mut find = connection
        .prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?;
    let tables = RecordType::ALL.map(RecordType::table);
    for table in tables.into_iter().chain(FOR_READERS) {
        if !find.exists([table])? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Creates tables again that somebody has dropped, as they are in a file of this version.
fn restore(connection: &mut Connection) -> rusqlite::Result<()> {
    if !lacks_tables(connection)? {
        return Ok(());
    }
    let fresh = Connection::open_in_memory()?;
    for (_, sql) in migrations() {
        fresh.execute_batch(&sql)?;
    }
    // Tables before their indexes; objects without SQL are created with their table.
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
    // Rows that went with their table were marked by nobody.
    transaction.execute_batch("UPDATE slot_marks SET mark = random()")?;
    transaction.commit()
}

/// Creates a new empty file that only its owner can read, before `SQLite` opens it, which would let others read it. The
/// log gets the mode of the file. An existing file keeps its mode.
///
/// The file gets its name after our descriptor is closed: before that nobody can have a lock on it, which closing would
/// release. Errors here are ignored, because `SQLite` then fails with a better message. Returns whether the file could
/// not be created so.
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
    // Fails if another process has created the file, and on file systems without hard links.
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
///
/// To read a file with a log, `SQLite` makes two files beside it, unless they are there. In a folder that may only be read,
/// or on a full disk, it cannot; but without a log nobody writes, and the file can be read as one that does not change.
pub(crate) fn open_read_only(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | NO_URI;
    match open_checked(path, flags) {
        Err(StoreError::Database { source, .. })
            if is_about_files(&source) && !has_log(path) && path.is_file() =>
        {
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            patiently(BUSY_TIMEOUT, || check_as(path, &unchanging(path), flags))
        }
        opened => opened,
    }
}

/// Whether a file could not be opened or made.
fn is_about_files(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::SystemIoFailure)
    )
}

/// Whether there is a log with something in it.
fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

/// The file as a URI that says that nobody changes it.
fn unchanging(path: &Path) -> PathBuf {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            // Writing to a String cannot fail.
            let _infallible = write!(uri, "%{byte:02X}");
        }
    }
    uri.push_str("?immutable=1");
    PathBuf::from(uri)
}

fn open_checked(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    patiently(BUSY_TIMEOUT, || check(path, flags))
}

fn check(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    if !path.try_exists().unwrap_or(true) {
        return Err(StoreError::Missing { path: path.into() });
    }
    check_as(path, path, flags)
}

/// The same of a file that is there; `name` is what `SQLite` is given for it.
fn check_as(path: &Path, name: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connection = connect_as(path, name, flags, BUSY_TIMEOUT)?;
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
    connect_as(path, path, flags, patience)
}

fn connect_as(
    path: &Path,
    name: &Path,
    flags: OpenFlags,
    patience: Duration,
) -> Result<Connection, StoreError> {
    if path.is_dir() {
        return Err(StoreError::NotARecord {
            path: path.into(),
            why: "it is a folder",
        });
    }
    let failed = |error| failed("open", path, error);
    let connection = Connection::open_with_flags(name, flags).map_err(failed)?;
    connection.busy_timeout(patience).map_err(failed)?;
    Ok(connection)
}

/// Refuses files that are not ours. With `may_be_new`, a file without any table is accepted, to become ours. Returns
/// whether it is such a new file.
fn check_owner(connection: &Connection, path: &Path, may_be_new: bool) -> Result<bool, StoreError> {
    let failed = |error| failed("open", path, error);
    // One transaction, because another process may be initializing the file.
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

/// Applies missing migrations in one transaction, so that of two processes that start at once only one applies them.
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
    if found > 0 {
        // Of millions of rows it takes most of a minute on a busy machine, and who waits wants to know for what.
        let path = path.display();
        tracing::warn!(%path, from = found, to = VERSION, "the store of an older version is brought up to date; a large one takes a while");
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

/// Converts an error of `SQLite` into one that a user can act on.
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
