//! How far the record of one process is complete.
//!
//! A *run* is one process counting for one identity. It begins with the process, or with a reload that changes rules or
//! versions, and ends with the process or the next such reload. It has one [`Watermark`] in the store, which it
//! rewrites at least once a second, also without traffic. A run that ends in order sets `ended`; one that stops writing
//! was killed, or cannot reach its store.
//!
//! A watermark says not only until when counts are complete, but also which tallies must exist: those of the open
//! interval by id and revision, and the sums of those before, each with what its groups and sets of groups count. So a
//! reader notices that tallies are missing, even if
//! they were delivered by another way than the watermark: another partition, another sink, a spool, or a replica that
//! lags.

mod standing;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::standing::{
    Apart, CLOCKS_APART_MICROS, InstanceWatermark, Run, RunState, SILENT_AFTER_MICROS, Standing,
};
use crate::lately::CandidateSeen;
use crate::tally::Identity;
use crate::time::Timestamp;

/// How often a run without traffic writes its watermark. A gate waits for the next one, so this is most of its waiting
/// time; one small row a second costs a store next to nothing.
pub const HEARTBEAT_MICROS: i64 = 1_000_000;

/// The latest state of one run. Each write replaces the previous one: the highest revision is valid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Watermark {
    /// Of the run; the `run` of its tallies.
    pub id: Uuid,
    /// Rises with every write.
    pub revision: u32,
    /// What the run counts for.
    #[serde(flatten)]
    pub identity: Identity,
    /// Which process; the host name unless configured.
    pub instance: String,
    /// When the run began, by the clock that says `written`: it moves where that clock is set, so that the time between
    /// both is how long the run has lasted.
    pub started: Timestamp,
    /// When this was written, by the clock of the process.
    pub written: Timestamp,
    /// Every request received before this time is settled, and counted in the tallies.
    pub complete_until: Timestamp,
    /// Whether the run ended in order; this is then its last watermark.
    pub ended: bool,
    /// Requests without an outcome when this was written, by when they were received; empty at rest.
    pub under_way: Vec<UnderWay>,
    /// The sums below are of tallies whose interval began at this time or later …
    pub counted_from: Timestamp,
    /// … and before this one; tallies from here on are in `open`.
    pub open_from: Timestamp,
    /// How many tallies that is.
    pub tallies: u64,
    /// Requests received in them.
    pub received: u64,
    /// Requests with an outcome in them.
    pub settled: u64,
    /// The sum of the counts of their groups. Absent in records of older programs, which do not tell.
    #[serde(default)]
    pub in_groups: u64,
    /// The sum of the counts of their sets of groups.
    #[serde(default)]
    pub in_sets: u64,
    /// Tallies of the open interval. A store must have this revision of each, or a higher one.
    pub open: Vec<OpenTally>,
    /// Under which terms the run counts now. Their rows are written once, so only this tells which of them are in force when
    /// an earlier configuration comes back. Nil in records of older programs, which do not tell.
    #[serde(default)]
    pub terms: Uuid,
    /// Since when.
    #[serde(default)]
    pub terms_since: Timestamp,
    /// What it has seen of its candidate. Absent in records of older programs, which do not tell.
    #[serde(default)]
    pub candidate: Option<CandidateSeen>,
}

/// Gives the columns of `watermarks` to a macro, see [`crate::table`].
#[macro_export]
macro_rules! watermark_columns {
    ($with:ident $($given:tt)*) => {
        $with! {
            [$($given)*]
            Key id: Id = id;
            Grown revision: Number = revision;
            Fixed migration: Label = identity.migration;
            Fixed legacy_version: Label = identity.legacy_version;
            Fixed candidate_version: Label = identity.candidate_version;
            Fixed rules_hash: Label = identity.rules_hash;
            Fixed instance: Label = instance;
            Grown started: Time = started;
            Grown written: Time = written;
            Grown complete_until: Time = complete_until;
            Grown ended: Flag = ended;
            Grown under_way: Document = under_way;
            Grown counted_from: Time = counted_from;
            Grown open_from: Time = open_from;
            Grown tallies: Count = tallies;
            Grown received: Count = received;
            Grown settled: Count = settled;
            Grown open: Document = open;
            Grown in_groups: Count = in_groups, since 1;
            Grown in_sets: Count = in_sets, since 1;
            Grown terms: Run = terms, since 4;
            Grown terms_since: Time = terms_since, since 4;
            Grown candidate: Document = candidate, since 5;
        }
    };
}

impl Watermark {
    /// What is known of a run that has only begun.
    pub fn begun(started: Timestamp) -> Self {
        Self {
            started,
            written: started,
            complete_until: started,
            counted_from: started,
            open_from: started,
            ..Self::default()
        }
    }

    /// Requests without an outcome that were received before `time`, or at about that time.
    pub fn under_way_before(&self, time: Timestamp) -> u64 {
        self.under_way
            .iter()
            .filter(|under_way| under_way.since <= time)
            .map(|under_way| under_way.requests)
            .sum()
    }
}

/// Requests that are not settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnderWay {
    /// They were received at this time or later.
    pub since: Timestamp,
    /// How many.
    pub requests: u64,
}

/// A tally that still grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenTally {
    /// The tally's.
    pub id: Uuid,
    /// The tally's, when the watermark was written.
    pub revision: u32,
    /// The sum of the counts of its groups then. Absent in records of older programs, which do not tell.
    #[serde(default)]
    pub in_groups: u64,
    /// The sum of the counts of its sets of groups then.
    #[serde(default)]
    pub in_sets: u64,
}

#[cfg(test)]
mod tests;
