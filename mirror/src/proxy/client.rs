//! The state of one client connection, and when to close it.
//!
//! A sweep over all connections of a worker, once a second, enforces the time-outs of clients (for an incomplete head,
//! an idle connection, a stalled body). There is no timer per request: hyper's costs an allocation and a registration
//! for every request, and cannot tell an idle connection from one that sends a head very slowly.

mod control_frames;
mod half_closed;
mod head_finder;
mod io;
mod linger;
mod registry;

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use tokio::sync::OwnedSemaphorePermit;

use crate::forwarding::Peer;
use crate::limits::Limits;
use crate::proxy::socket_state::SocketState;
use crate::proxy::streams::StreamTask;
use crate::proxy::upload::{Upload, UploadState};
use crate::proxy::worker::Worker;

use half_closed::HalfClosed;
pub(crate) use io::ClientIo;
pub(crate) use registry::Clients;

/// What a connection has been told to do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Order {
    /// Serve requests.
    Serve,
    /// Finish the current requests and close.
    Finish,
    /// Close now.
    Close,
}

/// After how long an idle connection may be closed when all client slots are taken. A head is normally sent at once,
/// and a client that keeps a connection for later must expect that it is closed.
const GIVES_WAY: Duration = Duration::from_secs(1);

/// State of a client's connection, shared by its task, its requests and the sweep.
pub(crate) struct Client {
    worker: Rc<Worker>,
    peer: Rc<Peer>,
    /// The client's address, and the local one, if the system reports it.
    ends: (SocketAddr, Option<SocketAddr>),
    /// Whether the connection comes from this process itself. Looked up with the first request: a connection is
    /// accepted before the side that opened it has registered it.
    ourselves: Cell<Option<bool>>,
    /// Whether the connection is HTTP/2, with several requests at a time; known once the first bytes have arrived.
    http2: Cell<bool>,
    order: Cell<Order>,
    waker: RefCell<Option<Waker>>,
    /// Requests in progress.
    busy: Cell<usize>,
    /// Requests that have begun so far.
    begun: Cell<u64>,
    /// `begun` at the last round of the drain.
    drained_at: Cell<Option<u64>>,
    socket_state: Arc<SocketState>,
    uploads: RefCell<Vec<Weak<Upload>>>,
    /// HTTP/2 answers, each of which may stall separately.
    answers: RefCell<Vec<Weak<AnswerProgress>>>,
    waits: WaitingSince,
    half_closed: HalfClosed,
    _permit: OwnedSemaphorePermit,
}

/// When the sweep first saw the connection wait for its client. Kept by the sweep, so that a request need not read the
/// clock.
#[derive(Default)]
struct WaitingSince {
    idle: Cell<Option<Instant>>,
    head: Cell<Option<Instant>>,
    /// For the client to read an answer, with the number of writes at that time.
    reader: Cell<Option<(Instant, u64)>>,
    /// Since it was told to finish.
    end: Cell<Option<Instant>>,
}

/// A request in progress; dropping the last one makes the connection idle.
pub(crate) struct Busy {
    client: Rc<Client>,
    progress: Option<Rc<AnswerProgress>>,
    /// Its slot among the process's HTTP/2 requests.
    place: Option<OwnedSemaphorePermit>,
}

/// How far an HTTP/2 client has read one answer: the state of the connection does not tell for a single stream.
struct AnswerProgress {
    stream: StreamTask,
    /// Frames handed to hyper.
    frames: Cell<u64>,
    /// Whether the last poll returned a frame: then hyper waits for the client.
    handed: Cell<bool>,
    since: Cell<Option<(Instant, u64)>>,
}

impl AnswerProgress {
    fn sweep(&self, now: Instant, patience: Duration) {
        if !self.handed.get() {
            self.since.set(None);
            return;
        }
        match self.since.get() {
            Some((since, frames)) if frames == self.frames.get() => {
                if now.saturating_duration_since(since) >= patience {
                    self.stream.abort();
                }
            }
            _ => self.since.set(Some((now, self.frames.get()))),
        }
    }
}

impl Client {
    pub(crate) fn new(
        worker: &Rc<Worker>,
        ends: (SocketAddr, Option<SocketAddr>),
        secure: bool,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            worker: Rc::clone(worker),
            peer: Rc::new(Peer::new(ends.0.ip(), secure)),
            ends,
            ourselves: Cell::new(None),
            http2: Cell::new(false),
            order: Cell::new(Order::Serve),
            waker: RefCell::new(None),
            busy: Cell::new(0),
            begun: Cell::new(0),
            drained_at: Cell::new(None),
            socket_state: Arc::default(),
            uploads: RefCell::default(),
            answers: RefCell::default(),
            waits: WaitingSince::default(),
            half_closed: HalfClosed::default(),
            _permit: permit,
        }
    }

    /// The worker that serves it.
    pub(crate) fn worker(&self) -> &Rc<Worker> {
        &self.worker
    }

    /// Who is connected.
    pub(crate) fn peer(&self) -> &Rc<Peer> {
        &self.peer
    }

    /// The state of its socket.
    pub(crate) fn socket_state(&self) -> &Arc<SocketState> {
        &self.socket_state
    }

    /// Records that the connection is HTTP/2.
    pub(crate) fn speaks_http2(&self) {
        self.http2.set(true);
    }

    /// Whether this connection comes from the mirror itself.
    pub(crate) fn is_ourselves(&self) -> bool {
        if let Some(known) = self.ourselves.get() {
            return known;
        }
        let (client, here) = self.ends;
        let ourselves = here.is_some_and(|here| {
            self.worker
                .process()
                .exchange()
                .own_connections()
                .has(client, here)
        });
        self.ourselves.set(Some(ourselves));
        ourselves
    }

    /// A request begins; it is in progress from its parsed head to the end of its answer.
    pub(crate) fn busy(self: &Rc<Self>) -> Busy {
        self.busy.set(self.busy.get() + 1);
        self.waits.idle.set(None);
        self.waits.head.set(None);
        self.begun.set(self.begun.get() + 1);
        Busy {
            client: Rc::clone(self),
            progress: self.watch_answer(),
            place: None,
        }
    }

    /// Begins to watch the answer of the HTTP/2 stream that is being polled.
    fn watch_answer(&self) -> Option<Rc<AnswerProgress>> {
        let stream = self.worker.streams().current()?;
        let progress = Rc::new(AnswerProgress {
            stream,
            frames: Cell::new(0),
            handed: Cell::new(false),
            since: Cell::new(None),
        });
        let mut answers = self.answers.borrow_mut();
        answers.retain(|known| known.strong_count() > 0);
        answers.push(Rc::downgrade(&progress));
        Some(progress)
    }

    /// The state of the socket on HTTP/1, where it tells about the one current request; `None` on HTTP/2.
    pub(crate) fn http1_socket(&self) -> Option<&Arc<SocketState>> {
        (!self.http2.get()).then_some(&self.socket_state)
    }

    /// Makes the sweep watch a request's body for stalls.
    pub(crate) fn watch_upload(&self, upload: &Rc<Upload>) {
        let mut uploads = self.uploads.borrow_mut();
        uploads.retain(|known| known.strong_count() > 0);
        uploads.push(Rc::downgrade(upload));
    }

    /// The process is about to end. HTTP/2 tells the client at once. With HTTP/1.1 only the next answer can, and
    /// closing the connection between two requests could lose one that is just arriving. So a connection is closed only
    /// if it had no request from one drain round to the next.
    fn drain(&self) {
        let begun = self.begun.get();
        let idle = self.busy.get() == 0 && self.drained_at.replace(Some(begun)) == Some(begun);
        if idle && self.socket_state.is_lingering() {
            // The client had one round to read its answer; what it still sends is not needed.
            self.tell(Order::Close);
        } else if self.http2.get() || idle {
            self.tell(Order::Finish);
        }
    }

    /// Ends the connection if it has been waiting for its client for too long, or its client most likely has gone. `scarce`
    /// is whether others wait for a slot or a descriptor.
    fn sweep(&self, now: Instant, limits: &Limits, scarce: bool) {
        let for_long = |since: &Cell<Option<Instant>>, patience| {
            let begun = since.get().unwrap_or(now);
            since.set(Some(begun));
            now.saturating_duration_since(begun) >= patience
        };
        self.sweep_stalls(now, limits);
        if self.busy.get() > 0 && self.socket_state.is_blind() {
            self.socket_state.ask_for_look();
            self.wake();
        }
        if self.waits_half_closed(now, scarce).is_some() {
            self.tell(Order::Close);
        }
        if self.busy.get() > 0 || self.is_uploading() {
            return;
        }
        if self.order.get() == Order::Finish {
            if for_long(&self.waits.end, limits.header_read) {
                self.tell(Order::Close);
            }
        } else if self.socket_state.is_lingering() {
            // It has its own limits.
        } else if self.http2.get() || !self.socket_state.has_begun() {
            // HTTP/2 pings and settings do not count as requests.
            if for_long(&self.waits.idle, limits.client_idle) {
                self.tell(Order::Finish);
            }
        } else if for_long(&self.waits.head, limits.header_read) {
            self.tell(Order::Close);
        }
    }

    /// Since when it has waited for its client, if that is long enough to close it for another client.
    fn gives_way(&self, now: Instant) -> Option<Instant> {
        let since = [&self.waits.head, &self.waits.idle]
            .into_iter()
            .find_map(Cell::get)?;
        let waits = self.order.get() == Order::Serve && self.busy.get() == 0;
        let long = now.saturating_duration_since(since) >= GIVES_WAY;
        (waits && long && !self.is_uploading()).then_some(since)
    }

    /// Since when a request has been waiting for the legacy although its client has closed its side, if that is too long.
    fn waits_half_closed(&self, now: Instant, scarce: bool) -> Option<Instant> {
        let serves = self.busy.get() > 0 && self.order.get() != Order::Close;
        if !serves || self.socket_state.is_tunnel() {
            return None;
        }
        self.half_closed.has_waited(&self.socket_state, now, scarce)
    }

    /// Ends the connection, to free its slot for another client.
    fn give_way(&self) {
        self.tell(if self.http2.get() {
            Order::Finish
        } else {
            Order::Close
        });
    }

    /// Whether a request body is still arriving, possibly after its answer has ended.
    fn is_uploading(&self) -> bool {
        let uploads = self.uploads.borrow();
        let mut live = uploads.iter().filter_map(Weak::upgrade);
        live.any(|upload| upload.state() == UploadState::Running)
    }

    fn sweep_stalls(&self, now: Instant, limits: &Limits) {
        for upload in self.uploads.borrow().iter().filter_map(Weak::upgrade) {
            upload.sweep(now, limits.client_stall);
        }
        for answer in self.answers.borrow().iter().filter_map(Weak::upgrade) {
            answer.sweep(now, limits.client_stall);
        }
        if !self.socket_state.is_blocked() {
            self.waits.reader.set(None);
            return;
        }
        let writes = self.socket_state.writes();
        match self.waits.reader.get() {
            Some((since, then)) if then == writes => {
                if now.saturating_duration_since(since) >= limits.client_stall {
                    self.tell(Order::Close);
                }
            }
            _ => self.waits.reader.set(Some((now, writes))),
        }
    }

    fn tell(&self, order: Order) {
        self.order.set(self.order.get().max(order));
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// What the task of the connection is to do; it is woken when that changes.
    pub(crate) fn order(&self, cx: &Context<'_>) -> Order {
        if self.waker.borrow().is_none() {
            *self.waker.borrow_mut() = Some(cx.waker().clone());
        }
        self.order.get()
    }
}

impl Busy {
    /// The answer was polled for its next frame; `handed` is whether there was one.
    pub(crate) fn polled(&self, handed: bool) {
        if let Some(progress) = &self.progress {
            progress
                .frames
                .set(progress.frames.get() + u64::from(handed));
            progress.handed.set(handed);
        }
    }

    /// Takes one of the process's slots for HTTP/2 requests, waiting if necessary: a client connection carries many
    /// requests, and each may need a connection to the legacy.
    pub(crate) async fn take_place(&mut self) {
        if self.progress.is_some() {
            self.place = self.client.worker.process().stream().await;
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let client = &self.client;
        client.busy.set(client.busy.get() - 1);
        client.socket_state.idle();
    }
}
