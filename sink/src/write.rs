//! Writing records to a store: a bounded queue, one writer thread, batches.
//!
//! [`Writer`] owns the thread; [`RecordSender`]s are handed out to whoever has records. Tallies do not pass through the
//! queue: four times a second the thread asks the [`TallyBook`] for what the store lacks. So a killed process loses at
//! most two such intervals of tallies and mismatch records, half a second.

mod batch_store;
mod clickhouse;
mod health;
mod kafka;
mod queue;
mod retention;
mod retry;
mod spool;
mod sqlite;
mod worker;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use parity_schemas::audit::Audit;
use parity_schemas::evidence::Decision;
use parity_schemas::record::Record;
use parity_schemas::time::Timestamp;
use prometheus_client::registry::Registry;

pub use self::health::{Health, Incident};
pub use self::queue::{Dropped, MAX_RECORD_BYTES, RecordSender};
pub use crate::retention::Retention;

use self::clickhouse::ClickHouseStore;
use self::health::WriterStatus;
use self::kafka::KafkaWriter;
use self::queue::{Bytes, Queued};
use self::sqlite::SqliteStore;
use self::worker::{Opened, Opener, Worker};
use crate::error::StoreError;
use crate::store::StoreConfig;
use crate::tally::TallyBook;
use crate::url::StoreUrl;

/// The longest [`WriterOptions::batch_interval`]. A write may take as long again on a slow disk, so a process that is
/// killed at the worst moment loses half a second.
pub const MAX_BATCH_INTERVAL: Duration = Duration::from_millis(250);
/// How much longer than its deadline a writer may take to end: the write that is under way when it is told to end, one
/// short last attempt, and closing the store.
pub const FINISH_GRACE: Duration = Duration::from_secs(2);
/// How long a start waits for the store to open. A new file takes milliseconds. Anything slower (a lock, a migration, a
/// distant server) goes on in the background, because clients are waiting for the proxy.
const START_PATIENCE: Duration = Duration::from_secs(2);
/// How long a writer that is dropped without [`Writer::finish`] may take.
const DROP_DEADLINE: Duration = Duration::from_secs(1);

/// The message when the thread panicked.
const PANICKED: &str =
    "the writer thread panicked; nothing more is recorded until parity is restarted";

fn panicked() -> FinishReport {
    FinishReport {
        failure: Some(PANICKED.to_owned()),
        ..FinishReport::default()
    }
}

/// Limits of a writer.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Records that may wait; further ones are dropped.
    pub queue_records: usize,
    /// Bytes of records that may wait or be in the current batch; beyond this, records are dropped.
    pub queue_bytes: usize,
    /// Records per transaction.
    pub batch_rows: usize,
    /// The longest time between counting something and writing it; at most [`MAX_BATCH_INTERVAL`].
    pub batch_interval: Duration,
    /// How long each kind of data is kept.
    pub retention: Retention,
    /// How long a process that leaves serving to another one of its name may still write. One that is found for longer is told as a mistake.
    pub handover: Duration,
    /// Stands in for a small disk in tests: `PRAGMA max_page_count`.
    #[doc(hidden)]
    pub max_page_count: Option<u32>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            // A second of mismatches, at a rate far above that of any service whose mismatches are worth reading.
            queue_records: 8_192,
            // A quarter of what the process may use at saturation.
            queue_bytes: 16 << 20,
            // Larger batches gain little and hold the write lock for longer.
            batch_rows: 1_024,
            batch_interval: MAX_BATCH_INTERVAL,
            retention: Retention::default(),
            // The usual drain of twenty seconds, and the last writes.
            handover: Duration::from_secs(40),
            max_page_count: None,
        }
    }
}

/// The result of a writer that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinishReport {
    /// Rows written since it was opened; a tally counts once per write.
    pub rows_written: u64,
    /// Records dropped since it was opened, for whatever reason.
    pub records_dropped: u64,
    /// Tallies that the store lacks: 0 unless the last writes failed.
    pub unwritten_tallies: usize,
    /// Records that wait on disk for a Kafka broker; they are sent at the next start.
    pub spooled_records: u64,
    /// The last error of the store, if its last write failed.
    pub failure: Option<String>,
}

/// What every writer thread is given, whatever its store.
struct WriterInputs {
    book: Arc<TallyBook>,
    records: Receiver<Queued>,
    /// Carries the deadline when the writer is to end; closed when nobody waits for it any more.
    finish: Receiver<Instant>,
    /// The byte limit of the queue; bytes are released when their records are written.
    bytes: Arc<Bytes>,
    status: Arc<WriterStatus>,
    options: WriterOptions,
}

/// What the thread does until it is told to finish. Where the thread opens the store, it sends the result of the first
/// attempt.
type Work = Box<dyn FnOnce(Opened) -> FinishReport + Send>;

/// Prepares the work of the thread. An invalid setting of the store is an error here.
fn work(store: &StoreConfig, inputs: WriterInputs) -> Result<Work, StoreError> {
    Ok(match &store.url {
        StoreUrl::Sqlite(path) => {
            let (path, pages) = (path.clone(), inputs.options.max_page_count);
            let handover = inputs.options.handover;
            let book = Arc::clone(&inputs.book);
            let open: Opener<_> =
                Box::new(move || SqliteStore::open(&path, pages, &book.begun(), handover));
            Box::new(move |opened| Worker::new(open, inputs).run(&opened))
        }
        StoreUrl::Kafka(url) => {
            let writer = KafkaWriter::open(url, &store.kafka, &store.spool, inputs)?;
            Box::new(move |opened| {
                drop(opened);
                writer.run()
            })
        }
        StoreUrl::ClickHouse(_) => {
            let store = store.clone();
            let open: Opener<_> = Box::new(move || ClickHouseStore::open(&store));
            Box::new(move |opened| Worker::new(open, inputs).run(&opened))
        }
    })
}

/// The writer thread and its queue.
pub struct Writer {
    sender: RecordSender,
    finish: Sender<Instant>,
    /// Closed by the thread when it ends.
    ended: Receiver<()>,
    thread: Option<JoinHandle<FinishReport>>,
    status: Arc<WriterStatus>,
}

impl Writer {
    /// Starts the thread, which opens the store, creates it if it does not exist, and migrates its schema.
    ///
    /// Only what another attempt cannot fix is an error ([`StoreError::is_configuration`]). If the store cannot be
    /// opened now, or takes long, the thread keeps trying; meanwhile [`Writer::health`] says why, and counts stay in
    /// memory.
    pub fn open(
        store: &StoreConfig,
        book: Arc<TallyBook>,
        mut options: WriterOptions,
    ) -> Result<Self, StoreError> {
        options.batch_interval = options.batch_interval.min(MAX_BATCH_INTERVAL);
        options.batch_rows = options.batch_rows.max(1);
        let status = Arc::new(WriterStatus::default());
        let (sender, records, bytes) = queue::queue(
            options.queue_records,
            options.queue_bytes,
            Arc::clone(&status),
        );
        let (finish, finish_requested) = bounded(1);
        let (ending, ended) = bounded::<()>(0);
        let inputs = WriterInputs {
            book,
            records,
            finish: finish_requested,
            bytes,
            status: Arc::clone(&status),
            options,
        };
        let work = work(store, inputs)?;
        // Without a buffer, so that a send succeeds only if it is received.
        let (opened, outcome) = bounded(0);
        let at_panic = Arc::clone(&status);
        let thread = std::thread::Builder::new()
            .name("parity-writer".to_owned())
            .spawn(move || {
                let _ending = ending;
                catch_unwind(AssertUnwindSafe(move || work(opened))).unwrap_or_else(|_| {
                    at_panic.failed(PANICKED.to_owned(), Timestamp::now());
                    tracing::error!("{PANICKED}");
                    panicked()
                })
            })
            .map_err(StoreError::Thread)?;
        // The channel is closed without a message if there is nothing to wait for.
        if let Ok(Err(error)) = outcome.recv_timeout(START_PATIENCE) {
            return Err(error);
        }
        Ok(Self {
            sender,
            finish,
            ended,
            thread: Some(thread),
            status,
        })
    }

    /// A sender of records to this writer.
    pub fn handle(&self) -> RecordSender {
        self.sender.clone()
    }

    /// How the store is doing.
    pub fn health(&self) -> Health {
        self.status.health()
    }

    /// Adds the `parity_sink_*` metrics to a registry that has no prefix of its own.
    pub fn register(&self, registry: &mut Registry) {
        self.status.metrics.register(registry);
    }

    /// Writes everything that was sent and counted before this call, closes the store and ends the thread. A store that
    /// fails is retried until `deadline` has passed; what is left then is dropped and reported.
    pub fn finish(mut self, deadline: Duration) -> Result<FinishReport, StoreError> {
        self.end(deadline)
    }

    fn end(&mut self, deadline: Duration) -> Result<FinishReport, StoreError> {
        let Some(thread) = self.thread.take() else {
            return Ok(FinishReport::default());
        };
        // Fails if the thread has already ended, which is joined all the same.
        self.finish.try_send(Instant::now() + deadline).ok();
        let limit = deadline + FINISH_GRACE;
        if self.ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            return Err(StoreError::Stuck(limit));
        }
        Ok(thread.join().unwrap_or_else(|_| panicked()))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Err(error) = self.end(DROP_DEADLINE) {
            tracing::error!(%error, "the writer was abandoned");
        }
    }
}

/// Adds a decision to the store, which must exist. A mirror may be writing to it.
pub fn record_decision(store: &StoreConfig, decision: &Decision) -> Result<(), StoreError> {
    let record = Record::Decision(Box::new(decision.clone()));
    add(store, &record, "write the decision to")
}

/// The same with the line of a change.
pub fn record_change(store: &StoreConfig, change: &Audit) -> Result<(), StoreError> {
    let record = Record::Audit(Box::new(change.clone()));
    add(store, &record, "write the line of a change to")
}

fn add(store: &StoreConfig, record: &Record, action: &'static str) -> Result<(), StoreError> {
    match &store.url {
        StoreUrl::Sqlite(path) => sqlite::add(path, record, action),
        StoreUrl::Kafka(url) => Err(StoreError::WriteOnly { url: url.clone() }),
        StoreUrl::ClickHouse(_) => clickhouse::add(store, record, action),
    }
}
