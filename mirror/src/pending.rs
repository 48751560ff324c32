//! Where the two halves of a shadowed request meet.
//!
//! Each half ends once: with a capture, or with the reason why there is none. When both have ended the request
//! is settled. Where several reasons apply, the first in the order of [`Reason`] counts; so a candidate that failed
//! waits for what becomes of the legacy and the client, while a reason that nothing could precede settles at once
//! and ends the other half's work.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use http::header::TRANSFER_ENCODING;
use http::uri::Scheme;
use http::{HeaderMap, Method, Request, Uri, Version};
use http_body::Body as _;
use parity_schemas::exchange::{self, Body, ByteHold, Capture, Exchange, Omitted};
use parity_schemas::route::Route;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;
use smallvec::SmallVec;
use tokio::task::JoinHandle;

use crate::body::Outbound;
use crate::detach;
use crate::forwarding::{Forwarding, Peer};
use crate::generation::Generation;
use crate::headers::{self, Wire};
use crate::observer::Ticket;
use crate::service::Service;
use crate::spelling::Spelling;

/// Reasons up to this one are settled as soon as they are known: no candidate can change them.
const LAST_DECISIVE: Reason = Reason::LegacyTruncated;

/// From this part of the shadows that may be in flight on, as its divisor, a request does not keep the buffer that it was
/// read into, 8 KiB: with few in flight that is little, and a copy of each head would be paid by all.
const MANY: usize = 4;

/// A request head as the client sent it.
pub(crate) struct Head {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    /// How the client wrote the target, where `uri` cannot have it.
    pub(crate) spelling: Option<Spelling>,
    pub(crate) headers: HeaderMap,
    /// Whether it was read into a buffer that is much larger than it.
    pub(crate) keeps_buffer: bool,
    pub(crate) version: Version,
    pub(crate) peer: Rc<Peer>,
}

/// How a request is put for a service.
pub(crate) struct Form<'a> {
    pub(crate) service: &'a Service,
    pub(crate) forwarding: &'a Forwarding,
    pub(crate) wire: Wire,
    pub(crate) scheme: &'a Scheme,
    /// Whether the connection can write a target as the client wrote it.
    pub(crate) spells: bool,
}

impl Head {
    /// What a service is sent for it.
    pub(crate) fn request(&self, form: &Form<'_>, body: Outbound) -> Request<Outbound> {
        let Form { service, .. } = form;
        let mut headers = headers::for_upstream(&self.headers, &self.uri, &service.connector.host);
        form.forwarding
            .request(&mut headers, &self.peer, self.version);
        service.target.change(&mut headers);
        let mut target = service.target.target(&self.uri);
        let mut request = Request::new(body);
        if let Some(spelling) = &self.spelling {
            let spelling = spelling.clone().within(common_end(&self.uri, &target));
            if form.spells && form.wire == Wire::Http1 {
                request.extensions_mut().insert(spelling);
            } else {
                target = spelling.encoded(&target).unwrap_or(target);
            }
        }
        let uri = headers::fit(form.wire, target, &mut headers, form.scheme);
        let body = request.body();
        if form.wire == Wire::Http1 && !body.is_end_stream() && body.size_hint().exact().is_none() {
            // hyper would leave out the body of a GET in chunks, unless it is told in so many words.
            headers.insert(TRANSFER_ENCODING, headers::CHUNKED);
        }
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        request
    }

    /// Whether it calls a gRPC service, which speaks HTTP/2 only.
    pub(crate) fn is_grpc(&self) -> bool {
        self.version == Version::HTTP_2 && headers::is_grpc(&self.headers)
    }

    /// Whether its client sends the body only when it is told to. HTTP/1.0 has no such thing (RFC 9110 §10.1.1), and over
    /// HTTP/2 nobody would be told.
    pub(crate) fn asks_to_send(&self) -> bool {
        self.version == Version::HTTP_11 && headers::expects_continue(&self.headers)
    }

    /// Whether sending it twice is as good as once (RFC 9110 §9.2.2).
    pub(crate) fn is_idempotent(&self) -> bool {
        self.method.is_idempotent()
    }
}

/// A shadowed request on its way to become an exchange.
pub(crate) struct Pending {
    pub(crate) generation: Rc<Generation>,
    pub(crate) head: RefCell<Head>,
    /// Complete once the candidate's half has been started.
    pub(crate) body: RefCell<Body>,
    pub(crate) trailers: RefCell<Option<HeaderMap>>,
    pub(crate) hold: RefCell<ByteHold>,
    /// The tasks that wait for the candidate, and in a tap for the legacy.
    shadows: RefCell<SmallVec<[JoinHandle<()>; 1]>>,
    time: Timestamp,
    ticket: Cell<Option<Ticket>>,
    legacy: Cell<Option<Capture>>,
    candidate: Cell<Option<Capture>>,
    reason: Cell<Option<Reason>>,
    /// The candidate's body is not kept.
    lets_go: Cell<bool>,
    open_halves: Cell<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Legacy,
    Candidate,
}

impl Pending {
    /// Both halves of a request that is to be compared: the legacy's and the candidate's.
    pub(crate) fn open(
        generation: &Rc<Generation>,
        ticket: Ticket,
        mut head: Head,
        time: Timestamp,
    ) -> (Half, Half) {
        let in_flight = generation.worker.shared.in_flight();
        if head.keeps_buffer || in_flight >= generation.limits.in_flight / MANY {
            detach::fields(&mut head.headers);
            detach::target(&mut head.uri);
        }
        let pending = Rc::new(Self {
            generation: Rc::clone(generation),
            head: RefCell::new(head),
            body: RefCell::default(),
            trailers: RefCell::default(),
            hold: RefCell::new(generation.worker.shared.budget.hold()),
            shadows: RefCell::default(),
            time,
            ticket: Cell::new(Some(ticket)),
            legacy: Cell::new(None),
            candidate: Cell::new(None),
            reason: Cell::new(None),
            lets_go: Cell::new(false),
            open_halves: Cell::new(2),
        });
        let half = |side| Half {
            pending: Rc::clone(&pending),
            side,
            open: true,
        };
        (half(Side::Legacy), half(Side::Candidate))
    }

    /// Remembers a task that is for nothing once this is settled.
    pub(crate) fn owns(&self, shadow: JoinHandle<()>) {
        self.shadows.borrow_mut().push(shadow);
    }

    /// Whether this can no longer become an exchange, so that capturing on is for nothing.
    pub(crate) fn is_doomed(&self) -> bool {
        self.reason.get().is_some()
    }

    /// Remembers that this will not be an exchange, without ending a half.
    pub(crate) fn note(&self, reason: Reason) {
        let first = self.reason.get().map_or(reason, |known| known.min(reason));
        self.reason.set(Some(first));
        for capture in [self.legacy.take(), self.candidate.take()] {
            let bytes = capture.map_or(0, |capture| capture.fields_held() + capture.body.len());
            self.hold.borrow_mut().shrink(bytes);
        }
    }

    /// Keeps a capture whose body is charged already. Its fields are charged from here on: the other side may take its time,
    /// and who answered has given back what a shadow holds.
    fn keep(&self, side: Side, mut capture: Capture) {
        if self.is_doomed() {
            self.hold.borrow_mut().shrink(capture.body.len());
            return;
        }
        if !self.hold.borrow_mut().grow(capture.fields_held()) {
            self.hold.borrow_mut().shrink(capture.body.len());
            return self.note(Reason::ByteBudget);
        }
        if side == Side::Candidate && self.lets_go.get() {
            self.let_go(&mut capture);
        }
        match side {
            Side::Legacy => self.legacy.set(Some(capture)),
            Side::Candidate => self.candidate.set(Some(capture)),
        }
    }

    /// Does not keep the candidate's body, because the legacy's is too large: that may go on for hours, and all the
    /// while what is kept would be missing in everybody's budget.
    fn let_candidate_go(&self) {
        self.lets_go.set(true);
        if let Some(mut capture) = self.candidate.take() {
            self.let_go(&mut capture);
            self.candidate.set(Some(capture));
        }
    }

    fn let_go(&self, capture: &mut Capture) {
        if capture.body.omission().is_none() {
            let bytes = capture.body.len();
            self.hold.borrow_mut().shrink(bytes);
            capture.body = Body::omitted(Omitted::LetGo {
                bytes: bytes as u64,
            });
        }
    }

    fn end_half(&self, reason: Option<Reason>) {
        if let Some(reason) = reason {
            self.note(reason);
        }
        self.open_halves.set(self.open_halves.get() - 1);
        if self.open_halves.get() == 0 || reason.is_some_and(|reason| reason <= LAST_DECISIVE) {
            self.settle();
        }
    }

    fn settle(&self) {
        let Some(ticket) = self.ticket.take() else {
            return;
        };
        if let (None, Some(legacy), Some(candidate)) =
            (self.reason.get(), self.legacy.take(), self.candidate.take())
        {
            let mut exchange = self.exchange(ticket.route().clone(), legacy, candidate);
            // Until here it was the client's, who waited for the answer.
            let head = exchange.request.head_held();
            if exchange.hold.grow(head) {
                ticket.exchange(exchange);
                return;
            }
            self.reason.set(Some(Reason::ByteBudget));
        }
        // A half without a capture has a reason, or leaves it to what was noted before.
        let reason = self.reason.get();
        let reason = reason.unwrap_or_else(|| self.generation.worker.loss());
        self.reason.set(Some(reason));
        // Nobody needs the copy any more, whoever still holds the request.
        self.body.take();
        self.trailers.take();
        for shadow in self.shadows.take() {
            shadow.abort();
        }
        // Before the outcome is told: who sees that sees this room again, too. A shadow that was just aborted gives its
        // own back when the runtime drops it.
        self.hold.take();
        ticket.not_compared(reason);
    }

    /// What was seen of both sides, with all that it holds.
    fn exchange(&self, route: Arc<Route>, legacy: Capture, candidate: Capture) -> Exchange {
        let head = &mut *self.head.borrow_mut();
        Exchange {
            time: self.time,
            route,
            request: exchange::Request {
                method: std::mem::take(&mut head.method),
                target: match &head.spelling {
                    Some(spelling) => spelling.text(target(&head.uri)).into(),
                    None => target(&head.uri).into(),
                },
                headers: (&head.headers).into(),
                body: self.body.take(),
            },
            legacy,
            candidate,
            hold: self.hold.take(),
        }
    }
}

/// Path and query as on the request line.
fn target(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", |target| target.as_str())
}

/// How many bytes at the ends of two targets are the same.
fn common_end(one: &Uri, other: &Uri) -> usize {
    let [one, other] = [one, other].map(|uri| target(uri).bytes().rev());
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

/// One side's obligation to end. Dropping it ends it as lost.
pub(crate) struct Half {
    pub(crate) pending: Rc<Pending>,
    side: Side,
    open: bool,
}

impl Half {
    /// This side's body is not kept: whether the other's is worth its room.
    pub(crate) fn let_other_go(&self) {
        if self.side == Side::Legacy {
            self.pending.let_candidate_go();
        }
    }

    /// Ends with a capture.
    pub(crate) fn complete(mut self, capture: Capture) {
        self.open = false;
        self.pending.keep(self.side, capture);
        self.pending.end_half(None);
    }

    /// Ends with the reason why there is no capture.
    pub(crate) fn fail(mut self, reason: Reason) {
        self.open = false;
        self.pending.end_half(Some(reason));
    }

    /// Ends with neither: what was noted already says why.
    pub(crate) fn abandon(mut self) {
        self.open = false;
        self.pending.end_half(None);
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        if self.open {
            let reason = self.pending.generation.worker.loss();
            self.pending.end_half(Some(reason));
        }
    }
}

#[cfg(test)]
mod tests;
