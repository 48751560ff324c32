//! The groups of a report: added up, row by row.

mod coinciding;
mod spread;

use std::collections::HashMap;
use std::rc::Rc;

use parity_schemas::attributes::{AttributeCounts, add_attributes};
use parity_schemas::digest::ExchangeDigest;
use parity_schemas::evidence::{GroupEvidence, SetEvidence, Window};
use parity_schemas::known::KnownState;
use parity_schemas::recheck::{
    ClassCounts, EvidenceCounts, MismatchClass, RecheckEvidence, add_counts, complete_classes,
};
use parity_schemas::record::{RecordedFinding, target};
use parity_schemas::report::{CoincidingGroup, GroupExample, GroupReport};
use parity_schemas::tally::{Group, GroupTally};
use parity_schemas::time::Timestamp;
use uuid::Uuid;

use self::coinciding::{coinciding, severity};
pub(super) use self::spread::{SUMS, Spread, Sum};
use super::hints::Hints;
use crate::error::StoreError;
use crate::tally::{OTHER, other_group};

/// Most groups of a report; further ones, in the order of their first interval, are added up as `_other`. So many come
/// from patterns that never repeat; nobody reads them, and they must not fill memory.
const MAX_REPORT_GROUPS: usize = 10_000;
/// The gravest classes, the gravest first: a mismatch has none below that of any of its groups. A group about which a recheck told nothing is
/// unconfirmed whatever its mismatch is.
const COUNTING: [MismatchClass; 2] = [MismatchClass::Confirmed, MismatchClass::Unstable];
/// How many mismatches are tried as the example of a group, because the newest may have been dropped before it was
/// stored.
pub(super) const EXAMPLES_TRIED: usize = 4;

/// The columns for an example. Shared, because one mismatch can be the example of several groups.
pub(super) struct ExampleRow {
    pub(super) route: String,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) findings: Vec<RecordedFinding>,
}

/// Sums of groups, by route and fingerprint.
#[derive(Clone, Default)]
pub(super) struct Groups {
    by_route: HashMap<String, HashMap<String, Sums>>,
    count: usize,
}

#[derive(Clone)]
struct Sums {
    group: Group,
    count: u64,
    digest: ExchangeDigest,
    first_seen: Timestamp,
    last_seen: Timestamp,
    classes: ClassCounts,
    /// Without what follows from how the rechecks are spread.
    evidence: EvidenceCounts,
    attributes: AttributeCounts,
    spread: Spread,
    /// Newest first.
    examples: Vec<(Timestamp, Uuid)>,
}

impl Groups {
    /// Adds the row of a group.
    pub(super) fn add_row(&mut self, row: GroupTally) {
        let spread = Spread::of(&row);
        self.add(row, spread);
    }

    /// Adds rows of a group that a store has added up, and how they are spread.
    pub(super) fn add(&mut self, mut row: GroupTally, mut spread: Spread) {
        // They do not add up, and are told from how the rows are spread.
        row.evidence.remove(&RecheckEvidence::Targets);
        let route = row.route.as_str();
        let full = self.count >= MAX_REPORT_GROUPS;
        if !self.by_route.contains_key(route) {
            self.by_route.insert(route.to_owned(), HashMap::new());
        }
        let Some(groups) = self.by_route.get_mut(route) else {
            return;
        };
        if full && !groups.contains_key(&row.group.fingerprint) {
            row.group = other_group();
            row.exchange_digest = ExchangeDigest::UNKNOWN;
            row.evidence.clear();
            row.attributes.clear();
            spread.forget_evidence();
        }
        if let Some(sums) = groups.get_mut(&row.group.fingerprint) {
            sums.add(row, spread);
        } else {
            self.count += 1;
            groups.insert(row.group.fingerprint.clone(), Sums::of(row, spread));
        }
    }

    /// How many there are.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// The groups of one route.
    pub(super) fn of_route(&self, route: &str) -> Vec<GroupEvidence> {
        let groups = self.by_route.get(route).into_iter().flatten();
        groups
            .map(|(_, sums)| GroupEvidence {
                route: route.to_owned(),
                count: sums.count,
                evidence: sums.evidence(None),
                classes: sums.classes.clone(),
                group: sums.group.clone(),
                last_seen: sums.last_seen,
            })
            .collect()
    }

    /// Whether a group of a route has more mismatches that are [`COUNTING`] than the route has. What is added up as `_other` may count one
    /// several times.
    pub(super) fn have_more(&self, route: &str, classes: &ClassCounts) -> bool {
        let groups = self.by_route.get(route).into_iter().flatten();
        let mut groups = groups.filter(|(fingerprint, _)| *fingerprint != OTHER);
        groups.any(|(_, sums)| {
            // Together with the graver ones.
            let [mut own, mut most] = [0; 2];
            COUNTING.iter().any(|class| {
                let of = |counts: &ClassCounts| counts.get(class).copied().unwrap_or_default();
                own += of(&sums.classes);
                most += of(classes);
                own > most
            })
        })
    }

    /// Whether a set of groups has more mismatches that are [`COUNTING`] than these groups together: each has its class from one of them. Of a
    /// route with more groups than have a place that is not known.
    pub(super) fn have_less(&self, route: &str, set: &SetEvidence) -> bool {
        let Some(groups) = self.by_route.get(route) else {
            return false;
        };
        let is_whole = !groups.contains_key(OTHER);
        let mut counting = COUNTING.iter();
        is_whole
            && counting.any(|class| {
                let of = |counts: &ClassCounts| counts.get(class).copied().unwrap_or_default();
                let wanted = of(&set.classes);
                let own = set.fingerprints.iter().filter_map(|name| groups.get(name));
                wanted > 0 && own.map(|sums| of(&sums.classes)).sum::<u64>() < wanted
            })
    }

    /// Forgets a route.
    pub(super) fn remove(&mut self, route: &str) {
        let gone = self.by_route.remove(route);
        self.count -= gone.map_or(0, |groups| groups.len());
    }

    /// Adds those groups of a route that were counted elsewhere and that `still` wants.
    pub(super) fn carry(&mut self, route: &str, from: &mut Self, still: impl Fn(&str) -> bool) {
        let groups = from.by_route.remove(route).unwrap_or_default();
        let own = self.by_route.entry(route.to_owned()).or_default();
        for (mut fingerprint, mut sums) in groups.into_iter().filter(|(name, _)| still(name)) {
            if self.count >= MAX_REPORT_GROUPS && !own.contains_key(&fingerprint) {
                sums.group = other_group();
                sums.digest = ExchangeDigest::UNKNOWN;
                sums.evidence.clear();
                sums.attributes.clear();
                sums.spread.forget_evidence();
                fingerprint.clone_from(&sums.group.fingerprint);
            }
            if let Some(known) = own.get_mut(&fingerprint) {
                known.merge(sums);
            } else {
                self.count += 1;
                own.insert(fingerprint, sums);
            }
        }
    }

    /// Ids of the mismatches that may serve as examples, of each group at most so many.
    pub(super) fn example_ids(&self, of_each: usize) -> impl Iterator<Item = Uuid> + '_ {
        let sums = self.by_route.values().flat_map(HashMap::values);
        sums.flat_map(move |sums| sums.examples.iter().take(of_each).map(|(_, id)| *id))
    }

    /// What was counted of each group in this window, sorted by route and fingerprint.
    pub(super) fn into_evidence(self, window: Option<Window>) -> Vec<GroupEvidence> {
        let mut all = Vec::with_capacity(self.count);
        for (route, groups) in self.by_route {
            all.extend(groups.into_values().map(|sums| GroupEvidence {
                route: route.clone(),
                count: sums.count,
                evidence: sums.evidence(window),
                classes: sums.classes,
                group: sums.group,
                last_seen: sums.last_seen,
            }));
        }
        all.sort_unstable_by(GroupEvidence::order);
        all
    }

    /// Groups (route and fingerprint) of whose examples none was found.
    pub(super) fn without(&self, found: impl Fn(&Uuid) -> bool) -> Vec<(&str, &str)> {
        self.by_route
            .iter()
            .flat_map(|(route, groups)| {
                groups
                    .iter()
                    .filter(|(_, sums)| !sums.examples.iter().any(|(_, id)| found(id)))
                    .map(move |(fingerprint, _)| (route.as_str(), fingerprint.as_str()))
            })
            .collect()
    }

    /// Adds another example of a known group.
    pub(super) fn add_example(
        &mut self,
        route: &str,
        fingerprint: &str,
        seen: Timestamp,
        id: Uuid,
    ) {
        let group = self
            .by_route
            .get_mut(route)
            .and_then(|groups| groups.get_mut(fingerprint));
        if let Some(sums) = group {
            sums.add_example(seen, id);
        }
    }

    /// The groups of the report of this window, the gravest first; `example` fetches a mismatch by its id.
    pub(super) fn into_reports(
        self,
        window: Option<Window>,
        mut example: impl FnMut(Uuid) -> Result<Option<Rc<ExampleRow>>, StoreError>,
    ) -> Result<Vec<GroupReport>, StoreError> {
        let mut reports = Vec::with_capacity(self.count);
        for (route, groups) in self.by_route {
            let mut hints = Hints::default();
            for sums in groups.values() {
                hints.add(&sums.group, sums.count);
            }
            for (first, others) in coinciding(groups.into_values(), &hints) {
                reports.push(first.into_report(&route, others, (&hints, window), &mut example)?);
            }
        }
        reports.sort_unstable_by(GroupReport::order);
        Ok(reports)
    }
}

impl Sums {
    fn of(row: GroupTally, spread: Spread) -> Self {
        let mut sums = Self {
            group: row.group.clone(),
            count: 0,
            digest: row.exchange_digest,
            first_seen: row.first_seen,
            last_seen: row.last_seen,
            classes: ClassCounts::new(),
            evidence: EvidenceCounts::new(),
            attributes: AttributeCounts::new(),
            spread,
            examples: Vec::new(),
        };
        sums.add_counts(row);
        sums
    }

    fn add(&mut self, row: GroupTally, spread: Spread) {
        self.spread.extend(spread);
        self.digest.add(row.exchange_digest);
        self.first_seen = self.first_seen.min(row.first_seen);
        self.last_seen = self.last_seen.max(row.last_seen);
        self.add_counts(row);
    }

    fn add_counts(&mut self, mut row: GroupTally) {
        self.count += row.count;
        row.classes = complete_classes(row.classes, row.count);
        add_counts(&mut self.classes, &row.classes);
        add_counts(&mut self.evidence, &row.evidence);
        add_attributes(&mut self.attributes, &row.attributes);
        self.add_example(row.last_seen, row.example_id);
    }

    fn merge(&mut self, other: Self) {
        self.digest.add(other.digest);
        self.first_seen = self.first_seen.min(other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
        self.count += other.count;
        add_counts(&mut self.classes, &other.classes);
        add_counts(&mut self.evidence, &other.evidence);
        add_attributes(&mut self.attributes, &other.attributes);
        self.spread.merge(other.spread);
        for (seen, id) in other.examples {
            self.add_example(seen, id);
        }
    }

    /// What was counted of the second answers, as far as it says something in this window.
    fn evidence(&self, window: Option<Window>) -> EvidenceCounts {
        let mut evidence = self.evidence.clone();
        let counts = self.spread.counts(window);
        evidence.extend(counts.into_iter().filter(|(_, count)| *count > 0));
        evidence
    }

    /// Keeps the newest examples, without duplicates.
    fn add_example(&mut self, seen: Timestamp, id: Uuid) {
        self.examples.push((seen, id));
        self.examples.sort_unstable_by(|one, other| other.cmp(one));
        self.examples.dedup();
        self.examples.truncate(EXAMPLES_TRIED);
    }

    fn into_report(
        self,
        route: &str,
        others: Vec<Self>,
        (hints, window): (&Hints, Option<Window>),
        example: &mut impl FnMut(Uuid) -> Result<Option<Rc<ExampleRow>>, StoreError>,
    ) -> Result<GroupReport, StoreError> {
        let mut example_id = self.examples.first().map_or(Uuid::nil(), |(_, id)| *id);
        let mut found = None;
        for (_, id) in &self.examples {
            if let Some(row) = example(*id)? {
                example_id = *id;
                found = Some(row);
                break;
            }
        }
        let shown = |group: &Group| found.as_ref().and_then(|row| example_of(group, row));
        let also = others
            .into_iter()
            .map(|other| CoincidingGroup {
                state: KnownState::New,
                example: shown(&other.group),
                against: hints.against(&other.group),
                evidence: other.evidence(window),
                classes: other.classes,
                shape: other.group.shape,
                fingerprint: other.group.fingerprint,
                part: other.group.part,
                pattern: other.group.pattern,
                kind: other.group.kind,
                explanation: other.group.explanation,
            })
            .collect();
        let severity = severity(&self.group, hints);
        Ok(GroupReport {
            state: KnownState::New,
            example: shown(&self.group),
            against: hints.against(&self.group),
            evidence: self.evidence(window),
            classes: self.classes,
            shape: self.group.shape,
            fingerprint: self.group.fingerprint,
            route: route.to_owned(),
            part: self.group.part,
            pattern: self.group.pattern,
            kind: self.group.kind,
            severity,
            explanation: self.group.explanation,
            legacy_status: self.group.legacy_status,
            candidate_status: self.group.candidate_status,
            count: self.count,
            first_seen: self.first_seen,
            last_seen: self.last_seen,
            example_id,
            also,
            attributes: self.attributes,
            // What is special follows from the whole route.
            special: Vec::new(),
        })
    }
}

/// The finding of the group as an example; for `_other`, which has no findings of its own, the first finding.
fn example_of(group: &Group, row: &ExampleRow) -> Option<GroupExample> {
    let finding = row
        .findings
        .iter()
        .find(|finding| group.fingerprint == OTHER || finding.fingerprint == group.fingerprint)?;
    Some(GroupExample {
        target: target(&row.path, &row.query, &row.route),
        path: finding.path.clone(),
        candidate_path: finding.candidate_path.clone(),
        legacy: finding.legacy.clone(),
        candidate: finding.candidate.clone(),
        text_diff: finding.text_diff.clone(),
    })
}
