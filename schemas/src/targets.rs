//! What a number of compared requests rests on: how many distinct targets they had, and how many of them had the same one.
//!
//! A target is what one request asks for: method, path and query. A thousand requests to one target prove little of the
//! others, so a decision says both. Targets are counted by keyed hashes, in two summaries of fixed size that can be merged:
//! [`DistinctTargets`] and [`FrequentTargets`]. The key never leaves its process, so nothing of a target can be guessed
//! from a record.
//!
//! Summaries under different keys cannot be merged: the same target has another hash there. So of targets that were
//! counted under several keys, the largest number of one key is taken, which is too small rather than too large.

mod distinct;
mod frequent;

use std::collections::BTreeMap;

pub use distinct::DistinctTargets;
pub use frequent::{Between, FREQUENT, FrequentTargets};

/// The targets of one route, or of several, by the key of their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetEvidence {
    by_key: BTreeMap<String, Keyed>,
    /// Requests of which no target was counted, by older programs.
    unknown: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Keyed {
    counted: u64,
    distinct: DistinctTargets,
    frequent: FrequentTargets,
}

impl TargetEvidence {
    /// Adds what was counted of `counted` requests. Without a key nothing is known of their targets.
    pub fn add(
        &mut self,
        key: &str,
        counted: u64,
        distinct: &DistinctTargets,
        frequent: &FrequentTargets,
    ) {
        if key.is_empty() {
            self.unknown += counted;
            return;
        }
        if counted == 0 && frequent.is_empty() {
            return;
        }
        if !self.by_key.contains_key(key) {
            self.by_key.insert(key.to_owned(), Keyed::default());
        }
        if let Some(keyed) = self.by_key.get_mut(key) {
            keyed.counted += counted;
            keyed.distinct.merge(distinct);
            keyed.frequent.merge(frequent);
        }
    }

    /// Adds what `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.unknown += other.unknown;
        for (key, more) in &other.by_key {
            self.add(key, more.counted, &more.distinct, &more.frequent);
        }
    }

    /// Requests whose targets were counted.
    pub fn known(&self) -> u64 {
        self.by_key.values().map(|keyed| keyed.counted).sum()
    }

    /// Requests of which no target was counted, by older programs.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// How many keys they were counted under.
    pub fn keys(&self) -> usize {
        self.by_key.len()
    }

    /// How many distinct targets there are: of several keys, the largest number of one. Exact for a few, otherwise with a
    /// standard error of 6.5 %. 0 if none is known.
    pub fn distinct(&self) -> u64 {
        let of_key = self.by_key.values().map(|keyed| {
            let exact = keyed.frequent.all_distinct(keyed.counted);
            // An estimate may be too high, but no request has two targets.
            exact.unwrap_or_else(|| keyed.distinct.estimate().min(keyed.counted))
        });
        of_key.max().unwrap_or(0)
    }

    /// Whether all of them are known to be to one target.
    pub fn is_single(&self) -> bool {
        self.unknown == 0 && self.by_key.len() == 1 && self.distinct() == 1
    }

    /// How many of the requests whose targets were counted are to the most frequent one. It may be the same under all keys,
    /// and it may be another one under each.
    pub fn most_frequent(&self) -> Between {
        let mut most = Between::default();
        for keyed in self.by_key.values() {
            let of_key = keyed.frequent.most_frequent(keyed.counted);
            most.at_least = most.at_least.max(of_key.at_least);
            most.at_most += of_key.at_most;
        }
        most
    }

    /// The greatest share of those requests that the most frequent target can have, 0..=1; `None` if none is known.
    pub fn most_frequent_share(&self) -> Option<f64> {
        let known = self.known();
        let most = self.most_frequent().at_most;
        (known > 0).then(|| (most as f64 / known as f64).min(1.0))
    }
}

#[cfg(test)]
mod tests;
