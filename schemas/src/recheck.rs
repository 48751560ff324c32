//! What the second answers of both services said, as counts that add up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::{UnknownWord, vocabulary};

vocabulary! {
    /// What is counted of a group of findings when both services are asked once more. Most come in pairs: for services that
    /// behave alike, both of a pair are equally frequent.
    RecheckEvidence as "kind of evidence" {
        /// The candidate's second value is greater or later than the legacy's.
        Above = "above" => "the candidate's value was the greater or later one",
        /// It is smaller or earlier.
        Below = "below" => "the candidate's value was the smaller or earlier one",
        /// The services repeat themselves more than each other.
        Own = "own" => "each service repeated itself more than the other",
        /// They repeat each other more than themselves.
        Other = "other" => "each service repeated the other more than itself",
        /// The candidate changed its answer and the legacy did not.
        CandidateAlone = "candidate_alone" => "only the candidate changed its answer",
        /// The legacy changed its answer and the candidate did not.
        LegacyAlone = "legacy_alone" => "only the legacy changed its answer",
        /// More of the candidate's values than of the legacy's are of a kind that the other service did not show.
        CandidateOdd = "candidate_odd" => "the candidate's value was of another kind",
        /// More of the legacy's values are.
        LegacyOdd = "legacy_odd" => "the legacy's value was of another kind",
        /// The candidate showed a value of earlier requests, and the legacy did not.
        CandidateRepeats = "candidate_repeats" => "only the candidate showed a value of earlier requests",
        /// The legacy did, and the candidate did not.
        LegacyRepeats = "legacy_repeats" => "only the legacy showed a value of earlier requests",
        /// The candidate's value is much further from the legacy's than any two of the legacy's before.
        CandidateFar = "candidate_far" => "the candidate was much further off than the legacy ever moved",
        /// The legacy moved much further than ever before.
        LegacyFar = "legacy_far" => "the legacy moved much further than ever before",
        /// A request to a target that this process had not seen in this group.
        Targets = "targets" => "distinct targets, as far as one process tells them apart",
        /// A matching request was asked of the legacy once more, and its answer differed here.
        ControlMoved = "control_moved" => "the legacy differed from itself in a request that matched",
    }
}
