//! Stretches in which something surely went badly, as mirrors have counted them: errors of the candidate, errors that clients got, answers
//! of the legacy that were slow. Each is told once, and what several mirrors counted at once is one.

use std::collections::HashMap;

use parity_schemas::evidence::Window;
use parity_schemas::lately::{CandidateErrors, ClientErrors, SlowAnswers};
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::SILENT_AFTER_MICROS;
use parity_sink::read::RunSeen;

use super::outages::MAX_OUTAGES;

/// A stretch of one kind.
pub(super) trait Erring: Clone {
    /// Whether it is of the same service as another one.
    fn is_of(&self, other: &Self) -> bool;

    /// From the first that went badly to the last.
    fn span(&self) -> (Timestamp, Timestamp);

    /// When it was over; `None` while it goes on.
    fn ended(&self) -> Option<Timestamp>;

    /// What was counted in it.
    fn counted(&self) -> u64;

    /// That it lasted until then, and was over at this time.
    fn last(&mut self, to: Timestamp, ended: Option<Timestamp>);

    /// Adds what another mirror counted.
    fn add(&mut self, other: &Self);
}

impl Erring for CandidateErrors {
    fn is_of(&self, other: &Self) -> bool {
        self.candidate_version == other.candidate_version
    }

    fn span(&self) -> (Timestamp, Timestamp) {
        (self.from, self.to)
    }

    fn ended(&self) -> Option<Timestamp> {
        self.ended
    }

    fn counted(&self) -> u64 {
        self.compared
    }

    fn last(&mut self, to: Timestamp, ended: Option<Timestamp>) {
        (self.to, self.ended) = (to, ended);
    }

    fn add(&mut self, other: &Self) {
        self.compared = self.compared.saturating_add(other.compared);
        self.errors = self.errors.saturating_add(other.errors);
        self.legacy_errors = self.legacy_errors.saturating_add(other.legacy_errors);
    }
}

impl Erring for ClientErrors {
    fn is_of(&self, other: &Self) -> bool {
        self.service == other.service && self.version == other.version
    }

    fn span(&self) -> (Timestamp, Timestamp) {
        (self.from, self.to)
    }

    fn ended(&self) -> Option<Timestamp> {
        self.ended
    }

    fn counted(&self) -> u64 {
        self.answers
    }

    fn last(&mut self, to: Timestamp, ended: Option<Timestamp>) {
        (self.to, self.ended) = (to, ended);
    }

    fn add(&mut self, other: &Self) {
        self.answers = self.answers.saturating_add(other.answers);
        self.errors = self.errors.saturating_add(other.errors);
    }
}

impl Erring for SlowAnswers {
    fn is_of(&self, other: &Self) -> bool {
        self.version == other.version
    }

    fn span(&self) -> (Timestamp, Timestamp) {
        (self.from, self.to)
    }

    fn ended(&self) -> Option<Timestamp> {
        self.ended
    }

    fn counted(&self) -> u64 {
        self.answers
    }

    fn last(&mut self, to: Timestamp, ended: Option<Timestamp>) {
        (self.to, self.ended) = (to, ended);
    }

    /// The times of both cannot be added up: those of the worse one are told.
    fn add(&mut self, other: &Self) {
        self.answers = self.answers.saturating_add(other.answers);
        self.slow = self.slow.saturating_add(other.slow);
        self.limit_us = self.limit_us.max(other.limit_us);
        if other.p99_us > self.p99_us {
            (self.p99_us, self.before_p99_us) = (other.p99_us, other.before_p99_us);
        }
    }
}

/// What the runs of a migration have seen of one kind, each as the run that knows it for longest has it. What goes on in one of which
/// nothing is heard any more is over.
pub(super) fn of_runs<T: Erring>(
    runs: &[RunSeen],
    now: Timestamp,
    seen: impl Fn(&RunSeen) -> Vec<T>,
) -> Vec<T> {
    // A process whose rules are changed goes on with what it has seen in another run.
    let mut found: HashMap<(&str, Timestamp), Vec<T>> = HashMap::new();
    for run in runs {
        let is_live =
            !run.ended && now.as_micros() - run.written.as_micros() <= SILENT_AFTER_MICROS;
        for mut one in seen(run) {
            let (from, to) = one.span();
            if !is_live {
                one.last(to, one.ended().or(Some(run.written)));
            }
            let all = found.entry((run.instance.as_str(), from)).or_default();
            match all.iter_mut().find(|known| known.is_of(&one)) {
                Some(known) if one.counted() >= known.counted() => *known = one,
                Some(_) => {}
                None => all.push(one),
            }
        }
    }
    found.into_values().flatten().collect()
}

/// Takes over what was seen in a window, of what `is_told`, and joins what is one.
pub(super) fn tell<T: Erring>(
    known: &mut Vec<T>,
    mut seen: Vec<T>,
    window: Window,
    is_told: impl Fn(&T) -> bool,
) {
    let mut all = std::mem::take(known);
    let is_one = |one: &T, other: &T| {
        let ((from, to), (begun, last)) = (one.span(), other.span());
        one.is_of(other) && from <= last && begun <= to
    };
    // What is in memory is later than what was written, unless others counted there, too.
    seen.retain(|one| {
        let mut known = all.iter();
        !known.any(|known| is_one(known, one) && known.counted() > one.counted())
    });
    all.retain(|known| !seen.iter().any(|one| is_one(known, one)));
    all.extend(seen);
    all.retain(|one| {
        let (from, to) = one.span();
        is_told(one) && from < window.to && window.from <= to
    });
    all.sort_by_key(Erring::span);
    for one in all {
        // Services alternate where several are asked side by side.
        if !known.iter_mut().rev().any(|before| join(before, &one)) {
            known.push(one);
        }
    }
    let surplus = known.len().saturating_sub(MAX_OUTAGES);
    known.drain(..surplus);
}

/// Takes in another one that began no earlier, if both are one.
fn join<T: Erring>(before: &mut T, one: &T) -> bool {
    let ((_, to), (begun, last)) = (before.span(), one.span());
    if !before.is_of(one) || before.ended().is_some_and(|ended| begun >= ended) {
        return false;
    }
    let ended = match (before.ended(), one.ended()) {
        (Some(ended), Some(other)) => Some(ended.max(other)),
        _ => None,
    };
    before.last(to.max(last), ended);
    before.add(one);
    true
}
