//! Serves a client connection: detects its HTTP version, then runs hyper on it until its end.
//!
//! With TLS the handshake decides (ALPN). Without TLS a connection that begins with the HTTP/2 preface is HTTP/2 (prior
//! knowledge, RFC 9113 §3.3), any other HTTP/1. `Upgrade: h2c` is ignored: it is deprecated and has been a
//! vulnerability in many proxies. Requests are answered by [`forward`].

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use http::Request;
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

use crate::limits::{MAX_BUFFER_BYTES, MAX_HEAD_BYTES};
use crate::proxy::client::{Client, ClientIo, Clients, Order};
use crate::proxy::forward;
use crate::proxy::socket_state::Announced;
use crate::proxy::streams::StreamExecutor;
use crate::proxy::worker::Worker;
use crate::upstream;

/// What an HTTP/2 client sends first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Size of the first read, which detects the HTTP version: enough for a usual head.
const FIRST_READ: usize = 2 * 1024;

/// Concurrent requests of one connection, as Envoy recommends at the edge. The client holds back more.
const MAX_STREAMS: u32 = 100;
/// Bytes of one request's body that may be received before the legacy reads them, as Envoy recommends at the edge.
const STREAM_WINDOW: u32 = 64 * 1024;
/// Large enough for all streams' windows: otherwise uploads that the legacy does not read would block other requests on
/// the connection, which behind a load balancer belong to other clients.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MAX_STREAMS;
/// Largest head of a request, the same as for HTTP/1.
const MAX_HEADER_LIST: u32 = MAX_HEAD_BYTES as u32;
/// How often an HTTP/2 client is pinged, and how long the answer may take.
const PING: Duration = Duration::from_secs(20);
/// Streams that a client may open and reset before they are accepted; beyond it the connection is closed (rapid reset).
const MAX_UNSEEN_RESETS: usize = 20;
/// Streams that we may reset because of client errors; beyond it the connection is closed. Refused streams count too,
/// and a client may open many before it has received the limit.
const MAX_LOCAL_RESETS: usize = 1024;

/// Serves a connection to its end.
pub(crate) async fn serve(
    worker: Rc<Worker>,
    clients: Rc<Clients>,
    (stream, peer): (TcpStream, SocketAddr),
    permit: OwnedSemaphorePermit,
) {
    upstream::tune(&stream);
    let generation = worker.generation();
    let tls = generation.tls().cloned();
    let secure = tls.is_some();
    let client = Rc::new(Client::new(
        &worker,
        (peer, stream.local_addr().ok()),
        secure,
        permit,
    ));
    let _registered = clients.register(&client);
    let patience = generation.limits().header_read;
    // A connection may outlive many generations.
    drop(generation);
    let begun = async {
        let Some(tls) = tls else {
            let (http2, first) = sniff(&stream).await?;
            let io = ClientIo::clear(stream, first, client.socket_state());
            return Ok((http2, io.speaking(http2)));
        };
        let stream = tokio::time::timeout(patience, tls.accept(stream)).await??;
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let io = ClientIo::tls(stream, client.socket_state());
        io::Result::Ok((http2, io.speaking(http2)))
    };
    let ended = match unless_told(&client, pin!(begun)).await {
        Some(Ok((true, io))) => {
            client.speaks_http2();
            speak_http2(&client, io).await
        }
        Some(Ok((false, io))) => speak_http1(&client, io).await,
        Some(Err(error)) => {
            tracing::debug!(%error, "client connection ended before its first request");
            return;
        }
        None => return,
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "client connection ended");
    }
}

/// Whether a connection begins with the HTTP/2 preface, and the bytes that were read.
async fn sniff(stream: &TcpStream) -> io::Result<(bool, BytesMut)> {
    let mut first = BytesMut::with_capacity(FIRST_READ);
    let mut stream = ReadOnly(stream);
    loop {
        let more = stream.read_buf(&mut first).await?;
        let known = first.len().min(PREFACE.len());
        let alike = first[..known] == PREFACE[..known];
        if !alike || known == PREFACE.len() || more == 0 {
            return Ok((alike && known == PREFACE.len(), first));
        }
    }
}

/// Reads from a borrowed socket.
struct ReadOnly<'a>(&'a TcpStream);

impl tokio::io::AsyncRead for ReadOnly<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            std::task::ready!(self.0.poll_read_ready(cx))?;
            match self.0.try_read(buffer.initialize_unfilled()) {
                Ok(length) => {
                    buffer.advance(length);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

/// Waits for `work`, or returns `None` once the connection is told to end: before the first request there is nothing to
/// finish.
async fn unless_told<T>(client: &Client, mut work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    poll_fn(|cx| {
        if client.order(cx) != Order::Serve {
            return Poll::Ready(None);
        }
        work.as_mut().poll(cx).map(Some)
    })
    .await
}

async fn speak_http1(client: &Rc<Client>, io: ClientIo) -> hyper::Result<()> {
    let of_requests = Rc::clone(client);
    let service = service_fn(move |request: Request<Incoming>| {
        // Done here, because hyper continues to read when this function has returned.
        let body = request.body();
        of_requests
            .socket_state()
            .announce(match body.size_hint().exact() {
                _ if body.is_end_stream() => Announced::Nothing,
                Some(bytes) => Announced::Bytes(bytes),
                None => Announced::Unknown,
            });
        forward::serve(Rc::clone(&of_requests), request)
    });
    // No `Date` of our own, and no timer of hyper's. `max_headers` stays at its default of 100 (see
    // `upstream::link::http1`). A client that closes its sending side still gets an answer that comes soon (see `client::half_closed`).
    let connection = http1::Builder::new()
        .half_close(true)
        .auto_date_header(false)
        .header_read_timeout(None)
        .max_header_size(MAX_HEAD_BYTES)
        .max_buf_size(MAX_BUFFER_BYTES)
        .serve_connection(TokioIo::new(io), service)
        .with_upgrades();
    drive(client, pin!(connection), |connection| {
        connection.graceful_shutdown();
    })
    .await
}

async fn speak_http2(client: &Rc<Client>, io: ClientIo) -> hyper::Result<()> {
    let of_requests = Rc::clone(client);
    let service = service_fn(move |request| forward::serve(Rc::clone(&of_requests), request));
    let connection = http2::Builder::new(StreamExecutor(Rc::clone(client.worker().streams())))
        .timer(TokioTimer::new())
        .auto_date_header(false)
        .max_concurrent_streams(MAX_STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(MAX_HEADER_LIST)
        .max_pending_accept_reset_streams(MAX_UNSEEN_RESETS)
        .max_local_error_reset_streams(MAX_LOCAL_RESETS)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .serve_connection(TokioIo::new(io), service);
    drive(client, pin!(connection), |connection| {
        connection.graceful_shutdown();
    })
    .await
}

/// Drives a connection until it ends or its client's [`Order`] ends it.
async fn drive<C: Future<Output = hyper::Result<()>>>(
    client: &Client,
    mut connection: Pin<&mut C>,
    finish: impl Fn(Pin<&mut C>),
) -> hyper::Result<()> {
    let mut finishing = false;
    poll_fn(|cx| {
        if client.order(cx) == Order::Close {
            return Poll::Ready(Ok(()));
        }
        let polled = connection.as_mut().poll(cx);
        if polled.is_pending() && client.order(cx) == Order::Finish && !finishing {
            finishing = true;
            finish(connection.as_mut());
            return connection.as_mut().poll(cx);
        }
        polled
    })
    .await
}
