//! Whether the legacy is slower than usual: then it is not burdened with second looks.
//!
//! Slower than usual is: the median time to the head of an answer, over the last seconds, is more than twice the median over
//! the last hour or so. Both are of all requests, by a histogram with buckets a quarter of a power of two apart; a window
//! with few answers says nothing. Only a monotonic clock is read, so that a clock that is set cannot mislead it.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long the recent window is.
const WINDOW: Duration = Duration::from_secs(5);
/// A window weighs this much less than the next one in the long run: half of it is forgotten in 500 windows, 42 minutes.
const FORGETS: f64 = 0.9986;
/// Fewer answers in a window say nothing of the median.
const FEWEST: u64 = 20;
/// How many times the usual median is slow.
const SLOW: f64 = 2.0;
/// A difference below this is the noise of the machine.
const LEAST: Duration = Duration::from_millis(2);
/// Buckets for each power of two.
const PARTS: u32 = 4;
/// Up to 2^32 microseconds, more than an hour.
const BUCKETS: usize = 32 * PARTS as usize;

/// The times to the head of the legacy's answers.
pub(super) struct Pace {
    recent: [AtomicU64; BUCKETS],
    is_slow: AtomicBool,
    origin: Instant,
    /// Milliseconds from the origin to the end of the window.
    window_ends: AtomicU64,
    usual: Mutex<[f64; BUCKETS]>,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            recent: std::array::from_fn(|_| AtomicU64::new(0)),
            is_slow: AtomicBool::new(false),
            origin: now,
            window_ends: AtomicU64::new(WINDOW.as_millis() as u64),
            usual: Mutex::new([0.0; BUCKETS]),
        }
    }

    /// The legacy has answered.
    pub(super) fn answered(&self, elapsed: Duration, now: Instant) {
        self.recent[bucket(elapsed)].fetch_add(1, Ordering::Relaxed);
        self.look(now);
    }

    /// Whether it is slower than usual.
    pub(super) fn is_slow(&self) -> bool {
        self.is_slow.load(Ordering::Relaxed)
    }

    /// At the end of a window, compares it with the usual, and adds it to that.
    fn look(&self, now: Instant) {
        let at = now.saturating_duration_since(self.origin).as_millis() as u64;
        let ends = self.window_ends.load(Ordering::Relaxed);
        let next = at + WINDOW.as_millis() as u64;
        let is_due = at >= ends
            && self
                .window_ends
                .compare_exchange(ends, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if !is_due {
            return;
        }
        let recent: [f64; BUCKETS] =
            std::array::from_fn(|index| self.recent[index].swap(0, Ordering::Relaxed) as f64);
        let mut usual = self.usual.lock().unwrap_or_else(PoisonError::into_inner);
        let is_slow = match (median(&recent), median(&*usual)) {
            (Some(recent), Some(usual)) => {
                recent > usual * SLOW && recent - usual > LEAST.as_micros() as f64
            }
            _ => false,
        };
        self.is_slow.store(is_slow, Ordering::Relaxed);
        for (usual, recent) in usual.iter_mut().zip(recent) {
            *usual = *usual * FORGETS + recent;
        }
    }
}

fn bucket(elapsed: Duration) -> usize {
    let micros = (elapsed.as_micros() as f64).max(1.0);
    ((micros.log2() * f64::from(PARTS)) as usize).min(BUCKETS - 1)
}

/// In microseconds; `None` of too few.
fn median(counts: &[f64; BUCKETS]) -> Option<f64> {
    let total: f64 = counts.iter().sum();
    if total < FEWEST as f64 {
        return None;
    }
    let mut below = 0.0;
    let middle = counts.iter().position(|count| {
        below += count;
        below >= total / 2.0
    })?;
    Some((middle as f64 / f64::from(PARTS)).exp2())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of `millis` for a while, one every 10 ms from `from` on; when it ended, and whether that was slow.
    fn answers(pace: &Pace, from: Instant, millis: u64, seconds: u64) -> (Instant, bool) {
        let mut now = from;
        for _ in 0..seconds * 100 {
            now += Duration::from_millis(10);
            pace.answered(Duration::from_millis(millis), now);
        }
        (now, pace.is_slow())
    }

    #[test]
    fn twice_the_usual_is_slow_and_what_lasts_becomes_usual() {
        let begin = Instant::now();
        let pace = Pace::new(begin);
        let (now, slow) = answers(&pace, begin, 10, 60);
        assert!(!slow);
        let (now, slow) = answers(&pace, now, 15, 11);
        assert!(!slow, "half as much again");
        let (now, slow) = answers(&pace, now, 40, 11);
        assert!(slow);
        let (now, slow) = answers(&pace, now, 10, 11);
        assert!(!slow);
        let (_, slow) = answers(&pace, now, 40, 1_000);
        assert!(!slow, "it has been so for long");
    }

    #[test]
    fn little_time_and_few_answers_say_nothing() {
        let begin = Instant::now();
        let pace = Pace::new(begin);
        let mut now = begin;
        for micros in [100, 1_000] {
            for _ in 0..2_000 {
                now += Duration::from_millis(10);
                pace.answered(Duration::from_micros(micros), now);
                assert!(!pace.is_slow());
            }
        }
        for _ in 0..20 {
            now += Duration::from_secs(1);
            pace.answered(Duration::from_secs(9), now);
            assert!(!pace.is_slow());
        }
    }

    #[test]
    fn a_clock_that_stands_or_goes_back_changes_nothing() {
        let begin = Instant::now() + Duration::from_hours(1);
        let pace = Pace::new(begin);
        let (now, _) = answers(&pace, begin, 10, 60);
        for at in [now, begin, begin - Duration::from_mins(30)] {
            for _ in 0..1_000 {
                pace.answered(Duration::from_secs(1), at);
            }
            assert!(!pace.is_slow());
        }
    }
}
