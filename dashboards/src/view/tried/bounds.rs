//! What was counted, without the mismatches that become matches: the fewest and the most that may still differ.

use std::collections::{BTreeMap, BTreeSet};

use parity_schemas::evidence::carried::RouteCounted;
use parity_schemas::evidence::{Evidence, GroupEvidence, SetEvidence};
use parity_schemas::recheck::ClassCounts;
use parity_schemas::record::{Mismatch, MismatchClass};
use parity_schemas::trial::{Fate, GroupTrial};
use uuid::Uuid;

/// What is known of the groups.
pub(super) struct Known<'a> {
    pub(super) groups: &'a [GroupTrial],
    pub(super) seen: &'a Seen,
    /// The rules are those by which it was counted.
    pub(super) is_unchanged: bool,
}

/// What the stored answers say of single mismatches.
#[derive(Default)]
pub(super) struct Seen(BTreeMap<Uuid, SeenMismatch>);

struct SeenMismatch {
    route: String,
    class: MismatchClass,
    /// All its groups, and those in which it is known to differ, or to be equal now.
    groups: BTreeSet<String>,
    differing: BTreeSet<String>,
    equal: BTreeSet<String>,
}

impl Seen {
    /// Adds what becomes of a mismatch in one of its groups.
    pub(super) fn add(&mut self, example: &Mismatch, fingerprint: &str, is_equal: bool) {
        let one = self.0.entry(example.id).or_insert_with(|| SeenMismatch {
            route: example.route.clone(),
            class: example.class,
            groups: example.fingerprints.iter().cloned().collect(),
            differing: BTreeSet::new(),
            equal: BTreeSet::new(),
        });
        let of = if is_equal {
            &mut one.equal
        } else {
            &mut one.differing
        };
        of.insert(fingerprint.to_owned());
    }

    fn on<'a>(&'a self, route: &'a str) -> impl Iterator<Item = &'a SeenMismatch> {
        self.0.values().filter(move |one| one.route == route)
    }
}

fn does_not_count(class: MismatchClass) -> bool {
    matches!(class, MismatchClass::Noise | MismatchClass::Transient)
}

/// What is counted under the tried rules, before anything of it is taken away. What was counted lately is not counted again by
/// other rules, so it says nothing there.
fn under(evidence: &Evidence, known: &Known<'_>) -> Evidence {
    let mut evidence = evidence.clone();
    if !known.is_unchanged {
        evidence.recent.clear();
    }
    evidence
}

/// The most that may differ: only groups that are equal as a whole are excused, and mismatches that were seen to be equal.
pub(super) fn if_different(evidence: &Evidence, known: &Known<'_>) -> Evidence {
    let mut evidence = under(evidence, known);
    let excused = known
        .groups
        .iter()
        .filter(|group| group.fate == Fate::Excused);
    let excused: BTreeSet<String> = excused.map(|group| group.fingerprint.clone()).collect();
    by_route(&mut evidence, |counted| {
        counted.excuse(&excused);
        for one in known.seen.on(&counted.route.clone()) {
            let left: Vec<String> = one.groups.difference(&excused).cloned().collect();
            if left.iter().all(|name| one.equal.contains(name)) {
                take_away(counted, one, &left);
            }
        }
    });
    evidence
}

/// The fewest that may differ: groups that no rule reaches, and the examples that were seen to differ. With them, how many
/// mismatches there are of which it is not recorded what differs.
pub(super) fn if_equal(evidence: &Evidence, known: &Known<'_>) -> (Evidence, u64) {
    let mut evidence = under(evidence, known);
    let surely = |group: &&GroupTrial| group.is_certain && group.fate == Fate::Stays;
    let names = |group: &GroupTrial| group.fingerprint.clone();
    let stay: BTreeSet<String> = known.groups.iter().filter(surely).map(names).collect();
    let others = known.groups.iter().filter(|group| !surely(group));
    let excused: BTreeSet<String> = others.map(names).collect();
    let mut not_listed = 0;
    by_route(&mut evidence, |counted| {
        if !known.is_unchanged {
            not_listed += without_unlisted(counted);
        }
        let groups = counted.groups.clone();
        counted.excuse(&excused);
        for one in known.seen.on(&counted.route.clone()) {
            if !one.differing.is_empty() && one.groups.is_disjoint(&stay) {
                put_back(counted, one, &groups);
            }
        }
    });
    (evidence, not_listed)
}

/// Counts as matches the mismatches that are in no set, and so may have any group. Returns how many would count.
fn without_unlisted(counted: &mut RouteCounted) -> u64 {
    let mut listed = ClassCounts::new();
    for (class, count) in counted.sets.iter().flat_map(|set| &set.classes) {
        *listed.entry(*class).or_default() += count;
    }
    let mut unlisted = 0;
    for (class, count) in &mut counted.counts.classes {
        let of_it = listed.get(class).copied().unwrap_or(0);
        if !does_not_count(*class) && *count > of_it {
            unlisted += *count - of_it;
            *count = of_it;
        }
    }
    counted.counts.classes.retain(|_, count| *count > 0);
    counted.counts.mismatch = counted.counts.mismatch.saturating_sub(unlisted);
    counted.counts.matched += unlisted;
    unlisted
}

/// Counts a mismatch with just these groups as a match.
fn take_away(counted: &mut RouteCounted, one: &SeenMismatch, left: &[String]) {
    let Some(set) = counted.sets.iter_mut().find(|set| set.fingerprints == left) else {
        return;
    };
    // It may have been forgotten with a graver group that is excused.
    let classes = [one.class, MismatchClass::Unconfirmed];
    let has = |class: &MismatchClass| set.classes.get(class).is_some_and(|count| *count > 0);
    let Some(class) = classes.into_iter().find(has) else {
        return;
    };
    if does_not_count(class) || counted.counts.mismatch == 0 {
        return;
    }
    one_less(&mut set.classes, class);
    one_less(&mut counted.counts.classes, class);
    counted.counts.mismatch -= 1;
    counted.counts.matched += 1;
    for group in &mut counted.groups {
        let own = [class, MismatchClass::Unconfirmed];
        let own = own
            .into_iter()
            .find(|class| group.classes.contains_key(class));
        if left.contains(&group.group.fingerprint)
            && let Some(class) = own
        {
            group.count = group.count.saturating_sub(1);
            one_less(&mut group.classes, class);
        }
    }
    counted.sets.retain(|set| !set.classes.is_empty());
    counted.groups.retain(|group| group.count > 0);
}

fn one_less(classes: &mut ClassCounts, class: MismatchClass) {
    if let Some(count) = classes.get_mut(&class) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            classes.remove(&class);
        }
    }
}

/// Counts a mismatch as one again.
fn put_back(counted: &mut RouteCounted, one: &SeenMismatch, groups: &[GroupEvidence]) {
    if does_not_count(one.class) || counted.counts.matched == 0 {
        return;
    }
    // The class of an exchange is that of its gravest group, which may be the one that is gone.
    let class = if one.differing == one.groups {
        one.class
    } else {
        MismatchClass::Unconfirmed
    };
    counted.counts.matched -= 1;
    counted.counts.mismatch += 1;
    *counted.counts.classes.entry(class).or_default() += 1;
    let fingerprints: Vec<String> = one.differing.iter().cloned().collect();
    let same = |set: &&mut SetEvidence| set.fingerprints == fingerprints;
    match counted.sets.iter_mut().find(same) {
        Some(set) => *set.classes.entry(class).or_default() += 1,
        None => counted.sets.push(SetEvidence {
            route: counted.route.clone(),
            fingerprints: fingerprints.clone(),
            classes: [(class, 1)].into(),
            never_asked: 0,
        }),
    }
    for name in &fingerprints {
        let is_it = |group: &&GroupEvidence| group.group.fingerprint == *name;
        let is_it_too = |group: &&mut GroupEvidence| group.group.fingerprint == *name;
        if let Some(group) = counted.groups.iter_mut().find(is_it_too) {
            group.count += 1;
            *group.classes.entry(class).or_default() += 1;
        } else if let Some(group) = groups.iter().find(is_it) {
            let mut group = group.clone();
            group.count = 1;
            group.classes = [(class, 1)].into();
            counted.groups.push(group);
        }
    }
}

/// Changes what was counted of each route.
fn by_route(evidence: &mut Evidence, mut change: impl FnMut(&mut RouteCounted)) {
    let mut by_route: BTreeMap<String, RouteCounted> = BTreeMap::new();
    for group in std::mem::take(&mut evidence.groups) {
        let of = by_route.entry(group.route.clone()).or_default();
        of.groups.push(group);
    }
    for set in std::mem::take(&mut evidence.sets) {
        let of = by_route.entry(set.route.clone()).or_default();
        of.sets.push(set);
    }
    for route in &mut evidence.routes {
        let mut of = by_route.remove(&route.route).unwrap_or_default();
        of.route.clone_from(&route.route);
        of.counts = route.counts.clone();
        change(&mut of);
        route.counts = of.counts;
        evidence.groups.extend(of.groups);
        evidence.sets.extend(of.sets);
    }
    evidence.groups.sort_unstable_by(GroupEvidence::order);
    evidence.sets.sort_unstable();
}

#[cfg(test)]
mod tests;
