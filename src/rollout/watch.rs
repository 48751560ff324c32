//! Sets both services beside each other: a share of errors, and a time, of the last window, or of as many requests as it takes.
//!
//! While the candidate serves, that is what clients get, so it needs no comparison; the gate looks at what differs. While it serves
//! nobody, its shadows show what clients would get. Where a window has too few requests to say anything, those since the last judgement are
//! taken together: a slow candidate that few clients ask is slow, too. Errors and times are judged apart, because fewer answers of the legacy
//! than of the candidate may be timed, where only a sample is shadowed.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parity_mirror::{RolloutSeen, ServedCounts};
use parity_schemas::histogram::{lower_bound, upper_bound};
use parity_schemas::time::{Timestamp, elapsed};

use crate::config::Bounds;

/// The quantile of the times that is compared.
pub(super) const QUANTILE: f64 = 0.95;
/// A candidate that is slower by less is not slower for anybody: as much as the scheduling of a busy machine makes.
const LEAST_SLOWER: Duration = Duration::from_millis(10);
/// Parts of the window that are kept, so that its length is right by so much of it.
const PARTS: u32 = 30;

/// What was seen in the last window, and at the percent that is in force.
#[derive(Default)]
pub(super) struct Watch {
    kept: VecDeque<Kept>,
    degree: Option<Degree>,
}

/// What was seen by one moment.
struct Kept {
    at: Instant,
    /// The same for people.
    time: Timestamp,
    seen: RolloutSeen,
}

/// What was seen at one percent.
struct Degree {
    /// When it came into force.
    began: RolloutSeen,
    /// When its errors were last judged by enough requests.
    judged: RolloutSeen,
    /// When its times were last judged by enough of both services: few answers of the legacy may be timed.
    timed: RolloutSeen,
    /// Whether its times were judged, or there are none to judge by.
    are_timed: bool,
    /// Whether it was judged without its times since they were compared last: one of the services had none.
    by_errors_alone: bool,
    /// When it was last judged, and did no worse.
    good: Option<Timestamp>,
    /// Which errors it has more, by the last judgement.
    errors: Option<String>,
    /// What it answers later, by the last judgement.
    slower: Option<String>,
}

impl Degree {
    fn begin(seen: &RolloutSeen) -> Self {
        Self {
            began: seen.clone(),
            judged: seen.clone(),
            timed: seen.clone(),
            are_timed: false,
            by_errors_alone: false,
            good: None,
            errors: None,
            slower: None,
        }
    }

    /// What the candidate does worse.
    fn worse(&self) -> Option<&String> {
        self.errors.as_ref().or(self.slower.as_ref())
    }
}

/// Which of the candidate's requests are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Those that it serves.
    Serves,
    /// Those that it gets as the shadow of the legacy.
    Shadows,
}

/// How far the candidate was judged at one percent.
#[derive(Default)]
pub(super) struct Standing {
    /// Requests that it served.
    pub(super) served: u64,
    /// Requests since it was judged last.
    pub(super) unjudged: u64,
    /// Answers of the service that has fewer that are timed, of those that are not judged yet; `None` if times were judged.
    pub(super) untimed: Option<u64>,
    /// When it was last judged and did no worse.
    pub(super) good: Option<Timestamp>,
    /// Whether it was judged by errors alone, because of one of the services no answer is timed.
    pub(super) by_errors_alone: bool,
    /// What it does worse, by the last judgement.
    pub(super) worse: Option<String>,
}

impl Role {
    /// Of a candidate that serves this percent.
    pub(super) fn at(percent: f64) -> Self {
        if percent > 0.0 {
            Self::Serves
        } else {
            Self::Shadows
        }
    }

    fn of(self, seen: &RolloutSeen) -> &ServedCounts {
        match self {
            Self::Serves => &seen.candidate,
            Self::Shadows => &seen.shadow,
        }
    }

    /// The legacy and the candidate since `before`.
    fn since(self, seen: &RolloutSeen, before: &RolloutSeen) -> [ServedCounts; 2] {
        [
            seen.legacy.since(&before.legacy),
            self.of(seen).since(self.of(before)),
        ]
    }
}

impl Watch {
    /// Another percent is in force from what was `seen` on: what was before says nothing of those who come now.
    pub(super) fn begin(&mut self, seen: &RolloutSeen, now: Instant) {
        *self = Self {
            degree: Some(Degree::begin(seen)),
            kept: VecDeque::new(),
        };
        self.push(seen.clone(), now);
    }

    /// Takes in what was seen by now, and says why all clients must go back, if so; of shadows, why nobody may come.
    pub(super) fn look(
        &mut self,
        seen: RolloutSeen,
        role: Role,
        now: Instant,
        bounds: &Bounds,
    ) -> Option<String> {
        let degree = self.degree.get_or_insert_with(|| Degree::begin(&seen));
        let needed = bounds.min_requests;
        let front = self.kept.front();
        let window = front.map(|before| role.since(&seen, &before.seen));
        let enough = |[_, candidate]: &[ServedCounts; 2]| candidate.requests >= needed;
        let since = role.since(&seen, &degree.judged);
        let is_judged = enough(&since);
        let errors = window
            .as_ref()
            .filter(|window| enough(window))
            .or(is_judged.then_some(&since));
        if let Some(errors) = errors {
            degree.errors = more_errors(errors, bounds);
        }
        let of_both = |sides: &[ServedCounts; 2]| sides.iter().all(|side| side.timed() >= needed);
        let since = role.since(&seen, &degree.timed);
        let times = window
            .as_ref()
            .filter(|window| of_both(window))
            .or(of_both(&since).then_some(&since));
        if let Some(times) = times {
            degree.slower = slower(times, bounds);
            degree.are_timed = true;
            degree.by_errors_alone = false;
            degree.timed = seen.clone();
        }
        // Streams, or nothing is shadowed: then errors are what there is.
        let [legacy, candidate] = &since;
        if legacy.timed().min(candidate.timed()) == 0
            && candidate.requests >= needed.saturating_mul(2)
        {
            degree.by_errors_alone = true;
            degree.are_timed = true;
        }
        let why = degree.worse().cloned();
        if why.is_some() {
            degree.good = None;
        }
        if is_judged && degree.are_timed {
            degree.good = why.is_none().then(Timestamp::now);
            degree.judged = seen.clone();
        }
        self.keep(seen, now, bounds.window);
        why
    }

    /// How far the candidate was judged at the percent that is in force.
    pub(super) fn standing(&self, seen: &RolloutSeen, role: Role) -> Standing {
        let Some(degree) = &self.degree else {
            return Standing::default();
        };
        let requests = |before| role.of(seen).since(role.of(before)).requests;
        let [legacy, candidate] = role.since(seen, &degree.timed);
        Standing {
            served: seen.candidate.since(&degree.began.candidate).requests,
            unjudged: requests(&degree.judged),
            untimed: (!degree.are_timed).then(|| legacy.timed().min(candidate.timed())),
            good: degree.good,
            by_errors_alone: degree.by_errors_alone,
            worse: degree.worse().cloned(),
        }
    }

    /// What the legacy, the candidate, and the candidate as a shadow did in the last window.
    pub(super) fn lately(&self, seen: &RolloutSeen) -> [ServedCounts; 3] {
        let Some(Kept { seen: before, .. }) = self.kept.front() else {
            return Default::default();
        };
        [
            seen.legacy.since(&before.legacy),
            seen.candidate.since(&before.candidate),
            seen.shadow.since(&before.shadow),
        ]
    }

    /// Since when [`Self::lately`] counts.
    pub(super) fn lately_since(&self) -> Option<Timestamp> {
        self.kept.front().map(|kept| kept.time)
    }

    fn push(&mut self, seen: RolloutSeen, at: Instant) {
        let time = Timestamp::now();
        self.kept.push_back(Kept { at, time, seen });
    }

    /// Keeps what was seen, and drops what is older than the window.
    fn keep(&mut self, seen: RolloutSeen, now: Instant, window: Duration) {
        let age = |at: Instant| now.saturating_duration_since(at);
        // The first one that is as old as the window is where the window begins.
        while let Some(next) = self.kept.get(1)
            && age(next.at) >= window
        {
            self.kept.pop_front();
        }
        let last = self.kept.back().map(|kept| age(kept.at));
        if last.is_none_or(|age| age >= window / PARTS) {
            self.push(seen, now);
        }
    }
}

/// Which errors the candidate has more than the legacy, if so.
fn more_errors([legacy, candidate]: &[ServedCounts; 2], bounds: &Bounds) -> Option<String> {
    let (of_candidate, of_legacy) = (candidate.error_rate(), legacy.error_rate());
    (of_candidate > of_legacy + bounds.max_error_excess).then(|| {
        format!(
            "{:.2} % errors of the candidate in its last {} requests, {:.2} % of the legacy in {}; {:.2} % more are allowed",
            of_candidate * 100.0,
            candidate.requests,
            of_legacy * 100.0,
            legacy.requests,
            bounds.max_error_excess * 100.0
        )
    })
}

/// How much later than the legacy the candidate answers, if it does.
fn slower([legacy, candidate]: &[ServedCounts; 2], bounds: &Bounds) -> Option<String> {
    let [fast, slow] = [legacy, candidate].map(|side| side.times.quantile_bucket(QUANTILE));
    // What is kept of a time is a bucket: it is slower only if it is for every two times of both.
    let (fast, slow) = (upper_bound(fast?), lower_bound(slow?));
    let least = u64::try_from(LEAST_SLOWER.as_micros()).unwrap_or(u64::MAX);
    let is_slower =
        slow as f64 > fast as f64 * bounds.max_latency_ratio && slow > fast.saturating_add(least);
    is_slower.then(|| {
        format!(
            "95 % of the candidate's answers came within {} at the least, of the legacy's within {}; {} times as long is allowed",
            elapsed(slow),
            elapsed(fast),
            bounds.max_latency_ratio
        )
    })
}

#[cfg(test)]
mod tests;
