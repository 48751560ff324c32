//! Which exchanges of a route have their fields counted (`parity_schemas::field_share`).
//!
//! Equal bytes are compared without being parsed, and to count fields means to parse. So it is done for a sample: the first
//! few of a route in each interval, so that a route with little traffic is known, too, and then each so many. Neither chance
//! nor the verdict decides: what is sampled is a fixed part of what was compared.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use parity_schemas::field_share::ENOUGH_SAMPLED;
use parity_schemas::tally::minute;
use parity_schemas::time::Timestamp;

/// Exchanges of a route that are sampled at the beginning of an interval: as many as a decision wants of a route. A thousand
/// routes on two threads are some hundred answers a second.
const FIRST: u64 = ENOUGH_SAMPLED;
/// Of the others, one in so many is sampled. To count the fields of 2 KB takes 130,000 instructions under the rules of a profile,
/// as much as to compare them with other bytes, and to find them equal to the same bytes 2,800. So this adds 1,000 to each
/// exchange, some fifty nanoseconds: too little to be seen beside what a shadowed request costs.
const THEN_EACH: u64 = 128;

/// Counts the exchanges of one route on one thread within an interval.
#[derive(Debug, Default)]
pub(super) struct FieldSample {
    minute: AtomicI64,
    seen: AtomicU64,
}

impl FieldSample {
    /// Whether the next exchange, of this time, is sampled. Only one thread asks.
    pub(super) fn takes(&self, time: Timestamp) -> bool {
        let minute = minute(time);
        // What waited long belongs to an earlier interval, and must not begin it again.
        if minute > self.minute.load(Ordering::Relaxed) {
            self.minute.store(minute, Ordering::Relaxed);
            self.seen.store(0, Ordering::Relaxed);
        }
        let before = self.seen.load(Ordering::Relaxed);
        self.seen.store(before.wrapping_add(1), Ordering::Relaxed);
        before < FIRST || (before - FIRST) % THEN_EACH == THEN_EACH - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_each_interval_are_sampled_and_then_each_so_many() {
        let sample = FieldSample::default();
        let at = |minutes: i64| Timestamp::from_micros(minutes * 60_000_000 + 1);
        let taken = |minutes, exchanges: u64| -> Vec<u64> {
            (0..exchanges)
                .filter(|_| sample.takes(at(minutes)))
                .collect::<Vec<_>>()
        };
        let first: Vec<u64> = (0..FIRST).collect();
        let each = |index: u64| FIRST + THEN_EACH * index - 1;
        let expected = [&first[..], &[each(1), each(2)]].concat();
        assert_eq!(taken(5, each(2) + 1), expected);
        // One that comes late does not begin its interval again, nor this one.
        assert_eq!(taken(4, THEN_EACH), [THEN_EACH - 1]);
        assert!(taken(5, THEN_EACH - 1).is_empty());
        assert_eq!(taken(6, FIRST + 1), first);
    }
}
