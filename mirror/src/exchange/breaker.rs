//! A circuit breaker for the candidate.
//!
//! A candidate that hangs would hold every in-flight slot for the whole deadline. So after a number of failures in a
//! row the breaker opens, and lets one request through per pause until one succeeds. Requests that it stops count as
//! `breaker_open`, one of our own drops. All workers share it, so it is atomic.
//!
//! It also tells what people ask first: whether the candidate was asked anything at all, and since when it fails.

use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parity_schemas::time::Timestamp;

/// Nothing is known of the candidate yet.
const UNTRIED: u8 = 0;
/// It gets requests.
const USED: u8 = 1;
/// It is left alone.
const OPEN: u8 = 2;

/// Shared by all workers.
pub(crate) struct Breaker {
    /// Failures in a row; at the limit the breaker opens.
    failures: AtomicU32,
    /// When the next probe may go, in milliseconds since `origin`.
    probe_at: AtomicU64,
    origin: Instant,
    /// One of the above.
    state: AtomicU8,
    /// When the first of the failures in a row was noticed, in microseconds since 1970.
    failing_since: AtomicI64,
}

impl Breaker {
    pub(crate) fn new() -> Self {
        Self {
            failures: AtomicU32::new(0),
            probe_at: AtomicU64::new(0),
            origin: Instant::now(),
            state: AtomicU8::new(UNTRIED),
            failing_since: AtomicI64::new(0),
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
        // Read first: a store on every answer would bounce the cache line between cores. Both are checked because a
        // concurrent failure may have set only one of them.
        if self.failures.load(Ordering::Relaxed) != 0 || self.state.load(Ordering::Relaxed) != USED
        {
            self.failures.store(0, Ordering::Relaxed);
            self.state.store(USED, Ordering::Relaxed);
        }
    }

    /// It is another candidate from now on, of which nothing is known.
    pub(crate) fn forget(&self) {
        self.failures.store(0, Ordering::Relaxed);
        self.state.store(UNTRIED, Ordering::Relaxed);
    }

    /// The candidate could not be reached, or did not answer in time; `limit` such failures in a row open the breaker.
    pub(crate) fn failed(&self, limit: u32, pause: Duration) {
        let limit = limit.max(1);
        // Two workers that fail at once may count as one; the breaker opens one failure later.
        let failures = self.failures.load(Ordering::Relaxed).saturating_add(1);
        if failures == 1 {
            let now = Timestamp::now().as_micros();
            self.failing_since.store(now, Ordering::Relaxed);
        }
        // Behind its time: who sees a failure must see since when.
        self.failures.store(failures, Ordering::Release);
        if failures < limit {
            // It is known to be there to be asked, whatever another worker has found out meanwhile.
            let _known =
                self.state
                    .compare_exchange(UNTRIED, USED, Ordering::Relaxed, Ordering::Relaxed);
        } else if !self.is_open() {
            // Before the state: who sees that it is open must see when the next probe may go.
            self.probe_at
                .store(self.now_ms() + pause.as_millis() as u64, Ordering::Relaxed);
            if self.state.swap(OPEN, Ordering::Release) == OPEN {
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
        self.state.load(Ordering::Acquire) == OPEN
    }

    /// Whether the candidate has answered anything, or failed to.
    pub(crate) fn is_tried(&self) -> bool {
        self.state.load(Ordering::Relaxed) != UNTRIED
    }

    /// When the first failure since its last answer was noticed; `None` if it answered the last request, or was asked nothing.
    pub(crate) fn failing_since(&self) -> Option<Timestamp> {
        let is_failing = self.failures.load(Ordering::Acquire) > 0;
        is_failing.then(|| Timestamp::from_micros(self.failing_since.load(Ordering::Relaxed)))
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
        breaker.failed(2, hour);
        assert!(breaker.allows(hour));
        breaker.succeeded();
        breaker.failed(2, hour);
        assert!(breaker.allows(hour), "the row was interrupted");
        breaker.failed(2, hour);
        assert!(breaker.is_open() && !breaker.allows(hour));

        let probing = Breaker::new();
        probing.failed(1, Duration::ZERO);
        assert!(probing.is_open() && probing.allows(Duration::ZERO));
        probing.succeeded();
        assert!(!probing.is_open());
    }

    #[test]
    fn it_is_untried_until_something_is_known_and_tells_since_when_it_fails() {
        let hour = Duration::from_hours(1);
        let seen = |breaker: &Breaker| {
            (
                breaker.is_tried(),
                breaker.is_open(),
                breaker.failing_since().is_some(),
            )
        };
        let breaker = Breaker::new();
        assert!(breaker.allows(hour));
        assert_eq!(seen(&breaker), (false, false, false), "nothing was sent");
        breaker.failed(2, hour);
        assert_eq!(seen(&breaker), (true, false, true));
        let since = breaker.failing_since();
        breaker.failed(2, hour);
        assert_eq!(seen(&breaker), (true, true, true));
        assert_eq!(breaker.failing_since(), since, "since the first of them");
        breaker.succeeded();
        assert_eq!(seen(&breaker), (true, false, false));
        breaker.failed(1, hour);
        assert!(breaker.failing_since() >= since);
        breaker.forget();
        assert_eq!(seen(&breaker), (false, false, false), "another candidate");
    }
}
