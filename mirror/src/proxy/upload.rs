//! The body of a client's request while it is received.
//!
//! It belongs to the request and not to the legacy's connection, because it may outlive that: if the legacy answers
//! early and closes, the rest must still be read before the client's connection can be used again.

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

/// How much of a body is read and discarded so that its connection can be used again, as Go does. Reading more costs
/// more than a new connection.
const DISCARDED: u64 = 256 * 1024;
/// How long to wait for the end of an unneeded body of unknown length, when the answer is ready.
const GLANCE: Duration = Duration::from_millis(20);
/// How long a client with `Expect: 100-continue` waits at most for the legacy: as long as curl waits before it sends
/// anyway.
const EXPECTATION: Duration = Duration::from_secs(1);

/// The client has disconnected: the connection is closed without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the client left before its request was complete")]
pub(crate) struct ClientGone;

/// Why a client's body is incomplete.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    /// The client disconnected, or sent an invalid body.
    #[error(transparent)]
    Client(#[from] hyper::Error),
    /// The client sent nothing for [`Limits::client_stall`](crate::Limits::client_stall).
    #[error("the client stopped sending")]
    Stalled,
}

/// The state of a request's body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum UploadState {
    /// More is to come.
    Running,
    /// All of it has been read.
    Complete,
    /// The client disconnected or stalled.
    ClientGone,
}

/// A request's body, shared by the tasks that read it or wait for it.
pub(crate) struct Upload {
    incoming: RefCell<Incoming>,
    state: Cell<UploadState>,
    bytes: Cell<u64>,
    /// The task that waits for the client's next bytes, to be woken after a stall; `None` if no task waits.
    waiting: RefCell<Option<Waker>>,
    /// Since when the sweep has seen it wait, with the number of bytes at that time.
    since: Cell<Option<(Instant, u64)>>,
    stalled: Cell<bool>,
    /// Total time that the legacy waited for bytes that did arrive.
    waited: Cell<Duration>,
    /// Since when it has been waiting.
    waits_since: Cell<Option<Instant>>,
    /// Set while the client waits for `100 Continue`; completes when the body may be read.
    told: RefCell<Option<Pin<Box<dyn Future<Output = ()>>>>>,
    /// Whether the answer left the connection open, so that the rest must be read.
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

    /// Delays the first read until the returned `Notify` is notified, or [`EXPECTATION`] is over: with the first read
    /// hyper sends `100 Continue`.
    pub(crate) fn hold(&self) -> Arc<Notify> {
        let notify = Arc::new(Notify::new());
        let told = Arc::clone(&notify);
        *self.told.borrow_mut() = Some(Box::pin(async move {
            // A time-out allows the read as well.
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

    /// Whether a task waits for the client's next bytes.
    pub(crate) fn waits_for_client(&self) -> bool {
        self.waits_since.get().is_some()
    }

    /// Records that a task waits for the client's next bytes.
    fn waits(&self, waker: Waker) {
        *self.waiting.borrow_mut() = Some(waker);
        if self.waits_since.get().is_none() {
            self.waits_since.set(Some(Instant::now()));
        }
    }

    /// Records that no task waits any more: the client has sent something, or the body has ended.
    fn came(&self) {
        self.waiting.take();
        if let Some(since) = self.waits_since.take() {
            self.waited.set(self.waited.get() + since.elapsed());
        }
    }

    /// How long the legacy waited for the client's bytes, up to the last ones that arrived. If the legacy answers while
    /// it waits, that last wait does not count.
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

    /// Bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Whether the client still waits for `100 Continue`.
    pub(crate) fn is_held(&self) -> bool {
        self.told.borrow().is_some()
    }

    /// Whether the rest has a known length that is small enough to be read and discarded. A client that was never told
    /// to send its body may or may not send it, so its next bytes cannot be interpreted.
    pub(crate) fn has_little_left(&self) -> bool {
        let left = self.size_hint().exact();
        !self.is_held() && left.is_some_and(|left| left <= DISCARDED)
    }

    /// Records that the answer leaves the connection open.
    pub(crate) fn promise(&self) {
        self.promised.set(true);
    }

    /// Reads and discards the rest if the answer left the connection open.
    pub(crate) async fn keep_promise(&self) {
        if self.promised.get() && self.state() == UploadState::Running {
            self.discard().await;
        }
    }

    /// Reads and discards the rest; returns whether it ended within [`GLANCE`].
    pub(crate) async fn ends_soon(&self) -> bool {
        if self.is_held() {
            return false;
        }
        let discarded = tokio::time::timeout(GLANCE, self.discard()).await;
        discarded.is_ok() && self.state() == UploadState::Complete
    }

    /// Reads and discards the rest, up to [`DISCARDED`] bytes.
    async fn discard(&self) {
        let enough = self.bytes() + DISCARDED;
        while self.bytes() <= enough
            && let Some(Ok(_)) = poll_fn(|cx| self.poll_frame(cx)).await
        {}
    }

    /// Ends a body whose client has sent nothing for `patience`. Time in which the legacy does not read does not count:
    /// then no task waits for the client.
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
