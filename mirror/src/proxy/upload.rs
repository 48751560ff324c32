//! The body of a client's request: how far it has come, and who still reads it.
//!
//! It belongs to the request and not to the connection that it goes out on, because it outlives that one: a legacy
//! that answers early and closes leaves a rest, and the client's connection can be used again only behind its end.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::Notify;

use crate::proxy::socket_state::SocketState;

/// How much of a body is read for nobody so that its connection can be used again, as Go does. More than that costs
/// more than a new connection.
const DISCARDED: u64 = 256 * 1024;
/// How long a body whose length is not known may take to end, where nobody wants it and the answer is ready.
const GLANCE: Duration = Duration::from_millis(20);
/// How long a client that asked whether to send its body may be left without an answer: as long as curl waits before
/// it sends unasked.
const EXPECTATION: Duration = Duration::from_secs(1);

/// There is nobody to answer: the connection is closed without a word.
#[derive(Debug, thiserror::Error)]
#[error("the client left before its request was complete")]
pub(crate) struct ClientGone;

/// Why a client's body did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    /// The client went away, or sent what is no body.
    #[error(transparent)]
    Client(#[from] hyper::Error),
    /// The client sent nothing for [`Limits::client_stall`](crate::Limits::client_stall).
    #[error("the client stopped sending")]
    Stalled,
}

/// How far a request's body has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum UploadState {
    /// More is to come.
    Running,
    /// All of it has been read.
    Complete,
    /// The client went away in the middle.
    ClientGone,
}

/// A request's body, shared by those who read it and those who wait for it.
pub(crate) struct Upload {
    incoming: RefCell<Incoming>,
    state: Cell<UploadState>,
    bytes: Cell<u64>,
    /// The task that waits for the client's next bytes, to be woken when it has waited too long; `None` while none
    /// does.
    waiting: RefCell<Option<Waker>>,
    /// Since when the client has been waited for, with the bytes then.
    since: Cell<Option<(Instant, u64)>>,
    stalled: Cell<bool>,
    /// How long the legacy was kept waiting for bytes that came later, in all.
    waited: Cell<Duration>,
    /// Since when it waits.
    waits_since: Cell<Option<Instant>>,
    /// Set while the client waits to be told to send; it is done when the client has been told, or has waited long
    /// enough.
    told: RefCell<Option<Pin<Box<dyn Future<Output = ()>>>>>,
    /// Whether the answer left the connection open, so that the rest must be read by somebody.
    promised: Cell<bool>,
    /// The client's socket, for HTTP/1 only: it is watched while the client waits for its answer.
    socket: Option<Arc<SocketState>>,
}

impl Upload {
    pub(crate) fn new(incoming: Incoming, socket: Option<&Arc<SocketState>>) -> Rc<Self> {
        Rc::new(Self {
            incoming: RefCell::new(incoming),
            state: Cell::new(UploadState::Running),
            bytes: Cell::new(0),
            waiting: RefCell::new(None),
            since: Cell::new(None),
            stalled: Cell::new(false),
            waited: Cell::new(Duration::ZERO),
            waits_since: Cell::new(None),
            told: RefCell::new(None),
            promised: Cell::new(false),
            socket: socket.cloned(),
        })
    }

    /// Reads nothing until the one who gets the result is told that the client may send, or [`EXPECTATION`] is over:
    /// hyper asks the client for its body with the first read.
    pub(crate) fn hold(&self) -> Arc<Notify> {
        let notify = Arc::new(Notify::new());
        let told = Arc::clone(&notify);
        *self.told.borrow_mut() = Some(Box::pin(async move {
            // Either way the client has waited long enough.
            let _elapsed = tokio::time::timeout(EXPECTATION, told.notified()).await;
        }));
        notify
    }

    /// The next frame.
    pub(crate) fn poll_frame(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some(told) = &mut *self.told.borrow_mut()
            && told.as_mut().poll(cx).is_pending()
        {
            return Poll::Pending;
        }
        self.told.take();
        let Poll::Ready(polled) = Pin::new(&mut *self.incoming.borrow_mut()).poll_frame(cx) else {
            if self.stalled.get() {
                self.state.set(UploadState::ClientGone);
                return Poll::Ready(Some(Err(BodyError::Stalled)));
            }
            self.waits(cx.waker().clone());
            return Poll::Pending;
        };
        self.came();
        match &polled {
            Some(Ok(frame)) => {
                let length = frame.data_ref().map_or(0, Bytes::len);
                self.bytes.set(self.bytes.get() + length as u64);
                if frame.is_trailers() || self.is_end_stream() {
                    self.complete();
                }
            }
            Some(Err(_)) => self.state.set(UploadState::ClientGone),
            None => self.complete(),
        }
        Poll::Ready(polled.map(|frame| frame.map_err(BodyError::Client)))
    }

    /// Remembers that a task waits for the client's next bytes.
    fn waits(&self, waker: Waker) {
        *self.waiting.borrow_mut() = Some(waker);
        if self.waits_since.get().is_none() {
            self.waits_since.set(Some(Instant::now()));
        }
    }

    /// Remembers that nobody waits for the client any more: it has sent something, or ended.
    fn came(&self) {
        self.waiting.take();
        if let Some(since) = self.waits_since.take() {
            self.waited.set(self.waited.get() + since.elapsed());
        }
    }

    /// How long the client kept the legacy waiting, up to the bytes that came last. A legacy that answers while it
    /// waits has not waited for what never came.
    pub(crate) fn waited(&self) -> Duration {
        self.waited.get()
    }

    fn complete(&self) {
        self.state.set(UploadState::Complete);
        if let Some(socket) = &self.socket {
            socket.await_answer();
        }
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        self.incoming.borrow().is_end_stream()
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        self.incoming.borrow().size_hint()
    }

    /// How far it has come.
    pub(crate) fn state(&self) -> UploadState {
        self.state.get()
    }

    /// Bytes that went on so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Whether the client still waits to be told to send.
    pub(crate) fn is_held(&self) -> bool {
        self.told.borrow().is_some()
    }

    /// Whether what is left is known, and little enough to be read for nobody. A client that was never told to send
    /// may send or not, so that nobody knows what would come next.
    pub(crate) fn has_little_left(&self) -> bool {
        let left = self.size_hint().exact();
        !self.is_held() && left.is_some_and(|left| left <= DISCARDED)
    }

    /// Remembers that the answer leaves the connection open.
    pub(crate) fn promise(&self) {
        self.promised.set(true);
    }

    /// Reads the rest for nobody where the answer has promised it.
    pub(crate) async fn keep_promise(&self) {
        if self.promised.get() && self.state() == UploadState::Running {
            self.discard().await;
        }
    }

    /// Reads the rest for nobody; returns whether it ended within [`GLANCE`].
    pub(crate) async fn ends_soon(&self) -> bool {
        if self.is_held() {
            return false;
        }
        let discarded = tokio::time::timeout(GLANCE, self.discard()).await;
        discarded.is_ok() && self.state() == UploadState::Complete
    }

    /// Reads the rest for nobody, up to [`DISCARDED`] bytes.
    async fn discard(&self) {
        let enough = self.bytes() + DISCARDED;
        while self.bytes() <= enough
            && let Some(Ok(_)) = poll_fn(|cx| self.poll_frame(cx)).await
        {}
    }

    /// Ends a body whose client has sent nothing for `patience`. A legacy that does not take what there is does not
    /// count: then nobody waits for the client.
    pub(crate) fn sweep(&self, now: Instant, patience: Duration) {
        if self.waiting.borrow().is_none() {
            self.since.set(None);
            return;
        }
        match self.since.get() {
            Some((since, bytes)) if bytes == self.bytes.get() => {
                if now.saturating_duration_since(since) >= patience {
                    self.stalled.set(true);
                    if let Some(waker) = self.waiting.take() {
                        waker.wake();
                    }
                }
            }
            _ => self.since.set(Some((now, self.bytes.get()))),
        }
    }
}
