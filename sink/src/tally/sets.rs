//! How many mismatches had exactly the same groups.
//!
//! When a group turns out to be noise, mismatches that have only such groups are noise, too, also those that were counted
//! before. That can be told from these counts and from no others. A service whose fields vary independently has many sets;
//! those beyond the limits are not counted, and their mismatches keep counting against the candidate.
//!
//! A group that was found to be transient in a mismatch does not count in it, so it is not in its set.

use parity_schemas::tally::{MAX_GROUPS_OF_SET, set_id};

use super::fast_map::FastMap;
use super::sighting::{Classes, Sighting};

/// Sets that one tally counts: all combinations of eight fields.
const MAX_SETS: usize = 256;
/// Sets in all tallies in memory. With a few groups each they take a megabyte, and 6 MB at the most.
pub(super) const MAX_SETS_HELD: usize = 4_096;

/// Counts of sets, by their id.
#[derive(Default)]
pub(super) struct Sets(FastMap<String, SetCount>);

/// How often one set was seen.
pub(super) struct SetCount {
    /// Sorted, each once.
    pub(super) fingerprints: Vec<String>,
    pub(super) classes: Classes,
    /// Those about which nothing is ever asked again.
    pub(super) never_asked: u64,
}

impl SetCount {
    fn add(&mut self, other: &Self) {
        self.classes.add(&other.classes);
        self.never_asked += other.never_asked;
    }
}

impl Sets {
    /// Counts a mismatch whose groups are all known.
    pub(super) fn add(&mut self, seen: &Sighting<'_>) {
        let names = seen.groups.iter().map(|group| group.fingerprint.as_str());
        let mut fingerprints: Vec<&str> = names.filter(|name| !seen.is_transient(name)).collect();
        fingerprints.sort_unstable();
        fingerprints.dedup();
        if fingerprints.is_empty() || fingerprints.len() > MAX_GROUPS_OF_SET {
            return;
        }
        let classes = Classes::one(seen.class());
        let never_asked = u64::from(seen.is_never_asked);
        let id = set_id(fingerprints.iter().copied());
        if let Some(count) = self.0.get_mut(&id) {
            count.classes.add(&classes);
            count.never_asked += never_asked;
        } else if self.0.len() < MAX_SETS {
            let fingerprints = fingerprints.into_iter().map(str::to_owned).collect();
            let count = SetCount {
                fingerprints,
                classes,
                never_asked,
            };
            self.0.insert(id, count);
        }
    }
}

/// The sets of one tally, with what a store still lacks of them.
#[derive(Default)]
pub(super) struct SetStates(FastMap<String, SetState>);

struct SetState {
    count: SetCount,
    revision: u32,
    changed: bool,
}

impl SetStates {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The sum of their counts.
    pub(super) fn total(&self) -> u64 {
        let states = self.0.values();
        states.map(|state| state.count.classes.total()).sum()
    }

    /// Adds what was counted since; new sets only up to the limit, at most `room`, and only if the tally has all their
    /// groups: what is known of a group that was folded into others is lost.
    pub(super) fn merge(&mut self, sets: Sets, room: usize, is_group: impl Fn(&str) -> bool) {
        let most = MAX_SETS.min(self.0.len() + room);
        for (id, count) in sets.0 {
            if let Some(state) = self.0.get_mut(&id) {
                state.count.add(&count);
                state.changed = true;
            } else if self.0.len() < most && count.fingerprints.iter().all(|name| is_group(name)) {
                let state = SetState {
                    count,
                    revision: 0,
                    changed: true,
                };
                self.0.insert(id, state);
            }
        }
    }

    /// Stamps what changed with the number of a snapshot.
    pub(super) fn stamp(&mut self, snapshot: u32) {
        for state in self.0.values_mut().filter(|state| state.changed) {
            state.changed = false;
            state.revision = snapshot;
        }
    }

    /// Those that a store with everything up to `acknowledged` lacks: id, revision and counts.
    pub(super) fn due(&self, acknowledged: u32) -> impl Iterator<Item = (&str, u32, &SetCount)> {
        let due = self
            .0
            .iter()
            .filter(move |(_, state)| state.revision > acknowledged);
        due.map(|(id, state)| (id.as_str(), state.revision, &state.count))
    }
}
