//! File descriptors, which clients and shadows share: a client that finds none is not served, a shadow that finds none
//! is one more request that we do not compare.
//!
//! So connections to the candidate have a number of their own, and give way. They are counted where they are opened, in
//! use or idle; one that is over the number takes the place of an idle one, or does not come about. Where the system
//! has none left all the same, a connection to the legacy closes idle ones to the candidate and tries again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;

/// How long idle connections to the candidate are given up after one was missed: the workers have them each for itself,
/// and look once a second.
const SCARCE: Duration = Duration::from_secs(2);

/// Connections of clients by default: what 20,000 descriptors allow with one connection to each service behind each,
/// and some to spare.
pub(crate) const CLIENTS: usize = 10_000;

/// How many connections a process may have besides those of its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Requests of HTTP/2 at a time, in all client connections: each may need a connection to the legacy.
    pub streams: usize,
    /// For shadows (to the candidate, in a tap also to the legacy), in use and idle; more are not opened, and their
    /// requests count as `in_flight_cap`.
    pub candidate: usize,
    /// Idle ones that each worker keeps to each service, if the policy allows as many.
    pub idle: usize,
}

impl Default for ConnectionLimits {
    /// What [`Limits`](crate::Limits) allow, where descriptors are no question.
    fn default() -> Self {
        Self {
            streams: CLIENTS,
            candidate: usize::MAX,
            idle: usize::MAX,
        }
    }
}

/// The connections to the candidate, of all workers.
pub(crate) struct Descriptors {
    limit: usize,
    open: AtomicUsize,
    origin: Instant,
    /// Until when idle ones are given up, in milliseconds since `origin`.
    scarce_until: AtomicU64,
}

impl Descriptors {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            open: AtomicUsize::new(0),
            origin: Instant::now(),
            scarce_until: AtomicU64::new(0),
        })
    }

    /// The place of one more connection, if there is one.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Descriptor> {
        let before = self.open.fetch_add(1, Ordering::Relaxed);
        // Built first, so that its drop gives the place back where it was one too many.
        let descriptor = Descriptor(Arc::clone(self));
        (before < self.limit).then_some(descriptor)
    }

    /// How many connections are open now.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Notes that there was no descriptor for a connection.
    pub(crate) fn miss(&self) {
        let until = self.origin.elapsed() + SCARCE;
        self.scarce_until
            .store(until.as_millis() as u64, Ordering::Relaxed);
    }

    /// Whether one was missed lately, so that no idle one is kept.
    pub(crate) fn are_scarce(&self) -> bool {
        let until = self.scarce_until.load(Ordering::Relaxed);
        // The clock is looked at only where there is something to compare with.
        until != 0 && (self.origin.elapsed().as_millis() as u64) < until
    }
}

/// The place of one connection; dropping it frees it.
pub(crate) struct Descriptor(Arc<Descriptors>);

impl Drop for Descriptor {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether we, or the system that we run on, have nothing left to open a connection with: no fault of the other side.
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
        let (one, two) = (descriptors.take(), descriptors.take());
        assert!(one.is_some() && two.is_some());
        assert!(descriptors.take().is_none());
        assert_eq!(descriptors.open(), 2);
        drop(one);
        assert!(descriptors.take().is_some());
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
    }
}
