//! Records that cannot become a row.

use std::fmt;

use parity_schemas::time::Timestamp;

/// An older record is beyond retention and would be removed at once. Together with the limit on future times, this also
/// bounds how many monthly partitions one batch touches (the server refuses an insert into more than 100).
pub(super) const OLDEST_MICROS: i64 = 400 * DAY_MICROS;
/// A clock may be wrong by a time zone. A record from further in the future would outlive its retention.
pub(super) const AHEAD_MICROS: i64 = DAY_MICROS;
const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// Why a record can never be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Poison {
    /// Its JSON is not that of its type.
    Malformed(String),
    /// Its time is wrong, or older than the retention.
    TimeOutOfRange(Timestamp),
}

impl Poison {
    /// The word for it in headers and metrics.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::TimeOutOfRange(_) => "time_out_of_range",
        }
    }
}

impl fmt::Display for Poison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) => f.write_str(why),
            Self::TimeOutOfRange(time) => write!(
                f,
                "its time is {time}, which is over {} days ago or over {} day ahead",
                OLDEST_MICROS / DAY_MICROS,
                AHEAD_MICROS / DAY_MICROS
            ),
        }
    }
}
