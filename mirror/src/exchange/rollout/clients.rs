//! How many clients a rollout can tell apart, as far as that matters: a share of one or two cannot be ten percent.
//!
//! The first points that were seen are kept, and no more of them. Once there are [`MANY`], a request costs one read.

use std::sync::atomic::{AtomicU64, Ordering};

/// So many are told apart. Fewer than ten cannot be divided by percents, and a load balancer has fewer addresses than that, too.
pub const MANY: usize = 10;

/// The first clients.
#[derive(Default)]
pub(super) struct Clients([AtomicU64; MANY]);

impl Clients {
    /// A client stands at this point.
    pub(super) fn saw(&self, point: u64) {
        // 0 is a free place.
        let point = point.saturating_add(1);
        for place in &self.0 {
            let known = place.load(Ordering::Relaxed);
            let known = if known == 0 {
                match place.compare_exchange(0, point, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => return,
                    Err(other) => other,
                }
            } else {
                known
            };
            if known == point {
                return;
            }
        }
    }

    /// Whether all places are taken.
    pub(super) fn are_many(&self) -> bool {
        self.0[MANY - 1].load(Ordering::Relaxed) != 0
    }

    /// How many are known.
    pub(super) fn count(&self) -> usize {
        let taken = |place: &&AtomicU64| place.load(Ordering::Relaxed) != 0;
        self.0.iter().filter(taken).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_counted_once_and_no_more_than_many() {
        let clients = Clients::default();
        assert_eq!(clients.count(), 0);
        for point in [0, 7, 0, u64::from(u32::MAX), 7] {
            clients.saw(point);
        }
        assert_eq!((clients.count(), clients.are_many()), (3, false));
        (0..100).for_each(|point| clients.saw(point));
        assert_eq!((clients.count(), clients.are_many()), (MANY, true));
    }
}
