//! The ticket of a request, which makes sure that its outcome is reported exactly once.
//!
//! It is separate from the request's data, so that every way a request can end, a panic included, goes through it. There
//! are two kinds: a *received* request is counted by the observer, which gets both answers; a request that is *asked
//! again* is counted by nobody, and whoever asked gets the one answer.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use parity_schemas::exchange::{ByteHold, Capture, Exchange};
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;
use tokio::sync::oneshot;

use crate::exchange::naming::{CountedRoute, Naming};
use crate::exchange::observer::Receipt;
use crate::exchange::purpose::Purpose;
use crate::exchange::rollout::Tried;
use crate::exchange::terms::Terms;

/// One answer, with the memory that is charged for it.
pub(crate) struct Answer {
    pub(crate) capture: Capture,
    pub(crate) hold: ByteHold,
}

/// One request that must end in exactly one outcome. It cannot be forgotten: dropping it settles it.
pub(crate) struct Ticket {
    terms: Rc<Terms>,
    route: CountedRoute,
    purpose: Purpose,
    /// Who is told; `None` once that has been done.
    told: Option<Told>,
    /// Whatever ends with the request.
    held: Option<Box<dyn Any>>,
    /// Whose comparison a rollout counts.
    tried: Option<Tried>,
}

/// Who is told of the outcome.
enum Told {
    Observer(Receipt),
    Asker(oneshot::Sender<Result<Answer, Reason>>),
}

impl Ticket {
    /// Counts the request as received. From now on it must be settled.
    pub(crate) fn receive(terms: &Rc<Terms>, route: Arc<Route>) -> Self {
        Self {
            terms: Rc::clone(terms),
            purpose: Purpose::Traffic,
            told: Some(Told::Observer(terms.observer().received(&route))),
            held: None,
            tried: None,
            route: CountedRoute::Known(route),
        }
    }

    /// The same for a request whose route is not known yet; it is counted when that is.
    pub(super) fn begin(terms: &Rc<Terms>, naming: Rc<Naming>) -> Self {
        Self {
            terms: Rc::clone(terms),
            purpose: Purpose::Traffic,
            told: Some(Told::Observer(terms.observer().begun())),
            held: None,
            tried: None,
            route: CountedRoute::Later(naming),
        }
    }

    /// For a request that one service gets once more; the answer or the reason why there is none comes by the receiver.
    pub(super) fn again(
        terms: &Rc<Terms>,
        route: Arc<Route>,
        purpose: Purpose,
    ) -> (Self, oneshot::Receiver<Result<Answer, Reason>>) {
        let (asker, answered) = oneshot::channel();
        let ticket = Self {
            terms: Rc::clone(terms),
            purpose,
            told: Some(Told::Asker(asker)),
            held: None,
            tried: None,
            route: CountedRoute::Known(route),
        };
        (ticket, answered)
    }

    /// The terms that it began under.
    pub(crate) fn terms(&self) -> &Rc<Terms> {
        &self.terms
    }

    /// Keeps something until the request has ended and its outcome was reported.
    pub(super) fn hold(&mut self, held: Box<dyn Any>) {
        self.held = Some(held);
    }

    /// A rollout counts how its answers compare.
    pub(crate) fn tries(&mut self, tried: Tried) {
        self.tried = Some(tried);
    }

    /// The route that the request is counted under.
    pub(crate) fn route(&self) -> &CountedRoute {
        &self.route
    }

    /// Why the services are asked.
    pub(super) fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Ends without a verdict.
    pub(crate) fn not_compared(mut self, reason: Reason) {
        self.end(reason);
    }

    /// Ends as an exchange, whose verdict the observer counts.
    pub(super) fn exchange(mut self, exchange: Exchange) {
        match self.told {
            Some(Told::Observer(receipt)) => {
                self.told = None;
                let observer = self.terms.observer();
                match self.tried.take() {
                    Some(tried) => observer.exchange_tried(exchange, receipt, tried),
                    None => observer.exchange(exchange, receipt),
                }
            }
            // Not reached: who asks one service gets one answer.
            _ => self.end(Reason::InternalPanic),
        }
    }

    /// Ends with the one answer that was asked for.
    pub(super) fn answer(mut self, answer: Answer) {
        match self.told.take() {
            // Whoever asked may have stopped waiting.
            Some(Told::Asker(asker)) => drop(asker.send(Ok(answer))),
            // Not reached: a received request is sent to both services.
            observer => {
                self.told = observer;
                self.end(Reason::InternalPanic);
            }
        }
    }

    fn end(&mut self, reason: Reason) {
        self.terms.meters().not_sent(self.purpose, reason);
        match self.told.take() {
            Some(Told::Observer(receipt)) => {
                let observer = self.terms.observer();
                observer.not_compared(self.route.get(), reason, receipt);
            }
            Some(Told::Asker(asker)) => drop(asker.send(Err(reason))),
            None => {}
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.told.is_some() {
            let reason = self.terms.drop_reason();
            self.end(reason);
        }
    }
}
