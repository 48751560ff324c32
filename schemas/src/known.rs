//! Differences that somebody has entered as known, and what became of them.
//!
//! An entry says which groups it means and who answers for it. Whether a group is new, known, growing or back again is
//! decided when it is read, from the counts and the entries, and is no part of what is counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tally::Group;
use crate::time::Timestamp;
use crate::verdict::{Explanation, Kind, Part};
use crate::vocabulary::{UnknownWord, vocabulary};

vocabulary! {
    /// How a group of differences stands to the register of known ones.
    #[derive(Default)]
    KnownState as "state of a difference" {
        /// No entry means it.
        #[default]
        New = "new" => "no [[known]] entry means it",
        /// An entry means it, and it is as it was.
        Known = "known" => "entered as known",
        /// Its entry says that it is mended, and it was not seen since.
        Mended = "mended" => "entered as mended, and not seen since",
        /// Known, and more frequent than twice the rate that its entry names.
        Growing = "growing" => "known, and more than twice as frequent as when it was entered",
        /// Its entry says that it is mended, and it is back.
        Regressed = "regressed" => "entered as mended, and seen again since",
        /// Its entry has expired.
        Expired = "expired" => "its [[known]] entry has expired",
    }
}

impl KnownState {
    /// Whether it is news to whoever keeps the register.
    pub const fn is_news(self) -> bool {
        match self {
            Self::New | Self::Growing | Self::Regressed | Self::Expired => true,
            Self::Known | Self::Mended => false,
        }
    }
}

/// An entry of the register: a `[[known]]` of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KnownEntry {
    /// By which it is named.
    pub id: String,
    /// The groups that it means; without any, what follows says it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fingerprints: Vec<String>,
    /// Only on this route: `METHOD /template`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// Only in this part of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// Only at these places; `*` is one step of a path, `**` any number of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only if they differ so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Only if they are near each other so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Who answers for it.
    pub owner: String,
    /// Why it is there.
    pub reason: String,
    /// Where it is worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// From when on it excuses nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// Whether its mismatches count against the candidate.
    pub blocks: bool,
    /// The highest share of the compared requests of a route that it had when it was entered, as far as the counts showed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Since when it should be gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mended: Option<Timestamp>,
}

/// What was counted of an entry on one route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnownRoute {
    /// `METHOD /template`.
    pub route: String,
    /// Mismatches with one of its groups, without transient ones: so many at least.
    pub mismatches: u64,
    /// Compared requests.
    pub compared: u64,
    /// The same of the last slices of the time, an hour, six hours and a day long. Absent where all was counted in less, where
    /// the entry has no rate, and in documents of older programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<KnownSlice>,
    /// In which of them it grows, if not in all of the time together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grown: Option<KnownSlice>,
}

/// What was counted of an entry on one route since a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnownSlice {
    /// Since then.
    pub from: Timestamp,
    /// Which of the slices of its length that is since the evidence began.
    pub number: u64,
    /// Mismatches with one of its groups, without transient ones: so many at least.
    pub mismatches: u64,
    /// Compared requests.
    pub compared: u64,
}

/// A group that an entry means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KnownGroup {
    /// `METHOD /template`.
    pub route: String,
    /// What the mismatches have in common.
    #[serde(flatten)]
    pub group: Group,
    /// How it stands.
    pub state: KnownState,
    /// Mismatches with a finding of the group.
    pub count: u64,
    /// When it was last seen.
    pub last_seen: Timestamp,
}

/// An entry that means groups of the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KnownUse {
    /// Its text, without what looks like a secret.
    pub entry: KnownEntry,
    /// How the gravest of its groups stands.
    pub state: KnownState,
    /// What was counted of it, by route.
    pub routes: Vec<KnownRoute>,
    /// Its groups, by route and fingerprint.
    pub groups: Vec<KnownGroup>,
}

impl KnownUse {
    /// Whether the mismatches of one of its groups do not count.
    pub fn excuses(&self, group: &KnownGroup) -> bool {
        !self.entry.blocks && group.state == KnownState::Known
    }

    /// Mismatches of all routes.
    pub fn mismatches(&self) -> u64 {
        let routes = self.routes.iter();
        routes.fold(0, |sum: u64, route| sum.saturating_add(route.mismatches))
    }
}

/// A group that counts and is news to the register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewGroup {
    /// `METHOD /template`.
    pub route: String,
    /// What the mismatches have in common.
    #[serde(flatten)]
    pub group: Group,
    /// How it stands.
    pub state: KnownState,
    /// Mismatches with a finding of the group.
    pub count: u64,
    /// Whether a recheck found it again while the legacy stood still, or the counts prove that it grows.
    pub confirmed: bool,
    /// Why it looks like noise, if it does; only `parity known list` says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likely_noise: Option<String>,
}

/// What is new of the differences that count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewDifferences {
    /// Groups that are confirmed.
    pub confirmed: u64,
    /// Groups that may be noise or a race: no recheck confirmed them.
    pub open: u64,
    /// Mismatches on routes with known differences of which not all that differs is recorded, because it is more than is kept: what
    /// is not recorded may be new.
    #[serde(default)]
    pub untold: u64,
    /// The first of the groups: those that are confirmed, then the most frequent.
    pub groups: Vec<NewGroup>,
}
