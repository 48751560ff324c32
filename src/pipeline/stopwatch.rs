//! How long a comparing thread works on an exchange.
//!
//! The estimates of [`super::fair`] are of processor time. The time on a wall clock has pauses in it that say nothing of an
//! exchange: other processes have the core, or a container has used up its share. One pause of a second within a
//! comparison made a route look so expensive that nearly everything that waited was dropped as `queue_full`, though it
//! needed milliseconds.
//!
//! Reading the processor time of a thread is a system call, and was measured to take a microsecond where the wall clock
//! takes 40 ns. So it is read once for each [`STRETCH`] of work, and limits what the wall clock says.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Work between two readings of the processor time: long enough that a reading costs a thousandth of it. A pause counts as
/// this much at the most.
const STRETCH: Duration = Duration::from_millis(1);

/// Measures the thread that made it.
pub(super) struct Stopwatch {
    /// Processor time of the thread when it was last read.
    read: Duration,
    /// Work since then, by the wall clock.
    since: Duration,
}

impl Stopwatch {
    pub(super) fn new() -> Self {
        Self {
            read: processor_time(),
            since: Duration::ZERO,
        }
    }

    /// Does something, and returns how long the thread worked on it: never less than its processor time, and at most a
    /// stretch more, and what the thread did besides since the last stretch.
    pub(super) fn time<T>(&mut self, work: impl FnOnce() -> T) -> (T, Duration) {
        let began = Instant::now();
        let result = work();
        let elapsed = began.elapsed();
        self.since += elapsed;
        if self.since < STRETCH {
            return (result, elapsed);
        }
        let before = std::mem::replace(&mut self.read, processor_time());
        self.since = Duration::ZERO;
        (result, elapsed.min(self.read.saturating_sub(before)))
    }
}

/// Processor time of this thread.
fn processor_time() -> Duration {
    // The clock of a running thread never fails, and counts from 0.
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::fair::{Bounds, Fair, Taken};
    use super::*;

    const PAUSE: Duration = Duration::from_millis(200);

    fn busy(for_long: Duration) {
        let until = processor_time() + for_long;
        while processor_time() < until {}
    }

    #[test]
    fn work_counts_and_a_pause_does_not() {
        let mut stopwatch = Stopwatch::new();
        for work in [1, 20, 50].map(Duration::from_millis) {
            let ((), took) = stopwatch.time(|| busy(work));
            assert!(took >= work, "{took:?} of {work:?}");
            let ((), took) = stopwatch.time(|| std::thread::sleep(PAUSE));
            assert!(took < PAUSE / 4, "{took:?}");
            let ((), took) = stopwatch.time(|| {
                std::thread::sleep(PAUSE);
                busy(work);
            });
            assert!((work..work + PAUSE / 4).contains(&took), "{took:?}");
        }
    }

    #[test]
    fn short_work_adds_up() {
        let mut stopwatch = Stopwatch::new();
        let began = Instant::now();
        let work = Duration::from_micros(20);
        let sum: Duration = (0..2_000).map(|_| stopwatch.time(|| busy(work)).1).sum();
        assert!((work * 2_000..=began.elapsed()).contains(&sum), "{sum:?}");
    }

    /// As it was seen while other programs used all cores: a thread stood still within a comparison, and hundreds of
    /// exchanges that came meanwhile were dropped.
    #[test]
    fn a_pause_within_a_comparison_drops_nothing_of_what_came_meanwhile() {
        let mut fair = Fair::new(Bounds {
            items: 4_096,
            nanos: 5_000_000_000,
        });
        let mut stopwatch = Stopwatch::new();
        let line = fair.line("GET /items/{id}");
        let mut shed = 0;
        let usual = Duration::from_micros(20);
        for pause in [Duration::ZERO, PAUSE, Duration::ZERO] {
            // By another thread, as in the program: what the measured thread does besides is counted as its work.
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        fair.push(line, 512, || 5_120, (), |()| shed += 1);
                    }
                });
            });
            let Taken { item: (), bill } = fair.pop().expect("an exchange waits");
            let ((), took) = stopwatch.time(|| {
                std::thread::sleep(pause);
                busy(usual);
            });
            fair.took(bill, u64::try_from(took.as_nanos()).expect("short"));
        }
        assert_eq!(shed, 0);
    }
}
