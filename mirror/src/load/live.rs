//! What is shared with a load while it runs: how it goes, and what ends it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Failures of the service in a row, with no answer at all, after which a step is given up.
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

    /// Requests that were sent and have no answer so far; what could not be sent from here is no failure of the service.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_of_the_service_give_a_step_up() {
        let begun = Instant::now()
            .checked_sub(LEAST_HOPE)
            .expect("the machine runs longer");
        let live = Live::default();
        for _ in 1..HOPELESS {
            live.count(false);
        }
        assert!(!live.is_hopeless(begun));
        live.count(false);
        assert!(live.is_hopeless(begun));
        let answered = Live::default();
        answered.count(true);
        for _ in 0..HOPELESS {
            answered.count(false);
        }
        assert!(!answered.is_hopeless(begun));
    }
}
