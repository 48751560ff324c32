//! Sets both services beside each other while the candidate serves: a share of errors, and a time, of the last window.
//!
//! It measures what clients get, so it needs no comparison; the gate looks at what differs.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parity_mirror::{RolloutSeen, ServedCounts};

use crate::config::Bounds;

/// The quantile of the times that is compared.
pub(super) const QUANTILE: f64 = 0.95;
/// A candidate that is slower by less is not slower for anybody: as much as the scheduling of a busy machine makes.
const LEAST_SLOWER: Duration = Duration::from_millis(10);
/// Parts of the window that are kept, so that its length is right by so much of it.
const PARTS: u32 = 30;

/// What was seen in the last window.
#[derive(Default)]
pub(super) struct Watch {
    kept: VecDeque<(Instant, RolloutSeen)>,
}

impl Watch {
    /// Why all clients must go back, if so.
    pub(super) fn breach(&self, seen: &RolloutSeen, bounds: &Bounds) -> Option<String> {
        let [legacy, candidate] = self.lately(seen);
        if candidate.requests < bounds.min_requests {
            return None;
        }
        let (of_candidate, of_legacy) = (candidate.error_rate(), legacy.error_rate());
        if of_candidate > of_legacy + bounds.max_error_excess {
            return Some(format!(
                "{:.2} % errors of the candidate in its last {} requests, {:.2} % of the legacy in {}; {:.2} % more are allowed",
                of_candidate * 100.0,
                candidate.requests,
                of_legacy * 100.0,
                legacy.requests,
                bounds.max_error_excess * 100.0
            ));
        }
        if legacy.timed() < bounds.min_requests || candidate.timed() < bounds.min_requests {
            return None;
        }
        let (slow, fast) = (candidate.quantile(QUANTILE)?, legacy.quantile(QUANTILE)?);
        let is_slower = slow > fast.mul_f64(bounds.max_latency_ratio) && slow > fast + LEAST_SLOWER;
        is_slower.then(|| {
            format!(
                "95 % of the candidate's answers came within {slow:.1?}, of the legacy's within {fast:.1?}; {} times as long is allowed",
                bounds.max_latency_ratio
            )
        })
    }

    /// What the legacy and the candidate did in the last window.
    pub(super) fn lately(&self, seen: &RolloutSeen) -> [ServedCounts; 2] {
        let Some((_, before)) = self.kept.front() else {
            return [ServedCounts::default(), ServedCounts::default()];
        };
        [
            seen.legacy.since(&before.legacy),
            seen.candidate.since(&before.candidate),
        ]
    }

    /// Keeps what was seen, and drops what is older than the window.
    pub(super) fn keep(&mut self, seen: RolloutSeen, now: Instant, window: Duration) {
        let age = |at: Instant| now.saturating_duration_since(at);
        // The first one that is as old as the window is where the window begins.
        while let Some((next, _)) = self.kept.get(1)
            && age(*next) >= window
        {
            self.kept.pop_front();
        }
        let last = self.kept.back().map(|(at, _)| age(*at));
        if last.is_none_or(|age| age >= window / PARTS) {
            self.kept.push_back((now, seen));
        }
    }
}
