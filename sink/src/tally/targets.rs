//! The targets of compared requests: hashed with a key that never leaves, and counted in a few hundred bytes a route.
//!
//! Hashing and counting take some tens of nanoseconds and no memory. The key is made of the key of the redaction: random
//! for each process by default, and the same for all instances if a file has it. The hash is that of the standard library
//! (`SipHash`), whose outputs say nothing of each other without the key.

use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::Hasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use parity_schemas::targets::{DistinctTargets, FrequentTargets};

/// Said before what is hashed, so that the key of the redaction is used for nothing else in the same way.
const PURPOSE: &[u8] = b"parity targets\0";
/// What is hashed to name the key. It is no target, because a method has no space.
const NAME: (&str, &str) = ("the name", "of the key");

/// Hashes targets.
#[derive(Clone)]
pub struct TargetKey {
    /// Has taken in the key.
    keyed: DefaultHasher,
    name: String,
}

/// The keyed hash of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetHash(u64);

impl TargetKey {
    /// Of a secret.
    pub fn new(secret: &[u8]) -> Self {
        let mut keyed = DefaultHasher::new();
        keyed.write(PURPOSE);
        keyed.write(secret);
        let mut key = Self {
            keyed,
            name: String::new(),
        };
        // Hashed as targets are: a program whose standard library hashes otherwise also has another name for the key.
        let (method, target) = NAME;
        key.name = format!("{:016x}", key.hash(method, target).0);
        key
    }

    /// The hash of what a request asks for; `target` is its path and query.
    pub fn hash(&self, method: &str, target: &str) -> TargetHash {
        let mut hasher = self.keyed.clone();
        hasher.write(method.as_bytes());
        hasher.write(b" ");
        hasher.write(target.as_bytes());
        TargetHash(hasher.finish())
    }

    /// The same for a request that says in its body what it asks for.
    pub fn hash_with_body(&self, method: &str, target: &str, body: &[u8]) -> TargetHash {
        let mut hasher = self.keyed.clone();
        hasher.write_u64(self.hash(method, target).0);
        hasher.write(body);
        TargetHash(hasher.finish())
    }

    /// Names the key, and says nothing of it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for TargetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TargetKey")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Targets of one route.
#[derive(Default)]
pub(super) struct Targets {
    pub(super) distinct: DistinctTargets,
    pub(super) frequent: FrequentTargets,
}

impl Targets {
    pub(super) fn add(&mut self, target: TargetHash) {
        self.distinct.add(target.0);
        self.frequent.add(target.0);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.distinct.merge(&other.distinct);
        self.frequent.merge(&other.frequent);
    }
}

/// Targets that one thread counts and the book takes: registers say which targets there were since they were empty, so each
/// interval needs empty ones. Only comparing threads take the lock, and the book for a moment several times a second.
#[derive(Default)]
pub(super) struct NewTargets(Mutex<Targets>);

impl NewTargets {
    pub(super) fn add(&self, target: TargetHash) {
        self.lock().add(target);
    }

    /// Ignores poisoning: nothing here panics halfway.
    fn lock(&self) -> MutexGuard<'_, Targets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `each` with those since the last call, if there are any.
    pub(super) fn take(&self, each: impl FnOnce(&Targets)) {
        let mut targets = self.lock();
        // Empty ones would set no register.
        if targets.distinct != DistinctTargets::default() {
            each(&targets);
            *targets = Targets::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_depends_on_the_key_the_method_and_the_target() {
        let (one, same, other) = (
            TargetKey::new(b"secret"),
            TargetKey::new(b"secret"),
            TargetKey::new(b"secres"),
        );
        assert_eq!(one.name(), same.name());
        assert_ne!(one.name(), other.name());
        let hash = one.hash("GET", "/users/1?page=2");
        assert_eq!(hash, same.hash("GET", "/users/1?page=2"));
        for (method, target) in [
            ("HEAD", "/users/1?page=2"),
            ("GET", "/users/1?page=3"),
            ("GET", "/users/1"),
            ("GET /", "users/1?page=2"),
        ] {
            assert_ne!(hash, one.hash(method, target));
        }
        assert_ne!(hash, other.hash("GET", "/users/1?page=2"));
        assert!(!format!("{one:?}").contains("secret"));
    }

    #[test]
    fn what_is_taken_is_taken_once() {
        let (key, new) = (TargetKey::new(b""), NewTargets::default());
        new.take(|_| panic!("there is nothing"));
        for target in ["/a", "/b", "/a"] {
            new.add(key.hash("GET", target));
        }
        let mut all = Targets::default();
        new.take(|targets| all.merge(targets));
        new.take(|_| panic!("it was taken"));
        assert_eq!(all.frequent.all_distinct(3), Some(2));
        new.add(key.hash("GET", "/b"));
        new.take(|targets| all.merge(targets));
        assert_eq!(all.frequent.most_frequent(4).at_most, 2);
    }
}
