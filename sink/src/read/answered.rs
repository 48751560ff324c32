//! Mismatches whose answers are stored, as examples of groups.
//!
//! Only the first mismatches of a group and interval have their answers, and retention takes those first. So they are few among
//! many, and are not found by reading mismatches in order. One pass lists their ids for all groups that are asked about, without
//! reading any answer. Of those of one group the ones with the lowest random bits are chosen: that is a sample over the whole
//! time, the same whenever and from whichever store it is read, and takes no more memory than what is chosen.

use std::collections::{BTreeSet, HashMap};

use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use uuid::Uuid;

/// Most mismatches with stored answers that are looked at, the newest first: those of a hundred groups in a week of minutes
/// with traffic. More would take seconds to list.
pub(super) const MAX_LISTED: usize = 200_000;
/// Most examples of one group.
pub const MAX_EXAMPLES: usize = 200;

/// Selects mismatches with stored answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnsweredFilter {
    /// Under which rules and for which versions they were found.
    pub identity: Identity,
    /// Received at this time or later.
    pub from: Timestamp,
    /// Received before this time, or at it.
    pub to: Timestamp,
}

/// Examples of groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examples {
    /// Their ids, for each group that was asked about.
    pub ids: HashMap<String, Vec<Uuid>>,
    /// Whether every mismatch with stored answers was considered, and not only the newest ones.
    pub of_all: bool,
}

/// The examples that are chosen for each group.
pub(super) struct Chosen<'a> {
    each: usize,
    considered: usize,
    of: HashMap<&'a str, BTreeSet<(u64, Uuid)>>,
}

impl<'a> Chosen<'a> {
    /// Nothing yet, for these groups.
    pub(super) fn of(fingerprints: &'a [String], each: usize) -> Self {
        let none = |name: &'a String| (name.as_str(), BTreeSet::new());
        Self {
            each: each.min(MAX_EXAMPLES),
            considered: 0,
            of: fingerprints.iter().map(none).collect(),
        }
    }

    /// Considers a mismatch for each of its groups.
    pub(super) fn offer<'f>(&mut self, id: Uuid, fingerprints: impl Iterator<Item = &'f str>) {
        self.considered += 1;
        let (_, random) = id.as_u64_pair();
        for fingerprint in fingerprints {
            if let Some(chosen) = self.of.get_mut(fingerprint) {
                chosen.insert((random, id));
                if chosen.len() > self.each {
                    chosen.pop_last();
                }
            }
        }
    }

    /// What was chosen.
    pub(super) fn finish(self) -> Examples {
        let ids = |chosen: BTreeSet<(u64, Uuid)>| chosen.into_iter().map(|(_, id)| id).collect();
        let of = self.of.into_iter();
        Examples {
            ids: of
                .map(|(name, chosen)| (name.to_owned(), ids(chosen)))
                .collect(),
            of_all: self.considered < MAX_LISTED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_the_same_in_any_order_and_no_more_than_asked_for() {
        let groups = ["a".to_owned(), "b".to_owned()];
        let ids: Vec<Uuid> = (0..1_000u128)
            .map(|index| {
                Uuid::from_u128((index << 64) | (index * 0x9e37_79b9_7f4a_7c15 % (1 << 64)))
            })
            .collect();
        let chosen = |ids: &mut dyn Iterator<Item = &Uuid>| {
            let mut chosen = Chosen::of(&groups, 20);
            for id in ids {
                chosen.offer(*id, ["a", "c"].into_iter());
                // A row that is read twice is one example.
                chosen.offer(*id, ["a"].into_iter());
            }
            chosen.finish()
        };
        let found = chosen(&mut ids.iter());
        assert_eq!(found, chosen(&mut ids.iter().rev()));
        assert!(found.of_all);
        let found = found.ids;
        assert!(found["b"].is_empty());
        assert_eq!(found.len(), 2);
        let places = found["a"].iter().map(|id| id.as_u128() >> 64);
        let places: Vec<u128> = places.collect();
        assert_eq!(places.len(), 20);
        // They are of the whole time, not of its end.
        assert!(places.iter().any(|at| *at < 300) && places.iter().any(|at| *at > 700));
    }
}
