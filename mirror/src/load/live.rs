//! What is shared with a load while it runs: how it goes, and what ends it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Failures in a row, with no answer at all, after which a step is given up.
const HOPELESS: u64 = 20;
/// But not before this time.
const LEAST_HOPE: Duration = Duration::from_secs(1);
/// How a step goes, and what ends it: shared with whoever waits for it.
#[derive(Debug, Default)]
pub struct Live {
    stop: AtomicBool,
    is_hopeless: AtomicBool,
    answered: AtomicU64,
    failed: AtomicU64,
}

impl Live {
    /// Ends the step now.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it was told to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Answers so far, warm-up included.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Requests without an answer so far.
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    pub(super) fn count(&self, is_answer: bool) {
        let counter = if is_answer {
            &self.answered
        } else {
            &self.failed
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether nothing is answered, so that to go on only costs time.
    pub(super) fn is_hopeless(&self, begun: Instant) -> bool {
        if self.answered() == 0 && self.failed() >= HOPELESS && begun.elapsed() >= LEAST_HOPE {
            self.is_hopeless.store(true, Ordering::Relaxed);
        }
        self.is_hopeless.load(Ordering::Relaxed)
    }
}
