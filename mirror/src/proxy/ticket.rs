//! The ticket for a request's client, separate from that for the comparison: the reason for a missing verdict does not
//! tell what the client got.

use std::rc::Rc;

use http::StatusCode;
use parity_schemas::clients::ClientOutcome;
use parity_schemas::verdict::Reason;

use crate::exchange::{CountedRoute, Terms, Ticket, Tried};

/// Makes sure that the client of a received request gets exactly one outcome, whatever the comparison does. It cannot
/// be forgotten: dropping it reports an aborted client, a shutdown or a panic.
pub(crate) struct ClientTicket {
    terms: Rc<Terms>,
    route: CountedRoute,
    settled: bool,
    /// Whose answer a rollout counts, because it is never compared.
    tried: Option<Tried>,
}

impl ClientTicket {
    /// For the client of a request that was received.
    pub(crate) fn beside(ticket: &Ticket) -> Self {
        Self {
            terms: Rc::clone(ticket.terms()),
            route: ticket.route().clone(),
            settled: false,
            tried: None,
        }
    }

    /// The route that the request is counted under.
    pub(crate) fn route(&self) -> &CountedRoute {
        &self.route
    }

    /// A rollout counts what the client gets.
    pub(crate) fn tries(&mut self, tried: Tried) {
        self.tried = Some(tried);
    }

    /// Reports the status that the client got.
    pub(crate) fn answered(&self, status: StatusCode) {
        let observer = self.terms.observer();
        observer.answered(self.route.get(), status.as_u16());
    }

    /// Reports the client's outcome.
    pub(crate) fn end(mut self, outcome: ClientOutcome) {
        self.settle(outcome);
    }

    fn settle(&mut self, outcome: ClientOutcome) {
        self.settled = true;
        if let Some(tried) = self.tried.take() {
            tried.ended(outcome);
        }
        self.terms.observer().client(self.route.get(), outcome);
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
