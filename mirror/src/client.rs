//! One client's connection: serving it, and knowing when to end it.
//!
//! The two time-outs of a client (for a begun head, for idleness) are kept by a sweep over all connections of a
//! worker, once a second, instead of a timer per request: hyper's own timer costs an allocation and a registration
//! for every request, and cannot tell an idle connection from one that trickles a head.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use http::HeaderValue;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

use crate::connect;
use crate::forward;
use crate::link::{MAX_BUFFER_BYTES, MAX_HEAD_BYTES};
use crate::worker::Worker;

/// What a connection has been told to do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Serve,
    /// Finish the request at hand and close.
    Finish,
    /// Close now.
    Close,
}

/// State of a client's connection, shared by its task, its requests and the sweep.
pub(crate) struct Client {
    pub(crate) worker: Rc<Worker>,
    /// The client's IP address as it stands in `X-Forwarded-For`.
    pub(crate) address: HeaderValue,
    order: Cell<Order>,
    waker: RefCell<Option<Waker>>,
    busy: Cell<bool>,
    /// When the sweep first saw the connection idle; a request costs no look at the clock for it.
    idle_since: Cell<Option<Instant>>,
    /// Number of reads that brought bytes. Atomic only because an upgraded socket must be `Send`.
    reads: Arc<AtomicU64>,
    /// `reads` when the connection became idle: more means that a head has begun.
    reads_when_idle: Cell<u64>,
    head_since: Cell<Option<Instant>>,
    _permit: OwnedSemaphorePermit,
}

/// A request at hand; dropping it makes the connection idle.
pub(crate) struct Busy(Rc<Client>);

impl Client {
    /// From the parsed head to the end of the answer.
    pub(crate) fn busy(self: &Rc<Self>) -> Busy {
        self.busy.set(true);
        self.idle_since.set(None);
        self.head_since.set(None);
        Busy(Rc::clone(self))
    }

    /// Asks the connection to end after the request at hand, or at once if there is none.
    pub(crate) fn finish(&self) {
        self.tell(Order::Finish);
    }

    /// Ends the connection if it has been waiting for its client for too long.
    pub(crate) fn sweep(&self, now: Instant) {
        if self.busy.get() {
            return;
        }
        let limits = &self.worker.shared.limits;
        if self.reads.load(Ordering::Relaxed) == self.reads_when_idle.get() {
            let since = self.idle_since.get().unwrap_or(now);
            self.idle_since.set(Some(since));
            if now.saturating_duration_since(since) >= limits.client_idle {
                self.tell(Order::Finish);
            }
        } else if let Some(since) = self.head_since.get() {
            if now.saturating_duration_since(since) >= limits.header_read {
                self.tell(Order::Close);
            }
        } else {
            self.head_since.set(Some(now));
        }
    }

    fn tell(&self, order: Order) {
        self.order.set(self.order.get().max(order));
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let client = &self.0;
        client.busy.set(false);
        client
            .reads_when_idle
            .set(client.reads.load(Ordering::Relaxed));
    }
}

/// Serves a connection to its end.
pub(crate) async fn serve(
    worker: Rc<Worker>,
    stream: TcpStream,
    peer: SocketAddr,
    permit: OwnedSemaphorePermit,
) {
    connect::tune(&stream);
    let reads = Arc::new(AtomicU64::new(0));
    let client = Rc::new(Client {
        address: HeaderValue::from_str(&peer.ip().to_canonical().to_string())
            .expect("an IP address is visible ASCII"),
        order: Cell::new(Order::Serve),
        waker: RefCell::new(None),
        busy: Cell::new(false),
        idle_since: Cell::new(None),
        reads: Arc::clone(&reads),
        reads_when_idle: Cell::new(0),
        head_since: Cell::new(None),
        worker: Rc::clone(&worker),
        _permit: permit,
    });
    let _registered = worker.register(&client);
    let io = ClientIo { stream, reads };
    let of_requests = Rc::clone(&client);
    let service = service_fn(move |request| forward::serve(Rc::clone(&of_requests), request));
    // No date of ours, no timer of hyper's; `max_headers` stays at its default of 100 (see `Link::open`).
    let connection = Builder::new()
        .auto_date_header(false)
        .header_read_timeout(None)
        .max_header_size(MAX_HEAD_BYTES)
        .max_buf_size(MAX_BUFFER_BYTES)
        .serve_connection(TokioIo::new(io), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let mut finishing = false;
    let ended = poll_fn(|cx| {
        if client.waker.borrow().is_none() {
            *client.waker.borrow_mut() = Some(cx.waker().clone());
        }
        if client.order.get() == Order::Close {
            return Poll::Ready(Ok(()));
        }
        let polled = connection.as_mut().poll(cx);
        if polled.is_pending() && client.order.get() == Order::Finish && !finishing {
            finishing = true;
            connection.as_mut().graceful_shutdown();
            return connection.as_mut().poll(cx);
        }
        polled
    })
    .await;
    if let Err(error) = ended {
        tracing::debug!(%error, "client connection ended");
    }
}

/// A client's socket that notes when bytes come in.
struct ClientIo {
    stream: TcpStream,
    reads: Arc<AtomicU64>,
}

impl AsyncRead for ClientIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            let reads = self.reads.load(Ordering::Relaxed);
            self.reads.store(reads + 1, Ordering::Relaxed);
        }
        polled
    }
}

impl AsyncWrite for ClientIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match slices {
            // `send` is a little cheaper than `writev`, and one slice is what a head without a body is.
            [only] => Pin::new(&mut self.stream).poll_write(cx, only),
            _ => Pin::new(&mut self.stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
