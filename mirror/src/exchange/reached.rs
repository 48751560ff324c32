//! Whether a service answers, as the last request to it told, of a client or of a shadow.
//!
//! Until it was asked nobody knows, and nothing else is claimed.
//!
//! A service that hangs neither answers nor fails: all that is seen of it is that those who wait for it leave. One who leaves may have
//! reasons of his own; several in a row, with no answer between them, mean that it does not answer.

use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, Ordering};
use std::time::Duration;

use parity_schemas::time::Timestamp;

/// This many requests in a row that a service did not begin to answer mean that it is down. Each of them has cost a client time, so it is
/// few; one client that repeats a request which kills a service is not enough.
pub(crate) const DOWN_AFTER: u32 = 5;

/// A client that leaves sooner has changed its mind. Nobody's time-out is shorter than half a second, and a page that is left while it
/// loads is left by then.
pub(crate) const GIVEN_UP_AFTER: Duration = Duration::from_millis(500);

/// No request was sent to it yet.
const UNASKED: u8 = 0;
/// It answered the last one.
const ANSWERS: u8 = 1;
/// It did not.
const DOWN: u8 = 2;
/// It answered the last one that was not given up, and clients have given up on it since.
const DOUBTED: u8 = 3;

/// What is known of one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceSeen {
    /// Whether it has answered anything since the process began, or failed to. Until then nobody knows whether it answers.
    pub asked: bool,
    /// When it was first noticed that it does not answer; `None` if it answered the last request, or was asked nothing.
    pub failing_since: Option<Timestamp>,
}

/// The state of one service.
#[derive(Default)]
pub(super) struct Reached {
    /// [`UNASKED`], [`ANSWERS`], [`DOWN`] or [`DOUBTED`].
    state: AtomicU8,
    /// When it began to be down, in microseconds since 1970.
    down_since: AtomicI64,
    /// When it began to answer again, or first did.
    answers_since: AtomicI64,
    /// Clients in a row that gave up on it, without an answer between them; and when the first of them left.
    given_up: AtomicU32,
    given_up_since: AtomicI64,
}

impl Reached {
    /// Records whether it answered; returns whether that has changed. That it answers the first request is no change.
    pub(super) fn answers(&self, answers: bool) -> bool {
        if answers {
            self.is(ANSWERS, Duration::ZERO)
        } else {
            self.failed(Duration::ZERO)
        }
    }

    /// It did not answer a request that was sent so long `before`; returns whether that has changed. If it has begun to answer since, that is
    /// over, and says nothing of now.
    pub(super) fn failed(&self, before: Duration) -> bool {
        if !before.is_zero() && self.state.load(Ordering::Acquire) == ANSWERS {
            let sent = Timestamp::now().as_micros().saturating_sub(micros(before));
            if sent <= self.answers_since.load(Ordering::Relaxed) {
                return false;
            }
        }
        self.is(DOWN, before)
    }

    /// Records a state that is so long since.
    fn is(&self, now: u8, since: Duration) -> bool {
        // Read first: a store on every answer would bounce the cache line between cores.
        let before = self.state.load(Ordering::Relaxed);
        if before == now {
            return false;
        }
        self.given_up.store(0, Ordering::Relaxed);
        let times = match now {
            DOWN => &self.down_since,
            _ => &self.answers_since,
        };
        let since = Timestamp::now().as_micros().saturating_sub(micros(since));
        times.store(since, Ordering::Relaxed);
        // Behind its time: who sees that it is down must see since when.
        self.state.store(now, Ordering::Release);
        before == DOWN || now == DOWN
    }

    /// A client left that had waited for the head of its answer for [`GIVEN_UP_AFTER`]; returns whether the service is known by that not to
    /// answer, and was not before. Two workers at once may count as one; one client more then tells it.
    pub(super) fn given_up(&self) -> bool {
        let before = self.state.load(Ordering::Relaxed);
        if before == DOWN {
            return false;
        }
        let row = self.given_up.fetch_add(1, Ordering::Relaxed) + 1;
        if row == 1 {
            let now = Timestamp::now().as_micros();
            self.given_up_since.store(now, Ordering::Relaxed);
        }
        if row < DOWN_AFTER {
            // So that the next answer, which only compares the state, ends the row.
            let relaxed = Ordering::Relaxed;
            let _other = self
                .state
                .compare_exchange(ANSWERS, DOUBTED, relaxed, relaxed);
            return false;
        }
        let since = self.given_up_since.load(Ordering::Relaxed);
        self.down_since.store(since, Ordering::Relaxed);
        self.state.swap(DOWN, Ordering::Release) != DOWN
    }

    /// It is another one from now on, of which nothing is known.
    pub(super) fn forget(&self) {
        self.given_up.store(0, Ordering::Relaxed);
        self.state.store(UNASKED, Ordering::Relaxed);
    }

    /// Whether it answered the last request that was not given up, or got none.
    pub(super) fn is_reachable(&self) -> bool {
        self.state.load(Ordering::Relaxed) != DOWN
    }

    /// What is known of it.
    pub(super) fn seen(&self) -> ServiceSeen {
        let state = self.state.load(Ordering::Acquire);
        let since = || Timestamp::from_micros(self.down_since.load(Ordering::Relaxed));
        ServiceSeen {
            asked: state != UNASKED,
            failing_since: (state == DOWN).then(since),
        }
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_out_is_of_when_the_request_was_sent() {
        let (seen, minute) = (Reached::default(), Duration::from_mins(1));
        assert!(!seen.answers(true));
        assert!(!seen.failed(minute), "it was sent before the first answer");
        assert!(seen.is_reachable());
        assert!(seen.answers(false) && seen.answers(true));
        assert!(!seen.failed(minute), "it answers since");
        assert!(seen.seen().failing_since.is_none());
        assert!(seen.answers(false));
        let since = seen.seen().failing_since;
        assert!(!seen.failed(minute), "nothing has changed");
        assert_eq!(seen.seen().failing_since, since);
        // One that was never asked before.
        let other = Reached::default();
        let now = Timestamp::now().as_micros();
        assert!(other.failed(minute));
        let since = other.seen().failing_since.expect("it is down").as_micros();
        assert!((now - 60_000_000..now).contains(&since));
    }

    /// So many clients give up; whether each time the service was found down by that.
    fn give_up(seen: &Reached, times: u32) -> Vec<bool> {
        (0..times).map(|_| seen.given_up()).collect()
    }

    #[test]
    fn clients_in_a_row_that_give_up_find_it_down_since_the_first_of_them() {
        let seen = Reached::default();
        assert!(!seen.answers(true));
        let begin = Timestamp::now();
        assert_eq!(give_up(&seen, DOWN_AFTER - 1), [false; 4]);
        assert!(seen.is_reachable() && seen.seen().failing_since.is_none());
        let fourth = Timestamp::now();
        assert_eq!(give_up(&seen, 3), [true, false, false], "told once");
        let since = seen.seen().failing_since.expect("it is down");
        assert!(begin <= since && since <= fourth && !seen.is_reachable());
        assert!(seen.answers(true), "it is back");
        assert!(seen.is_reachable());
        assert_eq!(give_up(&seen, 4), [false; 4], "another row");
    }

    #[test]
    fn an_answer_between_them_ends_the_row_also_before_the_first_one() {
        let seen = Reached::default();
        for _ in 0..3 {
            assert_eq!(give_up(&seen, DOWN_AFTER - 1), [false; 4]);
            assert!(!seen.answers(true), "it has always been there");
        }
        assert!(seen.is_reachable());
        seen.forget();
        assert_eq!(give_up(&seen, DOWN_AFTER - 1), [false; 4]);
        assert!(!seen.seen().asked);
        assert_eq!(give_up(&seen, 1), [true], "it never answered anybody");
        assert!(seen.seen().asked);
    }

    #[test]
    fn a_failure_is_told_since_itself_whoever_gave_up_before() {
        let seen = Reached::default();
        assert_eq!(give_up(&seen, 2), [false; 2]);
        let begin = Timestamp::now();
        assert!(seen.answers(false));
        assert!(
            seen.seen()
                .failing_since
                .is_some_and(|since| since >= begin)
        );
        assert_eq!(give_up(&seen, 9), [false; 9]);
    }
}
