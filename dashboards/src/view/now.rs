//! What is so now, beside what a window of hours shows: do clients get their answers, does anybody ask at all, is the candidate
//! there, is anything compared.
//!
//! It is of all versions and rules, because clients do not care which candidate was beside. It rests on the record, so
//! `parity ui` says the same as the mirror; a mirror adds what only it knows ([`Status`]). The record is about a second
//! behind, and its tallies are of minutes, so "now" is the running minute and the two before it.

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
use super::history::switches;
use super::words::{grouped, percent, plural, shown};
use super::{Status, Tone};

/// What is looked at minute by minute: long enough to say since when something is so that began while somebody was paged.
const LATELY_MICROS: i64 = 30 * INTERVAL_MICROS;
/// Whole minutes that are now, besides the running one.
const MINUTES: i64 = 2;
/// Without a request for this long, that is told.
const QUIET_MICROS: i64 = 2 * INTERVAL_MICROS;
/// Requests in a row on which a candidate fails until it is called down: fewer may be those of one bad client.
const LEAST_DOWN: u64 = 3;
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

fn length(history: &History) -> i64 {
    let micros = history.bucket_seconds.saturating_mul(1_000_000);
    i64::try_from(micros).unwrap_or(i64::MAX)
}

/// The last buckets, one after the other, in which the candidate failed on every request that was sent to it: when the first
/// of them begins, and on how many requests it failed.
pub(crate) fn down_since(history: &History) -> Option<(Timestamp, u64)> {
    let buckets = history.buckets.iter().rev();
    let sent = buckets.filter(|bucket| bucket.compared > 0 || bucket.breaker_open > 0);
    let is_down = |bucket: &&HistoryBucket| bucket.candidate_failures >= bucket.compared;
    let down = sent.take_while(is_down);
    down.fold(None, |found: Option<(Timestamp, u64)>, bucket| {
        let failed = found.map_or(0, |(_, failed)| failed);
        Some((bucket.from, failed + bucket.candidate_failures))
    })
}

impl Now<'_> {
    /// The minutes that are now.
    fn minutes(&self) -> impl Iterator<Item = &HistoryBucket> {
        let from = self.from();
        let buckets = self.lately.recent.buckets.iter();
        buckets.filter(move |bucket| bucket.from >= from)
    }

    fn from(&self) -> Timestamp {
        let at = self.lately.at.as_micros();
        let minute = at - at.rem_euclid(INTERVAL_MICROS);
        Timestamp::from_micros(minute - MINUTES * INTERVAL_MICROS)
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
        let from = first.map_or(self.from(), |first| first.from.max(self.from()));
        let micros = (self.lately.at.as_micros() - from.as_micros()).max(1_000_000);
        Rate {
            per_second: received as f64 * 1e6 / micros as f64,
            ended: sum(&clients, |_| true),
            failed: sum(&clients, ClientOutcome::is_failure),
            errors: sum(&clients, |outcome| outcome == ClientOutcome::ServerError),
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
            errors => format!(", {} answered 5xx by the legacy", share(errors)),
        };
        format!("{per_second}, {failed}{errors}")
    }

    /// How good it is for clients, now and in the time that is shown.
    pub(crate) fn tone(&self) -> Tone {
        let failed = |history: &History| {
            let mut buckets = history.buckets.iter();
            buckets.any(|bucket| bucket.clients_failed > 0)
        };
        let rate = self.rate();
        if rate.failed > 0 || failed(self.history) || self.is_legacy_down() {
            Tone::Bad
        } else if rate.errors > 0 {
            Tone::Open
        } else {
            Tone::Good
        }
    }

    fn is_legacy_down(&self) -> bool {
        self.status.is_some_and(|status| !status.legacy_reachable)
    }

    /// What must be told first, the gravest first. `moment` writes a time.
    pub(crate) fn alerts(&self, moment: impl Fn(Timestamp) -> String + Copy) -> Vec<Alert> {
        let mut alerts = Vec::new();
        if self.is_legacy_down() {
            alerts.push(Alert::bad(
                "The legacy does not answer",
                "clients get errors",
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
        let last = |history: &History| {
            let mut buckets = history.buckets.iter().rev();
            let bucket = buckets.find(|bucket| bucket.clients_failed > 0)?;
            Some((bucket.from, length(history)))
        };
        let (from, long) = last(&self.lately.recent).or_else(|| last(self.history))?;
        let to = from.saturating_add_micros(long);
        let failed: u64 = self
            .history
            .buckets
            .iter()
            .map(|one| one.clients_failed)
            .sum();
        let passed = self.lately.at.as_micros() - to.as_micros();
        Some(Alert::bad(
            "Clients got errors",
            format!(
                "{} got no whole answer in the time that is shown, the last of them between {} and {} ({})",
                plural(failed, "request", "requests"),
                moment(from),
                moment(to),
                ago(passed.max(0))
            ),
        ))
    }

    fn candidate(&self, moment: impl Fn(Timestamp) -> String) -> Option<Alert> {
        let (recent, whole) = (down_since(&self.lately.recent), down_since(self.history));
        // Of longer steps only where all of the last minutes are of it, too.
        let minutes = &self.lately.recent.buckets;
        let is_all = minutes
            .iter()
            .all(|one| one.compared == 0 || recent.is_some_and(|(since, _)| since <= one.from));
        let found = match (recent, whole) {
            (Some(recent), Some(whole)) if is_all && whole.0 < recent.0 => Some(whole),
            (None, whole) if is_all => whole,
            (recent, _) => recent,
        };
        let since = found.map(|(since, failed)| {
            format!(
                "since about {} it failed on all requests that were sent to it ({})",
                moment(since),
                grouped(failed)
            )
        });
        if self
            .status
            .is_some_and(|status| !status.candidate_reachable)
        {
            let told = since.unwrap_or_else(|| "the mirror has just found it so".to_owned());
            let told = format!("{told}; it is left alone and tried again now and then");
            return Some(Alert::bad("Candidate down", told));
        }
        let told = since.filter(|_| found.is_some_and(|(_, failed)| failed >= LEAST_DOWN))?;
        Some(Alert::bad("Candidate down", told))
    }

    /// The processes that record now.
    fn live(&self) -> impl Iterator<Item = &InstanceWatermark> {
        let runs = self.watermarks.iter();
        runs.filter(|run| {
            !matches!(
                run.state,
                RunState::Ended
                    | RunState::Replaced
                    | RunState::Gone
                    | RunState::Silent
                    | RunState::Unheard
            )
        })
    }

    fn shadowing(&self, moment: impl Fn(Timestamp) -> String) -> Option<Alert> {
        let counted: u64 = self.minutes().map(|minute| minute.shadowing_off).sum();
        // The last switch of each process is how it stands, unless the process has begun anew since.
        let last = |instance: &str| {
            let of_it = self.lately.switches.iter();
            let of_it = of_it.filter(|change| change.instance == instance);
            of_it.max_by_key(|change| change.time)
        };
        let is_off = |change: &&Audit| {
            let mut live = self.live().filter(|run| run.instance == change.instance);
            let is_last = last(&change.instance).is_some_and(|last| last.id == change.id);
            let is_of_run = live.any(|run| run.started.is_none_or(|at| at <= change.time));
            change.action == AuditAction::ShadowingOff && is_last && (is_of_run || counted > 0)
        };
        let off = self.lately.switches.iter().filter(is_off);
        let off = off.max_by_key(|change| change.time);
        let mut switches = self.lately.switches.iter();
        let is_off = match self.status {
            Some(status) => !status.shadowing || off.is_some(),
            None => off.is_some() || counted > 0 && switches.next().is_none(),
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
            None => "nothing is compared; the record does not say who stopped it".to_owned(),
        };
        Some(Alert::bad("Shadowing is off", told))
    }

    /// About when the last request was received.
    fn last_request(&self) -> Option<Timestamp> {
        let last = |history: &History| {
            let mut buckets = history.buckets.iter().rev();
            let bucket = buckets.find(|bucket| bucket.received > 0)?;
            Some(bucket.from.saturating_add_micros(length(history)))
        };
        match (last(&self.lately.recent), last(self.history), self.counted) {
            (Some(recent), ..) => Some(recent),
            (None, Some(to), Some(counted)) => {
                Some(to.min(counted.max(to.saturating_add_micros(-length(self.history)))))
            }
            (None, shown, counted) => shown.or(counted),
        }
    }

    fn traffic(&self, moment: impl Fn(Timestamp) -> String) -> Option<Alert> {
        let last = self.last_request()?;
        let passed = self.lately.at.as_micros() - last.as_micros();
        let last = format!(
            "the last one was received about {} ({})",
            ago(passed.max(0)),
            moment(last)
        );
        if self.live().next().is_some() {
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
