//! How far the record of one process is complete.
//!
//! A *run* is one process counting for one identity: from its start, or from the reload that brought other rules, to
//! its end, or to the next such reload. It keeps one [`Watermark`] in the store and writes it anew at least once a
//! second, also without traffic. A run that ends in order says so (`ended`); one that falls silent was killed, or cannot
//! reach its store.
//!
//! A watermark says what must be there, not only until when: the tallies of the interval at hand by id and revision, and
//! the sums of those before. So a reader that has the watermark and not the tallies knows it, whatever way the two took:
//! by other partitions, by other sinks, out of a spool, or from a replica that lags.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::tally::Identity;
use crate::time::Timestamp;

/// How often a run without traffic writes its watermark: a gate waits for the next one, so this is most of what it
/// waits; one small row a second costs a store nothing.
pub const HEARTBEAT_MICROS: i64 = 1_000_000;

/// The latest state of one run. Each write replaces the one before: the highest revision is the truth.
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
    /// When the run began.
    pub started: Timestamp,
    /// When this was written, by the clock of the process.
    pub written: Timestamp,
    /// Every request that was received before is settled, and counted in the tallies.
    pub complete_until: Timestamp,
    /// The last word of a run that ended in order.
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
    /// Tallies of the interval at hand: what a store has of each is this revision or a higher one.
    pub open: Vec<OpenTally>,
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
            Fixed started: Time = started;
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
        }
    };
}

impl Watermark {
    /// Requests received before `time`, or about then, that have no outcome.
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
}

/// One run, as a reader found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Which process.
    pub instance: String,
    /// What it said last; `None` for tallies of a run that no watermark is there of.
    pub watermark: Option<Watermark>,
    /// End of its last tally in the window; `None` without one.
    pub last_tally: Option<Timestamp>,
    /// The tallies were written by a program that had no watermarks yet.
    pub before_watermarks: bool,
    /// Tallies that the watermark vouches for are not there, or older than they must be.
    pub lacks_tallies: bool,
    /// When a later process of the same instance began; `None` when this is the last one.
    pub succeeded: Option<Timestamp>,
    /// It counts for something else than the evidence, and requests go there.
    pub apart: Option<Apart>,
}

/// What a run counts for that is not what is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Apart {
    /// The same versions under other rules: their hash.
    Rules(String),
    /// Other versions.
    Versions {
        /// Of the legacy.
        legacy: String,
        /// Of the candidate.
        candidate: String,
    },
}

/// What is known of one run, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceWatermark {
    /// Which process.
    pub instance: String,
    /// When it began; `None` when no watermark of it is there.
    pub started: Option<Timestamp>,
    /// Everything received before is settled and counted; `None` when that is not known.
    pub complete_until: Option<Timestamp>,
    /// When it was last heard of, by its own clock.
    pub last_heard: Option<Timestamp>,
    /// Requests without an outcome then.
    pub under_way: u64,
    /// How it stands.
    pub state: RunState,
    /// The hash of the rules that it counts under, where they are not those of the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_hash: Option<String>,
    /// The version of the legacy that it counts for, where its versions are not those of the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legacy_version: Option<String>,
    /// The version of the candidate that it counts for, where its versions are not those of the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate_version: Option<String>,
    /// When the next process of its name began, where it did not say that it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub succeeded: Option<Timestamp>,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It runs, and all that counts here is settled and written.
    Complete,
    /// It ended in order: nothing more will come.
    Ended,
    /// It runs, but requests received before are not settled.
    UnderWay,
    /// It did not say that it ended, and another process of its name has begun since: what it had not written is lost.
    Replaced,
    /// Nothing was heard of it since.
    Silent,
    /// Its watermark is there, but not all the tallies that it names.
    Behind,
    /// Its clock is ahead, so that times cannot be compared.
    Ahead,
    /// Its tallies were written by an older program, without watermarks.
    Unknown,
    /// It goes on under other rules: nothing of what it receives is counted here.
    OtherRules,
    /// It goes on for other versions: nothing of what it receives is counted here.
    OtherVersions,
    /// Nothing was heard of it since, and who asked says that it is gone for good.
    Gone,
}

impl RunState {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Ended => "ended",
            Self::UnderWay => "under way",
            Self::Replaced => "replaced",
            Self::Silent => "silent",
            Self::Behind => "behind",
            Self::Ahead => "clock ahead",
            Self::Unknown => "unknown",
            Self::OtherRules => "under other rules",
            Self::OtherVersions => "for other versions",
            Self::Gone => "gone",
        }
    }

    /// What it says, to somebody who reads it for the first time.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Complete => "it runs, and all that it received is counted here",
            Self::Ended => "it ended in order: nothing more will come",
            Self::UnderWay => "it runs, and requests that it received have no outcome yet",
            Self::Replaced => {
                "it did not say that it ended, and another process of its name has begun since"
            }
            Self::Silent => "nothing was heard of it since",
            Self::Behind => "not all that it counted is here",
            Self::Ahead => "its clock is ahead, so times cannot be compared",
            Self::Unknown => "an older program recorded it, which did not say how far it came",
            Self::OtherRules => {
                "it goes on under other rules: what it receives is not counted here"
            }
            Self::OtherVersions => {
                "it goes on for other versions: what it receives is not counted here"
            }
            Self::Gone => "it is gone for good: what it had not written is not waited for",
        }
    }
}

/// A run that has written nothing for so long is called silent where nobody waits: three heartbeats.
pub const SILENT_AFTER_MICROS: i64 = 3 * HEARTBEAT_MICROS;
/// How far ahead of the reader's clock the clock of a process may be. A store on another machine has writers on others;
/// machines that keep time are within milliseconds, and beyond this it is said.
pub const CLOCKS_APART_MICROS: i64 = 2_000_000;

impl Run {
    /// How it stands for who needs everything that was received before `after`; `seen` is as for [`Standing::of`].
    pub fn state(&self, after: Timestamp, seen: Timestamp) -> RunState {
        match &self.apart {
            Some(Apart::Rules(_)) => return RunState::OtherRules,
            Some(Apart::Versions { .. }) => return RunState::OtherVersions,
            None => {}
        }
        let Some(watermark) = &self.watermark else {
            return if self.before_watermarks {
                RunState::Unknown
            } else {
                RunState::Behind
            };
        };
        if self.lacks_tallies {
            RunState::Behind
        } else if watermark.written > seen {
            // Also of one that ended: what it counted seems newer than what others count now.
            RunState::Ahead
        } else if watermark.ended {
            RunState::Ended
        } else if watermark.complete_until > after {
            RunState::Complete
        } else if watermark.written > after {
            RunState::UnderWay
        } else if self.succeeded.is_some() {
            RunState::Replaced
        } else {
            RunState::Silent
        }
    }

    fn shown(&self, after: Timestamp, seen: Timestamp) -> InstanceWatermark {
        let state = self.state(after, seen);
        let watermark = self.watermark.as_ref();
        let (rules_hash, legacy_version, candidate_version) = match &self.apart {
            None => (None, None, None),
            Some(Apart::Rules(rules)) => (Some(rules.clone()), None, None),
            Some(Apart::Versions { legacy, candidate }) => {
                (None, Some(legacy.clone()), Some(candidate.clone()))
            }
        };
        InstanceWatermark {
            instance: self.instance.clone(),
            started: watermark.map(|watermark| watermark.started),
            complete_until: watermark.map(|watermark| watermark.complete_until),
            last_heard: watermark
                .map(|watermark| watermark.written)
                .or(self.last_tally),
            under_way: match state {
                RunState::UnderWay | RunState::Ended => {
                    watermark.map_or(0, |watermark| watermark.under_way_before(after))
                }
                _ => 0,
            },
            state,
            rules_hash,
            legacy_version,
            candidate_version,
            succeeded: self.succeeded.filter(|_| state == RunState::Replaced),
        }
    }
}

/// How all runs stand that evidence was counted by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Everything received before is settled and counted; `None` when that is not known.
    pub complete_until: Option<Timestamp>,
    /// By instance.
    pub watermarks: Vec<InstanceWatermark>,
}

impl Standing {
    /// For who needs everything that was received before `after`; `seen` is the latest that it may have been where a watermark
    /// was written when the reader first saw it: on a store of one machine the reader's time then, else later by
    /// [`CLOCKS_APART_MICROS`]. A clock further ahead would make a watermark seem to be of later than it is, also once that
    /// time has come.
    pub fn of(runs: &[Run], after: Timestamp, seen: impl Fn(&Run) -> Timestamp) -> Self {
        let runs = runs.iter();
        let watermarks: Vec<InstanceWatermark> =
            runs.map(|run| run.shown(after, seen(run))).collect();
        Self {
            complete_until: complete_until(&watermarks),
            watermarks,
        }
    }

    /// Takes these instances for gone where they are in doubt: what they had not written is not waited for. One that was
    /// heard of after `after` is alive, whatever anybody says; tallies that a watermark names and that are not here are the store's to
    /// find, not the instance's.
    pub fn take_for_gone(&mut self, gone: &[String], after: Timestamp) {
        let alive: Vec<String> = self
            .watermarks
            .iter()
            .filter(|one| one.state != RunState::Ended && one.last_heard > Some(after))
            .map(|one| one.instance.clone())
            .collect();
        for one in &mut self.watermarks {
            let in_doubt = matches!(
                one.state,
                RunState::Silent
                    | RunState::Replaced
                    | RunState::OtherRules
                    | RunState::OtherVersions
            );
            if in_doubt && gone.contains(&one.instance) && !alive.contains(&one.instance) {
                one.state = RunState::Gone;
            }
        }
        self.complete_until = complete_until(&self.watermarks);
    }

    /// As it looks to somebody who does not wait: silent is who was not heard of for [`SILENT_AFTER_MICROS`].
    pub fn at_a_glance(runs: &[Run], now: Timestamp) -> Self {
        let ahead = now.saturating_add_micros(CLOCKS_APART_MICROS);
        Self::of(
            runs,
            now.saturating_add_micros(-SILENT_AFTER_MICROS),
            |_| ahead,
        )
    }

    /// Runs that keep anybody from knowing that the evidence is whole.
    pub fn doubtful(&self) -> impl Iterator<Item = &InstanceWatermark> {
        self.watermarks.iter().filter(|watermark| {
            matches!(
                watermark.state,
                RunState::Silent
                    | RunState::Replaced
                    | RunState::Behind
                    | RunState::Ahead
                    | RunState::Unknown
                    | RunState::OtherRules
                    | RunState::OtherVersions
            )
        })
    }

    /// Requests received before that have no outcome yet.
    pub fn under_way(&self) -> u64 {
        let requests = self.watermarks.iter().map(|watermark| watermark.under_way);
        requests.sum()
    }

    /// Whether everything that was received before is settled and here.
    pub fn is_complete(&self) -> bool {
        self.doubtful().next().is_none()
            && !self
                .watermarks
                .iter()
                .any(|watermark| watermark.state == RunState::UnderWay)
    }
}

/// The earliest of those that go on; when all have ended, the latest end.
fn complete_until(watermarks: &[InstanceWatermark]) -> Option<Timestamp> {
    let counted = || {
        let all = watermarks.iter();
        all.filter(|watermark| {
            !matches!(
                watermark.state,
                RunState::OtherRules | RunState::OtherVersions | RunState::Gone
            )
        })
    };
    let is_over = |watermark: &&InstanceWatermark| watermark.state == RunState::Ended;
    let going = counted().filter(|watermark| !is_over(watermark));
    // `None` is the least: one that is not known makes all unknown.
    match going.map(|watermark| watermark.complete_until).min() {
        Some(earliest) => earliest,
        None => counted()
            .filter_map(|watermark| watermark.complete_until)
            .max(),
    }
}

#[cfg(test)]
mod tests;
