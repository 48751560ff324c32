//! When the candidate gave no answer, to the second, as this process has noticed it.
//!
//! The record counts by minutes, in which an outage of seconds has no begin and no end. So what was counted since the last look, a few
//! times a second, is looked at: a stretch begins with a look in which most failed and ends with one in which most was answered. Requests
//! that were not sent meanwhile belong to the stretch in which they were not, and to no other. A time-out tells something of
//! the time when the request was sent, and comes later: until then the looks are kept apart, so that it counts in the one of that time. Else
//! a hang of three seconds would be several outages after it, each cut by the answers of a candidate that answers again. It is of the
//! process alone, which writes the latest into its watermark; no request pays for it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parity_schemas::lately::{CandidateFailures, MAX_STRETCHES};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;

/// Failures of a stretch that is kept: fewer may be those of one bad client.
const LEAST: u64 = 3;
/// A failure this long before is not the begin of a stretch.
const NEAR_MICROS: i64 = 1_000_000;
/// From one look to the next, and a little more: a request that was sent this long before a look is of that look.
const LOOK_MICROS: i64 = 300_000;
/// Looks that are kept until no time-out of theirs can come any more: of a quarter of an hour at four a second.
const MAX_KEPT_APART: usize = 3_600;

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

    /// Whether anything was counted.
    pub(super) const fn is_any(self) -> bool {
        self.failed > 0 || self.timed_out > 0 || self.answered > 0 || self.not_sent > 0
    }
}

/// The latest stretches, in which what timed out counts when it was sent.
#[derive(Default)]
pub(super) struct Stretches {
    /// Of looks so long ago that nothing of theirs can time out any more.
    settled: Found,
    /// The looks behind these, in order of time, each without what timed out in it, and with what timed out of it.
    apart: VecDeque<Apart>,
}

/// A look that is kept apart.
struct Apart {
    at: Timestamp,
    version: Arc<str>,
    look: Look,
}

impl Stretches {
    /// Adds what was counted of this version since the last look. What timed out was sent so long `before`.
    pub(super) fn look(&mut self, look: Look, version: &str, now: Timestamp, before: Duration) {
        if !look.is_any() {
            return;
        }
        let before = i64::try_from(before.as_micros()).unwrap_or(i64::MAX);
        let sent = now.as_micros().saturating_sub(before);
        let last = self.apart.back().map(|last| &last.version);
        let version = match last {
            Some(last) if **last == *version => Arc::clone(last),
            _ => version.into(),
        };
        if look.timed_out > 0 {
            self.timed_out(look.timed_out, &version, Timestamp::from_micros(sent));
        }
        self.apart.push_back(Apart {
            at: now,
            version,
            look: Look {
                timed_out: 0,
                ..look
            },
        });
        let is_over = |first: &Apart| first.at.as_micros() < sent.saturating_sub(NEAR_MICROS);
        while self.apart.front().is_some_and(is_over) || self.apart.len() > MAX_KEPT_APART {
            if let Some(first) = self.apart.pop_front() {
                self.settled.look(first.look, &first.version, first.at);
            }
        }
    }

    /// Counts time-outs in the look of the time when they were sent. That was of the version of that time.
    fn timed_out(&mut self, count: u64, version: &Arc<str>, sent: Timestamp) {
        let place = self.apart.partition_point(|one| one.at < sent);
        if let Some(one) = self.apart.get_mut(place)
            && one.at.as_micros().saturating_sub(sent.as_micros()) < LOOK_MICROS
        {
            one.look.failed = one.look.failed.saturating_add(count);
            return;
        }
        let before = place.checked_sub(1).and_then(|place| self.apart.get(place));
        let look = Look {
            failed: count,
            ..Look::default()
        };
        let version = before.map_or(version, |before| &before.version);
        let one = Apart {
            at: sent,
            version: Arc::clone(version),
            look,
        };
        self.apart.insert(place, one);
    }

    /// The stretches, the earliest first, with the one that goes on.
    pub(super) fn told(&self) -> Vec<CandidateFailures> {
        let mut found = self.settled.clone();
        for one in &self.apart {
            found.look(one.look, &one.version, one.at);
        }
        found.told()
    }
}

/// Whether these are enough for a stretch. Nothing is left unsent because of one bad client.
const fn counts(one: &CandidateFailures) -> bool {
    one.failed >= LEAST || one.not_sent > 0
}

/// Whether one moment is just behind another.
fn is_near(before: Timestamp, now: Timestamp) -> bool {
    let passed = now.as_micros().saturating_sub(before.as_micros());
    (0..NEAR_MICROS).contains(&passed)
}

/// The stretches of looks of which nothing more will time out.
#[derive(Clone, Default)]
struct Found {
    ended: VecDeque<CandidateFailures>,
    open: Option<CandidateFailures>,
    /// Failures of the look before, among which more was answered.
    begun: Option<(Timestamp, u64)>,
}

impl Found {
    /// Adds what was counted of this version since the last look.
    fn look(&mut self, look: Look, version: &str, now: Timestamp) {
        let Look {
            failed,
            timed_out: _,
            answered,
            not_sent,
        } = look;
        if !look.is_any() {
            return;
        }
        if failed == 0 && answered == 0 && self.open.is_none() {
            // Another thread counted it a moment after the answer that ended the stretch.
            let ended = self.ended.back_mut();
            let of_ended = ended.filter(|one| {
                one.candidate_version == version
                    && one.answered.is_some_and(|answered| is_near(answered, now))
            });
            if let Some(one) = of_ended {
                one.not_sent = one.not_sent.saturating_add(not_sent);
                return;
            }
        }
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.candidate_version != version)
        {
            // It is another candidate: of the one before nothing more will be known.
            self.end(None);
        }
        if failed >= answered {
            let near = self.begun.take();
            let near = near.filter(|(begun, _)| is_near(*begun, now));
            let open = self.open.get_or_insert_with(|| {
                let (from, failed) = near.unwrap_or((now, 0));
                CandidateFailures {
                    candidate_version: version.to_owned(),
                    from,
                    to: now,
                    answered: None,
                    failed,
                    not_sent: 0,
                }
            });
            if failed > 0 {
                open.to = open.to.max(now);
            }
            open.failed = open.failed.saturating_add(failed);
            open.not_sent = open.not_sent.saturating_add(not_sent);
            return;
        }
        if let Some(open) = self.open.as_mut() {
            open.not_sent = open.not_sent.saturating_add(not_sent);
            if failed > 0 {
                open.to = open.to.max(now);
                open.failed = open.failed.saturating_add(failed);
            }
            self.end(Some(now));
            self.begun = None;
        } else {
            self.begun = (failed > 0).then_some((now, failed));
        }
    }

    fn end(&mut self, answered: Option<Timestamp>) {
        if let Some(mut open) = self.open.take().filter(counts) {
            open.answered = answered;
            keep(&mut self.ended, open, MAX_STRETCHES, lost);
        }
    }

    /// The stretches, the earliest first, with the one that goes on.
    fn told(&self) -> Vec<CandidateFailures> {
        let open = self.open.iter().filter(|open| counts(open));
        self.ended.iter().chain(open).cloned().collect()
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
            stretches.look(look, "2", at(*quarter), DEADLINE);
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
            stretches.look(look, "2", at(quarter), DEADLINE);
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
        for (version, quarter) in [("1", 0), ("2", 4)] {
            stretches.look(fails, version, at(quarter), DEADLINE);
        }
        let told = stretches.told();
        let told: Vec<_> = told
            .iter()
            .map(|one| (one.candidate_version.as_str(), one.failed))
            .collect();
        assert_eq!(told, [("1", 9), ("2", 9)]);
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
                let version = if turns.is_some_and(|turn| quarter >= turn) {
                    "2"
                } else {
                    "1"
                };
                stretches.look(look, version, at(quarter), DEADLINE);
                // What is known so far is of that one, also while its last requests are waited for.
                let told = stretches.told();
                assert_eq!(told.len(), usize::from(quarter > 40), "{quarter}");
                assert!(told.iter().all(|one| one.from == at(20)), "{quarter}");
            }
            let told = stretches.told();
            let [one] = &told[..] else {
                panic!("{told:?}");
            };
            // The last ones are of the look in which it answers again, which may be of the next version.
            let (failed, to) = match turns {
                None => (24, 32),
                Some(_) => (22, 30),
            };
            assert_eq!((one.failed, one.from, one.to), (failed, at(20), at(to)));
            assert_eq!(one.candidate_version, "1");
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
        stretches.look(look(1, 0), "1", at(0), DEADLINE);
        stretches.look(look(0, 5), "1", at(60), DEADLINE);
        stretches.look(look(1, 0), "1", at(100), DEADLINE);
        // When nothing of it can time out any more it is the same.
        stretches.look(look(1, 0), "1", at(200), DEADLINE);
        let told = stretches.told();
        let told: Vec<_> = told
            .iter()
            .map(|one| (one.from, one.to, one.answered, one.failed))
            .collect();
        assert_eq!(told, [(at(40), at(40), Some(at(100)), 5)]);
    }
}
