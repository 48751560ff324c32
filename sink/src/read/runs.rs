//! The runs that have counted, and whether what each says that it has counted is in the store.
//!
//! A watermark says how many tallies of its run there must be, and what they count. A store that has fewer has lost some, or
//! they are late: then nothing is decided on what it has. Neither is it on rows of an ended run that have more outcomes than that.

use std::collections::{BTreeMap, HashMap, HashSet};

use parity_schemas::evidence::carried::CarriedRules;
use parity_schemas::tally::{INTERVAL_MICROS, Identity};
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{Run, Watermark};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::others::{self, OtherRun, Starts};
use crate::remembered::Weighed;

/// The tallies of runs whose watermark is older than this are not verified: no row takes a week to arrive, and
/// retention may remove rows of that age at any time, in some tables before others.
pub(super) const VERIFIED_MICROS: i64 = 7 * 24 * 60 * 60 * 1_000_000;

/// The tallies of one run in a store: sums of those that began before the open interval, and the others one by one.
///
/// One that began later is not always of the open interval: where the clock was set back, closed intervals seem to come
/// after it. So which of them belong to the sums of a watermark is told by what it lists and by revisions, see
/// [`Closed`], and not by time.
#[derive(Default)]
pub(super) struct StoredTallies {
    pub(super) tallies: u64,
    pub(super) received: u64,
    pub(super) settled: u64,
    /// What the rows of their groups count.
    pub(super) in_groups: StoredParts,
    /// What the rows of their sets count.
    pub(super) in_sets: StoredParts,
    /// By id.
    pub(super) open: HashMap<String, StoredTally>,
}

/// The sums of the tallies of one run that began in some time, whatever its watermark says of them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct StoredSums {
    pub(super) tallies: u64,
    pub(super) received: u64,
    pub(super) settled: u64,
    pub(super) in_groups: u64,
    pub(super) in_sets: u64,
    /// The highest revision of their rows.
    pub(super) newest: u32,
}

impl StoredSums {
    /// Adds those of another time.
    pub(super) fn add(&mut self, more: &Self) {
        // They are of a cache that anybody can write to: a sum that is too large may be wrong, and must not stop the reader.
        self.tallies = self.tallies.saturating_add(more.tallies);
        self.received = self.received.saturating_add(more.received);
        self.settled = self.settled.saturating_add(more.settled);
        self.in_groups = self.in_groups.saturating_add(more.in_groups);
        self.in_sets = self.in_sets.saturating_add(more.in_sets);
        self.newest = self.newest.max(more.newest);
    }
}

impl Weighed for StoredSums {
    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

/// One tally.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredTally {
    pub(super) revision: u32,
    pub(super) received: u64,
    pub(super) settled: u64,
}

/// What the rows of groups, or of sets, of one run count.
#[derive(Default)]
pub(super) struct StoredParts {
    /// In tallies that began before the open interval.
    pub(super) closed: u64,
    /// In the others, by id of the tally.
    pub(super) open: HashMap<String, StoredPart>,
}

/// What the rows of groups, or of sets, of one tally count.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredPart {
    pub(super) count: u64,
    /// The lowest of its rows.
    pub(super) revision: u32,
}

/// Which rows of a run are part of the sums of its watermark: those of tallies that it does not list as open, which are
/// no newer than it. The process numbers its watermarks and rows by the same snapshots, so no clock is asked.
struct Closed {
    newest: u32,
    open: HashSet<String>,
}

impl Closed {
    fn of(watermark: &Watermark) -> Self {
        let open = watermark.open.iter();
        Self {
            newest: watermark.revision,
            open: open.map(|tally| tally.id.to_string()).collect(),
        }
    }

    fn has(&self, tally: &str, revision: u32) -> bool {
        revision <= self.newest && !self.open.contains(tally)
    }
}

impl StoredParts {
    fn lacks(
        &self,
        of_sums: &Closed,
        closed: u64,
        open: impl Iterator<Item = (Uuid, u64)>,
    ) -> bool {
        let later = self.open.iter();
        let later = later.filter(|(tally, part)| of_sums.has(tally, part.revision));
        let mut open = open.filter(|(_, count)| *count > 0);
        self.closed + later.map(|(_, part)| part.count).sum::<u64>() < closed
            || open.any(|(tally, count)| {
                let stored = self.open.get(&tally.to_string());
                stored.is_none_or(|stored| stored.count < count)
            })
    }
}

impl StoredTallies {
    /// Whether tallies of the watermark are missing, or rows of their groups or sets, because they are late or lost.
    pub(super) fn lacks(&self, watermark: &Watermark) -> bool {
        let open = watermark.open.iter();
        let groups = open.clone().map(|tally| (tally.id, tally.in_groups));
        let sets = open.map(|tally| (tally.id, tally.in_sets));
        let of_sums = Closed::of(watermark);
        let later: Vec<&StoredTally> = self
            .open
            .iter()
            .filter(|(id, tally)| of_sums.has(id, tally.revision))
            .map(|(_, tally)| tally)
            .collect();
        let sum = |of: fn(&StoredTally) -> u64| later.iter().map(|tally| of(tally)).sum::<u64>();
        self.has_more(watermark, sum(|tally| tally.settled))
            || self.in_groups.lacks(&of_sums, watermark.in_groups, groups)
            || self.in_sets.lacks(&of_sums, watermark.in_sets, sets)
            || self.tallies + sum(|_| 1) < watermark.tallies
            || self.received + sum(|tally| tally.received) < watermark.received
            || self.settled + sum(|tally| tally.settled) < watermark.settled
            || watermark.open.iter().any(|tally| {
                self.open
                    .get(&tally.id.to_string())
                    .is_none_or(|stored| stored.revision < tally.revision)
            })
    }
}

impl StoredTallies {
    /// Whether the rows of a run that ended in order have more outcomes than it had counted then, or than requests: nothing is added to it
    /// any more. Of one that is at work there may be newer rows. Requests without an outcome are told elsewhere. `later` is what is settled
    /// in the rows that are beside the sums of those that began before the open interval, and part of the sums of the watermark.
    fn has_more(&self, watermark: &Watermark, later: u64) -> bool {
        if !watermark.ended || !watermark.under_way.is_empty() {
            return false;
        }
        let open = self.open.values();
        let [received, settled] = open.fold(
            [self.received, self.settled],
            |[received, settled], tally| [received + tally.received, settled + tally.settled],
        );
        // A long run counts from a later time on, and may then have received before it what it settled after.
        let first = watermark.started.saturating_add_micros(INTERVAL_MICROS);
        self.settled + later > watermark.settled
            || (watermark.counted_from <= first && settled > received)
    }
}

/// The latest watermarks of the runs of one identity.
#[derive(Default)]
pub(super) struct RunWatermarks {
    /// Each with whether tallies that it lists are missing.
    pub(super) watermarks: Vec<(Watermark, bool)>,
    /// When the runs of each instance of the migration began, of any identity.
    pub(super) starts: Starts,
    /// Runs that count under other rules, or for other versions that the selection does not exclude.
    pub(super) others: Vec<OtherRun>,
    /// Nothing that was received before is asked for.
    pub(super) since: Option<Timestamp>,
}

impl RunWatermarks {
    /// All runs: those with a watermark, those with tallies only (given with the end of the last one), and those that
    /// receive traffic for another identity. `from` is when the first tally began. With them those that were killed under other
    /// rules and replaced by a process that counts here, under these rules or under those of which something is `carried`: what
    /// they received and had not written lies between what is counted.
    pub(super) fn into_runs(
        self,
        identity: &Identity,
        mut counted: BTreeMap<(String, Uuid), Timestamp>,
        from: Option<Timestamp>,
        carried: &[CarriedRules],
    ) -> Vec<Run> {
        let starts = self.starts;
        let later = |instance: &str, than: Timestamp| starts.after(instance, than);
        let mut runs: Vec<Run> = self
            .watermarks
            .into_iter()
            .map(|(watermark, lacks_tallies)| Run {
                instance: watermark.instance.clone(),
                last_tally: counted.remove(&(watermark.instance.clone(), watermark.id)),
                before_watermarks: false,
                lacks_tallies,
                succeeded: later(&watermark.instance, watermark.written),
                apart: None,
                watermark: Some(watermark),
            })
            .collect();
        runs.extend(counted.into_iter().map(|((instance, run), end)| Run {
            watermark: None,
            last_tally: Some(end),
            before_watermarks: run.is_nil(),
            lacks_tallies: false,
            succeeded: later(&instance, end),
            apart: None,
            instance,
        }));
        let begins = runs.iter().filter_map(|run| run.watermark.as_ref());
        let begins = begins.map(|watermark| watermark.started).min();
        let own = runs.iter().filter_map(|run| run.watermark.as_ref());
        let own = own.map(|run| (run.instance.clone(), run.started));
        let of_carried = self.others.iter().filter(|run| {
            let mut carried = carried.iter().filter(|rules| rules.routes > 0);
            others::is_of_same_versions(run, identity)
                && carried.any(|rules| rules.rules_hash == run.identity.rules_hash)
        });
        let of_carried = of_carried.map(|run| (run.instance.clone(), run.started));
        let counting: HashSet<(String, Timestamp)> = own.chain(of_carried).collect();
        runs.extend(others::lost(
            &self.others,
            identity,
            &starts,
            self.since,
            &counting,
        ));
        if let Some(from) = from.or(begins) {
            // A clock may have been ahead when it began.
            let from = from.min(Timestamp::now());
            runs.extend(others::receiving(&self.others, identity, from));
        }
        runs.sort_by(|one, other| one.instance.cmp(&other.instance));
        runs
    }
}
