//! One file of the spool, and which of its records are acknowledged.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::frame::{self, Frame, FrameHeader, HEADER_BYTES};

/// The first bytes of a segment: identify the program and the format version.
pub(super) const MAGIC: &[u8; 8] = b"prtyspl1";

/// The state of one file.
pub(super) struct Segment {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// How many records it holds; unknown for a file of an earlier process until it was read to its end.
    pub(super) count: Option<u32>,
    acknowledged: Vec<u64>,
    acknowledged_count: u32,
}

impl Segment {
    /// A file of an earlier process.
    pub(super) fn found(path: PathBuf, bytes: u64) -> Self {
        Self {
            path,
            bytes,
            count: None,
            acknowledged: Vec::new(),
            acknowledged_count: 0,
        }
    }

    /// A new file, open for appending.
    pub(super) fn create(path: PathBuf) -> std::io::Result<(Self, File)> {
        let mut file = OpenOptions::new()
            .append(true)
            .create_new(true)
            // Records contain bodies, so only the owner may read them, as for the SQLite file.
            .mode(0o600)
            .open(&path)?;
        if let Err(error) = file.write_all(MAGIC) {
            drop(file);
            // Nobody needs an empty file; if it cannot be removed, it reads as a file without records.
            let _left = std::fs::remove_file(&path);
            return Err(error);
        }
        let mut segment = Self::found(path, MAGIC.len() as u64);
        segment.count = Some(0);
        Ok((segment, file))
    }

    pub(super) fn acknowledge(&mut self, index: u32) {
        let (word, bit) = (index as usize / 64, index % 64);
        if self.acknowledged.len() <= word {
            self.acknowledged.resize(word + 1, 0);
        }
        if self.acknowledged[word] & (1 << bit) == 0 {
            self.acknowledged[word] |= 1 << bit;
            self.acknowledged_count += 1;
        }
    }

    pub(super) fn is_acknowledged(&self, index: u32) -> bool {
        self.acknowledged
            .get(index as usize / 64)
            .is_some_and(|word| word & (1 << (index % 64)) != 0)
    }

    /// Whether the file may be deleted.
    pub(super) fn is_done(&self) -> bool {
        self.count == Some(self.acknowledged_count)
    }

    /// Records that wait, as far as they are known.
    pub(super) fn waiting(&self) -> u64 {
        u64::from(
            self.count
                .unwrap_or(0)
                .saturating_sub(self.acknowledged_count),
        )
    }

    /// About the bytes of the records that wait: their share of the file. Of a file that was not read yet, all.
    pub(super) fn waiting_bytes(&self) -> u64 {
        match self.count.map(u64::from) {
            None => self.bytes,
            Some(count) => (u128::from(self.bytes) * u128::from(self.waiting()))
                .checked_div(count.into())
                .map_or(0, |bytes| u64::try_from(bytes).unwrap_or(self.bytes)),
        }
    }
}

/// Reads one file from its beginning.
pub(super) struct SegmentReader {
    file: BufReader<File>,
    body: Vec<u8>,
    checksum: u32,
    /// The index of the record that comes next.
    pub(super) index: u32,
    /// The offset of the next record.
    at: u64,
}

/// The result of reading one record.
pub(super) enum Step {
    /// A record with this index; [`SegmentReader::last`] has it.
    Record(u32),
    /// A record with a wrong checksum; the next one can be read.
    Damaged(u32),
    /// Nothing more for now.
    End,
    /// The rest of the file cannot be split into records.
    Lost { bytes: u64 },
}

impl SegmentReader {
    pub(super) fn open(path: &Path) -> std::io::Result<Option<Self>> {
        let mut file = File::open(path)?;
        let mut magic = [0; MAGIC.len()];
        match file.read_exact(&mut magic) {
            Ok(()) if magic == *MAGIC => Ok(Some(Self {
                file: BufReader::with_capacity(256 << 10, file),
                body: Vec::new(),
                checksum: 0,
                index: 0,
                at: MAGIC.len() as u64,
            })),
            Ok(()) => Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The next record of a file that holds `bytes` now.
    pub(super) fn step(&mut self, bytes: u64) -> std::io::Result<Step> {
        let left = bytes.saturating_sub(self.at);
        if left == 0 {
            return Ok(Step::End);
        }
        if left < HEADER_BYTES as u64 {
            return Ok(Step::Lost { bytes: left });
        }
        let mut first = [0; HEADER_BYTES];
        self.read(&mut first)?;
        let FrameHeader::Body { length, checksum } = frame::header(first) else {
            return Ok(Step::Lost { bytes: left });
        };
        if ((HEADER_BYTES + length) as u64) > left {
            return Ok(Step::Lost { bytes: left });
        }
        let mut body = std::mem::take(&mut self.body);
        body.resize(length, 0);
        let read = self.read(&mut body);
        self.body = body;
        read?;
        self.at += (HEADER_BYTES + length) as u64;
        let index = self.index;
        self.index += 1;
        self.checksum = checksum;
        Ok(match frame::body(&self.body, checksum) {
            Some(_) => Step::Record(index),
            None => Step::Damaged(index),
        })
    }

    /// The record that the last step found.
    pub(super) fn last(&self) -> Option<(u32, Frame<'_>)> {
        let frame = frame::body(&self.body, self.checksum)?;
        Some((self.index.checked_sub(1)?, frame))
    }

    /// An error leaves the reader at the start of the frame, so that the read can be retried.
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<()> {
        let read = self.file.read_exact(to);
        if read.is_err() {
            self.file.seek(SeekFrom::Start(self.at))?;
        }
        read
    }
}
