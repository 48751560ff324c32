//! How much memory may wait for second answers.
//!
//! What waits holds bytes of the budget of the shadows. Without a bound of its own, large answers of a slow service would
//! take all of it, and the traffic itself would not be compared any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What waits may hold this part of the budget: its second answers take about as much again, and at least half of the
/// budget is left for the traffic.
const PART: usize = 4;

/// The bytes that wait now.
pub(super) struct Room {
    held: Arc<AtomicUsize>,
    most: usize,
}

/// Some of these bytes, until it is dropped.
pub(super) struct Share {
    held: Arc<AtomicUsize>,
    bytes: usize,
}

impl Room {
    /// A part of a budget of so many bytes.
    pub(super) fn of(budget: usize) -> Self {
        Self {
            held: Arc::default(),
            most: budget / PART,
        }
    }

    /// Takes so many bytes, if there is room for them. One alone always has room.
    pub(super) fn take(&self, bytes: usize) -> Option<Share> {
        let fits = |held: usize| {
            let sum = held.checked_add(bytes)?;
            (held == 0 || sum <= self.most).then_some(sum)
        };
        let (order, held) = (Ordering::Relaxed, Arc::clone(&self.held));
        self.held.fetch_update(order, order, fits).ok()?;
        Some(Share { held, bytes })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_has_a_quarter_and_gives_it_back() {
        let room = Room::of(400);
        let first = room.take(60).expect("there is room");
        assert!(room.take(41).is_none());
        let second = room.take(40).expect("there is room");
        assert!(room.take(1).is_none());
        drop(first);
        assert!(room.take(61).is_none());
        let third = room.take(60).expect("there is room");
        drop((second, third));
        assert_eq!(room.held.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn one_that_is_too_large_waits_alone() {
        let room = Room::of(400);
        let large = room.take(usize::MAX).expect("nothing else waits");
        assert!(room.take(0).is_none());
        assert!(room.take(1).is_none());
        drop(large);
        assert!(room.take(1).is_some());
    }
}
