//! Asks both services again when their answers differ, and says what kind of mismatch it is.
//!
//! ```text
//! comparing thread ──Recheck──► thread of the mirror ──second answers──► queue ──► comparing thread ──► class
//! ```
//!
//! A comparing thread that finds a mismatch asks [`SecondLooks`], which sends it to the mirror or says why not. It comes
//! back by the queue, like any exchange, and is classified by a comparing thread. Until then it is a [`Pledge`]: counted
//! once, whatever happens.
//!
//! Only requests that are safe to repeat are sent again, unless a route says otherwise; none while the legacy is slower
//! than usual, the breaker is open or shadowing is off, and never more than the budget allows. Both services are asked one
//! after the other, each first as often as the other, so that what only grows is balanced in sign whatever their speed.

mod budget;
mod counts;
mod further;
mod pace;
mod room;
mod suspended;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use http::Method;
use parity_comparator::noise::class::{self, Answers, Rechecked};
use parity_comparator::noise::memory::Memory;
use parity_comparator::{AnswerPair, Comparator};
use parity_mirror::{Recheck, RecheckDone, RecheckPlace, RecheckSender, SecondLook};
use parity_schemas::exchange::{Capture, Exchange, Request};
use parity_schemas::graphql::{Access, Operation};
use parity_schemas::recheck::{GroupSummary, RecheckEvent, RecheckSummary, add_counts};
use parity_schemas::record::MismatchClass;
use parity_schemas::route::RoutePolicy;
use parity_schemas::tally::{Group, Identity};
use parity_schemas::verdict::Verdict;
use parity_sink::tally::Unasked;
use parity_sink::{OutcomeRecorder, RecordSender};
use prometheus_client::registry::Registry;

use self::budget::{Bounds, Budget, Refused};
use self::pace::Pace;
use self::room::{Room, Share};
use self::suspended::{ENDED, FAILED, Suspended, SuspendedControl};
use super::pledge::{EventCounts, Pledge, Settling};
use super::queue::Entrance;
use super::waiting::{ControlCapture, SecondCaptures};
use crate::config::RecheckSettings;

/// Routes whose second looks are counted apart: more than most services have. Of those that share a count, each is asked
/// about in random order.
const LOOK_COUNTS: usize = 256;

/// What the process knows of second looks, whatever the configuration.
pub(super) struct RecheckProcess {
    budget: Mutex<Budget>,
    pace: Pace,
    events: Arc<EventCounts>,
    /// Keys the hashes of values and targets.
    hash: RandomState,
    /// What was seen in the groups of the present evidence. It outlives a configuration, as its counts do: otherwise each
    /// reload would see all targets for the first time.
    memory: Mutex<(Identity, Arc<Mutex<Memory>>)>,
}

impl RecheckProcess {
    pub(super) fn new() -> Arc<Self> {
        let now = Instant::now();
        Arc::new(Self {
            budget: Mutex::new(Budget::new(now)),
            pace: Pace::new(now),
            events: Arc::default(),
            hash: RandomState::new(),
            memory: Mutex::default(),
        })
    }

    /// What was seen so far in evidence of this identity.
    fn memory_of(&self, identity: &Identity) -> Arc<Mutex<Memory>> {
        let mut known = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 != *identity {
            *known = (identity.clone(), Arc::default());
        }
        Arc::clone(&known.1)
    }

    /// Registers how often services were asked again, and why not.
    pub(super) fn register_metrics(&self, registry: &mut Registry) {
        counts::register(Arc::clone(&self.events), registry);
    }

    fn budget(&self) -> MutexGuard<'_, Budget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Second looks under one configuration.
pub(super) struct SecondLooks {
    settings: RecheckSettings,
    process: Arc<RecheckProcess>,
    mirror: RecheckSender,
    room: Room,
    /// By which what was asked again comes back. Gone when nothing else can come in.
    entrance: Weak<Entrance>,
    settling: Arc<Settling>,
    /// What was seen in the groups so far.
    memory: Arc<Mutex<Memory>>,
    /// Keys the hashes of values and targets.
    hash: RandomState,
    /// Second looks so far, by route; of many routes some share a count.
    looks: [AtomicU64; LOOK_COUNTS],
    /// Matches that could have been a control.
    matches: AtomicU64,
}

/// What a second look needs until it has ended.
struct Admitted {
    place: RecheckPlace,
    share: Share,
    entrance: Arc<Entrance>,
}

impl SecondLooks {
    /// Those that wait hold a part of `shadow_bytes`.
    pub(super) fn new(
        (settings, shadow_bytes): (RecheckSettings, usize),
        process: &Arc<RecheckProcess>,
        mirror: RecheckSender,
        entrance: &Arc<Entrance>,
        (identity, recorder, records): (&Identity, OutcomeRecorder, RecordSender),
    ) -> Self {
        let events = Arc::clone(&process.events);
        Self {
            settings,
            process: Arc::clone(process),
            mirror,
            room: Room::of(shadow_bytes),
            entrance: Arc::downgrade(entrance),
            settling: Arc::new(Settling::new(recorder, records, events)),
            memory: process.memory_of(identity),
            hash: process.hash.clone(),
            looks: std::array::from_fn(|_| AtomicU64::new(0)),
            matches: AtomicU64::new(0),
        }
    }

    /// What counts mismatches.
    pub(super) fn settling(&self) -> &Arc<Settling> {
        &self.settling
    }

    /// Takes note of how fast the legacy answered.
    pub(super) fn saw(&self, legacy: &Capture) {
        if self.is_on() {
            self.process
                .pace
                .answered(legacy.head_elapsed, Instant::now());
        }
    }

    /// Sends a mismatch to be asked again, or counts it at once if that cannot be.
    pub(super) fn look_again(self: &Arc<Self>, exchange: Exchange, pledge: Pledge) {
        if !self.is_on() {
            return pledge.unasked(Unasked::Never, &[]);
        }
        match self.admit(&exchange, pledge.groups()) {
            Ok(admitted) => self.send(admitted, exchange, pledge.otherwise(ENDED), 1),
            Err(Refused { event, is_crowd }) if is_crowd => {
                pledge.unasked(Unasked::Unheard, &[event]);
            }
            Err(Refused { event, .. }) => pledge.unconfirmed(&[event]),
        }
    }

    /// Sends what was admitted. The first time is look 1.
    fn send(self: &Arc<Self>, admitted: Admitted, exchange: Exchange, pledge: Pledge, look: u32) {
        let Admitted {
            place,
            share,
            entrance,
        } = admitted;
        let order = self.order(exchange.route.label());
        let suspended = Suspended {
            pledge,
            look,
            looks: Arc::downgrade(self),
            entrance,
            settling: Arc::clone(&self.settling),
            _share: share,
        };
        place.send(self.recheck(exchange, order, Box::new(suspended)));
    }

    /// Asks the legacy again about a share of what matched.
    pub(super) fn control(&self, exchange: Exchange) {
        if !self.is_on()
            || !may_repeat(&exchange)
            || !self.is_chosen()
            || self.process.pace.is_slow()
        {
            return;
        }
        let (Some(place), Some(share)) = self.waiting_room(&exchange) else {
            return;
        };
        let Some(entrance) = self.entrance.upgrade() else {
            return;
        };
        if !self
            .process
            .budget()
            .take_control(self.bounds(), Instant::now())
        {
            return;
        }
        let suspended = SuspendedControl {
            entrance,
            settling: Arc::clone(&self.settling),
            _share: share,
        };
        place.send(self.recheck(exchange, SecondLook::Control, Box::new(suspended)));
    }

    /// Which service is asked first: each once in every two looks at a route, in random order. If it simply alternated,
    /// traffic that comes in turns would ask for one route always in the same order, and what grows with every look would
    /// be a difference between the services.
    fn order(&self, route: &str) -> SecondLook {
        let count = self.hash.hash_one(route) as usize % LOOK_COUNTS;
        let look = self.looks[count].fetch_add(1, Ordering::Relaxed);
        let is_swapped = self.hash.hash_one((count, look / 2)).is_multiple_of(2);
        if look.is_multiple_of(2) == is_swapped {
            SecondLook::LegacyFirst
        } else {
            SecondLook::CandidateFirst
        }
    }

    fn is_on(&self) -> bool {
        self.settings.rate > 0
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            rate: self.settings.rate,
            per_group: self.settings.per_group,
        }
    }

    fn recheck(&self, exchange: Exchange, look: SecondLook, done: Box<dyn RecheckDone>) -> Recheck {
        let now = Instant::now();
        Recheck {
            exchange: Box::new(exchange),
            look,
            // A delay beyond what the clock can tell is none.
            due: now.checked_add(self.settings.delay).unwrap_or(now),
            done,
        }
    }

    /// Whether an exchange may be asked again now; the budget is used last.
    fn admit(&self, exchange: &Exchange, groups: &[Group]) -> Result<Admitted, Refused> {
        if !may_repeat(exchange) {
            return Err(RecheckEvent::RefusedMethod.into());
        }
        if self.process.pace.is_slow() {
            return Err(RecheckEvent::RefusedPaused.into());
        }
        let entrance = self.entrance.upgrade();
        let entrance = entrance.ok_or(RecheckEvent::RefusedShutdown)?;
        let (Some(place), Some(share)) = self.waiting_room(exchange) else {
            return Err(RecheckEvent::RefusedWaiting.into());
        };
        let fingerprints = groups.iter().map(|group| &*group.fingerprint);
        self.process
            .budget()
            .take(self.bounds(), fingerprints, Instant::now())?;
        Ok(Admitted {
            place,
            share,
            entrance,
        })
    }

    /// Room for one more, in number and in bytes.
    fn waiting_room(&self, exchange: &Exchange) -> (Option<RecheckPlace>, Option<Share>) {
        (self.mirror.place(), self.room.take(exchange.hold.bytes()))
    }

    /// Whether this match is in the share of controls.
    fn is_chosen(&self) -> bool {
        let number = self.matches.fetch_add(1, Ordering::Relaxed);
        // A hash, because traffic that repeats every so many requests would always give the same ones.
        let chance = self.hash.hash_one(number) as f64 / u64::MAX as f64;
        chance < self.settings.control
    }

    /// Classifies a mismatch by its second answers. That takes four comparisons.
    pub(super) fn classify(
        &self,
        comparator: &mut Comparator,
        exchange: &Exchange,
        SecondCaptures {
            legacy, candidate, ..
        }: &SecondCaptures,
    ) -> Rechecked {
        let first = comparator.compare(exchange);
        let answers = Answers {
            route: exchange.route.label(),
            method: &exchange.request.method,
            request: &exchange.request.headers,
            time: exchange.time,
            legacy: [&exchange.legacy, legacy],
            candidate: [&exchange.candidate, candidate],
        };
        let hash = |value: &[u8]| self.hash.hash_one(value);
        class::recheck(comparator, &first, &answers, &hash)
    }

    /// Counts a classified mismatch.
    pub(super) fn settle(&self, exchange: &Exchange, rechecked: &Rechecked, pledge: Pledge) {
        let summary = self.summary(exchange, rechecked, pledge.groups());
        let is_known = |group: &GroupSummary| group.class != MismatchClass::Unconfirmed;
        if summary.groups.values().any(is_known) {
            let asked = std::iter::once(RecheckEvent::Asked);
            let events: Vec<RecheckEvent> = asked.chain(rechecked.events()).collect();
            pledge.settle(&summary, &events);
        } else {
            pledge.settle(&summary, FAILED);
        }
    }

    /// What is counted of each group. `groups` has the group of each finding.
    fn summary(
        &self,
        exchange: &Exchange,
        rechecked: &Rechecked,
        groups: &[Group],
    ) -> RecheckSummary {
        let target = self.hash.hash_one(&exchange.request.target);
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let mut budget = self.process.budget();
        let mut summaries = BTreeMap::<String, GroupSummary>::new();
        for group in &rechecked.groups {
            let first = group
                .findings
                .first()
                .and_then(|finding| groups.get(*finding));
            let (Some(named), true) = (first, group.class != MismatchClass::Unconfirmed) else {
                continue;
            };
            let fingerprint = &named.fingerprint;
            budget.learn(fingerprint, group.class);
            let evidence = memory.count(fingerprint, &group.observation, target, exchange.time);
            match summaries.entry(fingerprint.clone()) {
                Entry::Vacant(new) => {
                    new.insert(GroupSummary {
                        class: group.class,
                        evidence,
                    });
                }
                Entry::Occupied(mut known) => {
                    let known = known.get_mut();
                    // The gravest comes first.
                    known.class = known.class.min(group.class);
                    add_counts(&mut known.evidence, &evidence);
                }
            }
        }
        RecheckSummary {
            class: rechecked.class,
            groups: summaries,
        }
    }

    /// Compares the legacy with itself, and says what to count.
    pub(super) fn compare_control(
        comparator: &mut Comparator,
        exchange: &Exchange,
        control: &ControlCapture,
    ) -> &'static [RecheckEvent] {
        let compared = comparator.compare_answers(AnswerPair {
            route: exchange.route.label(),
            method: &exchange.request.method,
            request: None,
            time: exchange.time,
            legacy: &exchange.legacy,
            candidate: &control.legacy,
            asked_together: false,
        });
        match compared.verdict {
            Verdict::Match => &[],
            Verdict::Mismatch => &[RecheckEvent::ControlMoved],
            Verdict::NotCompared(_) => &[RecheckEvent::ControlFailed],
        }
    }
}

/// Whether a request may be sent again: one that changes nothing by its method, and by its operation if it has one, unless its
/// route says otherwise.
fn may_repeat(exchange: &Exchange) -> bool {
    let (request, policy) = (&exchange.request, exchange.route.policy());
    let safe = || {
        [Method::GET, Method::HEAD, Method::OPTIONS].contains(&request.method)
            && (!policy.graphql || only_reads(request, policy))
    };
    policy.recheck.unwrap_or_else(safe)
}

/// Whether a GraphQL request changes nothing, as far as its address tells. `shadow = true` also shadows mutations by GET. That no
/// document which only the service has is one, who allows queries relies on.
fn only_reads(request: &Request, policy: &RoutePolicy) -> bool {
    let query = request.target.split_once('?').map(|(_, query)| query);
    let gravest = if policy.shadow_queries {
        Access::Untold
    } else {
        Access::Reads
    };
    request.body.is_empty() && Operation::of_query(query).access() <= gravest
}
