//! How far the system clock was set while the process ran.
//!
//! A host may boot with a wrong clock, and be corrected when it reaches a time server. Then the times at which a run began
//! and last wrote are of two different clocks, and the time between them is not how long it ran: a few seconds of traffic
//! would seem to be an hour. So a run began, by the clock of its latest watermark, as long ago as a clock says that nobody
//! sets.

use std::time::Instant;

use parity_schemas::time::Timestamp;

/// A smaller difference is taken for inexact reading: a start that moves with each watermark would be of no use.
const NOTICED_MICROS: i64 = 1_000_000;

/// Compares the system clock with one that only counts.
pub(super) struct Clock {
    began: Timestamp,
    counted_from: Instant,
    set_by: i64,
}

impl Clock {
    pub(super) fn begun(now: Timestamp, counted: Instant) -> Self {
        Self {
            began: now,
            counted_from: counted,
            set_by: 0,
        }
    }

    /// By how many microseconds the system clock was set since the process began; negative if it was set back.
    pub(super) fn set_by(&mut self, now: Timestamp, counted: Instant) -> i64 {
        let passed = counted.saturating_duration_since(self.counted_from);
        let passed = i64::try_from(passed.as_micros()).unwrap_or(i64::MAX);
        let expected = self.began.saturating_add_micros(passed);
        let set_by = now.as_micros().saturating_sub(expected.as_micros());
        if set_by.saturating_sub(self.set_by).saturating_abs() > NOTICED_MICROS {
            self.set_by = set_by;
        }
        self.set_by
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_tells_by_how_much_it_was_set_and_ignores_inexact_reading() {
        let (began, counted) = (Timestamp::from_micros(1_000_000_000_000), Instant::now());
        let mut clock = Clock::begun(began, counted);
        // Seconds that passed, microseconds by the system clock, and what was noticed.
        for (passed, shown, noticed) in [
            (1, 1_000_300, 0),
            (2, 2_900_000, 0),
            (3, 3_603_000_000, 3_600_000_000),
            (4, 3_604_000_900, 3_600_000_000),
            (5, 5_000_000, 0),
            (6, -59_000_000, -65_000_000),
        ] {
            let now = began.saturating_add_micros(shown);
            let counted = counted + Duration::from_secs(passed);
            assert_eq!(clock.set_by(now, counted), noticed, "{passed}");
        }
    }
}
