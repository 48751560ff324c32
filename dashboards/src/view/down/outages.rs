//! Stretches of time in which a version of the candidate gave no answer, also those that are over.
//!
//! A step in which it answered nothing, or less than half, or was left alone because it kept failing, is of an outage. The steps beside that in which it failed
//! on a part belong to it: there it began, or ended. One that only fails now and then has no outage, but differences.

use std::collections::BTreeSet;

use parity_schemas::history::{CandidateOutage, History, HistoryBucket};
use parity_schemas::time::Timestamp;

use super::part::{Part, Sent, part};
use super::{LATELY_MICROS, LEAST_DOWN, length};

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

    fn end(&self) -> Timestamp {
        self.from.saturating_add_micros(self.micros)
    }

    /// Whether it answered nothing, or was left alone, or failed on most: an outage of seconds fills no step.
    fn is_out(&self) -> bool {
        let Sent {
            compared,
            unanswered,
            breaker_open,
        } = self.sent;
        let fails_mostly = unanswered >= LEAST_DOWN && unanswered >= compared.div_ceil(2);
        self.sent.is_any() && (self.sent.is_silent() || breaker_open > 0 || fails_mostly)
    }

    fn is_failing(&self) -> bool {
        self.sent.unanswered > 0
    }
}

/// The outages of a version, by its steps in order.
pub(in crate::view) fn outages(version: &str, steps: &[Step]) -> Vec<CandidateOutage> {
    let steps: Vec<&Step> = steps.iter().filter(|step| step.sent.is_any()).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(place) = (at..steps.len()).find(|at| is_out(&steps, *at)) {
        let joined = |one: usize, next: usize| match (steps.get(one), steps.get(next)) {
            (Some(one), Some(next)) => {
                next.from.as_micros() - one.end().as_micros() <= LATELY_MICROS
            }
            _ => false,
        };
        let is_failing = |at: usize| steps.get(at).is_some_and(|step| step.is_failing());
        let mut first = place;
        if place > at && is_failing(place - 1) && joined(place - 1, place) {
            first = place - 1;
        }
        let mut last = place;
        // One step in which it answered a part does not part an outage.
        loop {
            if is_out(&steps, last + 1) && joined(last, last + 1) {
                last += 1;
            } else if is_failing(last + 1)
                && joined(last, last + 1)
                && is_out(&steps, last + 2)
                && joined(last + 1, last + 2)
            {
                last += 2;
            } else {
                break;
            }
        }
        if is_failing(last + 1) && joined(last, last + 1) {
            last += 1;
        }
        at = last + 1;
        found.extend(outage(version, &steps, first..at));
    }
    found
}

fn is_out(steps: &[&Step], at: usize) -> bool {
    steps.get(at).is_some_and(|step| step.is_out())
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
    let outage = CandidateOutage {
        candidate_version: version.to_owned(),
        from: first.from,
        to: last.end(),
        step_seconds: u64::try_from(first.micros.max(last.micros) / 1_000_000).unwrap_or(0),
        // What is behind it is no outage, and in its last step it may have answered, too.
        ended: steps.get(behind).is_some() || !last.sent.is_silent(),
        sent: sum(|sent| sent.compared),
        unanswered: sum(|sent| sent.unanswered),
        not_sent: sum(|sent| sent.breaker_open),
    };
    (outage.unanswered >= LEAST_DOWN || outage.not_sent > 0).then_some(outage)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of so many minutes behind the begin: compared, not answered, not sent.
    fn told(steps: &[(i64, u64, u64, u64)]) -> Vec<(i64, i64, bool, u64, u64, u64)> {
        let steps = steps
            .iter()
            .map(|(minute, compared, unanswered, breaker_open)| Step {
                from: Timestamp::from_micros(minute * 60_000_000),
                micros: 60_000_000,
                sent: Sent {
                    compared: *compared,
                    unanswered: *unanswered,
                    breaker_open: *breaker_open,
                },
            });
        let steps: Vec<Step> = steps.collect();
        let found = outages("2", &steps).into_iter();
        let minute = |time: Timestamp| time.as_micros() / 60_000_000;
        found
            .map(|one| {
                assert_eq!(
                    (one.candidate_version.as_str(), one.step_seconds),
                    ("2", 60)
                );
                (
                    minute(one.from),
                    minute(one.to),
                    one.ended,
                    one.sent,
                    one.unanswered,
                    one.not_sent,
                )
            })
            .collect()
    }

    #[test]
    fn an_outage_has_the_minutes_in_which_it_began_and_ended() {
        let day = [
            (0, 60, 0, 0),
            (1, 60, 20, 0),
            (2, 50, 50, 10),
            (3, 0, 0, 60),
            (4, 60, 5, 0),
            (5, 60, 0, 0),
        ];
        assert_eq!(told(&day), [(1, 5, true, 170, 75, 70)]);
        // One of seconds, within a minute.
        let seconds = [(0, 60, 0, 0), (1, 74, 70, 0), (2, 60, 0, 0)];
        assert_eq!(told(&seconds), [(1, 2, true, 74, 70, 0)]);
        // Up to the end, nothing says that it is over.
        assert_eq!(told(&day[..4]), [(1, 4, false, 110, 70, 70)]);
        assert!(told(&day[..2]).is_empty());
    }

    #[test]
    fn what_fails_now_and_then_is_no_outage_and_two_are_two() {
        let flaky: Vec<_> = (0..60).map(|minute| (minute, 60, 2, 0)).collect();
        assert!(told(&flaky).is_empty());
        assert!(told(&[(0, 2, 2, 0), (1, 60, 0, 0)]).is_empty());
        let two = [
            (0, 9, 9, 0),
            (1, 9, 0, 0),
            (2, 9, 9, 0),
            (3, 9, 1, 0),
            (4, 9, 9, 0),
            (5, 9, 0, 0),
        ];
        assert_eq!(told(&two), [(0, 1, true, 9, 9, 0), (2, 5, true, 27, 19, 0)]);
        // Hours without a request are in none.
        assert_eq!(
            told(&[(0, 9, 9, 0), (300, 9, 9, 0)]),
            [(0, 1, true, 9, 9, 0), (300, 301, false, 9, 9, 0)]
        );
    }
}
