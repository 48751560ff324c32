//! The sets of groups of a report, added up.

use std::collections::{BTreeMap, HashMap};

use parity_schemas::evidence::SetEvidence;
use parity_schemas::recheck::{ClassCounts, add_counts};
use parity_schemas::tally::{SetTally, set_id};

/// Most sets of one report. Mismatches of further ones are in no set, so they count against the candidate.
const MAX_REPORT_SETS: usize = 10_000;

/// Sums of sets, by route and id.
#[derive(Clone, Default)]
pub(super) struct SetSums {
    by_route: BTreeMap<String, HashMap<String, Sums>>,
    count: usize,
}

#[derive(Clone)]
struct Sums {
    fingerprints: Vec<String>,
    classes: ClassCounts,
    never_asked: u64,
}

impl Sums {
    fn into_evidence(self, route: String) -> SetEvidence {
        SetEvidence {
            route,
            fingerprints: self.fingerprints,
            classes: self.classes,
            never_asked: self.never_asked,
        }
    }
}

impl SetSums {
    /// How many there are.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// Adds the row of a set, or of several that a store has added up.
    pub(super) fn add(&mut self, row: SetTally) {
        let sets = self.by_route.entry(row.route).or_default();
        if let Some(sums) = sets.get_mut(&row.set_id) {
            add_counts(&mut sums.classes, &row.classes);
            sums.never_asked += row.never_asked;
        } else if self.count < MAX_REPORT_SETS {
            self.count += 1;
            let sums = Sums {
                fingerprints: row.fingerprints,
                classes: row.classes,
                never_asked: row.never_asked,
            };
            sets.insert(row.set_id, sums);
        }
    }

    /// The sets of one route.
    pub(super) fn of_route(&self, route: &str) -> Vec<SetEvidence> {
        let sets = self.by_route.get(route).into_iter().flatten();
        sets.map(|(_, sums)| sums.clone().into_evidence(route.to_owned()))
            .collect()
    }

    /// Whether the sets of a route have more mismatches of a class than it has.
    pub(super) fn have_more(&self, route: &str, classes: &ClassCounts) -> bool {
        let mut sum = ClassCounts::new();
        let sets = self.by_route.get(route).into_iter().flatten();
        for (_, sums) in sets {
            add_counts(&mut sum, &sums.classes);
        }
        let most = |class| classes.get(class).copied().unwrap_or_default();
        sum.iter().any(|(class, count)| *count > most(class))
    }

    /// Forgets a route.
    pub(super) fn remove(&mut self, route: &str) {
        let gone = self.by_route.remove(route);
        self.count -= gone.map_or(0, |sets| sets.len());
    }

    /// Adds a set that was counted elsewhere.
    pub(super) fn carry(&mut self, set: SetEvidence) {
        self.add(SetTally {
            set_id: set_id(set.fingerprints.iter().map(String::as_str)),
            route: set.route,
            fingerprints: set.fingerprints,
            classes: set.classes,
            never_asked: set.never_asked,
            ..SetTally::default()
        });
    }

    /// Sorted by route and groups.
    pub(super) fn into_evidence(self) -> Vec<SetEvidence> {
        let mut all = Vec::with_capacity(self.count);
        for (route, sets) in self.by_route {
            let sets = sets.into_values();
            all.extend(sets.map(|sums| sums.into_evidence(route.clone())));
        }
        all.sort_unstable();
        all
    }
}
