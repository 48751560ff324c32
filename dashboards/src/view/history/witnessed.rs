//! Outages as exactly as the mirror that is asked has seen them itself: the record counts by minutes.
//!
//! A mirror knows what it sent. Where its failures are those that the record has of an outage, they take its place, each stretch for
//! itself; where the record has more, others failed beside it, or before it began, and the minutes stand. What is too short to be an
//! outage in a minute is told by the mirror alone.

use parity_schemas::clients::Clients;
use parity_schemas::history::{CandidateOutage, ClientOutage, History};
use parity_schemas::lately::ClientFailures;
use parity_schemas::time::Timestamp;

use super::outages::MAX_OUTAGES;
use crate::view::Status;

/// How exactly a mirror notices something, rounded up.
const SECONDS: u64 = 1;
/// A failure may be counted in the minute beside that in which it was noticed.
const NEAR_MICROS: i64 = 1_000_000;
/// The record may have a part of this more than the mirror has in its stretches, such as a single failure beside them.
const BESIDE: u64 = 10;

/// A stretch of failures, by whoever tells it.
trait Stretch {
    fn span(&self) -> (Timestamp, Timestamp);
    fn failed(&self) -> u64;
    /// Takes over what the record knows besides.
    fn take(&mut self, known: &Self);
}

impl Stretch for CandidateOutage {
    fn span(&self) -> (Timestamp, Timestamp) {
        (self.from, self.answered.unwrap_or(self.to).max(self.to))
    }

    fn failed(&self) -> u64 {
        self.unanswered
    }

    fn take(&mut self, known: &Self) {
        self.not_sent = known.not_sent;
    }
}

impl Stretch for ClientOutage {
    fn span(&self) -> (Timestamp, Timestamp) {
        (self.from, self.to)
    }

    fn failed(&self) -> u64 {
        self.failed
    }

    fn take(&mut self, known: &Self) {
        self.clients.clone_from(&known.clients);
    }
}

/// Tells the outages of a history as the mirror has seen them that counts in it.
pub(crate) fn witness(history: &mut History, status: &Status) {
    let is_of_all = history.route.is_none() && history.migration == status.migration;
    let Some(window) = history.window.filter(|_| is_of_all) else {
        return;
    };
    let is_in_range = |from: Timestamp, to: Timestamp| from < window.to && window.from <= to;
    let seen = status.candidate_failures.iter();
    let seen = seen.filter(|one| {
        let asked = history.candidate_version.as_deref();
        asked.is_none_or(|asked| asked == one.candidate_version)
            && is_in_range(one.from, one.answered.unwrap_or(one.to))
    });
    let seen: Vec<CandidateOutage> = seen
        .map(|one| CandidateOutage {
            candidate_version: one.candidate_version.clone(),
            from: one.from,
            to: one.to,
            step_seconds: SECONDS,
            ended: one.answered.is_some(),
            answered: one.answered,
            sent: one.failed,
            unanswered: one.failed,
            not_sent: 0,
        })
        .collect();
    let is_one = |one: &CandidateOutage, other: &CandidateOutage| {
        one.candidate_version == other.candidate_version
    };
    let known = std::mem::take(&mut history.outages);
    history.outages = sharpened(known, seen, is_one);
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
    let seen = seen.filter(|one| is_in_range(one.from, one.to));
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

/// The latest of what is known of the record and seen by the mirror, in order.
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
        let failed = seen.iter().filter(|one| is_in(one)).map(T::failed);
        let failed = failed.fold(0, u64::saturating_add);
        if failed == 0 {
            told.push(known);
            continue;
        }
        if known.failed() > failed.saturating_add(failed / BESIDE) {
            // Somebody else failed beside it: what it saw is a part of this.
            seen.retain(|one| !is_in(one));
            told.push(known);
            continue;
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
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * SECOND)
    }

    fn outage(from: i64, to: i64, failed: u64, step_seconds: u64) -> CandidateOutage {
        CandidateOutage {
            candidate_version: "2".to_owned(),
            from: at(from),
            to: at(to),
            step_seconds,
            unanswered: failed,
            sent: failed,
            ..CandidateOutage::default()
        }
    }

    fn told(known: Vec<CandidateOutage>, seen: Vec<CandidateOutage>) -> Vec<(i64, i64, u64, u64)> {
        let is_one = |one: &CandidateOutage, other: &CandidateOutage| {
            one.candidate_version == other.candidate_version
        };
        let told = sharpened(known, seen, is_one).into_iter();
        let second = |time: Timestamp| time.as_micros() / SECOND;
        told.map(|one| {
            (
                second(one.from),
                second(one.to),
                one.unanswered,
                one.not_sent,
            )
        })
        .collect()
    }

    #[test]
    fn what_the_mirror_saw_takes_the_place_of_the_minutes_each_incident_for_itself() {
        let minutes = CandidateOutage {
            not_sent: 40,
            ..outage(60, 240, 75, 60)
        };
        let seen = || vec![outage(67, 90, 50, 1), outage(130, 213, 24, 1)];
        assert_eq!(
            told(vec![minutes.clone()], seen()),
            [(67, 90, 50, 0), (130, 213, 24, 40)]
        );
        // One that no minute shows.
        assert_eq!(told(vec![], seen()).len(), 2);
        // Another mirror failed, too.
        let more = CandidateOutage {
            unanswered: 150,
            ..minutes
        };
        assert_eq!(told(vec![more], seen()), [(60, 240, 150, 40)]);
        // Before the process began, and of another version.
        let before = outage(0, 30, 9, 60);
        assert_eq!(told(vec![before.clone()], seen()).len(), 3);
        let other = CandidateOutage {
            candidate_version: "1".to_owned(),
            ..outage(60, 240, 75, 60)
        };
        assert_eq!(told(vec![other], seen()).len(), 3);
        // While the record is behind.
        assert_eq!(
            told(vec![outage(60, 120, 3, 60)], vec![outage(67, 71, 30, 1)]),
            [(67, 71, 30, 0)]
        );
    }
}
