//! The state of each run for a reader: whether everything that was received before some time is settled and stored.
//!
//! It is derived from the latest watermarks and from the tallies that were found. Nothing of it is stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{HEARTBEAT_MICROS, Watermark};
use crate::time::Timestamp;

/// One run, as a reader found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Which process.
    pub instance: String,
    /// Its latest watermark; `None` if only tallies of the run exist.
    pub watermark: Option<Watermark>,
    /// End of its last tally in the window; `None` without one.
    pub last_tally: Option<Timestamp>,
    /// The tallies were written by a program that had no watermarks yet.
    pub before_watermarks: bool,
    /// Tallies that the watermark lists are missing, or have a lower revision.
    pub lacks_tallies: bool,
    /// When a later process of the same instance began; `None` when this is the last one.
    pub succeeded: Option<Timestamp>,
    /// Set if it counts for another identity than that of the evidence, and still receives requests.
    pub apart: Option<Apart>,
}

/// How the identity of a run differs from that of the evidence.
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
    /// It runs, and everything that matters here is settled and written.
    Complete,
    /// It ended in order: nothing more will come.
    Ended,
    /// It runs, but requests received before are not settled.
    UnderWay,
    /// It did not end in order, and another process of its name has begun since: what it had not written is lost.
    Replaced,
    /// It has written nothing since.
    Silent,
    /// It is expected, and no run of it is known.
    Unheard,
    /// Its watermark exists, but not all tallies that it lists.
    Behind,
    /// Its clock is ahead, so times cannot be compared.
    Ahead,
    /// Its tallies were written by an older program, without watermarks.
    Unknown,
    /// It continues under other rules: nothing that it receives is counted here.
    OtherRules,
    /// It continues for other versions: nothing that it receives is counted here.
    OtherVersions,
    /// It has written nothing since, and the user says that it is gone for good.
    Gone,
}

impl RunState {
    /// Whether it may still record the outcomes that are missing.
    pub const fn goes_on(self) -> bool {
        !matches!(
            self,
            Self::Ended | Self::Replaced | Self::OtherRules | Self::OtherVersions | Self::Gone
        )
    }

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Ended => "ended",
            Self::UnderWay => "under way",
            Self::Replaced => "replaced",
            Self::Silent => "silent",
            Self::Unheard => "never heard of",
            Self::Behind => "behind",
            Self::Ahead => "clock ahead",
            Self::Unknown => "unknown",
            Self::OtherRules => "under other rules",
            Self::OtherVersions => "for other versions",
            Self::Gone => "gone",
        }
    }

    /// The meaning of the word, for somebody who reads it for the first time.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Complete => "it runs, and all that it received is counted here",
            Self::Ended => "it ended in order: nothing more will come",
            Self::UnderWay => "it runs, and requests that it received have no outcome yet",
            Self::Replaced => {
                "it did not say that it ended, and another process of its name has begun since"
            }
            Self::Silent => "nothing was heard of it since",
            Self::Unheard => "it is expected, and has written nothing here",
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

/// A run that has written nothing for this long (three heartbeats) is shown as silent where nothing waits for it.
pub const SILENT_AFTER_MICROS: i64 = 3 * HEARTBEAT_MICROS;
/// How far the clock of a process may be ahead of the reader's. A store on a server has writers on other machines.
/// Synchronized clocks differ by milliseconds; a larger difference than this is reported.
pub const CLOCKS_APART_MICROS: i64 = 2_000_000;

impl Run {
    /// Its state for a reader that needs everything received before `after`; `seen` is as for [`Standing::of`].
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
            // Also for a run that has ended, because its counts seem newer than they are.
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

/// The state of all runs that counted the evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Everything received before is settled and counted; `None` when that is not known.
    pub complete_until: Option<Timestamp>,
    /// By instance.
    pub watermarks: Vec<InstanceWatermark>,
}

impl Standing {
    /// The state for a reader that needs everything received before `after`. `seen` is an upper bound of the time on
    /// the writer's clock when the reader first saw a watermark: the reader's own time for a store on one machine, else
    /// [`CLOCKS_APART_MICROS`] later. A watermark with a later time comes from a clock that is further ahead; it stays
    /// in doubt even after that time has passed.
    pub fn of(runs: &[Run], after: Timestamp, seen: impl Fn(&Run) -> Timestamp) -> Self {
        let runs = runs.iter();
        Self::shown(runs.map(|run| run.shown(after, seen(run))).collect())
    }

    /// What follows from watermarks as they are shown.
    pub fn shown(watermarks: Vec<InstanceWatermark>) -> Self {
        Self {
            complete_until: complete_until(&watermarks),
            watermarks,
        }
    }

    /// Marks the runs of these instances as gone where their state is in doubt, so that nothing waits for what they had
    /// not written. A run with a watermark after `after` is alive and is never marked, but a silent run of its name may
    /// be: a process writes the watermarks of all its runs at once, so that one is of another process. One that was
    /// replaced is not, as long as its name is alive: a later window leaves it out. Missing tallies that a watermark
    /// lists are not excused either: the process has sent them, so the store must deliver them.
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
            let is_alive = one.last_heard > Some(after)
                || one.state == RunState::Replaced && alive.contains(&one.instance);
            if in_doubt && gone.contains(&one.instance) && !is_alive {
                one.state = RunState::Gone;
            }
        }
        self.complete_until = complete_until(&self.watermarks);
    }

    /// Takes runs that wrote a moment ago for what they are: alive, with a watermark that is due. Only for what is shown while
    /// somebody waits: a run that never writes again stops being fresh, and is silent then.
    pub fn await_fresh(&mut self, now: Timestamp) {
        let fresh = Some(now.saturating_add_micros(-SILENT_AFTER_MICROS));
        for one in &mut self.watermarks {
            if one.state == RunState::Silent && one.last_heard > fresh {
                one.state = RunState::UnderWay;
            }
        }
    }

    /// Whether the only runs that anything is missing of were replaced, and wrote nothing in the last heartbeats before `now`.
    /// A process that hands over writes on until it ends, so these write no more, and a reader need not wait for them.
    pub fn waits_in_vain(&self, now: Timestamp) -> bool {
        let fresh = Some(now.saturating_add_micros(-SILENT_AFTER_MICROS));
        let is_lost =
            |one: &InstanceWatermark| one.state == RunState::Replaced && one.last_heard <= fresh;
        let others = self
            .watermarks
            .iter()
            .any(|one| one.state == RunState::UnderWay)
            || self.doubtful().any(|one| !is_lost(one));
        !others && !self.is_complete()
    }

    /// The same as if nothing had been lost with processes that were killed and replaced, and when the last of the next ones began: what is
    /// received from then on has no gap. `None` if nothing was lost, or if anything else is in doubt, too.
    pub fn but_for_losses(&self) -> Option<(Self, Timestamp)> {
        let mut last = None;
        for one in self.doubtful() {
            last = last.max(Some(one.succeeded?));
        }
        let mut standing = self.clone();
        for one in &mut standing.watermarks {
            if one.state == RunState::Replaced {
                one.state = RunState::Gone;
            }
        }
        standing.complete_until = complete_until(&standing.watermarks);
        Some((standing, last?))
    }

    /// Adds those of these instances that no run is known of: they are doubtful, because what they received is in no
    /// count.
    pub fn expect(&mut self, instances: &[String]) {
        for instance in instances {
            let is_known = |one: &InstanceWatermark| one.instance == *instance;
            if !self.watermarks.iter().any(is_known) {
                self.watermarks.push(InstanceWatermark {
                    instance: instance.clone(),
                    started: None,
                    complete_until: None,
                    last_heard: None,
                    under_way: 0,
                    state: RunState::Unheard,
                    rules_hash: None,
                    legacy_version: None,
                    candidate_version: None,
                    succeeded: None,
                });
            }
        }
        self.complete_until = complete_until(&self.watermarks);
    }

    /// The state for a reader that does not wait: a run that has written nothing for [`SILENT_AFTER_MICROS`] is silent.
    pub fn at_a_glance(runs: &[Run], now: Timestamp) -> Self {
        let ahead = now.saturating_add_micros(CLOCKS_APART_MICROS);
        Self::of(
            runs,
            now.saturating_add_micros(-SILENT_AFTER_MICROS),
            |_| ahead,
        )
    }

    /// Runs because of which it is not known whether the evidence is complete.
    pub fn doubtful(&self) -> impl Iterator<Item = &InstanceWatermark> {
        self.watermarks.iter().filter(|watermark| {
            matches!(
                watermark.state,
                RunState::Silent
                    | RunState::Unheard
                    | RunState::Replaced
                    | RunState::Behind
                    | RunState::Ahead
                    | RunState::Unknown
                    | RunState::OtherRules
                    | RunState::OtherVersions
            )
        })
    }

    /// Requests that were received before and have no outcome yet.
    pub fn under_way(&self) -> u64 {
        let requests = self.watermarks.iter().map(|watermark| watermark.under_way);
        requests.sum()
    }

    /// Whether everything that was received before is settled and in the store.
    pub fn is_complete(&self) -> bool {
        self.doubtful().next().is_none()
            && !self
                .watermarks
                .iter()
                .any(|watermark| watermark.state == RunState::UnderWay)
    }
}

/// The earliest time of the runs that continue; if all have ended, the latest end.
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
    // `None` is the minimum, so one unknown time makes the result unknown.
    match going.map(|watermark| watermark.complete_until).min() {
        Some(earliest) => earliest,
        None => counted()
            .filter_map(|watermark| watermark.complete_until)
            .max(),
    }
}
