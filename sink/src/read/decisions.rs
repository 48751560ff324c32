//! Stored decisions: what is asked for, under which terms one was counted, and what was counted of what it rests on.

use parity_schemas::evidence::{LeftOutSpan, Outcome, RouteEvidence, Window};
use parity_schemas::terms::Terms;
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

/// Selects terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TermsFilter {
    /// Of this migration.
    pub migration: String,
    /// With this hash of the rules.
    pub rules_hash: String,
    /// Of these versions of legacy and candidate; of all if `None`.
    pub versions: Option<(String, String)>,
    /// Only those with one of these ids; all if empty.
    pub ids: Vec<Uuid>,
}

/// Terms that were found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundTerms {
    /// The latest first.
    pub terms: Vec<Terms>,
    /// There are more, which are earlier.
    pub cut: bool,
}

/// Most terms of one query. More than a hundred changes without another rule or version say nothing that fewer do not.
pub const MAX_TERMS: usize = 100;

impl FoundTerms {
    /// Of one more than are wanted.
    pub(super) fn of(mut terms: Vec<Terms>) -> Self {
        let cut = terms.len() > MAX_TERMS;
        terms.truncate(MAX_TERMS);
        Self { terms, cut }
    }
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
