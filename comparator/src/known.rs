//! Which differences of some evidence are known, and whether they are as they were when somebody entered them.
//!
//! Nothing of this is counted: a register is read with the counts, so an entry holds for all that was recorded, and an entry
//! that ends holds for nothing from that moment on.
//!
//! - An entry that names fingerprints comes before one that names a place, and of these the first in the register holds. So
//!   a narrow entry, such as one that is mended, is not undone by a wide one.
//! - *Growing* is proven, not estimated: the lower bound of the rate now is above twice the rate of the entry. `rate` should
//!   itself be an upper bound of what was seen then ([`rate`]). So what only varies is not told to grow; all tests of a
//!   decision together are wrong with a chance of 1 − confidence at most. Tested is all of the time, and its last hours and days
//!   apart: what grew this morning is hidden in the traffic of a week.
//! - What excuses is only an entry that does not block, has not expired, and whose group is neither back nor growing. Which
//!   mismatches that excuses is decided by their sets of groups ([`crate::noise::excused`]).

mod news;
mod place;

use std::collections::{BTreeMap, HashMap, HashSet};

use parity_schemas::evidence::{
    Bound, Evidence, GroupEvidence, RECENT_SLICES, RouteEvidence, SetEvidence, Thresholds,
};
use parity_schemas::known::{KnownEntry, KnownGroup, KnownRoute, KnownSlice, KnownState, KnownUse};
use parity_schemas::record::MismatchClass;
use parity_schemas::route::{self, OTHER};
use parity_schemas::tally::Group;
use parity_schemas::time::Timestamp;

use crate::bounds::{self, Seen, part_of_any};
use crate::noise::sums::of_class;
use crate::redact::by_hand;

pub(crate) use news::news;
pub use news::news_beside;
pub use place::{PlaceError, is_everywhere, place_of};

/// A known difference grows when it is proven to be more than this many times as frequent as it was.
const GROWTH: f64 = 2.0;
/// How long before an entry or a rule ends that is told: long enough to decide anew, short enough to be read.
pub const SOON_MICROS: i64 = 7 * 24 * 60 * 60 * 1_000_000;

/// The rate that an entry should name for what was seen when it was entered: the highest that the counts do not exclude, at
/// however many looks, in two digits.
pub fn rate(mismatches: u64, compared: u64, thresholds: &Thresholds) -> f64 {
    let upper = bounds::upper(
        Bound::AnyTime,
        Seen::new(mismatches, compared),
        1.0 - thresholds.confidence,
    );
    let digits = 10_f64.powf(upper.max(1e-12).log10().floor() - 1.0);
    ((upper / digits).ceil() * digits).min(1.0)
}

/// Whether something that ends then ends soon.
pub fn ends_soon(expires: Option<Timestamp>, now: Timestamp) -> bool {
    expires
        .is_some_and(|expires| now < expires && expires <= now.saturating_add_micros(SOON_MICROS))
}

/// The entries that mean groups of the evidence, in the order of the register.
pub fn find(
    register: &[KnownEntry],
    evidence: &Evidence,
    thresholds: &Thresholds,
    now: Timestamp,
) -> Vec<KnownUse> {
    if register.is_empty() {
        return Vec::new();
    }
    let mut meant: BTreeMap<usize, Vec<KnownGroup>> = BTreeMap::new();
    let by_fingerprint = by_fingerprint(register);
    for group in &evidence.groups {
        // What is beyond the number of groups that are kept may be anything.
        if group.group.fingerprint == OTHER {
            continue;
        }
        let Some(entry) = entry_of(register, &by_fingerprint, &group.route, &group.group) else {
            continue;
        };
        meant.entry(entry).or_default().push(KnownGroup {
            route: group.route.clone(),
            group: group.group.clone(),
            state: KnownState::Known,
            count: group.count,
            last_seen: group.last_seen,
        });
    }
    let mut uses: Vec<KnownUse> = meant
        .into_iter()
        .map(|(index, groups)| KnownUse {
            entry: written(&register[index]),
            state: KnownState::Known,
            routes: routes(&groups, evidence, register[index].rate.is_some()),
            groups,
        })
        .collect();
    judge(&mut uses, thresholds, now);
    uses
}

/// Which entry names a fingerprint; of several the first.
fn by_fingerprint(register: &[KnownEntry]) -> HashMap<&str, usize> {
    let mut named = HashMap::new();
    for (index, entry) in register.iter().enumerate() {
        for fingerprint in &entry.fingerprints {
            named.entry(fingerprint.as_str()).or_insert(index);
        }
    }
    named
}

fn entry_of(
    register: &[KnownEntry],
    by_fingerprint: &HashMap<&str, usize>,
    route: &str,
    group: &Group,
) -> Option<usize> {
    let named = by_fingerprint.get(group.fingerprint.as_str()).copied();
    named.or_else(|| {
        let mut entries = register.iter();
        entries.position(|entry| entry.fingerprints.is_empty() && means(entry, route, group))
    })
}

/// Whether an entry without fingerprints means a group.
fn means(entry: &KnownEntry, route: &str, group: &Group) -> bool {
    entry
        .route
        .as_deref()
        .is_none_or(|own| route::means(own, route))
        && entry.part.is_none_or(|own| own == group.part)
        && entry.kind.is_none_or(|own| own == group.kind)
        && entry
            .explanation
            .is_none_or(|own| group.explanation == Some(own))
        && entry
            .path
            .as_deref()
            .is_none_or(|own| place::covers(own, &group.pattern))
}

/// The text of an entry as it may be passed on: a decision is kept for ever.
fn written(entry: &KnownEntry) -> KnownEntry {
    let mut entry = entry.clone();
    for text in [&mut entry.owner, &mut entry.reason] {
        *text = by_hand(text).into_owned();
    }
    for text in [&mut entry.ticket, &mut entry.path].into_iter().flatten() {
        *text = by_hand(text).into_owned();
    }
    entry
}

/// What was counted of some groups, by route; of the last slices of the time only where it may grow.
fn routes(groups: &[KnownGroup], evidence: &Evidence, may_grow: bool) -> Vec<KnownRoute> {
    let mut of_route: BTreeMap<&str, HashSet<&str>> = BTreeMap::new();
    for group in groups {
        of_route
            .entry(&group.route)
            .or_default()
            .insert(&group.group.fingerprint);
    }
    let recent = evidence.recent.iter().filter(|_| may_grow);
    let told = of_route.into_iter().map(|(route, names)| {
        let all = (
            &evidence.routes[..],
            &evidence.groups[..],
            &evidence.sets[..],
        );
        let (mismatches, compared) = counted(route, &names, all);
        let slices = recent.clone().map(|slice| {
            let all = (&slice.routes[..], &slice.groups[..], &slice.sets[..]);
            let (mismatches, compared) = counted(route, &names, all);
            KnownSlice {
                from: slice.from,
                number: slice.number,
                mismatches,
                compared,
            }
        });
        KnownRoute {
            route: route.to_owned(),
            mismatches,
            compared,
            recent: slices.collect(),
            grown: None,
        }
    });
    told.collect()
}

/// The mismatches of a route that have one of these groups, at least, and its compared requests. One mismatch may be in several
/// groups; the sets tell.
fn counted(
    route: &str,
    names: &HashSet<&str>,
    (routes, groups, sets): (&[RouteEvidence], &[GroupEvidence], &[SetEvidence]),
) -> (u64, u64) {
    let sets = sets.iter().filter(|set| set.route == route);
    let with_any = sets.filter(|set| {
        let mut members = set.fingerprints.iter();
        members.any(|name| names.contains(name.as_str()))
    });
    let in_sets: u64 = with_any
        .map(|set| {
            let all: u64 = set.classes.values().sum();
            all - of_class(&set.classes, MismatchClass::Transient)
        })
        .sum();
    let own = groups
        .iter()
        .filter(|group| group.route == route && names.contains(group.group.fingerprint.as_str()));
    let most = own
        .map(|group| {
            group
                .count
                .saturating_sub(of_class(&group.classes, MismatchClass::Transient))
        })
        .max();
    let counts = routes.iter().find(|one| one.route == route);
    (
        in_sets.max(most.unwrap_or(0)),
        counts.map_or(0, |one| one.counts.compared()),
    )
}

/// Whether a difference is proven to be more than twice as frequent as `rate` on a route, in all of the time or in one of its
/// last slices, with a chance of at most `alpha` to be wrong: a half for all of it, and a half for all slices that ever were.
/// Slices are cut by the clock. So of each length the tests are numbered, and share their part as they come
/// ([`part_of_any`]): they may be looked at as often as somebody likes.
fn look_for_growth(route: &mut KnownRoute, rate: f64, bound: Bound, alpha: f64) -> bool {
    let grows = |mismatches, compared, alpha| {
        let seen = Seen::new(mismatches, compared);
        bounds::is_beyond(bound, seen, GROWTH * rate, alpha)
    };
    let half = match bound {
        Bound::OneLook if route.recent.is_empty() => alpha,
        Bound::OneLook | Bound::AnyTime => alpha / 2.0,
    };
    let in_all = grows(route.mismatches, route.compared, half);
    let each = alpha / 2.0 / RECENT_SLICES as f64;
    let mut slices = route.recent.iter().filter(|slice| {
        let alpha = match bound {
            Bound::OneLook => each,
            Bound::AnyTime => each * part_of_any(slice.number),
        };
        grows(slice.mismatches, slice.compared, alpha)
    });
    route.grown = slices.next().filter(|_| !in_all).copied();
    in_all || route.grown.is_some()
}

/// Says of each group how it stands, by nothing but what the uses hold: so a decision can be made again from its document.
pub(crate) fn judge(uses: &mut [KnownUse], thresholds: &Thresholds, now: Timestamp) {
    let tested = uses.iter().filter(|one| one.entry.rate.is_some());
    let tests: usize = tested.map(|one| one.routes.len()).sum();
    let wrong = 1.0 - thresholds.confidence;
    let alpha = match thresholds.bound {
        Bound::OneLook => wrong / tests.max(1) as f64,
        Bound::AnyTime => wrong * part_of_any(tests as u64),
    };
    for one in uses {
        let mut growing = HashSet::new();
        for route in &mut one.routes {
            route.grown = None;
            let grows = |rate| look_for_growth(route, rate, thresholds.bound, alpha);
            if one.entry.rate.is_some_and(grows) {
                growing.insert(route.route.as_str());
            }
        }
        let entry = &one.entry;
        for group in &mut one.groups {
            group.state = match entry.mended {
                Some(mended) if group.last_seen >= mended => KnownState::Regressed,
                Some(_) => KnownState::Mended,
                None if entry.expires.is_some_and(|expires| expires <= now) => KnownState::Expired,
                None if growing.contains(group.route.as_str()) => KnownState::Growing,
                None => KnownState::Known,
            };
        }
        one.state = one
            .groups
            .iter()
            .map(|group| group.state)
            .max()
            .unwrap_or_default();
    }
}

/// The groups whose mismatches do not count, by route and fingerprint.
pub(crate) fn excused(uses: &[KnownUse]) -> HashSet<(&str, &str)> {
    let groups = uses.iter().flat_map(|one| {
        let groups = one.groups.iter().filter(|group| one.excuses(group));
        groups.map(|group| (group.route.as_str(), group.group.fingerprint.as_str()))
    });
    groups.collect()
}

#[cfg(test)]
mod tests;
