//! The comparing threads of one loaded configuration, and the queue before them.
//!
//! Threads are started before anything is changed, because starting one can fail; what follows cannot. A generation ends
//! when its last request has been compared; one that has not ended at the deadline is counted out as `shutdown`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use crossbeam_channel::{Sender, bounded};
use parity_comparator::Comparator;
use parity_mirror::RecheckReceiver;
use parity_schemas::verdict::Reason;
use parity_sink::tally::GenerationId;
use parity_sink::{OutcomeRecorder, TallyBook, Writer};

use super::attributes::Attributes;
use super::comparing::{Comparing, ComparingContext, UnderWay};
use super::queue::{self, Entrance, Queue, Room};
use super::recheck::{RecheckProcess, SecondLooks};
use super::waiting::Stage;
use crate::config::MirrorSettings;

/// The comparing threads of one loaded configuration (a generation of the mirror), and the queue before them.
pub(super) struct Generation {
    /// `None` once another configuration is in force, which closes the queue.
    pub(super) entrance: Option<Arc<Entrance>>,
    /// What the mirror must send again, until it is given to it.
    pub(super) to_ask_again: Option<RecheckReceiver>,
    queue: Arc<Queue>,
    threads: Vec<Thread>,
    book: Arc<TallyBook>,
    /// The counts that it adds to.
    counts: GenerationId,
}

/// Comparing threads that wait for their [`Comparing`]. They are started first, because starting a thread can fail.
pub(super) struct Idle(Vec<(Sender<Comparing>, JoinHandle<()>)>);

struct Thread {
    handle: JoinHandle<()>,
    under_way: UnderWay,
}

/// Where outcomes go, and what the process knows of second looks: all outlive generations.
pub(super) struct Sinks<'a> {
    pub(super) book: &'a Arc<TallyBook>,
    pub(super) writer: &'a Writer,
    pub(super) rechecks: &'a Arc<RecheckProcess>,
}

impl Idle {
    pub(super) fn start(settings: &MirrorSettings, alive: &Sender<()>) -> Result<Self> {
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
    pub(super) fn start(
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
            may_wait: settings.may_wait,
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
                    attributes: Attributes::new(context.attributes.as_ref(), book),
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

    pub(super) fn has_ended(&self) -> bool {
        self.threads
            .iter()
            .all(|thread| thread.handle.is_finished())
    }

    /// Counts what still waits as `shutdown`; returns how many.
    pub(super) fn settle_waiting(&self) -> usize {
        let mut left = 0;
        let recorder = self.recorder();
        self.queue.take_all(|waiting| {
            left += usize::from(matches!(waiting.stage, Stage::First(..)));
            waiting.not_compared(&recorder, Reason::Shutdown);
        });
        left
    }

    /// Counts what is still being compared as `shutdown`; returns how many.
    pub(super) fn settle_under_way(&self) -> usize {
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
    pub(super) fn join(self) {
        for Thread { handle, .. } in self.threads {
            // Panics are caught per exchange. One outside of an exchange has been logged by the panic hook.
            if handle.is_finished() && handle.join().is_err() {
                tracing::error!("a comparing thread ended by a panic");
            }
        }
    }
}

fn comparison_limits(settings: &MirrorSettings) -> parity_comparator::Limits {
    parity_comparator::Limits {
        decoded_bytes: settings.mirror.policy.limits.body,
        ..parity_comparator::Limits::default()
    }
}
