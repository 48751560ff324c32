//! Sending counts to a broker.
//!
//! The book offers its rows until they are acknowledged, and a later snapshot contains everything in an earlier one
//! that is not acknowledged. So at most one snapshot is under way. When it is not acknowledged soon, *all*
//! unacknowledged counts are written to one file beside the spool's segments, repeatedly, each time replacing the file.
//! The file is deleted when everything in it is acknowledged; after a crash it is sent like any segment. It is as large
//! as the counts of the present interval and the few before it, however long the broker is unavailable.
//!
//! Each snapshot includes its watermarks, at least once a second. A watermark lists the tallies that must exist, so it
//! may be delivered before them.

use std::time::{Duration, Instant};

use super::encoded::Encoded;
use super::producer::{Label, RecordProducer};
use crate::tally::{Snapshot, TallyBook};
use crate::write::spool::Spool;
use crate::write::worker::HEARTBEAT;

/// How long a snapshot may be under way before it is written to disk. Together with the batch interval and the tick of
/// the thread, a killed process loses less than half a second.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_millis(100);
/// A label has 30 bits for the attempt number.
const ATTEMPT_MASK: u32 = 0x3fff_ffff;

/// The state of the counts.
pub(super) struct Tallies {
    interval: Duration,
    next: Instant,
    next_heartbeat: Instant,
    attempt: u32,
    under_way: Option<UnderWay>,
    /// The file holds something.
    kept: bool,
    last_kept: Instant,
}

struct UnderWay {
    snapshot: Snapshot,
    /// Whether the broker has each row, by number.
    acknowledged: Vec<bool>,
    /// How many rows are counts; watermarks follow them.
    counts: usize,
    left: usize,
    failed: bool,
    since: Instant,
}

impl Tallies {
    pub(super) fn new(interval: Duration) -> Self {
        let now = Instant::now();
        Self {
            interval,
            next: now,
            next_heartbeat: now,
            attempt: 0,
            under_way: None,
            kept: false,
            last_kept: now,
        }
    }

    /// Sends what is due, and keeps what is not acknowledged.
    pub(super) fn turn(
        &mut self,
        book: &TallyBook,
        producer: &mut RecordProducer,
        spool: &Spool,
        now: Instant,
    ) {
        self.settle(book, spool);
        if let Some(under_way) = &self.under_way {
            let late = now.saturating_duration_since(under_way.since) >= ACKNOWLEDGED_WITHIN;
            if late
                && (!self.kept || now.saturating_duration_since(self.last_kept) >= self.interval)
            {
                self.keep(book, spool);
            }
            return;
        }
        if now < self.next {
            return;
        }
        self.next = now + self.interval;
        let snapshot = book.snapshot_now();
        if !snapshot.is_empty() || now >= self.next_heartbeat || book.lacks_its_end() {
            self.next_heartbeat = now + HEARTBEAT;
            self.send(snapshot, producer, now);
        }
    }

    fn send(&mut self, snapshot: Snapshot, producer: &mut RecordProducer, now: Instant) {
        self.attempt = (self.attempt + 1) & ATTEMPT_MASK;
        let rows = encoded(&snapshot);
        let mut under_way = UnderWay {
            counts: rows.len() - snapshot.watermarks.len(),
            snapshot,
            acknowledged: vec![false; rows.len()],
            left: rows.len(),
            failed: false,
            since: now,
        };
        for (number, row) in (0..).zip(&rows) {
            let label = Label::Tally {
                attempt: self.attempt,
                number,
            };
            if producer.send(&row.message(), label).is_err() {
                under_way.failed = true;
                break;
            }
        }
        self.under_way = Some(under_way);
    }

    /// Notes the delivery report of a row. Returns whether it is a row of counts that the broker has.
    pub(super) fn delivered(&mut self, attempt: u32, number: u32, acknowledged: bool) -> bool {
        let Some(under_way) = &mut self.under_way else {
            return acknowledged;
        };
        if attempt != self.attempt {
            return acknowledged;
        }
        under_way.failed |= !acknowledged;
        if let Some(known) = under_way.acknowledged.get_mut(number as usize)
            && acknowledged
            && !std::mem::replace(known, true)
        {
            under_way.left -= 1;
        }
        acknowledged && (number as usize) < under_way.counts
    }

    /// Ends the attempt if all rows are acknowledged, or if one failed.
    pub(super) fn settle(&mut self, book: &TallyBook, spool: &Spool) {
        let Some(under_way) = &self.under_way else {
            return;
        };
        if under_way.left == 0 {
            book.acknowledge(&under_way.snapshot);
            self.under_way = None;
            if self.kept && !lacks_any(book) {
                self.kept = spool.keep_tallies(&[]).is_err();
            }
        } else if under_way.failed && under_way.since.elapsed() >= self.interval {
            // The book offers these rows again, with newer counts.
            self.under_way = None;
            self.keep(book, spool);
        }
    }

    /// Abandons the attempt under way: its delivery reports will never arrive.
    pub(super) fn forget(&mut self) {
        self.attempt = (self.attempt + 1) & ATTEMPT_MASK;
        self.under_way = None;
    }

    /// Whether an attempt is under way.
    pub(super) fn waits(&self) -> bool {
        self.under_way.is_some()
    }

    /// The writer is about to end: the next turn sends at once.
    pub(super) fn hurry(&mut self) {
        self.next = Instant::now();
        self.interval = ACKNOWLEDGED_WITHIN / 2;
    }

    /// Whether the broker has all counts.
    pub(super) fn is_done(&self, book: &TallyBook) -> bool {
        self.under_way.is_none() && !lacks_any(book)
    }

    fn keep(&mut self, book: &TallyBook, spool: &Spool) {
        self.last_kept = Instant::now();
        let snapshot = book.snapshot_now();
        match spool.keep_tallies(&frames(&snapshot)) {
            Ok(()) => self.kept = true,
            Err(error) => {
                tracing::debug!(%error, "the counts cannot be kept in the spool; they stay in memory");
            }
        }
    }
}

/// Whether the book has counts that the broker does not have.
fn lacks_any(book: &TallyBook) -> bool {
    !book.snapshot_now().is_empty() || book.lacks_its_end()
}

/// Writes the unacknowledged counts to the spool for the next start. Returns how many tallies could not be written.
pub(super) fn leave(book: &TallyBook, spool: &Spool) -> usize {
    let snapshot = book.snapshot_now();
    if snapshot.is_empty() && !book.lacks_its_end() {
        return 0;
    }
    match spool.keep_tallies(&frames(&snapshot)) {
        Ok(()) => 0,
        Err(error) => {
            tracing::error!(%error, "the counts cannot be kept in the spool");
            snapshot.tallies.len()
        }
    }
}

fn encoded(snapshot: &Snapshot) -> Vec<Encoded> {
    let records = snapshot.records();
    records.map(|record| Encoded::of(&record)).collect()
}

fn frames(snapshot: &Snapshot) -> Vec<u8> {
    let mut bytes = Vec::new();
    for row in encoded(snapshot) {
        row.frame().write(&mut bytes);
    }
    bytes
}
