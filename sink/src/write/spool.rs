//! Records on disk until a broker has acknowledged them.
//!
//! A folder with numbered files ("segments"). Records are appended to the last one, and a segment is deleted when all
//! of its records are acknowledged. Every record is appended before it is sent, with one `write` per batch. Data in the
//! page cache survives a killed process, and a file that is deleted within seconds mostly never reaches the disk. While
//! the broker keeps up, nothing is read back. When it does not, records are read back in order, one at a time, so
//! memory does not grow with the backlog.
//!
//! A damaged record is logged and skipped: no content of the disk can end the process.

mod folder;
pub(super) mod frame;
mod reading;
mod segment;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use self::folder::{claim, find_segments, hold, segment_path, take_over};
use self::reading::Cursor;
pub(super) use self::reading::Next;
use self::segment::Segment;
use crate::error::StoreError;
use crate::store::SpoolConfig;

/// Size of a segment: small enough that space is given back soon, large enough that files are few.
const SEGMENT_BYTES: u64 = 8 << 20;
/// A small spool has at least this many segments, so that space is given back before all of it is acknowledged.
const MIN_SEGMENTS: u64 = 8;
/// The smallest segment.
const MIN_SEGMENT_BYTES: u64 = 16 << 10;
/// Locked while a process uses the folder.
const LOCK_FILE: &str = "lock";
/// A subfolder for a process that starts before its predecessor has ended.
const SUCCESSOR: &str = "successor";
/// The latest counts that could not be sent yet; replaced as a whole.
const TALLIES_FILE: &str = "tallies";

/// The position of a record. Small enough to pass through the Kafka client together with the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) segment: u32,
    pub(super) index: u32,
}

/// Why a batch could not be appended.
#[derive(Debug)]
pub(super) enum AppendError {
    /// The limit is reached.
    Full,
    /// The write failed.
    Failed(std::io::Error),
}

/// The spool of one process.
pub(super) struct Spool {
    folder: PathBuf,
    max_bytes: u64,
    segment_bytes: u64,
    segments: BTreeMap<u32, Segment>,
    /// The last segment, open for appending.
    active: Option<(u32, File)>,
    next_number: u32,
    cursor: Cursor,
    damaged: u64,
    /// Holds the lock; `None` while the folder cannot be used.
    lock: Option<File>,
}

impl Spool {
    /// Locks the folder and finds what an earlier process left in it.
    pub(super) fn open(config: &SpoolConfig, topic: &str) -> Result<Self, StoreError> {
        let within = config.folder.join(SUCCESSOR);
        let mut folder = config.folder.clone();
        let failed = |source: std::io::Error| StoreError::SpoolIo {
            folder: config.folder.clone(),
            source,
        };
        let mut held = hold(&folder).map_err(failed)?;
        if held.is_none() && config.succeeding {
            held = hold(&within).map_err(failed)?;
            folder = within;
        } else if held.is_some() {
            take_over(&within, &folder, topic)?;
        }
        let Some(lock) = held else {
            return Err(StoreError::Spool {
                folder,
                why: "another process uses it; give each mirror a folder of its own with --spool"
                    .to_owned(),
            });
        };
        let segments = find_segments(&folder).map_err(failed)?;
        let left_behind = !segments.is_empty() || folder.join(TALLIES_FILE).exists();
        claim(&folder, topic, left_behind)?;
        let next_number = segments
            .keys()
            .next_back()
            .map_or(0, |last| last.wrapping_add(1));
        let first = segments.keys().next().copied().unwrap_or(next_number);
        let mut spool = Self {
            folder,
            segments,
            next_number,
            lock: Some(lock),
            ..Self::without_folder(config)
        };
        spool.seek(Position {
            segment: first,
            index: 0,
        });
        spool.adopt_tallies().map_err(failed)?;
        Ok(spool)
    }

    /// An empty spool whose folder cannot be used for now: nothing can be appended.
    pub(super) fn without_folder(config: &SpoolConfig) -> Self {
        Self {
            folder: config.folder.clone(),
            max_bytes: config.max_bytes,
            segment_bytes: SEGMENT_BYTES
                .min(config.max_bytes / MIN_SEGMENTS)
                .max(MIN_SEGMENT_BYTES),
            segments: BTreeMap::new(),
            active: None,
            next_number: 0,
            cursor: Cursor {
                at: Position {
                    segment: 0,
                    index: 0,
                },
                reader: None,
            },
            damaged: 0,
            lock: None,
        }
    }

    /// Whether the folder can be used.
    pub(super) fn has_folder(&self) -> bool {
        self.lock.is_some()
    }

    /// Appends `count` encoded frames, all or none. Returns the position of the first; the others follow it.
    pub(super) fn append(&mut self, frames: &[u8], count: u32) -> Result<Position, AppendError> {
        self.needs_folder().map_err(AppendError::Failed)?;
        let full = self.active.as_ref().is_none_or(|(number, _)| {
            self.segments
                .get(number)
                .is_none_or(|segment| segment.bytes >= self.segment_bytes)
        });
        // A new file's first bytes count, too: the limit is what the folder may take of the disk.
        let first_bytes = if full { segment::MAGIC.len() } else { 0 };
        if self.bytes() + (first_bytes + frames.len()) as u64 > self.max_bytes {
            return Err(AppendError::Full);
        }
        if full {
            self.begin_segment().map_err(AppendError::Failed)?;
        }
        let Some((number, file)) = &mut self.active else {
            return Err(AppendError::Full);
        };
        let segment = self
            .segments
            .get_mut(number)
            .expect("the active segment is in the map");
        if let Err(error) = file.write_all(frames) {
            // Remove a partial write, so that the next record does not follow it.
            let cut = file.set_len(segment.bytes);
            if cut.is_err() {
                self.active = None;
            }
            return Err(AppendError::Failed(error));
        }
        segment.bytes += frames.len() as u64;
        let index = segment.count.unwrap_or(0);
        segment.count = Some(index + count);
        Ok(Position {
            segment: *number,
            index,
        })
    }

    /// The broker has acknowledged the record, or refused it for good.
    pub(super) fn acknowledge(&mut self, at: Position) {
        let Some(segment) = self.segments.get_mut(&at.segment) else {
            return;
        };
        segment.acknowledge(at.index);
        if segment.is_done() {
            self.give_back();
        }
    }

    /// Bytes on disk. A file of records that have arrived is there until its last one has.
    pub(super) fn bytes(&self) -> u64 {
        self.segments.values().map(|segment| segment.bytes).sum()
    }

    /// Records that wait. Segments of an earlier process count only once they have been read.
    pub(super) fn waiting(&self) -> u64 {
        self.segments.values().map(Segment::waiting).sum()
    }

    /// About the bytes of the records that wait: what a backlog is told as. Under steady traffic some record is always under
    /// way, and its file is kept: bytes on disk would tell a backlog where there is none.
    pub(super) fn waiting_bytes(&self) -> u64 {
        self.segments.values().map(Segment::waiting_bytes).sum()
    }

    /// Damaged records and torn ends of files since the start.
    pub(super) fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.segments.values().all(Segment::is_done)
    }

    /// The first position that may not be acknowledged yet.
    pub(super) fn first(&self) -> Position {
        Position {
            segment: self
                .segments
                .keys()
                .next()
                .copied()
                .unwrap_or(self.next_number),
            index: 0,
        }
    }

    /// Flushes appended records to the disk (fsync).
    pub(super) fn sync(&self) -> std::io::Result<()> {
        self.active
            .as_ref()
            .map_or(Ok(()), |(_, file)| file.sync_data())
    }

    /// Replaces the file of unsent counts; without frames, removes it.
    pub(super) fn keep_tallies(&self, frames: &[u8]) -> std::io::Result<()> {
        self.needs_folder()?;
        let path = self.folder.join(TALLIES_FILE);
        if frames.is_empty() {
            return match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let new = path.with_extension("new");
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(segment::MAGIC)?;
        file.write_all(frames)?;
        drop(file);
        std::fs::rename(&new, &path)
    }

    /// Turns the file of unsent counts of an earlier process into a segment.
    fn adopt_tallies(&mut self) -> std::io::Result<()> {
        let path = self.folder.join(TALLIES_FILE);
        if !path.exists() {
            return Ok(());
        }
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        let adopted = segment_path(&self.folder, number);
        std::fs::rename(&path, &adopted)?;
        let bytes = adopted.metadata()?.len();
        self.segments.insert(number, Segment::found(adopted, bytes));
        Ok(())
    }

    fn needs_folder(&self) -> std::io::Result<()> {
        if self.has_folder() {
            Ok(())
        } else {
            Err(std::io::Error::other("its folder cannot be used"))
        }
    }

    fn begin_segment(&mut self) -> std::io::Result<()> {
        self.active = None;
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        let (segment, file) = Segment::create(segment_path(&self.folder, number))?;
        self.segments.insert(number, segment);
        self.active = Some((number, file));
        Ok(())
    }

    /// Deletes the segments whose records are all acknowledged.
    fn give_back(&mut self) {
        let done: Vec<u32> = self
            .segments
            .iter()
            .filter(|(_, segment)| segment.is_done())
            .map(|(number, _)| *number)
            .collect();
        for number in done {
            self.remove(number);
        }
    }

    fn remove(&mut self, number: u32) {
        if self
            .active
            .as_ref()
            .is_some_and(|(active, _)| *active == number)
        {
            // A number is never used twice, so a late acknowledgement cannot apply to another record.
            self.active = None;
        }
        let Some(segment) = self.segments.remove(&number) else {
            return;
        };
        match std::fs::remove_file(&segment.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                // Its records are sent again after the next start; duplicates are removed by id.
                tracing::warn!(%error, path = %segment.path.display(), "a file of the spool cannot be deleted");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
