//! Of which requests the candidate has made calls: that is how it is known that they have reached it at all.
//!
//! A mirror need not send each request to the candidate: it may sample, a breaker may be open, a route may not be shadowed. The legacy's
//! calls for such a request have no partner, and that is no fault of the candidate.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};

/// Requests that are remembered, about a megabyte. What is forgotten only makes a missing call less certain.
const REQUESTS: usize = 50_000;

/// Whether a mirror sends the candidate each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shadowed {
    /// Each one: a call of the legacy without a partner is missing.
    All,
    /// Not each one: a call of a request of which nothing came from the candidate does not count.
    Some,
}

/// The latest requests of which a call of the candidate came, by their correlation ids.
#[derive(Default)]
pub(super) struct Reached {
    seen: HashSet<u64>,
    oldest: VecDeque<u64>,
    hashes: RandomState,
}

impl Reached {
    pub(super) fn note(&mut self, id: &str) {
        let id = self.hashes.hash_one(id);
        if !self.seen.insert(id) {
            return;
        }
        self.oldest.push_back(id);
        if self.oldest.len() > REQUESTS
            && let Some(forgotten) = self.oldest.pop_front()
        {
            self.seen.remove(&forgotten);
        }
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.seen.contains(&self.hashes.hash_one(id))
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
        assert_eq!(reached.seen.len(), REQUESTS);
    }
}
