//! Collects the asks of one request until it can be settled.
//!
//! Each ask ends once: with a capture, or with the reason why there is none. When all have ended the request is
//! settled. If several reasons apply, the first in the order of [`Reason`] counts. So after a candidate failure the
//! request still waits for the legacy and the client. A reason that no later one could precede settles the request at
//! once and aborts the other asks.
//!
//! An exchange is made of the first answer of each side. Its memory is charged to the byte budget until it has been
//! compared; only this module does that.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use parity_schemas::exchange::{Body, ByteHold, Capture, Exchange, Omitted};
use parity_schemas::route::Route;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;
use tokio::task::JoinHandle;

use crate::exchange::asks::{AskId, Asks};
use crate::exchange::copied::Copied;
use crate::exchange::head::RequestHead;
use crate::exchange::side::Side;
use crate::exchange::terms::Terms;
use crate::exchange::ticket::Ticket;

/// Reasons up to this one settle a request as soon as they are known: no result of the candidate can change them.
const LAST_DECISIVE: Reason = Reason::LegacyTruncated;

/// Once `in_flight / MANY` shadows are in flight, the head of a request is copied out of its read buffer (8 KiB). Below
/// that the buffers take little memory, and a copy for each request would cost more.
const MANY: usize = 4;

/// A shadowed request that may become an exchange.
pub(crate) struct Pending {
    terms: Rc<Terms>,
    head: RefCell<RequestHead>,
    /// Complete once an ask that needed all of it has been started.
    body: RefCell<Body>,
    trailers: RefCell<Option<HeaderMap>>,
    hold: RefCell<ByteHold>,
    asks: Asks,
    time: Timestamp,
    ticket: Cell<Option<Ticket>>,
    reason: Cell<Option<Reason>>,
}

impl Pending {
    /// Begins with no asks.
    pub(crate) fn open(ticket: Ticket, mut head: RequestHead, time: Timestamp) -> Rc<Self> {
        let terms = Rc::clone(ticket.terms());
        let admission = terms.admission();
        if head.keeps_buffer || admission.in_flight() >= terms.limits().in_flight / MANY {
            head.detach();
        }
        Rc::new(Self {
            head: RefCell::new(head),
            body: RefCell::default(),
            trailers: RefCell::default(),
            hold: RefCell::new(admission.budget().hold()),
            asks: Asks::default(),
            time,
            ticket: Cell::new(Some(ticket)),
            reason: Cell::new(None),
            terms,
        })
    }

    /// Adds an ask. The request is settled when every ask has ended, so all asks that it needs must be added before the
    /// first of them can end.
    pub(crate) fn ask(self: &Rc<Self>, side: Side) -> Ask {
        Ask {
            pending: Rc::clone(self),
            id: self.asks.add(side),
            open: true,
        }
    }

    /// The terms that it began under.
    pub(super) fn terms(&self) -> &Rc<Terms> {
        &self.terms
    }

    /// Reads its head.
    pub(crate) fn with_head<T>(&self, read: impl FnOnce(&RequestHead) -> T) -> T {
        read(&self.head.borrow())
    }

    /// Whether this can no longer become an exchange, so that capturing can stop.
    pub(crate) fn is_doomed(&self) -> bool {
        self.reason.get().is_some()
    }

    // === The body of the request ===

    /// Keeps a part of it; the error says why that is not possible.
    pub(super) fn keep_body(&self, chunk: &Bytes) -> Result<(), Reason> {
        let mut body = self.body.borrow_mut();
        if body.len() + chunk.len() > self.terms.limits().body {
            Err(Reason::RequestTooLarge)
        } else if self.keep_chunk(&mut body, chunk) {
            Ok(())
        } else {
            Err(Reason::ByteBudget)
        }
    }

    /// Drops what has been kept so far.
    pub(super) fn drop_body(&self) {
        let body = self.body.take();
        self.release(body.len());
    }

    pub(super) fn keep_trailers(&self, trailers: HeaderMap) {
        *self.trailers.borrow_mut() = Some(trailers);
    }

    /// A copy of the whole body to be sent, if the request has one.
    pub(super) fn copied(&self) -> Option<Copied> {
        let body = {
            let mut body = self.body.borrow_mut();
            body.seal();
            body.clone()
        };
        let trailers: Option<HeaderMap> = self.trailers.borrow().clone();
        if body.is_empty() && trailers.is_none() {
            return None;
        }
        let sized = self.with_head(RequestHead::is_sized);
        Some(Copied::new(body, trailers, sized))
    }

    // === What is charged for it ===

    /// Appends a copy of a chunk to `body`, if the byte budget allows it.
    pub(super) fn keep_chunk(&self, body: &mut Body, chunk: &Bytes) -> bool {
        self.hold.borrow_mut().keep(body, chunk)
    }

    /// Returns bytes that are no longer kept to the byte budget.
    pub(super) fn release(&self, bytes: usize) {
        self.hold.borrow_mut().shrink(bytes);
    }

    // === How it ends ===

    /// Records why this will not become an exchange, without ending an ask.
    fn note(&self, reason: Reason) {
        let first = self.reason.get().map_or(reason, |known| known.min(reason));
        self.reason.set(Some(first));
        self.release(self.asks.forget_answers());
    }

    /// Keeps a capture whose body is already charged. Its headers are charged here, because the shadow's own
    /// reservation ends now and the other side may take long.
    fn keep(&self, id: AskId, mut capture: Capture) {
        if self.is_doomed() {
            self.release(capture.body.len());
            return;
        }
        if !self.hold.borrow_mut().grow(capture.fields_held()) {
            self.release(capture.body.len());
            return self.note(Reason::ByteBudget);
        }
        if self.asks.is_let_go(id) {
            self.let_go(&mut capture);
        }
        self.asks.keep(id, capture);
    }

    /// Drops the candidate's body because the legacy's is too large. The legacy's answer may go on for hours, and the
    /// body would take byte budget from other requests all the time.
    fn let_other_go(&self, id: AskId) {
        let Some(other) = self.asks.let_other_go(id) else {
            return;
        };
        if let Some(mut capture) = self.asks.take(other) {
            self.let_go(&mut capture);
            self.asks.keep(other, capture);
        }
    }

    fn let_go(&self, capture: &mut Capture) {
        if capture.body.omission().is_none() {
            let bytes = capture.body.len();
            self.release(bytes);
            capture.body = Body::omitted(Omitted::LetGo {
                bytes: bytes as u64,
            });
        }
    }

    fn end(&self, id: AskId, reason: Option<Reason>) {
        if let Some(reason) = reason {
            self.note(reason);
        }
        let all_ended = self.asks.end(id);
        if all_ended || reason.is_some_and(|reason| reason <= LAST_DECISIVE) {
            self.settle();
        }
    }

    fn settle(&self) {
        let Some(ticket) = self.ticket.take() else {
            return;
        };
        let answer = |side| self.asks.take(AskId::first(side));
        if let (None, Some(legacy), Some(candidate)) = (
            self.reason.get(),
            answer(Side::Legacy),
            answer(Side::Candidate),
        ) {
            let mut exchange = self.exchange(ticket.route().clone(), legacy, candidate);
            // Until now the client's request needed the head anyway, so it was not charged.
            let head = exchange.request.head_held();
            if exchange.hold.grow(head) {
                ticket.exchange(exchange);
                return;
            }
            self.reason.set(Some(Reason::ByteBudget));
        }
        // An ask without a capture has a reason, or relies on one that was recorded before.
        let reason = self.reason.get();
        let reason = reason.unwrap_or_else(|| self.terms.drop_reason());
        self.reason.set(Some(reason));
        // Tasks may still hold this request, but none needs the copy of its body.
        self.body.take();
        self.trailers.take();
        self.asks.abort();
        // Released before the outcome is reported, so that nobody sees the outcome before the budget is free again. A
        // shadow that was just aborted releases its own reservation when the runtime drops it.
        self.hold.take();
        ticket.not_compared(reason);
    }

    /// The exchange, which takes over the memory that is charged.
    fn exchange(&self, route: Arc<Route>, legacy: Capture, candidate: Capture) -> Exchange {
        Exchange {
            time: self.time,
            route,
            request: self.head.borrow_mut().taken(self.body.take()),
            legacy,
            candidate,
            hold: self.hold.take(),
        }
    }
}

/// One ask, which must end. Dropping it ends it with the reason of [`Terms::drop_reason`].
pub(crate) struct Ask {
    pending: Rc<Pending>,
    id: AskId,
    open: bool,
}

impl Ask {
    /// The request that it is for.
    pub(crate) fn pending(&self) -> &Rc<Pending> {
        &self.pending
    }

    /// The side that it asks.
    pub(super) fn side(&self) -> Side {
        self.id.side()
    }

    /// Has `run` start a task for it. The task is aborted once the request is settled without an exchange.
    pub(super) fn run(self, run: impl FnOnce(Self) -> JoinHandle<()>) {
        let (pending, id) = (Rc::clone(&self.pending), self.id);
        pending.asks.own(id, run(self));
    }

    /// The body of its answer is too large to be captured. If this is the legacy's ask, the candidate's body is dropped
    /// too.
    pub(super) fn let_other_go(&self) {
        self.pending.let_other_go(self.id);
    }

    /// Ends with a capture.
    pub(super) fn complete(mut self, capture: Capture) {
        self.open = false;
        self.pending.keep(self.id, capture);
        self.pending.end(self.id, None);
    }

    /// Ends with the reason why there is no capture.
    pub(crate) fn fail(mut self, reason: Reason) {
        self.open = false;
        self.pending.end(self.id, Some(reason));
    }

    /// Ends with neither: a reason is already recorded.
    pub(crate) fn abandon(mut self) {
        self.open = false;
        self.pending.end(self.id, None);
    }
}

impl Drop for Ask {
    fn drop(&mut self) {
        if self.open {
            let reason = self.pending.terms.drop_reason();
            self.pending.end(self.id, Some(reason));
        }
    }
}

#[cfg(test)]
mod tests;
