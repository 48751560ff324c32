//! Counters that one thread writes and others read.

use std::sync::atomic::{AtomicU64, Ordering};

/// Adds to a counter that only the calling thread writes.
pub(super) fn add(counter: &AtomicU64, by: u64) {
    counter.store(
        counter.load(Ordering::Relaxed).wrapping_add(by),
        Ordering::Release,
    );
}
