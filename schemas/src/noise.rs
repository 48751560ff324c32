//! What is taken for noise, or may turn out to be: groups of mismatches by which the legacy differs from itself, too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::recheck::{ClassCounts, EvidenceCounts};
use crate::tally::Group;
use crate::vocabulary::{UnknownWord, vocabulary};

vocabulary! {
    /// What a reader does with groups that are proven to be noise.
    #[derive(Default)]
    NoiseUse as "use of noise" {
        /// They are listed, and mismatches of nothing else do not count against the candidate.
        #[default]
        Use = "use" => "what is proven to be noise does not count against the candidate",
        /// They are listed and count.
        Report = "report" => "what is proven to be noise is listed, and counts",
        /// They are not looked for.
        Off = "off" => "nothing is taken for noise",
    }
}

vocabulary! {
    /// How far it is known whether a group is noise.
    NoiseState as "state of a noise group" {
        /// Nothing is against it.
        Proven = "proven" => "the candidate differs there as the legacy does from itself",
        /// Rechecks found it moving, but too few of them to exclude that a fault hides there.
        Open = "open" => "looks like noise; not enough rechecks yet",
    }
}

/// What was counted of a group, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseSums {
    /// Mismatches.
    pub count: u64,
    /// Them by class.
    pub classes: ClassCounts,
    /// What was counted of the second answers.
    pub evidence: EvidenceCounts,
}

/// Groups that differ only in their explanation, and those that have the two services exchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseFamily {
    /// All together.
    pub sums: NoiseSums,
    /// All that have the services exchanged, if any was seen.
    #[serde(default)]
    pub mirror: Option<NoiseSums>,
}

/// A group of mismatches that is noise, or that may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseGroup {
    /// `METHOD /template`.
    pub route: String,
    /// What the mismatches have in common.
    #[serde(flatten)]
    pub group: Group,
    /// Whether it is proven.
    pub state: NoiseState,
    /// Mismatches with a finding of the group.
    pub count: u64,
    /// The group at the same place that has the two services exchanged, if it was seen.
    #[serde(default)]
    pub mirror: Option<NoiseSums>,
    /// All groups at the same place that differ only in their explanation, if there are others.
    #[serde(default)]
    pub family: Option<NoiseFamily>,
    /// Compared requests of the route.
    pub compared: u64,
    /// Groups of all routes that are looked at, which share the chance to take one of them wrongly for a fault. 0, which is as
    /// 1, in documents of older programs.
    #[serde(default)]
    pub groups: u64,
    /// The mismatches by the class of the group in them.
    pub classes: ClassCounts,
    /// What was counted of the second answers.
    pub evidence: EvidenceCounts,
    /// Rechecks that it rests on.
    pub rechecks: u64,
    /// The share of the route's compared requests that could hide in it at the most, as far as the rechecks show.
    pub hidden: f64,
    /// What is still missing to the proof, one sentence each.
    pub against: Vec<String>,
    /// Id of a mismatch that shows it; only a report says it.
    #[serde(default)]
    pub example_id: Option<Uuid>,
}

/// Mismatches of one route that do not count against the candidate, or may not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Excused {
    /// The data changed between the answers, and both agree now.
    pub transient: u64,
    /// They have groups of proven noise only.
    pub noise: u64,
    /// They have only groups that are known and do not block, or that and proven noise. Absent in documents of older programs.
    #[serde(default)]
    pub known: u64,
    /// They would be noise if the groups that are open were proven. They count, but nothing is proven to differ by them.
    pub open: u64,
    /// Those of them about which the configuration never asks again, so that no proof of others covers them.
    #[serde(default)]
    pub never_asked: u64,
    /// Those of `open` that are at places where the legacy moves, too, and the candidate was shown to be wrong in a part of its
    /// answers: how many of them are wrong is not known.
    #[serde(default)]
    pub partly: u64,
    /// Those of `open` of which not all that differs is kept, on routes where something is known that does not block: whether all
    /// of it is known nobody can say.
    #[serde(default)]
    pub untold: u64,
    /// The share of the compared requests that could hide in what is taken for noise, at the most.
    pub hidden: f64,
}

impl Excused {
    /// How many mismatches do not count.
    pub const fn total(&self) -> u64 {
        self.transient + self.noise + self.known
    }

    /// Adds those of another route, of `compared` requests each.
    #[must_use]
    pub fn with(self, compared: u64, other: Self, of_other: u64) -> Self {
        let all = (compared + of_other).max(1) as f64;
        Self {
            transient: self.transient + other.transient,
            noise: self.noise + other.noise,
            known: self.known + other.known,
            open: self.open + other.open,
            never_asked: self.never_asked + other.never_asked,
            partly: self.partly + other.partly,
            untold: self.untold + other.untold,
            hidden: (self.hidden * compared as f64 + other.hidden * of_other as f64) / all,
        }
    }
}
