//! How the requests of the last seconds ended for their clients.
//!
//! Counted where counters are gathered, a few times a second, and not where requests are: so it costs them nothing. It is of the
//! process alone, in memory alone.

use std::collections::VecDeque;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::lately::{
    ClientFailures, ClientsNow, GaveUp, MAX_STRETCHES, NOW_MICROS, WaitedFor,
};
use parity_schemas::time::Timestamp;

use super::stretches::keep;

const SECOND_MICROS: i64 = 1_000_000;

/// What one second had.
struct Second {
    number: i64,
    counts: [u64; ClientOutcome::COUNT],
    gave_up: [u64; WaitedFor::ALL.len()],
}

/// The last seconds, the latest last; never more than [`NOW_MICROS`] has, and the running one.
#[derive(Default)]
pub(super) struct Lately {
    seconds: VecDeque<Second>,
    failures: Option<ClientFailures>,
    /// The stretches of failures before, the earliest first.
    earlier: VecDeque<ClientFailures>,
    /// The last stretch in which clients gave up on each service.
    gave_up: [Option<ClientFailures>; WaitedFor::ALL.len()],
}

/// The second in which "now" begins, and the running one.
fn range(now: Timestamp) -> (i64, i64) {
    let number = now.as_micros().div_euclid(SECOND_MICROS);
    (number - NOW_MICROS / SECOND_MICROS, number)
}

impl Lately {
    /// Counts requests that ended so.
    pub(super) fn add(&mut self, outcome: ClientOutcome, count: u64, now: Timestamp) {
        if outcome.is_failure()
            && let Some(over) = ClientsNow::fail(&mut self.failures, count, now)
        {
            keep(&mut self.earlier, over, MAX_STRETCHES, |one| one.failed);
        }
        if let Some(second) = self.second(now)
            && let Some(sum) = second.counts.get_mut(outcome.index())
        {
            *sum = sum.saturating_add(count);
        }
    }

    /// Counts clients that gave up on this service.
    pub(super) fn add_gave_up(&mut self, service: WaitedFor, count: u64, now: Timestamp) {
        // Only the last stretch is told: the record has all that left.
        let _over = ClientsNow::fail(&mut self.gave_up[service.index()], count, now);
        if let Some(second) = self.second(now) {
            let sum = &mut second.gave_up[service.index()];
            *sum = sum.saturating_add(count);
        }
    }

    /// The running second.
    fn second(&mut self, now: Timestamp) -> Option<&mut Second> {
        let (first, last) = range(now);
        // What is later than now is of a clock that was set back.
        self.seconds
            .retain(|second| first <= second.number && second.number <= last);
        if self
            .seconds
            .back()
            .is_none_or(|second| second.number != last)
        {
            self.seconds.push_back(Second {
                number: last,
                counts: [0; ClientOutcome::COUNT],
                gave_up: Default::default(),
            });
        }
        self.seconds.back_mut()
    }

    /// What is known at this time by a process that began then.
    pub(super) fn told(&self, began: Timestamp, now: Timestamp) -> ClientsNow {
        let (first, last) = range(now);
        let mut told = ClientsNow {
            from: Timestamp::from_micros(first * SECOND_MICROS).max(began.min(now)),
            to: now,
            failures: self.failures,
            earlier_failures: self.earlier.iter().copied().collect(),
            ..ClientsNow::default()
        };
        let [of_legacy, of_candidate] = self.gave_up;
        told.gave_up_on_legacy.last = of_legacy;
        told.gave_up_on_candidate.last = of_candidate;
        let of_now = self.seconds.iter();
        for second in of_now.filter(|second| first <= second.number && second.number <= last) {
            for (outcome, count) in ClientOutcome::ALL.iter().zip(second.counts) {
                if count > 0 {
                    let sum = told.clients.entry(*outcome).or_default();
                    *sum = sum.saturating_add(count);
                }
            }
            let [of_legacy, of_candidate] = second.gave_up;
            let more = |told: &mut GaveUp, count| told.now = told.now.saturating_add(count);
            more(&mut told.gave_up_on_legacy, of_legacy);
            more(&mut told.gave_up_on_candidate, of_candidate);
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use ClientOutcome::{LegacyUnreachable, Success};

    use super::*;

    fn at(tenths: i64) -> Timestamp {
        Timestamp::from_micros(1_790_000_000_000_000 + tenths * 100_000)
    }

    #[test]
    fn now_is_ten_seconds_and_no_more() {
        let mut lately = Lately::default();
        assert_eq!(lately.told(at(-5), at(0)).from, at(-5));
        for second in 0..100 {
            lately.add(Success, 2, at(second * 10));
        }
        assert!(lately.seconds.len() <= 11, "{}", lately.seconds.len());
        let told = lately.told(at(-5), at(995));
        assert_eq!((told.from, told.to), (at(890), at(995)));
        assert_eq!((told.ended(), told.failed()), (22, 0));
        // It passes without anybody counting.
        assert_eq!(lately.told(at(-5), at(1_085)).ended(), 4);
        assert_eq!(lately.told(at(-5), at(1_100)).ended(), 0);
    }

    #[test]
    fn failures_are_now_while_they_last_and_afterwards_a_stretch_with_an_end() {
        let mut lately = Lately::default();
        for tenth in [100, 103, 150] {
            lately.add(LegacyUnreachable, 3, at(tenth));
        }
        lately.add(Success, 5, at(151));
        let told = lately.told(at(0), at(152));
        assert_eq!((told.failed(), told.ended()), (9, 14));
        let stretch = ClientFailures {
            from: at(100),
            to: at(150),
            failed: 9,
        };
        assert_eq!(told.failures, Some(stretch));
        // Ten seconds later it is over, and still known.
        let told = lately.told(at(0), at(260));
        assert_eq!((told.failed(), told.failures), (0, Some(stretch)));
        lately.add(LegacyUnreachable, 1, at(300));
        let told = lately.told(at(0), at(300));
        assert_eq!(told.failures.map(|next| next.from), Some(at(300)));
        assert_eq!(told.earlier_failures, [stretch]);
    }

    #[test]
    fn who_gave_up_is_told_by_service_now_and_since_when() {
        let mut lately = Lately::default();
        for tenth in [100, 150] {
            lately.add(ClientOutcome::ClientAborted, 4, at(tenth));
            lately.add_gave_up(WaitedFor::Candidate, 3, at(tenth));
        }
        let told = lately.told(at(0), at(152));
        assert_eq!((told.failed(), told.left(), told.ended()), (0, 8, 8));
        assert_eq!(told.failures, None, "nobody was failed");
        assert_eq!(told.gave_up_on_legacy, GaveUp::default());
        let last = Some(ClientFailures {
            from: at(100),
            to: at(150),
            failed: 6,
        });
        assert_eq!(told.gave_up_on_candidate, GaveUp { now: 6, last });
        let services = |told: &ClientsNow| told.given_up().map(|(service, _)| service).next();
        assert_eq!(services(&told), Some(WaitedFor::Candidate));
        // Among many that are well, some always leave.
        lately.add(Success, 113, at(152));
        assert_eq!(services(&lately.told(at(0), at(152))), None);
        // Ten seconds later it is over, and still known.
        let told = lately.told(at(0), at(260));
        assert_eq!(told.gave_up_on_candidate, GaveUp { now: 0, last });
    }

    #[test]
    fn a_clock_that_is_set_back_leaves_nothing_of_the_future() {
        let mut lately = Lately::default();
        lately.add(LegacyUnreachable, 1, at(36_000));
        lately.add(Success, 1, at(0));
        let told = lately.told(at(0), at(1));
        assert_eq!((told.ended(), told.failed()), (1, 0));
    }
}
