//! Stretches of time in which a version of the candidate gave no answer, or clients got none, also those that are over.
//!
//! A step in which the candidate answered nothing, or less than half, or was left alone because it kept failing, is of an outage. So are a few
//! steps of failures between steps without any: an outage of seconds. The steps beside that in which it failed on a part belong
//! to it: there it began, or ended, and which of its answers there were before or behind it is not known. A step in which it answered
//! most parts two outages. One that only fails now and then has no outage, but differences.
//!
//! Of clients each failure counts: whoever got no answer was hurt.

use std::collections::BTreeSet;

use parity_schemas::clients::{ClientOutcome, Clients};
use parity_schemas::history::{CandidateOutage, ClientOutage, History, HistoryBucket};
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;
use parity_sink::read::history::Minute;

use super::part::{LEAST_DOWN, Part, Sent, part};
use super::{LATELY_MICROS, length};

/// The longest row of steps with failures that is an outage although it answered most in each: that of one of seconds at the end of a
/// step, which is noticed up to a deadline later.
const MAX_BURST: usize = 3;
/// The least part of what was sent in them that it did not answer.
const LEAST_OF_BURST: u64 = 20;

/// What one step of a history had of a version: the step may be of another history than the one beside it, with another length.
#[derive(Clone, Copy, Debug)]
pub(in crate::view) struct Step {
    from: Timestamp,
    micros: i64,
    sent: Sent,
}

impl Step {
    /// That of a bucket; `None` if nothing of it is of this version.
    pub(in crate::view) fn of(
        history: &History,
        bucket: &HistoryBucket,
        version: &str,
    ) -> Option<Self> {
        match part(history, bucket, version, &BTreeSet::new()) {
            Part::Its(sent) => Some(Self {
                from: bucket.from,
                micros: length(history),
                sent,
            }),
            Part::Others | Part::Unknown => None,
        }
    }

    /// That of a minute of its version.
    pub(in crate::view) fn of_minute(minute: &Minute) -> Self {
        Self {
            from: minute.from,
            micros: INTERVAL_MICROS,
            sent: Sent {
                compared: minute.compared,
                unanswered: minute.unanswered,
                breaker_open: minute.breaker_open,
            },
        }
    }

    /// When it begins.
    pub(in crate::view) const fn from(&self) -> Timestamp {
        self.from
    }

    fn end(&self) -> Timestamp {
        self.from.saturating_add_micros(self.micros)
    }

    /// Whether it answered nothing, or was left alone, or failed on most.
    fn is_out(&self) -> bool {
        self.sent.is_any()
            && (self.sent.is_silent() || self.sent.breaker_open > 0 || self.sent.fails_mostly())
    }

    fn is_failing(&self) -> bool {
        self.sent.unanswered > 0
    }

    /// What of it was sent in the outage, if it is the first or the last step of that.
    fn sent_at_end(&self) -> u64 {
        if self.sent.is_silent() {
            self.sent.compared
        } else {
            self.sent.unanswered
        }
    }
}

/// Steps of one version with what of them is of an outage.
struct Steps<'a> {
    steps: Vec<&'a Step>,
    is_out: Vec<bool>,
}

impl<'a> Steps<'a> {
    fn of(steps: &'a [Step]) -> Self {
        let steps: Vec<&Step> = steps.iter().filter(|step| step.sent.is_any()).collect();
        let is_out = steps.iter().map(|step| step.is_out()).collect();
        let mut all = Self { steps, is_out };
        all.find_bursts();
        all
    }

    fn is_out(&self, at: usize) -> bool {
        self.is_out.get(at).copied().unwrap_or(false)
    }

    fn is_failing(&self, at: usize) -> bool {
        self.steps.get(at).is_some_and(|step| step.is_failing())
    }

    /// Whether nothing was answered between a step and the next.
    fn joined(&self, one: usize) -> bool {
        match (self.steps.get(one), self.steps.get(one + 1)) {
            (Some(one), Some(next)) => {
                next.from.as_micros() - one.end().as_micros() <= LATELY_MICROS
            }
            _ => false,
        }
    }

    /// Rows of failures between steps without any. One that is not over may be the begin of failures now and then.
    fn find_bursts(&mut self) {
        let mut at = 0;
        while at < self.steps.len() {
            if !self.is_failing(at) {
                at += 1;
                continue;
            }
            let mut to = at + 1;
            while self.is_failing(to) && self.joined(to - 1) {
                to += 1;
            }
            let of = self.steps.get(at..to).unwrap_or_default().iter();
            let is_short =
                to - at <= MAX_BURST && of.clone().all(|one| one.micros <= INTERVAL_MICROS);
            let sum = |count: fn(&Sent) -> u64| {
                let counts = of.clone().map(|step| count(&step.sent));
                counts.fold(0, u64::saturating_add)
            };
            let (sent, failed) = (sum(|sent| sent.compared), sum(|sent| sent.unanswered));
            let is_burst = failed >= LEAST_DOWN && failed.saturating_mul(LEAST_OF_BURST) >= sent;
            let is_over = to < self.steps.len();
            let row = self.is_out.get_mut(at..to).unwrap_or_default();
            // Beside a step that is out, these are its begin or end.
            if is_short && is_burst && is_over && !row.contains(&true) {
                row.fill(true);
            }
            at = to;
        }
    }
}

/// The outages of a version, by its steps in order.
pub(in crate::view) fn outages(version: &str, steps: &[Step]) -> Vec<CandidateOutage> {
    let steps = Steps::of(steps);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(place) = (at..steps.steps.len()).find(|at| steps.is_out(*at)) {
        let mut first = place;
        if place > at && steps.is_failing(place - 1) && steps.joined(place - 1) {
            first = place - 1;
        }
        let mut last = place;
        while steps.is_out(last + 1) && steps.joined(last) {
            last += 1;
        }
        if steps.is_failing(last + 1) && steps.joined(last) {
            last += 1;
        }
        at = last + 1;
        found.extend(outage(version, &steps.steps, first..at));
    }
    found
}

/// That of a range of steps; `None` if it failed on so few requests that they may be those of one bad client.
fn outage(
    version: &str,
    steps: &[&Step],
    range: std::ops::Range<usize>,
) -> Option<CandidateOutage> {
    let behind = range.end;
    let of = steps.get(range)?;
    let (first, last) = (of.first()?, of.last()?);
    let sum = |count: fn(&Sent) -> u64| {
        let counts = of.iter().map(|step| count(&step.sent));
        counts.fold(0, u64::saturating_add)
    };
    let inner = of.get(1..of.len() - 1).unwrap_or_default().iter();
    let sent = inner.fold(0, |sum: u64, step| sum.saturating_add(step.sent.compared));
    let at_ends = if of.len() > 1 {
        first.sent_at_end().saturating_add(last.sent_at_end())
    } else {
        first.sent_at_end()
    };
    let outage = CandidateOutage {
        candidate_version: version.to_owned(),
        from: first.from,
        to: last.end(),
        step_seconds: u64::try_from(first.micros.max(last.micros) / 1_000_000).unwrap_or(0),
        // What is behind it is no outage, and in its last step it may have answered, too.
        ended: steps.get(behind).is_some() || !last.sent.is_silent(),
        answered: None,
        replaced: None,
        sent: sent.saturating_add(at_ends),
        unanswered: sum(|sent| sent.unanswered),
        not_sent: sum(|sent| sent.breaker_open),
    };
    (outage.unanswered >= LEAST_DOWN || outage.not_sent > 0).then_some(outage)
}

/// What clients got in one step.
#[derive(Clone, Debug)]
pub(in crate::view) struct ClientStep {
    from: Timestamp,
    micros: i64,
    clients: Clients,
}

impl ClientStep {
    /// Of so long a time from then on.
    pub(in crate::view) const fn of(from: Timestamp, micros: i64, clients: Clients) -> Self {
        Self {
            from,
            micros,
            clients,
        }
    }

    /// Takes in what others got in the same time.
    pub(in crate::view) fn add(&mut self, clients: &Clients) {
        for (outcome, count) in clients {
            let sum = self.clients.entry(*outcome).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// When it begins.
    pub(in crate::view) const fn from(&self) -> Timestamp {
        self.from
    }

    fn failures(&self) -> impl Iterator<Item = (ClientOutcome, u64)> {
        let all = self
            .clients
            .iter()
            .map(|(outcome, count)| (*outcome, *count));
        all.filter(|(outcome, count)| outcome.is_failure() && *count > 0)
    }
}

/// When clients got no whole answer, by steps in order of which each stands for all versions.
pub(in crate::view) fn client_outages(steps: &[ClientStep]) -> Vec<ClientOutage> {
    let mut found: Vec<ClientOutage> = Vec::new();
    let mut open: Option<ClientOutage> = None;
    for step in steps.iter().filter(|step| !step.clients.is_empty()) {
        let end = step.from.saturating_add_micros(step.micros);
        if step.failures().next().is_none() {
            found.extend(open.take().map(|over| ClientOutage {
                ended: true,
                ..over
            }));
            continue;
        }
        let is_near =
            |open: &ClientOutage| step.from.as_micros() - open.to.as_micros() <= LATELY_MICROS;
        if open.as_ref().is_some_and(|open| !is_near(open)) {
            found.extend(open.take());
        }
        let outage = open.get_or_insert_with(|| ClientOutage {
            from: step.from,
            ..ClientOutage::default()
        });
        outage.to = end;
        let seconds = u64::try_from(step.micros / 1_000_000).unwrap_or(0);
        outage.step_seconds = outage.step_seconds.max(seconds);
        for (outcome, count) in step.failures() {
            outage.failed = outage.failed.saturating_add(count);
            let sum = outage.clients.entry(outcome).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    found.extend(open);
    found
}

#[cfg(test)]
mod tests;
