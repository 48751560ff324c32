//! Requests that come from ourselves: an upstream that leads back to our own port, by whatever name or forwarding rule,
//! would ask us for ever, twice for each time.
//!
//! What can be known from addresses is refused before the start. This sees the rest, without a mark in what services
//! get: a connection whose other end is one of our own connections to a service. (Through another proxy it is not seen;
//! then shadows end by their depth, see [`crate::headers::shadow_depth`].)

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpStream;

/// Our ends of the process's connections to services. It is touched when a connection begins or ends, never for a
/// request.
#[derive(Default)]
pub(crate) struct OwnEnds {
    ends: Mutex<HashSet<SocketAddr>>,
    told: AtomicBool,
}

impl OwnEnds {
    /// Remembers a connection until the guard is dropped.
    pub(crate) fn register(self: &Arc<Self>, stream: &TcpStream) -> OwnEnd {
        let end = stream.local_addr().ok().map(canonical);
        if let Some(end) = end {
            self.ends().insert(end);
        }
        OwnEnd {
            all: Arc::clone(self),
            end,
        }
    }

    /// Whether a client is one of our own connections.
    pub(crate) fn has(&self, client: SocketAddr) -> bool {
        let has = self.ends().contains(&canonical(client));
        if has && !self.told.swap(true, Ordering::Relaxed) {
            tracing::error!(
                "a request came from this process itself: legacy or candidate leads back to our own port; such requests \
                 are answered 508"
            );
        }
        has
    }

    fn ends(&self) -> std::sync::MutexGuard<'_, HashSet<SocketAddr>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One end; forgotten when it is dropped.
pub(crate) struct OwnEnd {
    all: Arc<OwnEnds>,
    end: Option<SocketAddr>,
}

impl Drop for OwnEnd {
    fn drop(&mut self) {
        if let Some(end) = self.end {
            self.all.ends().remove(&end);
        }
    }
}

/// A socket for both versions of IP shows the older addresses within the newer.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
