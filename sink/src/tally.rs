//! Counting: every request of the process, by route, interval and outcome.
//!
//! Threads count with their own [`OutcomeRecorder`]; the [`TallyBook`] gathers what they counted into the tallies of
//! the present interval and says which rows a store still lacks. The book is in memory only and knows no store: a
//! writer asks for a [`Snapshot`], writes it, and acknowledges it. What is not acknowledged is offered again, with
//! whatever was counted meanwhile, under the same id and a higher revision: a failed write loses nothing, and repeating
//! a write that did succeed changes nothing.
//!
//! While a store is unavailable, the book does not pile up intervals: with [`MAX_UNWRITTEN_INTERVALS`] waiting, the
//! open interval is not closed but grows longer. (Merging closed intervals instead would require knowing for certain
//! which of them were written.)

mod attributes;
mod clock;
mod counters;
mod durations;
mod epochs;
mod erring;
mod fast_map;
mod field_sample;
mod gather;
mod interval;
mod lately;
mod owned;
mod recorder;
mod routes;
mod runs;
mod samples;
mod sets;
mod sighting;
mod stretches;
mod targets;
mod terms;
mod totals;

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use parity_schemas::evidence::RouteEvidence;
use parity_schemas::id::new_id;
use parity_schemas::lately::WaitedFor;
use parity_schemas::record::Record;
use parity_schemas::tally::{Counts, Group, GroupTally, Identity, SetTally, Tally};
use parity_schemas::terms::Terms;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Watermark;

pub use self::attributes::{AttributeId, AttributeNumbers};
pub(crate) use self::counters::other_group;
pub use self::counters::{Elapsed, OTHER};
pub use self::epochs::Epoch;
pub use self::recorder::OutcomeRecorder;
pub use self::routes::GenerationId;
pub use self::samples::SAMPLES_PER_GROUP;
pub use self::sighting::{Sighting, Unasked};
pub use self::targets::{TargetHash, TargetKey};
pub use self::totals::{Totals, register};

use self::attributes::Names;
use self::clock::Clock;
use self::counters::{Shard, lock};
use self::epochs::Gate;
use self::gather::State;
use self::routes::{Number, Routes, TallyGeneration};
use self::runs::Moment;
use self::samples::SampleQuota;
use self::totals::RouteTotals;
use crate::retention::Retention;

/// Closed intervals that may wait for a store. Two bridge a short delay; for a longer one see the module.
pub const MAX_UNWRITTEN_INTERVALS: usize = 2;
/// Routes that are counted under their own label, unless configured: more than any service has, and few enough that
/// every label may be a metric series.
pub const MAX_ROUTES: usize = 1_000;
/// Groups per tally, unless configured. Nobody reads a report with more.
pub const MAX_GROUPS: usize = 1_000;

/// Configuration of a book.
#[derive(Clone, Debug)]
pub struct TallyConfig {
    /// What the counts are evidence for in the first generation.
    pub identity: Identity,
    /// Who counts.
    pub instance: String,
    /// Ids of all rules; [`OutcomeRecorder::rule_hits`] refers to them by index.
    pub rule_ids: Vec<String>,
    /// Cap on routes with a label of their own.
    pub max_routes: usize,
    /// Cap on groups per tally.
    pub max_groups: usize,
    /// Names the key by which targets are hashed, see [`TargetKey::name`].
    pub target_key: String,
    /// When the process began: no interval begins earlier.
    pub started: Timestamp,
    /// How long a store keeps tallies.
    pub kept: Duration,
}

impl TallyConfig {
    /// The default limits, started now; targets are not known to anybody else.
    pub fn new(identity: Identity, instance: impl Into<String>, rule_ids: Vec<String>) -> Self {
        Self {
            identity,
            instance: instance.into(),
            rule_ids,
            max_routes: MAX_ROUTES,
            max_groups: MAX_GROUPS,
            target_key: TargetKey::new(new_id().as_bytes()).name().to_owned(),
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
    /// Of attributes of requests, in all generations.
    names: Arc<Names>,
    gate: Gate,
    clock: Mutex<Clock>,
    /// Locked by whoever gathers (writer, metrics, health), never by a thread that counts.
    state: Mutex<State>,
}

/// Rows that a store lacks.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// The sequence number of this snapshot.
    number: u32,
    /// Tallies that are new or changed.
    pub tallies: Vec<Tally>,
    /// Groups that are new or changed.
    pub groups: Vec<GroupTally>,
    /// Sets of groups that are new or changed.
    pub sets: Vec<SetTally>,
    /// Terms that came into force.
    pub terms: Vec<Terms>,
    /// Of every run whose end the store has not acknowledged, as of this snapshot. To be written with its rows or after
    /// them.
    pub watermarks: Vec<Watermark>,
}

impl Snapshot {
    /// Whether there are neither counts nor terms to write. There may still be watermarks.
    pub fn is_empty(&self) -> bool {
        self.tallies.is_empty()
            && self.groups.is_empty()
            && self.sets.is_empty()
            && self.terms.is_empty()
    }

    /// All rows: tallies before their groups and sets, and watermarks last.
    pub fn records(&self) -> impl Iterator<Item = Record> + '_ {
        fn boxed<T: Clone>(
            rows: &[T],
            record: fn(Box<T>) -> Record,
        ) -> impl Iterator<Item = Record> {
            rows.iter().map(move |row| record(Box::new(row.clone())))
        }
        boxed(&self.tallies, Record::Tally)
            .chain(boxed(&self.groups, Record::GroupTally))
            .chain(boxed(&self.sets, Record::SetTally))
            .chain(boxed(&self.terms, Record::Terms))
            .chain(boxed(&self.watermarks, Record::Watermark))
    }
}

impl TallyBook {
    /// An empty book.
    pub fn new(config: TallyConfig) -> Arc<Self> {
        let first = TallyGeneration::new(
            config.identity.clone(),
            config.rule_ids.clone(),
            config.started,
            0,
        );
        Arc::new(Self {
            routes: RwLock::new(Routes::new(first)),
            joined: Mutex::default(),
            samples: Mutex::default(),
            names: Arc::default(),
            gate: Gate::default(),
            clock: Mutex::new(Clock::begun(Timestamp::now(), Instant::now())),
            state: Mutex::new(State::begun(config.started)),
            config,
        })
    }

    /// Begins another generation: from now on, new recorders count for this identity and these rules. Existing recorders
    /// keep their generation, because requests that began under the old rules are evidence for the old rules.
    pub fn begin_generation(&self, identity: Identity, rule_ids: Vec<String>) {
        let now = Timestamp::now();
        let set_by = lock(&self.clock).set_by(now, Instant::now());
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        routes.begin_generation(TallyGeneration::new(identity, rule_ids, now, set_by));
    }

    /// From now on these terms are in force; a store that lacks them gets them with the counts.
    pub fn begin_terms(&self, terms: Terms) {
        let (id, begun) = (terms.id, terms.time);
        // First: a watermark must not name what no store was ever offered.
        lock(&self.state).terms.add(terms);
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        routes.begin_terms(id, begun);
    }

    /// From now on the candidate is waited for so long: what times out was sent so long before.
    pub fn set_candidate_deadline(&self, deadline: Duration) {
        lock(&self.state).candidate_deadline = deadline;
    }

    /// The current generation.
    pub fn generation(&self) -> GenerationId {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        routes.current()
    }

    /// The run of the current generation, as it began.
    pub(crate) fn begun(&self) -> Watermark {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        routes.begun(&self.config.instance)
    }

    /// A recorder for one thread, which counts in this generation.
    pub fn recorder(self: &Arc<Self>, generation: GenerationId) -> OutcomeRecorder {
        let shard = Arc::new(Shard::of_generation(generation.place));
        lock(&self.joined).push(Arc::clone(&shard));
        OutcomeRecorder::new(Arc::clone(self), shard, generation)
    }

    /// The numbers of these attributes for one thread, which calls them by their place in this list.
    pub fn attribute_numbers<'a>(
        &self,
        wanted: impl IntoIterator<Item = &'a str>,
    ) -> AttributeNumbers {
        AttributeNumbers::new(&self.names, wanted.into_iter())
    }

    /// Whether a mismatch with these groups keeps its full exchange, because it is among the first
    /// [`SAMPLES_PER_GROUP`] of one of them in this interval. Each `true` uses up one of these places.
    pub fn keep_sample(&self, groups: &[Group]) -> bool {
        lock(&self.samples).keep(groups)
    }

    /// Gathers everything counted so far and returns the rows that the store lacks, sorted.
    pub fn snapshot_now(&self) -> Snapshot {
        self.snapshot_when(Timestamp::now(), Instant::now())
    }

    /// The same at a time by the system clock and by one that nobody sets.
    fn snapshot_when(&self, now: Timestamp, counted: Instant) -> Snapshot {
        let set_by = lock(&self.clock).set_by(now, counted);
        self.snapshot_set_by(now, set_by)
    }

    /// The same at a time of a clock that was never set.
    pub fn snapshot(&self, now: Timestamp) -> Snapshot {
        self.snapshot_set_by(now, 0)
    }

    fn snapshot_set_by(&self, now: Timestamp, set_by: i64) -> Snapshot {
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
        snapshot.terms = state.terms.offer(number, acknowledged);
        let seen = state.seen();
        let State {
            open,
            closed,
            epochs,
            runs,
            resume_at,
            ..
        } = &mut *state;
        for interval in closed.iter_mut().chain(open.as_mut()) {
            let starts = interval.starts();
            for (route, tally) in &mut interval.routes {
                tally.stamp(number);
                if tally.is_due(acknowledged) {
                    let (generation, label) = routes.of(*route);
                    let shape = self.shape(generation, label);
                    let start = starts(generation.started);
                    let row = tally.row(start, shape, &generation.rule_ids, &self.names);
                    let groups = tally.group_rows(acknowledged, &row, &self.names);
                    snapshot.groups.extend(groups);
                    snapshot.sets.extend(tally.set_rows(acknowledged, &row));
                    snapshot.tallies.push(row);
                }
            }
        }
        let moment = Moment {
            number,
            acknowledged,
            now,
            set_by,
            instance: &self.config.instance,
            settled: epochs.settled(),
            open: open.as_ref(),
            resume_at: *resume_at,
            in_use: &in_use,
            seen,
        };
        snapshot.watermarks = runs.watermarks(&routes, &moment);
        snapshot
            .tallies
            .sort_unstable_by_key(|tally| (tally.interval_start, tally.id));
        snapshot.groups.sort_unstable_by(|one, other| {
            (one.tally_id, &one.group.fingerprint).cmp(&(other.tally_id, &other.group.fingerprint))
        });
        snapshot.sets.sort_unstable_by(|one, other| {
            (one.tally_id, &one.set_id).cmp(&(other.tally_id, &other.set_id))
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

    /// The store has lost rows: everything still in memory is offered again. Rows that it still has are not counted
    /// twice, because rows keep their ids.
    pub(crate) fn offer_again(&self) {
        let mut state = lock(&self.state);
        state.acknowledged = 0;
        state.take_back();
    }

    /// Nothing more will be received or settled: from now on the watermarks are the last ones.
    pub fn end(&self) {
        lock(&self.state).runs.finished = true;
    }

    /// Whether the process has ended and the store has not acknowledged its last watermarks.
    pub(crate) fn lacks_its_end(&self) -> bool {
        let state = lock(&self.state);
        state.runs.lacks_an_end(state.acknowledged)
    }

    /// What the process counted since it began, up to this moment.
    pub fn totals(&self) -> Totals {
        let (named, last_comparison, last_failed_client) = self.metrics();
        let state = lock(&self.state);
        let clients_now = state.lately.told(self.config.started, Timestamp::now());
        let candidate = state.seen();
        drop(state);
        let routes: Vec<RouteEvidence> = named
            .into_iter()
            .map(|(route, totals)| RouteEvidence {
                route,
                counts: totals.counts(),
                ..RouteEvidence::default()
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
            clients_now,
            candidate,
        }
    }

    /// Routes with counts, the time of the last comparison, and the time of the last failed client.
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

    /// Clients that gave up since the process began, in the order of [`WaitedFor::ALL`], as of the last gathering.
    fn gave_up(&self) -> [u64; WaitedFor::ALL.len()] {
        lock(&self.state).gave_up
    }

    /// The number of a route; `None` when it counts under [`OTHER`]. Configured routes always get a number, however
    /// many other routes clients have requested.
    fn route_number(
        &self,
        generation: GenerationId,
        label: &str,
        is_configured: bool,
    ) -> Option<u32> {
        let most = if is_configured {
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

    /// An empty tally of this process.
    fn shape(&self, generation: &TallyGeneration, route: &str) -> Tally {
        Tally {
            identity: generation.identity.clone(),
            instance: self.config.instance.clone(),
            run: generation.run,
            target_key: self.config.target_key.clone(),
            route: route.to_owned(),
            ..Tally::default()
        }
    }
}

#[cfg(test)]
mod tests;
