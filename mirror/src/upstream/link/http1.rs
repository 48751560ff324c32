//! HTTP/1.1 connections to a service, and the pool of idle ones.
//!
//! A connection has no task of its own: the task that waits for the answer drives it. So an event on the service's
//! socket wakes exactly the task that needs it. The driver and the receivers of its messages (the answer, the chunks of
//! its body) are polled together. Receivers are polled with a waker that does nothing, because only driving makes them
//! ready. The driver is first polled with that waker too, and with the task's waker only if nothing was ready:
//! otherwise reading a chunk and sending the next request would wake the task that is already running, twice per
//! request. Dropping the link closes its connection, which is the only way to end an HTTP/1.1 exchange early (and keeps
//! an early answer from leaking the connection, hyper#4176).
//!
//! **Answers to bodies that were not read.** A service may answer a request by its head alone, leave the body unread, and
//! still not say `Connection: close`. To us the body looks sent, because the two systems hold megabytes between the
//! programs. Such a service most likely never reads the next request either, and later closes. So a connection is not
//! used again if its answer makes that likely: see [`Doubt`].
//!
//! Idle connections are not polled. One that the service has closed returns the unsent request on its next use, and the
//! request is sent on a new connection.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body as _, Frame};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;

use crate::descriptors::Descriptor;
use crate::limits::{MAX_BUFFER_BYTES, MAX_HEAD_BYTES};
use crate::upstream::account::Account;
use crate::upstream::body::{AnswerBody, RequestBody};
use crate::upstream::connect::UpstreamIo;
use crate::upstream::link::spelled::{self, Outgoing, Spelled};

/// How many bytes of a request a service has surely read when it refuses the request after its end. Services read this
/// much at once, and most bodies of requests that are refused are smaller: a connection for each of them would cost more
/// ports than a system has.
const SURELY_READ: usize = 16 * 1024;

/// Whether the service may have left the body of its last request unread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubt {
    None,
    /// If the request was larger than [`SURELY_READ`]: the answer is no success, or came before the end of the body.
    IfLarge,
    /// The answer is no success and came before the end of the body.
    Any,
}

type Driver<B> = Connection<TokioIo<Spelled>, B>;

/// A connection and its driver.
pub(crate) struct Connected<B: RequestBody> {
    sender: SendRequest<B>,
    /// `None` once the connection has ended.
    driver: Option<Driver<B>>,
    /// Limits what the service may send; `None` for no limit.
    account: Option<Rc<Account>>,
    outgoing: Rc<Outgoing>,
    doubt: Doubt,
    /// Counts the connection for as long as this exists.
    _place: Option<Descriptor>,
}

/// hyper's HTTP/1.1 settings for connections to a service.
pub(in crate::upstream) fn builder() -> Builder {
    let mut builder = Builder::new();
    // `max_headers` stays at hyper's default of 100, because setting it to any number moves the parser's arrays from
    // the stack to the heap: with 512 headers, a thousand shadows in flight took 10 MiB more.
    builder
        .max_header_size(MAX_HEAD_BYTES)
        .max_buf_size(MAX_BUFFER_BYTES)
        // A proxy repairs both in answers (RFC 9112 §5.1, §5.2); in requests they are refused.
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true);
    builder
}

impl<B: RequestBody> Connected<B> {
    /// Speaks HTTP on a fresh connection.
    pub(in crate::upstream) async fn open(
        io: UpstreamIo,
        account: Option<Rc<Account>>,
        place: Option<Descriptor>,
    ) -> hyper::Result<Box<Self>> {
        let outgoing = Rc::<Outgoing>::default();
        let (sender, driver) = builder()
            .handshake(TokioIo::new(Spelled::new(io, &outgoing)))
            .await?;
        Ok(Box::new(Self {
            sender,
            driver: Some(driver),
            account,
            outgoing,
            doubt: Doubt::None,
            _place: place,
        }))
    }

    pub(super) fn account(&self) -> Option<&Account> {
        self.account.as_deref()
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(
        &mut self,
        mut request: Request<B>,
    ) -> Result<Response<Incoming>, TrySendError<Request<B>>> {
        if let Some(account) = &self.account {
            account.begin(request.body().size_hint().lower());
        }
        let has_body = !request.body().is_end_stream();
        spelled::spell(&self.outgoing, &mut request);
        let mut answer = pin!(self.sender.try_send_request(request));
        let driver = &mut self.driver;
        let mut written = false;
        let answer = poll_fn(|cx| {
            // Nothing can be read before the request is written.
            if std::mem::replace(&mut written, true) {
                let arrived = poll_after(driver, &mut silent(), |cx| answer.as_mut().poll(cx));
                if arrived.is_ready() {
                    return arrived;
                }
            }
            poll_after(driver, cx, |cx| answer.as_mut().poll(cx))
        })
        .await?;
        if let Some(account) = &self.account {
            account.answered(answer.body().size_hint().exact().is_some());
        }
        self.doubt = if has_body && !answer.status().is_success() {
            Doubt::IfLarge
        } else {
            Doubt::None
        };
        Ok(answer)
    }

    /// Records that the answer came before the end of the request's body.
    pub(crate) fn came_early(&mut self) {
        self.doubt = match self.doubt {
            Doubt::None => Doubt::IfLarge,
            Doubt::IfLarge | Doubt::Any => Doubt::Any,
        };
    }

    /// The next frame of the answer's body.
    pub(super) fn poll_frame(
        &mut self,
        body: &mut AnswerBody,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut frame = |cx: &mut Context<'_>| Pin::new(&mut *body).poll_frame(cx);
        let mut arrived = frame(&mut silent());
        if arrived.is_pending() {
            arrived = poll_after(&mut self.driver, &mut silent(), &mut frame);
        }
        if arrived.is_pending() {
            arrived = poll_after(&mut self.driver, cx, &mut frame);
        }
        arrived
    }

    /// Whether the next request can use it: both messages are complete, neither side wants to close it, and the service
    /// is likely to have read the request.
    fn is_reusable(&self) -> bool {
        let is_read = match self.doubt {
            Doubt::None => true,
            Doubt::IfLarge => self.outgoing.written() <= SURELY_READ,
            Doubt::Any => false,
        };
        is_read && self.driver.is_some() && self.sender.is_ready()
    }

    /// Waits until the link can be reused (`true`) or has ended (`false`).
    pub(crate) async fn settle(&mut self) -> bool {
        poll_fn(|cx| {
            drive(&mut self.driver, cx);
            if self.driver.is_none() {
                Poll::Ready(false)
            } else if self.sender.is_ready() {
                Poll::Ready(true)
            } else {
                Poll::Pending
            }
        })
        .await
    }
}

/// Reads and writes as much as possible without waiting.
fn drive<B: RequestBody>(slot: &mut Option<Driver<B>>, cx: &mut Context<'_>) {
    if let Some(driver) = slot
        && Pin::new(driver).poll(cx).is_ready()
    {
        // Dropping it passes its error to the futures that wait for it.
        *slot = None;
    }
}

/// Drives with `cx`, then polls the receiver.
fn poll_after<B: RequestBody, T>(
    driver: &mut Option<Driver<B>>,
    cx: &mut Context<'_>,
    receive: impl FnOnce(&mut Context<'_>) -> Poll<T>,
) -> Poll<T> {
    drive(driver, cx);
    receive(&mut silent())
}

/// A context whose waker does nothing.
fn silent() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// The idle links of one worker to one service, the most recently used last.
pub(in crate::upstream) struct Pool<B: RequestBody> {
    idle: RefCell<VecDeque<(Instant, Box<Connected<B>>)>>,
    capacity: usize,
    patience: Duration,
}

impl<B: RequestBody> Pool<B> {
    /// At most `capacity` links, each for at most `patience`.
    pub(crate) fn new(capacity: usize, patience: Duration) -> Self {
        Self {
            idle: RefCell::default(),
            capacity,
            patience,
        }
    }

    /// The link that was used last, unless it has been idle for too long; then so have all others.
    pub(crate) fn take(&self, now: Instant) -> Option<Box<Connected<B>>> {
        let (since, link) = self.idle.borrow_mut().pop_back()?;
        (now.saturating_duration_since(since) < self.patience).then_some(link)
    }

    /// Keeps a link if it can be reused and there is room; else it is closed.
    pub(crate) fn put(&self, link: Box<Connected<B>>, now: Instant) {
        let mut idle = self.idle.borrow_mut();
        if link.is_reusable() && idle.len() < self.capacity {
            idle.push_back((now, link));
        }
    }

    /// Closes all of them.
    pub(crate) fn clear(&self) {
        self.idle.borrow_mut().clear();
    }

    /// Closes links that have been idle for too long.
    pub(crate) fn sweep(&self, now: Instant) {
        let mut idle = self.idle.borrow_mut();
        while let Some((since, _)) = idle.front()
            && now.saturating_duration_since(*since) >= self.patience
        {
            idle.pop_front();
        }
    }
}
