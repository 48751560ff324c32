//! The ticket of a request's client, beside that of the comparison: why there is no verdict never says what the client
//! got.

use std::rc::Rc;
use std::sync::Arc;

use http::StatusCode;
use parity_schemas::clients::ClientOutcome;
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;

use crate::exchange::{Terms, Ticket};

/// The client of one received request, which has to get exactly one outcome, whatever becomes of the comparison. To
/// forget it is impossible: dropping it says that the client is gone, or what cut it off.
pub(crate) struct ClientTicket {
    terms: Rc<Terms>,
    route: Arc<Route>,
    settled: bool,
}

impl ClientTicket {
    /// For the client of a request that was received.
    pub(crate) fn beside(ticket: &Ticket) -> Self {
        Self {
            terms: Rc::clone(ticket.terms()),
            route: Arc::clone(ticket.route()),
            settled: false,
        }
    }

    /// Tells what the client was answered.
    pub(crate) fn answered(&self, status: StatusCode) {
        let observer = self.terms.observer();
        observer.answered(&self.route, status.as_u16());
    }

    /// The client has all that it will get.
    pub(crate) fn end(mut self, outcome: ClientOutcome) {
        self.settle(outcome);
    }

    fn settle(&mut self, outcome: ClientOutcome) {
        self.settled = true;
        self.terms.observer().client(&self.route, outcome);
    }
}

impl Drop for ClientTicket {
    fn drop(&mut self) {
        if !self.settled {
            self.settle(match self.terms.drop_reason() {
                Reason::InternalPanic => ClientOutcome::InternalPanic,
                Reason::Shutdown => ClientOutcome::Shutdown,
                _ => ClientOutcome::ClientAborted,
            });
        }
    }
}
