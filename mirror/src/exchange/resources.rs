//! What sending requests to both services needs besides a policy: the part that a process has once, and the part that
//! each thread has of its own. Both outlive policies.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use parity_schemas::verdict::Reason;

use crate::counters::OfWorker;
use crate::descriptors::{ConnectionLimits, Descriptors};
use crate::exchange::admission::Admission;
use crate::exchange::meters::Meters;
use crate::exchange::rollout::RolloutState;
use crate::exchange::side::BySide;
use crate::exchange::terms::ExchangeResources;
use crate::limits::Limits;
use crate::upstream::{Lookups, OwnConnections, RequestBody, WorkerConnections};

/// What all threads of a process share.
pub(crate) struct ProcessResources {
    admission: Arc<Admission>,
    own: Arc<OwnConnections>,
    rollout: Arc<RolloutState>,
    shadow_connections: Arc<Descriptors>,
    /// Idle connections that each thread keeps to each service.
    idle: usize,
}

impl ProcessResources {
    /// `shadowing` is whether shadowing is on at the start.
    pub(crate) fn new(shadowing: bool, limits: &Limits, connections: ConnectionLimits) -> Self {
        Self {
            admission: Arc::new(Admission::new(shadowing, limits.shadow_bytes)),
            own: Arc::default(),
            rollout: Arc::new(RolloutState::new()),
            shadow_connections: Descriptors::new(connections.candidate),
            idle: connections.idle,
        }
    }

    /// The current use of the limits on shadows.
    pub(crate) fn admission(&self) -> &Arc<Admission> {
        &self.admission
    }

    /// The share that the candidate serves, and what was seen of it.
    pub(crate) fn rollout(&self) -> &Arc<RolloutState> {
        &self.rollout
    }

    /// The registry of our own connections to services.
    pub(crate) fn own_connections(&self) -> &Arc<OwnConnections> {
        &self.own
    }
}

/// What one thread has of its own: tasks, connections to services, DNS look-ups.
pub(crate) struct WorkerResources<B: RequestBody> {
    pub(super) exchange: ExchangeResources,
    /// Separate for each side, so that neither waits for the other's.
    pub(super) lookups: BySide<Rc<Lookups>>,
    pub(super) all_connections: Rc<WorkerConnections<B>>,
}

impl<B: RequestBody> WorkerResources<B> {
    /// `lost` is what a request counts as that is dropped before it was settled, unless by a panic or the end of the
    /// drain.
    pub(crate) fn new(process: &ProcessResources, meters: OfWorker<Meters>, lost: Reason) -> Self {
        Self {
            exchange: ExchangeResources {
                admission: Arc::clone(&process.admission),
                meters,
                rollout: Arc::clone(&process.rollout),
                tasks: Rc::default(),
                turns: Rc::default(),
                lost,
            },
            lookups: BySide::new(|_| Rc::new(Lookups::new(&process.own))),
            all_connections: Rc::new(WorkerConnections::new(
                Arc::clone(&process.shadow_connections),
                process.idle,
            )),
        }
    }

    /// What exchanges use.
    pub(crate) fn exchange(&self) -> &ExchangeResources {
        &self.exchange
    }

    /// Closes connections to services that have been idle for too long.
    pub(crate) fn sweep(&self, now: Instant) {
        self.all_connections.sweep(now);
    }

    /// A client lacks a descriptor: closes idle connections for shadows.
    pub(crate) fn yield_to_clients(&self) {
        self.all_connections.yield_to_clients();
    }

    /// Whether clients have lacked descriptors lately.
    pub(crate) fn clients_lack(&self) -> bool {
        self.all_connections.clients_lack()
    }
}
