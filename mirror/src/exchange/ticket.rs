//! The ticket of a received request, which makes sure that its outcome is reported exactly once.
//!
//! It is separate from the request's data, so that every way a request can end, a panic included, goes through it.

use std::rc::Rc;
use std::sync::Arc;

use parity_schemas::exchange::Exchange;
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;

use crate::exchange::observer::Receipt;
use crate::exchange::terms::Terms;

/// One received request that must end in exactly one outcome. It cannot be forgotten: dropping it settles it.
pub(crate) struct Ticket {
    terms: Rc<Terms>,
    route: Arc<Route>,
    receipt: Receipt,
    settled: bool,
}

impl Ticket {
    /// Counts the request as received. From now on it must be settled.
    pub(crate) fn receive(terms: &Rc<Terms>, route: Arc<Route>) -> Self {
        Self {
            terms: Rc::clone(terms),
            receipt: terms.observer().received(&route),
            route,
            settled: false,
        }
    }

    /// The terms that it began under.
    pub(crate) fn terms(&self) -> &Rc<Terms> {
        &self.terms
    }

    /// The route that the request was counted under.
    pub(crate) fn route(&self) -> &Arc<Route> {
        &self.route
    }

    /// Ends without a verdict.
    pub(crate) fn not_compared(mut self, reason: Reason) {
        self.end(reason);
    }

    /// Ends as an exchange, whose verdict the observer counts.
    pub(super) fn exchange(mut self, exchange: Exchange) {
        self.settled = true;
        self.terms.observer().exchange(exchange, self.receipt);
    }

    fn end(&mut self, reason: Reason) {
        self.settled = true;
        self.terms.meters().not_sent(reason);
        let observer = self.terms.observer();
        observer.not_compared(&self.route, reason, self.receipt);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.settled {
            let reason = self.terms.drop_reason();
            self.end(reason);
        }
    }
}
