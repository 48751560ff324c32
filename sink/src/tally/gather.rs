//! Gathering: from the threads' counters into the tallies of the present interval.
//!
//! Counters only grow, so the new counts are the difference to the last reading. Nothing is reset, so nothing is lost
//! between two readings: what one reading just misses is in the next.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::lately::{CandidateSeen, WaitedFor};
use parity_schemas::tally::minute;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;

use super::attributes::MAX_GROUPS_HELD as MAX_ATTRIBUTED_HELD;
use super::counters::{
    CLIENTS, DURATIONS, LEGACY_ANSWERS, MATCHED, OUTCOMES, REASONS, RECEIVED, RECHECKS,
    RouteCounters, Shard, lock,
};
use super::durations::Seen;
use super::epochs::Epochs;
use super::erring::{Erring, Verdicts};
use super::interval::{Interval, Room};
use super::lately::Lately;
use super::runs::Runs;
use super::sets::MAX_SETS_HELD;
use super::stretches::{Look, Stretches};
use super::terms::OfferedTerms;
use super::totals::RouteTotals;
use super::{MAX_UNWRITTEN_INTERVALS, TallyBook};

/// Groups in all tallies in memory; new ones beyond this count under [`super::OTHER`]. At about 300 bytes each this is
/// 6 MB.
const MAX_GROUPS_HELD: usize = 20_000;
/// Closed intervals that stay in memory after the store acknowledged them, because the store may lose them. A store
/// that loses its log loses at most the last minute, which overlaps two intervals.
const STORED_KEPT: usize = 2;
/// Counts that are gathered up to this late after an interval's end still belong to it and do not make it longer. The
/// book is read several times a second, so this bounds how wrongly a busy machine attributes counts.
const MAX_GATHER_LAG_MICROS: i64 = 1_000_000;

/// Answers of the legacy that are server errors, in exchanges with a verdict.
const LEGACY_ERRORS: usize = LEGACY_ANSWERS + ClientOutcome::ServerError.index();

/// The state of the book behind its lock.
#[derive(Default)]
pub(super) struct State {
    sources: Vec<Source>,
    pub(super) open: Option<Interval>,
    pub(super) closed: VecDeque<Interval>,
    /// The latest intervals that are closed and stored; see [`STORED_KEPT`].
    stored: VecDeque<Interval>,
    /// End of the last closed interval, or the start of the process.
    pub(super) resume_at: Timestamp,
    gathered_at: Timestamp,
    pub(super) snapshots: u32,
    pub(super) acknowledged: u32,
    pub(super) totals: Vec<RouteTotals>,
    pub(super) last_comparison: Option<Timestamp>,
    /// The time of the last failed client.
    pub(super) last_failed_client: Option<Timestamp>,
    pub(super) lately: Lately,
    /// Clients that gave up since the process began, by the service that they waited for.
    pub(super) gave_up: [u64; WaitedFor::ALL.len()],
    pub(super) stretches: Stretches,
    /// So long before it timed out a request was sent to the candidate; nothing until it is set.
    pub(super) candidate_deadline: Duration,
    /// What was counted of the candidate in this look.
    looked: Look,
    pub(super) erring: Erring,
    /// What was compared in this look.
    verdicts: Verdicts,
    pub(super) epochs: Epochs,
    pub(super) runs: Runs,
    pub(super) terms: OfferedTerms,
}

/// A shard and its last reading.
struct Source {
    shard: Arc<Shard>,
    routes: Vec<Baseline>,
    gave_up: [u64; WaitedFor::ALL.len()],
}

struct Baseline {
    counters: Arc<RouteCounters>,
    changes: u64,
    /// The same at the last reading of rechecks.
    changes_of_rechecks: u64,
    outcomes: [u64; OUTCOMES],
    durations: [Seen; DURATIONS],
    rules: Vec<u64>,
}

impl TallyBook {
    /// Adds the counts since the last call to the open interval, then closes it if its minute is over.
    pub(super) fn gather(&self, state: &mut State, now: Timestamp) {
        let mut sources = std::mem::take(&mut state.sources);
        self.adopt_joined(&mut sources);
        // Before any counter is read, so that the counters read below include the outcome of every request reported as
        // settled.
        let counters = sources.iter().map(|source| &source.shard.epochs);
        state.epochs.look(&self.gate, counters, now);
        let resume_at = state.resume_at;
        let mut interval = state
            .open
            .take()
            .unwrap_or_else(|| Interval::begin(now, resume_at));
        let lag = now.as_micros() - state.gathered_at.as_micros();
        let over = minute(now) != interval.minute;
        let on_time =
            state.gathered_at < interval.minute_end() && lag.abs() <= MAX_GATHER_LAG_MICROS;
        interval.end = if over && on_time {
            interval.end.max(now.min(interval.minute_end()))
        } else {
            interval.end.max(now)
        };
        state.gathered_at = now;

        // Verdicts first and `received` afterwards: a request whose outcome is read is then also read as received, so
        // no snapshot has more outcomes than requests. Then new threads and routes are collected once more, because
        // their requests may have had a verdict on another thread that was already read.
        let held =
            |of: fn(&Interval) -> usize| of(&interval) + state.closed.iter().map(of).sum::<usize>();
        let mut room = Room {
            groups: MAX_GROUPS_HELD.saturating_sub(held(Interval::groups)),
            sets: MAX_SETS_HELD.saturating_sub(held(Interval::sets)),
            attributed: MAX_ATTRIBUTED_HELD.saturating_sub(held(Interval::attributed)),
        };
        let mut ended = Vec::with_capacity(sources.len());
        for source in &mut sources {
            // The book is the only owner: the recorder was dropped, and everything that it wrote is visible.
            ended.push(Arc::get_mut(&mut source.shard).is_some());
            self.gather_source(source, state, &mut interval, &mut room, now);
        }
        self.adopt_joined(&mut sources);
        for source in &mut sources {
            source.adopt_added();
            for baseline in &mut source.routes {
                baseline.gather_slot(RECEIVED, state, &mut interval);
            }
        }
        let mut ended = ended.into_iter();
        sources.retain(|source| {
            let over = ended.next().unwrap_or(false);
            if over {
                state.epochs.retire(&source.shard.epochs);
            }
            !over
        });
        state.sources = sources;
        let looked = std::mem::take(&mut state.looked);
        let verdicts = std::mem::take(&mut state.verdicts);
        if looked.is_any() {
            let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
            let version = routes.candidate_version();
            let before = state.candidate_deadline;
            state.stretches.look(looked, version, now, before);
            state.erring.look(&verdicts, version, now);
        }

        if !over {
            state.open = Some(interval);
        } else if interval.routes.is_empty() {
            state.resume_at = interval.end;
            lock(&self.samples).reset();
        } else if state.closed.len() < MAX_UNWRITTEN_INTERVALS {
            state.resume_at = interval.end;
            let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
            state.runs.close(&interval, &routes, self.config.kept);
            drop(routes);
            state.closed.push_back(interval);
            lock(&self.samples).reset();
        } else {
            state.open = Some(interval);
        }
    }

    fn adopt_joined(&self, sources: &mut Vec<Source>) {
        let joined = std::mem::take(&mut *lock(&self.joined));
        sources.extend(joined.into_iter().map(|shard| Source {
            shard,
            routes: Vec::new(),
            gave_up: Default::default(),
        }));
    }

    fn gather_source(
        &self,
        source: &mut Source,
        state: &mut State,
        interval: &mut Interval,
        room: &mut Room,
        now: Timestamp,
    ) {
        source.adopt_added();
        // What is written after a mismatch is read before it, and what is written before it is read after it.
        for baseline in &mut source.routes {
            baseline.gather_rechecks(state, interval);
        }
        for (route, mismatches) in source.shard.take_mismatches() {
            let answered = mismatches.classes.total();
            state.looked.answered = state.looked.answered.saturating_add(answered);
            state.verdicts.add_mismatches(answered, &mismatches.errors);
            let totals = state.totals_of(route);
            totals.classes.add(&mismatches.classes);
            for (total, count) in totals.kinds.iter_mut().zip(mismatches.kinds) {
                *total += count;
            }
            state.last_comparison = Some(now);
            interval
                .change(route)
                .add_mismatches(mismatches, self.config.max_groups, room);
        }
        for baseline in &mut source.routes {
            baseline.gather(state, interval, now);
        }
        source.gather_gave_up(state, now);
    }
}

impl Source {
    fn gather_gave_up(&mut self, state: &mut State, now: Timestamp) {
        for service in WaitedFor::ALL {
            let place = service.index();
            let sum = self.shard.gave_up[place].load(Ordering::Relaxed);
            let new = sum - std::mem::replace(&mut self.gave_up[place], sum);
            if new > 0 {
                state.gave_up[place] += new;
                state.lately.add_gave_up(service, new, now);
            }
        }
    }

    /// Collects the counters of routes that are new since the last reading.
    fn adopt_added(&mut self) {
        let added = self.shard.take_added();
        self.routes
            .extend(added.into_iter().map(|counters| Baseline {
                counters,
                changes: 0,
                changes_of_rechecks: 0,
                outcomes: [0; OUTCOMES],
                durations: Default::default(),
                rules: Vec::new(),
            }));
    }
}

impl State {
    pub(super) fn begun(at: Timestamp) -> Self {
        Self {
            resume_at: at,
            gathered_at: at,
            epochs: Epochs::begun(at),
            ..Self::default()
        }
    }

    /// What was seen of the candidate.
    pub(super) fn seen(&self) -> CandidateSeen {
        CandidateSeen {
            failures: self.stretches.told(),
            errors: self.erring.told(),
        }
    }

    /// Sets aside the closed intervals that the store has.
    pub(super) fn set_stored_aside(&mut self) {
        let acknowledged = self.acknowledged;
        let (stored, lacking): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut self.closed)
            .into_iter()
            .partition(|interval| interval.is_stored(acknowledged));
        self.closed = lacking;
        self.stored.extend(stored);
        let groups =
            |stored: &VecDeque<Interval>| stored.iter().map(Interval::groups).sum::<usize>();
        while self.stored.len() > STORED_KEPT || groups(&self.stored) > MAX_GROUPS_HELD {
            self.stored.pop_front();
        }
    }

    /// Puts the stored intervals back in front of the others.
    pub(super) fn take_back(&mut self) {
        self.stored.append(&mut self.closed);
        self.closed = std::mem::take(&mut self.stored);
    }

    /// Generations that have a recorder.
    pub(super) fn generations_in_use(&self) -> BTreeSet<usize> {
        let generations = self.sources.iter().map(|source| source.shard.generation);
        generations.collect()
    }

    fn totals_of(&mut self, route: u32) -> &mut RouteTotals {
        let route = route as usize;
        if self.totals.len() <= route {
            self.totals.resize_with(route + 1, RouteTotals::default);
        }
        &mut self.totals[route]
    }
}

impl Baseline {
    /// What happened to rechecks, which is written after the mismatch that they belong to. So no reading has a recheck
    /// without its mismatch, and neither has a record whose process was killed after it.
    fn gather_rechecks(&mut self, state: &mut State, interval: &mut Interval) {
        let changes = self.counters.changes.load(Ordering::Acquire);
        if changes != self.changes_of_rechecks {
            self.changes_of_rechecks = changes;
            for slot in RECHECKS..OUTCOMES {
                self.gather_slot(slot, state, interval);
            }
        }
    }

    /// Everything but `received` and rechecks.
    fn gather(&mut self, state: &mut State, interval: &mut Interval, now: Timestamp) {
        let changes = self.counters.changes.load(Ordering::Acquire);
        if changes == self.changes {
            return;
        }
        self.changes = changes;
        for slot in RECEIVED + 1..RECHECKS {
            let new = self.gather_slot(slot, state, interval);
            if new == 0 {
                continue;
            }
            if slot == MATCHED {
                state.last_comparison = Some(now);
                state.looked.answered = state.looked.answered.saturating_add(new);
                state.verdicts.add_matches(new);
            } else if slot == LEGACY_ERRORS {
                state.verdicts.add_legacy_errors(new);
            } else if let Some(reason) = reason(slot) {
                state.looked.add(reason, new);
            } else if let Some(outcome) = client(slot) {
                state.lately.add(outcome, new, now);
                if outcome.is_failure() {
                    state.last_failed_client = Some(now);
                }
            }
        }
        let Some(compared) = self.counters.compared() else {
            return;
        };
        let route = self.counters.route;
        for (place, seen) in self.durations.iter_mut().enumerate() {
            seen.gather(&compared.durations[place], |bucket, new| {
                interval.change(route).add_durations(place, bucket, new);
            });
        }
        compared
            .targets
            .take(|targets| interval.change(route).add_targets(targets));
        compared
            .attributes
            .take(|counted| interval.change(route).add_attributes(counted));
        self.rules.resize(compared.rules.len(), 0);
        for (rule, (counter, seen)) in compared.rules.iter().zip(&mut self.rules).enumerate() {
            let hits = counter.load(Ordering::Acquire);
            if hits != *seen {
                let new = hits.wrapping_sub(*seen);
                interval
                    .change(route)
                    .add_rule_hits(rule, new, compared.rules.len());
                *seen = hits;
            }
        }
    }

    /// What the slot had counted anew.
    fn gather_slot(&mut self, slot: usize, state: &mut State, interval: &mut Interval) -> u64 {
        let count = self.counters.outcomes[slot].load(Ordering::Acquire);
        let new = count.wrapping_sub(self.outcomes[slot]);
        if new == 0 {
            return 0;
        }
        self.outcomes[slot] = count;
        let route = self.counters.route;
        state.totals_of(route).outcomes[slot] += new;
        interval.change(route).add_outcome(slot, new);
        new
    }
}

/// The reason that a slot counts.
fn reason(slot: usize) -> Option<Reason> {
    let place = slot.checked_sub(REASONS)?;
    Reason::ALL.get(place).copied()
}

/// The outcome of clients that a slot counts.
fn client(slot: usize) -> Option<ClientOutcome> {
    let place = slot.checked_sub(CLIENTS)?;
    ClientOutcome::ALL.get(place).copied()
}
