//! Which targets are frequent: counters of a few of them (Misra and Gries 1982, mergeable as by Agarwal and others 2012).
//!
//! Of n requests each target has at most (n − sum of all counters) / 17 more than its counter, and one without a counter
//! at most so many: whenever a counter loses some, at least sixteen others and the new one lose as many. So the error
//! need not be stored, and a target that more than a seventeenth of all requests are to always has a counter.

use std::borrow::Cow;
use std::fmt::Write as _;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Counters: a share is right to within a seventeenth. That of the most frequent target matters where it is large, and then
/// it is much nearer.
pub const FREQUENT: usize = 16;

/// Between which two numbers a count is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Between {
    /// It is this or more.
    pub at_least: u64,
    /// It is this or less.
    pub at_most: u64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct FrequentTargets {
    hashes: [u64; FREQUENT],
    /// Of the target at the same place; 0 where there is none.
    counts: [u64; FREQUENT],
}

impl FrequentTargets {
    /// Counts a request, by the hash of its target.
    pub fn add(&mut self, hash: u64) {
        let mut free = None;
        // Of all places in either case, without a branch for each: sixteen are compared in less time than a wrong guess takes.
        let mut found = None;
        for place in 0..FREQUENT {
            if self.counts[place] == 0 {
                free = Some(place);
            } else if self.hashes[place] == hash {
                found = Some(place);
            }
        }
        if let Some(place) = found {
            self.counts[place] += 1;
        } else if let Some(place) = free {
            self.hashes[place] = hash;
            self.counts[place] = 1;
        } else {
            for count in &mut self.counts {
                *count -= 1;
            }
        }
    }

    /// Adds what `other` counted.
    pub fn merge(&mut self, other: &Self) {
        *self = Self::from_counts(self.counters().chain(other.counters()));
    }

    /// Of any number of counters, of which several may be of one target.
    pub fn from_counts(counts: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut all: Vec<(u64, u64)> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        all.sort_unstable();
        all.dedup_by(|more, sum| {
            let same = more.0 == sum.0;
            if same {
                sum.1 = sum.1.saturating_add(more.1);
            }
            same
        });
        all.sort_unstable_by_key(|(hash, count)| (std::cmp::Reverse(*count), *hash));
        let lost = all.get(FREQUENT).map_or(0, |(_, count)| *count);
        let mut targets = Self::default();
        for (place, (hash, count)) in all.into_iter().take(FREQUENT).enumerate() {
            targets.hashes[place] = hash;
            targets.counts[place] = count - lost;
        }
        targets
    }

    /// The targets that have a counter, by hash; in no order.
    pub fn counters(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let all = self.hashes.iter().copied().zip(self.counts);
        all.filter(|(_, count)| *count > 0)
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

    /// How many targets `of` requests had, if each of them has a counter that has lost nothing.
    pub fn all_distinct(&self, of: u64) -> Option<u64> {
        (self.lost(of) == 0).then(|| self.counters().count() as u64)
    }

    /// How many of `of` requests are to the most frequent target.
    pub fn most_frequent(&self, of: u64) -> Between {
        let at_least = self.counts.iter().copied().max().unwrap_or(0);
        let error = self.lost(of) / (FREQUENT as u64 + 1);
        Between {
            at_least,
            at_most: at_least + error,
        }
    }

    /// Of `of` requests, those that are in no counter.
    fn lost(&self, of: u64) -> u64 {
        of.saturating_sub(self.counts.iter().sum())
    }

    /// The counters with the most frequent first.
    fn sorted(&self) -> Vec<(u64, u64)> {
        let mut counters: Vec<(u64, u64)> = self.counters().collect();
        counters.sort_unstable_by_key(|(hash, count)| (std::cmp::Reverse(*count), *hash));
        counters
    }

    /// A compact text: `HASH:COUNT`, the hash in hexadecimal digits, with commas between.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (hash, count) in self.sorted() {
            let comma = if text.is_empty() { "" } else { "," };
            // Writing to a String cannot fail.
            let _infallible = write!(text, "{comma}{hash:x}:{count}");
        }
        text
    }

    /// What [`Self::to_text`] wrote; `None` if it is something else.
    pub fn from_text(text: &str) -> Option<Self> {
        let counters = text.split(',').filter(|counter| !counter.is_empty());
        let counters: Option<Vec<(u64, u64)>> = counters
            .map(|counter| {
                let (hash, count) = counter.split_once(':')?;
                Some((u64::from_str_radix(hash, 16).ok()?, count.parse().ok()?))
            })
            .collect();
        Some(Self::from_counts(counters?))
    }
}

impl PartialEq for FrequentTargets {
    fn eq(&self, other: &Self) -> bool {
        self.sorted() == other.sorted()
    }
}

impl Eq for FrequentTargets {}

impl Serialize for FrequentTargets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

impl<'de> Deserialize<'de> for FrequentTargets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let read = Self::from_text(&text);
        read.ok_or_else(|| D::Error::custom(format!("`{text}` is no list of frequent targets")))
    }
}

impl JsonSchema for FrequentTargets {
    fn schema_name() -> Cow<'static, str> {
        "FrequentTargets".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Counters of at most 16 targets by their keyed hashes, as HASH:COUNT with commas between"
        })
    }
}
