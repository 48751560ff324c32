//! What the second answers of both services said, as counts that add up.
//!
//! Only counts and words leave: values and targets that were compared to get them stay in the process.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::{UnknownWord, vocabulary};

vocabulary! {
    /// What asking both services once more said of a mismatch; the gravest first. Noise counts until it is proven, and
    /// what is transient does not count.
    #[derive(Default)]
    MismatchClass as "class of mismatch" {
        /// Asked again, they differ again, and the legacy stands still or the answers are of another shape.
        Confirmed = "confirmed" => "differs again when both are asked once more",
        /// Asked again, they agree, and it was the candidate that changed its answer.
        Unstable = "unstable" => "the candidate changed its answer, the legacy did not",
        /// Seen once; not asked again, or nothing could be told from the second answers.
        #[default]
        Unconfirmed = "unconfirmed" => "seen once, not asked again",
        /// The legacy does not agree with itself here either, and all values look alike.
        Noise = "noise" => "the legacy does not agree with itself here",
        /// Asked again, they agree, and the legacy changed its answer, too.
        Transient = "transient" => "the data changed between the answers, and both agree now",
    }
}

vocabulary! {
    /// What is counted of a group of findings when both services are asked once more. Most come in pairs: for services that
    /// behave alike, both of a pair are equally frequent.
    RecheckEvidence as "kind of evidence" {
        /// The candidate's second value is greater, later or longer than the legacy's.
        Above = "above" => "the candidate's value was the greater, later or longer one",
        /// It is smaller, earlier or shorter.
        Below = "below" => "the candidate's value was the smaller, earlier or shorter one",
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
        /// The candidate had one id more often at several places of an answer than the legacy.
        CandidateTwins = "candidate_twins" => "the candidate had the same id at more places of one answer than the legacy",
        /// The legacy had.
        LegacyTwins = "legacy_twins" => "the legacy had the same id at more places of one answer than the candidate",
        /// The candidate's value is much further from the legacy's than any two of the legacy's before.
        CandidateFar = "candidate_far" => "the candidate was much further off than the legacy ever moved",
        /// The legacy moved much further than ever before.
        LegacyFar = "legacy_far" => "the legacy moved much further than ever before",
        /// The orders in which each service lists the same elements are nearer to each other than to those of the other one.
        OwnOrder = "own_order" => "the orders of each service were nearer to each other than to those of the other",
        /// They are nearer to those of the other one.
        OtherOrder = "other_order" => "the orders of each service were nearer to those of the other than to each other",
        /// The candidate's two orders are farther from each other than the legacy's, or its two numbers, much farther.
        CandidateScatters = "candidate_scatters" => "the candidate's order or number changed more than the legacy's",
        /// The legacy's are.
        LegacyScatters = "legacy_scatters" => "the legacy's order or number changed more than the candidate's",
        /// It is above as before: no service showed a value that it had not shown already.
        AboveAgain = "above_again" => "the candidate's value was above the legacy's, and both had shown these values before",
        /// It is below as before.
        BelowAgain = "below_again" => "the candidate's value was below the legacy's, and both had shown these values before",
        /// It is far off as before.
        FarAgain = "far_again" => "the candidate was much further off, and both had shown these values before",
        /// The legacy's two answers differ from each other in the same way as the services do, and the candidate's do not.
        LegacyLikewise = "legacy_likewise" => "only the legacy differed from itself in the same way",
        /// The candidate's do, and the legacy's do not.
        CandidateLikewise = "candidate_likewise" => "only the candidate differed from itself in the same way",
        /// Those of both do.
        BothLikewise = "both_likewise" => "both services differed from themselves in the same way",
        /// A mismatch of a process and day that hardly asked again about this group: what a proof rests on says nothing of it.
        /// Only a reader can tell.
        Unsampled = "unsampled" => "mismatches of processes and days that hardly asked again about them",
        /// So many rechecks, evenly spread over processes and days, would say as much as those that there are; absent if all
        /// of them do. Only a reader can tell.
        Even = "even" => "rechecks that would say as much if they were spread evenly",
        /// A mismatch about which the configuration never asks again.
        NeverAsked = "never_asked" => "mismatches about which is never asked again, by the configuration",
        /// A mismatch at a moment that rechecks leave out for a reason that may be that of a fault, too: they were paused, too much
        /// waited, or so many came at once that hardly any was asked about.
        Unheard = "unheard" => "mismatches while rechecks were paused, or in a burst, of which they say nothing",
        /// A recheck that said nothing: a second answer failed, or the value was gone. It stands for as many mismatches as any
        /// other recheck, and of those nothing is known.
        Silent = "silent" => "rechecks that say nothing, because an answer failed or the value was gone",
        /// A mismatch of the last days of a long window. Only a reader can tell.
        Lately = "lately" => "mismatches of the last seven days",
        /// A recheck of one of those.
        LatelyAsked = "lately_asked" => "rechecks of the last seven days",
        /// Of those, the candidate's second value is greater or later.
        LatelyAbove = "lately_above" => "the candidate's value was the greater or later one in the last seven days",
        /// It is smaller or earlier.
        LatelyBelow = "lately_below" => "the candidate's value was the smaller or earlier one in the last seven days",
        /// A request to a target that this process had not seen in this group.
        Targets = "targets" => "distinct targets, as far as one process tells them apart",
    }
}

vocabulary! {
    /// What happened to rechecks and controls, counted for each route. An exchange that is asked again may fail, so `failed`
    /// is part of `asked`; what was refused was not asked.
    RecheckEvent as "event of a recheck" {
        /// Both services were asked again about a mismatch.
        Asked = "asked" => "mismatches that both services were asked about once more",
        /// One of the second answers did not come, or could not be compared.
        Failed = "failed" => "of them, those without two second answers that can be compared",
        /// The data changed between the looks, and what the candidate had first is neither what the legacy had nor what it has
        /// now, but between both: probably a moment of the same change, and not proven to be one.
        Between = "between" => "of them, transient ones whose first value was only between the two of the legacy",
        /// Only the legacy changed its answer, without having failed at first.
        LegacyAlone = "legacy_alone" => "of them, those in which only the legacy changed its answer",
        /// Only the candidate did.
        CandidateAlone = "candidate_alone" => "of them, those in which only the candidate changed its answer",
        /// The request may change something, so it must not be repeated.
        RefusedMethod = "refused_method" => "mismatches of requests that must not be repeated",
        /// More mismatches than the process may ask again about.
        RefusedRate = "refused_rate" => "mismatches beyond the rate of rechecks",
        /// More mismatches of one group than are asked again about.
        RefusedGroupRate = "refused_group_rate" => "mismatches beyond the rate of rechecks of one group",
        /// Too many rechecks wait, or hold too much memory.
        RefusedWaiting = "refused_waiting" => "mismatches that came while too many rechecks were waiting",
        /// The services are not burdened now: the breaker is open, or the legacy is slower than usual.
        RefusedPaused = "refused_paused" => "mismatches that came while rechecks were paused, to spare the services",
        /// The process ended first.
        RefusedShutdown = "refused_shutdown" => "mismatches whose recheck had not ended when the process did",
        /// The legacy was asked again about a match.
        ControlAsked = "control_asked" => "matches that the legacy was asked about once more",
        /// Its two answers differ.
        ControlMoved = "control_moved" => "of them, those that the legacy answered otherwise the second time",
        /// The second answer did not come, or could not be compared.
        ControlFailed = "control_failed" => "of them, those without a second answer that can be compared",
    }
}

/// Mismatches by class; classes without a count are absent.
pub type ClassCounts = BTreeMap<MismatchClass, u64>;
/// What was counted of one group, by kind; kinds without a count are absent.
pub type EvidenceCounts = BTreeMap<RecheckEvidence, u64>;

/// The counts by class of this many mismatches, when those of older programs are among them: mismatches without a class
/// are unconfirmed.
pub fn complete_classes(mut classes: ClassCounts, mismatches: u64) -> ClassCounts {
    let classified = classes
        .values()
        .fold(0, |sum: u64, of| sum.saturating_add(*of));
    if let Some(rest @ 1..) = mismatches.checked_sub(classified) {
        *classes.entry(MismatchClass::Unconfirmed).or_default() += rest;
    }
    classes
}

/// Adds one map of counts to another.
pub fn add_counts<K: Ord + Copy>(sums: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    for (word, count) in more {
        *sums.entry(*word).or_default() += count;
    }
}

/// What a recheck found out about one mismatch. The default is that of a mismatch which was not rechecked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecheckSummary {
    /// The class of the exchange: the gravest of its groups.
    pub class: MismatchClass,
    /// By fingerprint. A group that is not here is unconfirmed.
    pub groups: BTreeMap<String, GroupSummary>,
}

/// What a recheck found out about one group of a mismatch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupSummary {
    /// The class of the group in this exchange.
    pub class: MismatchClass,
    /// What is counted besides.
    pub evidence: EvidenceCounts,
}
