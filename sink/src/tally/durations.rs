//! Duration histograms of one thread: fine buckets, allocated when needed.
//!
//! A histogram has close to a thousand buckets, of which a route uses a few dozen around its usual duration. So an
//! octave of buckets is allocated at its first duration, and an unused octave costs one pointer.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use parity_schemas::histogram::{OCTAVES, STEPS, bucket_at, place};

use super::owned::add;

/// A histogram that one thread writes and the book reads.
pub(super) struct Durations([OnceLock<Box<[AtomicU64; STEPS]>>; OCTAVES]);

impl Durations {
    pub(super) const fn new() -> Self {
        Self([const { OnceLock::new() }; OCTAVES])
    }

    /// Counts a duration. Only the owning thread may call this.
    pub(super) fn count(&self, micros: u64) {
        let (octave, step) = place(micros);
        let steps = self.0[octave].get_or_init(|| Box::new([const { AtomicU64::new(0) }; STEPS]));
        add(&steps[step], 1);
    }
}

/// The counts of a [`Durations`] when it was last read.
#[derive(Default)]
pub(super) struct Seen([Option<Box<[u64; STEPS]>>; OCTAVES]);

impl Seen {
    /// Calls `each` with every bucket that has grown since the last call, and by how much.
    pub(super) fn gather(&mut self, durations: &Durations, mut each: impl FnMut(u16, u64)) {
        let octaves = durations.0.iter().zip(&mut self.0).enumerate();
        for (octave, (counters, seen)) in octaves {
            let Some(counters) = counters.get() else {
                continue;
            };
            let seen = seen.get_or_insert_with(|| Box::new([0; STEPS]));
            for (step, (counter, seen)) in counters.iter().zip(seen.iter_mut()).enumerate() {
                let count = counter.load(Ordering::Acquire);
                if count != *seen {
                    each(bucket_at(octave, step), count.wrapping_sub(*seen));
                    *seen = count;
                }
            }
        }
    }
}
