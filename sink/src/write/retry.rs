//! When a failing store is tried again, and how often it is spoken of.
//!
//! An on-call engineer must see at once that something is wrong, and must still be able to read the log an hour
//! later: the first of each kind is logged when it happens, then at most one line a minute that says what was lost
//! since the last.

use std::time::{Duration, Instant};

/// How soon and how late a failed write is tried again. Late enough to cost nothing, soon enough that nobody waits
/// for it after having made space.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(1);
/// Between two lines about the same.
const REPEAT: Duration = Duration::from_mins(1);

/// The state of a store that may fail.
#[derive(Default)]
pub(super) struct RetryState {
    /// Until when to wait; `None` while all is well.
    retry_after: Option<Duration>,
    failure_logged_at: Option<Instant>,
    drops_logged_at: Option<Instant>,
    drops_logged: u64,
    /// The present failure was spoken of, so its end is too.
    spoken: bool,
}

impl RetryState {
    /// How long to leave the store alone; `None` when it works.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// A write failed, `dropped` records having been dropped so far. Whether it was spoken of.
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
            // Not within the macro: a field is not evaluated when nobody listens.
            let dropped_records = self.newly(dropped);
            tracing::error!(
                %error,
                dropped_records,
                "cannot write to the store; counts are kept, mismatch records wait and are then dropped"
            );
        }
        due
    }

    /// A write worked. Whether that was worth a word.
    pub(super) fn worked(&mut self, dropped: u64) -> bool {
        self.retry_after = None;
        let spoken = std::mem::take(&mut self.spoken);
        if spoken {
            let dropped_records = self.newly(dropped);
            tracing::info!(dropped_records, "the store takes records again");
        }
        spoken
    }

    /// To be called now and then with the number of records dropped so far. Whether that was spoken of.
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
