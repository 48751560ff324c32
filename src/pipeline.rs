//! What becomes of an exchange, as threads and channels, and the order in which it drains.
//!
//! ```text
//! mirror workers ──Observer──► queue ──► comparing threads ──► tally book, record queue ──► writer thread
//! ```
//!
//! Ownership is linear: [`Pipeline`] owns the queue and its threads, the writer owns the store. Draining follows the
//! data: when the proxy has stopped, the queue is closed and emptied, then the writer writes the rest. It ends in time,
//! too: what has not been compared by then is counted as `shutdown`. The proxy never waits for any of it: a full queue
//! is an outcome (`queue_full`), not a delay.

mod comparing;
mod fair;
mod queue;

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use parity_comparator::Comparator;
use parity_comparator::redact::Redactor;
use parity_mirror::{Observer, Receipt};
use parity_schemas::clients::ClientOutcome;
use parity_schemas::exchange::Exchange;
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;
use parity_sink::tally::GenerationId;
use parity_sink::{Epoch, OutcomeRecorder, TallyBook, TallyConfig, Writer, WriterOptions, tally};
use prometheus_client::registry::Registry;

use self::comparing::{Comparing, Shared, UnderWay};
use self::queue::{Entrance, Queue, Room, Waiting};
use crate::config::MirrorSettings;

/// Time to compare what was captured in the last moment of a drain.
const LAST_COMPARISONS: Duration = Duration::from_secs(1);
/// Time for a comparison that is under way when the time to compare is over. It is bounded in its steps, and takes a
/// tenth of this with bodies of the usual limit; one that takes longer is left to itself.
const UNDER_WAY: Duration = Duration::from_secs(1);
/// Time for the store to take the rest after that. One that takes longer is told of, not waited for.
const LAST_WRITES: Duration = Duration::from_secs(4);

/// The comparing threads and the writer behind them.
pub(crate) struct Pipeline {
    book: Arc<TallyBook>,
    writer: Writer,
    /// Under the configuration that holds now.
    current: Stage,
    /// Under those before it: each ends when the last request that began under it has been compared.
    retired: Vec<Stage>,
    /// Set when the time to compare is over.
    over: Arc<AtomicBool>,
    /// Every comparing thread holds the one end; when all have ended, the other one tells.
    alive: Sender<()>,
    ended: Receiver<()>,
    redaction_key: Vec<u8>,
    instance: String,
}

/// Comparing threads behind a queue, under one configuration.
struct Stage {
    /// `None` once another configuration holds.
    entrance: Option<Entrance>,
    queue: Arc<Queue>,
    threads: Vec<Thread>,
    book: Arc<TallyBook>,
    /// What it counts for.
    generation: GenerationId,
}

/// Comparing threads that wait to be told what to compare. Only making them can fail, so that is done first.
struct Idle(Vec<(Sender<Comparing>, JoinHandle<()>)>);

struct Thread {
    handle: JoinHandle<()>,
    under_way: UnderWay,
}

impl Pipeline {
    /// How much longer than the drain its end may take: the last comparisons, one that is under way, the last writes
    /// and the one of them that is under way.
    pub(crate) const AFTER_DRAIN: Duration = LAST_COMPARISONS
        .saturating_add(UNDER_WAY)
        .saturating_add(LAST_WRITES)
        .saturating_add(parity_sink::write::FINISH_GRACE);

    /// Opens the store and starts the threads; the proxy is not touched.
    pub(crate) fn start(settings: &MirrorSettings) -> Result<Self> {
        let redactor = redactor(settings, &settings.redaction_key)?;
        let mut counting = TallyConfig::new(
            settings.identity.clone(),
            settings.instance.clone(),
            rule_ids(settings),
        );
        counting.kept = settings.retention.tallies;
        let book = TallyBook::new(counting);
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
        let (alive, ended) = bounded(0);
        let over = Arc::default();
        let idle = Idle::start(settings, &alive)?;
        let current = Stage::start(idle, settings, shared, &book, &writer, &over);
        Ok(Self {
            current,
            book,
            writer,
            retired: Vec::new(),
            over,
            alive,
            ended,
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
        let idle = Idle::start(settings, &self.alive)?;
        self.change(idle, settings, shared);
        Ok(())
    }

    /// Nothing can fail from here on.
    fn change(&mut self, idle: Idle, settings: &MirrorSettings, shared: Shared) {
        self.book
            .begin_generation(settings.identity.clone(), rule_ids(settings));
        let next = Stage::start(idle, settings, shared, &self.book, &self.writer, &self.over);
        let mut before = std::mem::replace(&mut self.current, next);
        before.entrance = None;
        self.retired.retain(|stage| !stage.has_ended());
        self.retired.push(before);
    }

    /// What was received, compared and found, and how the store takes it.
    pub(crate) fn register_metrics(&self, registry: &mut Registry) {
        tally::register(Arc::clone(&self.book), registry);
        self.writer.register(registry);
    }

    /// What was counted since the process began.
    pub(crate) fn book(&self) -> Arc<TallyBook> {
        Arc::clone(&self.book)
    }

    /// The writer, for its health.
    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// What makes an observer for each worker of the proxy, under the settings that hold now.
    pub(crate) fn observers(
        &self,
    ) -> impl Fn(usize) -> Rc<dyn Observer> + Send + Sync + use<> + 'static {
        let (book, entrance) = (Arc::clone(&self.book), self.current.entrance.clone());
        let generation = book.generation();
        move |_worker| {
            Rc::new(Observing {
                recorder: book.recorder(generation),
                entrance: entrance.clone(),
            }) as Rc<dyn Observer>
        }
    }

    /// Compares what waits until `until` has come, or a moment longer if that is now; counts what is left as
    /// `shutdown`, writes what is counted, closes the store. To be called when the proxy has stopped.
    ///
    /// It takes [`Self::AFTER_DRAIN`] longer than `until` at most, if `until` has not passed.
    pub(crate) fn finish(mut self, until: Instant) -> Result<()> {
        self.current.entrance = None;
        drop(self.alive);
        let until = until.max(Instant::now() + LAST_COMPARISONS);
        let stages = || self.retired.iter().chain([&self.current]);
        if self.ended.recv_deadline(until) == Err(RecvTimeoutError::Timeout) {
            self.over.store(true, Ordering::Relaxed);
            let left: usize = stages().map(Stage::settle_waiting).sum();
            // Comparisons under way are bounded in their work, and this bounds the wait for them.
            let _ended = self.ended.recv_timeout(UNDER_WAY);
            let left = left + stages().map(Stage::settle_under_way).sum::<usize>();
            if left > 0 {
                tracing::warn!(
                    requests = left,
                    "the drain was over before all answers were compared; the rest is counted as shutdown"
                );
            }
        }
        for stage in self.retired.into_iter().chain([self.current]) {
            stage.join();
        }
        let left = until.saturating_duration_since(Instant::now());
        let report = self
            .writer
            .finish(left + LAST_WRITES)
            .context("the store could not be closed")?;
        tracing::debug!(?report, "store closed");
        if let Some(failure) = report.failure {
            bail!("the last results could not be stored: {failure}");
        }
        Ok(())
    }
}

impl Idle {
    fn start(settings: &MirrorSettings, alive: &Sender<()>) -> Result<Self> {
        // Comparing costs about a third of proxying, so one thread serves three workers.
        let count = settings.mirror.workers.get().div_ceil(3);
        let threads = (0..count)
            .map(|index| {
                let (tell, told) = bounded::<Comparing>(1);
                let alive = alive.clone();
                let handle = std::thread::Builder::new()
                    .name(format!("compare-{index}"))
                    .spawn(move || {
                        let _alive = alive;
                        // Told nothing, it was for nothing: another thread could not be started.
                        if let Ok(mut comparing) = told.recv() {
                            comparing.run();
                        }
                    })
                    .context("cannot start a comparing thread")?;
                Ok((tell, handle))
            })
            .collect::<Result<_>>()?;
        Ok(Self(threads))
    }
}

impl Stage {
    fn start(
        idle: Idle,
        settings: &MirrorSettings,
        shared: Shared,
        book: &Arc<TallyBook>,
        writer: &Writer,
        over: &Arc<AtomicBool>,
    ) -> Self {
        let count = idle.0.len();
        let limits = comparison_limits(settings);
        let room = Room {
            exchanges: settings.queue,
            threads: count,
            decoded: limits.decoded_bytes,
        };
        let (entrance, queue) = queue::queue(room, over);
        let context = Arc::new(shared);
        let generation = book.generation();
        let threads = idle
            .0
            .into_iter()
            .map(|(tell, handle)| {
                let under_way = UnderWay::default();
                let comparing = Comparing {
                    comparator: Comparator::new(Arc::clone(&settings.rules), limits),
                    recorder: book.recorder(generation),
                    book: Arc::clone(book),
                    records: writer.handle(),
                    context: Arc::clone(&context),
                    queue: Arc::clone(&queue),
                    under_way: under_way.clone(),
                };
                if tell.send(comparing).is_err() {
                    tracing::error!("a comparing thread ended before it began");
                }
                Thread { handle, under_way }
            })
            .collect();
        Self {
            entrance: Some(entrance),
            queue,
            threads,
            book: Arc::clone(book),
            generation,
        }
    }

    /// Counts what no thread comes to. Made when it is needed: a run has ended when nobody can count for it any more.
    fn recorder(&self) -> OutcomeRecorder {
        self.book.recorder(self.generation)
    }

    fn has_ended(&self) -> bool {
        self.threads
            .iter()
            .all(|thread| thread.handle.is_finished())
    }

    /// Counts what still waits; how many that are.
    fn settle_waiting(&self) -> usize {
        let mut left = 0;
        let recorder = self.recorder();
        self.queue.take_all(|waiting| {
            waiting.not_compared(&recorder, Reason::Shutdown);
            left += 1;
        });
        left
    }

    /// Counts what is still being compared; how many that are.
    fn settle_under_way(&self) -> usize {
        let recorder = self.recorder();
        let requests = self
            .threads
            .iter()
            .filter_map(|thread| thread.under_way.take());
        requests
            .map(|request| request.not_compared(&recorder, Reason::Shutdown))
            .count()
    }

    /// Waits for the threads that have ended. One that has not was given its time: it ends with the process.
    fn join(self) {
        for Thread { handle, .. } in self.threads {
            // Panics are caught per exchange; one that gets here has been logged by its hook.
            if handle.is_finished() && handle.join().is_err() {
                tracing::error!("a comparing thread ended by a panic");
            }
        }
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
    recorder: OutcomeRecorder,
    /// `None` where nothing is compared any more.
    entrance: Option<Entrance>,
}

impl Observer for Observing {
    fn received(&self, route: &Arc<Route>) -> Receipt {
        Receipt(self.recorder.received(route).number())
    }

    fn not_compared(&self, route: &Arc<Route>, reason: Reason, receipt: Receipt) {
        self.recorder.not_compared(route, reason);
        self.recorder.settled(Epoch::from_number(receipt.0));
    }

    fn exchange(&self, exchange: Exchange, receipt: Receipt) {
        let epoch = Epoch::from_number(receipt.0);
        let waiting = Waiting { exchange, epoch };
        match &self.entrance {
            Some(entrance) => entrance.offer(waiting, |shed| {
                shed.not_compared(&self.recorder, Reason::QueueFull);
            }),
            None => waiting.not_compared(&self.recorder, Reason::Shutdown),
        }
    }

    fn answered(&self, route: &Arc<Route>, status: u16) {
        self.recorder.answered(route, status);
    }

    fn client(&self, route: &Arc<Route>, outcome: ClientOutcome) {
        self.recorder.client(route, outcome);
    }
}
