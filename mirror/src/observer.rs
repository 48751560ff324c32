//! What the mirror tells, and the ticket that makes sure it tells it exactly once.

use std::rc::Rc;
use std::sync::Arc;

use http::StatusCode;
use parity_schemas::exchange::Exchange;
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;

use crate::generation::Generation;

/// The observer's own mark of a received request, kept for it until the request ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receipt(pub u8);

/// Who counts and compares. There is one for each worker and policy, called on the worker's thread; it must never block, for
/// then that worker's clients wait.
///
/// For each parsed request head there is one call of [`received`](Self::received), and then exactly one of either
/// [`not_compared`](Self::not_compared) or [`exchange`](Self::exchange), with the receipt that it gave: conservation.
pub trait Observer {
    /// A request head was parsed.
    fn received(&self, route: &Arc<Route>) -> Receipt;

    /// The request ended without two whole captures.
    fn not_compared(&self, route: &Arc<Route>, reason: Reason, receipt: Receipt);

    /// Both captures are whole. The observer settles what follows, a full queue included.
    fn exchange(&self, exchange: Exchange, receipt: Receipt);

    /// The status that the client was answered with, ours for a legacy that is down.
    fn answered(&self, route: &Arc<Route>, status: u16);
}

/// One received request that has to end in exactly one outcome. To forget it is impossible: dropping it settles it.
pub(crate) struct Ticket {
    generation: Rc<Generation>,
    route: Arc<Route>,
    receipt: Receipt,
    settled: bool,
}

impl Ticket {
    /// Counts the request as received.
    pub(crate) fn receive(generation: &Rc<Generation>, route: Arc<Route>) -> Self {
        let receipt = generation.observer.received(&route);
        Self {
            generation: Rc::clone(generation),
            route,
            receipt,
            settled: false,
        }
    }

    /// The route that the request was counted under.
    pub(crate) fn route(&self) -> &Arc<Route> {
        &self.route
    }

    /// Tells what the client was answered.
    pub(crate) fn answered(&self, status: StatusCode) {
        self.generation
            .observer
            .answered(&self.route, status.as_u16());
    }

    /// Ends without a verdict.
    pub(crate) fn not_compared(mut self, reason: Reason) {
        self.end(reason);
    }

    /// Ends as an exchange, which counts further on.
    pub(crate) fn exchange(mut self, exchange: Exchange) {
        self.settled = true;
        self.generation.observer.exchange(exchange, self.receipt);
    }

    fn end(&mut self, reason: Reason) {
        self.settled = true;
        self.generation.worker.metrics.not_sent(reason);
        let observer = &self.generation.observer;
        observer.not_compared(&self.route, reason, self.receipt);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.settled {
            let reason = self.generation.worker.loss();
            self.end(reason);
        }
    }
}
