//! What was seen of one service in a rollout: requests, errors, and times in the buckets of
//! [`parity_schemas::histogram`], which are 3 % wide. Relaxed counters, because nothing is decided by a request.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parity_schemas::histogram::{self, Histogram, OCTAVES, STEPS};

/// Counters that all workers have.
pub(super) struct Served {
    answered: AtomicU64,
    errors: AtomicU64,
    times: Box<[AtomicU64]>,
}

impl Served {
    pub(super) fn new() -> Self {
        Self {
            answered: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            times: (0..OCTAVES * STEPS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// It answered whole.
    pub(super) fn answered(&self, status: u16, elapsed: Option<Duration>) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        if status >= 500 {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(elapsed) = elapsed {
            let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
            let (octave, step) = histogram::place(micros);
            self.times[octave * STEPS + step].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// It did not answer, or not whole.
    pub(super) fn failed(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    /// All so far.
    pub(super) fn counts(&self) -> ServedCounts {
        let times = self.times.iter().enumerate().map(|(at, count)| {
            let bucket = histogram::bucket_at(at / STEPS, at % STEPS);
            (bucket, count.load(Ordering::Relaxed))
        });
        ServedCounts {
            requests: self.answered.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            times: times.collect(),
        }
    }
}

/// What was seen of one service.
#[derive(Clone, Debug, Default)]
pub struct ServedCounts {
    /// Requests that it answered or should have.
    pub requests: u64,
    /// Those that it did not answer whole, or answered 5xx.
    pub errors: u64,
    /// How long whole answers took, in microseconds; those of which a time says something.
    pub times: Histogram,
}

impl ServedCounts {
    /// What came since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(before.requests),
            errors: self.errors.saturating_sub(before.errors),
            times: self.times.since(&before.times),
        }
    }

    /// Those of which a time is known.
    pub fn timed(&self) -> u64 {
        self.times.counts().sum()
    }

    /// The share of errors, 0 to 1; 0 without requests.
    pub fn error_rate(&self) -> f64 {
        self.errors as f64 / self.requests.max(1) as f64
    }
}
