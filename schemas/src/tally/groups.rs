//! What a tally counts of its mismatches: by group of findings, and by exactly which set of groups they had.
//!
//! Rows of both belong to a tally and grow with it. Whether a mismatch may be taken for noise is decided from sets, when
//! they are read, so what is counted never changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Identity;
use crate::attributes::AttributeCounts;
use crate::digest::{ExchangeDigest, mixed};
use crate::recheck::{ClassCounts, EvidenceCounts};
use crate::time::Timestamp;
use crate::verdict::{Explanation, Kind, Part};

/// What all mismatches with one fingerprint have in common.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Group {
    /// Sixteen hex digits.
    pub fingerprint: String,
    /// Which part of the answer.
    pub part: Part,
    /// The generalized path.
    pub pattern: String,
    /// How the sides differ.
    pub kind: Kind,
    /// How near they are.
    pub explanation: Option<Explanation>,
    /// What kind of values both sides have, as one label: `uuid→uuid`. Empty in records of older programs.
    #[serde(default)]
    pub shape: String,
    /// The legacy's status code.
    pub legacy_status: u16,
    /// The candidate's status code.
    pub candidate_status: u16,
}

/// How often one group was seen within one tally.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupTally {
    /// The tally that this is part of.
    pub tally_id: Uuid,
    /// Rises with every write of the same tally and fingerprint.
    pub revision: u32,
    /// The tally's: groups are read by what they are evidence for, without looking their tally up.
    #[serde(flatten)]
    pub identity: Identity,
    /// The tally's.
    pub interval_start: Timestamp,
    /// The tally's. Absent in records of older programs, which is nil.
    #[serde(default)]
    pub run: Uuid,
    /// The tally's.
    pub route: String,
    /// What is counted.
    #[serde(flatten)]
    pub group: Group,
    /// Mismatches with at least one finding of this group.
    pub count: u64,
    /// The first of them in the interval.
    pub first_seen: Timestamp,
    /// The last of them in the interval.
    pub last_seen: Timestamp,
    /// Id of a mismatch that shows it.
    pub example_id: Uuid,
    /// Digest of the ids of these mismatches, by which groups with the same ones are found. Absent in records of older
    /// programs, which means 0: unknown.
    #[serde(default)]
    pub exchange_digest: ExchangeDigest,
    /// These mismatches by the class of this group in them; their sum is `count`. Absent in records of older programs:
    /// those are unconfirmed.
    #[serde(default)]
    pub classes: ClassCounts,
    /// What was counted of the second answers.
    #[serde(default)]
    pub evidence: EvidenceCounts,
    /// Attributes of these mismatches. Absent in records of older programs, and empty beyond the cap of groups that have them.
    #[serde(default)]
    pub attributes: AttributeCounts,
}

/// Gives the columns of `group_tallies` to a macro, see [`crate::table`].
#[macro_export]
macro_rules! group_tally_columns {
    ($with:ident $($given:tt)*) => {
        $with! {
            [$($given)*]
            Key tally_id: Id = tally_id;
            Grown revision: Number = revision;
            Fixed migration: Label = identity.migration;
            Fixed legacy_version: Label = identity.legacy_version;
            Fixed candidate_version: Label = identity.candidate_version;
            Fixed rules_hash: Label = identity.rules_hash;
            Fixed(Apart) interval_start: Time = interval_start;
            Fixed(By) route: Label = route;
            Key(By) fingerprint: Hash = group.fingerprint;
            Fixed(Any) part: Word = group.part;
            Fixed(Any) pattern: Label = group.pattern;
            Fixed(Any) kind: Word = group.kind;
            Fixed(Any) explanation: OptionalWord = group.explanation;
            Fixed(Any) legacy_status: Status = group.legacy_status;
            Fixed(Any) candidate_status: Status = group.candidate_status;
            Grown(Sum) count: Count = count;
            Grown(Min) first_seen: Time = first_seen;
            Grown(Max) last_seen: Time = last_seen;
            Grown(Newest) example_id: Id = example_id;
            Grown(Digest) exchange_digest: Number = exchange_digest;
            Fixed(Apart) run: Run = run, since 1;
            Fixed(Any) shape: Label = group.shape, since 1;
            Grown(Sum) classes: Counts = classes, since 1;
            Grown(Sum) evidence: Counts = evidence, since 1;
            Grown(Detail) attributes: Counts = attributes, since 2;
        }
    };
}

/// Longest set that is counted; a mismatch with more groups counts in no set. That much does not differ by chance.
pub const MAX_GROUPS_OF_SET: usize = 32;

/// How many mismatches within one tally had exactly the same groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetTally {
    /// The tally that this is part of.
    pub tally_id: Uuid,
    /// Rises with every write of the same tally and set.
    pub revision: u32,
    /// The tally's.
    #[serde(flatten)]
    pub identity: Identity,
    /// The tally's.
    pub interval_start: Timestamp,
    /// The tally's.
    pub run: Uuid,
    /// The tally's.
    pub route: String,
    /// See [`set_id`].
    pub set_id: String,
    /// The groups, sorted, each once.
    pub fingerprints: Vec<String>,
    /// The mismatches by class.
    pub classes: ClassCounts,
    /// Those of them about which the configuration never asks again. Absent in records of older programs.
    #[serde(default)]
    pub never_asked: u64,
}

/// Gives the columns of `set_tallies` to a macro, see [`crate::table`].
#[macro_export]
macro_rules! set_tally_columns {
    ($with:ident $($given:tt)*) => {
        $with! {
            [$($given)*]
            Key tally_id: Id = tally_id;
            Grown revision: Number = revision;
            Fixed migration: Label = identity.migration;
            Fixed legacy_version: Label = identity.legacy_version;
            Fixed candidate_version: Label = identity.candidate_version;
            Fixed rules_hash: Label = identity.rules_hash;
            Fixed interval_start: Time = interval_start;
            Fixed run: Run = run;
            Fixed(By) route: Label = route;
            Key(By) set_id: Hash = set_id;
            Fixed(Any) fingerprints: Texts = fingerprints;
            Grown(Sum) classes: Counts = classes;
            Grown(Sum) never_asked: Count = never_asked, since 1;
        }
    };
}

/// The id of a set of groups: sixteen hex digits that every program makes of the same fingerprints. They must be sorted.
pub fn set_id<'a>(fingerprints: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = 0;
    for fingerprint in fingerprints {
        for byte in fingerprint.bytes() {
            hash = mixed(hash ^ u64::from(byte));
        }
        // No byte of UTF-8, so that no two lists of texts are hashed alike.
        hash = mixed(hash ^ 0xff);
    }
    format!("{hash:016x}")
}
