//! Sends requests to the services again, on a thread of its own: no worker of the proxy, and so no client, waits for it.
//!
//! Whoever compares answers sends a [`Recheck`] by a [`RecheckSender`], which never waits and has only so many places.
//! After a delay the services are asked one after the other, as by any other shadow. Whoever sent it gets the exchange back
//! with the second answers, or with the reason why there are none. What this thread drops, at the end of the process or by a
//! panic, ends by the drop of its [`RecheckDone`].
//!
//! It sends nothing while shadowing is off or the breaker of the candidate is open. Whether a request may be repeated, and
//! how often, is decided by whoever sends it here.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parity_schemas::exchange::{ByteHold, Capture, Exchange};
use parity_schemas::verdict::Reason;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::counters::OfWorker;
use crate::exchange::{
    self, Answer, Asker, Copied, Meters, ProcessResources, Purpose, Sampling, Services, Serving,
    Side, Terms, Unobserved, WorkerResources,
};
use crate::forwarding::Forwarding;
use crate::limits::Limits;

/// How often idle connections are closed that have been idle for too long.
const SWEEP: Duration = Duration::from_secs(1);

/// Which services are asked again, in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondLook {
    /// The legacy, then the candidate.
    LegacyFirst,
    /// The candidate, then the legacy.
    CandidateFirst,
    /// The legacy alone: how often does it differ from itself?
    Control,
}

impl SecondLook {
    fn sides(self) -> &'static [Side] {
        match self {
            Self::LegacyFirst => &[Side::Legacy, Side::Candidate],
            Self::CandidateFirst => &[Side::Candidate, Side::Legacy],
            Self::Control => &[Side::Legacy],
        }
    }

    fn purpose(self) -> Purpose {
        match self {
            Self::LegacyFirst | Self::CandidateFirst => Purpose::Recheck,
            Self::Control => Purpose::Control,
        }
    }
}

/// A request that is to be sent again.
pub struct Recheck {
    /// The request, with its first answers. It keeps the memory that is charged for it.
    pub exchange: Box<Exchange>,
    /// Which services are asked.
    pub look: SecondLook,
    /// Not before.
    pub due: Instant,
    /// Gets the result.
    pub done: Box<dyn RecheckDone>,
}

/// Gets the result of a [`Recheck`]. It may be dropped without one, at the end of the process or by a panic.
pub trait RecheckDone: Send {
    /// Called on the thread of the rechecks; it must not wait.
    fn done(self: Box<Self>, rechecked: Rechecked);
}

/// The result of a [`Recheck`].
pub struct Rechecked {
    /// As it was sent.
    pub exchange: Box<Exchange>,
    /// The second answers of legacy and candidate; of the candidate `None` if it was not asked. The hold is the memory
    /// that is charged for them.
    pub answers: Result<(Capture, Option<Capture>, [ByteHold; 2]), NotAnswered>,
}

/// Why there are no second answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAnswered {
    /// Shadowing was switched off.
    ShadowingOff,
    /// The breaker of the candidate is open.
    BreakerOpen,
    /// The legacy gave no whole answer, or a limit of ours was reached.
    Legacy(Reason),
    /// The candidate gave no whole answer, or a limit of ours was reached.
    Candidate(Reason),
}

/// Sends rechecks to their thread.
#[derive(Clone)]
pub struct RecheckSender {
    places: Arc<Semaphore>,
    sender: mpsc::Sender<Placed>,
}

/// A place among the rechecks in flight, until the recheck has ended.
pub struct RecheckPlace {
    place: OwnedSemaphorePermit,
    sender: mpsc::Sender<Placed>,
}

/// Where the thread gets them. It is given to the mirror with a policy, under which they are asked.
pub struct RecheckReceiver(mpsc::Receiver<Placed>);

/// A recheck and its place among those in flight.
type Placed = (Recheck, OwnedSemaphorePermit);

/// A channel for rechecks, at most `in_flight` at a time, those that wait for their delay included.
pub fn rechecks(in_flight: usize) -> (RecheckSender, RecheckReceiver) {
    let in_flight = in_flight.clamp(1, Semaphore::MAX_PERMITS);
    let (sender, receiver) = mpsc::channel(in_flight);
    let places = Arc::new(Semaphore::new(in_flight));
    (RecheckSender { places, sender }, RecheckReceiver(receiver))
}

impl RecheckSender {
    /// Takes a place for one more recheck; `None` if as many as allowed are in flight.
    pub fn place(&self) -> Option<RecheckPlace> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let sender = self.sender.clone();
        Some(RecheckPlace { place, sender })
    }
}

impl RecheckPlace {
    /// Hands over a recheck, without waiting. If the thread has ended, it is dropped.
    pub fn send(self, recheck: Recheck) {
        // There is room for as many as there are places.
        drop(self.sender.try_send((recheck, self.place)));
    }
}

/// The thread: its connections to the services, and its tasks.
pub(crate) struct Rechecker {
    resources: WorkerResources<Copied>,
}

/// The part of a policy that requests are sent again under.
pub(crate) struct RecheckPolicy<'a> {
    pub(crate) services: &'a Services,
    pub(crate) forwarding: &'a Forwarding,
    pub(crate) limits: Limits,
}

impl Rechecker {
    pub(crate) fn new(process: &ProcessResources, meters: OfWorker<Meters>) -> Self {
        // What is dropped here is dropped by the end of the process.
        let resources = WorkerResources::new(process, meters, Reason::Shutdown);
        Self { resources }
    }

    /// Asks what comes from `rechecks` under a policy, until all their senders are gone. Another policy is another call;
    /// what was sent under this one ends under it.
    pub(crate) fn serve(&self, policy: &RecheckPolicy<'_>, rechecks: RecheckReceiver) {
        let RecheckReceiver(mut rechecks) = rechecks;
        let terms = Terms::new(
            self.resources.exchange().clone(),
            policy.limits,
            Sampling::default(),
            Rc::new(Unobserved),
        );
        let forwarding = policy.forwarding.clone();
        let services = policy.services;
        let asker = Asker::new(
            &self.resources,
            terms,
            forwarding,
            services,
            Serving::NOBODY,
        );
        let tasks = Rc::clone(&self.resources.exchange().tasks);
        let of_requests = Rc::clone(&tasks);
        tasks.spawn(async move {
            while let Some((recheck, place)) = rechecks.recv().await {
                let asker = Rc::clone(&asker);
                of_requests.spawn(async move {
                    run(&asker, recheck).await;
                    drop(place);
                });
            }
        });
    }

    /// What is dropped from now on is dropped by the shutdown.
    pub(crate) fn cut(&self) {
        self.resources.exchange().tasks.cut();
    }

    /// Closes idle connections from time to time; never returns.
    pub(crate) async fn sweep(&self) {
        let mut tick = tokio::time::interval(SWEEP);
        loop {
            tick.tick().await;
            self.resources.sweep(Instant::now());
        }
    }
}

async fn run(asker: &Rc<Asker<Copied>>, recheck: Recheck) {
    let Recheck {
        exchange,
        look,
        due,
        done,
    } = recheck;
    tokio::time::sleep_until(due.into()).await;
    let answers = answers(asker, &exchange, look).await;
    done.done(Rechecked { exchange, answers });
}

async fn answers(
    asker: &Rc<Asker<Copied>>,
    exchange: &Exchange,
    look: SecondLook,
) -> Result<(Capture, Option<Capture>, [ByteHold; 2]), NotAnswered> {
    let (mut legacy, mut candidate) = (None, None);
    for side in look.sides() {
        let terms = asker.terms();
        if !terms.shadowing() {
            return Err(NotAnswered::ShadowingOff);
        }
        if terms.is_breaker_open() {
            return Err(NotAnswered::BreakerOpen);
        }
        let (route, request) = (&exchange.route, &exchange.request);
        let answer = exchange::ask(asker, look.purpose(), *side, route, request).await;
        match side {
            Side::Legacy => legacy = Some(answer.map_err(NotAnswered::Legacy)?),
            Side::Candidate => candidate = Some(answer.map_err(NotAnswered::Candidate)?),
        }
    }
    let Some(legacy) = legacy else {
        // Not reached: every look asks the legacy.
        return Err(NotAnswered::Legacy(Reason::InternalPanic));
    };
    let of_candidate = |Answer { capture, hold }| (Some(capture), hold);
    let (candidate, hold) = candidate.map_or_else(Default::default, of_candidate);
    Ok((legacy.capture, candidate, [legacy.hold, hold]))
}
