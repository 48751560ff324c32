//! What the workers share, and the handle by which the rest of the process sees and steers it.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use parity_schemas::exchange::ByteBudget;
use tokio::sync::{Semaphore, watch};

use crate::breaker::Breaker;
use crate::config::Limits;
use crate::descriptors::{Connections, Descriptors};
use crate::generation::{Applied, Loaded};
use crate::observer::Observer;
use crate::ourselves::OwnEnds;
use crate::rate::RateCap;

/// A worker turns to a new policy between two requests; one that takes longer than this is ending, or the machine is
/// stuck, and then it takes it later.
const TURN: Duration = Duration::from_secs(1);

/// State of the process that every worker reads and writes, all of it atomic. It outlives every policy.
pub(crate) struct Shared {
    pub(crate) budget: ByteBudget,
    pub(crate) breaker: Breaker,
    pub(crate) rate: RateCap,
    pub(crate) own: Arc<OwnEnds>,
    pub(crate) connections: Arc<Semaphore>,
    /// Clients that were accepted and have no place.
    pub(crate) without_place: AtomicUsize,
    /// Requests of HTTP/2 at a time, in all connections of the process.
    pub(crate) streams: Arc<Semaphore>,
    /// Connections to the candidate.
    pub(crate) candidates: Arc<Descriptors>,
    /// Idle connections that each worker keeps to each service.
    pub(crate) idle: usize,
    shadowing: AtomicBool,
    in_flight: AtomicUsize,
    legacy_down: AtomicBool,
    /// The workers are gone.
    ended: AtomicBool,
}

impl Shared {
    pub(crate) fn new(
        connections: usize,
        others: Connections,
        shadowing: bool,
        limits: &Limits,
    ) -> Self {
        Self {
            budget: ByteBudget::new(limits.shadow_bytes),
            breaker: Breaker::new(),
            rate: RateCap::new(),
            own: Arc::default(),
            connections: Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS))),
            without_place: AtomicUsize::new(0),
            streams: Arc::new(Semaphore::new(
                others.streams.clamp(1, Semaphore::MAX_PERMITS),
            )),
            candidates: Descriptors::new(others.candidate),
            idle: others.idle,
            shadowing: AtomicBool::new(shadowing),
            in_flight: AtomicUsize::new(0),
            legacy_down: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        }
    }

    pub(crate) fn shadowing(&self) -> bool {
        self.shadowing.load(Ordering::Relaxed)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Takes one of `limit` places among the shadows in flight.
    pub(crate) fn enter(self: &Arc<Self>, limit: usize) -> Option<Slot> {
        let before = self.in_flight.fetch_add(1, Ordering::Relaxed);
        // Built first, so that its drop gives the place back where it was one too many.
        let slot = Slot(Arc::clone(self));
        (before < limit).then_some(slot)
    }

    /// Remembers whether the legacy answered last; `true` if that has changed.
    pub(crate) fn legacy_answers(&self, answers: bool) -> bool {
        // Read first: a store on every answer would move the line between the cores.
        let changed = self.legacy_down.load(Ordering::Relaxed) == answers;
        if changed {
            self.legacy_down.store(!answers, Ordering::Relaxed);
        }
        changed
    }
}

/// A place among the shadows in flight; dropping it frees it.
pub(crate) struct Slot(Arc<Shared>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A policy, and everything that it names, ready to be applied.
pub struct CheckedPolicy(pub(crate) Loaded);

/// The handle of a running mirror: cheap to clone, usable from any thread.
#[derive(Clone)]
pub struct Control {
    pub(crate) shared: Arc<Shared>,
    pub(crate) applied: watch::Sender<Option<Arc<Applied>>>,
}

impl Control {
    /// Serves the requests that come from now on by `policy`, observed by `observers` (called once on each worker's
    /// thread, with the worker's number). No connection of a client is touched. Returns when every worker has taken it.
    /// Once the mirror has ended it changes nothing.
    pub fn apply(
        &self,
        policy: CheckedPolicy,
        observers: impl Fn(usize) -> Rc<dyn Observer> + Send + Sync + 'static,
    ) {
        let CheckedPolicy(loaded) = policy;
        let policy = &loaded.policy;
        self.shared.budget.set_limit(policy.limits.shadow_bytes);
        let moved = self
            .applied
            .borrow()
            .as_ref()
            .is_none_or(|before| before.loaded.policy.candidate.url != policy.candidate.url);
        if moved {
            // What is known of one candidate says nothing about another.
            self.shared.breaker.succeeded();
        }
        let (taken, workers) = mpsc::channel();
        let next = Arc::new(Applied {
            loaded,
            observers: Arc::new(observers),
            taken,
        });
        let told = self.applied.send_if_modified(|applied| {
            let serving = !self.shared.ended.load(Ordering::Relaxed);
            if serving {
                *applied = Some(next);
            }
            serving
        });
        if told {
            for _worker in 0..self.applied.receiver_count() {
                if workers.recv_timeout(TURN).is_err() {
                    break;
                }
            }
        }
    }

    /// Lets go of the last policy, and with it of the observers: whoever waits for their end shall not wait for this
    /// handle.
    pub(crate) fn end(&self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        self.applied.send_replace(None);
    }

    /// Starts or stops shadowing; requests already in flight are not touched.
    pub fn set_shadowing(&self, on: bool) {
        self.shared.shadowing.store(on, Ordering::Relaxed);
    }

    /// Whether new requests are shadowed.
    pub fn shadowing(&self) -> bool {
        self.shared.shadowing()
    }

    /// Shadows that wait for the candidate now.
    pub fn in_flight(&self) -> usize {
        self.shared.in_flight()
    }

    /// Bytes held for shadows and exchanges now.
    pub fn shadow_bytes_held(&self) -> usize {
        self.shared.budget.held()
    }

    /// Whether the last request to the legacy found it; `true` before the first.
    pub fn legacy_reachable(&self) -> bool {
        !self.shared.legacy_down.load(Ordering::Relaxed)
    }

    /// Whether the candidate is in use; `false` while the breaker leaves it alone.
    pub fn candidate_reachable(&self) -> bool {
        !self.shared.breaker.is_open()
    }
}
