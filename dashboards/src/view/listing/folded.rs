//! Groups that differ only in their shapes, as one entry.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use parity_comparator::causes::{Bounds, Counted, Exchanges};
use parity_comparator::suggest::{Naming, Seen};
use parity_schemas::attributes::{AttributeCounts, add_attributes};
use parity_schemas::known::KnownState;
use parity_schemas::noise::NoiseGroup;
use parity_schemas::recheck::{ClassCounts, add_counts};
use parity_schemas::report::{CoincidingGroup, GroupReport, Member};
use parity_schemas::verdict::{Explanation, Kind, Part};

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

impl Folded {
    /// One of its groups, to be counted together with others.
    pub(super) fn counted<'a>(&'a self, fold: &'a Fold) -> Counted<'a> {
        let group = &self.group;
        Counted {
            route: &group.route,
            codes: (group.legacy_status, group.candidate_status),
            fingerprints: &fold.fingerprints,
            bounds: Bounds {
                at_least: group.count,
                at_most: fold.findings(),
            },
        }
    }
}

impl Fold {
    /// Mismatches, once for each of its groups.
    pub(super) fn findings(&self) -> u64 {
        self.shapes.iter().map(|(_, count)| count).sum()
    }
}

/// Groups that were folded into one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fold {
    /// Their shapes and counts, the most frequent first.
    pub(crate) shapes: Vec<(String, u64)>,
    /// Their names.
    pub(crate) fingerprints: Vec<String>,
}

/// What groups have in common that differ only in their shapes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    route: String,
    codes: (u16, u16),
    part: Part,
    pattern: String,
    kind: Kind,
    explanation: Option<Explanation>,
    /// What is known of one shape says nothing of another.
    state: KnownState,
}

impl Place {
    /// Of a group of a report.
    pub(crate) fn of(member: &Member<'_>) -> Self {
        Self {
            route: member.group.route.clone(),
            codes: (member.group.legacy_status, member.group.candidate_status),
            part: member.part,
            pattern: member.pattern.to_owned(),
            kind: member.kind,
            explanation: member.explanation,
            state: member.state,
        }
    }

    /// Of a group that is noise, or may be.
    pub(crate) fn of_noise(noise: &NoiseGroup) -> Self {
        let group = &noise.group;
        Self {
            route: noise.route.clone(),
            codes: (group.legacy_status, group.candidate_status),
            part: group.part,
            pattern: group.pattern.clone(),
            kind: group.kind,
            explanation: group.explanation,
            state: KnownState::New,
        }
    }
}

/// Whether an answer can have several findings of a pattern.
fn is_repeated(pattern: &str) -> bool {
    pattern.split('/').any(|segment| segment == "*")
}

/// The groups of each entry, so that one can be found by its position.
pub(super) fn members(entries: &[Folded]) -> Vec<Vec<Member<'_>>> {
    let groups = entries.iter().map(|folded| &folded.group);
    groups.map(|group| group.members().collect()).collect()
}

/// Each group of an entry on its own.
pub(crate) fn split(folded: &Folded) -> impl Iterator<Item = Seen> {
    let members = folded.group.members().zip(&folded.folds);
    members.filter_map(|(member, fold)| {
        Some(Seen {
            group: entry(&[member])?,
            fingerprints: fold.fingerprints.clone(),
            at_most: fold.findings(),
            name: Naming::default(),
        })
    })
}

/// Groups with the same exchanges as one entry; `None` if there are none.
pub(super) fn entry(members: &[Member<'_>]) -> Option<GroupReport> {
    let (first, rest) = members.split_first()?;
    let of = first.group;
    Some(GroupReport {
        state: first.state,
        fingerprint: first.fingerprint.to_owned(),
        route: of.route.clone(),
        part: first.part,
        pattern: first.pattern.to_owned(),
        kind: first.kind,
        severity: first.severity(),
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
        attributes: of.attributes.clone(),
        special: of.special.clone(),
    })
}

fn coinciding(member: &Member<'_>) -> CoincidingGroup {
    CoincidingGroup {
        state: member.state,
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
pub(super) fn fold(entries: &[GroupReport], exchanges: &Exchanges<'_>) -> Vec<Folded> {
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
        let mut single: Vec<Vec<Member<'_>>> = Vec::new();
        let mut single_of: HashMap<Place, usize> = HashMap::new();
        for member in entry.members() {
            let place = Place::of(&member);
            if !alone.contains(&place) {
                together.push(member);
                continue;
            }
            let index = *single_of.entry(place).or_insert(single.len());
            match single.get_mut(index) {
                Some(members) => members.push(member),
                None => single.push(vec![member]),
            }
        }
        for members in std::iter::once(together).chain(single) {
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
    for folding in &mut folding {
        let count = |entry: &Vec<Member<'_>>| entry.first().map(|member| member.group.count);
        folding.entries.sort_by_key(|entry| Reverse(count(entry)));
    }
    let mut folded: Vec<Folded> = folding
        .iter()
        .filter_map(|folding| folding.folded(exchanges))
        .collect();
    folded.sort_by(|one, other| one.group.order(&other.group));
    folded
}

/// Entries that become one. Each has members at the same places.
#[derive(Default)]
struct Folding<'a> {
    /// The most frequent first.
    entries: Vec<Vec<Member<'a>>>,
}

impl Folding<'_> {
    fn folded(&self, exchanges: &Exchanges<'_>) -> Option<Folded> {
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
        let (at_least, at_most) = self.bounds(&members, &folds, exchanges);
        group.count = at_least;
        // A mismatch that is in several of them would be counted more than once.
        if at_least == at_most {
            group.attributes = AttributeCounts::new();
            for member in of_all() {
                add_attributes(&mut group.attributes, &member.group.attributes);
            }
        }
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
    fn bounds(
        &self,
        members: &[Member<'_>],
        folds: &[Fold],
        exchanges: &Exchanges<'_>,
    ) -> (u64, u64) {
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
        let names = fold.fingerprints.iter().map(String::as_str);
        let known = exchanges.known(&member.group.route, names);
        let at_least = counts().max().unwrap_or(0).max(known);
        (at_least.min(at_most), at_most)
    }
}
