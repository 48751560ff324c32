//! Which mismatches do not count against the candidate: decided when the counts are read, from nothing but them.
//!
//! A group that somebody has entered as known, and that does not block, is excused like noise: an exchange is, if each of its
//! groups is known so or proven noise. So a known difference never excuses another one beside it.
//!
//! An exchange is noise if each of its groups is: that is known from the sets, however late the proof came. What was
//! found to be transient needs no proof; its groups were looked at one by one ([`super::class`]).
//!
//! A group that looks like noise and is not proven yet counts, so that nothing passes by it. But nothing fails by it
//! either: who asks too early would be told that a service differs from itself. That holds only while rechecks say so, or
//! until they say anything ([`super::untold`]): once they say something else, it counts both ways.
//!
//! Two clocks are now and then "the same time cut to fewer digits", two numbers rounded, by chance. Such groups differ only
//! in their explanation and are rare, so that alone they would wait for their rechecks for ever. A group is noise also if
//! nothing is shown against it alone, and it and those that differ only in their explanation are noise together: what may
//! hide in all of them is bounded as in one. That holds as well while nobody asked about the few: their number is then part of
//! that bound. One recheck that finds the legacy standing still there ends it, so a fault that always looks like the
//! explanation is told by its own rechecks.
//!
//! Of groups in which the candidate is wrong only now and then, beside a legacy that moves, only a part is certain
//! ([`super::partly`]).

use std::collections::{HashMap, HashSet};

use parity_schemas::evidence::{Evidence, GroupEvidence, RouteEvidence, SetEvidence};
use parity_schemas::noise::{Excused, NoiseFamily, NoiseGroup, NoiseState, NoiseSums, NoiseUse};
use parity_schemas::recheck::{RecheckEvent, RecheckEvidence};
use parity_schemas::record::MismatchClass;
use parity_schemas::route::OTHER;
use parity_schemas::tally::Counts;

use super::group_place::Place;
use super::partly::{self, Shares};
use super::proof::{GroupSums, OfRoute, Proof, both, prove};
use super::shape::Shape;
use super::sums::of_class;
use super::{hidden, one_sided, untold};

/// What was found in some evidence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found<'a> {
    /// Groups that are noise or may be: first those that are proven, the most frequent first.
    pub groups: Vec<NoiseGroup>,
    /// Of each route that has any.
    pub routes: HashMap<&'a str, Excused>,
}

impl Found<'_> {
    /// Of one route.
    pub fn of(&self, route: &str) -> Excused {
        self.routes.get(route).copied().unwrap_or_default()
    }
}

/// Groups by route and fingerprint.
pub type Names<'a> = HashSet<(&'a str, &'a str)>;

/// Looks for noise, and adds up what does not count because of it or because it is `known`.
pub fn find<'a>(evidence: &'a Evidence, usage: NoiseUse, known: &Names<'_>) -> Found<'a> {
    let mut found = Found::default();
    for route in &evidence.routes {
        let transient = of_class(&route.counts.classes, MismatchClass::Transient);
        if transient > 0 {
            let excused = found.routes.entry(&route.route).or_default();
            excused.transient = transient;
        }
    }
    let mut shares = Shares::new();
    if usage != NoiseUse::Off {
        (found.groups, shares) = groups(evidence);
    }
    if usage == NoiseUse::Use {
        add_sets(&mut found, evidence, known, shares);
    } else {
        add_known_sets(&mut found, evidence, known);
    }
    let mut groups_of: HashMap<&str, Vec<&NoiseGroup>> = HashMap::new();
    for group in found.groups.iter().filter(|_| usage == NoiseUse::Use) {
        groups_of.entry(&group.route).or_default().push(group);
    }
    for route in &evidence.routes {
        let name = route.route.as_str();
        if let Some(excused) = found.routes.get_mut(name) {
            let groups = groups_of.remove(name).unwrap_or_default();
            excused.hidden = hidden_in(&route.counts, *excused, &groups);
        }
    }
    found
}

/// The share of the compared requests of a route that may hide a difference in what does not count, with its groups that are
/// used as noise.
pub fn hidden_in(counts: &Counts, excused: Excused, groups: &[&NoiseGroup]) -> f64 {
    let groups = || groups.iter().copied();
    between(counts)
        + hidden::of_route(groups(), excused.noise + excused.known)
        + one_sided::of_route(counts, excused, groups())
}

/// The share of the compared requests that are taken for changes of the data because the candidate's value was between the
/// two of the legacy. A wrong value that happens to be there looks the same.
fn between(counts: &Counts) -> f64 {
    let between = counts.rechecks.get(&RecheckEvent::Between).copied();
    between.unwrap_or(0) as f64 / counts.compared().max(1) as f64
}

/// Adds the exchanges all of whose groups are known, where nothing is taken for noise.
fn add_known_sets<'a>(found: &mut Found<'a>, evidence: &'a Evidence, known: &Names<'_>) {
    for set in &evidence.sets {
        let is_known = |name: &String| known.contains(&(set.route.as_str(), name.as_str()));
        if !set.fingerprints.is_empty() && set.fingerprints.iter().all(is_known) {
            let excused = found.routes.entry(&set.route).or_default();
            excused.known += counting(set);
        }
    }
    add_uncounted(found, evidence, known, &HashSet::new());
}

/// The names of the groups of a set.
fn names_of(set: &SetEvidence) -> impl Iterator<Item = (&str, &str)> {
    let names = set.fingerprints.iter();
    names.map(|name| (set.route.as_str(), name.as_str()))
}

fn owned(names: &Names<'_>) -> HashSet<(String, String)> {
    let names = names.iter();
    names
        .map(|(route, name)| ((*route).to_owned(), (*name).to_owned()))
        .collect()
}

/// The exchanges of a set that count, unless their groups say otherwise. The others do not count by their class already.
fn counting(set: &SetEvidence) -> u64 {
    let all: u64 = set.classes.values().sum();
    all - of_class(&set.classes, MismatchClass::Transient)
}

/// Adds the exchanges all of whose groups are noise or known, or may be noise.
fn add_sets<'a>(
    found: &mut Found<'a>,
    evidence: &'a Evidence,
    known: &Names<'_>,
    shares: Shares<'a>,
) {
    let states: HashMap<(&str, &str), &NoiseGroup> = found
        .groups
        .iter()
        .map(|group| {
            let name = (group.route.as_str(), group.group.fingerprint.as_str());
            (name, group)
        })
        .collect();
    let untold = untold::groups(evidence);
    let may_be = |name: (&str, &str)| {
        known.contains(&name) || states.contains_key(&name) || untold.contains(&name)
    };
    let shares = partly::without_own_groups(shares, evidence, may_be);
    let mut certain: HashMap<&str, f64> = HashMap::new();
    for set in &evidence.sets {
        let count = counting(set);
        let never = set.never_asked.min(count);
        let is_known = |name: &str| known.contains(&(set.route.as_str(), name));
        let has_known = set.fingerprints.iter().any(|name| is_known(name));
        // What is known needs no proof; the rest of the exchange does.
        let members: Vec<&String> = set
            .fingerprints
            .iter()
            .filter(|name| !is_known(name))
            .collect();
        if has_known && members.is_empty() {
            found.routes.entry(&set.route).or_default().known += count;
            continue;
        }
        let members = members.iter();
        let members = members.map(|name| states.get(&(set.route.as_str(), name.as_str())));
        let Some(members) = members.collect::<Option<Vec<_>>>() else {
            let share = |name| shares.get(&name).copied();
            let mut names = names_of(set);
            if names.all(|name| may_be(name) || share(name).is_some()) && count > never {
                let excused = found.routes.entry(&set.route).or_default();
                let count = count - never;
                excused.open += count;
                if let Some(most) = names_of(set).filter_map(share).reduce(f64::max) {
                    excused.partly += count;
                    *certain.entry(&set.route).or_default() += most * count as f64;
                }
            }
            continue;
        };
        let excused = found.routes.entry(&set.route).or_default();
        if members.is_empty() || count == 0 {
            continue;
        }
        if members.iter().any(|group| group.state == NoiseState::Open) {
            excused.open += count;
            excused.never_asked += never;
            continue;
        }
        if has_known {
            excused.known += count - never;
        } else {
            excused.noise += count - never;
        }
        // What others show says nothing of them. They look like noise, so nothing is proven by them either.
        excused.open += never;
        excused.never_asked += never;
    }
    for (route, certain) in certain {
        let excused = found.routes.entry(route).or_default();
        // Less than there are: each share is one of its mismatches.
        let certain = (certain as u64).min(excused.partly);
        excused.open -= certain;
        excused.partly -= certain;
    }
    let mut moving = owned(&shares.into_keys().collect());
    let noise = found.groups.iter();
    moving.extend(noise.map(|one| (one.route.clone(), one.group.fingerprint.clone())));
    add_uncounted(found, evidence, known, &moving);
}

/// Adds mismatches that are in no set, because there were too many: of those, only so many are known to have a group that
/// may not be excused as the most frequent such group has beyond its sets, or as were confirmed beyond what is confirmed of groups that
/// may be. `known` and `moving` have the
/// groups that may be: those that are entered as known, and those that are noise or may be.
fn add_uncounted<'a>(
    found: &mut Found<'a>,
    evidence: &'a Evidence,
    known: &Names<'_>,
    moving: &HashSet<(String, String)>,
) {
    let moves: Names<'_> = moving
        .iter()
        .map(|(route, name)| (route.as_str(), name.as_str()))
        .collect();
    let noise: Names<'_> = known.iter().chain(&moves).copied().collect();
    let with_noise: HashSet<&str> = noise.iter().map(|(route, _)| *route).collect();
    let with_known: HashSet<&str> = known.iter().map(|(route, _)| *route).collect();
    let mut in_sets: HashMap<&str, u64> = HashMap::new();
    let mut confirmed_in_sets: HashMap<&str, u64> = HashMap::new();
    let mut of_group: HashMap<(&str, &str), u64> = HashMap::new();
    for set in &evidence.sets {
        let count = set.classes.values().sum::<u64>();
        *in_sets.entry(&set.route).or_default() += count;
        *confirmed_in_sets.entry(&set.route).or_default() +=
            of_class(&set.classes, MismatchClass::Confirmed);
        for name in &set.fingerprints {
            *of_group.entry((&set.route, name)).or_default() += count;
        }
    }
    let mut certain: HashMap<&str, u64> = HashMap::new();
    // Confirmed, but no fault: by chance, or because it is known.
    let mut no_fault: HashMap<&str, u64> = HashMap::new();
    for group in &evidence.groups {
        let name = (group.route.as_str(), group.group.fingerprint.as_str());
        let confirmed = of_class(&group.classes, MismatchClass::Confirmed);
        let counted = of_group.get(&name).copied().unwrap_or(0)
            + of_class(&group.classes, MismatchClass::Transient);
        let beyond = group.count.saturating_sub(counted);
        // What is beyond the number of groups that are kept may be known as well.
        let may_be_known = known.contains(&name) || name.1 == OTHER && with_known.contains(name.0);
        if moves.contains(&name) {
            *no_fault.entry(name.0).or_default() += confirmed;
        } else if may_be_known {
            *no_fault.entry(name.0).or_default() += confirmed.min(beyond);
        } else {
            let most = certain.entry(name.0).or_default();
            *most = (*most).max(beyond);
        }
    }
    let with_noise: Vec<&RouteEvidence> = evidence
        .routes
        .iter()
        .filter(|route| with_noise.contains(route.route.as_str()))
        .collect();
    for route in with_noise {
        let name = route.route.as_str();
        let transient = of_class(&route.counts.classes, MismatchClass::Transient);
        let of = |counts: &HashMap<&str, u64>| counts.get(name).copied().unwrap_or(0);
        // A recheck confirmed them. Of a group that moves that may be chance, and of one that is known it says nothing against
        // the candidate: only what is more than all of these is of other groups for certain.
        let confirmed = of_class(&route.counts.classes, MismatchClass::Confirmed)
            .saturating_sub(of(&confirmed_in_sets) + of(&no_fault));
        let known = transient + of(&in_sets) + of(&certain).max(confirmed);
        let open = route.counts.mismatch.saturating_sub(known);
        if open > 0 {
            let excused = found.routes.entry(name).or_default();
            excused.open += open;
            if with_known.contains(name) {
                excused.untold += open;
            }
        }
    }
}

/// Groups that are noise or may be, and those of which a part is wrong.
fn groups(evidence: &Evidence) -> (Vec<NoiseGroup>, Shares<'_>) {
    let counts: HashMap<&str, &Counts> = evidence
        .routes
        .iter()
        .map(|route| (route.route.as_str(), &route.counts))
        .collect();
    let places: HashMap<Place<'_>, &GroupEvidence> = evidence
        .groups
        .iter()
        .filter_map(|group| Some((Place::of(&group.route, &group.group)?, group)))
        .collect();
    // Of all routes: a gate fails by any of them.
    let groups = places.len() as u64;
    let mut families: HashMap<Place<'_>, GroupSums> = HashMap::new();
    for (place, group) in &places {
        let family = families.entry(place.family());
        let family = family.or_insert_with(|| GroupSums::none(place.shape));
        family.add(&GroupSums::of_group(group, place.shape));
    }
    let all = places.iter().filter_map(|(place, group)| {
        let compared = counts.get(group.route.as_str())?.compared();
        let mirrored = place.mirrored();
        // A group that is its own mirror has none.
        let is_two = mirrored != *place;
        let of_mirrored = places.get(&mirrored).copied().filter(|_| is_two);
        let family = families.get(&place.family())?;
        let family_mirrored = families.get(&mirrored.family()).filter(|_| is_two);
        // One that has no other member says nothing more.
        let family = (family.count > group.count).then(|| NoiseFamily {
            sums: family.clone().into_noise(),
            mirror: family_mirrored.map(|family| family.clone().into_noise()),
        });
        let mirror =
            of_mirrored.map(|other| GroupSums::of_group(other, mirrored.shape).into_noise());
        let of = OfRoute { compared, groups };
        Some((*group, unjudged(group, mirror, family, of)))
    });
    let mut noise = Vec::new();
    let mut shares = Shares::new();
    for (group, unjudged) in all {
        let share = partly::share(&unjudged);
        match (judged(unjudged), share) {
            (Some(judged), _) => noise.push(judged),
            (None, Some(share)) => {
                let name = (group.route.as_str(), group.group.fingerprint.as_str());
                shares.insert(name, share);
            }
            (None, None) => {}
        }
    }
    in_order(&mut noise);
    (noise, shares)
}

/// First those that are proven, the most frequent first.
fn in_order(groups: &mut [NoiseGroup]) {
    groups.sort_by(|one, two| {
        let order = (one.state as u8).cmp(&(two.state as u8));
        order
            .then(two.count.cmp(&one.count))
            .then_with(|| one.route.cmp(&two.route))
            .then_with(|| one.group.fingerprint.cmp(&two.group.fingerprint))
    });
}

/// The groups of a decision, judged again by the sums that they name; those that are no noise are left out. `compared` has
/// the compared requests of a route.
pub fn judged_again<'a>(
    groups: impl Iterator<Item = &'a NoiseGroup>,
    compared: impl Fn(&str) -> u64,
) -> Vec<NoiseGroup> {
    let judged = groups.filter_map(|group| {
        let mut group = group.clone();
        group.compared = compared(&group.route);
        group.example_id = None;
        judged(group)
    });
    let mut judged: Vec<NoiseGroup> = judged.collect();
    in_order(&mut judged);
    judged
}

/// The sums of one group, before they are judged.
fn unjudged(
    group: &GroupEvidence,
    mirror: Option<NoiseSums>,
    family: Option<NoiseFamily>,
    OfRoute { compared, groups }: OfRoute,
) -> NoiseGroup {
    NoiseGroup {
        route: group.route.clone(),
        group: group.group.clone(),
        state: NoiseState::Open,
        count: group.count,
        mirror,
        family,
        compared,
        groups,
        classes: group.classes.clone(),
        evidence: group.evidence.clone(),
        rechecks: 0,
        hidden: 0.0,
        against: Vec::new(),
        example_id: None,
    }
}

/// The group with what its sums show; `None` if it is no noise.
fn judged(mut noise: NoiseGroup) -> Option<NoiseGroup> {
    let (state, proof) = state(&noise)?;
    noise.state = state;
    noise.rechecks = proof.rechecks;
    noise.hidden = proof.hidden;
    noise.against = proof.against.iter().map(ToString::to_string).collect();
    Some(noise)
}

/// What follows from the sums of a group; `None` if it is no noise, or its shape is not known.
pub fn state(group: &NoiseGroup) -> Option<(NoiseState, Proof)> {
    let shape: Shape = group.group.shape.parse().ok()?;
    let (alone, mirror) = GroupSums::of_noise(group, shape);
    let mut proof = prove(&alone, mirror.as_ref(), group);
    let mut moves = moved(&alone, mirror.as_ref()) || proof.likewise.moves();
    if let Some(family) = group.family.as_ref().filter(|_| !proof.is_proven()) {
        let (sums, of_mirror) = GroupSums::of_family(family, shape);
        let of_all = prove(&sums, of_mirror.as_ref(), group);
        proof.likewise = proof.likewise.within(of_all.likewise);
        moves |= proof.likewise.moves();
        if of_all.is_proven() && proof.is_open() {
            // It is part of what may hide in all of them.
            proof.hidden = proof.hidden.min(of_all.hidden);
            proof.against = of_all.against;
            // Nobody asked about it yet. What may hide in it counts as what no recheck speaks for, so the others vouch for it
            // until one of its own rechecks says otherwise.
            let is_unasked = both(&alone, mirror.as_ref()).rechecks() == 0;
            moves |= is_unasked && moved(&sums, of_mirror.as_ref());
        }
    }
    if !moves {
        return None;
    }
    if proof.is_proven() {
        Some((NoiseState::Proven, proof))
    } else {
        proof.is_open().then_some((NoiseState::Open, proof))
    }
}

/// Whether the legacy was seen to move there.
fn moved(sums: &GroupSums, mirror: Option<&GroupSums>) -> bool {
    [Some(sums), mirror].into_iter().flatten().any(|sums| {
        sums.of_class(MismatchClass::Noise) > 0
            || sums.of_class(MismatchClass::Transient) > 0
            || sums.of(RecheckEvidence::LegacyAlone) > 0
    })
}

#[cfg(test)]
mod tests;
