//! Collects the asks of one request until it can be settled.
//!
//! Each ask ends once: with a capture, or with the reason why there is none. When all have ended the request is
//! settled. If several reasons apply, the first in the order of [`Reason`] counts. So after a candidate failure the
//! request still waits for the legacy and the client. A reason that no later one could precede settles the request at
//! once and aborts the other ask.
//!
//! A request of a client is sent to both services, and their answers make an exchange. A request that is sent again is
//! sent to one service and ends with its answer; who wants both answers asks twice, in the order and at the times that
//! it likes. The memory of answers is charged to the byte budget until they have been compared; only this module does
//! that.

mod ask;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use parity_schemas::exchange::{Body, ByteHold, Capture, Exchange, Omitted};
use parity_schemas::fields::FieldLines;
use parity_schemas::route::Route;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;

pub(crate) use self::ask::Ask;
use crate::exchange::asks::Asks;
use crate::exchange::copied::Copied;
use crate::exchange::head::RequestHead;
use crate::exchange::naming::{CountedRoute, Naming};
use crate::exchange::own::Own;
use crate::exchange::purpose::Purpose;
use crate::exchange::side::Side;
use crate::exchange::terms::Terms;
use crate::exchange::ticket::{Answer, Ticket};

/// Reasons up to this one settle a request as soon as they are known: no result of the candidate can change them.
const LAST_DECISIVE: Reason = Reason::LegacyTruncated;

/// Once `in_flight / MANY` shadows are in flight, the head of a request is copied out of its read buffer (8 KiB). Below
/// that the buffers take little memory, and a copy for each request would cost more.
const MANY: usize = 4;

/// A request whose answers are captured.
pub(crate) struct Pending {
    terms: Rc<Terms>,
    purpose: Purpose,
    head: RefCell<RequestHead>,
    /// Complete once an ask that needed all of it has been started.
    body: RefCell<Body>,
    trailers: RefCell<Option<HeaderMap>>,
    hold: RefCell<ByteHold>,
    asks: Asks,
    time: Timestamp,
    /// What becomes of it when its body tells which GraphQL operation it asks for.
    naming: Option<Rc<Naming>>,
    /// What is particular to each service, of a recorded request.
    own: Option<Box<Own>>,
    ticket: Cell<Option<Ticket>>,
    reason: Cell<Option<Reason>>,
    /// The reason if nothing else turns out to be one.
    at_least: Cell<Option<Reason>>,
    /// The reason if its asks are dropped, instead of [`Terms::drop_reason`].
    dropped_for: Cell<Option<Reason>>,
}

impl Pending {
    /// A request for both services, with the asks of the legacy and of the candidate.
    pub(crate) fn for_both(ticket: Ticket, head: RequestHead, time: Timestamp) -> (Ask, Ask) {
        Self::for_each(ticket, head, time, None)
    }

    /// The same with what is particular to each of them.
    pub(super) fn for_each(
        ticket: Ticket,
        head: RequestHead,
        time: Timestamp,
        own: Option<Box<Own>>,
    ) -> (Ask, Ask) {
        let pending = Self::open(ticket, head, time, &Side::ALL, own);
        let ask = |side| Ask::of(&pending, side);
        (ask(Side::Legacy), ask(Side::Candidate))
    }

    /// A request that one service gets once more. Its body is that of the exchange before, which pays for it.
    pub(super) fn for_one(
        ticket: Ticket,
        side: Side,
        head: RequestHead,
        body: Body,
        trailers: Option<HeaderMap>,
    ) -> Ask {
        let pending = Self::open(ticket, head, Timestamp::now(), &[side], None);
        *pending.body.borrow_mut() = body;
        *pending.trailers.borrow_mut() = trailers;
        Ask::of(&pending, side)
    }

    fn open(
        ticket: Ticket,
        mut head: RequestHead,
        time: Timestamp,
        sides: &[Side],
        own: Option<Box<Own>>,
    ) -> Rc<Self> {
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
            asks: Asks::of(sides),
            time,
            purpose: ticket.purpose(),
            naming: match ticket.route() {
                CountedRoute::Known(_) => None,
                CountedRoute::Later(naming) => Some(Rc::clone(naming)),
            },
            own,
            ticket: Cell::new(Some(ticket)),
            reason: Cell::new(None),
            at_least: Cell::new(None),
            dropped_for: Cell::new(None),
            terms,
        })
    }

    /// The terms that it began under.
    pub(super) fn terms(&self) -> &Rc<Terms> {
        &self.terms
    }

    /// Why the services are asked.
    pub(super) fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// The route that it is counted under, until it is settled.
    pub(super) fn route(&self) -> Option<CountedRoute> {
        let ticket = self.ticket.take();
        let route = ticket.as_ref().map(|ticket| ticket.route().clone());
        self.ticket.set(ticket);
        route
    }

    /// Reads its head.
    pub(crate) fn with_head<T>(&self, read: impl FnOnce(&RequestHead) -> T) -> T {
        read(&self.head.borrow())
    }

    /// Reads the head that a service gets.
    pub(super) fn with_head_of<T>(&self, side: Side, read: impl FnOnce(&RequestHead) -> T) -> T {
        match self.own.as_ref().and_then(|own| own.head(side)) {
            Some(head) => read(head),
            None => self.with_head(read),
        }
    }

    /// Whether somebody learns of the answers, whatever becomes of the request.
    pub(super) fn is_heard(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.is_heard())
    }

    /// Whether this can no longer become an exchange, so that capturing can stop.
    pub(crate) fn is_doomed(&self) -> bool {
        self.reason.get().is_some()
    }

    /// What its body has to tell.
    pub(super) fn naming(&self) -> Option<&Naming> {
        self.naming.as_deref()
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

    /// Reads from the complete body what it asks for; returns why it must not be shadowed, if so.
    pub(super) fn read_operation(&self) -> Option<Reason> {
        let naming = self.naming()?;
        let body = self.body.borrow();
        self.with_head(|head| naming.read(head, &body.contiguous()))
    }

    /// Drops what has been kept so far.
    pub(super) fn drop_body(&self) {
        let body = self.body.take();
        self.release(body.len());
    }

    pub(super) fn keep_trailers(&self, trailers: HeaderMap) {
        *self.trailers.borrow_mut() = Some(trailers);
    }

    /// A copy of the whole body to be sent to a service, if the request has one.
    pub(super) fn copied(&self, side: Side) -> Option<Copied> {
        let own = self.own.as_ref().and_then(|own| own.body(side));
        let body = own.cloned().unwrap_or_else(|| {
            let mut body = self.body.borrow_mut();
            body.seal();
            body.clone()
        });
        let trailers: Option<HeaderMap> = self.trailers.borrow().clone();
        if body.is_empty() && trailers.is_none() {
            return None;
        }
        let sized = self.with_head_of(side, RequestHead::is_sized);
        Some(Copied::new(body, trailers, sized))
    }

    // === What is charged for it ===

    /// Appends a copy of a chunk to `body`, if the byte budget allows it.
    pub(super) fn keep_chunk(&self, body: &mut Body, chunk: &Bytes) -> bool {
        self.hold.borrow_mut().keep(body, chunk)
    }

    /// Charges bytes that are kept already; `false` if the byte budget is used up.
    pub(super) fn charge(&self, bytes: usize) -> bool {
        self.hold.borrow_mut().grow(bytes)
    }

    /// Returns bytes that are no longer kept to the byte budget.
    pub(super) fn release(&self, bytes: usize) {
        self.hold.borrow_mut().shrink(bytes);
    }

    // === How it ends ===

    /// What the end of its asks is called that will be dropped now.
    pub(crate) fn dropped_for(&self, reason: Reason) {
        self.dropped_for.set(Some(reason));
    }

    fn drop_reason(&self) -> Reason {
        let told = self.dropped_for.get();
        told.unwrap_or_else(|| self.terms.drop_reason())
    }

    /// Records why this will not become an exchange, without ending an ask.
    fn note(&self, reason: Reason) {
        // What its head tells comes before what happened to it since.
        let told = self.naming().and_then(Naming::refusal);
        let reason = told.map_or(reason, |told| told.min(reason));
        let first = self.reason.get().map_or(reason, |known| known.min(reason));
        self.reason.set(Some(first));
        self.release(self.asks.forget_answers());
    }

    /// Keeps a capture whose body is already charged. Its headers are charged here, because the shadow's own
    /// reservation ends now and the other side may take long.
    fn keep(&self, side: Side, mut capture: Capture) {
        if self.is_doomed() {
            self.release(capture.body.len());
            return;
        }
        if !self.hold.borrow_mut().grow(capture.fields_held()) {
            self.release(capture.body.len());
            return self.note(Reason::ByteBudget);
        }
        if self.asks.is_let_go(side) {
            self.let_go(&mut capture);
        }
        self.asks.keep(side, capture);
    }

    /// Drops the candidate's body because the legacy's is too large. The legacy's answer may go on for hours, and the
    /// body would take byte budget from other requests all the time.
    fn let_other_go(&self, side: Side) {
        if let Some(mut capture) = self.asks.let_other_go(side) {
            self.let_go(&mut capture);
            self.asks.keep(Side::Candidate, capture);
        }
    }

    /// Whether the whole answer of this side is there.
    pub(super) fn has_answer(&self, side: Side) -> bool {
        self.asks.has(side)
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

    fn end(&self, side: Side, reason: Option<Reason>) {
        if let Some(reason) = reason {
            self.note(reason);
        }
        let all_ended = self.asks.end(side);
        if all_ended || reason.is_some_and(|reason| reason <= LAST_DECISIVE) {
            self.settle();
        }
    }

    fn settle(&self) {
        let Some(ticket) = self.ticket.take() else {
            return;
        };
        let captured = match self.reason.get() {
            None => Side::ALL.map(|side| self.asks.take(side)),
            Some(_) => [None, None],
        };
        match captured {
            [Some(legacy), Some(candidate)] => {
                let mut exchange =
                    self.exchange(Arc::clone(ticket.route().get()), legacy, candidate);
                // Until now the client's request needed the head anyway, so it was not charged.
                let head = exchange.request.head_held();
                if exchange.hold.grow(head) {
                    ticket.exchange(exchange);
                    return;
                }
                self.reason.set(Some(Reason::ByteBudget));
            }
            [Some(capture), None] | [None, Some(capture)] if self.purpose != Purpose::Traffic => {
                let hold = self.hold.take();
                ticket.answer(Answer { capture, hold });
                return;
            }
            _ => {}
        }
        // An ask without a capture has a reason, or relies on one that was recorded before.
        let reason = self.reason.get().or(self.at_least.get());
        let reason = reason.unwrap_or_else(|| self.drop_reason());
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
            request: {
                let mut request = self.head.borrow().kept(self.body.take());
                let trailers = self.trailers.take();
                request.origin.trailers = trailers.as_ref().map(FieldLines::from);
                request.origin.own = self.own.as_ref().and_then(|own| own.parts());
                request
            },
            legacy,
            candidate,
            hold: self.hold.take(),
        }
    }
}

#[cfg(test)]
mod tests;
