//! What the mirror itself added to requests lately: the counters of it only grow, so what was counted since an earlier look is told.
//!
//! Nobody looks by a clock: whoever asks for the status does, a page or `parity top`, which ask every few seconds while somebody
//! looks at them. For the first one the time since the process began is told, and it is said since when.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use parity_dashboards::view::Added;
use parity_mirror::Metrics;
use parity_schemas::time::Timestamp;

/// How long ago the earlier look may be: long enough that a p99 is of some requests.
const LATELY_MICROS: i64 = 60_000_000;
/// Looks are kept at most this often, so that those of a minute are few however many ask.
const APART_MICROS: i64 = 1_000_000;

/// When it was looked, and how many requests were within each bound in microseconds by then.
type Looked = (Timestamp, Vec<(u64, u64)>);

/// The looks of the last minute.
pub(super) struct AddedTimes {
    metrics: Metrics,
    looks: Mutex<VecDeque<Looked>>,
}

impl AddedTimes {
    /// Of this mirror.
    pub(super) fn of(metrics: Metrics) -> Self {
        Self {
            metrics,
            looks: Mutex::default(),
        }
    }

    /// What was added lately, in a process that began then; `None` if no request came.
    pub(super) fn told(&self, began: Timestamp, now: Timestamp) -> Option<Added> {
        let counted = self.metrics.overhead();
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        told(&mut looks, counted, (began, now))
    }
}

fn told(
    looks: &mut VecDeque<Looked>,
    counted: Vec<(u64, u64)>,
    (began, now): (Timestamp, Timestamp),
) -> Option<Added> {
    let passed = |at: Timestamp| now.as_micros().saturating_sub(at.as_micros());
    // What is later than now is of a clock that was set back.
    looks.retain(|(at, _)| (0..=LATELY_MICROS).contains(&passed(*at)));
    let (since, since_then) = match looks.front() {
        Some((at, before)) => {
            let each = counted.iter().zip(before);
            let each =
                each.map(|((bound, count), (_, before))| (*bound, count.saturating_sub(*before)));
            (*at, each.collect())
        }
        None => (began, counted.clone()),
    };
    if looks
        .back()
        .is_none_or(|(at, _)| passed(*at) >= APART_MICROS)
    {
        looks.push_back((now, counted));
    }
    Added::of(since, &since_then)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_minute_is_told_and_before_the_first_look_all() {
        let at = |second: i64| Timestamp::from_micros(1_790_000_000_000_000 + second * 1_000_000);
        let mut looks = VecDeque::new();
        let mut look = |second: i64, fast: u64, slow: u64| {
            let counted = vec![(50, fast), (1_000, slow), (u64::MAX, 0)];
            told(&mut looks, counted, (at(0), at(second)))
        };
        assert_eq!(look(9, 0, 0), None);
        let all = look(10, 99, 1).expect("requests");
        assert_eq!((all.since, all.requests), (at(9), 100));
        assert_eq!((all.p50_us, all.p99_us), (Some(50), Some(50)));
        let lately = look(60, 99, 101).expect("requests");
        assert_eq!((lately.since, lately.requests), (at(9), 200));
        assert_eq!(lately.p50_us, Some(1_000));
        let later = look(75, 99, 111).expect("requests");
        assert_eq!((later.since, later.requests), (at(60), 10));
        assert_eq!((later.p50_us, later.p99_us), (Some(1_000), Some(1_000)));
        let later = look(200, 100, 111).expect("requests");
        assert_eq!((later.since, later.requests), (at(0), 211));
    }
}
