//! Stored decisions: what is asked for, under which terms one was counted, and what was counted of what it rests on.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use parity_schemas::evidence::{LeftOutSpan, Outcome, RouteEvidence, Window};
use parity_schemas::tally::Tally;
use parity_schemas::terms::Terms;
use parity_schemas::time::Timestamp;
use uuid::Uuid;

use super::Selection;
use super::assemble::Sums;
use crate::error::StoreError;

/// Most decisions of one query. A line has some hundred bytes, so this is a few megabytes.
pub const MAX_DECISIONS: usize = 10_000;

/// Selects decisions, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionFilter {
    /// Only of this migration; of all if `None`.
    pub migration: Option<String>,
    /// Only with this outcome.
    pub outcome: Option<Outcome>,
    /// Only about this version of the candidate.
    pub candidate_version: Option<String>,
    /// Only those that were made at this time or later.
    pub since: Option<Timestamp>,
    /// Only those that were made before this time.
    pub until: Option<Timestamp>,
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
    /// Those under which was counted last come first, and then the latest that were written.
    pub terms: Vec<Terms>,
    /// There are more, which are earlier.
    pub cut: bool,
    /// A mirror says that it counts under terms that have not come to the store yet: which are in force is not known.
    pub missing: bool,
}

/// Terms that a mirror says it counts under, and since when.
pub(super) type InForce = (Uuid, Timestamp);

/// Most terms of one query. More than a hundred changes without another rule or version say nothing that fewer do not.
pub const MAX_TERMS: usize = 100;

impl FoundTerms {
    /// Of one more than are wanted.
    pub(super) fn of(mut terms: Vec<Terms>) -> Self {
        let cut = terms.len() > MAX_TERMS;
        terms.truncate(MAX_TERMS);
        Self {
            terms,
            cut,
            missing: false,
        }
    }

    /// The same, those first that were last in force: a configuration that came back has the row that it had at first.
    /// `named` is what the latest watermark names; `fetch` reads terms by their id.
    pub(super) fn in_force_first(
        terms: Vec<Terms>,
        named: Option<InForce>,
        fetch: impl FnOnce(Uuid) -> Result<Option<Terms>, StoreError>,
    ) -> Result<Self, StoreError> {
        let mut found = Self::of(terms);
        let Some((id, since)) = named else {
            return Ok(found);
        };
        // Programs whose watermarks name no terms may have written later ones.
        let first = found.terms.first();
        if first.is_some_and(|first| first.id == id || first.time > since) {
            return Ok(found);
        }
        let place = found.terms.iter().position(|terms| terms.id == id);
        let in_force = match place {
            Some(place) => Some(found.terms.remove(place)),
            None => fetch(id)?,
        };
        match in_force {
            Some(terms) => found.terms.insert(0, terms),
            None => found.missing = true,
        }
        found.cut |= found.terms.len() > MAX_TERMS;
        found.terms.truncate(MAX_TERMS);
        Ok(found)
    }
}

impl TermsFilter {
    /// Just these of the same rules and versions.
    pub(super) fn only(&self, id: Uuid) -> Self {
        Self {
            ids: vec![id],
            ..self.clone()
        }
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
    /// By instance, and of each by route, sorted by name.
    pub instances: BTreeMap<String, Vec<RouteEvidence>>,
}

impl Counted {
    /// All that these instances counted, by route, sorted by name.
    pub fn routes(&self, of: impl Fn(&str) -> bool) -> Vec<RouteEvidence> {
        let mut all: BTreeMap<&str, RouteEvidence> = BTreeMap::new();
        let counted = self.instances.iter().filter(|(name, _)| of(name));
        for route in counted.flat_map(|(_, routes)| routes) {
            match all.entry(&route.route) {
                Entry::Vacant(place) => {
                    place.insert(route.clone());
                }
                Entry::Occupied(mut place) => place.get_mut().counts.merge(&route.counts),
            }
        }
        all.into_values().collect()
    }
}

/// Tallies as they are added up.
#[derive(Default)]
pub(super) struct CountedSums(BTreeMap<String, Sums>);

impl CountedSums {
    pub(super) fn add(&mut self, tally: Tally) {
        let sums = self.0.entry(tally.instance.clone()).or_default();
        sums.add(tally);
    }

    pub(super) fn into_counted(self) -> Counted {
        let mut counted = Counted::default();
        for (instance, sums) in self.0 {
            let (window, routes) = sums.into_counted();
            counted.window = match (counted.window, window) {
                (Some(one), Some(other)) => Some(Window {
                    from: one.from.min(other.from),
                    to: one.to.max(other.to),
                }),
                (one, other) => one.or(other),
            };
            counted.instances.insert(instance, routes);
        }
        counted
    }
}
