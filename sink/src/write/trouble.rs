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
pub(super) struct Trouble {
    /// Until when to wait; `None` while all is well.
    retry_after: Option<Duration>,
    failure_logged_at: Option<Instant>,
    drops_logged_at: Option<Instant>,
    drops_logged: u64,
    /// The present failure was spoken of, so its end is too.
    spoken: bool,
}

impl Trouble {
    /// How long to leave the store alone; `None` when it works.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    pub(super) fn failed(&mut self, error: &rusqlite::Error, dropped: u64) {
        self.retry_after = Some(match self.retry_after {
            Some(before) => (before * 2).min(LAST_RETRY),
            None => FIRST_RETRY,
        });
        if is_due(&mut self.failure_logged_at) {
            self.spoken = true;
            tracing::error!(
                %error,
                dropped_records = self.newly(dropped),
                "cannot write to the store; counts are kept, mismatch records wait and are then dropped"
            );
        }
    }

    pub(super) fn worked(&mut self, dropped: u64) {
        self.retry_after = None;
        if std::mem::take(&mut self.spoken) {
            tracing::info!(
                dropped_records = self.newly(dropped),
                "the store takes records again"
            );
        }
    }

    /// To be called now and then with the number of records dropped so far.
    pub(super) fn tick(&mut self, dropped: u64) {
        if self.retry_after.is_none()
            && dropped > self.drops_logged
            && is_due(&mut self.drops_logged_at)
        {
            tracing::error!(
                dropped_records = self.newly(dropped),
                "mismatch records were dropped before they reached the store; they are counted all the same"
            );
        }
    }

    fn newly(&mut self, dropped: u64) -> u64 {
        let new = dropped.saturating_sub(self.drops_logged);
        self.drops_logged = dropped;
        new
    }
}

fn is_due(logged_at: &mut Option<Instant>) -> bool {
    let due = logged_at.is_none_or(|at| at.elapsed() >= REPEAT);
    if due {
        *logged_at = Some(Instant::now());
    }
    due
}
