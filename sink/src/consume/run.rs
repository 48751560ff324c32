//! The polling thread: fills the buffers, hands out batches, commits stored ones.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message as _};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use super::buffer::RecordBuffer;
use super::context::Context;
use super::health::SinkStatus;
use super::progress::{Done, Progress};
use super::work::{Job, Workers};
use super::{SinkError, SinkOptions, SinkReport};
use crate::url::KafkaUrl;

/// Records taken in one go before other work is done.
const STRETCH: usize = 1_000;
/// Longest wait for a record. Bounds the delay until a stored batch is committed and a full one handed out.
const WAIT: Duration = Duration::from_millis(5);
/// At the memory limit, polling first just stops for this long: workers that keep up free memory within milliseconds,
/// while pausing partitions discards prefetched records. Far below the time after which the group considers us dead.
const HOLD: Duration = Duration::from_millis(500);
/// Longest time to leave the group: a rebalance that is under way may take [`super::context::HAND_OVER`] of others.
const LEAVE: Duration = Duration::from_secs(8);
/// Paused partitions resume when half of the memory is free again, so that they do not flap.
const RESUME_SHARE: usize = 2;

/// The consumer and what it has read.
pub(super) struct Poller {
    consumer: BaseConsumer<Context>,
    topic: String,
    options: SinkOptions,
    status: Arc<SinkStatus>,
    stop: Arc<AtomicBool>,
    partitions: BTreeMap<i32, Partition>,
    /// Bytes of records that are buffered or under way.
    held: usize,
    /// Since when the memory limit is reached.
    full_since: Option<Instant>,
    paused: bool,
    jobs: u64,
}

/// One assigned partition.
struct Partition {
    buffer: RecordBuffer,
    /// The next offset, to detect gaps.
    expected: Option<i64>,
}

impl Poller {
    pub(super) fn new(
        consumer: BaseConsumer<Context>,
        url: &KafkaUrl,
        options: SinkOptions,
        status: Arc<SinkStatus>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self {
            consumer,
            topic: url.topic.clone(),
            options,
            status,
            stop,
            partitions: BTreeMap::new(),
            held: 0,
            full_since: None,
            paused: false,
            jobs: 0,
        }
    }

    pub(super) fn run(mut self, workers: Workers) -> Result<SinkReport, SinkError> {
        let progress = workers.progress();
        let mut ended = self.work(&workers, &progress);
        let mut unfinished = 0;
        if ended.is_ok() {
            (unfinished, ended) = self.finish(&workers, &progress);
        }
        let threads = workers.finish();
        let report = SinkReport {
            stored: self.status.metrics.stored_total(),
            dead_letters: self.status.dead_letters(),
            unfinished,
        };
        leave(self.consumer);
        ended.and(threads)?;
        Ok(report)
    }

    /// Works until told to stop.
    fn work(&mut self, workers: &Workers, progress: &Progress) -> Result<(), SinkError> {
        while !self.stop.load(Ordering::Acquire) {
            let grown = if self.holds(progress) {
                false
            } else {
                self.take_records()?
            };
            self.forget_revoked();
            self.commit_done(progress, CommitMode::Async)?;
            self.hand_out(workers, progress, false);
            self.mind_memory(grown);
        }
        Ok(())
    }

    /// Finishes the buffered batches. Returns how many could not be finished, and a fatal error if there was one.
    fn finish(&mut self, workers: &Workers, progress: &Progress) -> (usize, Result<(), SinkError>) {
        let deadline = Instant::now() + self.options.finish;
        self.pause();
        loop {
            // Polling keeps us in the group; the next owner reads these records again.
            let _ignored = self.consumer.poll(Duration::ZERO);
            self.forget_revoked();
            if let Err(error) = self.commit_done(progress, CommitMode::Sync) {
                return (0, Err(error));
            }
            self.hand_out(workers, progress, true);
            let waiting = self
                .partitions
                .values()
                .filter(|partition| !partition.buffer.entries.is_empty())
                .count();
            let open = waiting + progress.busy();
            if open == 0 || Instant::now() >= deadline {
                return (open, Ok(()));
            }
            progress.wait(WAIT);
        }
    }

    /// Polls records into the buffers. Returns whether any arrived.
    fn take_records(&mut self) -> Result<bool, SinkError> {
        let mut wait = WAIT;
        for count in 0..STRETCH {
            let Some(polled) = self.consumer.poll(wait) else {
                return Ok(count > 0);
            };
            wait = Duration::ZERO;
            // Before the record is taken: it may be of a partition that was revoked and assigned again within this poll,
            // which is then read once more from its committed offset. Forgotten later, these records would be lost with
            // the old ones, while the next commit covers them.
            forget(
                self.consumer.context().take_revoked(),
                &mut self.partitions,
                &mut self.held,
            );
            match polled {
                // A record of another topic must not be moved, and its offset must not be committed for our topic.
                Ok(message) if message.topic() != self.topic => {}
                Ok(message) => {
                    let partition =
                        self.partitions
                            .entry(message.partition())
                            .or_insert_with(|| Partition {
                                buffer: RecordBuffer::new(),
                                expected: None,
                            });
                    self.held += partition.take(&message, &self.status);
                }
                Err(error) => {
                    self.failed(&error)?;
                    return Ok(count > 0);
                }
            }
        }
        Ok(true)
    }

    /// Most errors are temporary, and are only reported; a fatal one ends the sink.
    fn failed(&self, error: &KafkaError) -> Result<(), SinkError> {
        if let KafkaError::MessageConsumptionFatal(code) = error {
            return Err(SinkError::Consumer(code.to_string()));
        }
        let usual = matches!(
            error.rdkafka_error_code(),
            Some(
                RDKafkaErrorCode::PartitionEOF
                    | RDKafkaErrorCode::BrokerTransportFailure
                    | RDKafkaErrorCode::AllBrokersDown
            )
        );
        if !usual {
            tracing::warn!(%error, "reading from Kafka failed; trying again");
        }
        self.status.broker_failed(format!("Kafka: {error}"));
        Ok(())
    }

    fn forget_revoked(&mut self) {
        let revoked = self.consumer.context().take_revoked();
        forget(revoked, &mut self.partitions, &mut self.held);
    }

    fn commit_done(&mut self, progress: &Progress, mode: CommitMode) -> Result<(), SinkError> {
        let (done, released, failed) = progress.take();
        self.held -= released.min(self.held);
        if !done.is_empty() {
            self.commit(&done, mode);
        }
        failed.map_or(Ok(()), Err)
    }

    fn commit(&mut self, done: &[Done], mode: CommitMode) {
        let mut offsets = TopicPartitionList::new();
        for one in done {
            self.held -= one.cost.min(self.held);
            let added =
                offsets.add_partition_offset(&self.topic, one.partition, Offset::Offset(one.next));
            debug_assert!(added.is_ok(), "an offset is a number");
        }
        if let Err(error) = self.consumer.commit(&offsets, mode) {
            self.status.metrics.commit_errors.inc();
            tracing::warn!(%error, "a commit failed; the next one covers it, or the batch is stored once more");
        }
    }

    /// Hands the batches that are due to workers, the oldest first. A batch is due when it is full or has waited long
    /// enough, and with `all`, always.
    fn hand_out(&mut self, workers: &Workers, progress: &Progress, all: bool) {
        let mut due: Vec<(i32, &mut Partition)> = self
            .partitions
            .iter_mut()
            .filter(|(number, partition)| {
                !partition.buffer.entries.is_empty()
                    && !progress.is_busy(**number)
                    && (all
                        || self.full_since.is_some()
                        || partition.buffer.is_full(&self.options)
                        || partition.buffer.since.elapsed() >= self.options.batch_interval)
            })
            .map(|(number, partition)| (*number, partition))
            .collect();
        due.sort_by_key(|(_, partition)| partition.buffer.since);
        for (number, partition) in due {
            self.jobs += 1;
            let job = Job {
                number: self.jobs,
                partition: number,
                buffer: partition.buffer.take(),
            };
            if let Err(job) = workers.offer(job) {
                partition.buffer = job.buffer;
                // No worker is idle, so the other batches need not be tried.
                break;
            }
        }
    }

    /// Whether to skip polling, because memory is full and workers are about to free some. Waits for them a little.
    fn holds(&mut self, progress: &Progress) -> bool {
        if self.held < self.options.memory {
            self.full_since = None;
            return false;
        }
        let since = *self.full_since.get_or_insert_with(Instant::now);
        let holds = !self.paused && since.elapsed() < HOLD;
        if holds {
            progress.wait(WAIT);
        }
        holds
    }

    /// Pauses partitions when memory is full, and resumes them when there is room again. `grown` means that records
    /// arrived: paused partitions deliver none, so new partitions were assigned that are not paused.
    fn mind_memory(&mut self, grown: bool) {
        let held = i64::try_from(self.held).unwrap_or(i64::MAX);
        self.status.metrics.buffered_bytes.set(held);
        let lasts = self.full_since.is_some_and(|since| since.elapsed() >= HOLD);
        if self.held >= self.options.memory && (grown || !self.paused) && lasts {
            self.pause();
        } else if self.paused && self.held <= self.options.memory / RESUME_SHARE {
            self.resume();
        }
    }

    fn pause(&mut self) {
        if let Ok(assignment) = self.consumer.assignment() {
            let count = i64::try_from(assignment.count()).unwrap_or(i64::MAX);
            match self.consumer.pause(&assignment) {
                Ok(()) => {
                    self.status.metrics.paused.set(count);
                }
                Err(error) => tracing::warn!(%error, "partitions cannot be paused"),
            }
        }
        self.paused = true;
    }

    fn resume(&mut self) {
        if let Ok(assignment) = self.consumer.assignment() {
            match self.consumer.resume(&assignment) {
                Ok(()) => {
                    self.status.metrics.paused.set(0);
                }
                Err(error) => tracing::warn!(%error, "partitions cannot be resumed"),
            }
        }
        self.paused = false;
    }
}

/// Leaves the group at once, so that it does not wait for our session to time out. All that is stored is committed by now, so
/// nothing is lost when the client does not end, as when it is given partitions while it leaves.
fn leave(consumer: BaseConsumer<Context>) {
    consumer.unsubscribe();
    let (done, left) = mpsc::sync_channel::<()>(1);
    let closing = std::thread::Builder::new().name("leave".to_owned());
    let begun = closing.spawn(move || {
        drop(consumer);
        drop(done);
    });
    let left = begun.is_ok().then(|| left.recv_timeout(LEAVE));
    if left == Some(Err(RecvTimeoutError::Timeout)) {
        tracing::warn!(
            "the Kafka client has not left the group within {LEAVE:?}; the group takes our partitions back when the session times out"
        );
    }
}

/// Drops the buffers of revoked partitions: the next owner reads these records again.
fn forget(revoked: Vec<i32>, partitions: &mut BTreeMap<i32, Partition>, held: &mut usize) {
    for partition in revoked {
        if let Some(gone) = partitions.remove(&partition) {
            *held -= gone.buffer.cost().min(*held);
        }
    }
}

impl Partition {
    /// Adds a record. Returns by how many bytes the buffers grew.
    fn take(&mut self, message: &BorrowedMessage<'_>, status: &SinkStatus) -> usize {
        let offset = message.offset();
        if let Some(expected) = self.expected
            && offset > expected
        {
            let skipped = u64::try_from(offset - expected).unwrap_or(0);
            status.metrics.skipped_offsets.inc_by(skipped);
            // A few missing offsets are transaction markers or the result of compaction.
            tracing::warn!(
                partition = message.partition(),
                from = expected,
                to = offset,
                "the topic no longer has these offsets"
            );
        }
        self.expected = Some(offset + 1);
        let before = self.buffer.cost();
        self.buffer.add(message);
        self.buffer.cost() - before
    }
}

impl RecordBuffer {
    fn is_full(&self, options: &SinkOptions) -> bool {
        self.entries.len() >= options.batch_rows || self.cost() >= options.batch_bytes
    }
}
