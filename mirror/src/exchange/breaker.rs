//! A circuit breaker for the candidate.
//!
//! A candidate that hangs would hold every in-flight slot for the whole deadline. So after a number of failures in a
//! row the breaker opens, and lets one request through per pause until one succeeds. Requests that it stops count as
//! `breaker_open`, one of our own drops. All workers share it, so it is atomic.
//!
//! It also tells what people ask first ([`Reached`]): whether the candidate was asked anything at all, and since when it fails. One
//! that breaks every answer off fails, too, and keeps getting requests: it costs no waiting, and some of its answers may come.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::reached::{Reached, ServiceSeen};

/// Shared by all workers.
pub(crate) struct Breaker {
    /// Failures in a row; at the limit the breaker opens.
    failures: AtomicU32,
    /// When the next probe may go, in milliseconds since `origin`.
    probe_at: AtomicU64,
    origin: Instant,
    /// Whether the candidate is left alone.
    is_open: AtomicBool,
    seen: Reached,
}

impl Breaker {
    pub(crate) fn new() -> Self {
        Self {
            failures: AtomicU32::new(0),
            probe_at: AtomicU64::new(0),
            origin: Instant::now(),
            is_open: AtomicBool::new(false),
            seen: Reached::default(),
        }
    }

    /// Whether a shadow may be sent now. While the breaker is open, one caller in each `pause` gets `true`; its shadow
    /// is the probe.
    pub(crate) fn allows(&self, pause: Duration) -> bool {
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
                    now + pause.as_millis() as u64,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok()
    }

    /// The candidate answered.
    pub(crate) fn succeeded(&self) {
        self.is_there();
        let _changed = self.seen.answers(true);
    }

    /// The candidate took a request, and gave no whole answer.
    pub(crate) fn broke_off(&self) {
        self.is_there();
        let _changed = self.seen.answers(false);
    }

    fn is_there(&self) {
        // Read first: a store on every answer would bounce the cache line between cores. Both are checked because a
        // concurrent failure may have set only one of them.
        if self.failures.load(Ordering::Relaxed) != 0 || self.is_open.load(Ordering::Relaxed) {
            self.failures.store(0, Ordering::Relaxed);
            self.is_open.store(false, Ordering::Relaxed);
        }
    }

    /// It is another candidate from now on, of which nothing is known.
    pub(crate) fn forget(&self) {
        self.failures.store(0, Ordering::Relaxed);
        self.is_open.store(false, Ordering::Relaxed);
        self.seen.forget();
    }

    /// The candidate could not be reached, or did not answer a request that was sent so long `before`; `limit` such failures in a row open
    /// the breaker.
    pub(crate) fn failed(&self, limit: u32, pause: Duration, before: Duration) {
        let limit = limit.max(1);
        // Two workers that fail at once may count as one; the breaker opens one failure later.
        let failures = self.failures.load(Ordering::Relaxed).saturating_add(1);
        self.failures.store(failures, Ordering::Relaxed);
        let _changed = self.seen.failed(before);
        if failures >= limit && !self.is_open() {
            // Before the state: who sees that it is open must see when the next probe may go.
            self.probe_at
                .store(self.now_ms() + pause.as_millis() as u64, Ordering::Relaxed);
            if self.is_open.swap(true, Ordering::Release) {
                return;
            }
            tracing::warn!(
                failures,
                "candidate keeps failing; it gets one request per pause until it answers"
            );
        }
    }

    /// Whether the breaker is open.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// What is known of the candidate.
    pub(crate) fn seen(&self) -> ServiceSeen {
        self.seen.seen()
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
        let breaker = Breaker::new();
        let hour = Duration::from_hours(1);
        breaker.failed(2, hour, Duration::ZERO);
        assert!(breaker.allows(hour));
        breaker.succeeded();
        breaker.failed(2, hour, Duration::ZERO);
        assert!(breaker.allows(hour), "the row was interrupted");
        breaker.failed(2, hour, Duration::ZERO);
        assert!(breaker.is_open() && !breaker.allows(hour));

        let probing = Breaker::new();
        probing.failed(1, Duration::ZERO, Duration::ZERO);
        assert!(probing.is_open() && probing.allows(Duration::ZERO));
        probing.succeeded();
        assert!(!probing.is_open());
    }

    #[test]
    fn it_is_untried_until_something_is_known_and_tells_since_when_it_fails() {
        let hour = Duration::from_hours(1);
        let since = |breaker: &Breaker| breaker.seen().failing_since;
        let seen = |breaker: &Breaker| {
            (
                breaker.seen().asked,
                breaker.is_open(),
                since(breaker).is_some(),
            )
        };
        let breaker = Breaker::new();
        assert!(breaker.allows(hour));
        assert_eq!(seen(&breaker), (false, false, false), "nothing was sent");
        breaker.failed(2, hour, Duration::ZERO);
        assert_eq!(seen(&breaker), (true, false, true));
        let first = since(&breaker);
        breaker.failed(2, hour, Duration::ZERO);
        assert_eq!(seen(&breaker), (true, true, true));
        assert_eq!(since(&breaker), first, "since the first of them");
        breaker.broke_off();
        assert_eq!(seen(&breaker), (true, false, true));
        assert_eq!(since(&breaker), first, "it still gives no whole answer");
        breaker.succeeded();
        assert_eq!(seen(&breaker), (true, false, false));
        breaker.broke_off();
        assert!(since(&breaker) >= first);
        assert_eq!(seen(&breaker), (true, false, true));
        breaker.forget();
        assert_eq!(seen(&breaker), (false, false, false), "another candidate");
    }
}
