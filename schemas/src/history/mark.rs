//! What a history marks: a change, when it was, and what it was from and to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::edited::Edited;
use crate::time::Timestamp;
use crate::vocabulary::{UnknownWord, vocabulary};

vocabulary! {
    /// What can change while a migration is under way.
    MarkKind as "kind of change" {
        /// Another legacy.
        LegacyVersion = "legacy_version" => "another version of the legacy",
        /// Another candidate.
        CandidateVersion = "candidate_version" => "another version of the candidate",
        /// Other rules.
        Rules = "rules" => "other rules",
        /// Other entries in the register of known differences.
        Known = "known" => "other known differences",
        /// Sampling, limits or routes.
        Configuration = "configuration" => "another part of the traffic is compared",
        /// Nothing is compared from then on.
        ShadowingOff = "shadowing_off" => "shadowing was stopped",
        /// Requests are compared again.
        ShadowingOn = "shadowing_on" => "shadowing was started",
        /// The candidate serves another share of the clients.
        RolloutSet = "rollout_set" => "the candidate serves another share of the clients",
        /// All clients went back to the legacy.
        RolloutBack = "rollout_back" => "all clients went back to the legacy",
    }
}

/// Something changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// When a process began to count under it, or else the first interval that it counts in; of shadowing, of known differences and of a rollout,
    /// when it was done.
    pub time: Timestamp,
    /// What.
    pub kind: MarkKind,
    /// What it was before, a version, a hash, or the percent of a rollout, such as `10 %`; empty for a configuration, for shadowing and for
    /// known differences.
    pub from: String,
    /// What it is from then on; for shadowing and for known differences, who did it.
    pub to: String,
    /// Of a rollout, of which process, by whom and why; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Which rules or known differences came, went or say something else, as far as the record has their names.
    #[serde(default, skip_serializing_if = "Edited::is_empty")]
    pub names: Edited,
}
