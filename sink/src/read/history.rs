//! How parity held over time: tallies of all versions and rules, added up in buckets.
//!
//! Stores fetch rows, and here is decided which bucket they belong to and what they add up to ([`sums`], [`marks`]), so
//! that a history is the same on every store. It counts what tallies count and nothing else: it proves nothing, and no
//! decision is made from it.
//!
//! What is noise or known does not count in a report, which knows it from all of its evidence. Who has a report names the
//! sets of groups that are excused ([`ExcusedOf`]), and the history is without them, in earlier buckets, too. Each report is of the
//! versions of both services that it is of, and excuses nothing of others: so of each that counted ([`Versions`]) another one is asked.

pub(super) mod cell;
pub(super) mod grid;
mod marks;
pub(super) mod minutes;
pub(super) mod row;
pub(super) mod sums;
pub(super) mod versions;
pub(super) mod whole;

use std::collections::BTreeSet;

use parity_schemas::evidence::Window;
use parity_schemas::history::History;
use parity_schemas::tally::set_id;
use parity_schemas::time::Timestamp;

use self::grid::Asked;
pub(super) use self::marks::Termed;
pub use self::minutes::{Minute, MinutesFilter};
pub use self::versions::Versions;
use super::Selection;

/// Groups of one query: those of a long page.
pub const MAX_GROUPS: usize = 200;
/// Sets of groups that are excused of some versions, the most frequent first. The rest counts.
pub const MAX_EXCUSED: usize = 1_000;
/// Routes that are listed one by one.
pub const MAX_ROUTES: usize = 100;
/// Tallies whose latencies are read: two hours of a hundred routes, or ten days of one. Each has four times the size of all
/// its counts, so more of them would take longer than all the rest.
pub(super) const MAX_LATENCIES: u64 = 20_000;
/// The latest terms that are looked at for a change of the configuration.
pub(super) const MAX_TERMS: usize = 500;

/// Selects a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryFilter {
    /// Which tallies. Those of all versions and rules that it does not exclude; nothing is left out or carried.
    pub selection: Selection,
    /// Only intervals that begin before this time.
    pub until: Option<Timestamp>,
    /// Only of this route.
    pub route: Option<String>,
    /// The groups that are counted one by one, [`MAX_GROUPS`] at most.
    pub fingerprints: Vec<String>,
    /// Nobody looks at the times of the answers, which take longer to read than all counts.
    pub without_latency: bool,
    /// What does not count, by versions. `None` if that is not known: then all counts.
    pub excused: Option<Vec<ExcusedOf>>,
    /// The buckets of another history; `None` for those that fit. They say nothing of what is read: the first and the last may
    /// reach beyond `selection.since` and `until`.
    pub buckets: Option<Buckets>,
}

/// Buckets of a history, for another one that is laid upon it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buckets {
    /// From the begin of the first to the end of the last.
    window: Window,
    /// How long each is.
    seconds: u64,
}

impl Buckets {
    /// Those of a history; `None` if it has nothing.
    pub fn of(history: &History) -> Option<Self> {
        Some(Self {
            window: history.window?,
            seconds: history.bucket_seconds,
        })
    }
}

/// What of some versions does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcusedOf {
    /// Under which it was counted.
    pub versions: Versions,
    /// [`MAX_EXCUSED`] at most.
    pub sets: Vec<ExcusedSet>,
}

impl ExcusedOf {
    /// The sets, each with its id.
    pub(super) fn by_id(&self) -> impl Iterator<Item = (String, &ExcusedSet)> {
        let sets = self.sets.iter().take(MAX_EXCUSED);
        sets.map(|set| (set_id(set.fingerprints.iter().map(String::as_str)), set))
    }
}

/// Mismatches that have exactly these groups do not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcusedSet {
    /// `METHOD /template`.
    pub route: String,
    /// The groups, sorted.
    pub fingerprints: Vec<String>,
    /// Also those of them about which the configuration never asks again.
    pub with_never_asked: bool,
}

impl HistoryFilter {
    /// Which span of time is asked for.
    pub(super) fn asked(&self) -> Asked {
        Asked {
            since: self.selection.since,
            until: self.until,
            buckets: self.buckets,
        }
    }

    /// The ids of the sets that are excused of any versions, each once.
    pub(super) fn excused_ids(&self) -> Vec<String> {
        let all = self.excused.iter().flatten();
        let ids: BTreeSet<String> = all.flat_map(ExcusedOf::by_id).map(|(id, _)| id).collect();
        ids.into_iter().collect()
    }
}
