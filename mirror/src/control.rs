//! What the workers share, and the handle by which the rest of the process sees and steers it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parity_schemas::exchange::ByteBudget;
use tokio::sync::Semaphore;

use crate::breaker::Breaker;
use crate::config::Limits;

/// State of the process that every worker reads and writes, all of it atomic.
pub(crate) struct Shared {
    pub(crate) limits: Limits,
    pub(crate) budget: ByteBudget,
    pub(crate) breaker: Breaker,
    pub(crate) connections: Arc<Semaphore>,
    shadowing: AtomicBool,
    in_flight: AtomicUsize,
    legacy_down: AtomicBool,
}

impl Shared {
    pub(crate) fn new(limits: Limits, shadowing: bool) -> Self {
        Self {
            budget: ByteBudget::new(limits.shadow_bytes),
            breaker: Breaker::new(limits.breaker_failures, limits.breaker_pause),
            connections: Arc::new(Semaphore::new(
                limits.connections.min(Semaphore::MAX_PERMITS),
            )),
            shadowing: AtomicBool::new(shadowing),
            in_flight: AtomicUsize::new(0),
            legacy_down: AtomicBool::new(false),
            limits,
        }
    }

    pub(crate) fn shadowing(&self) -> bool {
        self.shadowing.load(Ordering::Relaxed)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Takes one place among the shadows in flight.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Slot> {
        let before = self.in_flight.fetch_add(1, Ordering::Relaxed);
        // Built first, so that its drop gives the place back where it was one too many.
        let slot = Slot(Arc::clone(self));
        (before < self.limits.in_flight).then_some(slot)
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

/// The handle of a running mirror: cheap to clone, usable from any thread.
#[derive(Clone)]
pub struct Control {
    pub(crate) shared: Arc<Shared>,
}

impl Control {
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
