//! The connections of the admin port: how many there may be, and for how long.
//!
//! They share file descriptors with the clients of a proxy, and anybody who reaches the port can open them before a
//! token is checked. So their number is limited; further ones wait in the system's backlog, where they cost nothing. A
//! request head must arrive in time, and every connection is closed after a while, so that those that wait get a turn.
//!
//! The backlog knows no addresses: behind many silent connections from one, a probe from another would wait. So one address never
//! has all places. What comes from it beyond its share is taken out of the backlog and waits here; beyond a limit of that, it is closed.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
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
/// One of so many places is for other addresses than the one that has all the rest.
const FOR_OTHERS: usize = 4;
/// Time that a connection waits for a place of its address. A browser gives up about then.
const WAIT: Duration = Duration::from_secs(10);
/// Bits of an address of IPv6 that a provider gives to one customer.
const ONE_CUSTOMER: u32 = 64;
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
    let mut shares = Shares::of(connections.max(1));
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
                let Some(turn) = shares.turn(peer, place, &places) else {
                    tracing::debug!(%peer, "too many connections from one address wait for the admin port");
                    continue;
                };
                let (router, ending) = (router.clone(), ending.clone());
                let tls = tls.borrow().clone();
                let places = Arc::clone(&places);
                serving.spawn(async move {
                    let mut over = ending.clone();
                    let held = tokio::select! {
                        held = turn.come() => held,
                        _ended = over.wait_for(|ending| *ending) => None,
                    };
                    let Some(held) = held else {
                        return;
                    };
                    let is_full = places.available_permits() < connections / 2;
                    let head = if is_full { HEAD_WHERE_FULL } else { HEAD };
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
                    drop(held);
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

/// The places of each address.
struct Shares {
    of_one: usize,
    by_address: HashMap<IpAddr, Arc<Semaphore>>,
    /// For connections that wait for a place of their address.
    waiting: Arc<Semaphore>,
}

/// The place of a connection, or what it waits for.
enum Turn {
    Now(Held),
    Waits {
        share: Arc<Semaphore>,
        places: Arc<Semaphore>,
        _waiting: OwnedSemaphorePermit,
    },
}

/// A place among all, and one of its address.
struct Held {
    _all: OwnedSemaphorePermit,
    _own: OwnedSemaphorePermit,
}

impl Shares {
    fn of(connections: usize) -> Self {
        Self {
            of_one: (connections - connections / FOR_OTHERS).max(1),
            by_address: HashMap::new(),
            waiting: Arc::new(Semaphore::new(connections)),
        }
    }

    /// For a connection that has a place among all; `None` if so many wait already that it is closed.
    fn turn(
        &mut self,
        peer: SocketAddr,
        all: OwnedSemaphorePermit,
        places: &Arc<Semaphore>,
    ) -> Option<Turn> {
        // Of addresses without a connection nothing is kept, so there are never more than connections.
        self.by_address
            .retain(|_, share| Arc::strong_count(share) > 1);
        let share = self
            .by_address
            .entry(customer(peer.ip()))
            .or_insert_with(|| Arc::new(Semaphore::new(self.of_one)));
        if let Ok(own) = Arc::clone(share).try_acquire_owned() {
            return Some(Turn::Now(Held {
                _all: all,
                _own: own,
            }));
        }
        drop(all);
        let waiting = Arc::clone(&self.waiting).try_acquire_owned().ok()?;
        Some(Turn::Waits {
            share: Arc::clone(share),
            places: Arc::clone(places),
            _waiting: waiting,
        })
    }
}

impl Turn {
    /// Waits for the place; `None` if it does not come in time.
    async fn come(self) -> Option<Held> {
        match self {
            Self::Now(held) => Some(held),
            Self::Waits {
                share,
                places,
                _waiting,
            } => {
                let both = async {
                    let own = share.acquire_owned().await.ok()?;
                    let all = places.acquire_owned().await.ok()?;
                    Some(Held {
                        _all: all,
                        _own: own,
                    })
                };
                tokio::time::timeout(WAIT, both).await.ok().flatten()
            }
        }
    }
}

/// What counts as one address.
fn customer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & (u128::MAX << (u128::BITS - ONE_CUSTOMER));
            Ipv6Addr::from(network).into()
        }
        address @ IpAddr::V4(_) => address,
    }
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

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpSocket;

    use super::*;

    async fn connect(from: &str, to: SocketAddr) -> TcpStream {
        let socket = TcpSocket::new_v4().expect("a socket");
        let from = format!("{from}:0").parse().expect("an address");
        socket.bind(from).expect("all of 127/8 is ours");
        socket.connect(to).await.expect("it listens")
    }

    /// What a probe gets, if it does within the time that a strict one waits.
    async fn probe(from: &str, to: SocketAddr) -> Option<String> {
        let asked = async {
            let mut stream = connect(from, to).await;
            let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
            stream.write_all(request).await.ok()?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.ok()?;
            answer.lines().next().map(str::to_owned)
        };
        let within = HEAD_WHERE_FULL / 2;
        tokio::time::timeout(within, asked).await.ok().flatten()
    }

    #[tokio::test]
    async fn silent_connections_of_one_address_leave_places_for_others() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let (_certificates, tls) = watch::channel(None);
        let router = Router::new().route("/healthz", get(|| async { "ok" }));
        let (stop, mut stopped) = watch::channel(false);
        let ended = async move {
            drop(stopped.wait_for(|stop| *stop).await);
        };
        let served = tokio::spawn(serve(listener, tls, router, CONNECTIONS, ended));
        let mut silent = Vec::new();
        for _ in 0..150 {
            silent.push(connect("127.0.0.2", address).await);
        }
        for _ in 0..5 {
            let answer = probe("127.0.0.3", address).await;
            assert_eq!(answer.as_deref(), Some("HTTP/1.1 200 OK"));
        }
        // The address itself is served again as its silent connections end.
        let own = tokio::time::timeout(WAIT, async {
            while probe("127.0.0.2", address).await.is_none() {}
        });
        own.await.expect("a turn");
        stop.send_replace(true);
        drop(silent);
        served.await.expect("no panic");
    }

    #[test]
    fn a_customer_has_one_share_whatever_address_it_uses() {
        let of = |text: &str| customer(text.parse().expect("an address"));
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }
}
