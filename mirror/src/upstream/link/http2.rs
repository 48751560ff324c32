//! The HTTP/2 connections of a worker to a service, and the streams on them.
//!
//! Unlike in [`super::http1`], a connection is shared, so it has a task of its own. When a connection has as many
//! streams as the service allows, or [`MAX_STREAMS`], another one is opened. Requests that come while the first
//! connection is being opened wait for it instead of opening one each.

use std::cell::{Cell, RefCell};
use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::descriptors::Descriptor;
use crate::limits::MAX_HEAD_BYTES;
use crate::upstream::account::Account;
use crate::upstream::body::RequestBody;
use crate::upstream::connect::UpstreamIo;
use crate::upstream::executor::LocalExecutor;
use crate::upstream::link::frame_counter::FrameCounter;

/// Concurrent streams on one connection: what Envoy recommends and most servers allow.
const MAX_STREAMS: usize = 100;
/// Bytes of one answer that may be received before they are read, as Envoy recommends.
const STREAM_WINDOW: u32 = 64 * 1024;
/// Large enough for all streams' windows: otherwise clients that do not read would block those that do.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MAX_STREAMS as u32;
/// The largest head of an answer, the same as for HTTP/1.1.
const MAX_HEADER_LIST: u32 = MAX_HEAD_BYTES as u32;
/// How often a connection in use is pinged, and how long the answer may take.
const PING: Duration = Duration::from_secs(20);

/// A connection that requests share.
struct Multiplexed<B> {
    sender: SendRequest<B>,
    streams: Cell<usize>,
    /// Concurrent streams that the service allows.
    allowed: Rc<Cell<usize>>,
    idle_since: Cell<Instant>,
    driver: AbortHandle,
    /// Limits what the service may send; `None` for no limit.
    account: Option<Rc<Account>>,
    /// Counts the connection for as long as this exists.
    _place: Option<Descriptor>,
}

impl<B: RequestBody> Multiplexed<B> {
    fn has_room(&self) -> bool {
        self.streams.get() < self.allowed.get().min(MAX_STREAMS) && !self.sender.is_closed()
    }
}

impl<B> Drop for Multiplexed<B> {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// One stream, from before its request to the end of its answer.
pub(crate) struct Stream<B> {
    connection: Rc<Multiplexed<B>>,
}

impl<B: RequestBody> Stream<B> {
    fn on(connection: &Rc<Multiplexed<B>>) -> Self {
        connection.streams.set(connection.streams.get() + 1);
        Self {
            connection: Rc::clone(connection),
        }
    }

    pub(super) fn account(&self) -> Option<&Account> {
        self.connection.account.as_deref()
    }

    pub(super) async fn send(
        &self,
        request: Request<B>,
    ) -> Result<Response<Incoming>, TrySendError<Request<B>>> {
        if let Some(account) = self.account() {
            account.stream(request.body().size_hint().lower());
        }
        let mut sender = self.connection.sender.clone();
        sender.try_send_request(request).await
    }
}

impl<B> Drop for Stream<B> {
    fn drop(&mut self) {
        self.connection
            .streams
            .set(self.connection.streams.get() - 1);
        self.connection.idle_since.set(Instant::now());
    }
}

/// The connections of one worker to one service.
pub(in crate::upstream) struct Streams<B> {
    connections: RefCell<Vec<Rc<Multiplexed<B>>>>,
    opening: Cell<bool>,
    /// How many connections have been opened successfully so far.
    succeeded: Cell<u64>,
    opened: Notify,
    patience: Duration,
}

impl<B: RequestBody> Streams<B> {
    /// Connections without a stream are kept for `patience`.
    pub(crate) fn new(patience: Duration) -> Self {
        Self {
            connections: RefCell::default(),
            opening: Cell::new(false),
            succeeded: Cell::new(0),
            opened: Notify::new(),
            patience,
        }
    }

    /// A stream on an existing connection, or on one that is just being opened.
    pub(crate) async fn take(&self) -> Option<Stream<B>> {
        loop {
            if let Some(stream) = self.room() {
                return Some(stream);
            }
            if !self.opening.get() {
                return None;
            }
            let before = self.succeeded.get();
            self.opened.notified().await;
            // After a failure every waiter opens its own connection; otherwise they would wait for each other's
            // failures in sequence. After a success, if there was no stream left, one waiter opens the next connection.
            if self.succeeded.get() == before {
                return self.room();
            }
        }
    }

    /// Marks that a connection is being opened, until the guard is dropped.
    pub(crate) fn opening(&self) -> Opening<'_, B> {
        self.opening.set(true);
        Opening(self)
    }

    /// Starts HTTP/2 on a new connection, and takes its first stream.
    pub(crate) async fn open(
        &self,
        io: UpstreamIo,
        account: Option<Rc<Account>>,
        place: Option<Descriptor>,
    ) -> hyper::Result<Stream<B>> {
        if let Some(account) = &account {
            account.share(CONNECTION_WINDOW);
        }
        let turns = account.as_ref().map(|account| Rc::clone(account.turns()));
        let (sender, connection) = Builder::new(LocalExecutor(turns))
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(MAX_HEADER_LIST)
            .keep_alive_interval(PING)
            .keep_alive_timeout(PING)
            .handshake(TokioIo::new(FrameCounter::new(io, account.clone())))
            .await?;
        // Not one of the tasks that the drain waits for: it lives as long as the connection is kept here.
        let allowed = Rc::new(Cell::new(connection.current_max_send_streams()));
        let driver = tokio::task::spawn_local({
            let allowed = Rc::clone(&allowed);
            let mut connection = connection;
            async move {
                let ended = poll_fn(|cx| {
                    let polled = Pin::new(&mut connection).poll(cx);
                    allowed.set(connection.current_max_send_streams());
                    polled
                });
                if let Err(error) = ended.await {
                    tracing::debug!(%error, "HTTP/2 connection to a service ended");
                }
            }
        });
        let shared = Rc::new(Multiplexed {
            sender,
            streams: Cell::new(0),
            allowed,
            idle_since: Cell::new(Instant::now()),
            driver: driver.abort_handle(),
            account,
            _place: place,
        });
        let stream = Stream::on(&shared);
        self.connections.borrow_mut().push(shared);
        self.succeeded.set(self.succeeded.get() + 1);
        Ok(stream)
    }

    fn room(&self) -> Option<Stream<B>> {
        let mut connections = self.connections.borrow_mut();
        connections.retain(|connection| !connection.sender.is_closed());
        let found = connections
            .iter()
            .find(|connection| connection.has_room())?;
        Some(Stream::on(found))
    }

    /// Closes connections without a stream.
    pub(crate) fn clear(&self) {
        self.connections
            .borrow_mut()
            .retain(|connection| connection.streams.get() > 0);
    }

    /// Closes connections that have had no stream for too long.
    pub(crate) fn sweep(&self, now: Instant) {
        self.connections.borrow_mut().retain(|connection| {
            connection.streams.get() > 0
                || now.saturating_duration_since(connection.idle_since.get()) < self.patience
        });
    }
}

/// A connection is being opened.
pub(in crate::upstream) struct Opening<'a, B>(&'a Streams<B>);

impl<B> Drop for Opening<'_, B> {
    fn drop(&mut self) {
        self.0.opening.set(false);
        self.0.opened.notify_waiters();
    }
}
