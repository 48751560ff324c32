//! The document of `parity rules test`: what the gate would say of a record under other rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Outcome;
use crate::severity::Severity;
use crate::verdict::{Explanation, Kind, Part};
use crate::vocabulary::{UnknownWord, vocabulary};

/// Name and version of the document.
pub const TRIAL_SCHEMA: &str = "parity.rules_test/v1";

vocabulary! {
    /// What becomes of a group under other rules.
    #[derive(Default)]
    Fate as "fate of a group" {
        /// Nothing of it is left.
        Excused = "excused" => "equal under these rules",
        /// Some of it is left.
        Stays = "stays" => "still differs",
        /// No stored example says, so it counts as differing.
        #[default]
        CannotTell = "cannot_tell" => "cannot be told: the values are hashed or cut, or no answers are stored",
    }
}

/// Before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RulesTrial {
    /// [`TRIAL_SCHEMA`].
    pub schema: String,
    /// What it rests on.
    pub migration: String,
    /// As recorded.
    pub candidate_version: String,
    /// The rules under which it was counted.
    pub rules_hash_before: String,
    /// Those that are tried.
    pub rules_hash_after: String,
    /// By the rules under which it was counted.
    pub before: Tried,
    /// By those that are tried. What cannot be told counts as differing; it is never a pass where excuses were lost.
    pub after: Tried,
    /// Rules with hits that are gone or changed: what they excused is in no record, so it is not known whether it differs now.
    pub lost: Vec<String>,
    /// What becomes of the groups: the gravest first, then the most frequent.
    pub groups: Vec<GroupTrial>,
}

/// What the gate says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tried {
    /// Pass, fail or undecided.
    pub outcome: Outcome,
    /// What the gate counts.
    pub compared: u64,
    /// What the gate counts against the candidate.
    pub differing: u64,
    /// Why, the weightiest first.
    pub reasons: Vec<String>,
}

/// One group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupTrial {
    /// Sixteen hex digits.
    pub fingerprint: String,
    /// `METHOD /template`.
    pub route: String,
    /// Which part of the answers.
    pub part: Part,
    /// The generalized path.
    pub pattern: String,
    /// How the sides differ.
    pub kind: Kind,
    /// How grave that is.
    pub severity: Severity,
    /// How near they are.
    pub explanation: Option<Explanation>,
    /// Its mismatches.
    pub count: u64,
    /// What becomes of it.
    pub fate: Fate,
    /// Whether place, kind and explanation alone say so, whatever the values are. Then no example was compared.
    pub is_certain: bool,
    /// Stored examples that are equal there now.
    pub equal: u64,
    /// Stored examples that still differ there.
    pub differ: u64,
    /// Stored examples that do not say.
    pub cannot_tell: u64,
}
