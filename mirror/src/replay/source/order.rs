//! Puts requests into the order of their times, as far as a window reaches: tools write entries when they end, or by page.
//!
//! A recording may be larger than memory, so what comes later than the window is passed on as it comes.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use parity_schemas::time::Timestamp;

use super::SourceError;
use crate::replay::recorded::Recorded;

/// Requests that are held back for their order.
const WINDOW: usize = 10_000;
/// Bytes of them.
const WINDOW_BYTES: usize = 64 << 20;

/// Requests in the order of their times.
pub(super) struct InOrder<N> {
    next: N,
    heap: BinaryHeap<Held>,
    held: usize,
    /// How many were read, to keep the order of those with the same time.
    read: u64,
    /// The time of the last one that was read.
    last: Timestamp,
    has_ended: bool,
}

struct Held {
    time: Timestamp,
    number: u64,
    recorded: Recorded,
}

impl<N: FnMut() -> Option<Result<Recorded, SourceError>>> InOrder<N> {
    pub(super) fn new(next: N) -> Self {
        Self {
            next,
            heap: BinaryHeap::new(),
            held: 0,
            read: 0,
            last: Timestamp::from_micros(i64::MIN),
            has_ended: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<Result<Recorded, SourceError>> {
        while !self.has_ended && self.heap.len() < WINDOW && self.held < WINDOW_BYTES {
            match (self.next)() {
                Some(Ok(recorded)) => {
                    // One without a time stays behind the one before it.
                    self.last = recorded.time.unwrap_or(self.last);
                    self.held += recorded.held();
                    self.heap.push(Held {
                        time: self.last,
                        number: self.read,
                        recorded,
                    });
                    self.read += 1;
                }
                Some(Err(error)) => return Some(Err(error)),
                None => self.has_ended = true,
            }
        }
        let Held { recorded, .. } = self.heap.pop()?;
        self.held -= recorded.held();
        Some(Ok(recorded))
    }
}

/// The greatest is the one that comes first.
impl Ord for Held {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.number).cmp(&(self.time, self.number))
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Held {}
