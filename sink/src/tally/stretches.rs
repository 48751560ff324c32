//! When the candidate gave no answer, to the second, as this process has noticed it.
//!
//! The record counts by minutes, in which an outage of seconds has no begin and no end. So what was counted since the last look, a few
//! times a second, is looked at: a stretch begins with a look in which most failed and ends with one in which most was answered. Requests
//! that were not sent meanwhile belong to the stretch in which they were not, and to no other. A time-out tells something of
//! the time when the request was sent, and comes later: until then the looks are kept apart, so that it counts in the one of that time. Else
//! a hang of three seconds would be several outages after it, each cut by the answers of a candidate that answers again. It is of the
//! process alone, which writes the latest into its watermark; no request pays for it.
//!
//! A reloaded configuration may name another version of the candidate, while requests to the one before are under way. So each time of a
//! version has stretches of its own: neither goes on with the outage of the other, and what fails late counts for the version that it was sent to.

mod found;

use std::collections::VecDeque;
use std::time::Duration;

use parity_schemas::lately::{CandidateFailures, MAX_STRETCHES};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;

use self::found::Found;

/// A failure this long before is not the begin of a stretch.
const NEAR_MICROS: i64 = 1_000_000;
/// From one look to the next, and a little more: a request that was sent this long before a look is of that look.
const LOOK_MICROS: i64 = 300_000;
/// Looks that are kept until no time-out of theirs can come any more: of a quarter of an hour at four a second.
const MAX_KEPT_APART: usize = 3_600;
/// Times of versions that are kept apart: of the present one, and of those before it that requests may still be under way to.
const MAX_TIMES: usize = 4;

/// Adds one to a list in order of time. Of too many the smallest is left out, the earliest of equals, and never the last: so a night of
/// many small ones leaves what matters.
pub(super) fn keep<T>(list: &mut VecDeque<T>, one: T, most: usize, size: impl Fn(&T) -> u64) {
    while list.len() >= most {
        let smallest = list.iter().map(&size).enumerate();
        let Some((place, _)) = smallest.min_by_key(|(_, size)| *size) else {
            break;
        };
        list.remove(place);
    }
    list.push_back(one);
}

/// How many requests a stretch cost.
pub(super) const fn lost(one: &CandidateFailures) -> u64 {
    one.failed.saturating_add(one.not_sent)
}

/// What of the candidate was counted between two looks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Look {
    /// But for those that timed out.
    pub(super) failed: u64,
    pub(super) timed_out: u64,
    pub(super) answered: u64,
    pub(super) not_sent: u64,
}

impl Look {
    /// Adds requests without a verdict. What says nothing of the candidate is left out.
    pub(super) fn add(&mut self, reason: Reason, count: u64) {
        let sum = if reason == Reason::BreakerOpen {
            &mut self.not_sent
        } else if reason == Reason::CandidateTimeout {
            &mut self.timed_out
        } else if reason.is_unanswered() {
            &mut self.failed
        } else if reason.is_candidate_failure() {
            // An answer that cannot be compared is one.
            &mut self.answered
        } else {
            return;
        };
        *sum = sum.saturating_add(count);
    }

    /// Adds what was counted elsewhere at the same time.
    pub(super) fn merge(&mut self, other: &Self) {
        self.failed = self.failed.saturating_add(other.failed);
        self.timed_out = self.timed_out.saturating_add(other.timed_out);
        self.answered = self.answered.saturating_add(other.answered);
        self.not_sent = self.not_sent.saturating_add(other.not_sent);
    }

    /// Whether anything was counted.
    pub(super) const fn is_any(self) -> bool {
        self.failed > 0 || self.timed_out > 0 || self.answered > 0 || self.not_sent > 0
    }
}

/// The latest stretches, in which what timed out counts when it was sent.
#[derive(Default)]
pub(super) struct Stretches {
    /// The times of versions, the latest last.
    times: VecDeque<VersionTime>,
    /// Those of times of which nothing more is expected.
    before: VecDeque<CandidateFailures>,
}

/// The time in which a version of the candidate was the one that is compared.
struct VersionTime {
    version: Box<str>,
    /// The first configuration with it.
    began: usize,
    /// Of looks so long ago that nothing of theirs can time out any more.
    settled: Found,
    /// The looks behind these, in order of time, each without what timed out in it, and with what timed out of it.
    apart: VecDeque<(Timestamp, Look)>,
}

impl Stretches {
    /// Adds what was counted since the last look by the configuration of this number, which counts for this version. What timed out was
    /// sent so long `before`.
    pub(super) fn look(
        &mut self,
        look: Look,
        (generation, version): (usize, &str),
        now: Timestamp,
        before: Duration,
    ) {
        if look.is_any() {
            let before = i64::try_from(before.as_micros()).unwrap_or(i64::MAX);
            let sent = now.as_micros().saturating_sub(before);
            if let Some(time) = self.time_of(generation, version) {
                time.look(look, now, Timestamp::from_micros(sent));
            }
        }
    }

    /// The time of a version that a configuration is of: it goes on if the one before was of that version, too. `None` if it is older than all
    /// that are kept: what comes so late is of no other one.
    fn time_of(&mut self, generation: usize, version: &str) -> Option<&mut VersionTime> {
        let behind = |time: &VersionTime| time.began <= generation;
        let place = self.times.partition_point(behind);
        let before = place.checked_sub(1);
        let known = before.filter(|before| {
            let time = self.times.get(*before);
            time.is_some_and(|time| *time.version == *version)
        });
        if let Some(known) = known {
            return self.times.get_mut(known);
        }
        let new = VersionTime {
            version: version.into(),
            began: generation,
            settled: Found::default(),
            apart: VecDeque::new(),
        };
        self.times.insert(place, new);
        if self.times.len() <= MAX_TIMES {
            return self.times.get_mut(place);
        }
        for one in self.times.pop_front().iter().flat_map(VersionTime::told) {
            keep(&mut self.before, one, MAX_STRETCHES, lost);
        }
        self.times.get_mut(place.checked_sub(1)?)
    }

    /// The stretches, the earliest first, with those that go on.
    pub(super) fn told(&self) -> Vec<CandidateFailures> {
        let of_times = self.times.iter().flat_map(VersionTime::told);
        let mut all: Vec<CandidateFailures> = self.before.iter().cloned().chain(of_times).collect();
        all.sort_by_key(|one| one.from);
        let mut kept = VecDeque::new();
        for one in all {
            keep(&mut kept, one, MAX_STRETCHES, lost);
        }
        kept.into()
    }
}

impl VersionTime {
    fn look(&mut self, look: Look, now: Timestamp, sent: Timestamp) {
        if look.timed_out > 0 {
            self.timed_out(look.timed_out, sent);
        }
        let look = Look {
            timed_out: 0,
            ..look
        };
        self.apart.push_back((now, look));
        let is_over = |(at, _): &(Timestamp, Look)| *at < sent.saturating_add_micros(-NEAR_MICROS);
        while self.apart.front().is_some_and(is_over) || self.apart.len() > MAX_KEPT_APART {
            if let Some((at, look)) = self.apart.pop_front() {
                self.settled.look(look, &self.version, at);
            }
        }
    }

    /// Counts time-outs in the look of the time when they were sent.
    fn timed_out(&mut self, count: u64, sent: Timestamp) {
        let place = self.apart.partition_point(|(at, _)| *at < sent);
        if let Some((at, look)) = self.apart.get_mut(place)
            && at.as_micros().saturating_sub(sent.as_micros()) < LOOK_MICROS
        {
            look.failed = look.failed.saturating_add(count);
            return;
        }
        let look = Look {
            failed: count,
            ..Look::default()
        };
        self.apart.insert(place, (sent, look));
    }

    fn told(&self) -> Vec<CandidateFailures> {
        let mut found = self.settled.clone();
        for (at, look) in &self.apart {
            found.look(*look, &self.version, *at);
        }
        found.told()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_secs(5);

    fn at(quarter: i64) -> Timestamp {
        Timestamp::from_micros(1_790_000_000_000_000 + quarter * 250_000)
    }

    /// What is told of looks: when, what failed, what was answered.
    fn told(looks: &[(i64, u64, u64)]) -> Vec<(i64, i64, Option<i64>, u64)> {
        let mut stretches = Stretches::default();
        for (quarter, failed, answered) in looks {
            let look = Look {
                failed: *failed,
                answered: *answered,
                ..Look::default()
            };
            stretches.look(look, (0, "2"), at(*quarter), DEADLINE);
        }
        let quarter = |time: Timestamp| (time.as_micros() - at(0).as_micros()) / 250_000;
        let each = stretches.told().into_iter();
        each.map(|one| {
            assert_eq!(one.candidate_version, "2");
            let answered = one.answered.map(quarter);
            (quarter(one.from), quarter(one.to), answered, one.failed)
        })
        .collect()
    }

    #[test]
    fn a_stretch_is_from_the_first_failure_to_the_first_answer() {
        let outage = [(0, 0, 9), (1, 4, 5), (2, 9, 0), (3, 0, 0), (40, 1, 0)];
        assert_eq!(told(&outage), [(1, 40, None, 14)]);
        let over = [&outage[..], &[(60, 0, 1), (61, 0, 9)]].concat();
        assert_eq!(told(&over), [(1, 40, Some(60), 14)]);
        // Two that are near are two.
        let two = [&over[..], &[(64, 8, 1), (68, 1, 8)]].concat();
        assert_eq!(told(&two), [(1, 40, Some(60), 14), (64, 68, Some(68), 9)]);
    }

    #[test]
    fn what_was_not_sent_is_of_the_stretch_in_which_it_was_not() {
        let mut stretches = Stretches::default();
        for (quarter, failed, answered, not_sent) in [
            (0, 0, 9, 0),
            (4, 5, 0, 0),
            (5, 0, 0, 9),
            (9, 1, 0, 8),
            // The probe is answered, and another thread is a moment behind.
            (12, 0, 1, 7),
            (13, 0, 0, 1),
            (14, 0, 9, 0),
            (40, 6, 2, 0),
            (41, 0, 0, 3),
            (60, 0, 4, 0),
            // A breaker of one failure.
            (80, 1, 0, 0),
            (81, 0, 0, 9),
        ] {
            let look = Look {
                failed,
                answered,
                not_sent,
                ..Look::default()
            };
            stretches.look(look, (0, "2"), at(quarter), DEADLINE);
        }
        let told = stretches.told();
        let told: Vec<_> = told.iter().map(|one| (one.failed, one.not_sent)).collect();
        assert_eq!(told, [(6, 25), (6, 3), (1, 9)]);
        // The last failure, and not the last request that was not sent.
        assert_eq!(stretches.told()[0].to, at(9));
        assert_eq!(stretches.told()[2].to, at(80));
    }

    #[test]
    fn what_fails_now_and_then_is_none() {
        let flaky: Vec<_> = (0..400).map(|quarter| (quarter, 2, 60)).collect();
        assert!(told(&flaky).is_empty());
        let seldom: Vec<_> = (0..400)
            .map(|quarter| {
                (
                    quarter * 4,
                    u64::from(quarter % 5 == 0),
                    u64::from(quarter % 5 != 0),
                )
            })
            .collect();
        assert!(told(&seldom).is_empty());
        let many: Vec<_> = (0..400)
            .map(|quarter| {
                (
                    quarter,
                    9 * u64::from(quarter % 2 == 0),
                    9 * u64::from(quarter % 2 == 1),
                )
            })
            .collect();
        assert_eq!(told(&many).len(), MAX_STRETCHES);
    }

    #[test]
    fn another_candidate_does_not_go_on_with_the_outage_of_the_one_before() {
        let mut stretches = Stretches::default();
        let fails = Look {
            failed: 9,
            ..Look::default()
        };
        let answers = Look {
            answered: 9,
            ..Look::default()
        };
        // What is settled late of the first one is its own, and it comes back later.
        for (generation, version, quarter, look) in [
            (0, "1", 0, fails),
            (1, "2", 4, fails),
            (0, "1", 5, fails),
            (1, "2", 8, answers),
            (2, "1", 40, fails),
            (3, "1", 44, fails),
            (4, "3", 60, answers),
        ] {
            stretches.look(look, (generation, version), at(quarter), DEADLINE);
        }
        let told = |stretches: &Stretches| -> Vec<_> {
            let told = stretches.told().into_iter();
            told.map(|one| (one.candidate_version, one.from, one.answered, one.failed))
                .collect()
        };
        let expected = [
            ("1".to_owned(), at(0), None, 18),
            ("2".to_owned(), at(4), Some(at(8)), 9),
            ("1".to_owned(), at(40), None, 18),
        ];
        assert_eq!(told(&stretches), expected);
        // Of many versions the stretches of the first ones are kept, too.
        for (number, version) in (5..).zip(["4", "5", "6", "7"]) {
            stretches.look(answers, (number, version), at(100), DEADLINE);
        }
        assert_eq!(stretches.times.len(), MAX_TIMES);
        assert_eq!(told(&stretches), expected);
        // What fails so late is of none of those that are kept.
        stretches.look(fails, (0, "1"), at(101), DEADLINE);
        assert_eq!(told(&stretches), expected);
    }

    #[test]
    fn a_hang_is_one_stretch_of_when_its_requests_were_sent() {
        // It answers two in each quarter of a second, but for the three seconds from the 20th on, whose requests time out five seconds later.
        for turns in [None, Some(30)] {
            let mut stretches = Stretches::default();
            for quarter in 0..80 {
                let hangs = |at: i64| (20..32).contains(&at);
                let look = Look {
                    answered: if hangs(quarter) { 0 } else { 2 },
                    timed_out: if hangs(quarter - 20) { 2 } else { 0 },
                    ..Look::default()
                };
                // What was sent before the turn times out of the version before it.
                let version = |quarter: i64| match turns {
                    Some(turn) if quarter >= turn => (1, "2"),
                    _ => (0, "1"),
                };
                let late = Look {
                    timed_out: look.timed_out,
                    ..Look::default()
                };
                let prompt = Look {
                    timed_out: 0,
                    ..look
                };
                stretches.look(late, version(quarter - 20), at(quarter), DEADLINE);
                stretches.look(prompt, version(quarter), at(quarter), DEADLINE);
                // What is known so far is of that one, also while its last requests are waited for.
                let told = stretches.told().into_iter();
                let told: Vec<_> = told.filter(|one| one.candidate_version == "1").collect();
                assert_eq!(told.len(), usize::from(quarter > 40), "{quarter}");
                assert!(told.iter().all(|one| one.from == at(20)), "{quarter}");
            }
            let told = stretches.told();
            let told: Vec<_> = told
                .iter()
                .map(|one| (&*one.candidate_version, one.failed, one.from, one.to))
                .collect();
            // The last ones are of the look in which it answers again.
            let expected = match turns {
                None => vec![("1", 24, at(20), at(32))],
                Some(_) => vec![("1", 20, at(20), at(29)), ("2", 4, at(30), at(32))],
            };
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn what_times_out_of_a_time_without_any_look_has_one_of_its_own() {
        let mut stretches = Stretches::default();
        let look = |answered, timed_out| Look {
            timed_out,
            answered,
            ..Look::default()
        };
        stretches.look(look(1, 0), (0, "1"), at(0), DEADLINE);
        stretches.look(look(0, 5), (0, "1"), at(60), DEADLINE);
        stretches.look(look(1, 0), (0, "1"), at(100), DEADLINE);
        // When nothing of it can time out any more it is the same.
        stretches.look(look(1, 0), (0, "1"), at(200), DEADLINE);
        let told = stretches.told();
        let told: Vec<_> = told
            .iter()
            .map(|one| (one.from, one.to, one.answered, one.failed))
            .collect();
        assert_eq!(told, [(at(40), at(40), Some(at(100)), 5)]);
    }
}
