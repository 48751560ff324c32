//! The connections of the admin port: how many there may be, and for how long.
//!
//! They share file descriptors with the clients of a proxy, and anybody who reaches the port can open them before a
//! token is checked. So their number is limited; further ones wait in the system's backlog, where they cost nothing. A
//! request head must arrive in time, and every connection is closed after a while, so that those that wait get a turn.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::visit::Peer;

/// Connections at a time: for a few browsers, which open six each, and for probes and metric scrapers.
pub const CONNECTIONS: usize = 32;
/// Time for a request head, counted from opening the connection or from the previous answer. An idle connection is
/// closed as well.
const HEAD: Duration = Duration::from_secs(10);
/// The same when half of the connections are in use: then idle ones are closed sooner, so that a probe with a short
/// time-out gets through.
const HEAD_WHERE_FULL: Duration = Duration::from_secs(1);
/// After this a connection takes no new request.
const LIFE: Duration = Duration::from_mins(1);
/// Time that a current request has after that: a report of a large store takes seconds, and may be read over a slow
/// network.
const LAST: Duration = Duration::from_mins(1);
/// Pause after a failed accept. Without it, a lack of file descriptors would make the loop spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `shutdown` completes; requests under way are finished.
pub(super) async fn serve(
    listener: TcpListener,
    tls: watch::Receiver<Option<TlsAcceptor>>,
    router: Router,
    connections: usize,
    shutdown: impl Future<Output = ()>,
) {
    let places = Arc::new(Semaphore::new(connections.max(1)));
    let (end, ending) = watch::channel(false);
    let mut serving = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = next(&listener, &places) => accepted,
        };
        match accepted {
            Ok(Some((stream, peer, place))) => {
                let (router, ending) = (router.clone(), ending.clone());
                let tls = tls.borrow().clone();
                let is_full = places.available_permits() < connections / 2;
                let head = if is_full { HEAD_WHERE_FULL } else { HEAD };
                serving.spawn(async move {
                    match tls {
                        None => one(stream, (router, peer), head, ending).await,
                        // Who speaks no TLS gets no answer, and no place for longer than a head may take.
                        Some(tls) => match tokio::time::timeout(head, tls.accept(stream)).await {
                            Ok(Ok(stream)) => one(stream, (router, peer), head, ending).await,
                            Ok(Err(error)) => {
                                tracing::debug!(%error, "connection of the admin port without TLS");
                            }
                            Err(_) => {}
                        },
                    }
                    drop(place);
                });
            }
            Ok(None) => break,
            Err(error) => {
                tracing::debug!(%error, "the admin port cannot accept connections; trying again");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while serving.try_join_next().is_some() {}
    }
    drop(listener);
    end.send_replace(true);
    while serving.join_next().await.is_some() {}
}

/// The next connection, once there is a place for it; `None` if there never will be.
async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)>> {
    let Ok(place) = Arc::clone(places).acquire_owned().await else {
        return Ok(None);
    };
    let (stream, peer) = listener.accept().await?;
    Ok(Some((stream, peer, place)))
}

async fn one(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    (router, peer): (Router, SocketAddr),
    head: Duration,
    mut ending: watch::Receiver<bool>,
) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended: Result<(), hyper::Error> = tokio::select! {
        ended = connection.as_mut() => ended,
        () = over(&mut ending) => {
            connection.as_mut().graceful_shutdown();
            // Then the connection is cut, because a client that does not read would keep it for ever.
            tokio::time::timeout(LAST, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection of the admin port ended");
    }
}

/// Waits until a connection has used up its time, or the port ends.
async fn over(ending: &mut watch::Receiver<bool>) {
    // An error means that the sender was dropped, which also ends the port.
    let _either = tokio::time::timeout(LIFE, ending.wait_for(|ending| *ending)).await;
}
