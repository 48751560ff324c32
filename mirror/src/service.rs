//! One of the two services as a worker sees it: how to reach it, the idle connections to it, and sending one request.

use std::time::Instant;

use http::{Request, Response};
use hyper::body::Incoming;

use crate::body::Outbound;
use crate::connect::{ConnectError, Connector};
use crate::link::{Link, Pool};

/// A service and the worker's idle connections to it.
pub(crate) struct Service {
    pub(crate) connector: Connector,
    pub(crate) pool: Pool,
}

/// A request that got the head of an answer.
pub(crate) struct Sent {
    pub(crate) response: Response<Incoming>,
    pub(crate) link: Box<Link>,
    /// When the request was handed to the connection.
    pub(crate) at: Instant,
}

/// A request that got no answer.
pub(crate) enum SendError {
    Connect(ConnectError),
    Exchange(hyper::Error),
}

impl Service {
    /// Sends what `make` builds, on an idle connection if there is one.
    ///
    /// It goes out a second time, on a fresh connection, if the first one gave it back unsent, or if it broke before
    /// an answer, had been idle before, and the request is `replayable` (idempotent and without a body): then the
    /// service most likely closed it for its age. Never otherwise, and never a third time.
    pub(crate) async fn send(
        &self,
        make: impl Fn(Outbound) -> Request<Outbound>,
        body: Outbound,
        replayable: bool,
    ) -> Result<Sent, SendError> {
        let mut request = make(body);
        let at = Instant::now();
        if let Some(mut link) = self.pool.take(at) {
            match link.send(request).await {
                Ok(response) => return Ok(Sent { response, link, at }),
                Err(mut failed) => match failed.take_message() {
                    Some(unsent) => request = unsent,
                    None if replayable => request = make(Outbound::Empty),
                    None => return Err(SendError::Exchange(failed.into_error())),
                },
            }
        }
        let mut link = self.open().await?;
        let at = Instant::now();
        match link.send(request).await {
            Ok(response) => Ok(Sent { response, link, at }),
            Err(failed) => Err(SendError::Exchange(failed.into_error())),
        }
    }

    async fn open(&self) -> Result<Box<Link>, SendError> {
        let io = self.connector.connect().await.map_err(SendError::Connect)?;
        Link::open(io).await.map_err(SendError::Exchange)
    }
}
