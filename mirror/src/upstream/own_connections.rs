//! Detects requests from the mirror to itself. If an upstream leads back to our own port, by whatever name or
//! forwarding rule, each request would cause two more, for ever.
//!
//! Loops that are visible in the configuration are refused at the start. This finds the others without a marker in
//! requests: a client connection is a loop if its two addresses, swapped, are those of one of our own connections to a
//! service. Both addresses are compared, because one local port may be used for connections to several destinations. A
//! loop through another proxy is not found here; for shadows the depth ends it, see [`crate::headers::shadow_depth`].

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpStream;

/// Local and remote address of a connection.
type Ends = (SocketAddr, SocketAddr);

/// The process's connections to services. The set is locked when such a connection begins or ends, and once for each
/// client connection; never for a request.
#[derive(Default)]
pub(crate) struct OwnConnections {
    ends: Mutex<HashSet<Ends>>,
    told: AtomicBool,
}

impl OwnConnections {
    /// Registers a connection until the guard is dropped.
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

    /// Whether a client connection, from `client` to the local address `here`, is one of our own.
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

/// The entry of one connection; dropping it removes it from the set.
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

/// A dual-stack socket shows IPv4 addresses as IPv4-mapped IPv6.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
