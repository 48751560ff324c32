//! What of a bucket was sent to one version of the candidate.

use std::collections::BTreeSet;

use parity_schemas::history::{CandidateBucket, History, HistoryBucket};

/// Requests in a row on which a candidate fails until it is called down: fewer may be those of one bad client.
pub(super) const LEAST_DOWN: u64 = 3;

/// What was sent to a version in a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) compared: u64,
    pub(super) unanswered: u64,
    pub(super) breaker_open: u64,
}

impl Sent {
    /// Whether something was sent to it, or was not because it keeps failing.
    pub(super) const fn is_any(self) -> bool {
        self.compared > 0 || self.breaker_open > 0
    }

    /// Whether it failed on most, and on so many that they are not those of one bad client.
    pub(super) const fn fails_mostly(self) -> bool {
        self.unanswered >= LEAST_DOWN && self.unanswered >= self.compared.div_ceil(2)
    }

    /// Whether it answered none of it.
    pub(super) const fn is_silent(self) -> bool {
        self.unanswered >= self.compared
    }
}

/// What of a bucket is of one version.
pub(super) enum Part {
    /// This.
    Its(Sent),
    /// Nothing: only others counted.
    Others,
    /// Several counted, and which part is whose is not told.
    Unknown,
}

/// What of this bucket is of this version, of those that get requests now.
pub(super) fn part(
    history: &History,
    bucket: &HistoryBucket,
    version: &str,
    live: &BTreeSet<&str>,
) -> Part {
    let is_it = |one: &&CandidateBucket| one.candidate_version == version;
    if let Some(one) = bucket.candidates.iter().find(is_it) {
        return Part::Its(Sent {
            compared: one.compared,
            unanswered: one.unanswered,
            breaker_open: one.breaker_open,
        });
    }
    if !bucket.candidates.is_empty() {
        return Part::Others;
    }
    let all = Sent {
        compared: bucket.compared,
        unanswered: bucket.candidate_unanswered,
        breaker_open: bucket.breaker_open,
    };
    let versions = history.versions(bucket);
    if versions.iter().all(|one| *one == version) {
        Part::Its(all)
    } else if !versions.contains(version) {
        Part::Others
    } else if versions.is_subset(live) {
        // A document of an earlier program: if all failed, each of them did.
        Part::Its(all)
    } else {
        Part::Unknown
    }
}
