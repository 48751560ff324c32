//! Leaves a failing candidate alone.
//!
//! A candidate that hangs would hold every in-flight slot for the whole deadline, for nothing: after a number of
//! failures in a row the breaker opens, and lets one request through per pause until one succeeds. What it stops is
//! counted as `breaker_open`, our own drop. For the whole process, in atomics: the workers share the knowledge.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Shared by all workers.
pub(crate) struct Breaker {
    /// Failures in a row; at the limit the breaker is open.
    failures: AtomicU32,
    /// When the next probe may go, in milliseconds since `origin`.
    probe_at: AtomicU64,
    origin: Instant,
    limit: u32,
    pause_ms: u64,
}

impl Breaker {
    pub(crate) fn new(limit: u32, pause: Duration) -> Self {
        Self {
            failures: AtomicU32::new(0),
            probe_at: AtomicU64::new(0),
            origin: Instant::now(),
            limit: limit.max(1),
            pause_ms: pause.as_millis() as u64,
        }
    }

    /// Whether a shadow may be sent now; for an open breaker, `true` makes the caller the probe.
    pub(crate) fn allows(&self) -> bool {
        if !self.is_open() {
            return true;
        }
        let now = self.now_ms();
        let probe_at = self.probe_at.load(Ordering::Relaxed);
        now >= probe_at
            && self
                .probe_at
                .compare_exchange(
                    probe_at,
                    now + self.pause_ms,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok()
    }

    /// The candidate answered.
    pub(crate) fn succeeded(&self) {
        // Read first: a store on every answer would move the line between the cores.
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
    }

    /// The candidate could not be reached, or did not answer in time.
    pub(crate) fn failed(&self) {
        let failures = self.failures.load(Ordering::Relaxed);
        if failures < self.limit {
            // Two workers that fail at once may count as one; the breaker opens one failure later.
            self.failures.store(failures + 1, Ordering::Relaxed);
            if failures + 1 == self.limit {
                self.probe_at
                    .store(self.now_ms() + self.pause_ms, Ordering::Relaxed);
                tracing::warn!(
                    failures = self.limit,
                    "candidate keeps failing; it gets one request per pause until it answers"
                );
            }
        }
    }

    /// Whether the candidate is being left alone.
    pub(crate) fn is_open(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= self.limit
    }

    fn now_ms(&self) -> u64 {
        self.origin.elapsed().as_millis() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_at_the_limit_probes_once_per_pause_and_closes_on_success() {
        let breaker = Breaker::new(2, Duration::from_hours(1));
        breaker.failed();
        assert!(breaker.allows());
        breaker.succeeded();
        breaker.failed();
        assert!(breaker.allows(), "the row was interrupted");
        breaker.failed();
        assert!(breaker.is_open() && !breaker.allows());

        let probing = Breaker::new(1, Duration::ZERO);
        probing.failed();
        assert!(probing.is_open() && probing.allows());
        probing.succeeded();
        assert!(!probing.is_open());
    }
}
