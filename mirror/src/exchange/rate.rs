//! Limits how many shadows begin in a second, for the whole process.
//!
//! The generic cell rate algorithm: one atomic holds the time up to which the rate is used up. A burst of a tenth of a
//! second's rate is allowed, because requests do not arrive evenly.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const SECOND: u64 = 1_000_000_000;
/// The allowed burst, as time at the rate.
const BURST: u64 = SECOND / 10;

pub(crate) struct RateCap {
    origin: Instant,
    /// Nanoseconds since `origin` up to which the rate is used up.
    used: AtomicU64,
}

impl RateCap {
    pub(crate) fn new() -> Self {
        Self {
            origin: Instant::now(),
            used: AtomicU64::new(0),
        }
    }

    /// Whether one more may begin now.
    pub(crate) fn takes(&self, rate: NonZeroUsize) -> bool {
        self.takes_at(rate, self.origin.elapsed().as_nanos() as u64)
    }

    fn takes_at(&self, rate: NonZeroUsize, now: u64) -> bool {
        let step = SECOND / (rate.get() as u64).min(SECOND);
        let next = |used: u64| {
            let begin = used.max(now);
            // A single shadow may always begin, however low the rate.
            (begin - now <= BURST.saturating_sub(step)).then_some(begin + step)
        };
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_over_time_and_a_burst_is_a_tenth_of_it() {
        for (rate, burst) in [(1, 1), (10, 1), (100, 10), (5_000, 500)] {
            let cap = RateCap::new();
            let rate = NonZeroUsize::new(rate).expect("not none");
            let at_once = (0..10_000).filter(|_| cap.takes_at(rate, 0)).count();
            assert_eq!(at_once, burst, "{rate}");
            let ten_seconds = (1..=100_000)
                .filter(|step| cap.takes_at(rate, step * 100_000))
                .count();
            let expected = rate.get() * 10;
            assert!(
                (expected..=expected + burst).contains(&ten_seconds)
                    || ten_seconds + burst >= expected,
                "{ten_seconds} of {expected}"
            );
        }
    }
}
