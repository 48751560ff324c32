//! The watermark of each run: what it counted, and how far that is complete.
//!
//! Each generation of the book is a run, see [`parity_schemas::watermark`]. Tallies of closed intervals no longer change,
//! so a watermark carries their sums, which a reader must find exactly. Tallies of the open interval still change, so the
//! watermark lists them with their revisions.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use parity_schemas::lately::{CandidateSeen, ClientErrors, MAX_RECORDED, WaitedFor};
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{OpenTally, Watermark};

use super::epochs::Settled;
use super::interval::Interval;
use super::routes::{Routes, TallyGeneration};
use super::stretches::{keep, lost};

/// A part of the sums is dropped once it covers this much time …
const SHORTEST_PART: Duration = Duration::from_hours(24);
/// … and so many tallies that every partition of a topic carries some of them: newer tallies then reveal a partition
/// that lags.
const TALLIES_OF_A_PART: u64 = 1_000;
/// Or once it covers this much time, however few tallies it has: a row that is missing for longer is not merely late.
const LONGEST_PART: Duration = Duration::from_hours(7 * 24);
/// A part covers at most one in this many of the retention of tallies, because retention must not remove tallies that
/// the sums include.
const PARTS_OF_RETENTION: u32 = 4;

/// The state of all runs.
#[derive(Default)]
pub(super) struct Runs {
    sums: Vec<Sums>,
    /// The process is ending: nothing more will be counted.
    pub(super) finished: bool,
}

/// Sums of closed intervals in two parts. The older part is dropped when the younger one has grown enough.
#[derive(Default)]
struct Sums {
    before: Option<Part>,
    now: Part,
    /// The first snapshot that reported the end of the run.
    ended_in: Option<u32>,
}

#[derive(Clone, Copy, Default)]
struct Part {
    from: Timestamp,
    tallies: u64,
    received: u64,
    settled: u64,
    in_groups: u64,
    in_sets: u64,
}

/// What all watermarks of one snapshot share.
pub(super) struct Moment<'a> {
    pub(super) number: u32,
    pub(super) acknowledged: u32,
    pub(super) now: Timestamp,
    /// By how many microseconds the clock was set since the process began.
    pub(super) set_by: i64,
    pub(super) instance: &'a str,
    pub(super) settled: &'a Settled,
    pub(super) open: Option<&'a Interval>,
    /// No later tally begins before this.
    pub(super) resume_at: Timestamp,
    /// Generations that may still receive counts.
    pub(super) in_use: &'a BTreeSet<usize>,
    /// What was seen of the candidate, of all versions.
    pub(super) seen: CandidateSeen,
}

impl Runs {
    /// Adds an interval that was closed, so its tallies are final. `kept` is how long a store keeps them.
    pub(super) fn close(&mut self, interval: &Interval, routes: &Routes, kept: Duration) {
        for (route, tally) in &interval.routes {
            let part = self.part(routes.generation_of(*route), interval.start, kept);
            part.tallies += 1;
            part.received += tally.received();
            part.settled += tally.settled();
            part.in_groups += tally.in_groups();
            part.in_sets += tally.in_sets();
        }
    }

    fn part(&mut self, generation: usize, start: Timestamp, kept: Duration) -> &mut Part {
        let sums = self.of(generation);
        if sums.now.tallies == 0 && sums.before.is_none() {
            sums.now.from = start;
        }
        let micros = |duration: Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        let longest = LONGEST_PART.min(kept / PARTS_OF_RETENTION);
        let age = start.as_micros().saturating_sub(sums.now.from.as_micros());
        let grown = sums.now.tallies >= TALLIES_OF_A_PART;
        if age >= micros(longest) || grown && age >= micros(SHORTEST_PART) {
            let next = Part {
                from: start,
                ..Part::default()
            };
            sums.before = Some(std::mem::replace(&mut sums.now, next));
        }
        // Earlier only if the clock was set back: a reader must find this tally with the others.
        sums.now.from = sums.now.from.min(start);
        &mut sums.now
    }

    fn of(&mut self, generation: usize) -> &mut Sums {
        if self.sums.len() <= generation {
            self.sums.resize_with(generation + 1, Sums::default);
        }
        &mut self.sums[generation]
    }

    /// The watermarks of all runs whose end the store has not acknowledged.
    pub(super) fn watermarks(&mut self, routes: &Routes, moment: &Moment<'_>) -> Vec<Watermark> {
        let finished = self.finished;
        let mut watermarks = Vec::new();
        for (place, generation) in routes.generations().enumerate() {
            let ended = finished || !moment.in_use.contains(&place);
            let sums = self.of(place);
            sums.ended_in = ended.then(|| sums.ended_in.unwrap_or(moment.number));
            let known = sums
                .ended_in
                .is_some_and(|snapshot| snapshot <= moment.acknowledged);
            if !known {
                let mut watermark = sums.watermark(place, generation, routes, moment);
                watermark.ended = ended;
                if ended && !finished {
                    // Nothing counts in this run any more, so all requests under way belong to other runs.
                    watermark.complete_until = moment.now;
                    watermark.under_way.clear();
                }
                watermarks.push(watermark);
            }
        }
        watermarks
    }

    /// Whether a store that has everything up to `acknowledged` lacks the end of a run of this process.
    pub(super) fn lacks_an_end(&self, acknowledged: u32) -> bool {
        let lacks = |sums: &Sums| sums.ended_in.is_none_or(|snapshot| snapshot > acknowledged);
        self.finished && (self.sums.is_empty() || self.sums.iter().any(lacks))
    }
}

/// Of too many the largest.
fn most<'a, T: Clone + 'a>(of_it: impl Iterator<Item = &'a T>, size: impl Fn(&T) -> u64) -> Vec<T> {
    let mut kept = VecDeque::new();
    for one in of_it {
        keep(&mut kept, one.clone(), MAX_RECORDED, &size);
    }
    kept.into()
}

/// What was seen of the versions of one run, of too much the largest. The runs of a process that had the same ones, under other rules, have
/// the same.
fn of_versions(seen: &CandidateSeen, identity: &Identity) -> CandidateSeen {
    let version = identity.candidate_version.as_str();
    let of_served = |one: &&ClientErrors| {
        one.version
            == match one.service {
                WaitedFor::Legacy => identity.legacy_version.as_str(),
                WaitedFor::Candidate => version,
            }
    };
    let slow = seen.slow.iter();
    let slow = slow.filter(|one| one.version == identity.legacy_version);
    let failures = seen.failures.iter();
    let errors = seen.errors.iter();
    CandidateSeen {
        failures: most(
            failures.filter(|one| one.candidate_version == version),
            lost,
        ),
        errors: most(
            errors.filter(|one| one.candidate_version == version),
            |one| one.errors,
        ),
        client_errors: most(seen.client_errors.iter().filter(of_served), |one| {
            one.errors
        }),
        slow: most(slow, |one| one.slow),
    }
}

impl Sums {
    /// When the first tally of the sums began.
    fn counted_from(&self) -> Timestamp {
        let before = self.before.filter(|_| self.now.tallies > 0);
        let first = self.before.unwrap_or(self.now).from;
        before.map_or(first, |before| before.from.min(self.now.from))
    }

    fn watermark(
        &self,
        place: usize,
        generation: &TallyGeneration,
        routes: &Routes,
        moment: &Moment<'_>,
    ) -> Watermark {
        let parts = [self.before, Some(self.now)];
        let sum = |of: fn(&Part) -> u64| parts.iter().flatten().map(of).sum();
        let open_from = moment
            .open
            .map_or(moment.resume_at, |interval| interval.start);
        let open: Vec<OpenTally> = moment
            .open
            .into_iter()
            .flat_map(|interval| &interval.routes)
            .filter(|(route, _)| routes.generation_of(**route) == place)
            .map(|(_, tally)| tally.place())
            .collect();
        Watermark {
            id: generation.run,
            revision: moment.number,
            identity: generation.identity.clone(),
            instance: moment.instance.to_owned(),
            // As long ago as it really was, by the clock that says `written`.
            started: generation
                .started
                .saturating_add_micros(moment.set_by - generation.set_by),
            written: moment.now,
            complete_until: moment.settled.until,
            ended: false,
            under_way: moment.settled.under_way.clone(),
            // A reader looks for no tally before this, so for none of the open interval either.
            counted_from: self.counted_from().min(open_from),
            open_from,
            tallies: sum(|part| part.tallies),
            received: sum(|part| part.received),
            settled: sum(|part| part.settled),
            in_groups: sum(|part| part.in_groups),
            in_sets: sum(|part| part.in_sets),
            open,
            terms: generation.terms.0,
            terms_since: generation.terms.1,
            candidate: Some(of_versions(&moment.seen, &generation.identity)),
        }
    }
}
