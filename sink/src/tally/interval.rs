//! The counts of one interval, and which of them a store still lacks.
//!
//! A revision is the number of the snapshot that first carried the content. So an acknowledgement is just the number of
//! a snapshot up to which the store has everything, and a row is due while its revision is higher.

use std::collections::BTreeMap;

use parity_schemas::clients::{ClientOutcome, Clients};
use parity_schemas::field_share::FieldCount;
use parity_schemas::histogram::Histogram;
use parity_schemas::id::new_id;
use parity_schemas::recheck::RecheckEvent;
use parity_schemas::tally::{Counts, GroupTally, INTERVAL_MICROS, SetTally, Tally, minute};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;
use parity_schemas::watermark::OpenTally;
use uuid::Uuid;

use super::attributes::{self, Counted, Names};
use super::counters::{
    CANDIDATE, CANDIDATE_HEAD, CLIENTS, DURATIONS, FIELDS, GroupCount, LEGACY, LEGACY_ANSWERS,
    LEGACY_HEAD, MATCHED, Mismatches, OTHER, OUTCOMES, REASONS, RECEIVED, RECHECKS,
};
use super::fast_map::FastMap;
use super::sets::SetStates;
use super::sighting::Classes;
use super::targets::Targets;

/// Counts of all routes from `start` on.
pub(super) struct Interval {
    pub(super) minute: i64,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    pub(super) routes: FastMap<u32, RouteTally>,
}

/// Counts of one route within an interval.
pub(super) struct RouteTally {
    id: Uuid,
    /// Snapshot that first carried the present content; 0 before the first.
    revision: u32,
    /// The content is newer than `revision`.
    changed: bool,
    end: Timestamp,
    outcomes: [u64; OUTCOMES],
    classes: Classes,
    durations: [Histogram; DURATIONS],
    /// `None` until something was compared.
    targets: Option<Box<Targets>>,
    /// `None` if they are not counted.
    attributes: Option<Box<Counted>>,
    /// Hits by rule; empty until something was compared.
    rules: Vec<u64>,
    groups: FastMap<String, GroupState>,
    sets: SetStates,
}

/// How many new groups and sets all tallies in memory may still get.
pub(super) struct Room {
    pub(super) groups: usize,
    pub(super) sets: usize,
    /// Groups whose attributes are counted.
    pub(super) attributed: usize,
}

struct GroupState {
    count: GroupCount,
    revision: u32,
    changed: bool,
}

impl Interval {
    /// The interval that contains `now`. Unless the clock was set back, it starts no earlier than `earliest`, which is
    /// the end of the previous interval or the start of the process.
    pub(super) fn begin(now: Timestamp, earliest: Timestamp) -> Self {
        let minute = minute(now);
        let floor = Timestamp::from_micros(minute * INTERVAL_MICROS);
        let start = if earliest > now {
            floor
        } else {
            floor.max(earliest)
        };
        Self {
            minute,
            start,
            end: start,
            routes: FastMap::default(),
        }
    }

    /// When it begins for what began to count at some time: not before that, so that nothing seems to have been counted by rules or for
    /// versions that were not in force yet. The same for each row of a tally, so its end, which grows, is not asked.
    pub(super) fn starts(&self) -> impl Fn(Timestamp) -> Timestamp + use<> {
        let (start, end) = (self.start, self.minute_end());
        move |began| {
            if start <= began && began < end {
                began
            } else {
                start
            }
        }
    }

    /// The end of the minute in which it began.
    pub(super) fn minute_end(&self) -> Timestamp {
        Timestamp::from_micros((self.minute + 1) * INTERVAL_MICROS)
    }

    /// The tally of a route, marked as changed.
    pub(super) fn change(&mut self, route: u32) -> &mut RouteTally {
        let end = self.end;
        let tally = self.routes.entry(route).or_insert_with(|| RouteTally {
            id: new_id(),
            revision: 0,
            changed: true,
            end,
            outcomes: [0; OUTCOMES],
            classes: Classes::default(),
            durations: Default::default(),
            targets: None,
            attributes: None,
            rules: Vec::new(),
            groups: FastMap::default(),
            sets: SetStates::default(),
        });
        tally.changed = true;
        tally.end = end;
        tally
    }

    /// Groups held.
    pub(super) fn groups(&self) -> usize {
        self.routes.values().map(|tally| tally.groups.len()).sum()
    }

    /// Sets of groups held.
    pub(super) fn sets(&self) -> usize {
        self.routes.values().map(|tally| tally.sets.len()).sum()
    }

    /// Groups held whose attributes are counted.
    pub(super) fn attributed(&self) -> usize {
        self.routes.values().map(RouteTally::attributed).sum()
    }

    /// Whether a store that has everything up to snapshot `acknowledged` has all of this interval.
    pub(super) fn is_stored(&self, acknowledged: u32) -> bool {
        self.routes
            .values()
            .all(|tally| !tally.changed && tally.revision <= acknowledged)
    }
}

impl RouteTally {
    pub(super) fn add_outcome(&mut self, slot: usize, count: u64) {
        self.outcomes[slot] += count;
    }

    pub(super) fn add_durations(&mut self, place: usize, bucket: u16, count: u64) {
        self.durations[place].add(bucket, count);
    }

    pub(super) fn add_targets(&mut self, targets: &Targets) {
        self.targets.get_or_insert_default().merge(targets);
    }

    pub(super) fn add_attributes(&mut self, counted: &Counted) {
        self.attributes.get_or_insert_default().merge(counted);
    }

    /// Groups whose attributes are counted.
    fn attributed(&self) -> usize {
        let groups = self.groups.values();
        groups
            .filter(|state| state.count.attributes.is_some())
            .count()
    }

    /// `rules` is the number of rules.
    pub(super) fn add_rule_hits(&mut self, rule: usize, hits: u64, rules: usize) {
        if self.rules.len() < rules {
            self.rules.resize(rules, 0);
        }
        self.rules[rule] += hits;
    }

    /// Adds mismatches; new groups beyond `most` count under `_other`, and new sets beyond what there is room for are not
    /// counted. Takes what is new from the room.
    pub(super) fn add_mismatches(&mut self, mismatches: Mismatches, most: usize, room: &mut Room) {
        self.classes.add(&mismatches.classes);
        let own_room = most.saturating_sub(self.groups.len());
        let new = self.add_groups(
            mismatches.groups,
            own_room.min(room.groups),
            &mut room.attributed,
        );
        room.groups = room.groups.saturating_sub(new);
        let before = self.sets.len();
        let (sets, groups) = (&mut self.sets, &self.groups);
        sets.merge(mismatches.sets, room.sets, |name| groups.contains_key(name));
        room.sets = room.sets.saturating_sub(sets.len() - before);
    }

    /// Adds groups; new ones beyond `room` count under `_other`. Returns how many were new.
    fn add_groups(
        &mut self,
        groups: FastMap<String, GroupCount>,
        room: usize,
        attributed_room: &mut usize,
    ) -> usize {
        let before = self.groups.len();
        let mut attributed = self.attributed();
        for (fingerprint, mut count) in groups {
            if let Some(state) = self.groups.get_mut(&fingerprint) {
                state.count.merge(&count);
                state.changed = true;
                continue;
            }
            let full = self.groups.len() - before >= room;
            if full && fingerprint != OTHER {
                count.fold();
                if let Some(other) = self.groups.get_mut(OTHER) {
                    other.count.merge(&count);
                    other.changed = true;
                    continue;
                }
            }
            if count.attributes.is_some() {
                if attributed < attributes::MAX_GROUPS && *attributed_room > 0 {
                    attributed += 1;
                    *attributed_room -= 1;
                } else {
                    count.attributes = None;
                }
            }
            let state = GroupState {
                count,
                revision: 0,
                changed: true,
            };
            self.groups
                .insert(state.count.group.fingerprint.clone(), state);
        }
        self.groups.len() - before
    }

    /// Requests received.
    pub(super) fn received(&self) -> u64 {
        self.outcomes[RECEIVED]
    }

    /// Requests with an outcome.
    pub(super) fn settled(&self) -> u64 {
        let not_compared: u64 = self.outcomes[REASONS..CLIENTS].iter().sum();
        self.outcomes[MATCHED] + self.classes.total() + not_compared
    }

    /// The sum of the counts of its groups.
    pub(super) fn in_groups(&self) -> u64 {
        self.groups.values().map(|state| state.count.count).sum()
    }

    /// The sum of the counts of its sets.
    pub(super) fn in_sets(&self) -> u64 {
        self.sets.total()
    }

    /// Its id and revision, and what its groups and sets count.
    pub(super) fn place(&self) -> OpenTally {
        OpenTally {
            id: self.id,
            revision: self.revision,
            in_groups: self.in_groups(),
            in_sets: self.in_sets(),
        }
    }

    /// Stamps what changed with the number of the snapshot being taken.
    pub(super) fn stamp(&mut self, snapshot: u32) {
        if !self.changed {
            return;
        }
        self.changed = false;
        self.revision = snapshot;
        for group in self.groups.values_mut().filter(|group| group.changed) {
            group.changed = false;
            group.revision = snapshot;
        }
        self.sets.stamp(snapshot);
    }

    /// Whether a store that has everything up to `acknowledged` lacks this tally.
    pub(super) fn is_due(&self, acknowledged: u32) -> bool {
        self.revision > acknowledged
    }

    /// The row of this tally; `shape` has the fields that all rows share.
    pub(super) fn row(
        &self,
        start: Timestamp,
        shape: Tally,
        rule_ids: &[String],
        names: &Names,
    ) -> Tally {
        let mut tally = shape;
        tally.id = self.id;
        tally.revision = self.revision;
        tally.interval_start = start;
        // The end is exclusive, so an interval with counts has at least one microsecond.
        tally.interval_us = (self.end.as_micros() - start.as_micros()).max(1);
        tally.counts = counts(&self.outcomes, &self.classes);
        tally.legacy_latency = self.durations[LEGACY].clone();
        tally.candidate_latency = self.durations[CANDIDATE].clone();
        tally.legacy_head_latency = self.durations[LEGACY_HEAD].clone();
        tally.candidate_head_latency = self.durations[CANDIDATE_HEAD].clone();
        if let Some(targets) = &self.targets {
            tally.targets = targets.distinct.clone();
            tally.frequent_targets = targets.frequent.clone();
        }
        tally.attributes = names.row(self.attributes.as_deref(), &tally.instance, start);
        tally.rule_hits = self
            .rules
            .iter()
            .zip(rule_ids)
            .filter(|(hits, _)| **hits > 0)
            .map(|(hits, id)| (id.clone(), *hits))
            .collect();
        tally
    }

    /// The rows of its groups that a store with everything up to `acknowledged` lacks; `tally` is the row of this
    /// tally.
    pub(super) fn group_rows<'a>(
        &'a self,
        acknowledged: u32,
        tally: &'a Tally,
        names: &'a Names,
    ) -> impl Iterator<Item = GroupTally> + 'a {
        self.groups
            .values()
            .filter(move |state| state.revision > acknowledged)
            .map(move |state| GroupTally {
                tally_id: self.id,
                revision: state.revision,
                identity: tally.identity.clone(),
                interval_start: tally.interval_start,
                run: tally.run,
                route: tally.route.clone(),
                group: state.count.group.clone(),
                count: state.count.count,
                first_seen: state.count.first_seen,
                last_seen: state.count.last_seen,
                example_id: state.count.example_id,
                exchange_digest: state.count.digest,
                classes: state.count.classes.counts(),
                evidence: state.count.evidence.clone(),
                attributes: names.row(
                    state.count.attributes.as_deref(),
                    &tally.instance,
                    tally.interval_start,
                ),
            })
    }

    /// The same of its sets.
    pub(super) fn set_rows<'a>(
        &'a self,
        acknowledged: u32,
        tally: &'a Tally,
    ) -> impl Iterator<Item = SetTally> + 'a {
        let due = self.sets.due(acknowledged);
        due.map(|(id, revision, count)| SetTally {
            tally_id: self.id,
            revision,
            identity: tally.identity.clone(),
            interval_start: tally.interval_start,
            run: tally.run,
            route: tally.route.clone(),
            set_id: id.to_owned(),
            fingerprints: count.fingerprints.clone(),
            classes: count.classes.counts(),
            never_asked: count.never_asked,
        })
    }
}

/// The outcomes as the shared type.
pub(super) fn counts(outcomes: &[u64; OUTCOMES], classes: &Classes) -> Counts {
    let not_compared: BTreeMap<Reason, u64> = Reason::ALL
        .iter()
        .map(|reason| (*reason, outcomes[REASONS + reason.index()]))
        .filter(|(_, count)| *count > 0)
        .collect();
    let by_client_outcome = |from: usize| -> Clients {
        ClientOutcome::ALL
            .iter()
            .map(|outcome| (*outcome, outcomes[from + outcome.index()]))
            .filter(|(_, count)| *count > 0)
            .collect()
    };
    let rechecks = RecheckEvent::ALL
        .iter()
        .map(|event| (*event, outcomes[RECHECKS + *event as usize]))
        .filter(|(_, count)| *count > 0);
    let fields = FieldCount::ALL
        .iter()
        .map(|count| (*count, outcomes[FIELDS + *count as usize]))
        .filter(|(_, count)| *count > 0);
    Counts {
        received: outcomes[RECEIVED],
        clients: by_client_outcome(CLIENTS),
        matched: outcomes[MATCHED],
        mismatch: classes.total(),
        classes: classes.counts(),
        rechecks: rechecks.collect(),
        not_compared,
        legacy_answers: by_client_outcome(LEGACY_ANSWERS),
        fields: fields.collect(),
    }
}
