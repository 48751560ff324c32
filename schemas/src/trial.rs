//! The document of `parity rules test`: what the gate would say of a record under other rules.

use std::collections::BTreeMap;

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
        /// Nothing of it is left: that follows from the rules, or each of its mismatches was compared again.
        Excused = "excused" => "equal under these rules",
        /// Nothing of it is left in the examples that say anything. Of its other mismatches nothing is known.
        EqualExamples = "equal_examples" => "equal in every stored example that says anything; the others are not known",
        /// Nothing is left of it in some examples, and it still differs in others.
        Partly = "partly" => "equal in some stored examples, and not in others",
        /// Some of it is left: that follows from the rules, or from every example that says anything.
        Stays = "stays" => "still differs",
        /// No stored example says.
        #[default]
        CannotTell = "cannot_tell" => "cannot be told",
    }
}

vocabulary! {
    /// Why it is not known what becomes of a mismatch.
    Untold as "reason why a mismatch cannot be told" {
        /// Only the first mismatches of a group and interval have their answers, and those only for a time.
        NotStored = "not_stored" => "no answers are stored",
        /// There are more stored answers than are compared again.
        NotLookedAt = "not_looked_at" => "there are more stored answers than are compared again",
        /// Something of it was too long to be stored.
        Cut = "cut" => "the stored answers, or the lists of what differs, are cut",
        /// A rule looks into a value of which only a hash is stored.
        Hashed = "hashed" => "the rules may look into values that are stored as hashes",
        /// The stored answers do not show what was found.
        NotFoundAgain = "not_found_again" => "the stored answers do not show the difference",
        /// The stored answers cannot be compared under the new rules.
        NotCompared = "not_compared" => "the stored answers cannot be compared as a whole",
        /// The text of the rules under which it was found is not recorded.
        FormerRules = "former_rules" => "the rules by which they were found are not recorded",
        /// It is not recorded which differences a mismatch has.
        NotListed = "not_listed" => "it is not recorded what differs",
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
    /// By those that are tried: what the two that follow agree on, and else undecided. It is never a pass where excuses were
    /// lost. What cannot be told is counted as differing.
    pub after: Tried,
    /// If every mismatch that cannot be told is equal now.
    pub if_equal: Tried,
    /// If every mismatch that cannot be told still differs.
    pub if_different: Tried,
    /// Mismatches that cannot be told: as many as are between the two.
    pub untold: u64,
    /// Why not, by group: a mismatch with two groups is counted for each.
    pub reasons_untold: Vec<ReasonUntold>,
    /// Entries of the register of known differences by which the outcomes before and after were decided: that of the
    /// configuration with the rules that are tried. No store has the register that was in force.
    pub known_differences: u64,
    /// Rules with hits that are gone or changed: what they excused is in no record, so it is not known whether it differs now.
    pub lost: Vec<String>,
    /// What becomes of the groups: the gravest first, then the most frequent.
    pub groups: Vec<GroupTrial>,
}

/// Why mismatches cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasonUntold {
    /// The reason.
    pub why: Untold,
    /// How many mismatches, added up over the groups.
    pub mismatches: u64,
    /// Of how many groups; 0 where the groups are what is not known.
    pub groups: u64,
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
    /// Mismatches of which the stored answers are equal there now.
    pub equal: u64,
    /// Mismatches of which the stored answers still differ there.
    pub differ: u64,
    /// All its other mismatches, by why they cannot be told. Empty if it is certain.
    pub untold: BTreeMap<Untold, u64>,
}

impl GroupTrial {
    /// Its mismatches of which it is not known whether they differ now.
    pub fn cannot_tell(&self) -> u64 {
        self.untold.values().sum()
    }
}
