//! Whether clients get their answers: now, in the tense that is true, and of a span of time that is told.
//!
//! A mirror knows its own clients to the second, so its page says *now* while they get errors and *until* as soon as they do not. The
//! record knows minutes: of it the running one is told, by when it began, and nothing is called now. Where several mirrors run,
//! both is told, because one process does not know the clients of another.

use parity_schemas::clients::{ClientOutcome, Clients};
use parity_schemas::history::{History, HistoryBucket};
use parity_schemas::lately::{ClientFailures, ClientsNow, NOW_MICROS};
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;

use super::super::down::{LATELY_MICROS, length, live, none_lives};
use super::super::words::{grouped, percent, plural};
use super::{Alert, Now, Status, Tone};

/// What happened to clients in a span of time.
struct Rate {
    per_second: f64,
    ended: u64,
    failed: u64,
    /// Whose client went away first.
    left: u64,
    errors: u64,
}

/// Whether clients fail, and where that is known from.
enum Failing<'a> {
    /// They do, at this moment.
    Now(&'a ClientsNow),
    /// Some did in the running minute, by the record: whether the last seconds are among it is not known.
    InMinute(Rate, Timestamp),
    /// Some did, and do not any more: when the process that tells it saw it.
    Until(ClientFailures),
    /// Some did, by the record: in a bucket of this history, the last one with any.
    Before(&'a History, &'a HistoryBucket),
    /// None, as far as is known.
    No,
}

/// The minutes of the record that stand for this moment: the running one, and while that has just begun the one before.
fn begin_of_latest(at: Timestamp) -> Timestamp {
    let at = at.as_micros().saturating_sub(NOW_MICROS);
    Timestamp::from_micros(at - at.rem_euclid(INTERVAL_MICROS))
}

fn sum(clients: &Clients, wanted: impl Fn(ClientOutcome) -> bool) -> u64 {
    let counted = clients.iter().filter(|(outcome, _)| wanted(**outcome));
    counted.map(|(_, count)| *count).sum()
}

impl Rate {
    fn of(clients: &Clients, received: u64, micros: i64) -> Self {
        Self {
            per_second: received as f64 * 1e6 / micros.max(1_000_000) as f64,
            ended: sum(clients, |_| true),
            failed: sum(clients, ClientOutcome::is_failure),
            left: sum(clients, |outcome| outcome == ClientOutcome::ClientAborted),
            errors: sum(clients, ClientOutcome::is_error),
        }
    }

    fn told(&self) -> String {
        let per_second = match self.per_second {
            0.0 => return "no requests".to_owned(),
            few if few < 0.05 => "less than 0.1 requests/s".to_owned(),
            some => format!("{some:.1} requests/s"),
        };
        let share = |part: u64| percent(part as f64 / self.ended.max(1) as f64);
        let left = || format!("{} of {}", grouped(self.left), grouped(self.ended));
        let failed = match (self.ended, self.failed, self.left) {
            (0, ..) => "none of them has ended".to_owned(),
            (_, 0, 0) => "none without a whole answer".to_owned(),
            // Why they left nobody knows, so they are neither failed nor well.
            (_, 0, _) => format!("{} left before they had a whole answer", left()),
            (_, failed, 0) => format!("{} without a whole answer", share(failed)),
            (_, failed, _) => format!(
                "{} without a whole answer, and {} left before they had one",
                share(failed),
                left()
            ),
        };
        let errors = match self.errors {
            0 => String::new(),
            errors => format!(", {} answered 5xx", share(errors)),
        };
        format!("{per_second}, {failed}{errors}")
    }
}

/// The seconds that a process means by now, in words.
fn seconds(now: &ClientsNow) -> String {
    let micros = now.to.as_micros().saturating_sub(now.from.as_micros());
    let seconds = (micros / 1_000_000).clamp(1, NOW_MICROS / 1_000_000);
    format!(
        "in the last {}",
        plural(seconds.unsigned_abs(), "second", "seconds")
    )
}

impl Now<'_> {
    /// What the process that is asked says of its own clients.
    fn own(&self) -> Option<&ClientsNow> {
        self.status?.clients_now.as_ref()
    }

    /// Whether other processes serve clients, too, of which only the record tells.
    fn has_others(&self) -> bool {
        live(self.watermarks).nth(1).is_some()
    }

    /// Of the latest minutes of the record, and since when.
    fn recorded(&self) -> (Rate, Timestamp) {
        let from = begin_of_latest(self.lately.at);
        let mut clients = Clients::new();
        let mut received = 0;
        for bucket in &self.lately.recent.buckets {
            if bucket.from >= from {
                received += bucket.received;
                for (outcome, count) in &bucket.clients {
                    *clients.entry(*outcome).or_default() += count;
                }
            }
        }
        let micros = self.lately.at.as_micros() - from.as_micros();
        (Rate::of(&clients, received, micros), from)
    }

    fn own_rate(own: &ClientsNow) -> Rate {
        let micros = own.to.as_micros().saturating_sub(own.from.as_micros());
        Rate::of(&own.clients, own.ended(), micros)
    }

    /// Of which time [`Self::told`] is: of now only where a process says it, or nothing is known of now. `moment` writes a time.
    pub(crate) fn label(&self, moment: impl Fn(Timestamp) -> String) -> String {
        if self.own().is_some() || none_lives(self.watermarks) {
            return "Clients now".to_owned();
        }
        let (_, from) = self.recorded();
        format!(
            "Clients, in the last minute that is recorded (since {})",
            moment(from)
        )
    }

    /// What clients get, in one line behind its label. `moment` writes a time.
    pub(crate) fn told(&self, moment: impl Fn(Timestamp) -> String) -> String {
        let recorded = || {
            let (rate, from) = self.recorded();
            // The record counts by minutes: of the last seconds it says nothing.
            format!(
                "{}, on average since {} by the record, which counts by minutes",
                rate.told(),
                moment(from)
            )
        };
        let told = match self.own().map(|own| (own, Self::own_rate(own))) {
            // The last minute of the record is over, and what clients get since is not known.
            None if none_lives(self.watermarks) => "not known: no process records now".to_owned(),
            None => format!(
                "{}, on average; the record counts by minutes",
                self.recorded().0.told()
            ),
            Some((own, rate)) if self.has_others() => format!(
                "{} of this mirror {}; of all mirrors {}",
                rate.told(),
                seconds(own),
                recorded()
            ),
            // Who comes less often than that is not seen in it, nor who still waits.
            Some((own, rate)) if rate.ended == 0 => {
                format!("no request has ended {}; {}", seconds(own), recorded())
            }
            Some((own, rate)) => format!("{} {}", rate.told(), seconds(own)),
        };
        // The outage may be the last one of these seconds.
        let down = if self.is_legacy_down() {
            ", and no answer of the legacy at this moment"
        } else {
            ""
        };
        format!("{told}{down}")
    }

    fn failing(&self) -> Failing<'_> {
        let own = self.own();
        if let Some(own) = own.filter(|own| own.failed() > 0) {
            return Failing::Now(own);
        }
        if own.is_none() || self.has_others() {
            let (rate, from) = self.recorded();
            if rate.failed > 0 {
                return Failing::InMinute(rate, from);
            }
        }
        let mut histories = [&self.lately.recent, self.history].into_iter();
        let recorded = histories.find_map(|history| {
            let mut buckets = history.buckets.iter().rev();
            let last = buckets.find(|bucket| bucket.clients_failed > 0)?;
            Some((history, last))
        });
        // The process knows it better, unless somebody failed behind it.
        let seen = own.and_then(|own| own.failures).filter(|seen| {
            let is_last = recorded.is_none_or(|(_, last)| seen.to >= last.from);
            is_last && seen.to > self.lately.at.saturating_add_micros(-LATELY_MICROS)
        });
        match (seen, recorded) {
            (Some(seen), _) => Failing::Until(seen),
            (None, Some((history, last))) => Failing::Before(history, last),
            (None, None) => Failing::No,
        }
    }

    /// How good it is for clients, now and in the time that is shown. What is over is not told as what is.
    pub(crate) fn tone(&self) -> Tone {
        let errors = match self.own() {
            Some(own) if !self.has_others() => Self::own_rate(own).errors,
            _ => self.recorded().0.errors,
        };
        match self.failing() {
            Failing::Now(_) | Failing::InMinute(..) => Tone::Bad,
            _ if self.is_legacy_down() || self.is_given_up() => Tone::Bad,
            Failing::Until(_) | Failing::Before(..) => Tone::Open,
            Failing::No if errors > 0 => Tone::Open,
            Failing::No => Tone::Good,
        }
    }

    /// What the title says of clients, in the tense of the alarm; empty if there is nothing to say.
    pub(crate) fn title(&self) -> &'static str {
        match self.failing() {
            Failing::Now(_) => "clients fail",
            _ if self.is_legacy_down() => "clients fail",
            _ if self.is_given_up() => "clients leave",
            Failing::InMinute(..) | Failing::Until(_) | Failing::Before(..) => "clients failed",
            Failing::No => "",
        }
    }

    /// What clients of a legacy that does not answer get.
    pub(super) fn get_of_legacy(&self) -> &'static str {
        self.status
            .map_or("clients get errors", Status::get_of_legacy)
    }

    fn is_given_up(&self) -> bool {
        self.status
            .is_some_and(|status| !status.given_up().is_empty())
    }

    /// That clients leave because a service keeps them waiting.
    pub(super) fn leaving(&self, moment: impl Fn(Timestamp) -> String) -> Vec<Alert> {
        let Some((status, own)) = self.status.zip(self.own()) else {
            return Vec::new();
        };
        let whose = if self.has_others() {
            "of this mirror "
        } else {
            ""
        };
        let span = format!("{whose}{}", seconds(own));
        let each = status.given_up().into_iter();
        let told = each.map(|one| {
            let about = format!("they left on {}", one.told(&span, |time| moment(*time)));
            Alert::bad("Clients leave without their answer", about)
        });
        told.collect()
    }

    /// What must be told of them first.
    pub(super) fn clients(&self, moment: impl Fn(Timestamp) -> String) -> Option<Alert> {
        let (what, about) = match self.failing() {
            Failing::No => return None,
            Failing::Now(own) => {
                let whose = if self.has_others() {
                    " of this mirror"
                } else {
                    ""
                };
                let since = own.failures.map(|stretch| {
                    format!(
                        ", {} since {}",
                        grouped(stretch.failed),
                        moment(stretch.from)
                    )
                });
                (
                    "Clients get errors now".to_owned(),
                    format!(
                        "{} of {} requests{whose} {} got no whole answer{}",
                        grouped(own.failed()),
                        grouped(own.ended()),
                        seconds(own),
                        since.unwrap_or_default()
                    ),
                )
            }
            Failing::InMinute(rate, from) => (
                format!("Clients got errors since {}", moment(from)),
                format!(
                    "{} of {} requests got no whole answer; the record counts by minutes, so whether they still do is known where they are served",
                    grouped(rate.failed),
                    grouped(rate.ended)
                ),
            ),
            Failing::Until(seen) => {
                let to = moment(seen.to);
                let from = moment(seen.from);
                let span = if seen.to.as_micros() - seen.from.as_micros() < 1_000_000 {
                    format!("at {to}")
                } else {
                    format!("from {from} to {to}")
                };
                (
                    format!("Clients got errors until {to}"),
                    format!(
                        "{} got no whole answer {span}, the last of them {}{}",
                        plural(seen.failed, "request", "requests"),
                        self.ago_of(seen.to),
                        self.more_than(seen.failed)
                    ),
                )
            }
            Failing::Before(history, last) => {
                let to = last.from.saturating_add_micros(length(history));
                (
                    "Clients got errors".to_owned(),
                    format!(
                        "{} got no whole answer {}, the last of them between {} and {}{}",
                        plural(failed_in(history), "request", "requests"),
                        self.span_of(history),
                        moment(last.from),
                        moment(to.min(self.lately.at)),
                        self.at_least(to)
                    ),
                )
            }
        };
        Some(Alert::bad(what, about))
    }

    /// What the last minutes have besides.
    fn more_than(&self, told: u64) -> String {
        let all = failed_in(&self.lately.recent);
        if all > told {
            let span = self.span_of(&self.lately.recent);
            return format!("; {} {span}", grouped(all));
        }
        String::new()
    }

    fn span_of(&self, history: &History) -> String {
        if std::ptr::eq(history, &raw const self.lately.recent) {
            format!("in the last {} minutes", LATELY_MICROS / INTERVAL_MICROS)
        } else {
            "in the time that is shown".to_owned()
        }
    }
}

fn failed_in(history: &History) -> u64 {
    let buckets = history.buckets.iter();
    buckets.map(|bucket| bucket.clients_failed).sum()
}
