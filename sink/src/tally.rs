//! Counting: every request of the process, by route, interval and outcome.
//!
//! Threads count with their own [`Recorder`]; the [`TallyBook`] gathers what they counted into the tallies of the
//! present interval and says which rows a store still lacks. The book is in memory only and knows no store: a writer
//! asks for a [`Snapshot`], writes it, and acknowledges it. What is not acknowledged is offered again, with whatever
//! was counted meanwhile, under the same id and a higher revision: a failed write loses nothing, and a write that
//! failed only seemingly changes nothing when it is repeated.
//!
//! While a store is away the book does not pile up intervals: after [`MAX_UNWRITTEN_INTERVALS`] the open one is not
//! closed but grows longer. (Merging closed intervals instead would have to know for certain which of them had been
//! written.)

mod counters;
mod interval;
mod recorder;
mod samples;
mod totals;

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use parity_schemas::evidence::RouteEvidence;
use parity_schemas::tally::{Counts, Group, GroupTally, Identity, Tally};
use parity_schemas::time::Timestamp;
use uuid::Uuid;

pub use self::counters::OTHER;
pub(crate) use self::counters::other_group;
pub use self::recorder::Recorder;
pub use self::samples::SAMPLES_PER_GROUP;
pub use self::totals::{Totals, register};

use self::counters::{FastMap, MATCHED, OUTCOMES, RECEIVED, RouteCounters, Shard, lock};
use self::interval::{Interval, minute};
use self::samples::SampleQuota;
use self::totals::RouteTotals;

/// Closed intervals that may wait for a store: two bridge a store that is slow for a moment; beyond, see the module.
pub const MAX_UNWRITTEN_INTERVALS: usize = 2;
/// Routes that are counted under their own label, unless configured: more than any service has, and few enough that
/// every label may be a metric series.
pub const MAX_ROUTES: usize = 1_000;
/// Groups per tally, unless configured. A report with more is not read by anybody.
pub const MAX_GROUPS: usize = 1_000;
/// Groups in all tallies that are held; beyond it new ones count under [`OTHER`]. At some 300 bytes each this is 6 MB.
const MAX_GROUPS_HELD: usize = 20_000;
/// Counts that were gathered this late after an interval's end still belong to it without making it longer: the book
/// is read several times a second, so this is the error of attribution on a busy machine.
const MAX_GATHER_LAG_MICROS: i64 = 1_000_000;
/// The number of the route that stands for all beyond the cap.
const OTHER_ROUTE: u32 = 0;

/// What a book needs to know.
#[derive(Clone, Debug)]
pub struct TallyConfig {
    /// What the counts are evidence for.
    pub identity: Identity,
    /// Who counts.
    pub instance: String,
    /// Ids of all rules; [`Recorder::rule_hits`] names them by their place.
    pub rule_ids: Vec<String>,
    /// Cap on routes with a label of their own.
    pub max_routes: usize,
    /// Cap on groups per tally.
    pub max_groups: usize,
    /// When the process began: no interval begins earlier.
    pub started: Timestamp,
}

impl TallyConfig {
    /// With the usual caps, begun now.
    pub fn new(identity: Identity, instance: impl Into<String>, rule_ids: Vec<String>) -> Self {
        Self {
            identity,
            instance: instance.into(),
            rule_ids,
            max_routes: MAX_ROUTES,
            max_groups: MAX_GROUPS,
            started: Timestamp::now(),
        }
    }
}

/// The counts of one process.
pub struct TallyBook {
    config: TallyConfig,
    routes: RwLock<RouteNumbers>,
    joined: Mutex<Vec<Arc<Shard>>>,
    samples: Mutex<SampleQuota>,
    /// Only who gathers takes this: writer, metrics, health. Never a thread that counts.
    state: Mutex<State>,
}

/// Rows that a store lacks.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Which snapshot of its book this is.
    number: u32,
    /// Tallies that are new or changed.
    pub tallies: Vec<Tally>,
    /// Groups that are new or changed.
    pub groups: Vec<GroupTally>,
}

impl Snapshot {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.tallies.is_empty() && self.groups.is_empty()
    }
}

#[derive(Default)]
struct RouteNumbers {
    numbers: FastMap<Box<str>, u32>,
    labels: Vec<Box<str>>,
}

#[derive(Default)]
struct State {
    sources: Vec<Source>,
    open: Option<Interval>,
    closed: VecDeque<Interval>,
    /// End of the last closed interval, or the start of the process.
    resume_at: Timestamp,
    gathered_at: Timestamp,
    snapshots: u32,
    acknowledged: u32,
    totals: Vec<RouteTotals>,
    last_comparison: Option<Timestamp>,
}

/// A shard and what was read from it last.
struct Source {
    shard: Arc<Shard>,
    routes: Vec<Baseline>,
}

struct Baseline {
    counters: Arc<RouteCounters>,
    generation: u64,
    outcomes: [u64; OUTCOMES],
    compared: Vec<u64>,
}

impl TallyBook {
    /// An empty book.
    pub fn new(config: TallyConfig) -> Arc<Self> {
        let other = Box::<str>::from(OTHER);
        Arc::new(Self {
            routes: RwLock::new(RouteNumbers {
                numbers: std::iter::once((other.clone(), OTHER_ROUTE)).collect(),
                labels: vec![other],
            }),
            joined: Mutex::default(),
            samples: Mutex::default(),
            state: Mutex::new(State {
                resume_at: config.started,
                gathered_at: config.started,
                ..State::default()
            }),
            config,
        })
    }

    /// A pen for one thread.
    pub fn recorder(self: &Arc<Self>) -> Recorder {
        let shard = Arc::new(Shard::default());
        lock(&self.joined).push(Arc::clone(&shard));
        Recorder::new(Arc::clone(self), shard)
    }

    /// Whether a mismatch of these groups keeps its full exchange: it does when it is among the first
    /// [`SAMPLES_PER_GROUP`] of any of them in this interval. Each `true` counts as kept.
    pub fn keep_sample(&self, groups: &[Group]) -> bool {
        lock(&self.samples).keep(groups)
    }

    /// Gathers everything counted so far and returns the rows that the store lacks, sorted.
    pub fn snapshot(&self, now: Timestamp) -> Snapshot {
        let mut state = lock(&self.state);
        self.gather(&mut state, now);
        state.snapshots += 1;
        let (number, acknowledged) = (state.snapshots, state.acknowledged);
        let mut snapshot = Snapshot {
            number,
            ..Snapshot::default()
        };
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        let State { open, closed, .. } = &mut *state;
        for interval in closed.iter_mut().chain(open.as_mut()) {
            for (route, tally) in &mut interval.routes {
                tally.stamp(number);
                if tally.is_due(acknowledged) {
                    let shape = self.shape(&routes.labels[*route as usize]);
                    snapshot
                        .tallies
                        .push(tally.row(interval.start, shape, &self.config.rule_ids));
                    snapshot.groups.extend(tally.group_rows(acknowledged));
                }
            }
        }
        snapshot
            .tallies
            .sort_unstable_by_key(|tally| (tally.interval_start, tally.id));
        snapshot.groups.sort_unstable_by(|one, other| {
            (one.tally_id, &one.group.fingerprint).cmp(&(other.tally_id, &other.group.fingerprint))
        });
        snapshot
    }

    /// The store has every row of `snapshot`.
    pub fn acknowledge(&self, snapshot: &Snapshot) {
        let mut state = lock(&self.state);
        let acknowledged = state.acknowledged.max(snapshot.number);
        state.acknowledged = acknowledged;
        state
            .closed
            .retain(|interval| !interval.is_stored(acknowledged));
    }

    /// What the process counted since it began, up to this moment.
    pub fn totals(&self) -> Totals {
        let (named, last_comparison) = self.metrics();
        let routes: Vec<RouteEvidence> = named
            .into_iter()
            .map(|(route, totals)| RouteEvidence {
                route,
                counts: totals.counts(),
            })
            .collect();
        let mut total = Counts::default();
        for route in &routes {
            total.merge(&route.counts);
        }
        Totals {
            since: self.config.started,
            total,
            routes,
            last_comparison,
        }
    }

    fn metrics(&self) -> (Vec<(String, RouteTotals)>, Option<Timestamp>) {
        let mut state = lock(&self.state);
        self.gather(&mut state, Timestamp::now());
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        let labels = routes.labels.iter().map(|label| &**label);
        (
            totals::named(labels.zip(&state.totals)),
            state.last_comparison,
        )
    }

    /// The number of a label; `None` when it counts under [`OTHER`].
    fn route_number(&self, label: &str) -> Option<u32> {
        let full = {
            let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(number) = routes.numbers.get(label) {
                return Some(*number);
            }
            routes.labels.len() > self.config.max_routes
        };
        if full {
            return None;
        }
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        let next = routes.labels.len();
        if let Some(number) = routes.numbers.get(label) {
            return Some(*number);
        }
        if next > self.config.max_routes {
            return None;
        }
        let number = u32::try_from(next).ok()?;
        routes.labels.push(label.into());
        routes.numbers.insert(label.into(), number);
        Some(number)
    }

    fn rules(&self) -> usize {
        self.config.rule_ids.len()
    }

    fn max_groups(&self) -> usize {
        self.config.max_groups
    }

    /// A tally of this process with nothing in it.
    fn shape(&self, route: &str) -> Tally {
        Tally {
            id: Uuid::nil(),
            revision: 0,
            identity: self.config.identity.clone(),
            instance: self.config.instance.clone(),
            interval_start: Timestamp::default(),
            interval_us: 0,
            route: route.to_owned(),
            counts: Counts::default(),
            rule_hits: std::collections::BTreeMap::new(),
            legacy_latency: parity_schemas::histogram::Histogram::default(),
            candidate_latency: parity_schemas::histogram::Histogram::default(),
        }
    }

    /// Moves what was counted since the last time into the open interval, then closes it if its minute is over.
    fn gather(&self, state: &mut State, now: Timestamp) {
        for shard in lock(&self.joined).drain(..) {
            state.sources.push(Source {
                shard,
                routes: Vec::new(),
            });
        }
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

        // Verdicts first and `received` afterwards: a request that is seen to have ended is then also seen to have
        // come, so no snapshot ever has more outcomes than requests.
        let mut sources = std::mem::take(&mut state.sources);
        let mut room = MAX_GROUPS_HELD.saturating_sub(
            interval.groups() + state.closed.iter().map(Interval::groups).sum::<usize>(),
        );
        let mut ended = Vec::with_capacity(sources.len());
        for source in &mut sources {
            // Sole owner: the recorder is gone, and what it wrote before is visible.
            ended.push(Arc::get_mut(&mut source.shard).is_some());
            self.gather_source(source, state, &mut interval, &mut room, now);
        }
        for source in &mut sources {
            for baseline in &mut source.routes {
                baseline.gather_slot(RECEIVED, state, &mut interval);
            }
        }
        let mut ended = ended.into_iter();
        sources.retain(|_| !ended.next().unwrap_or(false));
        state.sources = sources;

        if !over {
            state.open = Some(interval);
        } else if interval.routes.is_empty() {
            state.resume_at = interval.end;
            lock(&self.samples).reset();
        } else if state.closed.len() < MAX_UNWRITTEN_INTERVALS {
            state.resume_at = interval.end;
            state.closed.push_back(interval);
            lock(&self.samples).reset();
        } else {
            state.open = Some(interval);
        }
    }

    fn gather_source(
        &self,
        source: &mut Source,
        state: &mut State,
        interval: &mut Interval,
        room: &mut usize,
        now: Timestamp,
    ) {
        for counters in source.shard.take_added() {
            source.routes.push(Baseline {
                counters,
                generation: 0,
                outcomes: [0; OUTCOMES],
                compared: Vec::new(),
            });
        }
        for (route, mismatches) in source.shard.take_mismatches() {
            let totals = state.totals_of(route);
            totals.mismatch += mismatches.count;
            for (total, count) in totals.kinds.iter_mut().zip(mismatches.kinds) {
                *total += count;
            }
            state.last_comparison = Some(now);
            let tally = interval.change(route);
            let own_room = self.config.max_groups.saturating_sub(tally.group_count());
            *room -= tally
                .add_mismatches(mismatches, own_room.min(*room))
                .min(*room);
        }
        for baseline in &mut source.routes {
            baseline.gather(state, interval, now);
        }
    }
}

impl State {
    fn totals_of(&mut self, route: u32) -> &mut RouteTotals {
        let route = route as usize;
        if self.totals.len() <= route {
            self.totals.resize_with(route + 1, RouteTotals::default);
        }
        &mut self.totals[route]
    }
}

impl Baseline {
    /// Everything but `received`.
    fn gather(&mut self, state: &mut State, interval: &mut Interval, now: Timestamp) {
        let generation = self.counters.generation.load(Ordering::Acquire);
        if generation == self.generation {
            return;
        }
        self.generation = generation;
        for slot in RECEIVED + 1..OUTCOMES {
            if self.gather_slot(slot, state, interval) && slot == MATCHED {
                state.last_comparison = Some(now);
            }
        }
        let counters = Arc::clone(&self.counters);
        let compared = counters.compared();
        self.compared.resize(compared.len(), 0);
        for (slot, (counter, seen)) in compared.iter().zip(&mut self.compared).enumerate() {
            let count = counter.load(Ordering::Acquire);
            if count != *seen {
                interval.change(counters.route).add_compared(
                    slot,
                    count.wrapping_sub(*seen),
                    compared.len(),
                );
                *seen = count;
            }
        }
    }

    /// Whether the slot had counted anything new.
    fn gather_slot(&mut self, slot: usize, state: &mut State, interval: &mut Interval) -> bool {
        let count = self.counters.outcomes[slot].load(Ordering::Acquire);
        let new = count.wrapping_sub(self.outcomes[slot]);
        if new == 0 {
            return false;
        }
        self.outcomes[slot] = count;
        let route = self.counters.route;
        state.totals_of(route).outcomes[slot] += new;
        interval.change(route).add_outcome(slot, new);
        true
    }
}

#[cfg(test)]
mod tests;
