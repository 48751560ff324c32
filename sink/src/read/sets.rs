//! The sets of groups of a report, added up.

use std::collections::{BTreeMap, HashMap};

use parity_schemas::evidence::SetEvidence;
use parity_schemas::recheck::{ClassCounts, add_counts};
use parity_schemas::tally::{SetTally, set_id};

/// Most sets of one report. Mismatches of further ones are in no set, so they count against the candidate.
const MAX_REPORT_SETS: usize = 10_000;

/// Sums of sets, by route and id.
#[derive(Default)]
pub(super) struct SetSums {
    by_route: BTreeMap<String, HashMap<String, Sums>>,
    count: usize,
}

struct Sums {
    fingerprints: Vec<String>,
    classes: ClassCounts,
}

impl SetSums {
    /// Adds the row of a set, or of several that a store has added up.
    pub(super) fn add(&mut self, row: SetTally) {
        let sets = self.by_route.entry(row.route).or_default();
        if let Some(sums) = sets.get_mut(&row.set_id) {
            add_counts(&mut sums.classes, &row.classes);
        } else if self.count < MAX_REPORT_SETS {
            self.count += 1;
            let sums = Sums {
                fingerprints: row.fingerprints,
                classes: row.classes,
            };
            sets.insert(row.set_id, sums);
        }
    }

    /// The sets of one route.
    pub(super) fn of_route(&self, route: &str) -> Vec<SetEvidence> {
        let sets = self.by_route.get(route).into_iter().flatten();
        sets.map(|(_, sums)| SetEvidence {
            route: route.to_owned(),
            fingerprints: sums.fingerprints.clone(),
            classes: sums.classes.clone(),
        })
        .collect()
    }

    /// Adds a set that was counted elsewhere.
    pub(super) fn carry(&mut self, set: SetEvidence) {
        self.add(SetTally {
            set_id: set_id(set.fingerprints.iter().map(String::as_str)),
            route: set.route,
            fingerprints: set.fingerprints,
            classes: set.classes,
            ..SetTally::default()
        });
    }

    /// Sorted by route and groups.
    pub(super) fn into_evidence(self) -> Vec<SetEvidence> {
        let mut all = Vec::with_capacity(self.count);
        for (route, sets) in self.by_route {
            all.extend(sets.into_values().map(|sums| SetEvidence {
                route: route.clone(),
                fingerprints: sums.fingerprints,
                classes: sums.classes,
            }));
        }
        all.sort_unstable();
        all
    }
}
