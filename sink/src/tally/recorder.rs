//! How a thread counts: a few plain stores into memory that it alone writes.
//!
//! Each thread (worker or comparing thread) has its own [`OutcomeRecorder`]. The first request of a route on a thread
//! looks the route up in the book; every later one costs a hash of the label and the stores.

use std::cell::RefCell;
use std::sync::Arc;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::field_share::FieldNumbers;
use parity_schemas::lately::WaitedFor;
use parity_schemas::recheck::RecheckEvent;
use parity_schemas::route::{Route, split_operation};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;

use super::attributes::AttributeId;
use super::counters::{
    CLASSES, CLIENTS, Elapsed, LEGACY_ANSWERS, MATCHED, REASONS, RECEIVED, RECHECKS, RouteCounters,
    Shard,
};
use super::epochs::Epoch;
use super::fast_map::FastMap;
use super::owned::add;
use super::sighting::Sighting;
use super::targets::TargetHash;
use super::{GenerationId, TallyBook};

/// The counters of one thread. `Send`, so that it can be created before the thread starts; not `Sync`.
///
/// For every request, call [`received`](Self::received) once, [`client`](Self::client) once, and exactly one of
/// [`matched`](Self::matched), [`mismatch`](Self::mismatch) and [`not_compared`](Self::not_compared) once. These calls
/// may be on different recorders. After the outcome, call [`settled`](Self::settled) with the epoch that
/// [`received`](Self::received) returned: until then the watermark stays before the request.
pub struct OutcomeRecorder {
    book: Arc<TallyBook>,
    shard: Arc<Shard>,
    /// Bounded by the book's cap on routes plus the configured routes: labels beyond that are not kept here.
    known: RefCell<FastMap<Box<str>, Arc<RouteCounters>>>,
    other: Arc<RouteCounters>,
    /// What its counts are evidence for.
    generation: GenerationId,
}

impl OutcomeRecorder {
    pub(super) fn new(book: Arc<TallyBook>, shard: Arc<Shard>, generation: GenerationId) -> Self {
        let other = Arc::new(RouteCounters::new(generation.other, generation.rules));
        shard.add_route(Arc::clone(&other));
        Self {
            book,
            shard,
            known: RefCell::default(),
            other,
            generation,
        }
    }

    /// A request head was parsed.
    pub fn received(&self, route: &Route) -> Epoch {
        self.named(route);
        self.begun()
    }

    /// A request head was parsed, of a request whose route is not known yet. To be followed by [`named`](Self::named).
    pub fn begun(&self) -> Epoch {
        self.book.gate.enter(&self.shard.epochs)
    }

    /// The route of a request that had begun. To be called before its outcome, with which its epoch ends.
    pub fn named(&self, route: &Route) {
        self.with(route, |counters| counters.outcome(RECEIVED));
    }

    /// To be called after the outcome of the request was counted.
    pub fn settled(&self, epoch: Epoch) {
        self.shard.epochs.leave(epoch);
    }

    /// The client got an answer with this status.
    pub fn answered(&self, route: &Route, status: u16) {
        let class = match status {
            100..=599 => usize::from(status / 100) - 1,
            _ => super::counters::CODE_CLASSES.len() - 1,
        };
        self.with(route, |counters| counters.outcome(CLASSES + class));
    }

    /// How the request ended for its client.
    pub fn client(&self, route: &Route, outcome: ClientOutcome) {
        self.with(route, |counters| {
            counters.outcome(CLIENTS + outcome.index());
        });
    }

    /// Its client left after it had waited for this service, besides [`client`](Self::client).
    pub fn gave_up(&self, waited_for: WaitedFor) {
        add(&self.shard.gave_up[waited_for.index()], 1);
    }

    /// The request ended without a verdict.
    pub fn not_compared(&self, route: &Route, reason: Reason) {
        self.with(route, |counters| counters.outcome(REASONS + reason.index()));
    }

    /// Two answers to a request for this target are compared, and the legacy's has this status. To be called before the
    /// verdict, [`matched`](Self::matched) or [`mismatch`](Self::mismatch).
    pub fn compared(&self, route: &Route, legacy_status: u16, target: TargetHash) {
        let class = ClientOutcome::of_status(legacy_status).index();
        self.with(route, |counters| {
            counters.target(target);
            counters.outcome(LEGACY_ANSWERS + class);
        });
    }

    /// Whether the fields of the answers to a request of this time are to be counted. To be asked once for each exchange with a
    /// verdict, always of the same recorder.
    pub fn samples_fields(&self, route: &Route, time: Timestamp) -> bool {
        self.with(route, |counters| counters.field_sample.takes(time))
    }

    /// The fields of the legacy's answer in an exchange with a verdict, if it is one of the sample.
    pub fn fields(&self, route: &Route, counted: Option<&FieldNumbers>) {
        if let Some(counted) = counted {
            self.with(route, |counters| counters.fields(counted));
        }
    }

    /// The attributes of a request with a verdict, each once; nothing if they are not counted. Those of a mismatch must also be
    /// given with its [`Sighting`].
    pub fn attributes(&self, route: &Route, attributes: &[AttributeId]) {
        if !attributes.is_empty() {
            self.with(route, |counters| counters.attributes(attributes));
        }
    }

    /// The answers are equal.
    pub fn matched(
        &self,
        route: &Route,
        legacy: impl Into<Elapsed>,
        candidate: impl Into<Elapsed>,
    ) {
        self.with(route, |counters| {
            counters.outcome(MATCHED);
            counters.elapsed(legacy.into(), candidate.into());
        });
    }

    /// How often each rule excused a difference in one exchange. A rule is given by its index in
    /// [`super::TallyConfig::rule_ids`].
    pub fn rule_hits(&self, route: &Route, hits: &[(usize, u32)]) {
        if !hits.is_empty() {
            self.with(route, |counters| counters.rule_hits(hits));
        }
    }

    /// The answers differ. To be called once for an exchange, when its class is known.
    pub fn mismatch(
        &self,
        route: &Route,
        legacy: impl Into<Elapsed>,
        candidate: impl Into<Elapsed>,
        seen: &Sighting<'_>,
    ) {
        self.with(route, |counters| {
            self.shard
                .add_mismatch(counters.route, seen, self.book.max_groups());
            counters.elapsed(legacy.into(), candidate.into());
        });
    }

    /// What happened to a recheck or a control. Independent of the outcome of the request.
    pub fn recheck(&self, route: &Route, event: RecheckEvent) {
        self.with(route, |counters| {
            counters.outcome(RECHECKS + event as usize);
        });
    }

    fn with<T>(&self, route: &Route, count: impl FnOnce(&RouteCounters) -> T) -> T {
        let mut known = self.known.borrow_mut();
        if let Some(counters) = known.get(route.label()) {
            return count(counters);
        }
        let label = route.label();
        let own = self
            .book
            .route_number(self.generation, label, route.is_configured());
        let (label, number) = match (own, split_operation(label)) {
            (Some(number), _) => (label, number),
            // Clients choose the names of operations: those beyond the cap count for their endpoint, which is configured.
            (None, Some((endpoint, _))) => {
                if let Some(counters) = known.get(endpoint) {
                    return count(counters);
                }
                match self.book.route_number(self.generation, endpoint, true) {
                    Some(number) => (endpoint, number),
                    None => return count(&self.other),
                }
            }
            (None, None) => return count(&self.other),
        };
        let counters = Arc::new(RouteCounters::new(number, self.generation.rules));
        self.shard.add_route(Arc::clone(&counters));
        let counted = count(&counters);
        known.insert(label.into(), counters);
        counted
    }
}
