//! What the workers of a process share, whatever policy they serve by.
//!
//! All of it is atomic, because every worker reads and writes it. What belongs to shadows is in [`Admission`], what
//! belongs to clients is here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::descriptors::{ConnectionLimits, Descriptors};
use crate::exchange::Admission;
use crate::limits::Limits;
use crate::upstream::OwnConnections;

/// State of the process.
pub(crate) struct ProcessState {
    admission: Arc<Admission>,
    own: Arc<OwnConnections>,
    /// Places of client connections.
    connections: Arc<Semaphore>,
    /// Clients that were accepted and have no place.
    without_place: AtomicUsize,
    /// Places of requests of HTTP/2, in all connections of the process.
    streams: Arc<Semaphore>,
    /// Connections to the candidate.
    candidates: Arc<Descriptors>,
    /// Idle connections that each worker keeps to each service.
    idle: usize,
    legacy_down: AtomicBool,
    /// The workers are gone.
    ended: AtomicBool,
}

impl ProcessState {
    pub(crate) fn new(
        connections: usize,
        others: ConnectionLimits,
        shadowing: bool,
        limits: &Limits,
    ) -> Self {
        Self {
            admission: Arc::new(Admission::new(shadowing, limits.shadow_bytes)),
            own: Arc::default(),
            connections: Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS))),
            without_place: AtomicUsize::new(0),
            streams: Arc::new(Semaphore::new(
                others.streams.clamp(1, Semaphore::MAX_PERMITS),
            )),
            candidates: Descriptors::new(others.candidate),
            idle: others.idle,
            legacy_down: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        }
    }

    /// What is used of the limits of shadows.
    pub(crate) fn admission(&self) -> &Arc<Admission> {
        &self.admission
    }

    /// Our own ends of connections to services.
    pub(crate) fn own_connections(&self) -> &Arc<OwnConnections> {
        &self.own
    }

    /// Descriptors for connections to the candidate.
    pub(crate) fn candidates(&self) -> &Arc<Descriptors> {
        &self.candidates
    }

    /// Idle connections that each worker keeps to each service.
    pub(crate) fn idle(&self) -> usize {
        self.idle
    }

    /// The place of one more client, if there is one.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.connections).try_acquire_owned().ok()
    }

    /// The place of one more request of HTTP/2, once there is one.
    pub(crate) async fn stream(&self) -> Option<OwnedSemaphorePermit> {
        let places = Arc::clone(&self.streams);
        // An error would mean that the places are closed, which they never are.
        places.acquire_owned().await.ok()
    }

    /// Tells the workers that a client has no place, until the guard is dropped.
    pub(crate) fn lack_place(&self) -> LacksPlace<'_> {
        self.without_place.fetch_add(1, Ordering::Relaxed);
        LacksPlace(self)
    }

    /// Whether a client has no place.
    pub(crate) fn lacks_place(&self) -> bool {
        self.without_place.load(Ordering::Relaxed) > 0
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

    /// Whether the legacy answered last.
    pub(crate) fn legacy_reachable(&self) -> bool {
        !self.legacy_down.load(Ordering::Relaxed)
    }

    /// Remembers that the workers are gone.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Whether the workers are gone.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

/// Counts a client that has no place, until it is dropped.
pub(crate) struct LacksPlace<'a>(&'a ProcessState);

impl Drop for LacksPlace<'_> {
    fn drop(&mut self) {
        self.0.without_place.fetch_sub(1, Ordering::Relaxed);
    }
}
