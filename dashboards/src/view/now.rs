//! What is so now, beside what a window of hours shows: do clients get their answers, does anybody ask at all, is the candidate
//! there, is anything compared.
//!
//! It is of all versions and rules, because clients do not care which candidate was beside. It rests on the record, so
//! `parity ui` says the same as the mirror; a mirror adds what only it knows ([`Status`]), which is what "now" means of clients
//! (`clients` beside). The record is about a second behind, and its tallies are of minutes, so what is told from it of now is of the
//! running minute and the two before it.

mod candidate;
mod clients;
mod killed;
mod rollout;
mod served;

use std::time::Duration;

use parity_schemas::audit::{Audit, AuditAction};
use parity_schemas::history::{History, HistoryBucket};
use parity_schemas::rollout::RolloutRecorded;
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{InstanceWatermark, RunState};
use parity_sink::read::history::HistoryFilter;
use parity_sink::{Reader, Selection, StoreError};

pub(crate) use self::killed::killed;

use super::changes::who;
use super::down::{Between, LATELY_MICROS, begin_of_now, length, live};
use super::history::switches;
use super::rollouts;
use super::words::{plural, shown, version};
use super::{Status, Tone};

/// Without a request for this long, that is told.
const QUIET_MICROS: i64 = 2 * INTERVAL_MICROS;
/// Two processes have one name at least for this long before it is told: that of one that was started again, too.
const HANDOVER_MICROS: i64 = INTERVAL_MICROS;
/// Switches of shadowing that are looked at, of each way: the last one of each of some dozens of mirrors.
const MAX_SWITCHES: usize = 100;

/// What was read of the last minutes.
pub(crate) struct Lately {
    recent: History,
    switches: Vec<Audit>,
    /// How rollouts stood by the audit record.
    rollouts: Vec<RolloutRecorded>,
    /// How long a process that leaves serving to another one of its name may write beside it, in microseconds.
    handover: i64,
    at: Timestamp,
}

impl Lately {
    /// Reads it. A process that leaves serving to another one of its name may write beside it for the time of a `handover`.
    pub(crate) fn read(
        reader: &Reader,
        migration: &str,
        handover: Duration,
    ) -> Result<Self, StoreError> {
        let at = Timestamp::now();
        let filter = HistoryFilter {
            selection: Selection {
                migration: Some(migration.to_owned()),
                since: Some(at.saturating_add_micros(-LATELY_MICROS)),
                ..Selection::default()
            },
            without_latency: true,
            ..HistoryFilter::default()
        };
        let runs = reader.run_times(migration)?;
        Ok(Self {
            recent: reader.history(&filter)?,
            switches: switches(reader, migration, None, (MAX_SWITCHES, &runs))?,
            rollouts: rollouts::recorded(reader, migration, &runs, at)?,
            handover: i64::try_from(handover.as_micros()).unwrap_or(i64::MAX),
            at,
        })
    }
}

/// Something that somebody must know before anything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alert {
    /// How bad.
    pub(crate) tone: Tone,
    /// In a few words.
    pub(crate) what: String,
    /// The rest of the sentence; it is visible.
    pub(crate) about: String,
}

impl Alert {
    fn bad(what: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            tone: Tone::Bad,
            what: what.into(),
            about: about.into(),
        }
    }
}

/// How it is now.
pub(crate) struct Now<'a> {
    /// How the processes stand.
    pub(crate) watermarks: &'a [InstanceWatermark],
    /// The end of what a report counts.
    pub(crate) counted: Option<Timestamp>,
    /// Of the time that was asked for, or of the last day.
    pub(crate) history: &'a History,
    pub(crate) lately: &'a Lately,
    /// Of the mirror that is asked.
    pub(crate) status: Option<&'a Status>,
    /// The version of the candidate in what a report counts.
    pub(crate) candidate_version: &'a str,
    /// The rate of differing requests that the decision on the page allows.
    pub(crate) allowed: f64,
}

/// How long ago something was.
fn ago(micros: i64) -> String {
    const HOUR: i64 = 60;
    const DAY: i64 = 24 * HOUR;
    let minutes = micros / INTERVAL_MICROS;
    let of = |count: i64, one: &str, many: &str| plural(count.unsigned_abs(), one, many);
    let told = match minutes {
        // Whoever is told of what has just ended counts seconds.
        0..2 => of(micros / 1_000_000, "second", "seconds"),
        2..120 => of(minutes, "minute", "minutes"),
        120..2_880 => of(minutes / HOUR, "hour", "hours"),
        _ => of(minutes / DAY, "day", "days"),
    };
    format!("{told} ago")
}

impl Now<'_> {
    /// How long ago something was whose moment is known.
    fn ago_of(&self, time: Timestamp) -> String {
        let passed = self.lately.at.as_micros() - time.as_micros();
        ago(passed.max(0))
    }

    /// How long ago something was, in brackets, of which only this is known that it was before `end`; nothing if that is not over.
    fn at_least(&self, end: Timestamp) -> String {
        if end < self.lately.at {
            format!(" (at least {})", self.ago_of(end))
        } else {
            String::new()
        }
    }

    /// The minutes that are now.
    fn minutes(&self) -> impl Iterator<Item = &HistoryBucket> {
        let from = begin_of_now(self.lately.at);
        let buckets = self.lately.recent.buckets.iter();
        buckets.filter(move |bucket| bucket.from >= from)
    }

    fn is_legacy_down(&self) -> bool {
        self.status.is_some_and(|status| !status.legacy_reachable)
    }

    /// What must be told first, the gravest first. `moment` writes a time.
    pub(crate) fn alerts(&self, moment: impl Fn(Timestamp) -> String + Copy) -> Vec<Alert> {
        let mut alerts = Vec::new();
        if self.is_legacy_down() {
            let since = self.status.and_then(|status| status.legacy_failing_since);
            let since = since.map(|since| format!(" since {}", moment(since)));
            alerts.push(Alert::bad(
                "The legacy does not answer",
                format!("{}{}", self.get_of_legacy(), since.unwrap_or_default()),
            ));
        }
        alerts.extend(self.clients(moment));
        alerts.extend(self.served(moment));
        alerts.extend(self.leaving(moment));
        alerts.extend(self.candidate(moment));
        let killed = killed(self.watermarks, moment);
        alerts.extend(killed.or_else(|| killed::killed_before(self.history, moment)));
        alerts.extend(self.namesakes(moment));
        alerts.extend(self.shadowing(moment));
        alerts.extend(self.rollouts(moment));
        alerts.extend(self.traffic(moment));
        alerts
    }

    fn shadowing(&self, moment: impl Fn(Timestamp) -> String) -> Option<Alert> {
        let counted: u64 = self.minutes().map(|minute| minute.shadowing_off).sum();
        // The last switch of each process is how it stands, unless the process has begun anew since.
        let last = |instance: &str| {
            let of_it = self.lately.switches.iter();
            let of_it = of_it.filter(|change| change.instance == instance);
            of_it.max_by_key(|change| change.time)
        };
        // Somebody stopped it last.
        let is_stopped = |change: &&Audit| {
            let is_last = last(&change.instance).is_some_and(|last| last.id == change.id);
            let mut live = live(self.watermarks);
            change.action == AuditAction::ShadowingOff
                && is_last
                && live.any(|run| run.instance == change.instance)
        };
        // A run also begins with a reload. Then only what is counted tells, and of which process only where there is one.
        let is_off = |change: &&Audit| {
            let of_it = |run: &&InstanceWatermark| run.instance == change.instance;
            let mut runs = live(self.watermarks).filter(of_it);
            let is_of_run = runs.any(|run| run.started.is_none_or(|at| at <= change.time));
            let is_alone = live(self.watermarks).all(|run| of_it(&run));
            is_stopped(change) && (is_of_run || counted > 0 && is_alone)
        };
        let mut switches = self.lately.switches.iter();
        let off = switches.clone().filter(is_off);
        let off = off.max_by_key(|change| change.time);
        let is_unknown = switches.clone().next().is_none() || switches.any(|one| is_stopped(&one));
        let is_off = match self.status {
            Some(status) => !status.shadowing || off.is_some(),
            None => off.is_some() || counted > 0 && is_unknown,
        };
        if !is_off {
            return None;
        }
        let told = match off {
            Some(change) => format!(
                "nothing of {} is compared since {} ({}): it was stopped {}",
                shown(&change.instance),
                moment(change.time),
                ago((self.lately.at.as_micros() - change.time.as_micros()).max(0)),
                shown(&who(change))
            ),
            None if self.status.is_none() && live(self.watermarks).nth(1).is_some() => format!(
                "{} not compared in the last minutes; the record does not say in which process, and who stopped it",
                plural(counted, "request was", "requests were")
            ),
            None => "nothing is compared; the record does not say who stopped it".to_owned(),
        };
        Some(Alert::bad("Shadowing is off", told))
    }

    /// That two processes have one name, for longer than one takes over from another. Two runs that count for the same are of two
    /// processes, unless both were written at once: a process goes on in another run only when its rules or versions change.
    fn namesakes(&self, moment: impl Fn(Timestamp) -> String) -> Option<Alert> {
        let of = |run: &'_ InstanceWatermark| {
            (
                run.instance.clone(),
                run.rules_hash.clone(),
                run.legacy_version.clone(),
                run.candidate_version.clone(),
            )
        };
        let all: Vec<&InstanceWatermark> = live(self.watermarks).collect();
        let (later, began) = all.iter().enumerate().find_map(|(place, run)| {
            let is_beside = |other: &&&InstanceWatermark| {
                of(other) == of(run) && other.last_heard != run.last_heard
            };
            let other = all.get(place + 1..)?.iter().find(is_beside)?;
            let began = run.started.max(other.started)?;
            let lasted = self.lately.at.as_micros() - began.as_micros();
            (lasted > HANDOVER_MICROS.max(self.lately.handover)).then_some((*run, began))
        })?;
        Some(Alert {
            tone: Tone::Open,
            what: "Two processes have one name".to_owned(),
            about: format!(
                "both write as {} since {}; what they count is added up, but if one of them is killed nobody is told: give each its own \
                 --instance",
                shown(&later.instance),
                moment(began)
            ),
        })
    }

    /// When the last request was received: in the last bucket that has any, of which a report may know the minute.
    fn last_request(&self) -> Option<Between> {
        let last = |history: &History| {
            let mut buckets = history.buckets.iter().rev();
            let bucket = buckets.find(|bucket| bucket.received > 0)?;
            Some(Between {
                from: bucket.from,
                to: bucket.from.saturating_add_micros(length(history)),
            })
        };
        let minute = |to: Timestamp| Between {
            from: to.saturating_add_micros(-INTERVAL_MICROS),
            to,
        };
        match (last(&self.lately.recent), last(self.history), self.counted) {
            (Some(recent), ..) => Some(recent),
            (None, Some(shown), Some(counted)) => {
                Some(minute(shown.to.min(counted.max(shown.from))))
            }
            (None, shown, counted) => shown.or(counted.map(minute)),
        }
    }

    fn traffic(&self, moment: impl Fn(Timestamp) -> String) -> Option<Alert> {
        let last = self.last_request()?;
        let passed = self.lately.at.as_micros() - last.to.as_micros();
        let within = if last.to.as_micros() - last.from.as_micros() <= INTERVAL_MICROS {
            format!("in the minute of {}", moment(last.from))
        } else {
            last.told(&moment)
        };
        let last = format!(
            "the last one was received {within}{}",
            self.at_least(last.to)
        );
        if live(self.watermarks).next().is_some() {
            return (passed >= QUIET_MICROS).then(|| Alert::bad("No requests", last));
        }
        let runs = self.watermarks;
        let heard = runs.iter().filter_map(|run| run.last_heard).max()?;
        // The mirror that is asked is at work, whatever the record says of it.
        if let Some(own) = self.status {
            if let Some(error) = &own.store_error {
                return Some(Alert::bad(
                    "The record stands still",
                    format!(
                        "this mirror cannot write to the store: {error}; what it counts waits, and what stands here was written by {}",
                        moment(heard)
                    ),
                ));
            }
            if own.candidate_version != self.candidate_version {
                return Some(Alert {
                    tone: Tone::Plain,
                    what: "Nothing of this version is recorded now".to_owned(),
                    about: format!(
                        "the last process with it was heard of at {}; this mirror sends requests to candidate {}",
                        moment(heard),
                        version(&own.candidate_version)
                    ),
                });
            }
        }
        let is_ended = runs.iter().all(|run| run.state != RunState::Silent);
        Some(Alert {
            tone: if is_ended { Tone::Plain } else { Tone::Bad },
            what: "No process records now".to_owned(),
            about: format!(
                "the last one {} at {}; of the requests {last}",
                if is_ended { "ended" } else { "was heard of" },
                moment(heard)
            ),
        })
    }
}

#[cfg(test)]
mod tests;
