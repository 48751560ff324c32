//! Reading records back from the spool, in order, from a position on.
//!
//! What cannot be read is logged, counted and skipped.

use super::frame::Frame;
use super::segment::{SegmentReader, Step};
use super::{Position, Spool};

/// The result of reading.
pub(in crate::write) enum Next<'a> {
    Record(Position, Frame<'a>),
    /// Everything on disk was read.
    End,
}

/// The read position.
pub(super) struct Cursor {
    pub(super) at: Position,
    pub(super) reader: Option<SegmentReader>,
}

impl Spool {
    /// Continues reading from here.
    pub(in crate::write) fn seek(&mut self, at: Position) {
        self.cursor = Cursor { at, reader: None };
    }

    /// The position where reading continues.
    pub(in crate::write) fn place(&self) -> Position {
        self.cursor.at
    }

    /// Reads the next record that is not acknowledged.
    pub(in crate::write) fn next(&mut self) -> Next<'_> {
        loop {
            match self.find() {
                Ok(Found::Record) => break,
                Ok(Found::End) => return Next::End,
                Ok(Found::Again) => {}
                Err(error) => {
                    let number = self.cursor.at.segment;
                    tracing::error!(%error, segment = number, "a segment of the spool cannot be read and is skipped");
                    self.damaged += 1;
                    self.abandon(number);
                }
            }
        }
        // Taken from the reader's buffer again, because the borrow checker does not let the loop return it.
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
            tracing::warn!(path = %segment.path.display(), "a file in the spool is not a segment, or its beginning is torn; it is skipped");
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
                // At the end of a file, a killed process left a partial write; elsewhere the disk is damaged.
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

    /// Sets a segment aside that cannot be read.
    fn abandon(&mut self, number: u32) {
        if let Some(segment) = self.segments.remove(&number) {
            // Kept for inspection, under a name that is not read again.
            let aside = segment.path.with_extension("damaged");
            if let Err(error) = std::fs::rename(&segment.path, &aside) {
                tracing::warn!(%error, path = %segment.path.display(), "a damaged file cannot be set aside");
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
}

enum Found {
    Record,
    Again,
    End,
}
