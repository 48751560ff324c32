//! Stored decisions: what is asked for, and what was counted of what one rests on.

use parity_schemas::evidence::{LeftOutSpan, Outcome, RouteEvidence, Window};
use parity_schemas::time::Timestamp;
use uuid::Uuid;

use super::Selection;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedWindow {
    /// Their intervals begin in it.
    pub window: Window,
    /// And end at this time or before.
    pub closed_by: Timestamp,
    /// And are not in one of these spans.
    pub left_out: Vec<LeftOutSpan>,
}

impl CountedWindow {
    /// What selects its begin.
    pub(super) fn since(&self) -> Selection {
        Selection {
            since: Some(self.window.from),
            ..Selection::default()
        }
    }
}

/// Tallies of a window, added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// From the begin of the first interval to the end of the last; `None` without any.
    pub window: Option<Window>,
    /// By route, sorted by name.
    pub routes: Vec<RouteEvidence>,
}
