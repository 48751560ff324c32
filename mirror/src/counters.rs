//! Counters that one thread writes and any thread may read.
//!
//! Each worker has its own counters and is their only writer, so counting is a plain load and store of a relaxed
//! atomic, on a cache line that no other core writes. Reading adds up the counters of all workers. The modules that
//! count decide what is counted and under which metric name.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A counter with one writer.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, more: u64) {
        self.0
            .store(self.get().wrapping_add(more), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A histogram of durations.
pub(crate) struct DurationHistogram<const BOUNDS: usize> {
    bounds: &'static [u64; BOUNDS],
    buckets: [Count; BOUNDS],
    beyond: Count,
    sum_us: Count,
}

impl<const BOUNDS: usize> DurationHistogram<BOUNDS> {
    /// With the upper bounds of the buckets, in microseconds.
    pub(crate) fn new(bounds: &'static [u64; BOUNDS]) -> Self {
        Self {
            bounds,
            buckets: std::array::from_fn(|_| Count::default()),
            beyond: Count::default(),
            sum_us: Count::default(),
        }
    }

    pub(crate) fn observe(&self, duration: Duration) {
        let micros = duration.as_micros() as u64;
        let bucket = self.bounds.iter().position(|bound| micros <= *bound);
        bucket
            .map_or(&self.beyond, |index| &self.buckets[index])
            .add(1);
        self.sum_us.add(micros);
    }
}

/// Durations of all workers, as Prometheus wants them.
pub(crate) struct Summed {
    pub(crate) sum: f64,
    pub(crate) count: u64,
    pub(crate) buckets: Vec<(f64, u64)>,
}

/// Adds up what all workers have seen.
pub(crate) fn sum<'all, const BOUNDS: usize>(
    bounds: &[u64; BOUNDS],
    all: impl Iterator<Item = &'all DurationHistogram<BOUNDS>> + Clone,
) -> Summed {
    let seconds = |micros: u64| micros as f64 / 1e6;
    let mut buckets: Vec<_> = bounds
        .iter()
        .enumerate()
        .map(|(index, bound)| {
            let count = all.clone().map(|one| one.buckets[index].get()).sum();
            (seconds(*bound), count)
        })
        .collect();
    buckets.push((f64::INFINITY, all.clone().map(|one| one.beyond.get()).sum()));
    Summed {
        sum: seconds(all.map(|one| one.sum_us.get()).sum()),
        count: buckets.iter().map(|(_, count)| count).sum(),
        buckets,
    }
}

/// The counters of one worker among those of all.
pub(crate) struct OfWorker<T> {
    all: Arc<[T]>,
    index: usize,
}

impl<T> OfWorker<T> {
    pub(crate) fn new(all: &Arc<[T]>, index: usize) -> Self {
        Self {
            all: Arc::clone(all),
            index,
        }
    }
}

impl<T> Clone for OfWorker<T> {
    fn clone(&self) -> Self {
        Self::new(&self.all, self.index)
    }
}

impl<T> Deref for OfWorker<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.all[self.index]
    }
}
