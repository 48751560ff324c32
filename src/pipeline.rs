//! The threads and channels that an exchange passes through after the proxy, and the order in which they drain.
//!
//! ```text
//! mirror workers ──Observer──► queue ──► comparing threads ──► tally book, record queue ──► writer thread
//! ```
//!
//! [`Pipeline`] owns the queue and its threads; the writer owns the store. Draining follows the data: when the proxy has
//! stopped, the queue is closed and emptied, then the writer writes the rest. The drain has a deadline: exchanges that
//! are not compared by then are counted as `shutdown`. The proxy never waits for any of this: when the queue is full, the
//! request ends as `queue_full`.

mod comparing;
mod fair;
mod pledge;
mod queue;
mod recheck;
mod terms;
mod waiting;

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use parity_comparator::Comparator;
use parity_comparator::redact::Redactor;
use parity_mirror::{Observer, Receipt, RecheckReceiver};
use parity_schemas::clients::ClientOutcome;
use parity_schemas::exchange::Exchange;
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;
use parity_sink::tally::{GenerationId, TargetKey};
use parity_sink::{Epoch, OutcomeRecorder, TallyBook, TallyConfig, Writer, WriterOptions, tally};
use prometheus_client::registry::Registry;

use self::comparing::{Comparing, ComparingContext, UnderWay};
use self::queue::{Entrance, Queue, Room};
use self::recheck::{RecheckProcess, SecondLooks};
use self::waiting::{Stage, Waiting};
use crate::config::MirrorSettings;

/// Least time to compare what was captured at the very end of a drain.
const LAST_COMPARISONS: Duration = Duration::from_secs(1);
/// How long to wait for comparisons that are still running at the deadline. A comparison is bounded in its steps and takes
/// a tenth of this with bodies of the default limit. One that takes longer is abandoned.
const UNDER_WAY: Duration = Duration::from_secs(1);
/// Time for the store to write the rest after that. If it takes longer, an error is reported instead of waiting on.
const LAST_WRITES: Duration = Duration::from_secs(4);

/// The comparing threads and the writer behind them.
pub(crate) struct Pipeline {
    book: Arc<TallyBook>,
    writer: Writer,
    /// Compares under the configuration that is in force.
    current: Generation,
    /// Compare what began under earlier configurations. Each ends when its last request has been compared.
    retired: Vec<Generation>,
    /// Set at the deadline for comparing.
    over: Arc<AtomicBool>,
    /// Each comparing thread holds a clone of `alive`. When all have ended, `ended` is disconnected.
    alive: Sender<()>,
    ended: Receiver<()>,
    /// What is known of second looks.
    rechecks: Arc<RecheckProcess>,
    redaction_key: Vec<u8>,
    instance: String,
}

/// The comparing threads of one loaded configuration (a generation of the mirror), and the queue before them.
struct Generation {
    /// `None` once another configuration is in force, which closes the queue.
    entrance: Option<Arc<Entrance>>,
    /// What the mirror must send again, until it is given to it.
    to_ask_again: Option<RecheckReceiver>,
    queue: Arc<Queue>,
    threads: Vec<Thread>,
    book: Arc<TallyBook>,
    /// The counts that it adds to.
    counts: GenerationId,
}

/// Comparing threads that wait for their [`Comparing`]. They are started first, because starting a thread can fail.
struct Idle(Vec<(Sender<Comparing>, JoinHandle<()>)>);

struct Thread {
    handle: JoinHandle<()>,
    under_way: UnderWay,
}

impl Pipeline {
    /// How much longer than the drain the end of the pipeline may take: the last comparisons, those still running at
    /// their deadline, the last writes, and the write still running at theirs.
    pub(crate) const AFTER_DRAIN: Duration = LAST_COMPARISONS
        .saturating_add(UNDER_WAY)
        .saturating_add(LAST_WRITES)
        .saturating_add(parity_sink::write::FINISH_GRACE);

    /// Opens the store and starts the threads.
    pub(crate) fn start(settings: &MirrorSettings) -> Result<Self> {
        let redactor = redactor(settings, &settings.redaction_key)?;
        let mut counting = TallyConfig::new(
            settings.identity.clone(),
            settings.instance.clone(),
            rule_ids(settings),
        );
        counting.kept = settings.retention.tallies;
        let target_key = TargetKey::new(&settings.redaction_key);
        target_key.name().clone_into(&mut counting.target_key);
        let book = TallyBook::new(counting);
        book.begin_terms(terms::terms(settings));
        let options = WriterOptions {
            retention: settings.retention.clone(),
            ..WriterOptions::default()
        };
        let writer = Writer::open(&settings.store, Arc::clone(&book), options)
            .with_context(|| format!("cannot open the store {}", settings.store))?;
        let context = ComparingContext {
            redactor,
            target_key,
            identity: settings.identity.clone(),
            instance: settings.instance.clone(),
        };
        let (alive, ended) = bounded(0);
        let over = Arc::default();
        let idle = Idle::start(settings, &alive)?;
        let rechecks = RecheckProcess::new();
        let sinks = Sinks {
            book: &book,
            writer: &writer,
            rechecks: &rechecks,
        };
        let current = Generation::start(idle, settings, context, &sinks, &over);
        Ok(Self {
            current,
            rechecks,
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

    /// Compares new requests under new settings. Requests that began before are compared and counted under the old ones.
    /// On an error nothing changes.
    pub(crate) fn reload(&mut self, settings: &MirrorSettings) -> Result<()> {
        let context = ComparingContext {
            // One key as long as the process lives: under another one, equal values would get different hashes.
            redactor: redactor(settings, &self.redaction_key)?,
            target_key: TargetKey::new(&self.redaction_key),
            identity: settings.identity.clone(),
            instance: self.instance.clone(),
        };
        let idle = Idle::start(settings, &self.alive)?;
        self.change(idle, settings, context);
        Ok(())
    }

    /// The part of [`Self::reload`] that cannot fail.
    fn change(&mut self, idle: Idle, settings: &MirrorSettings, context: ComparingContext) {
        self.book
            .begin_generation(settings.identity.clone(), rule_ids(settings));
        self.book.begin_terms(terms::terms(settings));
        let sinks = Sinks {
            book: &self.book,
            writer: &self.writer,
            rechecks: &self.rechecks,
        };
        let next = Generation::start(idle, settings, context, &sinks, &self.over);
        let mut before = std::mem::replace(&mut self.current, next);
        before.entrance = None;
        self.retired.retain(|generation| !generation.has_ended());
        self.retired.push(before);
    }

    /// Registers the counts of requests and verdicts, and the metrics of the writer.
    pub(crate) fn register_metrics(&self, registry: &mut Registry) {
        tally::register(Arc::clone(&self.book), registry);
        self.writer.register(registry);
        self.rechecks.register_metrics(registry);
    }

    /// The counts since the process began.
    pub(crate) fn book(&self) -> Arc<TallyBook> {
        Arc::clone(&self.book)
    }

    /// The writer, for its health.
    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Makes the observer of each worker of the proxy, under the settings now in force.
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

    /// What the mirror must send again, under the settings now in force; `None` if nothing, or if it was taken before.
    pub(crate) fn take_rechecks(&mut self) -> Option<RecheckReceiver> {
        self.current.to_ask_again.take()
    }

    /// Compares what waits until `until`, but for one second at least; counts the rest as `shutdown`, writes the counts
    /// and closes the store. Call it when the proxy has stopped.
    ///
    /// Unless `until` has passed, it returns [`Self::AFTER_DRAIN`] after `until` at the latest.
    pub(crate) fn finish(mut self, until: Instant) -> Result<()> {
        self.current.entrance = None;
        drop(self.alive);
        let until = until.max(Instant::now() + LAST_COMPARISONS);
        let generations = || self.retired.iter().chain([&self.current]);
        if self.ended.recv_deadline(until) == Err(RecvTimeoutError::Timeout) {
            self.over.store(true, Ordering::Relaxed);
            let left: usize = generations().map(Generation::settle_waiting).sum();
            // A running comparison cannot be interrupted, so the wait for it is bounded.
            let _ended = self.ended.recv_timeout(UNDER_WAY);
            let left = left
                + generations()
                    .map(Generation::settle_under_way)
                    .sum::<usize>();
            if left > 0 {
                tracing::warn!(
                    requests = left,
                    "the drain was over before all answers were compared; the rest is counted as shutdown"
                );
            }
        }
        for generation in self.retired.into_iter().chain([self.current]) {
            generation.join();
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

/// Where outcomes go, and what the process knows of second looks: all outlive generations.
struct Sinks<'a> {
    book: &'a Arc<TallyBook>,
    writer: &'a Writer,
    rechecks: &'a Arc<RecheckProcess>,
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
                        // Nothing comes when another thread could not be started: then this one ends, too.
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

impl Generation {
    fn start(
        idle: Idle,
        settings: &MirrorSettings,
        context: ComparingContext,
        sinks: &Sinks<'_>,
        over: &Arc<AtomicBool>,
    ) -> Self {
        let Sinks { book, writer, .. } = *sinks;
        let count = idle.0.len();
        let limits = comparison_limits(settings);
        let room = Room {
            exchanges: settings.queue,
            threads: count,
            decoded: limits.decoded_bytes,
        };
        let (entrance, queue) = queue::queue(room, over);
        let context = Arc::new(context);
        let generation = book.generation();
        let (asked_again, to_ask_again) = parity_mirror::rechecks(settings.recheck.in_flight);
        let looks = Arc::new(SecondLooks::new(
            (settings.recheck, settings.mirror.policy.limits.shadow_bytes),
            sinks.rechecks,
            asked_again,
            &entrance,
            (
                &settings.identity,
                book.recorder(generation),
                writer.handle(),
            ),
        ));
        let threads = idle
            .0
            .into_iter()
            .map(|(tell, handle)| {
                let under_way = UnderWay::default();
                let comparing = Comparing {
                    comparator: Comparator::new(Arc::clone(&settings.rules), limits),
                    recorder: book.recorder(generation),
                    book: Arc::clone(book),
                    looks: Arc::clone(&looks),
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
            to_ask_again: (settings.recheck.rate > 0).then_some(to_ask_again),
            queue,
            threads,
            book: Arc::clone(book),
            counts: generation,
        }
    }

    /// Counts what no thread will compare. Made only when needed: a run ends when its last recorder is dropped.
    fn recorder(&self) -> OutcomeRecorder {
        self.book.recorder(self.counts)
    }

    fn has_ended(&self) -> bool {
        self.threads
            .iter()
            .all(|thread| thread.handle.is_finished())
    }

    /// Counts what still waits as `shutdown`; returns how many.
    fn settle_waiting(&self) -> usize {
        let mut left = 0;
        let recorder = self.recorder();
        self.queue.take_all(|waiting| {
            left += usize::from(matches!(waiting.stage, Stage::First(_)));
            waiting.not_compared(&recorder, Reason::Shutdown);
        });
        left
    }

    /// Counts what is still being compared as `shutdown`; returns how many.
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

    /// Joins the threads that have ended. One that still runs has missed the deadline and ends with the process.
    fn join(self) {
        for Thread { handle, .. } in self.threads {
            // Panics are caught per exchange. One outside of an exchange has been logged by the panic hook.
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

/// Takes the reports of a worker of the proxy. All of it runs on the client's path and must not block.
struct Observing {
    recorder: OutcomeRecorder,
    /// `None` once this generation has ended.
    entrance: Option<Arc<Entrance>>,
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
        let stage = Stage::First(epoch);
        let waiting = Waiting { exchange, stage };
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
