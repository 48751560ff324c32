//! Checks that an open store is still the file at its path.
//!
//! Writes to a file that was deleted, replaced, emptied or set back to an older copy succeed without an error, and so
//! do writes to a log (`-wal`, `-shm`) that was deleted. So the writer checks before and after each write, and four
//! times a second while there is nothing to write. If the store is lost ([`Loss`]), the writer closes it without
//! damaging the file that is at the path now ([`Guard::give_up`]), and opens that file.
//!
//! It checks by path and never opens a descriptor. Closing *any* descriptor of a file releases all POSIX locks of the
//! process on that file, including `SQLite`'s. The next `sqlite3` in a shell would then find the store unlocked, and
//! delete the log that we still use.

use std::fmt;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _};

use super::open_read_only;

/// The size of the header: a smaller file is not a database.
const SMALLEST_FILE: u64 = 100;

/// How an open store was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The file no longer exists.
    Gone,
    /// Another file is at the path.
    Replaced,
    /// The file was emptied.
    Emptied,
    /// The file was written to without `SQLite`.
    Overwritten,
    /// It no longer contains the counts that were last written.
    SetBack,
    /// A file of the log no longer exists.
    LogGone,
    /// A file of the log was replaced: other processes write to a log that we do not see.
    LogReplaced,
    /// The database is corrupt.
    Damaged,
    /// A table of the record was dropped.
    TableGone,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gone => "the file was deleted or moved away; what it held went with it",
            Self::Replaced => "another file was put in its place",
            Self::Emptied => "the file was emptied; what it held is gone",
            Self::Overwritten => "the file was overwritten while it was in use",
            Self::SetBack => "it was set back to an earlier state",
            Self::LogGone => "its log (-wal or -shm) was deleted",
            Self::LogReplaced => "its log (-wal or -shm) was replaced",
            Self::Damaged => "the file is damaged",
            Self::TableGone => "a table of the record was dropped; what it held went with it",
        })
    }
}

/// Why a store cannot be written to.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It is lost, and must be opened again.
    Lost(Loss),
    /// Its files cannot be examined.
    Hidden(std::io::Error),
    /// An error of the database.
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Lost(Loss::Damaged),
            // This error has no code of its own.
            _ if error.to_string().contains("no such table") => Self::Lost(Loss::TableGone),
            _ => Self::Database(error),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(loss) => loss.fmt(f),
            Self::Hidden(error) => write!(f, "it cannot be looked at: {error}"),
            Self::Database(error) => error.fmt(f),
        }
    }
}

/// Identifies a file. An inode number is not reused while we have the file open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// The file at a path, if there is one.
    pub(crate) fn at(path: &Path) -> Result<Option<Self>, Fault> {
        Ok(look(path)?.as_ref().map(Self::of))
    }
}

/// Size and modification time of a file.
type State = (u64, i64, i64);

fn state(metadata: &Metadata) -> State {
    (metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

fn look(path: &Path) -> Result<Option<Metadata>, Fault> {
    match path.metadata() {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Fault::Hidden(error)),
    }
}

/// A tally that the store is known to have: its id and revision.
pub(crate) type Known = (String, u32);

/// The last observed state of an open store.
#[derive(Debug)]
pub(crate) struct Guard {
    path: PathBuf,
    log_path: PathBuf,
    index_path: PathBuf,
    file: FileId,
    log: FileId,
    index: FileId,
    state: State,
    bytes: u64,
    /// Changes when another connection has committed.
    data_version: i64,
    /// A tally of the last write. It must exist unless the store was set back.
    known: Option<Known>,
}

impl Guard {
    /// Records the files of a store that was just opened for writing; `before` is the file at the path before opening.
    pub(crate) fn of(
        connection: &Connection,
        path: &Path,
        before: Option<FileId>,
    ) -> Result<Self, Fault> {
        // The real path, because the log is beside the file and not beside a link to it.
        let file_path = path.canonicalize().map_err(Fault::Hidden)?;
        let beside = |suffix: &str| {
            let mut name = file_path.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        let (log_path, index_path) = (beside("-wal"), beside("-shm"));
        let data_version = data_version(connection)?;
        let found = look(path)?.ok_or(Fault::Lost(Loss::Gone))?;
        let file = FileId::of(&found);
        if before.is_some_and(|before| before != file) {
            return Err(Fault::Lost(Loss::Replaced));
        }
        let log = look(&log_path)?.ok_or(Fault::Lost(Loss::LogGone))?;
        let index = FileId::at(&index_path)?.ok_or(Fault::Lost(Loss::LogGone))?;
        Ok(Self {
            path: path.to_owned(),
            state: state(&found),
            bytes: found.len() + log.len(),
            file,
            log: FileId::of(&log),
            index,
            log_path,
            index_path,
            data_version,
            known: None,
        })
    }

    /// Bytes on disk at the last check, including the log.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Checks that the store is still the one that was opened, and contains what was written to it. Called before each
    /// write, and regularly without one.
    pub(crate) fn check(&mut self, connection: &Connection) -> Result<(), Fault> {
        let found = self.look_at_files()?;
        let data_version = data_version(connection)?;
        let others_wrote = data_version != self.data_version;
        let changed = found != self.state;
        self.data_version = data_version;
        self.state = found;
        if others_wrote && super::lacks_tables(connection)? {
            return Err(Fault::Lost(Loss::TableGone));
        }
        if others_wrote && !self.has_known(connection)? {
            return Err(Fault::Lost(Loss::SetBack));
        }
        // Between two of our writes the file changes only when another connection writes and checkpoints the log. If it
        // changed without a commit, it was overwritten directly, for example by `cp backup.db parity.db`.
        if changed && !others_wrote && !self.reads_well() {
            return Err(Fault::Lost(Loss::Overwritten));
        }
        Ok(())
    }

    /// Checks after a write that it went to the file at the path.
    pub(crate) fn wrote(
        &mut self,
        connection: &Connection,
        known: Option<Known>,
    ) -> Result<(), Fault> {
        self.state = self.look_at_files()?;
        self.data_version = data_version(connection)?;
        if known.is_some() {
            self.known = known;
        }
        Ok(())
    }

    fn look_at_files(&mut self) -> Result<State, Fault> {
        let lost = |loss| Err(Fault::Lost(loss));
        let Some(found) = look(&self.path)? else {
            return lost(Loss::Gone);
        };
        if FileId::of(&found) != self.file {
            return lost(Loss::Replaced);
        }
        if found.len() < SMALLEST_FILE {
            return lost(Loss::Emptied);
        }
        let (log, index) = (look(&self.log_path)?, FileId::at(&self.index_path)?);
        let (Some(log), Some(index)) = (log, index) else {
            return lost(Loss::LogGone);
        };
        if FileId::of(&log) != self.log || index != self.index {
            return lost(Loss::LogReplaced);
        }
        self.bytes = found.len() + log.len();
        Ok(state(&found))
    }

    fn has_known(&self, connection: &Connection) -> Result<bool, Fault> {
        let Some((id, revision)) = &self.known else {
            return Ok(true);
        };
        let found: Option<u32> = connection
            .prepare_cached("SELECT revision FROM tallies WHERE id = ?1")?
            .query_row([id], |row| row.get(0))
            .optional()?;
        Ok(found.is_some_and(|found| found >= *revision))
    }

    /// Whether a new connection, which has no cached pages, finds an intact database with the last counts in it. Reads
    /// the whole file, so only for rare cases.
    fn reads_well(&self) -> bool {
        let read = || -> Result<bool, Fault> {
            let fresh = open_read_only(&self.path).map_err(|_| Fault::Lost(Loss::Damaged))?;
            let verdict: String = fresh.query_row("PRAGMA quick_check(1)", (), |row| row.get(0))?;
            Ok(verdict == "ok" && self.has_known(&fresh)?)
        };
        read().unwrap_or(false)
    }

    /// Closes a lost store so that nothing of it gets into the file that is at the path now.
    pub(crate) fn give_up(self, connection: Connection, loss: Loss) {
        let ours = |path: &Path, id: FileId| FileId::at(path).is_ok_and(|found| found == Some(id));
        let (log_there, index_there) = (
            ours(&self.log_path, self.log),
            ours(&self.index_path, self.index),
        );
        if matches!(loss, Loss::Gone | Loss::Replaced | Loss::LogGone) {
            // Checkpoint the log into the file: a file that was moved is then complete at its new place, and one whose
            // log was deleted gets the rows that were only in the log. This is safe, because no other process has begun
            // another log.
            let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
            if let Err(error) = copied {
                tracing::debug!(%error, "the log could not be copied into the file");
            }
        }
        // By default, the last connection to close checkpoints the log and deletes it by its name. Both files may
        // belong to another process now.
        let closed = connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .and_then(|_| connection.close().map_err(|(_, error)| error));
        if let Err(error) = closed {
            tracing::debug!(%error, "the lost store could not be closed");
        }
        // Our log would be mistaken for the log of the new file, and an index is useless without its log.
        let content_gone = matches!(
            loss,
            Loss::Gone | Loss::Replaced | Loss::Emptied | Loss::Overwritten
        );
        if content_gone && log_there {
            remove(&self.log_path);
        }
        if index_there && (content_gone || loss == Loss::LogGone) {
            remove(&self.index_path);
        }
    }
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != ErrorKind::NotFound
    {
        tracing::warn!(%error, path = %path.display(), "a left-over of the lost store cannot be removed");
    }
}

fn data_version(connection: &Connection) -> Result<i64, Fault> {
    Ok(connection
        .prepare_cached("PRAGMA data_version")?
        .query_row((), |row| row.get(0))?)
}
