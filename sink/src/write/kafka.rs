//! Writing records to a Kafka topic: the writer thread of `--store kafka://`.
//!
//! Every record is first appended to the [spool](super::spool) and then sent from memory; an acknowledgement frees it.
//! While the broker keeps up, that is all. When the small queue of the Kafka client is full, or a delivery failed, the
//! thread *lags*: new records go to the spool only, and are read back in order as the client accepts them. So a record
//! may be sent twice; duplicates are removed by id.
//!
//! Counts do not go to the segments of the spool: the book offers them again until they are acknowledged, and only the
//! latest matter. See [`tallies`].
//!
//! An unavailable broker is a state, not an error: the thread neither ends nor blocks anybody because of it. The same
//! holds for a spool whose folder cannot be created (a full disk): until it can, records are sent without being
//! spooled.

mod deliveries;
mod encoded;
mod producer;
mod tallies;

use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;
use parity_schemas::time::Timestamp;

use self::deliveries::OneByOne;
use self::encoded::Encoded;
use self::producer::{Label, Message, RecordProducer};
use self::tallies::Tallies;
use super::health::DropReason;
use super::queue::{Queued, tell_lost};
use super::retry::RetryState;
use super::spool::{AppendError, Next, Position, Spool};
use super::{FinishReport, WriterInputs};
use crate::error::StoreError;
use crate::store::{KafkaAccess, SpoolConfig};
use crate::url::KafkaUrl;

/// Longest sleep of the thread, and so the longest delay in handling acknowledgements. Together with the queue it
/// bounds what a killed process loses.
const TICK: Duration = Duration::from_millis(20);
/// Records of one `write` to the spool.
const BATCH_ROWS: usize = 1_024;
const BATCH_BYTES: usize = 4 << 20;
/// Records of the backlog that are sent in one go before other work is done.
const BACKLOG_STRETCH: usize = 2_000;
/// The pause after a failed delivery.
const REST: Duration = Duration::from_millis(500);
/// After this long without an acknowledgement, the broker is reported as failing.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often the backlog is flushed to the disk. A machine that fails (not just a process) loses what was appended
/// since.
const SYNC_EVERY: Duration = Duration::from_millis(500);
/// How often opening the spool is retried.
const SPOOL_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How long the end waits for a broker that is already failing. Records on disk are safe.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// The thread's state.
pub(super) struct KafkaWriter {
    producer: RecordProducer,
    spool: Spool,
    /// For opening the spool, if it is not open yet.
    spool_config: SpoolConfig,
    topic: String,
    spool_tried: Instant,
    inputs: WriterInputs,
    tallies: Tallies,
    retry: RetryState,
    /// Records are read back from the spool; see the module.
    lagging: bool,
    rest_until: Option<Instant>,
    last_progress: Instant,
    last_sync: Instant,
    sent: u64,
    /// Records under way that are not in the spool.
    unspooled: u64,
    one_by_one: OneByOne,
}

impl KafkaWriter {
    /// Opens the spool and creates the client. Neither the broker nor free disk space is needed for this.
    pub(super) fn open(
        url: &KafkaUrl,
        access: &KafkaAccess,
        spool: &SpoolConfig,
        inputs: WriterInputs,
    ) -> Result<Self, StoreError> {
        let producer = RecordProducer::open(url, access)?;
        let now = Instant::now();
        let mut writer = Self {
            tallies: Tallies::new(inputs.options.batch_interval),
            producer,
            spool: Spool::without_folder(spool),
            spool_config: spool.clone(),
            topic: url.to_string(),
            spool_tried: now,
            inputs,
            retry: RetryState::default(),
            lagging: false,
            rest_until: None,
            last_progress: now,
            last_sync: now,
            sent: 0,
            unspooled: 0,
            one_by_one: OneByOne::default(),
        };
        match writer.open_spool() {
            Err(error) if error.is_configuration() => return Err(error),
            Err(error) => writer.complain(&error.told()),
            Ok(()) => {}
        }
        Ok(writer)
    }

    fn open_spool(&mut self) -> Result<(), StoreError> {
        self.spool_tried = Instant::now();
        self.spool = Spool::open(&self.spool_config, &self.topic)?;
        self.lagging = !self.spool.is_empty();
        if self.lagging {
            tracing::info!(
                bytes = self.spool.bytes(),
                "the spool holds records of an earlier run; they are sent first"
            );
        }
        Ok(())
    }

    /// Tries again to open a spool that could not be opened.
    fn mind_spool(&mut self) {
        if self.spool.has_folder() || self.spool_tried.elapsed() < SPOOL_AGAIN_AFTER {
            return;
        }
        match self.open_spool() {
            Ok(()) => tracing::info!("the spool can be used now"),
            Err(error) => self.complain(&error.told()),
        }
    }

    /// Works until told to finish.
    pub(super) fn run(mut self) -> FinishReport {
        let deadline = loop {
            match self.inputs.finish.try_recv() {
                Ok(deadline) => break deadline,
                Err(crossbeam_channel::TryRecvError::Disconnected) => break Instant::now(),
                Err(crossbeam_channel::TryRecvError::Empty) => {}
            }
            let took = self.take_batch(TICK);
            self.turn();
            if took == 0 {
                self.sync();
            }
        };
        self.finish(deadline)
    }

    /// Everything besides taking new records.
    fn turn(&mut self) {
        self.mind_spool();
        self.hear();
        self.send_backlog();
        self.tallies.turn(
            &self.inputs.book,
            &mut self.producer,
            &self.spool,
            Instant::now(),
        );
        self.mind_health();
    }

    /// Takes the records that wait in the queue, and waits at most `wait` for the first. Returns how many it took.
    fn take_batch(&mut self, wait: Duration) -> usize {
        let first = match self.inputs.records.recv_timeout(wait) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => return 0,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(wait);
                return 0;
            }
        };
        let mut batch = vec![first];
        let mut bytes = 0;
        while batch.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            let Ok(next) = self.inputs.records.try_recv() else {
                break;
            };
            bytes += next.bytes;
            batch.push(next);
        }
        self.accept(&batch);
        let metrics = &self.inputs.status.metrics;
        for queued in &batch {
            self.inputs.bytes.release(queued.bytes);
            metrics.queue_depth.dec();
        }
        metrics.batch_rows.observe(batch.len() as f64);
        batch.len()
    }

    /// Appends records to the spool and sends them.
    fn accept(&mut self, batch: &[Queued]) {
        let began = Instant::now();
        let encoded: Vec<Encoded> = batch
            .iter()
            .map(|queued| Encoded::of(&queued.record))
            .collect();
        let mut frames = Vec::new();
        for record in &encoded {
            record.frame().write(&mut frames);
        }
        match self.spool.append(&frames, encoded.len() as u32) {
            Ok(first) => {
                for (index, record) in (first.index..).zip(&encoded) {
                    if self.lagging {
                        break;
                    }
                    let at = Position {
                        segment: first.segment,
                        index,
                    };
                    let sent = self.producer.send(&record.message(), Label::Spooled(at));
                    if sent.is_ok() {
                        self.one_by_one.sent(at);
                    } else {
                        self.lag_from(at);
                    }
                }
            }
            Err(error) => self.accept_without_spool(batch, &encoded, &error),
        }
        let metrics = &self.inputs.status.metrics;
        metrics.write_seconds.observe(began.elapsed().as_secs_f64());
    }

    /// The spool accepts no more records: those that still fit into the client's queue are sent without it, the rest is
    /// dropped.
    fn accept_without_spool(&mut self, batch: &[Queued], encoded: &[Encoded], error: &AppendError) {
        let reason = match error {
            AppendError::Full => DropReason::SpoolFull,
            AppendError::Failed(error) => {
                self.inputs.status.metrics.write_errors.inc();
                let dropped = self.inputs.status.metrics.dropped_total();
                let text = format!("the spool cannot be written: {error}");
                self.inputs.status.failed(text.clone(), Timestamp::now());
                self.retry.failed(&text, dropped, Instant::now());
                DropReason::SpoolFailed
            }
        };
        for (queued, record) in batch.iter().zip(encoded) {
            if self
                .producer
                .send(&record.message(), Label::Unspooled)
                .is_ok()
            {
                self.unspooled += 1;
            } else {
                self.inputs.status.metrics.dropped(reason).inc();
                tell_lost(
                    &queued.record,
                    "the spool takes no more, and the broker does not take it",
                );
            }
        }
    }

    /// Sends records from the spool while the client accepts them.
    fn send_backlog(&mut self) {
        if self.rest_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        self.rest_until = None;
        for _ in 0..BACKLOG_STRETCH {
            if !self.lagging || !self.one_by_one.lets_pass() {
                return;
            }
            match self.spool.next() {
                Next::Record(at, frame) => {
                    let message = Message {
                        record: frame.record,
                        key: frame.key,
                        payload: frame.payload,
                    };
                    let sent = self.producer.send(&message, Label::Spooled(at));
                    if sent.is_err() {
                        return self.spool.seek(at);
                    }
                    self.one_by_one.sent(at);
                }
                Next::End => {
                    self.lagging = false;
                    self.one_by_one.until = None;
                }
            }
        }
    }

    /// From this position on, records are read from the spool.
    fn lag_from(&mut self, at: Position) {
        if !self.lagging || at < self.spool.place() {
            self.spool.seek(at);
        }
        self.lagging = true;
    }

    /// Reports a failure when nothing was acknowledged for long, and updates the gauges.
    fn mind_health(&mut self) {
        let waits = !self.spool.is_empty() || self.tallies.waits() || self.unspooled > 0;
        if !waits {
            self.last_progress = Instant::now();
        } else if self.last_progress.elapsed() > PATIENCE {
            let text = match self.producer.last_error() {
                Some(reason) => format!("Kafka: {reason}"),
                None => format!("Kafka: nothing was acknowledged for {PATIENCE:?}"),
            };
            self.complain(&text);
            self.last_progress = Instant::now();
        }
        let metrics = &self.inputs.status.metrics;
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        metrics.spool_bytes.set(signed(self.spool.waiting_bytes()));
        metrics.spool_disk_bytes.set(signed(self.spool.bytes()));
        metrics.spool_records.set(signed(self.spool.waiting()));
        let damaged = self.spool.damaged();
        let told = metrics.spool_damaged.get();
        metrics.spool_damaged.inc_by(damaged.saturating_sub(told));
        let dropped = metrics.dropped_total();
        self.retry.tick(dropped, Instant::now());
    }

    fn sync(&mut self) {
        if self.lagging && self.last_sync.elapsed() >= SYNC_EVERY {
            self.last_sync = Instant::now();
            if let Err(error) = self.spool.sync() {
                tracing::debug!(%error, "the spool cannot be flushed to the disk");
            }
        }
    }

    /// Takes the remaining records, sends what the broker accepts in time, and leaves the rest on disk.
    fn finish(mut self, deadline: Instant) -> FinishReport {
        while self.take_batch(Duration::ZERO) > 0 {}
        let away = self.inputs.status.health().failure.is_some();
        let deadline = if away {
            deadline.min(Instant::now() + LAST_WAIT)
        } else {
            deadline
        };
        self.inputs.book.end();
        self.tallies.hurry();
        loop {
            self.turn();
            let done = self.spool.is_empty()
                && !self.lagging
                && self.unspooled == 0
                && self.tallies.is_done(&self.inputs.book);
            if done || Instant::now() >= deadline {
                break;
            }
            self.producer.wait(TICK.min(Duration::from_millis(2)));
        }
        let unwritten = self.inputs.status.metrics.dropped(DropReason::Unwritten);
        unwritten.inc_by(self.unspooled);
        let unwritten_tallies = tallies::leave(&self.inputs.book, &self.spool);
        let synced = self.spool.sync();
        let spooled = self.spool.waiting();
        if spooled > 0 {
            tracing::warn!(
                records = spooled,
                "the broker has not acknowledged all; what is left waits in the spool and is sent at the next start"
            );
        }
        FinishReport {
            rows_written: self.sent,
            records_dropped: self.inputs.status.metrics.dropped_total(),
            unwritten_tallies,
            spooled_records: spooled,
            failure: (unwritten_tallies > 0)
                .then(|| "the counts could neither be sent nor kept in the spool".to_owned())
                .or_else(|| {
                    let error = synced.err().filter(|_| spooled > 0)?;
                    Some(format!("the spool cannot be flushed to the disk: {error}"))
                }),
        }
    }
}
