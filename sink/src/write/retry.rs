//! When a failing store is retried, and how often its failure is logged.
//!
//! An on-call engineer must see at once that something is wrong, and must still be able to read the log an hour later.
//! So the first failure and the first drop are logged at once, and after that at most one line a minute of each kind,
//! with the number of records dropped since the last.

use std::time::{Duration, Instant};

/// The first and the longest delay before a failed write is retried: long enough to cost nothing, and short enough that
/// the store recovers soon after somebody freed space.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(1);
/// The time between two log lines of the same kind.
const REPEAT: Duration = Duration::from_mins(1);

/// What is known of the failures of a store.
#[derive(Default)]
pub(super) struct RetryState {
    /// The delay before the next attempt; `None` while the store works.
    retry_after: Option<Duration>,
    failure_logged_at: Option<Instant>,
    drops_logged_at: Option<Instant>,
    drops_logged: u64,
    /// The present failure was logged, so its end must be logged too.
    spoken: bool,
}

impl RetryState {
    /// The delay before the next attempt; `None` while the store works.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// A write failed; `dropped` is the number of records dropped so far. Returns whether it was logged.
    pub(super) fn failed(
        &mut self,
        error: &impl std::fmt::Display,
        dropped: u64,
        now: Instant,
    ) -> bool {
        self.retry_after = Some(match self.retry_after {
            Some(before) => (before * 2).min(LAST_RETRY),
            None => FIRST_RETRY,
        });
        let due = is_due(&mut self.failure_logged_at, now);
        if due {
            self.spoken = true;
            // Computed outside of the macro, which evaluates fields only when the level is enabled.
            let dropped_records = self.newly(dropped);
            tracing::error!(
                %error,
                dropped_records,
                "cannot write to the store; counts are kept, mismatch records wait and are then dropped"
            );
        }
        due
    }

    /// A write succeeded. Returns whether it was logged.
    pub(super) fn worked(&mut self, dropped: u64) -> bool {
        self.retry_after = None;
        let spoken = std::mem::take(&mut self.spoken);
        if spoken {
            let dropped_records = self.newly(dropped);
            tracing::info!(dropped_records, "the store takes records again");
        }
        spoken
    }

    /// To be called regularly with the number of records dropped so far. Returns whether it was logged.
    pub(super) fn tick(&mut self, dropped: u64, now: Instant) -> bool {
        let due = self.retry_after.is_none()
            && dropped > self.drops_logged
            && is_due(&mut self.drops_logged_at, now);
        if due {
            let dropped_records = self.newly(dropped);
            tracing::error!(
                dropped_records,
                "mismatch records were dropped before they reached the store; they are counted all the same"
            );
        }
        due
    }

    fn newly(&mut self, dropped: u64) -> u64 {
        let new = dropped.saturating_sub(self.drops_logged);
        self.drops_logged = dropped;
        new
    }
}

fn is_due(logged_at: &mut Option<Instant>, now: Instant) -> bool {
    let due = logged_at.is_none_or(|at| now.saturating_duration_since(at) >= REPEAT);
    if due {
        *logged_at = Some(now);
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lasting_failure_is_told_at_once_and_then_once_a_minute() {
        let mut retry = RetryState::default();
        let began = Instant::now();
        let told: Vec<u64> = (0..600)
            .filter(|second| {
                let now = began + Duration::from_secs(*second);
                retry.failed(&"disk full", *second, now)
            })
            .collect();
        assert_eq!(told, [0, 60, 120, 180, 240, 300, 360, 420, 480, 540]);
        assert_eq!(retry.retry_after(), Some(LAST_RETRY));
        assert!(retry.worked(600), "its end is told");
        assert!(!retry.worked(600), "once");
        assert_eq!(retry.retry_after(), None);
    }

    #[test]
    fn drops_are_told_when_there_are_new_ones_and_once_a_minute() {
        let mut retry = RetryState::default();
        let began = Instant::now();
        let mut tick = |dropped, second| retry.tick(dropped, began + Duration::from_secs(second));
        assert!(!tick(0, 0));
        assert!(tick(1, 1));
        assert!(!tick(2, 2));
        assert!(tick(2, 61));
        assert!(!tick(2, 200));
    }
}
