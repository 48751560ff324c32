//! Whether an open store is still the one that its path names.
//!
//! A file that was deleted, replaced, emptied or set back takes what is written to it without a word, and so does a log
//! (`-wal`, `-shm`) that is no longer there. So the writer looks before and after each write, and four times a second
//! while there is nothing to write. What it finds is a [`Loss`]: the file is given up in a way that harms nobody else's
//! ([`Guard::give_up`]), and the writer opens whatever is at the path then.
//!
//! It looks by path and never by a descriptor. Closing *any* descriptor of a file takes away all POSIX locks that the
//! process has on that file, so one of ours would take `SQLite`'s, and the next `sqlite3` at the shell would believe that
//! nobody uses the store and delete the log under us.

use std::fmt;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _};

use super::open_read_only;

/// A file with less than this (the header) is no database any more.
const SMALLEST_FILE: u64 = 100;

/// What became of a store while it was open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// No file is there any more.
    Gone,
    /// Another file is there.
    Replaced,
    /// It has no content any more.
    Emptied,
    /// Something that is not `SQLite` wrote into it.
    Overwritten,
    /// The last counts that were written are no longer in it.
    SetBack,
    /// A file of the log is gone.
    LogGone,
    /// A file of the log is another one: somebody else writes to a log that we do not see.
    LogReplaced,
    /// What is read from it makes no sense.
    Damaged,
    /// A table of the record is gone.
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

/// Why a store cannot be written to now.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It is to be opened anew.
    Lost(Loss),
    /// Nobody can say whether it is still there.
    Hidden(std::io::Error),
    /// What the database said.
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Lost(Loss::Damaged),
            // It has no number of its own.
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

/// Which file it is. A number is not given to another file while we hold this one open.
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

/// When it was last written to, and its size.
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

/// What was seen of an open store.
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
    /// Changes when somebody else has committed.
    data_version: i64,
    /// Of the last write: it must be there for as long as nobody sets the store back.
    known: Option<Known>,
}

impl Guard {
    /// Remembers the files of a store that was just opened for writing; `before` is what was at the path until then.
    pub(crate) fn of(
        connection: &Connection,
        path: &Path,
        before: Option<FileId>,
    ) -> Result<Self, Fault> {
        // Where the file is, not where a link to it is.
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

    /// Bytes on disk when last looked at, the log included.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Before a write, and now and then without one: whether the store is still the one that was opened, and has what
    /// was written to it.
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
        // Between two writes of ours the file changes when somebody else's write copies the log into it. Changed without
        // a write of anybody, it was written to past the database, for example by `cp backup.db parity.db`.
        if changed && !others_wrote && !self.reads_well() {
            return Err(Fault::Lost(Loss::Overwritten));
        }
        Ok(())
    }

    /// After a write: what was written is where the path leads to.
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

    /// Whether a connection that remembers no page finds a whole database with the last counts in it. Reads all of it,
    /// so it is for the rare case alone.
    fn reads_well(&self) -> bool {
        let read = || -> Result<bool, Fault> {
            let fresh = open_read_only(&self.path).map_err(|_| Fault::Lost(Loss::Damaged))?;
            let verdict: String = fresh.query_row("PRAGMA quick_check(1)", (), |row| row.get(0))?;
            Ok(verdict == "ok" && self.has_known(&fresh)?)
        };
        read().unwrap_or(false)
    }

    /// Closes a store that is lost, so that nothing of it gets into what is at the path now.
    pub(crate) fn give_up(self, connection: Connection, loss: Loss) {
        let ours = |path: &Path, id: FileId| FileId::at(path).is_ok_and(|found| found == Some(id));
        let (log_there, index_there) = (
            ours(&self.log_path, self.log),
            ours(&self.index_path, self.index),
        );
        if matches!(loss, Loss::Gone | Loss::Replaced | Loss::LogGone) {
            // A file that was moved is made whole where it is now. One whose log was deleted gets what stands only
            // there, and nobody else has begun another log.
            let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
            if let Err(error) = copied {
                tracing::debug!(%error, "the log could not be copied into the file");
            }
        }
        // The last one to close copies the log into the file and deletes it by its name: both may be somebody else's now.
        let closed = connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .and_then(|_| connection.close().map_err(|(_, error)| error));
        if let Err(error) = closed {
            tracing::debug!(%error, "the lost store could not be closed");
        }
        // A log of ours beside another file would be taken for that file's, and an index without its log would lead
        // nowhere.
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
