//! What the rows of a history add up to.
//!
//! Memory grows with routes, buckets and the groups that were asked for, not with the number of tallies.

use std::collections::{BTreeMap, HashMap};

use parity_schemas::histogram::Histogram;
use parity_schemas::history::{
    CandidateBucket, GroupHistory, History, HistoryBucket, HistoryIdentity, RouteHistory,
};
use parity_schemas::record::RecordType;
use parity_schemas::time::Timestamp;

use super::cell::Cell;
use super::grid::Grid;
use super::marks::{self, Termed};
use super::row::{Charge, GroupRow, Row, SetRow};
use super::versions::Versions;
use super::whole::{nothing, of_groups, of_route, quantiles};
use super::{HistoryFilter, MAX_LATENCIES, MAX_ROUTES};
use crate::error::StoreError;

/// One identity in one bucket.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// When its first and its last interval began.
    began: (i64, i64),
    /// What was compared, what of it the candidate did not answer, and what it was not asked because it kept failing.
    sent: [u64; 3],
}

/// Whether never asked ones are excused, too, by set and route.
type ByRoute = HashMap<String, HashMap<String, bool>>;

/// Cells of one route by bucket.
type Cells = BTreeMap<u32, Cell>;

/// Sums of rows.
pub(in crate::read) struct HistorySums {
    grid: Grid,
    identities: Vec<[String; 3]>,
    /// The one of the row before: rows mostly come in order.
    identity: usize,
    /// Each identity, by bucket.
    parts: BTreeMap<(u32, u32), Part>,
    /// Which of the cells each route has.
    routes: HashMap<String, usize>,
    cells: Vec<Cells>,
    with_latency: bool,
    latencies: BTreeMap<u32, [Histogram; 2]>,
    groups: HashMap<String, GroupHistory>,
    /// What is excused of each versions: of so few that they are looked through.
    excused: Vec<(Versions, ByRoute)>,
    charge: Charge,
    tallies: u64,
}

impl HistorySums {
    pub(in crate::read) fn new(grid: Grid, filter: &HistoryFilter) -> Self {
        let excused = filter.excused.iter().flatten();
        let excused = excused.map(|of| {
            let mut by_route = ByRoute::new();
            for (id, set) in of.by_id() {
                let routes = by_route.entry(id).or_default();
                routes.insert(set.route.clone(), set.with_never_asked);
            }
            (of.versions.clone(), by_route)
        });
        let excused = excused.collect();
        Self {
            grid,
            identities: Vec::new(),
            identity: 0,
            parts: BTreeMap::new(),
            routes: HashMap::new(),
            cells: Vec::new(),
            with_latency: !filter.without_latency,
            latencies: BTreeMap::new(),
            groups: HashMap::new(),
            excused,
            charge: Charge::default(),
            tallies: 0,
        }
    }

    /// Adds a row of tallies. `extent` is what it counts altogether, if a store has added it up and it may have overflown.
    pub(in crate::read) fn add(&mut self, row: &Row<'_>, extent: u64) -> Result<(), StoreError> {
        let Some(place) = self.grid.place(row.first) else {
            return Ok(());
        };
        self.charge.add(
            RecordType::Tally,
            row.route,
            extent.max(row.counts.extent()),
        )?;
        let mut counts = row.counts;
        counts.complete();
        self.tallies += counts.tallies;
        let identity = self.identity_of(row.identity);
        let part = self.parts.entry((place, identity)).or_insert(Part {
            began: (row.first, row.last),
            sent: [0; 3],
        });
        let (first, last) = part.began;
        part.began = (row.first.min(first), row.last.max(last));
        let sent = [
            counts.compared(),
            counts.candidate_unanswered,
            counts.breaker_open,
        ];
        for (sum, count) in part.sent.iter_mut().zip(sent) {
            *sum += count;
        }
        self.cell(row.route, place).add(&counts);
        Ok(())
    }

    fn identity_of(&mut self, identity: [&str; 3]) -> u32 {
        if self
            .identities
            .get(self.identity)
            .is_none_or(|known| *known != identity)
        {
            let known = self.identities.iter().position(|known| *known == identity);
            self.identity = known.unwrap_or(self.identities.len());
            if known.is_none() {
                self.identities.push(identity.map(str::to_owned));
            }
        }
        u32::try_from(self.identity).unwrap_or(u32::MAX)
    }

    fn cell(&mut self, route: &str, place: u32) -> &mut Cell {
        let cells = if let Some(number) = self.routes.get(route) {
            *number
        } else {
            self.routes.insert(route.to_owned(), self.cells.len());
            self.cells.push(Cells::new());
            self.cells.len() - 1
        };
        self.cells[cells].entry(place).or_default()
    }

    /// Whether latencies are to be read.
    pub(in crate::read) const fn has_room_for_latencies(&self) -> bool {
        self.with_latency && self.tallies <= MAX_LATENCIES
    }

    /// Adds times to the first byte of an interval that began then. `extent` as in [`HistorySums::add`].
    pub(in crate::read) fn add_latencies(
        &mut self,
        begins: i64,
        times: &[Histogram; 2],
        extent: u64,
    ) -> Result<(), StoreError> {
        let Some(place) = self.grid.place(begins) else {
            return Ok(());
        };
        let counts = times.iter().flat_map(Histogram::counts);
        let counted = counts.fold(0, |sum: u64, count| sum.saturating_add(*count));
        self.charge
            .add(RecordType::Tally, "all routes", extent.max(counted))?;
        let sums = self.latencies.entry(place).or_default();
        for (sum, times) in sums.iter_mut().zip(times) {
            sum.merge(times);
        }
        Ok(())
    }

    /// Takes out mismatches that are excused. To be called behind all rows of tallies.
    pub(in crate::read) fn excuse(&mut self, row: &SetRow<'_>) {
        let [legacy, candidate] = row.versions;
        let mut all = self.excused.iter();
        let sets = all.find(|(versions, _)| versions.are(legacy, candidate));
        let routes = sets.and_then(|(_, sets)| sets.get(row.set_id));
        let Some(with_never_asked) = routes.and_then(|routes| routes.get(row.route)).copied()
        else {
            return;
        };
        let never = if with_never_asked { 0 } else { row.never_asked };
        let excused = row.counting.saturating_sub(never);
        let place = self.grid.place(row.begins);
        let cells = self.routes.get(row.route);
        let cells = cells.and_then(|number| self.cells.get_mut(*number));
        // Sets may have arrived whose tally has not.
        if let (Some(place), Some(cells)) = (place, cells)
            && let Some(cell) = cells.get_mut(&place)
        {
            cell.excuse(excused);
        }
    }

    /// Adds what was counted of a group.
    pub(in crate::read) fn add_group(&mut self, row: &GroupRow<'_>) -> Result<(), StoreError> {
        let Some(place) = self.grid.place(row.begins) else {
            return Ok(());
        };
        self.charge
            .add(RecordType::GroupTally, row.route, row.count)?;
        let places = usize::try_from(self.grid.count).unwrap_or(0);
        let group = self.groups.entry(row.fingerprint.to_owned()).or_default();
        row.route.clone_into(&mut group.route);
        group.count += row.count;
        let earlier = |seen: Timestamp| seen.min(row.first_seen);
        group.first_seen = Some(group.first_seen.map_or(row.first_seen, earlier));
        group.last_seen = group.last_seen.max(Some(row.last_seen));
        group.count_by_bucket.resize(places, 0);
        if let Some(count) = group.count_by_bucket.get_mut(place as usize) {
            *count += row.count;
        }
        Ok(())
    }

    /// The history, with what is known of the terms, the earliest first.
    pub(in crate::read) fn into_history(
        mut self,
        filter: &HistoryFilter,
        terms: &[Termed],
    ) -> History {
        let mut history = nothing(filter);
        history.with_latency = self.has_room_for_latencies();
        let window = self.grid.window();
        history.window = Some(window);
        history.bucket_seconds = u64::try_from(self.grid.micros / 1_000_000).unwrap_or(0);
        let (identities, numbers) = self.identities_in_order();
        let began = self.parts.iter().map(|(of, part)| (*of, part.began));
        history.marks = marks::of(&self.identities, &began.collect());
        history.marks.extend(marks::of_terms(terms, window));
        history
            .marks
            .sort_by_key(|mark| (mark.time, mark.kind as usize));
        let mut all: Cells = BTreeMap::new();
        for (place, cell) in self.cells.iter().flatten() {
            all.entry(*place).or_default().add(cell);
        }
        let mut latencies = std::mem::take(&mut self.latencies);
        for (place, cell) in &all {
            let [legacy, candidate] = latencies.remove(place).unwrap_or_default();
            let of = (*place, 0)..=(*place, u32::MAX);
            let mut counted: Vec<u32> = self
                .parts
                .range(of.clone())
                .filter_map(|((_, identity), _)| numbers.get(*identity as usize).copied())
                .collect();
            counted.sort_unstable();
            history.buckets.push(HistoryBucket {
                from: self.grid.begin(i64::from(*place)),
                received: cell.received,
                compared: cell.compared(),
                differing: cell.differing(),
                mismatches: cell.mismatch,
                classes: cell.classes(),
                excused: cell.excused,
                candidate_failures: cell.candidate_failures,
                candidate_unanswered: cell.candidate_unanswered,
                clients_failed: cell.clients_failed(),
                clients: cell.clients(),
                shadowing_off: cell.shadowing_off,
                breaker_open: cell.breaker_open,
                identities: counted,
                candidates: self.candidates(of),
                of_candidate: None,
                legacy_head_us: quantiles(&legacy),
                candidate_head_us: quantiles(&candidate),
            });
        }
        history.identities = identities;
        let places = usize::try_from(self.grid.count).unwrap_or(0);
        let mut routes: Vec<RouteHistory> = self
            .routes
            .into_iter()
            .map(|(route, number)| of_route(route, &self.cells[number], places))
            .collect();
        routes.sort_by(|one, other| {
            let weight = |route: &RouteHistory| (route.differing, route.compared, route.received);
            weight(other)
                .cmp(&weight(one))
                .then_with(|| one.route.cmp(&other.route))
        });
        history.routes_left_out = routes.len().saturating_sub(MAX_ROUTES) as u64;
        routes.truncate(MAX_ROUTES);
        history.routes = routes;
        history.groups = of_groups(self.groups, &filter.fingerprints, places);
        history
    }

    /// What was sent to each version of the candidate in a bucket; nothing where there is one.
    fn candidates(&self, of: std::ops::RangeInclusive<(u32, u32)>) -> Vec<CandidateBucket> {
        let mut sums: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
        for ((_, identity), part) in self.parts.range(of) {
            let Some([_, candidate, _]) = self.identities.get(*identity as usize) else {
                continue;
            };
            let sum = sums.entry(candidate).or_default();
            for (sum, count) in sum.iter_mut().zip(part.sent) {
                *sum += count;
            }
        }
        if sums.len() < 2 {
            return Vec::new();
        }
        let each = sums.into_iter();
        each.map(
            |(candidate, [compared, unanswered, breaker_open])| CandidateBucket {
                candidate_version: candidate.to_owned(),
                compared,
                unanswered,
                breaker_open,
            },
        )
        .collect()
    }

    /// The identities by when they first counted, and which number each has there.
    fn identities_in_order(&self) -> (Vec<HistoryIdentity>, Vec<u32>) {
        let mut times: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
        for ((_, identity), part) in &self.parts {
            let (first, last) = part.began;
            let (from, to) = times.entry(*identity).or_insert(part.began);
            *from = first.min(*from);
            *to = last.max(*to);
        }
        let mut order: Vec<(u32, (i64, i64))> = times.into_iter().collect();
        order.sort_by_key(|(number, (first, _))| (*first, *number));
        let mut numbers = vec![0; self.identities.len()];
        let mut identities = Vec::with_capacity(order.len());
        for (number, (first, last)) in order {
            let Some(identity) = self.identities.get(number as usize) else {
                continue;
            };
            if let Some(place) = numbers.get_mut(number as usize) {
                *place = u32::try_from(identities.len()).unwrap_or(u32::MAX);
            }
            let [legacy_version, candidate_version, rules_hash] = identity.clone();
            identities.push(HistoryIdentity {
                legacy_version,
                candidate_version,
                rules_hash,
                first: Timestamp::from_micros(first),
                last: Timestamp::from_micros(last),
            });
        }
        (identities, numbers)
    }
}
