//! Which partitions have a batch under way, and which batches are done. Shared by workers, poller and rebalance
//! callbacks.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::SinkError;

/// A job that has been stored.
pub(super) struct Done {
    pub(super) partition: i32,
    /// The offset to commit: that of the first record after the batch.
    pub(super) next: i64,
    /// Its share of the memory limit.
    pub(super) cost: usize,
}

/// See the module.
#[derive(Default)]
pub(super) struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The number of the job under way, by partition.
    under_way: HashMap<i32, u64>,
    done: Vec<Done>,
    /// Bytes of jobs whose partition was revoked meanwhile.
    released: usize,
    failed: Option<SinkError>,
}

impl Progress {
    pub(super) fn begin(&self, partition: i32, number: u64) {
        self.state().under_way.insert(partition, number);
    }

    pub(super) fn is_busy(&self, partition: i32) -> bool {
        self.state().under_way.contains_key(&partition)
    }

    /// Jobs that were stored since the last call, bytes that were freed without a commit, and a fatal error.
    pub(super) fn take(&self) -> (Vec<Done>, usize, Option<SinkError>) {
        let mut state = self.state();
        (
            std::mem::take(&mut state.done),
            std::mem::take(&mut state.released),
            state.failed.take(),
        )
    }

    /// How many batches are under way.
    pub(super) fn busy(&self) -> usize {
        self.state().under_way.len()
    }

    /// The job is no longer under way, and was not stored.
    pub(super) fn forget(&self, partition: i32) {
        self.state().under_way.remove(&partition);
    }

    /// Waits until something changes, or `limit` has passed.
    pub(super) fn wait(&self, limit: Duration) {
        let state = self.state();
        let _woken = self
            .changed
            .wait_timeout(state, limit)
            .unwrap_or_else(PoisonError::into_inner);
    }

    /// Waits for the batches of revoked partitions, and returns the offsets that may still be committed for them.
    /// Batches that do not end in time are forgotten, because their partitions then have another owner.
    pub(super) fn hand_over(&self, gone: &[i32], limit: Duration) -> HashMap<i32, i64> {
        let deadline = Instant::now() + limit;
        let mut state = self.state();
        loop {
            let busy = gone
                .iter()
                .any(|partition| state.under_way.contains_key(partition));
            let left = deadline.saturating_duration_since(Instant::now());
            if !busy || left.is_zero() || state.failed.is_some() {
                break;
            }
            (state, _) = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner);
        }
        for partition in gone {
            state.under_way.remove(partition);
        }
        let (ended, others) = std::mem::take(&mut state.done)
            .into_iter()
            .partition(|done| gone.contains(&done.partition));
        state.done = others;
        let ended: Vec<Done> = ended;
        state.released += ended.iter().map(|done| done.cost).sum::<usize>();
        ended
            .into_iter()
            .map(|done| (done.partition, done.next))
            .collect()
    }

    pub(super) fn end(&self, number: u64, done: Done) {
        let mut state = self.state();
        if state.under_way.get(&done.partition) == Some(&number) {
            state.under_way.remove(&done.partition);
            state.done.push(done);
        } else {
            state.released += done.cost;
        }
        drop(state);
        self.changed.notify_all();
    }

    pub(super) fn fail(&self, error: SinkError) {
        let mut state = self.state();
        state.failed.get_or_insert(error);
        drop(state);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reports a thread that ended by a panic.
pub(super) struct Alarm<'a>(pub(super) &'a Progress);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.fail(SinkError::Panicked);
    }
}
