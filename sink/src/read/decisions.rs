//! Stored decisions: what is asked for, and what was counted of what one rests on.

use parity_schemas::evidence::{Outcome, RouteEvidence, Window};
use parity_schemas::time::Timestamp;
use uuid::Uuid;

/// Most decisions of one query. A line has some hundred bytes, so this is a few megabytes.
pub const MAX_DECISIONS: usize = 10_000;

/// Selects decisions, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionFilter {
    /// Only of this migration; of all if `None`.
    pub migration: Option<String>,
    /// Only with this outcome.
    pub outcome: Option<Outcome>,
    /// Only those after this one, for paging: time and id of the last decision of the previous page.
    pub before: Option<(Timestamp, Uuid)>,
}

/// Which tallies are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedWindow {
    /// Their intervals begin in it.
    pub window: Window,
    /// And end at this time or before.
    pub closed_by: Timestamp,
}

/// Tallies of a window, added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// From the begin of the first interval to the end of the last; `None` without any.
    pub window: Option<Window>,
    /// By route, sorted by name.
    pub routes: Vec<RouteEvidence>,
}
