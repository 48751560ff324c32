//! How long the legacy keeps clients waiting, by route: what a client that leaves has waited for is set beside answers to the same kind of
//! request. A report that takes two seconds at both services, among routes that take a millisecond, would else speak against the candidate
//! each time that somebody does not wait for it; and the report would hide how slow the candidate is elsewhere.
//!
//! Only a client that waited for [`GIVEN_UP_AFTER`] is ever asked about, so all that was faster is one number, and the rest is in eight steps
//! to each power of two. Counts of a route are halved when they are many, so they say what the legacy has done lately. A route has a
//! quarter of a kilobyte. There are places for a limited number of routes; when one is needed, a route that has hardly any answers gives its
//! own away, so that a scanner with random paths displaces nothing that is asked for. Of a route without a place nothing is known here.
//!
//! Each worker locks a part of this for each answer of the legacy that counts in a rollout, and nothing does without one.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use parity_schemas::histogram::{self, STEPS};

use crate::exchange::reached::GIVEN_UP_AFTER;
use crate::exchange::sampling;

/// Parts with a lock each: more than the workers of most machines.
const PARTS: usize = 16;
/// Routes in each part: 512 in all, in 128 KiB. A rollout judges a service, and few have that many which are asked for often.
const ROUTES: usize = 32;
/// A route with fewer answers gives its place to another one.
const LEAST: u32 = 100;
/// One answer, but for what rounding leaves of it.
const ONE: f64 = 0.999;
/// From so many answers on a wait that is longer than all of them counts as a failure in the record, of which a gate allows one in a thousand.
const MANY: u32 = 1_000;
/// At so many answers all counts are halved. Small enough for two bytes each, whatever other threads add meanwhile.
const MOST: u32 = 8_192;
/// Steps to a power of two.
const COARSE: usize = 8;
/// The step of [`GIVEN_UP_AFTER`], counted from an octave of [`histogram`] on, and that octave.
const FIRST: (usize, usize) = (14, 7);
/// One for all that is faster, and one for each step from there to an hour.
const BUCKETS: usize = 1 + (histogram::OCTAVES - FIRST.0) * COARSE - FIRST.1;

/// The legacy's answers of a process, by route.
pub(super) struct ByRoute([Mutex<Part>; PARTS]);

#[derive(Default)]
struct Part {
    /// Apart from the times, so that a search reads little.
    routes: Vec<u64>,
    times: Vec<Times>,
}

/// What the legacy did at one route.
struct Times {
    answers: u32,
    longest: Duration,
    counts: [u16; BUCKETS],
}

/// A time that somebody waited, beside the legacy's answers at the same route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beside {
    answers: u32,
    /// Those that were surely faster.
    faster: u32,
    /// Whether all that is known were.
    is_longest: bool,
}

impl Beside {
    /// Whether it was longer than this share of the legacy's answers took; `of_all` says whether it was for answers of all routes, which
    /// decides where the route has few, unless one of these took longer itself. The slowest one of a hundred takes a hundred.
    pub(super) fn is_longer(self, share: f64, of_all: impl FnOnce() -> bool) -> bool {
        if f64::from(self.answers) * (1.0 - share) >= ONE {
            f64::from(self.faster) >= f64::from(self.answers) * share
        } else {
            self.is_longest && of_all()
        }
    }

    /// Whether it was longer than any answer of the legacy took, in the same way.
    pub(super) fn is_longest(self, of_all: impl FnOnce() -> bool) -> bool {
        self.is_longest && (self.answers >= MANY || of_all())
    }
}

impl ByRoute {
    pub(super) fn new() -> Self {
        Self(Default::default())
    }

    /// The legacy answered a request of this route in this time.
    pub(super) fn answered(&self, route: &str, elapsed: Duration) {
        self.add(route, bucket(elapsed), elapsed);
    }

    /// A client left the legacy after it had waited so long: the answer would have taken longer, by nobody knows how much. Clients that leave
    /// after the same time wait a little more or less, which is why it counts as one step more.
    pub(super) fn left(&self, route: &str, waited: Duration) {
        let longer = (bucket(waited) + 1).min(BUCKETS - 1);
        self.add(route, longer, waited.saturating_add(waited / 8));
    }

    /// This time beside the answers of the route; `None` if it has no place.
    pub(super) fn beside(&self, route: &str, waited: Duration) -> Option<Beside> {
        let (key, part) = self.part(route);
        let at = part.routes.iter().position(|known| *known == key)?;
        let times = &part.times[at];
        let faster = &times.counts[..bucket(waited)];
        Some(Beside {
            answers: times.answers,
            faster: faster.iter().map(|count| u32::from(*count)).sum(),
            is_longest: waited > times.longest,
        })
    }

    fn add(&self, route: &str, bucket: usize, elapsed: Duration) {
        let (key, mut part) = self.part(route);
        if let Some(times) = part.place(key) {
            times.add(bucket, elapsed);
        }
    }

    fn part(&self, route: &str) -> (u64, MutexGuard<'_, Part>) {
        let key = sampling::spread(route.as_bytes());
        let part = &self.0[key as usize % PARTS];
        (key, part.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Part {
    /// The times of a route, which gets a place if there is one.
    fn place(&mut self, key: u64) -> Option<&mut Times> {
        if let Some(at) = self.routes.iter().position(|known| *known == key) {
            return self.times.get_mut(at);
        }
        if self.routes.len() < ROUTES {
            self.routes.push(key);
            self.times.push(Times::NONE);
            return self.times.last_mut();
        }
        let each = self.times.iter().enumerate();
        let (at, least) = each.min_by_key(|(_, times)| times.answers)?;
        if least.answers >= LEAST {
            return None;
        }
        self.routes[at] = key;
        self.times[at] = Times::NONE;
        self.times.get_mut(at)
    }
}

impl Times {
    const NONE: Self = Self {
        answers: 0,
        longest: Duration::ZERO,
        counts: [0; BUCKETS],
    };

    fn add(&mut self, bucket: usize, elapsed: Duration) {
        if self.answers >= MOST {
            for count in &mut self.counts {
                *count /= 2;
            }
            self.answers = self.counts.iter().map(|count| u32::from(*count)).sum();
        }
        self.counts[bucket] += 1;
        self.answers += 1;
        self.longest = self.longest.max(elapsed);
    }
}

/// Where a time is counted.
fn bucket(time: Duration) -> usize {
    if time < GIVEN_UP_AFTER {
        return 0;
    }
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let (octave, step) = histogram::place(micros);
    let coarse = octave.saturating_sub(FIRST.0) * COARSE + step / (STEPS / COARSE);
    (1 + coarse.saturating_sub(FIRST.1)).min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLIS: fn(u64) -> Duration = Duration::from_millis;

    /// So many answers that took this long.
    fn answers(times: &ByRoute, route: &str, (count, millis): (u32, u64)) {
        (0..count).for_each(|_| times.answered(route, MILLIS(millis)));
    }

    fn beside(times: &ByRoute, route: &str, millis: u64) -> Beside {
        let beside = times.beside(route, MILLIS(millis));
        beside.expect("it has a place")
    }

    #[test]
    fn buckets_begin_where_clients_give_up_and_end_with_an_hour() {
        assert_eq!(bucket(Duration::from_micros(499_999)), 0);
        assert_eq!(bucket(GIVEN_UP_AFTER), 1);
        let hour = Duration::from_hours(1);
        assert_eq!(
            (bucket(hour * 2), bucket(Duration::MAX)),
            (BUCKETS - 1, BUCKETS - 1)
        );
        let mut last = 0;
        for millis in (0..4_000_000).step_by(5) {
            let at = bucket(MILLIS(millis));
            assert!((last..=last + 1).contains(&at), "{millis}");
            last = at;
        }
    }

    #[test]
    fn a_route_is_judged_by_its_own_answers_if_it_has_enough() {
        let times = ByRoute::new();
        answers(&times, "GET /report", (LEAST, 2_000));
        answers(&times, "GET /items", (LEAST, 1));
        for (route, millis, is_longer) in [
            ("GET /report", 1_500, false),
            ("GET /report", 2_050, false),
            ("GET /report", 2_500, true),
            ("GET /items", 501, true),
        ] {
            let beside = beside(&times, route, millis);
            assert_eq!(
                beside.is_longer(0.99, || !is_longer),
                is_longer,
                "{route} {millis}"
            );
        }
        assert_eq!(times.beside("GET /other", MILLIS(1_500)), None);
    }

    #[test]
    fn few_answers_speak_for_the_candidate_and_not_against_it() {
        let times = ByRoute::new();
        answers(&times, "GET /report", (1, 2_000));
        assert!(!beside(&times, "GET /report", 1_500).is_longer(0.99, || true));
        let longer = beside(&times, "GET /report", 2_001);
        assert!(longer.is_longer(0.99, || true) && !longer.is_longer(0.99, || false));
        assert!(longer.is_longest(|| true) && !longer.is_longest(|| false));
        answers(&times, "GET /report", (9, 1));
        // One in ten is known of ten, and one in a hundred is not.
        let shorter = beside(&times, "GET /report", 1_500);
        assert!(shorter.is_longer(0.9, || false) && !shorter.is_longer(0.99, || true));
        answers(&times, "GET /report", (MANY, 2_000));
        assert!(beside(&times, "GET /report", 2_001).is_longest(|| false));
        assert!(!beside(&times, "GET /report", 2_000).is_longest(|| true));
    }

    #[test]
    fn who_leaves_the_legacy_after_the_same_time_speaks_for_the_candidate() {
        let times = ByRoute::new();
        (0..LEAST).for_each(|_| times.left("GET /report", MILLIS(1_500)));
        for millis in [1_490, 1_500, 1_515, 1_600] {
            let beside = beside(&times, "GET /report", millis);
            assert!(!beside.is_longer(0.99, || true), "{millis}");
            assert!(!beside.is_longest(|| true), "{millis}");
        }
        assert!(beside(&times, "GET /report", 3_000).is_longer(0.99, || false));
    }

    #[test]
    fn what_was_long_ago_fades_and_counts_stay_small() {
        let times = ByRoute::new();
        answers(&times, "GET /report", (MOST, 9_000));
        answers(&times, "GET /report", (20 * MOST, 1));
        let beside = beside(&times, "GET /report", 600);
        assert!(beside.answers <= MOST, "{beside:?}");
        assert!(beside.is_longer(0.99, || false), "{beside:?}");
    }

    #[test]
    fn random_paths_displace_no_route_that_is_asked_for() {
        let times = ByRoute::new();
        let real: Vec<String> = (0..PARTS * 2).map(|at| format!("GET /real/{at}")).collect();
        for _ in 0..LEAST {
            for route in &real {
                times.answered(route, MILLIS(1));
            }
        }
        for path in 0..PARTS * ROUTES * 4 {
            times.answered(&format!("GET /scan/{path}"), MILLIS(1));
        }
        for route in &real {
            assert_eq!(beside(&times, route, 600).answers, LEAST, "{route}");
        }
        let kept: usize = times
            .0
            .iter()
            .map(|part| part.lock().unwrap().times.len())
            .sum();
        assert_eq!(kept, PARTS * ROUTES);
        // A new one finds a place, and keeps it.
        answers(&times, "GET /new", (LEAST, 1));
        assert_eq!(beside(&times, "GET /new", 600).answers, LEAST);
    }
}
