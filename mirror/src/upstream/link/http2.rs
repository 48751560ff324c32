//! The HTTP/2 connections of a worker to a service, and the streams on them.
//!
//! Unlike [`super::http1`], a connection is shared, so it has a task of its own. Streams are counted: when a connection
//! has as many as the service allows, or as [`MAX_STREAMS`], another one is opened. Requests that come while the first
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

/// Streams on one connection at a time: what Envoy advises, and what most servers allow.
const MAX_STREAMS: usize = 100;
/// Bytes of one answer that may come ahead of whoever reads it, as Envoy advises.
const STREAM_WINDOW: u32 = 64 * 1024;
/// Room for every stream's window: with less, clients that do not read would hold up those that do.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MAX_STREAMS as u32;
/// The longest head of an answer, as HTTP/2 counts it: the same as for HTTP/1.1.
const MAX_HEADER_LIST: u32 = MAX_HEAD_BYTES as u32;
/// How often a connection in use is asked for a sign of life, and how long that may take.
const PING: Duration = Duration::from_secs(20);

/// A connection that requests share.
struct Multiplexed<B> {
    sender: SendRequest<B>,
    streams: Cell<usize>,
    /// Streams that the service allows at a time.
    allowed: Rc<Cell<usize>>,
    idle_since: Cell<Instant>,
    driver: AbortHandle,
    /// What the service may send, if that is limited.
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
    /// How many connections have been opened so far, without those that failed.
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

    /// A stream on a connection that is there, or is just being opened.
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
            // After a failure everybody tries for itself: one after the other they would wait for each other's
            // failures. After a success one of those for whom there was no room opens the next.
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

    /// Speaks HTTP/2 on a fresh connection, and takes its first stream.
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
        // Not one of the worker's tasks, which the drain waits for: it lives as long as it is kept here.
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

    /// Closes what has no stream.
    pub(crate) fn clear(&self) {
        self.connections
            .borrow_mut()
            .retain(|connection| connection.streams.get() > 0);
    }

    /// Closes what has had no stream for too long.
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
