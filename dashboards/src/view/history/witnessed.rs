//! Outages as exactly as mirrors have seen them: the record counts by minutes, and has what each mirror saw beside the counts.
//!
//! A mirror knows what it sent. Where its failures are those that the record has of an outage, they take its place, each stretch for
//! itself; where the record has more, others failed beside it, or before it began, and the minutes stand. What is too short to be an
//! outage in a minute is told by mirrors alone. What several mirrors saw at once, or one before its restart and behind it, is one outage.
//!
//! The record is about a second behind, and what the mirror that is asked has in memory takes the place of that.

use std::collections::HashMap;

use parity_schemas::clients::Clients;
use parity_schemas::history::{CandidateOutage, ClientOutage, History};
use parity_schemas::lately::{
    CandidateErrors, CandidateSeen, ClientErrors, ClientFailures, SlowAnswers,
};
use parity_schemas::time::Timestamp;
use parity_sink::read::RunSeen;

use super::erring::{self, of_runs};
use super::outages::MAX_OUTAGES;
use crate::view::Status;

/// How exactly a mirror notices something, rounded up.
pub(super) const SECONDS: u64 = 1;
/// A failure may be counted in the minute beside that in which it was noticed.
const NEAR_MICROS: i64 = 1_000_000;
/// The record may have a part of this more than the mirror has in its stretches, such as a single failure beside them.
const BESIDE: u64 = 10;
/// A mirror that is started again goes on with the outage that its predecessor saw, if it finds it within this time.
const RESTART_MICROS: i64 = 60_000_000;

/// A stretch of failures, by whoever tells it.
trait Stretch {
    fn span(&self) -> (Timestamp, Timestamp);
    fn failed(&self) -> u64;
    /// Requests that were not sent meanwhile.
    fn not_sent(&self) -> u64;
    /// Takes over what the record knows besides.
    fn take(&mut self, known: &Self);
    /// Takes over how it ended, if the record knows that.
    fn end(&mut self, known: &Self);
}

impl Stretch for CandidateOutage {
    fn span(&self) -> (Timestamp, Timestamp) {
        (self.from, self.answered.unwrap_or(self.to).max(self.to))
    }

    fn failed(&self) -> u64 {
        self.unanswered
    }

    fn not_sent(&self) -> u64 {
        self.not_sent
    }

    // What was not sent is counted for each stretch, too.
    fn take(&mut self, _known: &Self) {}

    fn end(&mut self, known: &Self) {
        if self.answered.is_none() && known.replaced.is_some() {
            self.replaced = known.replaced;
            self.ended = true;
        }
    }
}

impl Stretch for ClientOutage {
    fn span(&self) -> (Timestamp, Timestamp) {
        (self.from, self.to)
    }

    fn failed(&self) -> u64 {
        self.failed
    }

    fn not_sent(&self) -> u64 {
        0
    }

    fn take(&mut self, known: &Self) {
        self.clients.clone_from(&known.clients);
    }

    fn end(&mut self, _known: &Self) {}
}

/// Tells what the runs of a migration have seen of its candidates. Nothing of it is of one route alone.
pub(super) fn recorded(history: &mut History, runs: &[RunSeen], now: Timestamp) {
    if history.route.is_some() {
        return;
    }
    // A process whose rules are changed, or that gets another candidate, goes on with what it has seen in another run.
    let mut outages: HashMap<(&str, String, Timestamp), CandidateOutage> = HashMap::new();
    for run in runs {
        for (from, outage) in stretches(&run.candidate, &run.candidate_version, run.written) {
            let key = (
                run.instance.as_str(),
                outage.candidate_version.clone(),
                from,
            );
            let known = outages.entry(key).or_insert_with(|| outage.clone());
            // What was settled late is counted by the later run alone.
            let most = [known.unanswered, known.not_sent];
            if (outage.ended, outage.to) > (known.ended, known.to) {
                *known = outage.clone();
            }
            let [failed, not_sent] = most;
            known.unanswered = failed.max(outage.unanswered);
            known.sent = known.unanswered;
            known.not_sent = not_sent.max(outage.not_sent);
        }
    }
    let errors = of_runs(runs, now, |run| {
        let errors = run.candidate.errors.iter();
        errors
            .map(|one| closed(one, &run.candidate_version))
            .collect()
    });
    tell(history, outages.into_values().collect(), errors);
    let client_errors = of_runs(runs, now, |run| run.candidate.client_errors.clone());
    let slow = of_runs(runs, now, |run| run.candidate.slow.clone());
    tell_of_serving(history, client_errors, slow);
}

/// Errors as a process has seen them whose candidate is of this version. Of another one nothing goes on: an older program does not say when
/// it was replaced.
fn closed(errors: &CandidateErrors, version: &str) -> CandidateErrors {
    let is_of_it = errors.candidate_version == version;
    let ended = errors.ended.or((!is_of_it).then_some(errors.to));
    CandidateErrors {
        ended,
        ..errors.clone()
    }
}

/// What a process has seen, each with when it began. The last that goes on did so until that was written.
fn stretches<'a>(
    seen: &'a CandidateSeen,
    version: &'a str,
    written: Timestamp,
) -> impl Iterator<Item = (Timestamp, CandidateOutage)> + 'a {
    let last = seen.failures.len().saturating_sub(1);
    let each = seen.failures.iter().enumerate();
    each.map(move |(place, one)| {
        let goes_on = place == last && one.answered.is_none() && one.candidate_version == version;
        let outage = CandidateOutage {
            candidate_version: one.candidate_version.clone(),
            from: one.from,
            to: if goes_on { one.to.max(written) } else { one.to },
            step_seconds: SECONDS,
            ended: one.answered.is_some(),
            answered: one.answered,
            replaced: None,
            sent: one.failed,
            unanswered: one.failed,
            not_sent: one.not_sent,
        };
        (one.from, outage)
    })
}

/// Tells the outages of a history as the mirror has seen them that counts in it.
pub(crate) fn witness(history: &mut History, status: &Status) {
    let is_of_all = history.route.is_none() && history.migration == status.migration;
    let Some(window) = history.window.filter(|_| is_of_all) else {
        return;
    };
    let seen = CandidateSeen {
        failures: status.candidate_failures.clone(),
        ..CandidateSeen::default()
    };
    let errors = status.candidate_errors.iter();
    let errors = errors.map(|one| closed(one, &status.candidate_version));
    let asked = status.clients_now.as_ref().map(|now| now.to);
    let written = asked.unwrap_or(window.from);
    let outages = stretches(&seen, &status.candidate_version, written);
    let outages: Vec<CandidateOutage> = outages.map(|(_, outage)| outage).collect();
    tell(history, outages, errors.collect());
    tell_of_serving(history, status.client_errors.clone(), status.slow.clone());
    let Some(now) = &status.clients_now else {
        return;
    };
    // The last ten seconds may have it, and be over all the same.
    let answers = |one: &ClientFailures| {
        let passed = now.to.as_micros().saturating_sub(one.to.as_micros());
        status.legacy_failing_since.is_none() && passed > NEAR_MICROS
    };
    let is_over =
        |one: &ClientFailures| now.failures != Some(*one) || now.failed() == 0 || answers(one);
    let seen = now.earlier_failures.iter().chain(&now.failures);
    let seen = seen.filter(|one| one.from < window.to && window.from <= one.to);
    let seen: Vec<ClientOutage> = seen
        .map(|one| ClientOutage {
            from: one.from,
            to: one.to,
            step_seconds: SECONDS,
            ended: is_over(one),
            failed: one.failed,
            clients: Clients::new(),
        })
        .collect();
    let known = std::mem::take(&mut history.client_outages);
    history.client_outages = sharpened(known, seen, |_, _| true);
}

/// Takes over what was seen of the candidate in the range of a history.
fn tell(history: &mut History, mut outages: Vec<CandidateOutage>, errors: Vec<CandidateErrors>) {
    let Some(window) = history.window else {
        return;
    };
    let asked = history.candidate_version.clone();
    let is_told = |version: &str, from: Timestamp, to: Timestamp| {
        asked.as_deref().is_none_or(|asked| asked == version)
            && from < window.to
            && window.from <= to
    };
    outages.retain(|one| is_told(&one.candidate_version, one.from, one.span().1));
    outages.sort_by_key(Stretch::span);
    let outages = joined(outages, one_outage);
    let is_of_it = |one: &CandidateOutage, other: &CandidateOutage| {
        one.candidate_version == other.candidate_version
    };
    let known = std::mem::take(&mut history.outages);
    history.outages = joined(sharpened(known, outages, is_of_it), one_outage);
    erring::tell(&mut history.candidate_errors, errors, window, |one| {
        let asked = asked.as_deref();
        asked.is_none_or(|asked| asked == one.candidate_version)
    });
}

/// Takes over what was seen of whoever serves clients: they do not care which candidate was beside.
fn tell_of_serving(history: &mut History, errors: Vec<ClientErrors>, slow: Vec<SlowAnswers>) {
    if let Some(window) = history.window {
        erring::tell(&mut history.client_errors, errors, window, |_| true);
        erring::tell(&mut history.slow, slow, window, |_| true);
    }
}

/// Joins what is one, in order of time.
fn joined<T>(all: Vec<T>, join: impl Fn(&mut T, &T) -> bool) -> Vec<T> {
    let mut joined: Vec<T> = Vec::new();
    for one in all {
        // Versions alternate where several run side by side.
        if !joined.iter_mut().rev().any(|before| join(before, &one)) {
            joined.push(one);
        }
    }
    joined
}

/// Takes in another outage that began no earlier, if both are one.
fn one_outage(before: &mut CandidateOutage, one: &CandidateOutage) -> bool {
    let is_exact = |one: &CandidateOutage| one.step_seconds <= SECONDS;
    let (_, end) = before.span();
    let passed = one.from.as_micros().saturating_sub(end.as_micros());
    let is_open = before.answered.is_none() && before.replaced.is_none();
    let goes_on = is_open && passed <= RESTART_MICROS;
    let is_one = before.candidate_version == one.candidate_version
        && is_exact(before)
        && is_exact(one)
        && (passed < 0 || goes_on);
    if !is_one {
        return false;
    }
    // Whoever knows it for longer knows how it went on.
    if one.span().1 >= end {
        before.answered = one.answered;
        before.replaced = one.replaced;
        before.ended = one.ended;
    }
    before.to = before.to.max(one.to);
    before.sent = before.sent.saturating_add(one.sent);
    before.unanswered = before.unanswered.saturating_add(one.unanswered);
    before.not_sent = before.not_sent.saturating_add(one.not_sent);
    true
}

/// The latest of what is known of the record and seen by mirrors, in order.
fn sharpened<T: Stretch>(
    known: Vec<T>,
    mut seen: Vec<T>,
    is_one: impl Fn(&T, &T) -> bool,
) -> Vec<T> {
    let mut told: Vec<T> = Vec::new();
    for known in known {
        let (from, to) = known.span();
        let is_in = |one: &T| {
            let (begun, over) = one.span();
            is_one(one, &known)
                && begun < to.saturating_add_micros(NEAR_MICROS)
                && from.saturating_add_micros(-NEAR_MICROS) < over
        };
        if !seen.iter().any(is_in) {
            told.push(known);
            continue;
        }
        let sum = |of: fn(&T) -> u64| {
            let each = seen.iter().filter(|one| is_in(one)).map(of);
            each.fold(0, u64::saturating_add)
        };
        let (failed, not_sent) = (sum(T::failed), sum(T::not_sent));
        let is_more = |known: u64, seen: u64| known > seen.saturating_add(seen / BESIDE);
        // In an outage whose breaker was open from before there may be no failure at all.
        let is_unsent = known.failed() == 0 && failed == 0;
        if is_more(known.failed(), failed) || is_unsent && is_more(known.not_sent(), not_sent) {
            // Somebody else failed beside it: what it saw is a part of this.
            seen.retain(|one| !is_in(one));
            told.push(known);
            continue;
        }
        for one in seen.iter_mut().filter(|one| is_in(one)) {
            one.end(&known);
        }
        let lasted = |one: &T| {
            let (from, to) = one.span();
            to.as_micros().saturating_sub(from.as_micros())
        };
        let longest = seen.iter_mut().filter(|one| is_in(one));
        if let Some(longest) = longest.max_by_key(|one| lasted(one)) {
            longest.take(&known);
        }
    }
    told.append(&mut seen);
    told.sort_by_key(T::span);
    let surplus = told.len().saturating_sub(MAX_OUTAGES);
    told.drain(..surplus);
    told
}

#[cfg(test)]
mod tests;
