//! The connections of the admin port: how many there may be, and for how long.
//!
//! They share file descriptors with the clients of a proxy, and anybody who reaches the port can open them before any
//! token is asked for. So their number has a cap, beyond which they wait in the system's backlog, where they cost
//! us nothing; a head must come in time; and no connection lasts, so that whoever waits gets a turn.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

/// Connections at a time: a few browsers, which open six each, and what probes and scrapes.
pub const CONNECTIONS: usize = 32;
/// For a head, from the first byte or from the answer before it: a connection that asks nothing is closed as well.
const HEAD: Duration = Duration::from_secs(10);
/// The same where half of the places are taken already: connections that only wait for their clients make way, so that a
/// probe that is in a hurry has its turn.
const HEAD_WHERE_FULL: Duration = Duration::from_secs(1);
/// After this a connection takes no new request.
const LIFE: Duration = Duration::from_mins(1);
/// What the request at hand has then: a report of a large store takes seconds, and may be read over a slow network.
const LAST: Duration = Duration::from_mins(1);
/// Pause after an error to accept. Out of file descriptors, the next try would fail at once, and spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `shutdown` completes; requests under way are finished.
pub(super) async fn serve(
    listener: TcpListener,
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
            Ok(Some((stream, place))) => {
                let (router, ending) = (router.clone(), ending.clone());
                let is_full = places.available_permits() < connections / 2;
                let head = if is_full { HEAD_WHERE_FULL } else { HEAD };
                serving.spawn(async move {
                    one(stream, router, head, ending).await;
                    drop(place);
                });
            }
            Ok(None) => break,
            Err(error) => {
                tracing::debug!(%error, "the admin port cannot accept connections; trying on");
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
) -> io::Result<Option<(TcpStream, OwnedSemaphorePermit)>> {
    let Ok(place) = Arc::clone(places).acquire_owned().await else {
        return Ok(None);
    };
    let (stream, _) = listener.accept().await?;
    Ok(Some((stream, place)))
}

async fn one(stream: TcpStream, router: Router, head: Duration, mut ending: watch::Receiver<bool>) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    let ended: Result<(), hyper::Error> = tokio::select! {
        ended = connection.as_mut() => ended,
        () = over(&mut ending) => {
            connection.as_mut().graceful_shutdown();
            // Cut after it: a client that does not read would stay for ever.
            tokio::time::timeout(LAST, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection of the admin port ended");
    }
}

/// Until a connection has had its time, or the port ends.
async fn over(ending: &mut watch::Receiver<bool>) {
    // A sender that is gone has ended as well.
    let _either = tokio::time::timeout(LIFE, ending.wait_for(|ending| *ending)).await;
}
