//! The bounded queue in front of the writer.
//!
//! A sender never waits: a record that does not fit is dropped and counted by reason, and the send returns an error.
//! The queue is bounded by records and by bytes, because a record may have 300 bytes or 900 KiB. Only the details of a
//! mismatch are dropped here, never its count: counts are in the tallies, which do not pass through the queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_channel::{Receiver, Sender, TrySendError};
use parity_schemas::record::{Mismatch, Record, RecordedMessage};

use super::health::{DropReason, Health, WriterStatus};

/// A larger record loses its sample, and is dropped if it is still larger. One record must never fill the queue, and
/// Kafka brokers take no larger messages with their default settings.
pub const MAX_RECORD_BYTES: usize = 900 << 10;

/// Why a record was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Dropped {
    /// As many records as allowed are waiting.
    #[error("the queue of the store is full")]
    QueueFull,
    /// As many bytes as allowed are waiting.
    #[error("the queue of the store holds as many bytes as it may")]
    QueueBytes,
    /// Over [`MAX_RECORD_BYTES`] even without its sample.
    #[error("the record is over {MAX_RECORD_BYTES} bytes")]
    TooLarge,
    /// The writer has ended.
    #[error("the store is closed")]
    Closed,
}

impl From<Dropped> for DropReason {
    fn from(dropped: Dropped) -> Self {
        match dropped {
            Dropped::QueueFull => Self::QueueFull,
            Dropped::QueueBytes => Self::QueueBytes,
            Dropped::TooLarge => Self::TooLarge,
            Dropped::Closed => Self::Closed,
        }
    }
}

/// A record and its share of the byte limit.
pub(super) struct Queued {
    pub(super) record: Record,
    pub(super) bytes: usize,
}

/// Sends records to a writer. Cheap to clone.
#[derive(Clone)]
pub struct RecordSender {
    records: Sender<Queued>,
    bytes: Arc<Bytes>,
    status: Arc<WriterStatus>,
}

/// Bytes that wait, in the queue and in the current batch.
pub(super) struct Bytes {
    waiting: AtomicUsize,
    limit: usize,
}

impl Bytes {
    fn reserve(&self, bytes: usize) -> bool {
        let before = self.waiting.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= self.limit;
        if !fits {
            self.release(bytes);
        }
        fits
    }

    pub(super) fn release(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A queue of at most `max_records` and `max_bytes`.
pub(super) fn queue(
    max_records: usize,
    max_bytes: usize,
    status: Arc<WriterStatus>,
) -> (RecordSender, Receiver<Queued>, Arc<Bytes>) {
    let (sender, receiver) = crossbeam_channel::bounded(max_records);
    let bytes = Arc::new(Bytes {
        waiting: AtomicUsize::new(0),
        limit: max_bytes,
    });
    let sender = RecordSender {
        records: sender,
        bytes: Arc::clone(&bytes),
        status,
    };
    (sender, receiver, bytes)
}

impl RecordSender {
    /// Hands a record to the writer, or drops it. Never waits.
    pub fn send(&self, record: Record) -> Result<(), Dropped> {
        let result = self.try_send(record);
        if let Err(reason) = result {
            self.status.metrics.dropped(reason.into()).inc();
        }
        result
    }

    /// How the store is doing.
    pub fn health(&self) -> Health {
        self.status.health()
    }

    fn try_send(&self, mut record: Record) -> Result<(), Dropped> {
        let mut bytes = approximate_bytes(&record);
        if bytes > MAX_RECORD_BYTES {
            if let Record::Mismatch(mismatch) = &mut record {
                mismatch.sample = None;
                bytes = approximate_bytes(&record);
            }
            if bytes > MAX_RECORD_BYTES {
                return Err(Dropped::TooLarge);
            }
        }
        if !self.bytes.reserve(bytes) {
            return Err(Dropped::QueueBytes);
        }
        // Counted before it is sent: the writer may take it out before this thread continues.
        self.status.metrics.queue_depth.inc();
        self.records
            .try_send(Queued { record, bytes })
            .map_err(|error| {
                self.status.metrics.queue_depth.dec();
                self.bytes.release(bytes);
                match error {
                    TrySendError::Full(_) => Dropped::QueueFull,
                    TrySendError::Disconnected(_) => Dropped::Closed,
                }
            })
    }
}

/// Tells of a record that is lost and that somebody may look for: who changed what.
pub(super) fn tell_lost(record: &Record, why: &str) {
    let Record::Audit(change) = record else {
        return;
    };
    tracing::error!(
        id = %change.id,
        action = %change.action,
        outcome = %change.outcome,
        source = %change.source,
        time = %change.time,
        user = change.user,
        address = change.address,
        subject = change.subject,
        detail = change.detail,
        why,
        "the line of a change is lost: the record does not have it"
    );
}

/// Roughly the memory of a record: its texts, and a fixed amount for everything else.
fn approximate_bytes(record: &Record) -> usize {
    /// Fields of fixed size, and what the allocator adds.
    const FIXED: usize = 512;
    FIXED
        + match record {
            Record::Mismatch(mismatch) => mismatch_bytes(mismatch),
            // Of bounded size by construction: labels and counters.
            Record::Tally(_) | Record::GroupTally(_) | Record::SetTally(_) => 4 << 10,
            Record::Terms(terms) => {
                FIXED * (1 + terms.rules.rules.len() + terms.coverage.routes.len())
            }
            Record::Decision(decision) => FIXED * decision.routes.len(),
            Record::Audit(audit) => audit.detail.len(),
            Record::Watermark(watermark) => 64 * watermark.open.len(),
        }
}

fn mismatch_bytes(mismatch: &Mismatch) -> usize {
    let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let findings: usize = mismatch
        .findings
        .iter()
        .map(|finding| {
            200 + finding.path.len()
                + finding.pattern.len()
                + optional(&finding.candidate_path)
                + optional(&finding.legacy)
                + optional(&finding.candidate)
                + optional(&finding.text_diff)
        })
        .sum();
    let tolerated: usize = mismatch
        .tolerated
        .iter()
        .map(|tolerated| 64 + tolerated.path.len() + tolerated.why.held())
        .sum();
    let sample = mismatch.sample.as_ref().map_or(0, |sample| {
        message_bytes(&sample.request)
            + message_bytes(&sample.legacy)
            + message_bytes(&sample.candidate)
    });
    mismatch.path.len() + mismatch.query.len() + findings + tolerated + sample
}

fn message_bytes(message: &RecordedMessage) -> usize {
    let headers: usize = message
        .headers
        .iter()
        .map(|(name, value)| 64 + name.len() + value.len())
        .sum();
    headers + message.body.len()
}
