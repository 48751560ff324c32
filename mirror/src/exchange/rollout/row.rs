//! Requests in a row that a service did not answer, with no answer between them.
//!
//! What failed is told by the service itself. Who left only may have waited in vain, so more is asked of those: nobody was answered for
//! [`GIVEN_UP_AFTER`], because a pause of a moment may cost many short deadlines at once; and one client alone, which may open many requests
//! and close them all, says nothing of others, unless the legacy's times at its route leave no doubt and nobody was answered while it waited.
//! So a service whose only client is a gateway is watched, too.
//!
//! An answer costs two relaxed loads where there is no row, and nothing is decided by a request that is answered.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::exchange::reached::{DOWN_AFTER, GIVEN_UP_AFTER};

/// So many of one client count where others must say the same: two less than it takes.
const OF_ONE: usize = DOWN_AFTER as usize - 2;
/// How exactly it is known when the last answer came: so seldom the time is stored, however many answers there are.
const TICK: Duration = Duration::from_millis(16);

/// A client that left.
#[derive(Clone, Copy)]
pub(super) struct Member {
    /// Where it stands.
    pub(super) client: u64,
    /// When it asked.
    pub(super) asked: Instant,
    /// Whether the legacy's times leave no doubt that it waited in vain.
    pub(super) is_clear: bool,
    /// Whether it is the only client that there is.
    pub(super) is_only_one: bool,
}

/// What one more in the row means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// Nothing: one client alone says nothing of others.
    Nothing,
    /// It counts.
    Counts,
    /// They are enough: the service is down.
    Down,
}

/// One row.
pub(super) struct Row {
    origin: Instant,
    /// When the last answer came, in ticks since `origin`; 0 before the first one.
    answered: AtomicU64,
    is_any: AtomicBool,
    members: Mutex<Members>,
}

#[derive(Default)]
struct Members {
    /// Those that failed, and those that left and need nobody else to say so.
    sure: u32,
    /// The clients of the others.
    others: Vec<u64>,
    /// The first client of all that left, and whether there is another one.
    client: Option<u64>,
    are_several: bool,
    /// When the first of those that left asked.
    first: Option<Instant>,
}

impl Row {
    pub(super) fn new() -> Self {
        Self {
            origin: Instant::now(),
            answered: AtomicU64::new(0),
            is_any: AtomicBool::new(false),
            members: Mutex::default(),
        }
    }

    /// The service answered, which ends the row.
    pub(super) fn answered(&self, now: Instant) {
        // Read first: a store on every answer would bounce the cache line between cores.
        let tick = self.tick(now);
        if self.answered.load(Ordering::Relaxed) < tick {
            self.answered.store(tick, Ordering::Relaxed);
        }
        if self.is_any.load(Ordering::Relaxed) {
            self.clear();
        }
    }

    /// The row begins anew.
    pub(super) fn clear(&self) {
        let mut members = self.lock();
        *members = Members::default();
        self.is_any.store(false, Ordering::Relaxed);
    }

    /// The service failed; returns whether it is down.
    pub(super) fn failed(&self) -> bool {
        let mut members = self.lock();
        self.is_any.store(true, Ordering::Relaxed);
        members.sure = members.sure.saturating_add(1);
        members.sure >= DOWN_AFTER
    }

    /// A client left.
    pub(super) fn left(&self, member: Member, now: Instant) -> Means {
        let answered = self.answered.load(Ordering::Relaxed);
        let is_quiet = answered < self.tick(member.asked);
        let mut members = self.lock();
        if member.is_only_one || (member.is_clear && is_quiet) {
            members.sure = members.sure.saturating_add(1);
        } else {
            let others = &mut members.others;
            let of_it = others.iter().filter(|other| **other == member.client);
            if of_it.count() < OF_ONE && others.len() < DOWN_AFTER as usize {
                others.push(member.client);
            }
        }
        self.is_any.store(true, Ordering::Relaxed);
        let first = members
            .first
            .map_or(member.asked, |first| first.min(member.asked));
        members.first = Some(first);
        let client = *members.client.get_or_insert(member.client);
        members.are_several |= client != member.client;
        let others = if members.are_several {
            members.others.len()
        } else {
            0
        };
        let counted = members.sure.saturating_add(others as u32);
        let last = self.origin + TICK * u32::try_from(answered).unwrap_or(u32::MAX);
        let silent_since = if answered == 0 {
            first
        } else {
            first.max(last)
        };
        match counted {
            0 => Means::Nothing,
            DOWN_AFTER.. if now.saturating_duration_since(silent_since) >= GIVEN_UP_AFTER => {
                Means::Down
            }
            _ => Means::Counts,
        }
    }

    fn tick(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.origin);
        1 + u64::try_from(since.as_millis() / TICK.as_millis()).unwrap_or(u64::MAX - 1)
    }

    fn lock(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_millis(700);

    /// What each of these clients means that leave now and asked so long ago.
    fn leave(row: &Row, waited: Duration, clients: &[u64], is_clear: bool) -> Vec<Means> {
        // Later than anything before, as time is.
        let now = Instant::now() + LONG * 10;
        let member = |client: &u64| Member {
            client: *client,
            asked: now.checked_sub(waited).unwrap_or(now),
            is_clear,
            is_only_one: false,
        };
        clients
            .iter()
            .map(|client| row.left(member(client), now))
            .collect()
    }

    use Means::{Counts, Down, Nothing};

    #[test]
    fn one_client_alone_takes_nobody_back_and_two_do() {
        let row = Row::new();
        assert_eq!(leave(&row, LONG, &[7; 40], false), [Nothing; 40]);
        assert_eq!(leave(&row, LONG, &[8, 8], false), [Counts, Down]);
        row.clear();
        assert_eq!(
            leave(&row, LONG, &[1, 2, 3, 4, 5], false)[1..],
            [Counts, Counts, Counts, Down]
        );
    }

    #[test]
    fn one_client_is_enough_where_the_legacy_leaves_no_doubt_and_nobody_is_answered() {
        let row = Row::new();
        assert_eq!(leave(&row, LONG, &[7; 5], true)[3..], [Counts, Down]);
        // Somebody was answered while it waited.
        row.answered(Instant::now() + LONG * 10);
        assert_eq!(leave(&row, LONG, &[7; 40], true), [Nothing; 40]);
        // There is no other.
        row.clear();
        let now = Instant::now() + LONG * 12;
        let only = Member {
            client: 7,
            asked: now.checked_sub(LONG).unwrap_or(now),
            is_clear: false,
            is_only_one: true,
        };
        assert_eq!([(); 5].map(|()| row.left(only, now))[3..], [Counts, Down]);
    }

    #[test]
    fn short_deadlines_in_a_pause_of_a_moment_are_not_enough() {
        let row = Row::new();
        let short = Duration::from_millis(100);
        assert_eq!(
            leave(&row, short, &[1, 2, 3, 4, 5, 6], true),
            [Counts; 6],
            "it may have been answering 100 ms ago"
        );
        assert_eq!(leave(&row, LONG, &[7], true), [Down]);
    }

    #[test]
    fn failures_need_nobody_else_and_an_answer_ends_the_row() {
        let row = Row::new();
        for _ in 0..3 {
            for _ in 1..DOWN_AFTER {
                assert!(!row.failed());
            }
            row.answered(Instant::now());
        }
        for _ in 1..DOWN_AFTER {
            assert!(!row.failed());
        }
        assert_eq!(leave(&row, LONG, &[7], true), [Down]);
    }
}
