//! One service as a worker sees it: how to reach it, the connections to it, and sending one request.
//!
//! It does not know which of the two services it is; only whether its requests are shadows, whose work and connections
//! are limited. It sends a request once, and a second time only if the service most likely never received it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::uri::Scheme;
use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;

use crate::descriptors::{self, Descriptor, OpenConnections};
use crate::headers::Wire;
use crate::limits::Limits;
use crate::tasks::Tasks;
use crate::turns::Turns;
use crate::upstream::account::Account;
use crate::upstream::body::{AnswerBody, RequestBody};
use crate::upstream::connect::{ConnectError, Connector, Offer, UpstreamIo};
use crate::upstream::connections::{ServiceConnections, WorkerConnections};
use crate::upstream::fault::{self, ServiceFault};
use crate::upstream::link::Link;
use crate::upstream::link::http1::{self, Connected};
use crate::upstream::lookups::Lookups;
use crate::upstream::metered::Payer;
use crate::upstream::target::{Protocol, Target};

/// How long a client's request waits for a free descriptor, and how often it retries.
const SCARCE_PATIENCE: Duration = Duration::from_secs(2);
const SCARCE_PAUSE: Duration = Duration::from_millis(10);

/// A service and the worker's connections to it.
pub(crate) struct Service<B: RequestBody> {
    connector: Connector,
    target: Target,
    /// The protocol that it chose in the last TLS handshake that offered both.
    chosen: Cell<Option<Wire>>,
    connections: Rc<ServiceConnections<B>>,
    all_connections: Rc<WorkerConnections<B>>,
    lookups: Rc<Lookups>,
    /// Set if the service is asked by shadows: its answers are read in these slices, what it may send is limited, and
    /// its connections are counted and closed in a shortage of descriptors.
    shadows: Option<Shadows>,
}

/// What a service needs that is asked by shadows.
pub(crate) struct Shadows {
    /// The slices in which answers are read.
    pub(crate) turns: Rc<Turns>,
    /// Counts its connections.
    pub(crate) connections: Arc<OpenConnections>,
}

/// A request that got the head of an answer.
pub(crate) struct Sent<B: RequestBody> {
    pub(crate) response: Response<AnswerBody>,
    pub(crate) link: Link<B>,
    /// When the request was handed to the connection.
    pub(crate) at: Instant,
    /// When the head of the answer arrived.
    pub(crate) head_at: Instant,
}

impl<B: RequestBody> Sent<B> {
    fn now(response: Response<Incoming>, link: Link<B>, at: Instant) -> Self {
        Self {
            response: response.map(AnswerBody::new),
            link,
            at,
            head_at: Instant::now(),
        }
    }
}

/// A request that got no answer.
pub(crate) enum SendError {
    /// A limit on shadow connections is reached; the service was not asked.
    Spared,
    /// No connection could be opened.
    Connect(ConnectError),
    /// The connection broke before an answer began.
    Broken(hyper::Error),
    /// The service sent far more than its answer needed.
    Flood,
}

impl SendError {
    /// The service's failure; `None` if it was not asked.
    pub(crate) fn fault(&self) -> Option<ServiceFault> {
        match self {
            Self::Spared => None,
            Self::Connect(error) => Some(fault::connecting(error)),
            Self::Broken(error) => Some(fault::before_head(error)),
            Self::Flood => Some(ServiceFault::Flood),
        }
    }
}

/// Why a request got no answer, and what is left of it.
pub(crate) struct NoAnswer<B> {
    pub(crate) error: SendError,
    /// The body, if it is known that the service got nothing of the request, not even its head.
    pub(crate) unsent: Option<B>,
}

impl<B> NoAnswer<B> {
    /// The service may have got the request.
    fn after(error: SendError) -> Self {
        Self {
            error,
            unsent: None,
        }
    }
}

impl<B: RequestBody> Service<B> {
    /// With `shadows` the service is asked by shadows; without, by clients that wait.
    pub(crate) fn new(
        connector: Connector,
        target: Target,
        limits: &Limits,
        lookups: &Rc<Lookups>,
        all_connections: &Rc<WorkerConnections<B>>,
        shadows: Option<Shadows>,
    ) -> Self {
        let (idle, patience) = (limits.upstream_idle_connections, limits.upstream_idle);
        Self {
            connector,
            target,
            chosen: Cell::new(None),
            connections: all_connections.keep(idle, patience, shadows.is_some()),
            all_connections: Rc::clone(all_connections),
            lookups: Rc::clone(lookups),
            shadows,
        }
    }

    /// The service's address, and the changes to its requests.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// What stands in for a `Host` field that the client did not send.
    pub(crate) fn host(&self) -> &HeaderValue {
        self.connector.host()
    }

    /// Sends the request that `make` builds, on an existing connection if there is one.
    ///
    /// It is sent again, on a new connection, in two cases: the existing connection returned it unsent; or that
    /// connection closed before an answer, and the request is `replayable` (of a safe method and without a body). In the
    /// second case the service most likely closed an idle connection. It is never sent a third time.
    pub(crate) async fn send(
        &self,
        make: impl Fn(B, Wire, &Scheme) -> Request<B>,
        mut body: B,
        replayable: bool,
        grpc: bool,
    ) -> Result<Sent<B>, NoAnswer<B>> {
        let mut may_have_it = false;
        let scheme = self.connector.scheme();
        let offer = self.offer(grpc);
        if let Some((mut link, at)) = self.there(offer).await {
            match link.send(make(body, link.wire(), scheme)).await {
                Ok(response) => return Ok(Sent::now(response, link, at)),
                Err(mut failed) => match failed.take_message() {
                    Some(unsent) => body = unsent.into_body(),
                    None if link.is_flooded() => return Err(NoAnswer::after(SendError::Flood)),
                    None if replayable && fault::may_be_stale(failed.error()) => {
                        may_have_it = true;
                        body = B::default();
                    }
                    None => {
                        return Err(NoAnswer::after(SendError::Broken(failed.into_error())));
                    }
                },
            }
        }
        let mut link = match self.open(offer).await {
            Ok(link) => link,
            Err(error) => {
                return Err(NoAnswer {
                    error,
                    unsent: (!may_have_it).then_some(body),
                });
            }
        };
        let at = Instant::now();
        match link.send(make(body, link.wire(), scheme)).await {
            Ok(response) => Ok(Sent::now(response, link, at)),
            Err(_) if link.is_flooded() => Err(NoAnswer::after(SendError::Flood)),
            Err(mut failed) => {
                let unsent = failed.take_message().filter(|_| !may_have_it);
                Err(NoAnswer {
                    unsent: unsent.map(Request::into_body),
                    error: SendError::Broken(failed.into_error()),
                })
            }
        }
    }

    /// Keeps a connection for the next request, after its answer has been read to the end.
    pub(crate) fn put(&self, link: Link<B>, now: Instant) {
        if let Link::Own(link) = link
            && !(self.serves_shadows() && self.all_connections.are_scarce())
        {
            self.connections.http1().put(link, now);
        }
    }

    /// Sends an upgrade request on a new HTTP/1.1 connection, which is never pooled and has no limits. One of `tasks`
    /// drives it until either end closes it.
    pub(crate) async fn upgrade(
        &self,
        tasks: &Rc<Tasks>,
        make: impl FnOnce(&Scheme) -> Request<B>,
    ) -> Result<Response<AnswerBody>, SendError> {
        let io = self.connect_for(Offer::Http1, ()).await?;
        let (mut sender, connection) = http1::builder()
            .handshake(TokioIo::new(io))
            .await
            .map_err(SendError::Broken)?;
        let connection = connection.with_upgrades();
        tasks.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "connection of an upgrade ended");
            }
        });
        let answered = sender.send_request(make(self.connector.scheme())).await;
        let response = answered.map_err(SendError::Broken)?;
        Ok(response.map(AnswerBody::new))
    }

    /// Opens a connection whose bytes are charged to `payer`.
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
                    if self.serves_shadows() {
                        self.all_connections.yield_descriptors();
                        tracing::debug!(error = %error.io(), "no connection to spare for a shadow");
                        return Err(SendError::Spared);
                    }
                    self.all_connections.yield_to_clients();
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
        self.shadows.is_some()
    }

    /// Reserves a descriptor for a shadow's connection, closing an idle one if necessary; clients need none.
    fn place(&self) -> Result<Option<Descriptor>, SendError> {
        let Some(shadows) = &self.shadows else {
            return Ok(None);
        };
        let place = self.all_connections.place(&shadows.connections);
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

    async fn there(&self, offer: Offer) -> Option<(Link<B>, Instant)> {
        let wire = match offer {
            Offer::Http1 => Wire::Http1,
            Offer::Http2 => Wire::Http2,
            Offer::Choice => self.chosen.get()?,
        };
        match wire {
            Wire::Http1 => {
                let now = Instant::now();
                Some((Link::Own(self.connections.http1().take(now)?), now))
            }
            Wire::Http2 => {
                let stream = self.connections.http2().take().await?;
                Some((Link::Stream(stream), Instant::now()))
            }
        }
    }

    async fn open(&self, offer: Offer) -> Result<Link<B>, SendError> {
        let shared = offer == Offer::Http2 || self.chosen.get() == Some(Wire::Http2);
        let _opening = shared.then(|| self.connections.http2().opening());
        let place = self.place()?;
        let account = self.shadows.as_ref();
        let account = account.map(|shadows| Account::open(&shadows.turns));
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
                let opened = self
                    .connections
                    .http2()
                    .open(io, account.clone(), place)
                    .await;
                opened.map(Link::Stream)
            }
        }
        .map_err(|error| match error {
            _ if flooded() => SendError::Flood,
            error => SendError::Broken(error),
        })
    }
}
