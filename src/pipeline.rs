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

mod attributes;
mod comparing;
mod fair;
mod generation;
mod pledge;
mod queue;
mod recheck;
mod stopwatch;
mod terms;
mod waiting;

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use parity_comparator::redact::Redactor;
use parity_mirror::{Observer, Receipt, RecheckReceiver, Recorder, Tried};
use parity_schemas::clients::ClientOutcome;
use parity_schemas::exchange::Exchange;
use parity_schemas::lately::WaitedFor;
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;
use parity_sink::tally::TargetKey;
use parity_sink::{Epoch, OutcomeRecorder, TallyBook, TallyConfig, Writer, WriterOptions, tally};
use prometheus_client::registry::Registry;

use self::comparing::ComparingContext;
use self::generation::{Generation, Idle, Sinks};
use self::queue::Entrance;
use self::recheck::RecheckProcess;
use self::waiting::{Stage, Waiting};
use crate::config::MirrorSettings;
use crate::recording::{self, Entrance as RecordingEntrance, Recording};

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
    /// Live requests for a replay, if they are recorded.
    recording: Option<Recording>,
    /// Hides secrets under the settings now in force.
    redactor: Arc<Redactor>,
}

impl Pipeline {
    /// How long a process that drains for so long may write beside the one that has taken over from it.
    pub(crate) const fn handover(drain: Duration) -> Duration {
        drain.saturating_add(Self::AFTER_DRAIN)
    }

    /// How much longer than the drain the end of the pipeline may take: the last comparisons, those still running at
    /// their deadline, the last writes, and the write still running at theirs.
    pub(crate) const AFTER_DRAIN: Duration = LAST_COMPARISONS
        .saturating_add(UNDER_WAY)
        .saturating_add(recording::LAST_LINES)
        .saturating_add(LAST_WRITES)
        .saturating_add(parity_sink::write::FINISH_GRACE);

    /// Opens the store and starts the threads.
    pub(crate) fn start(settings: &MirrorSettings) -> Result<Self> {
        let redactor = Arc::new(redactor(settings, &settings.redaction_key)?);
        let recording = settings.recording.as_ref();
        let recording = recording.map(Recording::start).transpose()?;
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
        book.set_candidate_deadline(settings.mirror.policy.limits.candidate_deadline);
        let options = WriterOptions {
            retention: settings.retention.clone(),
            handover: Self::handover(settings.mirror.policy.limits.drain),
            ..WriterOptions::default()
        };
        let writer = Writer::open(&settings.store, Arc::clone(&book), options)
            .with_context(|| format!("cannot open the store {}", settings.store))?;
        let context = ComparingContext {
            redactor: Arc::clone(&redactor),
            target_key,
            identity: settings.identity.clone(),
            instance: settings.instance.clone(),
            attributes: settings.attributes.clone(),
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
            recording,
            redactor,
        })
    }

    /// Compares new requests under new settings. Requests that began before are compared and counted under the old ones.
    /// On an error nothing changes.
    pub(crate) fn reload(&mut self, settings: &MirrorSettings) -> Result<()> {
        let context = ComparingContext {
            // One key as long as the process lives: under another one, equal values would get different hashes.
            redactor: Arc::new(redactor(settings, &self.redaction_key)?),
            target_key: TargetKey::new(&self.redaction_key),
            identity: settings.identity.clone(),
            instance: self.instance.clone(),
            attributes: settings.attributes.clone(),
        };
        let idle = Idle::start(settings, &self.alive)?;
        self.redactor = Arc::clone(&context.redactor);
        self.change(idle, settings, context);
        Ok(())
    }

    /// The part of [`Self::reload`] that cannot fail.
    fn change(&mut self, idle: Idle, settings: &MirrorSettings, context: ComparingContext) {
        self.book
            .begin_generation(settings.identity.clone(), rule_ids(settings));
        self.book.begin_terms(terms::terms(settings));
        self.book
            .set_candidate_deadline(settings.mirror.policy.limits.candidate_deadline);
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
        if let Some(recording) = &self.recording {
            recording.counts().register(registry);
        }
    }

    /// The counts since the process began.
    pub(crate) fn book(&self) -> Arc<TallyBook> {
        Arc::clone(&self.book)
    }

    /// What was recorded for a replay, if anything is.
    pub(crate) fn recorded(&self) -> Option<Arc<recording::Counts>> {
        let recording = self.recording.as_ref()?;
        Some(Arc::clone(recording.counts()))
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
        let recording = self.recording.as_ref();
        let recording = recording.and_then(|recording| recording.entrance(&self.redactor));
        move |_worker| {
            Rc::new(Observing {
                recorder: book.recorder(generation),
                entrance: entrance.clone(),
                recording: recording.clone(),
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
        if let Some(recording) = &mut self.recording {
            recording.end();
        }
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
        if let Some(recording) = self.recording {
            // It is told, and no reason to end otherwise: clients come first.
            let _lost = recording.finish(until.max(Instant::now()) + recording::LAST_LINES);
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

fn redactor(settings: &MirrorSettings, key: &[u8]) -> Result<Redactor> {
    Redactor::new(&settings.redact, key, Arc::clone(&settings.rules))
        .context("the redaction settings")
}

fn rule_ids(settings: &MirrorSettings) -> Vec<String> {
    settings.rules.ids().map(str::to_owned).collect()
}

/// Takes the reports of a worker of the proxy. All of it runs on the client's path and must not block.
struct Observing {
    recorder: OutcomeRecorder,
    /// `None` once this generation has ended.
    entrance: Option<Arc<Entrance>>,
    recording: Option<RecordingEntrance>,
}

impl Observing {
    /// Offers it to the comparing threads.
    fn compare(&self, exchange: Exchange, receipt: Receipt, tried: Option<Tried>) {
        let epoch = Epoch::from_number(receipt.0);
        let stage = Stage::First(epoch, tried);
        let waiting = Waiting { exchange, stage };
        match &self.entrance {
            Some(entrance) => entrance.offer(waiting, |shed| {
                shed.not_compared(&self.recorder, Reason::QueueFull);
            }),
            None => waiting.not_compared(&self.recorder, Reason::Shutdown),
        }
    }
}

impl Observer for Observing {
    fn received(&self, route: &Arc<Route>) -> Receipt {
        Receipt(self.recorder.received(route).number())
    }

    fn begun(&self) -> Receipt {
        Receipt(self.recorder.begun().number())
    }

    fn named(&self, route: &Arc<Route>) {
        self.recorder.named(route);
    }

    fn not_compared(&self, route: &Arc<Route>, reason: Reason, receipt: Receipt) {
        self.recorder.not_compared(route, reason);
        self.recorder.settled(Epoch::from_number(receipt.0));
    }

    fn exchange(&self, exchange: Exchange, receipt: Receipt) {
        self.compare(exchange, receipt, None);
    }

    fn exchange_tried(&self, exchange: Exchange, receipt: Receipt, tried: Tried) {
        self.compare(exchange, receipt, Some(tried));
    }

    fn answered(&self, route: &Arc<Route>, status: u16) {
        self.recorder.answered(route, status);
    }

    fn client(&self, route: &Arc<Route>, outcome: ClientOutcome) {
        self.recorder.client(route, outcome);
    }

    fn gave_up(&self, waited_for: WaitedFor) {
        self.recorder.gave_up(waited_for);
    }

    fn recorder(&self) -> Option<Rc<dyn Recorder>> {
        self.recording.as_ref().map(RecordingEntrance::recorder)
    }
}
