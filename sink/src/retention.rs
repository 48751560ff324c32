//! How long each kind of data is kept, in every store.

use std::time::Duration;

/// How long each kind of data is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Request and answers of a mismatch.
    pub samples: Duration,
    /// The slim row of a mismatch.
    pub mismatches: Duration,
    /// Tallies and their groups.
    pub tallies: Duration,
    /// Above this size of the file in bytes the oldest samples go, then the oldest slim rows.
    pub max_bytes: u64,
}

const DAY: Duration = Duration::from_hours(24);

impl Default for Retention {
    fn default() -> Self {
        Self {
            samples: 14 * DAY,
            mismatches: 90 * DAY,
            tallies: 400 * DAY,
            // A year of tallies of a hundred routes, and some hundred thousand full exchanges.
            max_bytes: 4 << 30,
        }
    }
}
