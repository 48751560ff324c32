//! Counting: every request of the process, by route, interval and outcome.
//!
//! Threads count with their own [`OutcomeRecorder`]; the [`TallyBook`] gathers what they counted into the tallies of the
//! present interval and says which rows a store still lacks. The book is in memory only and knows no store: a writer
//! asks for a [`Snapshot`], writes it, and acknowledges it. What is not acknowledged is offered again, with whatever
//! was counted meanwhile, under the same id and a higher revision: a failed write loses nothing, and a write that
//! failed only seemingly changes nothing when it is repeated.
//!
//! While a store is away the book does not pile up intervals: after [`MAX_UNWRITTEN_INTERVALS`] the open one is not
//! closed but grows longer. (Merging closed intervals instead would have to know for certain which of them had been
//! written.)

mod counters;
mod durations;
mod epochs;
mod gather;
mod interval;
mod owned;
mod recorder;
mod routes;
mod runs;
mod samples;
mod totals;

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use parity_schemas::evidence::RouteEvidence;
use parity_schemas::route::Route;
use parity_schemas::tally::{Counts, Group, GroupTally, Identity, Tally};
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Watermark;

pub(crate) use self::counters::other_group;
pub use self::counters::{Elapsed, OTHER};
pub use self::epochs::Epoch;
pub use self::recorder::OutcomeRecorder;
pub use self::routes::GenerationId;
pub use self::samples::SAMPLES_PER_GROUP;
pub use self::totals::{Totals, register};

use self::counters::{Shard, lock};
use self::epochs::Gate;
use self::gather::State;
use self::routes::{Number, Routes, TallyGeneration};
use self::runs::Moment;
use self::samples::SampleQuota;
use self::totals::RouteTotals;
use crate::retention::Retention;

/// Closed intervals that may wait for a store: two bridge a store that is slow for a moment; beyond, see the module.
pub const MAX_UNWRITTEN_INTERVALS: usize = 2;
/// Routes that are counted under their own label, unless configured: more than any service has, and few enough that
/// every label may be a metric series.
pub const MAX_ROUTES: usize = 1_000;
/// Groups per tally, unless configured. A report with more is not read by anybody.
pub const MAX_GROUPS: usize = 1_000;

/// What a book needs to know.
#[derive(Clone, Debug)]
pub struct TallyConfig {
    /// What the counts are evidence for, until [`TallyBook::begin_generation`].
    pub identity: Identity,
    /// Who counts.
    pub instance: String,
    /// Ids of all rules; [`OutcomeRecorder::rule_hits`] names them by their place.
    pub rule_ids: Vec<String>,
    /// Cap on routes with a label of their own.
    pub max_routes: usize,
    /// Cap on groups per tally.
    pub max_groups: usize,
    /// When the process began: no interval begins earlier.
    pub started: Timestamp,
    /// How long a store keeps tallies.
    pub kept: Duration,
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
            kept: Retention::default().tallies,
        }
    }
}

/// The counts of one process.
pub struct TallyBook {
    config: TallyConfig,
    routes: RwLock<Routes>,
    joined: Mutex<Vec<Arc<Shard>>>,
    samples: Mutex<SampleQuota>,
    gate: Gate,
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
    /// Of every run that a store has not heard the end of, as of this snapshot; to be written with it or behind it.
    pub watermarks: Vec<Watermark>,
}

impl Snapshot {
    /// Whether there are no counts to write. Its watermarks are news all the same.
    pub fn is_empty(&self) -> bool {
        self.tallies.is_empty() && self.groups.is_empty()
    }
}

impl TallyBook {
    /// An empty book.
    pub fn new(config: TallyConfig) -> Arc<Self> {
        let first = TallyGeneration::new(
            config.identity.clone(),
            config.rule_ids.clone(),
            config.started,
        );
        Arc::new(Self {
            routes: RwLock::new(Routes::new(first)),
            joined: Mutex::default(),
            samples: Mutex::default(),
            gate: Gate::default(),
            state: Mutex::new(State::begun(config.started)),
            config,
        })
    }

    /// Begins another generation: from now on, new recorders count for this identity and these rules. Existing recorders
    /// keep their generation, because requests that began under the old rules are evidence for the old rules.
    pub fn begin_generation(&self, identity: Identity, rule_ids: Vec<String>) {
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        routes.begin_generation(TallyGeneration::new(identity, rule_ids, Timestamp::now()));
    }

    /// The current generation.
    pub fn generation(&self) -> GenerationId {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        routes.current()
    }

    /// A recorder for one thread, which counts in this generation.
    pub fn recorder(self: &Arc<Self>, generation: GenerationId) -> OutcomeRecorder {
        let shard = Arc::new(Shard::of_generation(generation.place));
        lock(&self.joined).push(Arc::clone(&shard));
        OutcomeRecorder::new(Arc::clone(self), shard, generation)
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
        let mut in_use = state.generations_in_use();
        in_use.insert(routes.current().place);
        let State {
            open,
            closed,
            epochs,
            runs,
            resume_at,
            ..
        } = &mut *state;
        for interval in closed.iter_mut().chain(open.as_mut()) {
            for (route, tally) in &mut interval.routes {
                tally.stamp(number);
                if tally.is_due(acknowledged) {
                    let (generation, label) = routes.of(*route);
                    let shape = self.shape(generation, label);
                    let row = tally.row(interval.start, shape, &generation.rule_ids);
                    snapshot.groups.extend(tally.group_rows(acknowledged, &row));
                    snapshot.tallies.push(row);
                }
            }
        }
        let moment = Moment {
            number,
            acknowledged,
            now,
            instance: &self.config.instance,
            settled: epochs.settled(),
            open: open.as_ref(),
            resume_at: *resume_at,
            in_use: &in_use,
        };
        snapshot.watermarks = runs.watermarks(&routes, &moment);
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
        state.set_stored_aside();
    }

    /// The store has lost what it had: everything that is still here is offered again. What it has all the same is not
    /// counted twice, because the rows keep their ids.
    pub(crate) fn offer_again(&self) {
        let mut state = lock(&self.state);
        state.acknowledged = 0;
        state.take_back();
    }

    /// Nothing more will be received or settled: from now on the watermarks are the last ones.
    pub fn end(&self) {
        lock(&self.state).runs.finished = true;
    }

    /// Whether the process has ended and the store has not heard of it.
    pub(crate) fn lacks_its_end(&self) -> bool {
        let state = lock(&self.state);
        state.runs.lacks_an_end(state.acknowledged)
    }

    /// What the process counted since it began, up to this moment.
    pub fn totals(&self) -> Totals {
        let (named, last_comparison, last_failed_client) = self.metrics();
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
            last_failed_client,
        }
    }

    /// Routes that counted anything, when last something was compared, and when last a client failed.
    fn metrics(
        &self,
    ) -> (
        Vec<(String, RouteTotals)>,
        Option<Timestamp>,
        Option<Timestamp>,
    ) {
        let mut state = lock(&self.state);
        self.gather(&mut state, Timestamp::now());
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        let labels = routes.labels();
        (
            totals::named(labels.zip(&state.totals)),
            state.last_comparison,
            state.last_failed_client,
        )
    }

    /// The number of a route; `None` when it counts under [`OTHER`]. Those that the operator named have a place whatever
    /// clients asked for before.
    fn route_number(&self, generation: GenerationId, route: &Route) -> Option<u32> {
        let label = route.label();
        let most = if route.is_configured() {
            usize::MAX
        } else {
            self.config.max_routes
        };
        let known = {
            let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
            routes.number(generation, label, most)
        };
        match known {
            Number::Known(number) => Some(number),
            Number::Full => None,
            Number::New => {
                let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
                routes.add(generation, label, most)
            }
        }
    }

    fn max_groups(&self) -> usize {
        self.config.max_groups
    }

    /// A tally of this process with nothing in it.
    fn shape(&self, generation: &TallyGeneration, route: &str) -> Tally {
        Tally {
            identity: generation.identity.clone(),
            instance: self.config.instance.clone(),
            run: generation.run,
            route: route.to_owned(),
            ..Tally::default()
        }
    }
}

#[cfg(test)]
mod tests;
