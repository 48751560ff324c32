//! What the mirror tells, and the ticket that makes sure it tells it exactly once.

use std::rc::Rc;
use std::sync::Arc;

use http::StatusCode;
use parity_schemas::clients::ClientOutcome;
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
/// [`not_compared`](Self::not_compared) or [`exchange`](Self::exchange), with the receipt that it gave, and exactly one of
/// [`client`](Self::client): conservation, once for the verdict and once for what the client got. The two come in any
/// order.
pub trait Observer {
    /// A request head was parsed.
    fn received(&self, route: &Arc<Route>) -> Receipt;

    /// The request ended without two captures.
    fn not_compared(&self, route: &Arc<Route>, reason: Reason, receipt: Receipt);

    /// Both captures are there, each with its body or why that was not kept. The observer settles what follows, a full
    /// queue included.
    fn exchange(&self, exchange: Exchange, receipt: Receipt);

    /// The status that the client was answered with, ours for a legacy that is down. Told with the head of the answer; not
    /// told where there was none.
    fn answered(&self, route: &Arc<Route>, status: u16);

    /// What became of the client, told when its answer is over, or will not come.
    fn client(&self, route: &Arc<Route>, outcome: ClientOutcome);
}

/// One received request that has to end in exactly one outcome. To forget it is impossible: dropping it settles it.
pub(crate) struct Ticket {
    generation: Rc<Generation>,
    route: Arc<Route>,
    receipt: Receipt,
    settled: bool,
}

impl Ticket {
    /// Counts the request as received. From here on it has to be settled twice: as an exchange, and for its client.
    pub(crate) fn receive(generation: &Rc<Generation>, route: Arc<Route>) -> (Self, ClientTicket) {
        let receipt = generation.observer.received(&route);
        let client = ClientTicket {
            generation: Rc::clone(generation),
            route: Arc::clone(&route),
            settled: false,
        };
        let ticket = Self {
            generation: Rc::clone(generation),
            route,
            receipt,
            settled: false,
        };
        (ticket, client)
    }

    /// The route that the request was counted under.
    pub(crate) fn route(&self) -> &Arc<Route> {
        &self.route
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

/// The client of one received request, which has to get exactly one outcome, whatever becomes of the comparison. To
/// forget it is impossible: dropping it says that the client is gone, or what cut it off.
pub(crate) struct ClientTicket {
    generation: Rc<Generation>,
    route: Arc<Route>,
    settled: bool,
}

impl ClientTicket {
    /// Tells what the client was answered.
    pub(crate) fn answered(&self, status: StatusCode) {
        self.generation
            .observer
            .answered(&self.route, status.as_u16());
    }

    /// The client has all that it will get.
    pub(crate) fn end(mut self, outcome: ClientOutcome) {
        self.settle(outcome);
    }

    fn settle(&mut self, outcome: ClientOutcome) {
        self.settled = true;
        self.generation.observer.client(&self.route, outcome);
    }
}

impl Drop for ClientTicket {
    fn drop(&mut self) {
        if !self.settled {
            self.settle(match self.generation.worker.loss() {
                Reason::InternalPanic => ClientOutcome::InternalPanic,
                Reason::Shutdown => ClientOutcome::Shutdown,
                _ => ClientOutcome::ClientAborted,
            });
        }
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
