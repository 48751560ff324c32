//! The writer thread of a store that takes batches: it collects a batch, writes it with the tallies, and applies
//! retention.
//!
//! One thread, because `SQLite` has one writer anyway and a batch is one transaction. The thread also opens the store,
//! and retries until it succeeds, so that the proxy does not wait for a disk. A failed write is retried with the same
//! batch until it works or the process ends. Meanwhile the queue fills and then drops records ([`super::queue`]), and
//! tallies stay in the book. When a batch fails, the tallies are also written without it: they are small, and decisions
//! are made from them, so they may fit even when the batch does not.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, SendError, Sender, select};
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::HEARTBEAT_MICROS;

use super::batch_store::{BatchStore, Written};
use super::health::{DropReason, WriterStatus};
use super::queue::{Bytes, Queued, tell_lost};
use super::retention::Step;
use super::retry::RetryState;
use super::{FinishReport, WriterInputs, WriterOptions};
use crate::error::StoreError;
use crate::tally::{Snapshot, TallyBook};

/// Bytes of one batch. Bounds the transaction, and so how long the write lock is held.
const BATCH_BYTES: usize = 4 << 20;
/// How often retention is checked. Once there is something to remove, its steps follow each other without this delay.
const RETENTION_PERIOD: Duration = Duration::from_mins(1);
/// How often a process without traffic writes its watermark.
pub(super) const HEARTBEAT: Duration = Duration::from_micros(HEARTBEAT_MICROS as u64);

/// Opens the store.
pub(super) type Opener<S> = Box<dyn Fn() -> Result<S, StoreError> + Send>;

/// Receives the result of the first attempt to open the store: an error if another attempt is useless.
pub(super) type Opened = Sender<Result<(), StoreError>>;

/// Why nothing could be written.
enum Failed<E> {
    Open(StoreError),
    Write(E),
}

impl<E: fmt::Display> fmt::Display for Failed<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => f.write_str(&error.told()),
            Self::Write(error) => error.fmt(f),
        }
    }
}

/// Everything that the thread owns.
pub(super) struct Worker<S: BatchStore> {
    open: Opener<S>,
    /// `None` while it cannot be opened.
    store: Option<S>,
    book: Arc<TallyBook>,
    records: Receiver<Queued>,
    finish: Receiver<Instant>,
    bytes: Arc<Bytes>,
    status: Arc<WriterStatus>,
    options: WriterOptions,
    progress: Progress,
}

/// What the thread remembers from one write to the next.
struct Progress {
    batch: Vec<Queued>,
    batch_bytes: usize,
    next_tallies: Instant,
    next_heartbeat: Instant,
    next_retention: Instant,
    exhausted: bool,
    retry: RetryState,
    written: u64,
}

impl Default for Progress {
    fn default() -> Self {
        let now = Instant::now();
        Self {
            batch: Vec::new(),
            batch_bytes: 0,
            next_tallies: now,
            next_heartbeat: now,
            next_retention: now,
            exhausted: false,
            retry: RetryState::default(),
            written: 0,
        }
    }
}

impl<S: BatchStore> Worker<S> {
    /// Everything that it needs.
    pub(super) fn new(open: Opener<S>, inputs: WriterInputs) -> Self {
        Self {
            open,
            store: None,
            book: inputs.book,
            records: inputs.records,
            finish: inputs.finish,
            bytes: inputs.bytes,
            status: inputs.status,
            options: inputs.options,
            progress: Progress::default(),
        }
    }

    /// Works until told to finish, or until opening the store fails for good.
    pub(super) fn run(mut self, opened: &Opened) -> FinishReport {
        match self.hold() {
            // If opening took too long, nobody receives this any more, and it counts as a later attempt.
            Ok(_) => drop(opened.send(Ok(()))),
            Err(Failed::Open(error)) if error.is_configuration() => match opened.send(Err(error)) {
                Ok(()) => return FinishReport::default(),
                Err(SendError(unheard)) => {
                    if let Err(error) = unheard {
                        self.note(&Failed::Open(error));
                    }
                }
            },
            Err(failed) => {
                self.note(&failed);
                drop(opened.send(Ok(())));
            }
        }
        let deadline = loop {
            if let Some(deadline) = self.collect() {
                break deadline;
            }
            // After a failure, every attempt includes the tallies.
            let due = self.progress.retry.retry_after().is_some()
                || Instant::now() >= self.progress.next_tallies;
            if self.write(due) {
                self.retain();
            }
            let dropped = self.status.metrics.dropped_total();
            self.progress.retry.tick(dropped, Instant::now());
        };
        self.finish(deadline)
    }

    /// Fills the batch until it is full or the tallies are due. Returns the deadline when told to finish.
    fn collect(&mut self) -> Option<Instant> {
        if let Some(wait) = self.progress.retry.retry_after() {
            // The current batch waits, so nothing more is taken out of the queue, whose limits hold.
            return match self.finish.recv_timeout(wait) {
                Ok(deadline) => Some(deadline),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Instant::now()),
            };
        }
        loop {
            self.take_waiting();
            if self.batch_is_full() {
                return self.finish.try_recv().ok();
            }
            let wait = self
                .progress
                .next_tallies
                .saturating_duration_since(Instant::now());
            select! {
                recv(self.finish) -> deadline => {
                    return Some(deadline.unwrap_or_else(|_| Instant::now()));
                }
                recv(self.records) -> queued => match queued {
                    Ok(queued) => self.take(queued),
                    // The writer owns a sender, so it was dropped, and nobody will say when to finish.
                    Err(_) => return Some(Instant::now()),
                },
                default(wait) => return None,
            }
        }
    }

    fn take_waiting(&mut self) {
        while !self.batch_is_full() {
            let Ok(queued) = self.records.try_recv() else {
                return;
            };
            self.take(queued);
        }
    }

    fn take(&mut self, queued: Queued) {
        self.progress.batch_bytes += queued.bytes;
        self.progress.batch.push(queued);
    }

    fn batch_is_full(&self) -> bool {
        self.progress.batch.len() >= self.options.batch_rows
            || self.progress.batch_bytes >= BATCH_BYTES
    }

    /// Writes the batch and, if `tallies`, what the store lacks of them, or at least the watermarks when they are due.
    /// Returns whether everything succeeded.
    fn write(&mut self, tallies: bool) -> bool {
        let snapshot = tallies.then(|| {
            self.progress.next_tallies = Instant::now() + self.options.batch_interval;
            self.book.snapshot_now()
        });
        let beat = Instant::now() >= self.progress.next_heartbeat || self.book.lacks_its_end();
        let snapshot = snapshot.filter(|snapshot| beat || !snapshot.is_empty());
        if self.progress.batch.is_empty() && snapshot.is_none() {
            return match self.hold() {
                Ok(_) => {
                    self.recovered();
                    true
                }
                Err(failed) => {
                    self.failed(failed);
                    false
                }
            };
        }
        match self.attempt(snapshot.as_ref()) {
            Ok(written) => {
                self.settle(&written);
                true
            }
            Err(failed) => {
                let worth_it = !self.progress.batch.is_empty()
                    && matches!(&failed, Failed::Write(error) if S::may_take_tallies(error));
                if let (true, Some(snapshot), Some(store)) = (worth_it, &snapshot, &mut self.store)
                    && store.write(&[], Some(snapshot)).is_ok()
                {
                    self.book.acknowledge(snapshot);
                }
                self.failed(failed);
                false
            }
        }
    }

    /// The store, opened if necessary, and checked to be the one that was opened.
    fn hold(&mut self) -> Result<&mut S, Failed<S::Error>> {
        let mut store = match self.store.take() {
            Some(store) => store,
            None => (self.open)().map_err(Failed::Open)?,
        };
        let checked = store.check();
        let store = self.store.insert(store);
        checked.map(|()| store).map_err(Failed::Write)
    }

    fn failed(&mut self, failed: Failed<S::Error>) {
        self.note(&failed);
        if let Failed::Write(error) = failed
            && S::is_lost(&error)
            && let Some(store) = self.store.take()
        {
            let message = error.to_string();
            tracing::error!(
                "{message}; the counts of the last minutes are written again, older ones and mismatch records are what is in the store now"
            );
            self.status.lost(message, Timestamp::now());
            store.give_up(&error);
            // Acknowledged rows may be gone. Rows that still exist are not duplicated, because they keep their ids.
            self.book.offer_again();
        }
    }

    /// Counts and logs a failure, and decides when to retry.
    fn note(&mut self, failed: &Failed<S::Error>) {
        self.status.metrics.write_errors.inc();
        self.status.failed(failed.to_string(), Timestamp::now());
        let dropped = self.status.metrics.dropped_total();
        self.progress.retry.failed(failed, dropped, Instant::now());
    }

    /// The store works again, and there is nothing to write.
    fn recovered(&mut self) {
        if self.progress.retry.retry_after().is_some() {
            self.status.works();
            let dropped = self.status.metrics.dropped_total();
            self.progress.retry.worked(dropped);
        }
    }

    fn attempt(&mut self, snapshot: Option<&Snapshot>) -> Result<Written, Failed<S::Error>> {
        self.hold()?;
        let Some(store) = &mut self.store else {
            return Ok(Written::default());
        };
        let began = Instant::now();
        let written = store
            .write(&self.progress.batch, snapshot)
            .map_err(Failed::Write)?;
        if let Some(snapshot) = snapshot {
            self.book.acknowledge(snapshot);
            self.progress.next_heartbeat = Instant::now() + HEARTBEAT;
        }
        let metrics = &self.status.metrics;
        metrics.write_seconds.observe(began.elapsed().as_secs_f64());
        metrics.batch_rows.observe(written.rows as f64);
        if let Some(bytes) = store.bytes() {
            metrics
                .store_bytes
                .set(i64::try_from(bytes).unwrap_or(i64::MAX));
        }
        Ok(written)
    }

    fn settle(&mut self, written: &Written) {
        self.progress.written += written.rows as u64;
        let rejected = self.status.metrics.dropped(DropReason::Rejected);
        rejected.inc_by(written.rejected.len() as u64);
        // Counts come behind the records.
        let records = written.rejected.iter();
        for queued in records.filter_map(|at| self.progress.batch.get(*at)) {
            tell_lost(&queued.record, "the store refused it");
        }
        self.clear_batch();
        self.status.wrote(Timestamp::now());
        let dropped = self.status.metrics.dropped_total();
        self.progress.retry.worked(dropped);
    }

    fn clear_batch(&mut self) {
        for _ in &self.progress.batch {
            self.status.metrics.queue_depth.dec();
        }
        self.bytes.release(self.progress.batch_bytes);
        self.progress.batch.clear();
        self.progress.batch_bytes = 0;
    }

    /// One step of retention, if it is due and the queue is short.
    fn retain(&mut self) {
        let now = Instant::now();
        let busy = self.records.len() > self.options.batch_rows;
        if now < self.progress.next_retention || busy {
            return;
        }
        let Some(store) = &mut self.store else {
            return;
        };
        let step = store.retain(&self.options.retention);
        if !matches!(step, Ok(Step::More)) {
            self.progress.next_retention = now + RETENTION_PERIOD;
        }
        match step {
            Ok(Step::More) => {}
            Ok(Step::Done) => self.progress.exhausted = false,
            Ok(Step::Exhausted) => {
                if !std::mem::replace(&mut self.progress.exhausted, true) {
                    tracing::warn!(
                        max_bytes = self.options.retention.max_bytes,
                        "the store is over its size limit and holds nothing more that may be removed; tallies are kept"
                    );
                }
            }
            Err(error) => {
                tracing::warn!(%error, "cannot remove old records; trying again in a minute");
            }
        }
    }

    /// Writes what is left, as often as the deadline allows, and closes the store.
    fn finish(mut self, deadline: Instant) -> FinishReport {
        self.book.end();
        loop {
            self.take_waiting();
            let last = self.records.is_empty();
            if let Some(store) = &mut self.store {
                store.limit_wait(deadline.saturating_duration_since(Instant::now()));
            }
            let worked = self.write(true);
            let left = deadline.saturating_duration_since(Instant::now());
            if worked && last || left.is_zero() {
                break;
            }
            let wait = self.progress.retry.retry_after().unwrap_or_default();
            std::thread::sleep(wait.min(left));
        }
        while let Ok(queued) = self.records.try_recv() {
            self.take(queued);
        }
        let unwritten = self.status.metrics.dropped(DropReason::Unwritten);
        unwritten.inc_by(self.progress.batch.len() as u64);
        for queued in &self.progress.batch {
            tell_lost(
                &queued.record,
                "the store did not work until the end of the process",
            );
        }
        self.clear_batch();
        let unwritten_tallies = self.book.snapshot_now().tallies.len();
        let report = FinishReport {
            rows_written: self.progress.written,
            records_dropped: self.status.metrics.dropped_total(),
            unwritten_tallies,
            spooled_records: 0,
            failure: self.status.health().failure.map(|failure| failure.message),
        };
        if let Some(Err(error)) = self.store.map(S::close) {
            tracing::warn!(%error, "the store could not be tidied up on closing; nothing is lost by that");
        }
        report
    }
}
