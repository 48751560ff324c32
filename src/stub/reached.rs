//! Of which requests the candidate has made calls: that is how it is known that they have reached it at all.
//!
//! A mirror need not send each request to the candidate: it may sample, a breaker may be open, a route may not be shadowed. The legacy's
//! calls for such a request have no partner, and that is no fault of the candidate.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher as _, Hash, RandomState};

/// Requests, and routes of requests, that are remembered, a few megabytes. What is forgotten only makes a missing call less certain.
const REQUESTS: usize = 50_000;

/// Whether a mirror sends the candidate each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shadowed {
    /// Each one: a call of the legacy without a partner is missing.
    All,
    /// Not each one: a call of a request of which nothing came from the candidate does not count.
    Some,
}

/// What is known of the latest ids.
#[derive(Default)]
pub(super) struct Reached {
    /// Those of which a call of the candidate came.
    seen: Latest<u64>,
    /// Which of the legacy's calls came with which: the id and the route.
    called: Latest<(u64, u64)>,
    /// Those with which the legacy has called one route more than once. One request may do so, and so may several that share an id (that
    /// of a user, a page, a transaction), of which some did not reach the candidate: calls do not tell the two apart.
    repeated: Latest<u64>,
    hashes: RandomState,
}

impl Reached {
    /// A call of the candidate came.
    pub(super) fn note(&mut self, id: &str) {
        self.seen.insert(self.hashes.hash_one(id));
    }

    /// A call of the legacy came.
    pub(super) fn note_call(&mut self, id: &str, route: &str) {
        let id = self.hashes.hash_one(id);
        let call = (id, self.hashes.hash_one(route));
        match self.called.insert(call) {
            Noted::Again => {
                self.repeated.insert(id);
            }
            // Whether that one comes again is not known any more.
            Noted::Instead((of, _)) => {
                self.repeated.insert(of);
            }
            Noted::First => {}
        }
    }

    /// Whether a call with this id came from the candidate.
    pub(super) fn has(&self, id: &str) -> bool {
        self.seen.has(&self.hashes.hash_one(id))
    }

    /// Whether an id may be that of several requests.
    pub(super) fn may_be_of_several(&self, id: &str) -> bool {
        self.repeated.has(&self.hashes.hash_one(id))
    }
}

/// What came first is forgotten first.
struct Latest<T> {
    all: HashSet<T>,
    oldest: VecDeque<T>,
}

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self {
            all: HashSet::new(),
            oldest: VecDeque::new(),
        }
    }
}

/// What became of something that is to be remembered.
enum Noted<T> {
    Again,
    First,
    /// It is remembered instead of this.
    Instead(T),
}

impl<T: Copy + Eq + Hash> Latest<T> {
    fn insert(&mut self, one: T) -> Noted<T> {
        if !self.all.insert(one) {
            return Noted::Again;
        }
        self.oldest.push_back(one);
        if self.oldest.len() <= REQUESTS {
            return Noted::First;
        }
        match self.oldest.pop_front() {
            None => Noted::First,
            Some(forgotten) => {
                self.all.remove(&forgotten);
                Noted::Instead(forgotten)
            }
        }
    }

    fn has(&self, one: &T) -> bool {
        self.all.contains(one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_requests_are_remembered() {
        let mut reached = Reached::default();
        for number in 0..=REQUESTS {
            reached.note(&number.to_string());
            reached.note(&number.to_string());
        }
        assert!(!reached.has("0") && reached.has("1"));
        assert_eq!(reached.seen.all.len(), REQUESTS);
    }

    #[test]
    fn an_id_with_which_one_route_was_called_twice_may_be_of_several_requests() {
        let mut reached = Reached::default();
        for (id, route) in [("a", "GET /x"), ("b", "GET /x"), ("a", "GET /y")] {
            reached.note_call(id, route);
        }
        assert!(!reached.may_be_of_several("a") && !reached.may_be_of_several("b"));
        reached.note_call("a", "GET /x");
        assert!(reached.may_be_of_several("a") && !reached.may_be_of_several("b"));
    }

    #[test]
    fn an_id_whose_calls_were_forgotten_may_be_of_several_requests() {
        let mut reached = Reached::default();
        for number in 0..=REQUESTS {
            reached.note_call(&number.to_string(), "GET /x");
        }
        assert!(reached.may_be_of_several("0") && !reached.may_be_of_several("1"));
        assert_eq!(reached.called.all.len(), REQUESTS);
    }
}
