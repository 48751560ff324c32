//! What is so now, beside what a window of hours shows: do clients get their answers, does anybody ask at all, is the candidate
//! there, is anything compared.
//!
//! It is of all versions and rules, because clients do not care which candidate was beside. It rests on the record, so
//! `parity ui` says the same as the mirror; a mirror adds what only it knows ([`Status`]). The record is about a second
//! behind, and its tallies are of minutes, so "now" is the running minute and the two before it.

mod candidate;
mod rollout;

use parity_schemas::audit::{Audit, AuditAction};
use parity_schemas::clients::{ClientOutcome, Clients};
use parity_schemas::history::{History, HistoryBucket};
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{InstanceWatermark, RunState};
use parity_sink::read::history::HistoryFilter;
use parity_sink::{Reader, Selection, StoreError};

use super::changes::who;
use super::down::{Between, LATELY_MICROS, begin_of_now, length, live};
use super::history::switches;
use super::words::{grouped, percent, plural, shown};
use super::{Status, Tone};

/// Without a request for this long, that is told.
const QUIET_MICROS: i64 = 2 * INTERVAL_MICROS;
/// Switches of shadowing that are looked at, of each way: the last one of each of some dozens of mirrors.
const MAX_SWITCHES: usize = 100;

/// What was read of the last minutes.
pub(crate) struct Lately {
    recent: History,
    switches: Vec<Audit>,
    at: Timestamp,
}

impl Lately {
    /// Reads it.
    pub(crate) fn read(reader: &Reader, migration: &str) -> Result<Self, StoreError> {
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
        Ok(Self {
            recent: reader.history(&filter)?,
            switches: switches(reader, migration, None, MAX_SWITCHES)?,
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
}

/// What happened to clients in the last minutes.
struct Rate {
    per_second: f64,
    ended: u64,
    failed: u64,
    errors: u64,
}

fn sum(clients: &Clients, wanted: impl Fn(ClientOutcome) -> bool) -> u64 {
    let counted = clients.iter().filter(|(outcome, _)| wanted(**outcome));
    counted.map(|(_, count)| *count).sum()
}

/// How long ago something was.
fn ago(micros: i64) -> String {
    const HOUR: i64 = 60;
    const DAY: i64 = 24 * HOUR;
    let minutes = micros / INTERVAL_MICROS;
    let of = |count: i64, one: &str, many: &str| plural(count.unsigned_abs(), one, many);
    let told = match minutes {
        0..120 => of(minutes, "minute", "minutes"),
        120..2_880 => of(minutes / HOUR, "hour", "hours"),
        _ => of(minutes / DAY, "day", "days"),
    };
    format!("{told} ago")
}

impl Now<'_> {
    /// The minutes that are now.
    fn minutes(&self) -> impl Iterator<Item = &HistoryBucket> {
        let from = begin_of_now(self.lately.at);
        let buckets = self.lately.recent.buckets.iter();
        buckets.filter(move |bucket| bucket.from >= from)
    }

    fn rate(&self) -> Rate {
        let mut clients = Clients::new();
        let mut received = 0;
        for bucket in self.minutes() {
            received += bucket.received;
            for (outcome, count) in &bucket.clients {
                *clients.entry(*outcome).or_default() += count;
            }
        }
        // A record that has just begun has no minutes before.
        let first = self.lately.recent.buckets.first();
        let begin = begin_of_now(self.lately.at);
        let from = first.map_or(begin, |first| first.from.max(begin));
        let micros = (self.lately.at.as_micros() - from.as_micros()).max(1_000_000);
        Rate {
            per_second: received as f64 * 1e6 / micros as f64,
            ended: sum(&clients, |_| true),
            failed: sum(&clients, ClientOutcome::is_failure),
            errors: sum(&clients, ClientOutcome::is_error),
        }
    }

    /// What clients get now, in one line.
    pub(crate) fn told(&self) -> String {
        let rate = self.rate();
        let per_second = match rate.per_second {
            0.0 => return "no requests in the last minutes".to_owned(),
            few if few < 0.05 => "less than 0.1 requests/s".to_owned(),
            some => format!("{some:.1} requests/s"),
        };
        let share = |part: u64| percent(part as f64 / rate.ended.max(1) as f64);
        let failed = match (rate.ended, rate.failed) {
            (0, _) => "none of them has ended".to_owned(),
            (_, 0) => "none without a whole answer".to_owned(),
            (_, failed) => format!("{} without a whole answer", share(failed)),
        };
        let errors = match rate.errors {
            0 => String::new(),
            errors => format!(", {} answered 5xx", share(errors)),
        };
        // The share is of minutes, of which the outage may be the last seconds.
        let down = if self.is_legacy_down() {
            ", and no answer of the legacy at this moment"
        } else {
            ""
        };
        format!("{per_second}, {failed}{errors}{down}")
    }

    /// How good it is for clients, now and in the time that is shown. What is over is not told as what is.
    pub(crate) fn tone(&self) -> Tone {
        let rate = self.rate();
        if rate.failed > 0 || self.is_legacy_down() {
            Tone::Bad
        } else if rate.errors > 0 || self.failed_before().is_some() {
            Tone::Open
        } else {
            Tone::Good
        }
    }

    /// What the title says of clients, in the tense of the alarm; empty if there is nothing to say.
    pub(crate) fn title(&self) -> &'static str {
        if self.rate().failed > 0 || self.is_legacy_down() {
            "clients fail"
        } else if self.failed_before().is_some() {
            "clients failed"
        } else {
            ""
        }
    }

    /// The last minutes if a client got no whole answer in them, or else the time that is shown if one did; and the last bucket
    /// in which one did not.
    fn failed_before(&self) -> Option<(&History, &HistoryBucket)> {
        let mut histories = [&self.lately.recent, self.history].into_iter();
        histories.find_map(|history| {
            let mut buckets = history.buckets.iter().rev();
            let last = buckets.find(|bucket| bucket.clients_failed > 0)?;
            Some((history, last))
        })
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
                format!("clients get errors{}", since.unwrap_or_default()),
            ));
        }
        alerts.extend(self.clients(moment));
        alerts.extend(self.candidate(moment));
        alerts.extend(self.shadowing(moment));
        alerts.extend(self.rollout());
        alerts.extend(self.traffic(moment));
        alerts
    }

    fn clients(&self, moment: impl Fn(Timestamp) -> String) -> Option<Alert> {
        let rate = self.rate();
        if rate.failed > 0 {
            return Some(Alert::bad(
                "Clients get errors now",
                format!(
                    "{} of {} requests of the last minutes got no whole answer",
                    grouped(rate.failed),
                    grouped(rate.ended)
                ),
            ));
        }
        let (history, last) = self.failed_before()?;
        let failed = history.buckets.iter().map(|one| one.clients_failed).sum();
        let span = if std::ptr::eq(history, &raw const self.lately.recent) {
            format!("in the last {} minutes", LATELY_MICROS / INTERVAL_MICROS)
        } else {
            "in the time that is shown".to_owned()
        };
        let to = last.from.saturating_add_micros(length(history));
        let passed = self.lately.at.as_micros() - to.as_micros();
        Some(Alert::bad(
            "Clients got errors",
            format!(
                "{} got no whole answer {span}, the last of them between {} and {} ({})",
                plural(failed, "request", "requests"),
                moment(last.from),
                moment(to),
                ago(passed.max(0))
            ),
        ))
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
        let last = format!(
            "the last one was received about {} ({})",
            ago(passed.max(0)),
            last.told(&moment)
        );
        if live(self.watermarks).next().is_some() {
            return (passed >= QUIET_MICROS).then(|| Alert::bad("No requests", last));
        }
        let runs = self.watermarks;
        let heard = runs.iter().filter_map(|run| run.last_heard).max()?;
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
