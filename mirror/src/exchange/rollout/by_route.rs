//! How long the legacy keeps clients waiting, by route: what a client that leaves has waited for is set beside answers to the same kind of
//! request. A report that takes two seconds at both services, among routes that take a millisecond, would else speak against the candidate
//! each time that somebody does not wait for it; and the report would hide how slow the candidate is elsewhere.
//!
//! Only a client that waited for [`leaving::LEAST_WAIT`] is ever asked about, so all that is much faster is one number, and the rest is in eight steps
//! to each power of two. Answers of which nobody knows how long they take (streams, and what is too large to be read to its end as a shadow)
//! are longer than any time. Counts of a route are halved when they are many, so they say what the legacy has done lately. A route has a
//! third of a kilobyte. There are places for a limited number of routes; when one is needed, a route that has hardly any answers gives its
//! own away, so that a scanner with random paths displaces nothing that is asked for. Of a route without a place nothing is known here.
//!
//! Each worker locks a part of this for each answer of the legacy that counts in a rollout, and nothing does without one.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use parity_schemas::histogram::{self, STEPS};

use super::leaving;
use crate::exchange::reached::GIVEN_UP_AFTER;
use crate::exchange::sampling;

/// Parts with a lock each: more than the workers of most machines.
const PARTS: usize = 16;
/// Routes in each part: 512 in all, in 170 KiB. A rollout judges a service, and few have that many which are asked for often.
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
/// The first octave of [`histogram`] that is counted in steps, from 2¹⁴ µs (16 ms) on: below what the shortest wait is set beside.
const FIRST: usize = 10;
/// One for all that is faster, one for each step from there to an hour, and one for what nobody knows the length of.
const BUCKETS: usize = 2 + (histogram::OCTAVES - FIRST) * COARSE;
const ENDLESS: usize = BUCKETS - 1;
/// A wait that is so many times as long as the slowest of few answers leaves no doubt.
const FAR: u32 = 10;

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

/// A time that somebody waited, beside the legacy's answers at the same route; see [`leaving::surely`] for what is longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beside {
    answers: u32,
    /// Those that were surely faster.
    faster: u32,
    /// Whether all that is known were.
    is_longest: bool,
    /// Whether all that is known were, and by far.
    is_far: bool,
}

impl Beside {
    /// Of a route of which nothing is known.
    pub(super) const NONE: Self = Self {
        answers: 0,
        faster: 0,
        is_longest: true,
        is_far: false,
    };

    /// Whether it was longer than this share of the legacy's answers took; `of_all` says whether it was for answers of all routes, which
    /// decides where the route has few, unless one of these took longer itself. The slowest one of a hundred takes a hundred.
    pub(super) fn is_longer(self, share: f64, of_all: impl FnOnce() -> bool) -> bool {
        if self.knows(share) {
            f64::from(self.faster) >= f64::from(self.answers) * share
        } else {
            self.is_longest && of_all()
        }
    }

    /// Whether it was longer than any answer of the legacy took, in the same way. Where few are known it must be by far.
    pub(super) fn is_longest(self, of_all: impl FnOnce() -> bool) -> bool {
        self.is_longest && (self.answers >= MANY || (self.is_clear() && of_all()))
    }

    /// Whether anything is known of the route.
    pub(super) fn is_known(self) -> bool {
        self.answers > 0
    }

    /// Whether the route has answers enough to speak for itself, or fewer that leave no doubt: then it does not take another client to say so.
    pub(super) fn is_clear(self) -> bool {
        self.knows(leaving::USUAL) || self.is_far
    }

    fn knows(self, share: f64) -> bool {
        f64::from(self.answers) * (1.0 - share) >= ONE
    }
}

impl ByRoute {
    pub(super) fn new() -> Self {
        Self(Default::default())
    }

    /// It is another legacy from now on.
    pub(super) fn forget(&self) {
        for part in &self.0 {
            *part.lock().unwrap_or_else(PoisonError::into_inner) = Part::default();
        }
    }

    /// The legacy answered a request of this route in this time.
    pub(super) fn answered(&self, route: &str, elapsed: Duration) {
        self.add(route, bucket(elapsed), elapsed);
    }

    /// A client left the legacy after it had waited so long: the answer would have taken longer, by nobody knows how much. Clients that leave
    /// after the same time wait a little more or less, which is why it counts as one step more. That somebody changed his mind at once says
    /// nothing where half of the answers take longer.
    pub(super) fn left(&self, route: &str, waited: Duration) {
        let at = bucket(waited);
        self.change(route, |times| {
            let faster: u32 = times.counts[..at].iter().copied().map(u32::from).sum();
            if waited >= GIVEN_UP_AFTER || faster * 2 >= times.answers {
                times.add((at + 1).min(ENDLESS - 1), waited.saturating_add(waited / 8));
            }
        });
    }

    /// The legacy answers this route, and nobody knows how long that takes: it is a stream, or was too large or too slow to be read to its end.
    pub(super) fn endless(&self, route: &str) {
        self.add(route, ENDLESS, Duration::MAX);
    }

    /// This time beside the answers of the route.
    pub(super) fn beside(&self, route: &str, waited: Duration) -> Beside {
        let (key, part) = self.part(route);
        let Some(at) = part.routes.iter().position(|known| *known == key) else {
            return Beside::NONE;
        };
        let (times, surely) = (&part.times[at], leaving::surely(waited));
        let faster = &times.counts[..bucket(surely)];
        Beside {
            answers: times.answers,
            faster: faster.iter().map(|count| u32::from(*count)).sum(),
            is_longest: surely > times.longest,
            is_far: waited >= GIVEN_UP_AFTER.max(times.longest.saturating_mul(FAR)),
        }
    }

    fn add(&self, route: &str, bucket: usize, elapsed: Duration) {
        self.change(route, |times| times.add(bucket, elapsed));
    }

    fn change(&self, route: &str, change: impl FnOnce(&mut Times)) {
        let (key, mut part) = self.part(route);
        if let Some(times) = part.place(key) {
            change(times);
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
            let top = self.counts.iter().rposition(|count| *count > 0);
            self.longest = self.longest.min(end(top.unwrap_or(0)));
        }
        self.counts[bucket] += 1;
        self.answers += 1;
        self.longest = self.longest.max(elapsed);
    }
}

/// Where a time is counted.
fn bucket(time: Duration) -> usize {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let (octave, step) = histogram::place(micros);
    match octave.checked_sub(FIRST) {
        None => 0,
        Some(octave) => 1 + octave * COARSE + step / (STEPS / COARSE),
    }
}

/// No time that is counted there is longer.
fn end(bucket: usize) -> Duration {
    let (octave, step) = match bucket.checked_sub(1) {
        None => (FIRST - 1, STEPS - 1),
        Some(at) => (
            FIRST + at / COARSE,
            (at % COARSE + 1) * (STEPS / COARSE) - 1,
        ),
    };
    if octave >= histogram::OCTAVES {
        return Duration::MAX;
    }
    Duration::from_micros(histogram::upper_bound(histogram::bucket_at(octave, step)))
}

#[cfg(test)]
mod tests;
