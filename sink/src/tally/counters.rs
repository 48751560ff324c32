//! The counters that one thread writes and the book reads.
//!
//! A recorder owns a [`Shard`]; for each route it owns one [`RouteCounters`]. Only the recorder writes them, with plain
//! loads and stores (no read-modify-write, no lock); the book only reads them and keeps what it read last, so nothing
//! is ever reset, and no count can be lost between a read and a reset.
//!
//! Stores are `Release` and the book's loads are `Acquire`: a reader that sees a verdict also sees everything that
//! happened before it, such as the `received` of the same request on another thread. On x86 this costs nothing.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use parity_schemas::clients::ClientOutcome;
use parity_schemas::digest::ExchangeDigest;
use parity_schemas::field_share::{FieldCount, FieldNumbers};
use parity_schemas::lately::WaitedFor;
use parity_schemas::recheck::{EvidenceCounts, RecheckEvent, add_counts};
use parity_schemas::side::CUT_MARK;
use parity_schemas::tally::Group;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Kind, Reason};
use uuid::Uuid;

use super::attributes::{self, AttributeId, Counted, NewAttributes};
use super::durations::Durations;
use super::epochs::EpochCounters;
use super::erring::ErrorsAlone;
use super::fast_map::FastMap;
use super::field_sample::FieldSample;
use super::owned::add;
use super::sets::Sets;
use super::sighting::{Classes, Sighting};
use super::targets::{NewTargets, TargetHash};

/// The label of routes beyond their cap, and the fingerprint of groups beyond theirs.
pub use parity_schemas::route::OTHER;

/// Longest pattern that is kept with a group: object keys come from the services and may have any length, and each
/// group holds a pattern.
const MAX_PATTERN_BYTES: usize = 1_024;

/// Code classes of answers: `1xx` to `5xx` and everything else.
pub(super) const CODE_CLASSES: [&str; 6] = ["1xx", "2xx", "3xx", "4xx", "5xx", "other"];
/// How many kinds of finding there are.
pub(super) const KINDS: usize = Kind::ALL.len();

/// Indices into [`RouteCounters::outcomes`]: one flat array, so that reading it is one loop.
pub(super) const RECEIVED: usize = 0;
pub(super) const MATCHED: usize = 1;
pub(super) const CLASSES: usize = 2;
pub(super) const REASONS: usize = CLASSES + CODE_CLASSES.len();
pub(super) const CLIENTS: usize = REASONS + Reason::COUNT;
/// Answers of the legacy in exchanges with a verdict, by status class.
pub(super) const LEGACY_ANSWERS: usize = CLIENTS + ClientOutcome::COUNT;
/// Fields of sampled answers. Read in this order and written in the reverse one, see [`FieldCount`].
pub(super) const FIELDS: usize = LEGACY_ANSWERS + ClientOutcome::COUNT;
pub(super) const RECHECKS: usize = FIELDS + FieldCount::ALL.len();
pub(super) const OUTCOMES: usize = RECHECKS + RecheckEvent::ALL.len();

/// Indices into [`Compared::durations`].
pub(super) const LEGACY: usize = 0;
pub(super) const CANDIDATE: usize = 1;
pub(super) const LEGACY_HEAD: usize = 2;
pub(super) const CANDIDATE_HEAD: usize = 3;
/// How many there are.
pub(super) const DURATIONS: usize = 4;

/// How long a service took for an answer, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed {
    /// To its head.
    pub head_us: u64,
    /// To its last byte.
    pub end_us: u64,
}

impl From<u64> for Elapsed {
    /// For an answer without a body.
    fn from(micros: u64) -> Self {
        Self {
            head_us: micros,
            end_us: micros,
        }
    }
}

/// Counters of comparisons, besides their verdicts.
pub(super) struct Compared {
    pub(super) durations: [Durations; DURATIONS],
    pub(super) targets: NewTargets,
    pub(super) attributes: NewAttributes,
    /// Hits by rule.
    pub(super) rules: Box<[AtomicU64]>,
}

/// The counts of one recorder for one route since it was created.
pub(super) struct RouteCounters {
    /// Number of the route in the book.
    pub(super) route: u32,
    /// Goes up with every change, so that the reader skips a route in which nothing changed.
    pub(super) changes: AtomicU64,
    pub(super) outcomes: [AtomicU64; OUTCOMES],
    /// Created at the first comparison: threads that only forward never need its three kilobytes.
    compared: OnceLock<Box<Compared>>,
    /// Which exchanges have their fields counted.
    pub(super) field_sample: FieldSample,
    rules: usize,
}

impl RouteCounters {
    pub(super) fn new(route: u32, rules: usize) -> Self {
        Self {
            route,
            changes: AtomicU64::new(0),
            outcomes: [const { AtomicU64::new(0) }; OUTCOMES],
            compared: OnceLock::new(),
            field_sample: FieldSample::default(),
            rules,
        }
    }

    pub(super) fn outcome(&self, slot: usize) {
        add(&self.outcomes[slot], 1);
        add(&self.changes, 1);
    }

    /// Counts the fields of an answer, in an order such that no reading has more of a part than of the whole.
    pub(super) fn fields(&self, counted: &FieldNumbers) {
        for (slot, count) in counted.iter().enumerate().rev() {
            add(&self.outcomes[FIELDS + slot], *count);
        }
        add(&self.changes, 1);
    }

    pub(super) fn elapsed(&self, legacy: Elapsed, candidate: Elapsed) {
        let durations = &self.compared_or_new().durations;
        durations[LEGACY].count(legacy.end_us);
        durations[CANDIDATE].count(candidate.end_us);
        durations[LEGACY_HEAD].count(legacy.head_us);
        durations[CANDIDATE_HEAD].count(candidate.head_us);
        add(&self.changes, 1);
    }

    pub(super) fn target(&self, target: TargetHash) {
        self.compared_or_new().targets.add(target);
    }

    pub(super) fn attributes(&self, attributes: &[AttributeId]) {
        self.compared_or_new().attributes.add(attributes);
    }

    pub(super) fn rule_hits(&self, hits: &[(usize, u32)]) {
        let slots = &self.compared_or_new().rules;
        for (rule, count) in hits {
            debug_assert!(*rule < self.rules, "rule {rule} was not announced");
            if let Some(slot) = slots.get(*rule) {
                add(slot, u64::from(*count));
            }
        }
        add(&self.changes, 1);
    }

    pub(super) fn compared(&self) -> Option<&Compared> {
        self.compared.get().map(|compared| &**compared)
    }

    fn compared_or_new(&self) -> &Compared {
        self.compared.get_or_init(|| {
            Box::new(Compared {
                durations: [const { Durations::new() }; DURATIONS],
                targets: NewTargets::default(),
                attributes: NewAttributes::default(),
                rules: (0..self.rules).map(|_| AtomicU64::new(0)).collect(),
            })
        })
    }
}

/// What one recorder shares with the book.
pub(super) struct Shard {
    /// Which generation the recorder counts in.
    pub(super) generation: usize,
    /// Requests received and settled, by the epoch in which they were received.
    pub(super) epochs: EpochCounters,
    /// Counters of routes that are new since the book last read them.
    added: Mutex<Vec<Arc<RouteCounters>>>,
    /// Clients that gave up, by the service that they waited for.
    pub(super) gave_up: [AtomicU64; WaitedFor::ALL.len()],
    /// Mismatches since the book last read them, by route. Behind a lock, because a mismatch and its groups must be
    /// read together. Only comparing threads take it; threads that serve clients never count mismatches.
    mismatches: Mutex<FastMap<u32, Mismatches>>,
}

impl Shard {
    pub(super) fn of_generation(generation: usize) -> Self {
        Self {
            generation,
            epochs: EpochCounters::default(),
            added: Mutex::default(),
            gave_up: Default::default(),
            mismatches: Mutex::default(),
        }
    }

    pub(super) fn add_route(&self, counters: Arc<RouteCounters>) {
        lock(&self.added).push(counters);
    }

    pub(super) fn take_added(&self) -> Vec<Arc<RouteCounters>> {
        std::mem::take(&mut lock(&self.added))
    }

    pub(super) fn add_mismatch(&self, route: u32, seen: &Sighting<'_>, max_groups: usize) {
        lock(&self.mismatches)
            .entry(route)
            .or_default()
            .add(seen, max_groups);
    }

    pub(super) fn take_mismatches(&self) -> FastMap<u32, Mismatches> {
        std::mem::take(&mut lock(&self.mismatches))
    }
}

/// Ignores poisoning: critical sections here leave the data consistent at each step, and counting must survive a panic
/// elsewhere.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Mismatches of one route.
#[derive(Default)]
pub(super) struct Mismatches {
    pub(super) classes: Classes,
    /// Mismatches with at least one finding of the kind.
    pub(super) kinds: [u64; KINDS],
    pub(super) groups: FastMap<String, GroupCount>,
    pub(super) sets: Sets,
    pub(super) errors: ErrorsAlone,
}

/// How often one group was seen.
pub(super) struct GroupCount {
    pub(super) group: Group,
    pub(super) count: u64,
    pub(super) first_seen: Timestamp,
    pub(super) last_seen: Timestamp,
    /// The first mismatch with it, because its full sample is the most likely to be kept.
    pub(super) example_id: Uuid,
    /// Digest of the ids of these mismatches.
    pub(super) digest: ExchangeDigest,
    /// These mismatches by the class of this group in them.
    pub(super) classes: Classes,
    pub(super) evidence: EvidenceCounts,
    /// `None` if they are not counted, and beyond the cap of groups for which they are.
    pub(super) attributes: Option<Box<Counted>>,
    /// The last mismatch that was counted, so that several findings of one mismatch count once.
    last_id: Uuid,
}

impl Mismatches {
    fn add(&mut self, seen: &Sighting<'_>, max_groups: usize) {
        self.classes.add(&Classes::one(seen.class()));
        self.errors.add(seen);
        let mut kinds = [false; KINDS];
        // Fingerprints of this mismatch beyond the cap.
        let mut folded: Vec<&str> = Vec::new();
        for group in seen.groups {
            kinds[group.kind as usize] = true;
            let fingerprint = group.fingerprint.as_str();
            if self.groups.contains_key(fingerprint) || self.groups.len() < max_groups {
                self.add_group(fingerprint, || bounded(group), seen);
            } else if !folded.contains(&fingerprint) {
                folded.push(fingerprint);
            }
        }
        if folded.is_empty() && seen.is_complete {
            self.sets.add(seen);
        }
        for fingerprint in folded {
            self.add_other(fingerprint, seen);
        }
        for (count, present) in self.kinds.iter_mut().zip(kinds) {
            *count += u64::from(present);
        }
    }

    /// Counts the mismatch once for a group, however many of its findings belong to the group.
    fn add_group(&mut self, fingerprint: &str, group: impl FnOnce() -> Group, seen: &Sighting<'_>) {
        match self.groups.get_mut(fingerprint) {
            Some(count) if count.last_id == seen.id => {}
            Some(count) => count.add(fingerprint, seen),
            None => {
                let mut count = GroupCount::new(group(), fingerprint, seen);
                if self.groups.len() < attributes::MAX_GROUPS {
                    count.begin_attributes(seen);
                }
                self.groups.insert(fingerprint.to_owned(), count);
            }
        }
    }

    fn add_other(&mut self, fingerprint: &str, seen: &Sighting<'_>) {
        if let Some(count) = self.groups.get_mut(OTHER) {
            count.add(fingerprint, seen);
            count.fold();
        } else {
            let mut count = GroupCount::new(other_group(), fingerprint, seen);
            count.fold();
            self.groups.insert(OTHER.to_owned(), count);
        }
    }
}

impl GroupCount {
    fn new(group: Group, fingerprint: &str, seen: &Sighting<'_>) -> Self {
        Self {
            group,
            count: 1,
            first_seen: seen.time,
            last_seen: seen.time,
            example_id: seen.id,
            digest: seen.digest(),
            classes: Classes::one(seen.class_of(fingerprint)),
            evidence: seen.evidence(fingerprint),
            attributes: None,
            last_id: seen.id,
        }
    }

    fn begin_attributes(&mut self, seen: &Sighting<'_>) {
        if !seen.attributes.is_empty() {
            let mut counted = Counted::default();
            counted.add(seen.attributes);
            self.attributes = Some(Box::new(counted));
        }
    }

    /// Makes it a part of [`OTHER`]. That group may count one mismatch several times, so it has no digest; and evidence
    /// of different groups proves nothing.
    pub(super) fn fold(&mut self) {
        self.group = other_group();
        self.digest = ExchangeDigest::UNKNOWN;
        self.evidence.clear();
        self.attributes = None;
    }

    fn add(&mut self, fingerprint: &str, seen: &Sighting<'_>) {
        self.last_id = seen.id;
        self.count += 1;
        self.digest.add(seen.digest());
        self.classes.add(&Classes::one(seen.class_of(fingerprint)));
        add_counts(&mut self.evidence, &seen.evidence(fingerprint));
        match &mut self.attributes {
            Some(counted) if !seen.attributes.is_empty() => counted.add(seen.attributes),
            _ => {}
        }
        self.first_seen = self.first_seen.min(seen.time);
        self.last_seen = self.last_seen.max(seen.time);
    }

    /// Adds what `later` counted after this.
    pub(super) fn merge(&mut self, later: &Self) {
        self.count += later.count;
        self.digest.add(later.digest);
        self.classes.add(&later.classes);
        add_counts(&mut self.evidence, &later.evidence);
        if let (Some(counted), Some(more)) = (&mut self.attributes, &later.attributes) {
            counted.merge(more);
        }
        self.first_seen = self.first_seen.min(later.first_seen);
        self.last_seen = self.last_seen.max(later.last_seen);
    }
}

/// The group that stands for all fingerprints beyond the cap. Its count is the sum of theirs, so it may count one
/// mismatch more than once.
pub(crate) fn other_group() -> Group {
    Group {
        fingerprint: OTHER.to_owned(),
        part: parity_schemas::verdict::Part::Body,
        pattern: String::new(),
        kind: Kind::Value,
        explanation: None,
        shape: String::new(),
        legacy_status: 0,
        candidate_status: 0,
    }
}

fn bounded(group: &Group) -> Group {
    let mut group = group.clone();
    if group.pattern.len() > MAX_PATTERN_BYTES {
        let end = group.pattern.floor_char_boundary(MAX_PATTERN_BYTES);
        group.pattern.truncate(end);
        group.pattern.push(CUT_MARK);
    }
    group
}
