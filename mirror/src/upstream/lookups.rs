//! DNS look-ups of a service's host name.
//!
//! The system's resolver may block a thread for long. So each service has one look-up at a time, on a blocking thread,
//! and one service never waits for the look-up of another. Results are cached for a moment, so that a burst of
//! connections looks up once.

use std::cell::RefCell;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::upstream::own_connections::OwnConnections;

/// How long addresses are cached: long enough for a burst of connections, short enough for a service that moves.
const ADDRESSES_KEPT: Duration = Duration::from_secs(1);

/// The look-ups of one side, for the life of a worker, even if another policy changes the host name.
pub(crate) struct Lookups {
    turn: Arc<Semaphore>,
    own: Arc<OwnConnections>,
    known: RefCell<Option<CachedAddresses>>,
}

struct CachedAddresses {
    host: Arc<str>,
    port: u16,
    since: Instant,
    addresses: Vec<SocketAddr>,
}

impl Lookups {
    pub(crate) fn new(own: &Arc<OwnConnections>) -> Self {
        Self {
            turn: Arc::new(Semaphore::new(1)),
            own: Arc::clone(own),
            known: RefCell::new(None),
        }
    }

    /// The registry of our own connections.
    pub(super) fn own_connections(&self) -> &Arc<OwnConnections> {
        &self.own
    }

    fn known(&self, host: &Arc<str>, port: u16) -> Option<Vec<SocketAddr>> {
        let known = self.known.borrow();
        let known = known.as_ref()?;
        let fits = known.host == *host && known.port == port;
        (fits && known.since.elapsed() < ADDRESSES_KEPT).then(|| known.addresses.clone())
    }

    pub(super) async fn resolve(&self, host: &Arc<str>, port: u16) -> io::Result<Vec<SocketAddr>> {
        if let Some(addresses) = self.known(host, port) {
            return Ok(addresses);
        }
        let turn = Arc::clone(&self.turn);
        let turn = turn.acquire_owned().await.map_err(io::Error::other)?;
        // The previous look-up may have been for the same name.
        if let Some(addresses) = self.known(host, port) {
            return Ok(addresses);
        }
        let addresses = Self::look_up(turn, host, port).await?;
        *self.known.borrow_mut() = Some(CachedAddresses {
            host: Arc::clone(host),
            port,
            since: Instant::now(),
            addresses: addresses.clone(),
        });
        Ok(addresses)
    }

    async fn look_up(
        turn: OwnedSemaphorePermit,
        host: &Arc<str>,
        port: u16,
    ) -> io::Result<Vec<SocketAddr>> {
        let host = Arc::clone(host);
        let looking = tokio::task::spawn_blocking(move || {
            // Held by the thread: a caller that stops waiting must not allow a second look-up.
            let _turn = turn;
            (&*host, port).to_socket_addrs().map(Vec::from_iter)
        });
        looking.await.map_err(io::Error::other)?
    }
}
