//! The document of `parity rules suggest`: rules that a person may take over, and what no rule is suggested for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::noise::NoiseState;
use crate::report::GroupExample;
use crate::severity::Severity;
use crate::terms::RuleText;
use crate::verdict::{Explanation, Kind, Part};
use crate::vocabulary::{UnknownWord, vocabulary};

/// Name and version of the suggestions.
pub const SUGGESTED_SCHEMA: &str = "parity.suggested/v1";

vocabulary! {
    /// What a client may notice of the differences that a rule excuses.
    #[derive(Default)]
    Effect as "effect of a rule" {
        /// A client that reads the value by its type has the same on both sides.
        Harmless = "harmless" => "a client that reads the values by their type cannot tell",
        /// Something is lost, or a client could take it for another value.
        #[default]
        Lossy = "lossy" => "something is lost, or a client can tell: a person has to decide",
    }
}

/// Rules for what differs and has an explanation, and what has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Suggestions {
    /// [`SUGGESTED_SCHEMA`].
    pub schema: String,
    /// What they rest on.
    pub migration: String,
    /// As recorded.
    pub candidate_version: String,
    /// The rules under which the differences were found.
    pub rules_hash: String,
    /// Requests that count as differing now, those on which the candidate failed included.
    pub differing: u64,
    /// Mismatches of which a difference is excused by one of the rules, as far as that is known. 0 in documents of older programs.
    #[serde(default)]
    pub covered_at_least: u64,
    /// Mismatches of which every difference is excused by one of the rules, as far as that is known.
    pub excused_at_least: u64,
    /// Places that are proven to be noise: they do not count already, so they get no rule.
    pub noise: u64,
    /// What is proven to be noise, or looks like it: no rule is suggested for what does not count by it. Absent in documents of
    /// older programs.
    #[serde(default)]
    pub noise_places: Vec<NoisePlace>,
    /// What is harmless first, then what covers most.
    pub rules: Vec<SuggestedRule>,
    /// Differences that nothing explains, or not well enough: the gravest first, then the most frequent.
    pub unruled: Vec<Unruled>,
}

/// A rule that may be taken over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestedRule {
    /// As it stands in a file. Its id follows from what it does, so it stays the same as evidence grows.
    pub rule: RuleText,
    /// What a client may notice.
    pub effect: Effect,
    /// Mismatches that it excuses a difference of, at least.
    pub at_least: u64,
    /// The same, at most.
    pub at_most: u64,
    /// Routes of these.
    pub routes: Vec<String>,
    /// Those of them on which nothing else differs: if it excuses a fault there, nothing else shows that. Absent in documents of older
    /// programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alone_on: Vec<String>,
    /// The groups of which it excuses every difference.
    pub fingerprints: Vec<String>,
    /// Groups that differ at such a place in another way; they stay differences.
    pub exceptions: u64,
    /// Of its groups, those that are noise or look like it and count nevertheless. 0 in documents of older programs.
    #[serde(default)]
    pub noise_like: u64,
    /// What else it excuses from now on, in words.
    pub reach: String,
    /// Of the most frequent group, while retention has it.
    pub example: Option<GroupExample>,
}

/// Groups of one place by which the legacy differs from itself, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoisePlace {
    /// `METHOD /template`.
    pub route: String,
    /// Which part of the answers.
    pub part: Part,
    /// The generalized path.
    pub pattern: String,
    /// How the sides differ.
    pub kind: Kind,
    /// How near they are, perhaps.
    pub explanation: Option<Explanation>,
    /// Whether it is proven.
    pub state: NoiseState,
    /// Mismatches, by group: one may be in several of them.
    pub count: u64,
    /// Its groups: several if they differ in their shape only.
    pub fingerprints: Vec<String>,
    /// What follows from that, and what is missing to a proof.
    pub why: String,
}

/// A group that gets no rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unruled {
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
    /// How near they are, perhaps.
    pub explanation: Option<Explanation>,
    /// Mismatches, at least.
    pub count: u64,
    /// Its groups: several if they differ in their shape only.
    pub fingerprints: Vec<String>,
    /// Why it gets none.
    pub why: String,
}
