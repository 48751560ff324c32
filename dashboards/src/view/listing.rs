//! Which groups of a report are listed where: those that count, and those whose mismatches are all transient.
//!
//! Whether a group is noise depends on the shape of its values, so a field whose texts have several lengths is several
//! groups. Whoever reads the report wants to see that field once. So groups that differ in nothing but their shape are one
//! entry here, with their shapes and counts. What is proven to be noise, or may be, is listed on its own
//! ([`noise`](super::noise)) and never added to what is not.
//!
//! The causes are found after that: what is noise has no cause, and two shapes of one field have not something in common.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use parity_schemas::evidence::SetEvidence;
use parity_schemas::noise::{NoiseGroup, NoiseState, NoiseUse};
use parity_schemas::recheck::{ClassCounts, add_counts};
use parity_schemas::record::MismatchClass;
use parity_schemas::report::{CauseReport, CoincidingGroup, GroupReport, Member, Report};
use parity_schemas::verdict::{Explanation, Kind, Part};
use parity_sink::read::causes;

/// The groups of a report as they are listed.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// What several of the groups that count share.
    pub(super) causes: Vec<CauseReport>,
    /// Those that count, the most frequent first.
    pub(super) counting: Vec<Folded>,
    /// Those whose mismatches are all transient, so that none counts; the most frequent first.
    pub(super) transient: Vec<Folded>,
}

/// Groups that differ only in their shapes, with those that coincide with them.
#[derive(Clone, Debug)]
pub(crate) struct Folded {
    /// All of them as one group: its count is that of the mismatches, or the least that it can be.
    pub(crate) group: GroupReport,
    /// What was folded: of the group itself, and of each that coincides with it.
    pub(crate) folds: Vec<Fold>,
    /// Whether there may be more mismatches than `group.count`, because one may have several of the shapes.
    pub(crate) is_least: bool,
}

/// Groups that were folded into one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fold {
    /// Their shapes and counts, the most frequent first.
    pub(crate) shapes: Vec<(String, u64)>,
    /// Their names.
    pub(crate) fingerprints: Vec<String>,
}

/// Where a group is listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shelf {
    Counting,
    Transient,
    /// With what is noise, or may be.
    Noise,
}

/// What groups have in common that differ only in their shapes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    route: String,
    codes: (u16, u16),
    part: Part,
    pattern: String,
    kind: Kind,
    explanation: Option<Explanation>,
}

impl Place {
    fn of(member: &Member<'_>) -> Self {
        Self {
            route: member.group.route.clone(),
            codes: (member.group.legacy_status, member.group.candidate_status),
            part: member.part,
            pattern: member.pattern.to_owned(),
            kind: member.kind,
            explanation: member.explanation,
        }
    }

    /// Of a group that is noise, or may be.
    pub(super) fn of_noise(noise: &NoiseGroup) -> Self {
        let group = &noise.group;
        Self {
            route: noise.route.clone(),
            codes: (group.legacy_status, group.candidate_status),
            part: group.part,
            pattern: group.pattern.clone(),
            kind: group.kind,
            explanation: group.explanation,
        }
    }
}

/// Whether an answer can have several findings of a pattern.
fn is_repeated(pattern: &str) -> bool {
    pattern.split('/').any(|segment| segment == "*")
}

/// Whether all mismatches of a group are transient.
pub(super) fn is_transient(classes: &ClassCounts, count: u64) -> bool {
    count > 0 && classes.get(&MismatchClass::Transient) == Some(&count)
}

impl Listing {
    /// Of a report that knows what is noise.
    pub(super) fn of(report: &Report, usage: NoiseUse) -> Self {
        let noise: HashMap<(&str, &str), NoiseState> = report
            .noise
            .iter()
            .map(|noise| {
                let name = (noise.route.as_str(), noise.group.fingerprint.as_str());
                (name, noise.state)
            })
            .collect();
        let shelf = |member: &Member<'_>| {
            let name = (member.group.route.as_str(), member.fingerprint);
            let state = noise.get(&name).filter(|_| usage == NoiseUse::Use);
            match state {
                Some(NoiseState::Proven) => Shelf::Noise,
                _ if is_transient(member.classes, member.group.count) => Shelf::Transient,
                Some(NoiseState::Open) => Shelf::Noise,
                None => Shelf::Counting,
            }
        };
        let entries_on = |wanted: Shelf| -> Vec<GroupReport> {
            let groups = report.groups.iter();
            groups
                .filter_map(|group| {
                    let members = group.members().filter(|member| shelf(member) == wanted);
                    entry(&members.collect::<Vec<_>>())
                })
                .collect()
        };
        let counting = fold(&entries_on(Shelf::Counting), &report.sets);
        Self {
            causes: causes(counting.iter().map(|folded| &folded.group)),
            transient: fold(&entries_on(Shelf::Transient), &report.sets),
            counting,
        }
    }

    /// The causes with the names of all groups that they cover.
    pub(super) fn causes_of_all(&self) -> Vec<CauseReport> {
        let mut folds: HashMap<&str, (&Fold, u64)> = HashMap::new();
        for folded in &self.counting {
            for (member, fold) in folded.group.members().zip(&folded.folds) {
                let findings = fold.shapes.iter().map(|(_, count)| count).sum();
                folds.insert(member.fingerprint, (fold, findings));
            }
        }
        let whole = |cause: &CauseReport| {
            let names = cause.fingerprints.iter();
            let covered: Vec<_> = names.filter_map(|name| folds.get(name.as_str())).collect();
            let names = covered.iter().flat_map(|(fold, _)| &fold.fingerprints);
            CauseReport {
                findings: covered.iter().map(|(_, findings)| findings).sum(),
                fingerprints: names.cloned().collect(),
                ..cause.clone()
            }
        };
        self.causes.iter().map(whole).collect()
    }

    /// The groups of each cause, and the entries that are in none: all that count, and nothing twice.
    pub(super) fn by_cause(&self) -> (Vec<(&CauseReport, Vec<Member<'_>>)>, Vec<&Folded>) {
        let groups = self.counting.iter().map(|folded| &folded.group);
        let members: HashMap<&str, Member<'_>> = groups
            .flat_map(GroupReport::members)
            .map(|member| (member.fingerprint, member))
            .collect();
        let names = self.causes.iter().flat_map(|cause| &cause.fingerprints);
        let told: HashSet<&str> = names.map(String::as_str).collect();
        let causes = self
            .causes
            .iter()
            .map(|cause| {
                let names = cause.fingerprints.iter();
                let groups = names.filter_map(|name| members.get(name.as_str()).copied());
                (cause, groups.collect())
            })
            .collect();
        let rest = self.counting.iter();
        let rest = rest.filter(|folded| !told.contains(folded.group.fingerprint.as_str()));
        (causes, rest.collect())
    }
}

/// Groups with the same exchanges as one entry; `None` if there are none.
fn entry(members: &[Member<'_>]) -> Option<GroupReport> {
    let (first, rest) = members.split_first()?;
    let of = first.group;
    Some(GroupReport {
        fingerprint: first.fingerprint.to_owned(),
        route: of.route.clone(),
        part: first.part,
        pattern: first.pattern.to_owned(),
        kind: first.kind,
        explanation: first.explanation,
        shape: first.shape.to_owned(),
        against: first.against,
        legacy_status: of.legacy_status,
        candidate_status: of.candidate_status,
        count: of.count,
        classes: first.classes.clone(),
        evidence: first.evidence.clone(),
        first_seen: of.first_seen,
        last_seen: of.last_seen,
        example_id: of.example_id,
        example: first.example.cloned(),
        also: rest.iter().map(coinciding).collect(),
    })
}

fn coinciding(member: &Member<'_>) -> CoincidingGroup {
    CoincidingGroup {
        fingerprint: member.fingerprint.to_owned(),
        part: member.part,
        pattern: member.pattern.to_owned(),
        kind: member.kind,
        explanation: member.explanation,
        shape: member.shape.to_owned(),
        classes: member.classes.clone(),
        evidence: member.evidence.clone(),
        against: member.against,
        example: member.example.cloned(),
    }
}

/// Entries whose groups are at the same places become one. A place that stands in entries of different places cannot be
/// folded with any of them, so it gets an entry of its own.
fn fold(entries: &[GroupReport], sets: &[SetEvidence]) -> Vec<Folded> {
    let places = |entry: &GroupReport| -> BTreeSet<Place> {
        entry.members().map(|member| Place::of(&member)).collect()
    };
    let mut companies: HashMap<BTreeSet<Place>, usize> = HashMap::new();
    let mut company_of: HashMap<Place, usize> = HashMap::new();
    let mut alone: HashSet<Place> = HashSet::new();
    for entry in entries {
        let all = places(entry);
        let next = companies.len();
        let company = *companies.entry(all.clone()).or_insert(next);
        for place in all {
            if *company_of.entry(place.clone()).or_insert(company) != company {
                alone.insert(place);
            }
        }
    }
    let mut folding: Vec<Folding<'_>> = Vec::new();
    let mut by_places: HashMap<BTreeSet<Place>, usize> = HashMap::new();
    for entry in entries {
        let mut together = Vec::new();
        let mut single: Vec<(Place, Vec<Member<'_>>)> = Vec::new();
        for member in entry.members() {
            let place = Place::of(&member);
            if !alone.contains(&place) {
                together.push(member);
            } else if let Some((_, members)) = single.iter_mut().find(|(known, _)| *known == place)
            {
                members.push(member);
            } else {
                single.push((place, vec![member]));
            }
        }
        for members in std::iter::once(together).chain(single.into_iter().map(|(_, it)| it)) {
            if members.is_empty() {
                continue;
            }
            let key = members.iter().map(Place::of).collect();
            let index = *by_places.entry(key).or_insert_with(|| {
                folding.push(Folding::default());
                folding.len() - 1
            });
            folding[index].entries.push(members);
        }
    }
    let mut folded: Vec<Folded> = folding
        .iter()
        .filter_map(|folding| folding.folded(sets))
        .collect();
    folded.sort_by(|one, other| {
        let order = |folded: &Folded| Reverse(folded.group.count);
        order(one)
            .cmp(&order(other))
            .then_with(|| one.group.route.cmp(&other.group.route))
            .then_with(|| one.group.fingerprint.cmp(&other.group.fingerprint))
    });
    folded
}

/// Entries that become one. Each has members at the same places.
#[derive(Default)]
struct Folding<'a> {
    /// The most frequent first.
    entries: Vec<Vec<Member<'a>>>,
}

impl Folding<'_> {
    fn folded(&self, sets: &[SetEvidence]) -> Option<Folded> {
        let mut members: Vec<Member<'_>> = Vec::new();
        let mut folds: Vec<Fold> = Vec::new();
        let mut classes: Vec<ClassCounts> = Vec::new();
        let mut index_of: HashMap<Place, usize> = HashMap::new();
        // An example that retention left is better than one of the most frequent shape, which it removed.
        let mut example_id = None;
        for member in self.entries.iter().flatten() {
            let index = *index_of.entry(Place::of(member)).or_insert(members.len());
            if index == members.len() {
                members.push(*member);
                folds.push(Fold::default());
                classes.push(ClassCounts::new());
            }
            let lead = &mut members[index];
            lead.example = lead.example.or(member.example);
            if index == 0 && member.example.is_some() {
                example_id = example_id.or(Some(member.group.example_id));
            }
            add_counts(&mut classes[index], member.classes);
            let shape = (member.shape.to_owned(), member.group.count);
            folds[index].shapes.push(shape);
            folds[index]
                .fingerprints
                .push(member.fingerprint.to_owned());
        }
        let mut group = entry(&members)?;
        group.example_id = example_id.unwrap_or(group.example_id);
        let of_all = || self.entries.iter().filter_map(|entry| entry.first());
        group.first_seen = of_all().map(|member| member.group.first_seen).min()?;
        group.last_seen = of_all().map(|member| member.group.last_seen).max()?;
        let (at_least, at_most) = self.bounds(&members, &folds, sets);
        group.count = at_least;
        let mut classes = classes.into_iter();
        group.classes = classes.next()?;
        for (other, classes) in group.also.iter_mut().zip(classes) {
            other.classes = classes;
        }
        for fold in &mut folds {
            fold.shapes.sort_by_key(|(_, count)| Reverse(*count));
        }
        Some(Folded {
            group,
            folds,
            is_least: at_least < at_most,
        })
    }

    /// How many mismatches there are at the least and at the most: one may be in several of the entries, where a place stands
    /// for several.
    fn bounds(&self, members: &[Member<'_>], folds: &[Fold], sets: &[SetEvidence]) -> (u64, u64) {
        let counts = || {
            let firsts = self.entries.iter().filter_map(|entry| entry.first());
            firsts.map(|member| member.group.count)
        };
        let at_most: u64 = counts().sum();
        let (Some(member), Some(fold)) = (members.first(), folds.first()) else {
            return (0, 0);
        };
        if members.iter().any(|member| !is_repeated(member.pattern)) {
            return (at_most, at_most);
        }
        let known = in_sets(&member.group.route, &fold.fingerprints, sets);
        let at_least = counts().max().unwrap_or(0).max(known);
        (at_least.min(at_most), at_most)
    }
}

/// How many mismatches are known to have one of several groups.
fn in_sets(route: &str, fingerprints: &[String], sets: &[SetEvidence]) -> u64 {
    let names: HashSet<&str> = fingerprints.iter().map(String::as_str).collect();
    if names.len() < 2 {
        return 0;
    }
    let of_route = sets.iter().filter(|set| set.route == route);
    of_route
        .filter(|set| {
            set.fingerprints
                .iter()
                .any(|name| names.contains(name.as_str()))
        })
        .flat_map(|set| set.classes.values())
        .sum()
}

#[cfg(test)]
mod tests;
