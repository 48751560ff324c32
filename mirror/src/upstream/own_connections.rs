//! Requests that come from ourselves: an upstream that leads back to our own port, by whatever name or forwarding rule,
//! would ask us for ever, twice for each time.
//!
//! What can be known from addresses is refused before the start. This sees the rest, without a mark in what services
//! get: a connection of a client that is, seen from the other end, one of our own connections to a service. Both
//! addresses count, for the system gives one port to several connections that lead to different places. (Through
//! another proxy it is not seen; then shadows end by their depth, see [`crate::headers::shadow_depth`].)

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpStream;

/// Where a connection comes from, and where it leads.
type Ends = (SocketAddr, SocketAddr);

/// Our ends of the process's connections to services. The set is locked when a connection begins or ends, and once for
/// each connection of a client; never for a request.
#[derive(Default)]
pub(crate) struct OwnConnections {
    ends: Mutex<HashSet<Ends>>,
    told: AtomicBool,
}

impl OwnConnections {
    /// Remembers a connection until the guard is dropped.
    pub(crate) fn register(self: &Arc<Self>, stream: &TcpStream) -> OwnConnection {
        let ends = (stream.local_addr().ok()).zip(stream.peer_addr().ok());
        let ends = ends.map(|(from, to)| (canonical(from), canonical(to)));
        if let Some(ends) = ends {
            self.ends().insert(ends);
        }
        OwnConnection {
            all: Arc::clone(self),
            ends,
        }
    }

    /// Whether a client's connection, from its address to the one that it came to, is one of our own.
    pub(crate) fn has(&self, client: SocketAddr, here: SocketAddr) -> bool {
        let has = self.ends().contains(&(canonical(client), canonical(here)));
        if has && !self.told.swap(true, Ordering::Relaxed) {
            tracing::error!(
                "a request came from this process itself: legacy or candidate leads back to our own port; such requests \
                 are answered 508"
            );
        }
        has
    }

    fn ends(&self) -> std::sync::MutexGuard<'_, HashSet<Ends>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Our end of one connection; dropping it removes it from the set.
pub(crate) struct OwnConnection {
    all: Arc<OwnConnections>,
    ends: Option<Ends>,
}

impl Drop for OwnConnection {
    fn drop(&mut self) {
        if let Some(ends) = self.ends {
            self.all.ends().remove(&ends);
        }
    }
}

/// A socket for both versions of IP shows the older addresses within the newer.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
