//! File descriptors, which clients and shadows share. Without a descriptor a client is not served; a shadow is only a
//! request that is not compared.
//!
//! So connections to the candidate have a limit of their own. All open ones count, in use or idle. At the limit, a new
//! connection replaces an idle one or is not opened. If the system still runs out of descriptors, a new connection to
//! the legacy closes idle connections to the candidate and tries again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;

/// For how long after a shortage no idle connection to the candidate is kept, and requests that their clients have most
/// likely left are given up early. Each worker has its own connections and checks once a second.
const SCARCE: Duration = Duration::from_secs(2);

/// Connections of clients by default: what 20,000 descriptors allow with one connection to each service behind each,
/// and some to spare.
pub(crate) const CLIENTS: usize = 10_000;

/// How many connections a process may have in addition to client connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Concurrent HTTP/2 requests over all client connections: each may need a connection to the legacy.
    pub streams: usize,
    /// For shadows (to the candidate, in a tap also to the legacy), in use and idle; more are not opened, and their
    /// requests count as `in_flight_cap`.
    pub candidate: usize,
    /// Idle ones that each worker keeps to each service, if the policy allows as many.
    pub idle: usize,
}

impl Default for ConnectionLimits {
    /// Only what [`Limits`](crate::Limits) allow, for when descriptors are plentiful.
    fn default() -> Self {
        Self {
            streams: CLIENTS,
            candidate: usize::MAX,
            idle: usize::MAX,
        }
    }
}

/// The connections of shadows, of all workers.
pub(crate) struct Descriptors {
    limit: usize,
    open: AtomicUsize,
    origin: Instant,
    /// Until when no idle connection is kept, in milliseconds since `origin`.
    scarce_until: AtomicU64,
    /// The same of a shortage that clients had. What shadows lack must cost no client anything.
    lacked_until: AtomicU64,
}

impl Descriptors {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            open: AtomicUsize::new(0),
            origin: Instant::now(),
            scarce_until: AtomicU64::new(0),
            lacked_until: AtomicU64::new(0),
        })
    }

    /// Reserves a descriptor for one more connection to a service, if the limit allows it.
    pub(crate) fn take(self: &Arc<Self>, service: &Arc<OpenConnections>) -> Option<Descriptor> {
        let before = self.open.fetch_add(1, Ordering::Relaxed);
        service.0.fetch_add(1, Ordering::Relaxed);
        // Built first, so that its drop undoes the counts if it was one too many.
        let descriptor = Descriptor {
            all: Arc::clone(self),
            service: Arc::clone(service),
        };
        (before < self.limit).then_some(descriptor)
    }

    /// Records that a connection could not get a descriptor.
    pub(crate) fn miss(&self) {
        self.remember(&self.scarce_until);
    }

    /// Records that the connection of a client, or the one to the legacy behind it, could not get a descriptor.
    pub(crate) fn client_missed(&self) {
        self.miss();
        self.remember(&self.lacked_until);
    }

    /// Whether there was a shortage lately, so that idle connections must be closed.
    pub(crate) fn are_scarce(&self) -> bool {
        self.is_before(&self.scarce_until)
    }

    /// Whether clients had a shortage lately.
    pub(crate) fn clients_lack(&self) -> bool {
        self.is_before(&self.lacked_until)
    }

    fn remember(&self, until: &AtomicU64) {
        let end = self.origin.elapsed() + SCARCE;
        until.store(end.as_millis() as u64, Ordering::Relaxed);
    }

    fn is_before(&self, until: &AtomicU64) -> bool {
        let until = until.load(Ordering::Relaxed);
        // The clock is read only if there was ever a shortage.
        until != 0 && (self.origin.elapsed().as_millis() as u64) < until
    }
}

/// How many connections shadows have to one service, in use and idle.
#[derive(Default)]
pub(crate) struct OpenConnections(AtomicUsize);

impl OpenConnections {
    /// The number now.
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The reserved descriptor of one connection; dropping it frees it.
pub(crate) struct Descriptor {
    all: Arc<Descriptors>,
    service: Arc<OpenConnections>,
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        self.service.0.fetch_sub(1, Ordering::Relaxed);
        self.all.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether a connection failed because this process or system ran out of a resource, rather than because of the peer.
pub(crate) fn are_used_up(error: &io::Error) -> bool {
    let ours = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOBUFS,
        Errno::NOMEM,
        Errno::ADDRNOTAVAIL,
    ];
    let code = error.raw_os_error();
    ours.iter().any(|errno| code == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_connection_is_gone() {
        let descriptors = Descriptors::new(2);
        let services = [(); 2].map(|()| Arc::<OpenConnections>::default());
        let counts = || services.each_ref().map(|service| service.count());
        let (one, two) = (
            descriptors.take(&services[0]),
            descriptors.take(&services[1]),
        );
        assert!(one.is_some() && two.is_some());
        assert!(descriptors.take(&services[1]).is_none());
        assert_eq!(counts(), [1, 1]);
        drop(one);
        assert_eq!(counts(), [0, 1]);
        assert!(descriptors.take(&services[1]).is_some());
    }

    #[test]
    fn what_we_lack_is_told_from_what_the_other_side_does() {
        let error = |errno: Errno| io::Error::from_raw_os_error(errno.raw_os_error());
        assert!(are_used_up(&error(Errno::MFILE)));
        assert!(!are_used_up(&error(Errno::CONNREFUSED)));
        assert!(!are_used_up(&io::Error::other("handshake")));
    }

    #[test]
    fn scarcity_is_remembered_for_a_while() {
        let descriptors = Descriptors::new(1);
        assert!(!descriptors.are_scarce());
        descriptors.miss();
        assert!(descriptors.are_scarce());
        assert!(!descriptors.clients_lack(), "only a shadow lacked one");
        descriptors.client_missed();
        assert!(descriptors.are_scarce() && descriptors.clients_lack());
    }
}
