//! Looking up the name of a service.
//!
//! The system's resolver blocks a thread for as long as it likes. So a service has one look-up at a time, on a thread
//! beside the event loop, and one service never waits for the look-up of another. Answers are used again for a moment,
//! so that a burst of connections asks once.

use std::cell::RefCell;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::upstream::own_connections::OwnConnections;

/// How long the addresses of a name are used again: long enough for a burst of connections to ask once, short enough
/// for a service that moves.
const ADDRESSES_KEPT: Duration = Duration::from_secs(1);

/// Look-ups of one service's name, for the life of a worker, whatever its address is set to meanwhile. An address needs
/// none.
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

    /// Where our own ends of connections are remembered.
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
        // Whoever had the turn before may have asked for the same.
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
            // Kept by the thread: whoever gave up waiting does not make it free.
            let _turn = turn;
            (&*host, port).to_socket_addrs().map(Vec::from_iter)
        });
        looking.await.map_err(io::Error::other)?
    }
}
