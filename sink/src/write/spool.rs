//! Records on disk until a broker has acknowledged them.
//!
//! A folder with numbered files ("segments") to which records are appended, and which go when all of their records are
//! acknowledged. Every record is appended before it is sent, with one `write` a batch: what is in the operating
//! system's hands survives a killed process, and a file that is deleted within seconds mostly never reaches the disk.
//! While the broker keeps up, nothing is ever read back. When it does not, the cursor stays behind and records are read
//! in order, one at a time, whatever the backlog.
//!
//! A record that is damaged is told of and skipped; nothing that is found on disk ends the process.

mod folder;
pub(super) mod frame;
mod segment;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use self::folder::{claim, find_segments, hold, segment_path, take_over};
use self::frame::Frame;
use self::segment::{Segment, SegmentReader, Step};
use crate::error::StoreError;
use crate::store::SpoolConfig;

/// Size of a segment: small enough that space is given back soon, large enough that files are few.
const SEGMENT_BYTES: u64 = 8 << 20;
/// A small spool has at least this many segments, so that space is given back before all of it is acknowledged.
const MIN_SEGMENTS: u64 = 8;
/// The smallest segment.
const MIN_SEGMENT_BYTES: u64 = 16 << 10;
/// Held for as long as the process uses the folder.
const LOCK_FILE: &str = "lock";
/// A folder within, for a process that begins before its predecessor has ended.
const SUCCESSOR: &str = "successor";
/// The latest counts, when they could not be sent; replaced as a whole.
const TALLIES_FILE: &str = "tallies";

/// Where a record stands. Fits into what the Kafka client carries along with a record.
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
    /// The disk says no.
    Failed(std::io::Error),
}

/// What reading gave.
pub(super) enum Next<'a> {
    Record(Position, Frame<'a>),
    /// All that is on disk was read.
    End,
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
    /// Kept for the lock's sake; `None` while the folder cannot be used.
    lock: Option<File>,
}

/// What is to be read next.
struct Cursor {
    at: Position,
    reader: Option<SegmentReader>,
}

impl Spool {
    /// Takes hold of the folder and finds what an earlier process left in it.
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

    /// A spool whose folder cannot be used for now: nothing is in it, and nothing can be put there.
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

    /// Whether there is a folder to put records in.
    pub(super) fn has_folder(&self) -> bool {
        self.lock.is_some()
    }

    /// Appends encoded frames, `count` of them, all or none. Gives the place of the first; the others follow it.
    pub(super) fn append(&mut self, frames: &[u8], count: u32) -> Result<Position, AppendError> {
        self.needs_folder().map_err(AppendError::Failed)?;
        if self.bytes() + frames.len() as u64 > self.max_bytes {
            return Err(AppendError::Full);
        }
        let full = self.active.as_ref().is_none_or(|(number, _)| {
            self.segments
                .get(number)
                .is_none_or(|segment| segment.bytes >= self.segment_bytes)
        });
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
            // What was written of it must not stand before what comes next.
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

    /// Reads on from here.
    pub(super) fn seek(&mut self, at: Position) {
        self.cursor = Cursor { at, reader: None };
    }

    /// Where reading goes on.
    pub(super) fn place(&self) -> Position {
        self.cursor.at
    }

    /// The next record that is not acknowledged.
    pub(super) fn next(&mut self) -> Next<'_> {
        loop {
            match self.find() {
                Ok(Found::Record) => break,
                Ok(Found::End) => return Next::End,
                Ok(Found::Again) => {}
                Err(error) => {
                    let number = self.cursor.at.segment;
                    tracing::error!(%error, segment = number, "a part of the spool cannot be read and is left out");
                    self.damaged += 1;
                    self.abandon(number);
                }
            }
        }
        // Read once more out of the reader's own memory: a loop cannot give away what it borrows.
        let found = self.cursor.reader.as_ref().and_then(SegmentReader::last);
        match found {
            Some((index, frame)) => Next::Record(
                Position {
                    segment: self.cursor.at.segment,
                    index,
                },
                frame,
            ),
            None => Next::End,
        }
    }

    /// Moves to the next record that is not acknowledged.
    fn find(&mut self) -> std::io::Result<Found> {
        let at = self.cursor.at;
        let Some((&number, segment)) = self.segments.range_mut(at.segment..).next() else {
            return Ok(Found::End);
        };
        if number != at.segment {
            self.seek(Position {
                segment: number,
                index: 0,
            });
            return Ok(Found::Again);
        }
        if self.cursor.reader.is_none() {
            self.cursor.reader = SegmentReader::open(&segment.path)?;
        }
        let Some(reader) = &mut self.cursor.reader else {
            tracing::warn!(path = %segment.path.display(), "a file in the spool is none of ours, or was torn at its begin; it is left out");
            self.damaged += 1;
            self.abandon(number);
            return Ok(Found::Again);
        };
        match reader.step(segment.bytes)? {
            Step::Record(index) => {
                self.cursor.at.index = index + 1;
                Ok(if index < at.index || segment.is_acknowledged(index) {
                    Found::Again
                } else {
                    Found::Record
                })
            }
            Step::Damaged(index) => {
                self.damaged += 1;
                segment.acknowledge(index);
                tracing::error!(path = %segment.path.display(), index, "a record in the spool is damaged and lost");
                Ok(Found::Again)
            }
            Step::Lost { bytes } => {
                // The end of what a killed process was writing; anywhere else it is a damaged disk.
                self.damaged += 1;
                tracing::warn!(path = %segment.path.display(), bytes, "the end of a file in the spool is torn; what it held is lost");
                segment.bytes -= bytes;
                Ok(Found::Again)
            }
            Step::End => {
                segment.count.get_or_insert(reader.index);
                let is_last = self.segments.range(number + 1..).next().is_none();
                if !is_last {
                    self.seek(Position {
                        segment: number + 1,
                        index: 0,
                    });
                }
                self.give_back();
                Ok(if is_last { Found::End } else { Found::Again })
            }
        }
    }

    /// A record has reached the broker, or will never do so.
    pub(super) fn acknowledge(&mut self, at: Position) {
        let Some(segment) = self.segments.get_mut(&at.segment) else {
            return;
        };
        segment.acknowledge(at.index);
        if segment.is_done() {
            self.give_back();
        }
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        self.segments.values().map(|segment| segment.bytes).sum()
    }

    /// Records that wait, as far as they have been counted.
    pub(super) fn waiting(&self) -> u64 {
        self.segments.values().map(Segment::waiting).sum()
    }

    /// Records or ends of files that were damaged, since the start.
    pub(super) fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.segments.values().all(Segment::is_done)
    }

    /// The first record that may not be acknowledged.
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

    /// Forces what was appended to the disk.
    pub(super) fn sync(&self) -> std::io::Result<()> {
        self.active
            .as_ref()
            .map_or(Ok(()), |(_, file)| file.sync_data())
    }

    /// Replaces the counts that could not be sent; nothing removes them.
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

    /// Makes the counts that an earlier process could not send a segment like any other.
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

    /// Deletes the segments that nobody needs any more.
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

    /// A segment that cannot be read holds nothing for us any more.
    fn abandon(&mut self, number: u32) {
        if let Some(segment) = self.segments.remove(&number) {
            // Kept for whoever wants to look, under a name that is not read again.
            let aside = segment.path.with_extension("damaged");
            if let Err(error) = std::fs::rename(&segment.path, &aside) {
                tracing::warn!(%error, path = %segment.path.display(), "a damaged file cannot be put aside");
            }
        }
        if self
            .active
            .as_ref()
            .is_some_and(|(active, _)| *active == number)
        {
            self.active = None;
        }
        self.seek(Position {
            segment: number.saturating_add(1),
            index: 0,
        });
    }

    fn remove(&mut self, number: u32) {
        if self
            .active
            .as_ref()
            .is_some_and(|(active, _)| *active == number)
        {
            // A number is never used twice: a late acknowledgement must not meet another record.
            self.active = None;
        }
        let Some(segment) = self.segments.remove(&number) else {
            return;
        };
        match std::fs::remove_file(&segment.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                // Its records are sent again after the next start, and are one with themselves by their id.
                tracing::warn!(%error, path = %segment.path.display(), "a file of the spool cannot be deleted");
            }
            _ => {}
        }
    }
}

enum Found {
    Record,
    Again,
    End,
}

#[cfg(test)]
mod tests;
