//! One of the two services as a worker sees it: how to reach it, the connections to it, and sending one request.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use http::uri::Scheme;
use http::{Request, Response};
use hyper::body::Incoming;

use crate::account::Account;
use crate::body::Outbound;
use crate::config::Limits;
use crate::connect::{ConnectError, Connector, Lookups, Offer, UpstreamIo};
use crate::descriptors::{self, Descriptor};
use crate::failure;
use crate::headers::Wire;
use crate::link::Link;
use crate::link::http1::{Connected, Pool};
use crate::link::http2::Streams;
use crate::metered::Payer;
use crate::pending::Side;
use crate::target::{Protocol, Target};
use crate::turns::Turns;
use crate::worker::Worker;

/// How long a client's request waits for a descriptor that others give up, and how often it tries.
const SCARCE_PATIENCE: Duration = Duration::from_secs(2);
const SCARCE_PAUSE: Duration = Duration::from_millis(10);

/// A service and the worker's connections to it.
pub(crate) struct Service {
    pub(crate) connector: Connector,
    pub(crate) target: Target,
    /// What it chose in the last TLS handshake that left it the choice.
    chosen: Cell<Option<Wire>>,
    pool: Pool,
    streams: Streams,
    lookups: Rc<Lookups>,
    /// The slices in which its answers are read, if it is asked by shadows: then what it sends is limited, and its
    /// connections are counted and give way.
    turns: Option<Rc<Turns>>,
    worker: Rc<Worker>,
}

/// A request that got the head of an answer.
pub(crate) struct Sent {
    pub(crate) response: Response<Incoming>,
    pub(crate) link: Link,
    /// When the request was handed to the connection.
    pub(crate) at: Instant,
    /// When the head of the answer was there.
    pub(crate) head_at: Instant,
}

impl Sent {
    fn now(response: Response<Incoming>, link: Link, at: Instant) -> Self {
        Self {
            response,
            link,
            at,
            head_at: Instant::now(),
        }
    }
}

/// A request that got no answer.
pub(crate) enum SendError {
    /// There is no connection to spare for it.
    Spared,
    Connect(ConnectError),
    Exchange(hyper::Error),
    /// It sent far more than its answer needed.
    Flood,
}

impl Service {
    pub(crate) fn new(
        connector: Connector,
        target: Target,
        limits: &Limits,
        worker: &Rc<Worker>,
        side: Side,
        turns: Option<Rc<Turns>>,
    ) -> Self {
        let idle = limits.upstream_idle_connections.min(worker.shared.idle);
        Self {
            connector,
            target,
            chosen: Cell::new(None),
            pool: Pool::new(idle, limits.upstream_idle),
            streams: Streams::new(limits.upstream_idle),
            lookups: Rc::clone(&worker.lookups[side as usize]),
            turns,
            worker: Rc::clone(worker),
        }
    }

    /// Sends what `make` builds, on a connection that is there already if there is one.
    ///
    /// It goes out a second time, on a fresh connection, if the first one gave it back unsent, or if it broke before
    /// an answer, had been there before, and the request is `replayable` (idempotent and without a body): then the
    /// service most likely closed it for its age. Never otherwise, and never a third time.
    pub(crate) async fn send(
        &self,
        make: impl Fn(Outbound, Wire, &Scheme) -> Request<Outbound>,
        mut body: Outbound,
        replayable: bool,
        grpc: bool,
    ) -> Result<Sent, SendError> {
        let scheme = self.connector.scheme();
        let offer = self.offer(grpc);
        if let Some((mut link, at)) = self.there(offer).await {
            match link.send(make(body, link.wire(), scheme)).await {
                Ok(response) => return Ok(Sent::now(response, link, at)),
                Err(mut failed) => match failed.take_message() {
                    Some(unsent) => body = unsent.into_body(),
                    None if link.is_flooded() => return Err(SendError::Flood),
                    None if replayable && failure::may_be_stale(failed.error()) => {
                        body = Outbound::Empty;
                    }
                    None => return Err(SendError::Exchange(failed.into_error())),
                },
            }
        }
        let mut link = self.open(offer).await?;
        let at = Instant::now();
        match link.send(make(body, link.wire(), scheme)).await {
            Ok(response) => Ok(Sent::now(response, link, at)),
            Err(_) if link.is_flooded() => Err(SendError::Flood),
            Err(failed) => Err(SendError::Exchange(failed.into_error())),
        }
    }

    /// Takes a connection back for the next request.
    pub(crate) fn put(&self, link: Link, now: Instant) {
        if let Link::Own(link) = link
            && !(self.serves_shadows() && self.worker.shared.candidates.are_scarce())
        {
            self.pool.put(link, now);
        }
    }

    /// Closes what is idle.
    pub(crate) fn clear(&self) {
        self.pool.clear();
        self.streams.clear();
    }

    /// Closes what has been idle for too long.
    pub(crate) fn sweep(&self, now: Instant) {
        self.pool.sweep(now);
        self.streams.sweep(now);
    }

    /// A connection that is nobody else's, and on which nothing is limited.
    pub(crate) async fn connect(&self, offer: Offer) -> Result<UpstreamIo<()>, SendError> {
        self.connect_for(offer, ()).await
    }

    /// A connection whose bytes are paid by `payer`.
    async fn connect_for<P: Payer + Clone>(
        &self,
        offer: Offer,
        payer: P,
    ) -> Result<UpstreamIo<P>, SendError> {
        let begun = Instant::now();
        loop {
            let connected = self.connector.connect(offer, &self.lookups, payer.clone());
            match connected.await {
                Err(error) if descriptors::are_used_up(error.io()) => {
                    self.worker.yield_descriptors();
                    if self.serves_shadows() {
                        tracing::debug!(error = %error.io(), "no connection to spare for a shadow");
                        return Err(SendError::Spared);
                    }
                    if begun.elapsed() >= SCARCE_PATIENCE {
                        return Err(SendError::Connect(error));
                    }
                    tokio::time::sleep(SCARCE_PAUSE).await;
                }
                connected => return connected.map_err(SendError::Connect),
            }
        }
    }

    fn serves_shadows(&self) -> bool {
        self.turns.is_some()
    }

    /// The place of a connection for a shadow, that of an idle one if need be; clients need none.
    fn place(&self) -> Result<Option<Descriptor>, SendError> {
        if !self.serves_shadows() {
            return Ok(None);
        }
        let candidates = &self.worker.shared.candidates;
        let place = candidates.take().or_else(|| {
            self.worker.yield_descriptors();
            candidates.take()
        });
        place.map(Some).ok_or(SendError::Spared)
    }

    fn offer(&self, grpc: bool) -> Offer {
        let protocol = self.target.protocol;
        let auto = protocol == Protocol::Auto;
        if auto && self.connector.is_tls() {
            Offer::Choice
        } else if protocol == Protocol::Http2 || (auto && grpc) {
            Offer::Http2
        } else {
            Offer::Http1
        }
    }

    async fn there(&self, offer: Offer) -> Option<(Link, Instant)> {
        let wire = match offer {
            Offer::Http1 => Wire::Http1,
            Offer::Http2 => Wire::Http2,
            Offer::Choice => self.chosen.get()?,
        };
        match wire {
            Wire::Http1 => {
                let now = Instant::now();
                Some((Link::Own(self.pool.take(now)?), now))
            }
            Wire::Http2 => {
                let stream = self.streams.take().await?;
                Some((Link::Stream(stream), Instant::now()))
            }
        }
    }

    async fn open(&self, offer: Offer) -> Result<Link, SendError> {
        let shared = offer == Offer::Http2 || self.chosen.get() == Some(Wire::Http2);
        let _opening = shared.then(|| self.streams.opening());
        let place = self.place()?;
        let account = self.turns.as_ref().map(Account::open);
        let flooded = || account.as_ref().is_some_and(|account| account.is_flooded());
        let payer = account.clone();
        let connected = self.connect_for(offer, payer).await;
        let io = connected.map_err(|error| match error {
            _ if flooded() => SendError::Flood,
            error => error,
        })?;
        let wire = match offer {
            Offer::Http1 => Wire::Http1,
            Offer::Http2 => Wire::Http2,
            Offer::Choice => io.chosen(),
        };
        if offer == Offer::Choice {
            self.chosen.set(Some(wire));
        }
        match wire {
            Wire::Http1 => {
                let opened = Connected::open(io, account.clone(), place).await;
                opened.map(Link::Own)
            }
            Wire::Http2 => {
                let opened = self.streams.open(io, account.clone(), place).await;
                opened.map(Link::Stream)
            }
        }
        .map_err(|error| match error {
            _ if flooded() => SendError::Flood,
            error => SendError::Exchange(error),
        })
    }
}
