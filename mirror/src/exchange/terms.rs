//! What a worker needs to send requests to both services: the policy's limits, sampling and observer, and the worker's
//! own resources.
//!
//! Each generation has one. Every request in progress holds it, so that a request ends under the terms that it began
//! with.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use parity_schemas::graphql::Operation;
use parity_schemas::lately::WaitedFor;
use parity_schemas::route::{OperationRoutes, Route};
use parity_schemas::verdict::Reason;

use crate::counters::OfWorker;
use crate::exchange::admission::Admission;
use crate::exchange::meters::Meters;
use crate::exchange::observer::Observer;
use crate::exchange::reached::GIVEN_UP_AFTER;
use crate::exchange::rollout::RolloutState;
use crate::exchange::sampling::{Sampler, Sampling};
use crate::exchange::side::Side;
use crate::limits::Limits;
use crate::tasks::Tasks;
use crate::turns::Turns;
use crate::upstream::ServiceFault;

/// What exchanges use of a worker; it outlives generations.
#[derive(Clone)]
pub(crate) struct ExchangeResources {
    /// The current use of the process-wide limits.
    pub(crate) admission: Arc<Admission>,
    pub(crate) meters: OfWorker<Meters>,
    /// Of the process, too.
    pub(crate) rollout: Arc<RolloutState>,
    pub(crate) tasks: Rc<Tasks>,
    /// Schedules shadows in slices, so that clients go first.
    pub(crate) turns: Rc<Turns>,
    /// What a request counts as that is dropped before it was settled, unless a panic or the end of the drain drops it.
    pub(crate) lost: Reason,
}

/// The part of a generation that exchanges use.
pub(crate) struct Terms {
    resources: ExchangeResources,
    limits: Limits,
    sampler: Sampler,
    observer: Rc<dyn Observer>,
    operations: RefCell<OperationRoutes>,
}

impl Terms {
    pub(crate) fn new(
        resources: ExchangeResources,
        limits: Limits,
        sampling: Sampling,
        observer: Rc<dyn Observer>,
    ) -> Rc<Self> {
        Rc::new(Self {
            resources,
            limits,
            sampler: Sampler::new(sampling),
            observer,
            operations: RefCell::default(),
        })
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn observer(&self) -> &dyn Observer {
        &*self.observer
    }

    /// The route of a GraphQL operation.
    pub(super) fn operation_route(&self, route: &Route, operation: &Operation) -> Arc<Route> {
        self.operations.borrow_mut().of(route, operation)
    }

    pub(crate) fn meters(&self) -> &Meters {
        &self.resources.meters
    }

    pub(crate) fn tasks(&self) -> &Rc<Tasks> {
        &self.resources.tasks
    }

    pub(super) fn admission(&self) -> &Arc<Admission> {
        &self.resources.admission
    }

    /// Whether requests are shadowed now.
    pub(crate) fn shadowing(&self) -> bool {
        self.admission().shadowing()
    }

    /// Whether the candidate is known to fail.
    pub(crate) fn is_breaker_open(&self) -> bool {
        self.admission().breaker().is_open()
    }

    /// The candidate answered, or failed in this way, of which a time-out tells something of the time when the request was sent: so long before.
    /// It opens the breaker by what means that it cannot be reached or does not answer at all.
    pub(crate) fn candidate_did(&self, fault: Option<ServiceFault>, timeout: Duration) {
        let breaker = self.admission().breaker();
        let (limit, pause) = (self.limits.breaker_failures, self.limits.breaker_pause);
        match fault {
            Some(ServiceFault::TimedOut) => breaker.failed(limit, pause, timeout),
            Some(ServiceFault::Refused | ServiceFault::Tls | ServiceFault::Flood) => {
                breaker.failed(limit, pause, Duration::ZERO);
            }
            Some(ServiceFault::Reset | ServiceFault::Protocol | ServiceFault::Truncated) => {
                breaker.broke_off();
            }
            None => breaker.succeeded(),
        }
    }

    /// A client left that had `waited` for this service, which had `begun` to answer or had not.
    pub(crate) fn left(&self, side: Side, waited: Duration, begun: bool) {
        if waited < GIVEN_UP_AFTER {
            return;
        }
        self.observer.gave_up(match side {
            Side::Legacy => WaitedFor::Legacy,
            Side::Candidate => WaitedFor::Candidate,
        });
        if side == Side::Legacy && !begun && self.resources.rollout.legacy_given_up() {
            tracing::warn!("the legacy does not answer; clients wait, and leave without an answer");
        }
    }

    pub(super) fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    pub(super) fn turns(&self) -> &Rc<Turns> {
        &self.resources.turns
    }

    /// The reason that is recorded for a request that was dropped before it was settled.
    pub(crate) fn drop_reason(&self) -> Reason {
        self.resources.tasks.drop_reason(self.resources.lost)
    }

    /// What [`Self::drop_reason`] is when neither a panic nor the end of the drain is the reason.
    pub(super) fn lost(&self) -> Reason {
        self.resources.lost
    }
}
