//! Whether the calls of one request come in the same order on both sides.
//!
//! Only a correlation header tells which calls belong to one request; without one, calls of many requests are mixed, and their order says
//! nothing.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

/// Requests whose calls are remembered: more than are under way at once.
const REQUESTS: usize = 10_000;
/// Calls of one request: its order is compared call by call.
const CALLS: usize = 64;

/// The pairs of one request so far: when each call came, as numbers that rise.
struct Seen {
    pairs: Vec<(u64, u64)>,
    since: Instant,
}

/// What is known of the latest requests.
pub(crate) struct Order {
    requests: HashMap<u64, Seen>,
    oldest: VecDeque<u64>,
    hashes: RandomState,
    /// After this time a request has no more pairs.
    wait: Duration,
    lost: u64,
}

impl Order {
    pub(crate) fn new(wait: Duration) -> Self {
        Self {
            requests: HashMap::new(),
            oldest: VecDeque::new(),
            hashes: RandomState::new(),
            wait,
            lost: 0,
        }
    }

    /// Takes a pair of a request, and says whether the two sides made it and another pair in different orders.
    pub(crate) fn turned(&mut self, id: &str, legacy: u64, candidate: u64, now: Instant) -> bool {
        let id = self.hashes.hash_one(id);
        if !self.requests.contains_key(&id) {
            self.make_room(now);
            self.oldest.push_back(id);
        }
        let seen = self.requests.entry(id).or_insert_with(|| Seen {
            pairs: Vec::new(),
            since: now,
        });
        if seen.pairs.len() >= CALLS {
            self.lost += 1;
            return false;
        }
        let turned = seen.pairs.iter().any(|(other_legacy, other_candidate)| {
            (legacy < *other_legacy) != (candidate < *other_candidate)
        });
        seen.pairs.push((legacy, candidate));
        turned
    }

    /// Requests since the last call whose order is not known.
    pub(crate) fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    fn make_room(&mut self, now: Instant) {
        if self.oldest.len() < REQUESTS {
            return;
        }
        let forgotten = self
            .oldest
            .pop_front()
            .and_then(|id| self.requests.remove(&id));
        let is_early =
            forgotten.is_some_and(|seen| now.saturating_duration_since(seen.since) < self.wait);
        self.lost += u64::from(is_early);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_of_one_request_have_an_order() {
        let now = Instant::now();
        let mut order = Order::new(Duration::from_secs(5));
        assert!(!order.turned("a", 0, 5, now));
        assert!(!order.turned("b", 1, 4, now));
        assert!(!order.turned("a", 2, 6, now), "as before");
        assert!(
            order.turned("a", 3, 1, now),
            "the last one of the legacy is the first one of the candidate"
        );
        assert_eq!(order.take_lost(), 0);
    }

    #[test]
    fn more_calls_or_requests_than_are_remembered_are_told() {
        let now = Instant::now();
        let mut order = Order::new(Duration::from_secs(5));
        for number in 0..CALLS as u64 {
            assert!(!order.turned("a", number, number, now));
        }
        assert!(!order.turned("a", 1_000, 0, now));
        assert_eq!(order.take_lost(), 1);
        for number in 0..REQUESTS as u64 {
            order.turned(&format!("b{number}"), number, number, now);
        }
        assert_eq!(
            order.take_lost(),
            1,
            "the first one is forgotten before its time"
        );
        order.turned("c", 0, 0, now + Duration::from_secs(9));
        assert_eq!(order.take_lost(), 0, "a late one had its time");
    }
}
