//! The flow of DESIGN.md §1 as threads and channels, and the order in which it drains.
//!
//! ```text
//! mirror workers ──Observer──► bounded queue ──► comparing threads ──► tally book, record queue ──► writer thread
//! ```
//!
//! Ownership is linear: [`Pipeline`] owns the queue and its threads, the writer owns the store. Draining follows the
//! data: when the proxy has stopped, the queue is closed and emptied, then the writer writes the rest. The proxy never
//! waits for any of it: a full queue is an outcome (`queue_full`), not a delay.

use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use crossbeam_channel::{Receiver, Sender, TryRecvError, TrySendError, bounded};
use parity_comparator::redact::{RecordContext, Redactor};
use parity_comparator::{Comparator, Comparison};
use parity_mirror::Observer;
use parity_schemas::exchange::Exchange;
use parity_schemas::id::new_id;
use parity_schemas::record::Record;
use parity_schemas::route::Route;
use parity_schemas::tally::{Group, Identity};
use parity_schemas::verdict::{Reason, Verdict};
use parity_sink::{RecordSender, Recorder, TallyBook, TallyConfig, Writer, WriterOptions, tally};
use prometheus_client::registry::Registry;
use uuid::Uuid;

use crate::config::MirrorSettings;

/// Time for the store to take the rest at shutdown; a store that takes longer is counted as failed, not waited for.
const FINISH_DEADLINE: Duration = Duration::from_secs(10);

/// A comparing thread that finds the queue empty looks again after a pause instead of waiting to be woken: waking it
/// for each exchange was measured to cost the proxy a tenth of its CPU. A millisecond at 16,000 requests a second is
/// 16 exchanges of 4,096.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
/// A mirror without traffic looks a hundred times a second, which costs nothing that can be measured; a burst after a
/// silence waits no longer than this.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// The comparing threads and the writer behind them.
pub(crate) struct Pipeline {
    book: Arc<TallyBook>,
    writer: Writer,
    /// Under the configuration that holds now.
    current: Stage,
    /// Under those before it: each ends when the last request that began under it has been compared.
    retired: Vec<JoinHandle<()>>,
    redaction_key: Vec<u8>,
    instance: String,
}

/// Comparing threads behind a queue, under one configuration.
struct Stage {
    queue: Sender<Exchange>,
    threads: Vec<JoinHandle<()>>,
}

impl Pipeline {
    /// Opens the store and starts the threads; the proxy is not touched.
    pub(crate) fn start(settings: &MirrorSettings) -> Result<Self> {
        let redactor = redactor(settings, &settings.redaction_key)?;
        let book = TallyBook::new(TallyConfig::new(
            settings.identity.clone(),
            settings.instance.clone(),
            rule_ids(settings),
        ));
        let options = WriterOptions {
            retention: settings.retention.clone(),
            ..WriterOptions::default()
        };
        let writer = Writer::open(&settings.store, Arc::clone(&book), options)
            .with_context(|| format!("cannot open the store {}", settings.store))?;
        let shared = Shared {
            redactor,
            identity: settings.identity.clone(),
            instance: settings.instance.clone(),
        };
        Ok(Self {
            current: Stage::start(settings, shared, &book, &writer)?,
            book,
            writer,
            retired: Vec::new(),
            redaction_key: settings.redaction_key.clone(),
            instance: settings.instance.clone(),
        })
    }

    /// Compares what is observed from now on under other settings. What began before ends under the old ones, and is
    /// filed under them. On an error everything stays as it was.
    pub(crate) fn reload(&mut self, settings: &MirrorSettings) -> Result<()> {
        let shared = Shared {
            // The key of a process is for its life, or equal values would not look equal in its record.
            redactor: redactor(settings, &self.redaction_key)?,
            identity: settings.identity.clone(),
            instance: self.instance.clone(),
        };
        self.book
            .turn(settings.identity.clone(), rule_ids(settings));
        let next = Stage::start(settings, shared, &self.book, &self.writer)?;
        let before = std::mem::replace(&mut self.current, next);
        self.retired.retain(|thread| !thread.is_finished());
        self.retired.extend(before.threads);
        Ok(())
    }

    /// What was received, compared and found, and how the store takes it.
    pub(crate) fn register_metrics(&self, registry: &mut Registry) {
        tally::register(Arc::clone(&self.book), registry);
        self.writer.register(registry);
    }

    /// The writer, for its health.
    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// What makes an observer for each worker of the proxy, under the settings that hold now.
    pub(crate) fn observers(
        &self,
    ) -> impl Fn(usize) -> Rc<dyn Observer> + Send + Sync + use<> + 'static {
        let (book, queue) = (Arc::clone(&self.book), self.current.queue.clone());
        let edition = book.edition();
        move |_worker| {
            Rc::new(Observing {
                recorder: book.recorder(edition),
                queue: queue.clone(),
            }) as Rc<dyn Observer>
        }
    }

    /// Compares what is queued, writes what is counted, closes the store. To be called when the proxy has stopped.
    pub(crate) fn finish(self) -> Result<()> {
        drop(self.current.queue);
        for thread in self.retired.into_iter().chain(self.current.threads) {
            // Panics are caught per exchange; one that gets here has been logged by its hook.
            if thread.join().is_err() {
                tracing::error!("a comparing thread ended by a panic");
            }
        }
        let report = self
            .writer
            .finish(FINISH_DEADLINE)
            .context("the store could not be closed")?;
        tracing::debug!(?report, "store closed");
        if let Some(failure) = report.failure {
            bail!("the last results could not be stored: {failure}");
        }
        Ok(())
    }
}

impl Stage {
    fn start(
        settings: &MirrorSettings,
        shared: Shared,
        book: &Arc<TallyBook>,
        writer: &Writer,
    ) -> Result<Self> {
        let (queue, exchanges) = bounded(settings.queue);
        let context = Arc::new(shared);
        let edition = book.edition();
        // Comparing costs about a third of proxying, so one thread serves three workers.
        let threads = settings.mirror.workers.get().div_ceil(3);
        let threads = (0..threads)
            .map(|index| {
                let mut comparing = Comparing {
                    comparator: Comparator::new(
                        Arc::clone(&settings.rules),
                        comparison_limits(settings),
                    ),
                    recorder: book.recorder(edition),
                    book: Arc::clone(book),
                    records: writer.handle(),
                    context: Arc::clone(&context),
                    exchanges: exchanges.clone(),
                };
                std::thread::Builder::new()
                    .name(format!("compare-{index}"))
                    .spawn(move || comparing.run())
                    .context("cannot start a comparing thread")
            })
            .collect::<Result<_>>()?;
        Ok(Self { queue, threads })
    }
}

fn redactor(settings: &MirrorSettings, key: &[u8]) -> Result<Redactor> {
    Redactor::new(&settings.redact, key, Arc::clone(&settings.rules))
        .context("the redaction settings")
}

fn rule_ids(settings: &MirrorSettings) -> Vec<String> {
    settings.rules.ids().map(str::to_owned).collect()
}

fn comparison_limits(settings: &MirrorSettings) -> parity_comparator::Limits {
    parity_comparator::Limits {
        decoded_bytes: settings.mirror.policy.limits.body,
        ..parity_comparator::Limits::default()
    }
}

/// What a worker of the proxy tells us; everything here is on the client's path and must not block.
struct Observing {
    recorder: Recorder,
    queue: Sender<Exchange>,
}

impl Observer for Observing {
    fn received(&self, route: &Arc<Route>) {
        self.recorder.received(route);
    }

    fn not_compared(&self, route: &Arc<Route>, reason: Reason) {
        self.recorder.not_compared(route, reason);
    }

    fn exchange(&self, exchange: Exchange) {
        match self.queue.try_send(exchange) {
            Ok(()) => {}
            Err(TrySendError::Full(exchange)) => self
                .recorder
                .not_compared(&exchange.route, Reason::QueueFull),
            Err(TrySendError::Disconnected(exchange)) => self
                .recorder
                .not_compared(&exchange.route, Reason::Shutdown),
        }
    }

    fn answered(&self, route: &Arc<Route>, status: u16) {
        self.recorder.answered(route, status);
    }
}

/// What all comparing threads share.
struct Shared {
    redactor: Redactor,
    identity: Identity,
    instance: String,
}

/// One comparing thread.
struct Comparing {
    comparator: Comparator,
    recorder: Recorder,
    book: Arc<TallyBook>,
    records: RecordSender,
    context: Arc<Shared>,
    exchanges: Receiver<Exchange>,
}

impl Comparing {
    /// Until the queue is closed and empty.
    fn run(&mut self) {
        let mut pause = SHORTEST_PAUSE;
        loop {
            match self.exchanges.try_recv() {
                Ok(exchange) => {
                    pause = SHORTEST_PAUSE;
                    self.contain(&exchange);
                }
                Err(TryRecvError::Empty) => {
                    std::thread::sleep(pause);
                    pause = LONGEST_PAUSE.min(pause * 2);
                }
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }

    /// A bug in comparing code costs one exchange, not the thread.
    fn contain(&mut self, exchange: &Exchange) {
        // The scratch space of the comparator is cleared at the beginning of each comparison, so that a broken one
        // leaves nothing behind.
        let settled = std::panic::catch_unwind(AssertUnwindSafe(|| self.settle(exchange)));
        if settled.is_err() {
            self.recorder
                .not_compared(&exchange.route, Reason::InternalPanic);
        }
    }

    /// Counts the outcome last, so that a panic anywhere before leaves it to the caller to count.
    fn settle(&mut self, exchange: &Exchange) {
        let comparison = self.comparator.compare(exchange);
        let route = &exchange.route;
        if !comparison.rule_hits.is_empty() {
            self.recorder.rule_hits(route, &comparison.rule_hits);
        }
        let micros = |elapsed: Duration| u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let legacy_us = micros(exchange.legacy.elapsed);
        let candidate_us = micros(exchange.candidate.elapsed);
        match comparison.verdict {
            Verdict::NotCompared(reason) => self.recorder.not_compared(route, reason),
            Verdict::Match => self.recorder.matched(route, legacy_us, candidate_us),
            Verdict::Mismatch => {
                let id = new_id();
                let groups = self.record(exchange, &comparison, id);
                let time = exchange.time;
                self.recorder
                    .mismatch(route, legacy_us, candidate_us, id, time, &groups);
            }
        }
    }

    /// Hands the redacted mismatch to the writer and gives its groups.
    fn record(&self, exchange: &Exchange, comparison: &Comparison, id: Uuid) -> Vec<Group> {
        let groups = self.context.redactor.groups(exchange, comparison);
        let record = self.context.redactor.mismatch(
            exchange,
            comparison,
            RecordContext {
                id,
                identity: &self.context.identity,
                instance: &self.context.instance,
                groups: &groups,
                keep_sample: self.book.keep_sample(&groups),
            },
        );
        // A full queue costs this row, counted by the sender; the count of the verdict comes by the tally.
        let _counted = self.records.send(Record::Mismatch(Box::new(record)));
        groups
    }
}
