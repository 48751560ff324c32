//! Which received requests are not settled yet, by the time at which they were received. Watermarks are made from this.
//!
//! Time is cut into *epochs* of a quarter of a second or more. A request enters the current epoch when it is received,
//! and leaves it when its outcome is counted. An epoch that as many requests have left as entered is complete.
//! Everything received before the oldest incomplete epoch is settled.
//!
//! Each recorder counts in memory of its own, so entering and leaving cost a few nanoseconds and no thread waits for
//! another. Epochs use a few slots in turn: a long download occupies one slot, and the others stay in use. When many
//! slots are occupied, epochs get longer and the watermark gets coarser.
//!
//! Why this is exact: a thread enters by incrementing its counter and then checking that the epoch is still the current
//! one. If it is not, the thread leaves at once and enters the next. The book first ends an epoch and then reads the
//! counters. All operations are sequentially consistent, so either the thread sees that the epoch has ended, or the
//! book sees the increment.

use std::array;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parity_schemas::time::Timestamp;
use parity_schemas::watermark::UnderWay;

/// Epochs that may be incomplete at a time. A long request occupies one.
const SLOTS: usize = 32;
/// The shortest epoch. Doubled with every four occupied slots, so that the slots last for half a minute and more.
const SHORTEST_MICROS: i64 = 200_000;
const KEPT_SLOTS_PER_DOUBLING: usize = 4;

/// The epoch in which a request was received, to be passed back with its outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epoch(u8);

impl Epoch {
    /// As a number, to store it in between.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// From [`Self::number`].
    pub const fn from_number(number: u8) -> Self {
        Self(number)
    }

    fn slot(self) -> usize {
        usize::from(self.0) % SLOTS
    }
}

/// The slot that new requests enter. On its own cache line, because every thread reads it for every request.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Gate(AtomicUsize);

impl Gate {
    /// Enters the current epoch.
    pub(super) fn enter(&self, counters: &EpochCounters) -> Epoch {
        loop {
            let slot = self.0.load(Ordering::SeqCst);
            counters.slots[slot % SLOTS]
                .entered
                .fetch_add(1, Ordering::SeqCst);
            if self.0.load(Ordering::SeqCst) == slot {
                return Epoch((slot % SLOTS) as u8);
            }
            counters.leave(Epoch((slot % SLOTS) as u8));
        }
    }
}

/// How many requests of one recorder entered and left each slot.
pub(super) struct EpochCounters {
    slots: [SlotCounters; SLOTS],
}

#[derive(Default)]
struct SlotCounters {
    entered: AtomicU64,
    left: AtomicU64,
}

impl Default for EpochCounters {
    fn default() -> Self {
        Self {
            slots: array::from_fn(|_| SlotCounters::default()),
        }
    }
}

impl EpochCounters {
    /// To be called after the outcome was counted, so that whoever sees the request leave also sees its outcome.
    pub(super) fn leave(&self, epoch: Epoch) {
        self.slots[epoch.slot()].left.fetch_add(1, Ordering::SeqCst);
    }
}

/// The state of all epochs, held by the book.
pub(super) struct Epochs {
    current: usize,
    /// Since when a slot is in use; `None` for a free one.
    began: [Option<Timestamp>; SLOTS],
    /// Entered and left through recorders that no longer exist.
    retired: [(u64, u64); SLOTS],
    settled: Settled,
}

/// Up to when everything is settled.
#[derive(Clone, Debug, Default)]
pub(super) struct Settled {
    /// Every request received before this has an outcome.
    pub(super) until: Timestamp,
    /// Requests without an outcome.
    pub(super) under_way: Vec<UnderWay>,
}

impl Default for Epochs {
    fn default() -> Self {
        Self::begun(Timestamp::default())
    }
}

impl Epochs {
    pub(super) fn begun(at: Timestamp) -> Self {
        let mut began = [None; SLOTS];
        began[0] = Some(at);
        Self {
            current: 0,
            began,
            retired: [(0, 0); SLOTS],
            settled: Settled {
                until: at,
                under_way: Vec::new(),
            },
        }
    }

    /// As of the last [`Self::look`].
    pub(super) fn settled(&self) -> &Settled {
        &self.settled
    }

    /// Computes what is settled as of `now`, and begins another epoch when it is time. `now` must have been read before
    /// the call. Counters read after this call include the outcome of every request that it reports as settled.
    pub(super) fn look<'a>(
        &mut self,
        gate: &Gate,
        counters: impl Iterator<Item = &'a EpochCounters> + Clone,
        now: Timestamp,
    ) {
        // First those that left: a request that is seen to leave is then also seen to have entered.
        let left = self.sums(|(_, left)| left, counters.clone(), |slot| &slot.left);
        let entered = self.sums(|(entered, _)| entered, counters, |slot| &slot.entered);
        let mut settled = Settled {
            until: now,
            under_way: Vec::new(),
        };
        for slot in 0..SLOTS {
            let Some(since) = self.began[slot] else {
                continue;
            };
            // The clock was set back: what was received before that is not later than now.
            let since = since.min(now);
            self.began[slot] = Some(since);
            let requests = entered[slot].wrapping_sub(left[slot]);
            if requests > 0 {
                settled.until = settled.until.min(since);
                settled.under_way.push(UnderWay { since, requests });
            } else if slot == self.current {
                self.began[slot] = Some(now);
            } else {
                self.began[slot] = None;
            }
        }
        settled.under_way.sort_unstable_by_key(|open| open.since);
        self.settled = settled;
        self.turn(gate, now);
    }

    /// Begins another epoch when the present one has lasted long enough and there is room.
    fn turn(&mut self, gate: &Gate, now: Timestamp) {
        let kept = self.began.iter().flatten().count() - 1;
        let shortest = SHORTEST_MICROS << (kept / KEPT_SLOTS_PER_DOUBLING);
        let lasted = self.began[self.current]
            .map_or(0, |since| now.as_micros().saturating_sub(since.as_micros()));
        let free = (0..SLOTS).find(|slot| self.began[*slot].is_none());
        // A clock that was set back also ends the epoch.
        if let Some(free) = free
            && (lasted >= shortest || lasted < 0)
        {
            self.began[free] = Some(now);
            self.current = free;
            gate.0.store(free, Ordering::SeqCst);
        }
    }

    /// Takes over the counts of a recorder that no longer exists.
    pub(super) fn retire(&mut self, counters: &EpochCounters) {
        for ((entered, left), slot) in self.retired.iter_mut().zip(&counters.slots) {
            *entered = entered.wrapping_add(slot.entered.load(Ordering::SeqCst));
            *left = left.wrapping_add(slot.left.load(Ordering::SeqCst));
        }
    }

    fn sums<'a>(
        &self,
        retired: impl Fn((u64, u64)) -> u64,
        counters: impl Iterator<Item = &'a EpochCounters>,
        counter: impl Fn(&SlotCounters) -> &AtomicU64,
    ) -> [u64; SLOTS] {
        let mut sums = self.retired.map(retired);
        for recorder in counters {
            for (sum, slot) in sums.iter_mut().zip(&recorder.slots) {
                *sum = sum.wrapping_add(counter(slot).load(Ordering::SeqCst));
            }
        }
        sums
    }
}
