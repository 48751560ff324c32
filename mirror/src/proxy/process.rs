//! The state that all workers of a process share, independent of the policy.
//!
//! All of it is atomic, because every worker reads and writes it. State about shadows is in [`ProcessResources`], state
//! about clients is here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::descriptors::ConnectionLimits;
use crate::exchange::{Admission, ProcessResources, ServiceSeen};
use crate::limits::Limits;

/// The shared state.
pub(crate) struct ProcessState {
    exchange: Arc<ProcessResources>,
    /// Slots for client connections.
    connections: Arc<Semaphore>,
    /// Clients that were accepted and wait for a slot.
    without_place: AtomicUsize,
    /// Slots for HTTP/2 requests, over all client connections.
    streams: Arc<Semaphore>,
    /// Whether the workers have ended.
    ended: AtomicBool,
    /// Whether the thread that sends requests again has ended.
    rechecks_ended: AtomicBool,
}

impl ProcessState {
    pub(crate) fn new(
        connections: usize,
        others: ConnectionLimits,
        shadowing: bool,
        limits: &Limits,
    ) -> Self {
        Self {
            exchange: Arc::new(ProcessResources::new(shadowing, limits, others)),
            connections: Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS))),
            without_place: AtomicUsize::new(0),
            streams: Arc::new(Semaphore::new(
                others.streams.clamp(1, Semaphore::MAX_PERMITS),
            )),
            ended: AtomicBool::new(false),
            rechecks_ended: AtomicBool::new(false),
        }
    }

    /// What sending requests to services needs.
    pub(crate) fn exchange(&self) -> &Arc<ProcessResources> {
        &self.exchange
    }

    /// The current use of the limits on shadows.
    pub(crate) fn admission(&self) -> &Arc<Admission> {
        self.exchange.admission()
    }

    /// Takes a slot for one more client, if one is free.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.connections).try_acquire_owned().ok()
    }

    /// Waits for a slot for one more HTTP/2 request.
    pub(crate) async fn stream(&self) -> Option<OwnedSemaphorePermit> {
        let places = Arc::clone(&self.streams);
        // Fails only if the semaphore is closed, which never happens.
        places.acquire_owned().await.ok()
    }

    /// Tells the workers that a client waits for a slot, until the guard is dropped.
    pub(crate) fn lack_place(&self) -> LacksPlace<'_> {
        self.without_place.fetch_add(1, Ordering::Relaxed);
        LacksPlace(self)
    }

    /// Whether a client waits for a slot.
    pub(crate) fn lacks_place(&self) -> bool {
        self.without_place.load(Ordering::Relaxed) > 0
    }

    /// Records whether the legacy answered the last request; returns whether that has changed. That it answers the first one
    /// is no change.
    pub(crate) fn legacy_answers(&self, answers: bool) -> bool {
        self.exchange.rollout().legacy_answers(answers)
    }

    /// It is another legacy from now on, of which nothing is known.
    pub(crate) fn forget_legacy(&self) {
        self.exchange.rollout().forget_legacy();
    }

    /// Whether the legacy answered the last request, or got none.
    pub(crate) fn legacy_reachable(&self) -> bool {
        self.exchange.rollout().legacy_reachable()
    }

    /// What is known of the legacy.
    pub(crate) fn legacy_seen(&self) -> ServiceSeen {
        self.exchange.rollout().legacy_seen()
    }

    /// What is known of the candidate.
    pub(crate) fn candidate_seen(&self) -> ServiceSeen {
        self.admission().breaker().seen()
    }

    /// Whether the candidate gets requests: the breaker is closed.
    pub(crate) fn candidate_reachable(&self) -> bool {
        !self.admission().breaker().is_open()
    }

    /// Records that the workers have ended.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Whether the workers have ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Records that nothing is sent again from now on.
    pub(crate) fn end_rechecks(&self) {
        self.rechecks_ended.store(true, Ordering::Relaxed);
    }

    /// Whether nothing is sent again.
    pub(crate) fn have_rechecks_ended(&self) -> bool {
        self.rechecks_ended.load(Ordering::Relaxed)
    }
}

/// Counts a client that waits for a slot, until it is dropped.
pub(crate) struct LacksPlace<'a>(&'a ProcessState);

impl Drop for LacksPlace<'_> {
    fn drop(&mut self) {
        self.0.without_place.fetch_sub(1, Ordering::Relaxed);
    }
}
