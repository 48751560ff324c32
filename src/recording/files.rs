//! The files of a recording: written in whole batches, rotated by size, few enough.
//!
//! A batch is some lines, or a whole frame of zstd. A process that is killed while it writes leaves at most one broken batch, at
//! the very end, and a write that fails is taken back. So whatever happens, all before it can be read. Every start begins a new file.
//!
//! Two processes may write one recording, as during a handover. Each locks the file that it writes to, and nobody removes a file that
//! is locked: it only gets another name, under which its writer goes on.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use parity_schemas::time::Timestamp;

use super::counts::Counts;
use crate::config::RecordingSettings;

/// Bytes of a batch: enough for zstd to find what repeats.
const BATCH: usize = 256 << 10;
/// How long a line waits for its batch: as much is lost at most when the process is killed.
const DELAY: Duration = Duration::from_secs(1);
/// Between two attempts after a failed one.
const AGAIN: Duration = Duration::from_secs(1);
/// How long another process may take to begin a file in the same folder, which it does in less than a millisecond …
const ALONE_WITHIN: Duration = Duration::from_secs(1);
/// … and how often it is looked.
const LOOK: Duration = Duration::from_millis(5);
/// The level of zstd: about a third of a core for all that a disk takes.
const LEVEL: i32 = 3;
/// Characters of the time in the name of a file that is full.
const STAMP: usize = "20261124T030000000000Z".len();

/// The files, and what is not in them yet.
pub(super) struct Files {
    name: Name,
    is_packed: bool,
    size: u64,
    kept: usize,
    counts: Arc<Counts>,
    open: Option<Open>,
    batch: Vec<u8>,
    lines: u64,
    /// When the first line of the batch came.
    since: Instant,
    /// After a failure: when to try again.
    again: Option<Instant>,
}

/// The file that is written to.
struct Open {
    file: File,
    written: u64,
}

impl Files {
    /// Opens the first one. What no waiting can mend is an error.
    pub(super) fn open(settings: &RecordingSettings, counts: &Arc<Counts>) -> Result<Self> {
        let path = &settings.file;
        let mut files = Self {
            name: Name::of(path).with_context(|| {
                format!("the recording {} is not the name of a file", path.display())
            })?,
            is_packed: path.extension().is_some_and(|extension| extension == "zst"),
            size: settings.file_size,
            kept: settings.files.get(),
            counts: Arc::clone(counts),
            open: None,
            batch: Vec::new(),
            lines: 0,
            since: Instant::now(),
            again: None,
        };
        match files.begin() {
            Ok(()) => {}
            Err(error) if is_lasting(&error) => {
                bail!(
                    "cannot write the recording {}: {error}; name a file in a folder that is there and may be written to",
                    path.display()
                );
            }
            Err(error) => files.failed(&error),
        }
        Ok(files)
    }

    /// Adds a line.
    pub(super) fn push(&mut self, line: &[u8]) {
        if self.again.is_some() && self.batch.len() >= BATCH {
            self.counts.dropped.disk.inc();
            return;
        }
        if self.batch.is_empty() {
            self.since = Instant::now();
        }
        self.batch.extend_from_slice(line);
        self.lines += 1;
        if self.batch.len() >= BATCH && self.again.is_none() {
            self.write();
        }
    }

    /// Writes what has waited for long enough.
    pub(super) fn look(&mut self, now: Instant) {
        let is_due = match self.again {
            Some(again) => now >= again,
            None => !self.batch.is_empty() && now >= self.since + DELAY,
        };
        if is_due {
            self.write();
        }
    }

    /// Writes the rest.
    pub(super) fn finish(&mut self) {
        self.write();
        self.counts.dropped.disk.inc_by(self.lines);
        self.lines = 0;
    }

    fn write(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        let written = self.try_write(&batch);
        if written.is_ok() {
            self.counts.written.inc_by(self.lines);
            self.lines = 0;
            batch.clear();
        }
        // One that could not be written stays.
        self.batch = batch;
        match written {
            Ok(()) => {
                self.again = None;
                self.counts.fail(None);
            }
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&mut self, error: &io::Error) {
        self.again = Some(Instant::now() + AGAIN);
        self.counts.fail(Some(error.to_string()));
    }

    /// Writes a batch whole, or nothing of it.
    fn try_write(&mut self, batch: &[u8]) -> io::Result<()> {
        if batch.is_empty() {
            return match self.open {
                Some(_) => Ok(()),
                None => self.begin(),
            };
        }
        let packed = self
            .is_packed
            .then(|| zstd::bulk::compress(batch, LEVEL))
            .transpose()?;
        let bytes = packed.as_deref().unwrap_or(batch);
        let length = bytes.len() as u64;
        let is_full = |open: &Open| open.written > 0 && open.written + length > self.size;
        if self.open.as_ref().is_none_or(is_full) {
            self.open = None;
            self.begin()?;
        }
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        if let Err(error) = open.file.write_all(bytes) {
            // A part of a batch would make what comes after it unreadable.
            let whole = SeekFrom::Start(open.written);
            let taken_back = open.file.set_len(open.written);
            if taken_back.and_then(|()| open.file.seek(whole)).is_err() {
                self.open = None;
            }
            return Err(error);
        }
        open.written += length;
        self.counts.bytes.inc_by(length);
        Ok(())
    }

    /// Begins a file under the name of the recording. One that has the name gets another, by when it was last written to.
    fn begin(&mut self) -> io::Result<()> {
        let path = &self.name.path;
        // Between the look at a name and what is done to it, no other writer does anything.
        let _alone = alone_in(&self.name.folder)?;
        match std::fs::symlink_metadata(path) {
            Ok(metadata) if !metadata.is_file() => {
                let message = "there is something of this name that is no file";
                return Err(io::Error::new(ErrorKind::InvalidInput, message));
            }
            Ok(_) if left_behind(path).is_some_and(|length| length == 0) => {
                std::fs::remove_file(path)?;
            }
            Ok(metadata) => {
                let modified = metadata.mtime() * 1_000_000 + metadata.mtime_nsec() / 1_000;
                std::fs::rename(path, self.name.free(Timestamp::from_micros(modified)))?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        // A file system without locks has none of others either.
        let _unsupported = file.try_lock();
        self.open = Some(Open { file, written: 0 });
        self.prune();
        Ok(())
    }

    /// Removes the oldest files beyond those that are kept.
    fn prune(&self) {
        let full = self.name.full();
        let kept = self.kept.saturating_sub(1);
        for file in full.iter().take(full.len().saturating_sub(kept)) {
            if left_behind(file).is_none() {
                continue;
            }
            if let Err(error) = std::fs::remove_file(file) {
                tracing::warn!(file = %file.display(), %error, "an old file of the recording cannot be removed");
            }
        }
    }
}

/// Waits until no other process begins a file in the folder. It is so for as long as the file that is returned is open; `None`
/// where folders cannot be locked.
fn alone_in(folder: &Path) -> io::Result<Option<File>> {
    let Ok(folder) = File::open(folder) else {
        return Ok(None);
    };
    let until = Instant::now() + ALONE_WITHIN;
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(Some(folder)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                let message = "another process holds a lock on the folder";
                return Err(io::Error::new(ErrorKind::WouldBlock, message));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK),
        }
    }
}

/// The length of a file that no process writes to any more; `None` if one does, or if nobody can tell.
fn left_behind(path: &Path) -> Option<u64> {
    let file = File::open(path).ok()?;
    file.try_lock().ok()?;
    Some(file.metadata().ok()?.len())
}

/// Whether an error of the start would be there the next time, too.
fn is_lasting(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::PermissionDenied
            | ErrorKind::InvalidInput
            | ErrorKind::NotADirectory
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::InvalidFilename
    )
}

/// The name of the recording, and those of its full files: `live.ndjson`, `live.20261124T030000000000Z.ndjson`. So a list by
/// name is a list by age, with the newest last.
struct Name {
    path: PathBuf,
    folder: PathBuf,
    begin: String,
    end: String,
}

impl Name {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let dot = name.char_indices().skip(1).find(|(_, one)| *one == '.');
        let (begin, end) = name.split_at_checked(dot.map_or(name.len(), |(at, _)| at))?;
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        Some(Self {
            path: path.to_owned(),
            folder: folder.unwrap_or(Path::new(".")).to_owned(),
            begin: begin.to_owned(),
            end: end.to_owned(),
        })
    }

    /// A name for a file of this time that no file has.
    fn free(&self, mut time: Timestamp) -> PathBuf {
        loop {
            let stamp = stamp(time);
            let path = self
                .folder
                .join(format!("{}.{stamp}{}", self.begin, self.end));
            if path.symlink_metadata().is_err() {
                return path;
            }
            time = time.saturating_add_micros(1);
        }
    }

    /// The full files, the oldest first.
    fn full(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let mut full: Vec<PathBuf> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let name = entry.file_name();
                let rest = name
                    .to_str()?
                    .strip_prefix(&*self.begin)?
                    .strip_prefix('.')?;
                is_stamp(rest.strip_suffix(&*self.end)?).then(|| entry.path())
            })
            .collect();
        full.sort();
        full
    }
}

/// A time as the name of a file has it.
fn stamp(time: Timestamp) -> String {
    let text = time.to_string();
    text.chars().filter(|one| !"-:.".contains(*one)).collect()
}

fn is_stamp(text: &str) -> bool {
    let is_there = |at: usize, wanted: u8| text.as_bytes().get(at) == Some(&wanted);
    text.len() == STAMP
        && is_there(8, b'T')
        && is_there(STAMP - 1, b'Z')
        && text.bytes().filter(u8::is_ascii_digit).count() == STAMP - 2
}
