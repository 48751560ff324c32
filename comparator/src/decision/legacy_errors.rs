//! What differs because the legacy was ill: it answered with a server error (5xx), and the candidate did not.
//!
//! A candidate may not answer otherwise, so these count like all that differs: nobody knows here whether the legacy was ill for a minute, or
//! always answers so and the candidate forgives it. But somebody who reads of a fail looks for the fault in the candidate, so a
//! fail says how much of it is of this kind, and how the time is left out if the legacy was ill.

use std::collections::{HashMap, HashSet};

use parity_schemas::evidence::{
    Decision, Evidence, LegacyErrors, Outcome, RouteDecision, Thresholds,
};
use parity_schemas::known::KnownUse;
use parity_schemas::recheck::MismatchClass;
use parity_schemas::route::OTHER;
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Part;

use super::judged::Judged;
use super::operations::Parts;
use super::words::number;
use crate::noise::excused::Found;

/// They are told where at least one in so many of the requests that differ is one of them: less does not explain a fail.
const ONE_IN: u64 = 10;
/// The first status of a server error, and the first that is none.
const SERVER_ERRORS: std::ops::Range<u16> = 500..600;
/// Counts are of minutes, and a mismatch is counted up to this much later than it was received: when the candidate has answered and both were asked
/// again.
const COUNTED_WITHIN_MICROS: i64 = INTERVAL_MICROS;

/// How many of a route, and when the last of them was.
type Counted = (u64, Timestamp);

/// Writes it into the decision on all together, and on each route; of a `stored` decision what that says of it.
pub(super) fn fill(
    (evidence, stored): (Option<&Evidence>, Option<&Decision>),
    (noise, known): (&Found<'_>, &[KnownUse]),
    thresholds: &Thresholds,
    (total, routes): (&mut RouteDecision, &mut [Judged<'_>]),
) {
    if let Some(stored) = stored {
        take_over(stored, total, routes);
        return;
    }
    let Some(evidence) = evidence else {
        return;
    };
    let of_routes = by_route(evidence, noise, known);
    if of_routes.is_empty() {
        return;
    }
    let end = evidence.window.to;
    let all = of_routes.values().copied().reduce(with);
    total.legacy_errors = all.and_then(|all| told(all, total.differing, end));
    let parts = Parts::of(&thresholds.operations, &evidence.routes);
    for route in routes.iter_mut().map(|route| &mut route.decision) {
        let parts = parts.get(&route.route).iter();
        let found = parts.filter_map(|part| of_routes.get(part.route.as_str()).copied());
        let found = found.reduce(with);
        route.legacy_errors = found.and_then(|found| told(found, route.differing, end));
    }
}

/// Takes over what a decision says of them.
fn take_over(stored: &Decision, total: &mut RouteDecision, routes: &mut [Judged<'_>]) {
    let of_routes: HashMap<&str, Option<LegacyErrors>> = stored
        .routes
        .iter()
        .map(|route| (route.route.as_str(), route.legacy_errors))
        .collect();
    total.legacy_errors = stored.total.legacy_errors;
    for route in routes.iter_mut().map(|route| &mut route.decision) {
        route.legacy_errors = of_routes.get(route.route.as_str()).copied().flatten();
    }
}

fn with((one, last): Counted, (other, later): Counted) -> Counted {
    (one.saturating_add(other), last.max(later))
}

/// What groups say of statuses, by route. What is excused does not differ, and neither does what both services answer when asked again.
fn by_route<'a>(
    evidence: &'a Evidence,
    noise: &Found<'_>,
    known: &[KnownUse],
) -> HashMap<&'a str, Counted> {
    let noisy = noise.groups.iter();
    let noisy = noisy.map(|group| (group.route.as_str(), group.group.fingerprint.as_str()));
    let known = known
        .iter()
        .flat_map(|known| known.groups.iter().filter(|group| known.excuses(group)))
        .map(|group| (group.route.as_str(), group.group.fingerprint.as_str()));
    let excused: HashSet<(&str, &str)> = noisy.chain(known).collect();
    let mut found: HashMap<&str, Counted> = HashMap::new();
    for one in &evidence.groups {
        let group = &one.group;
        let is_one = group.fingerprint != OTHER
            && group.part == Part::Status
            && SERVER_ERRORS.contains(&group.legacy_status)
            && !SERVER_ERRORS.contains(&group.candidate_status)
            && !excused.contains(&(one.route.as_str(), group.fingerprint.as_str()));
        if !is_one {
            continue;
        }
        let of = |class| one.classes.get(&class).copied().unwrap_or(0);
        let alike = of(MismatchClass::Transient).saturating_add(of(MismatchClass::Noise));
        let counted = (one.count.saturating_sub(alike), one.last_seen);
        let sum = found.entry(&one.route).or_default();
        *sum = with(*sum, counted);
    }
    found
}

/// As it is told of so many that differ, in what was counted up to `end`; `None` if it is no good part of them.
fn told((count, last_seen): Counted, differing: u64, end: Timestamp) -> Option<LegacyErrors> {
    let count = count.min(differing);
    let is_good_part = count > 0 && count.saturating_mul(ONE_IN) >= differing;
    let counted = last_seen.as_micros().saturating_add(COUNTED_WITHIN_MICROS);
    let minutes = counted.div_euclid(INTERVAL_MICROS).saturating_add(1);
    let since = Timestamp::from_micros(minutes.saturating_mul(INTERVAL_MICROS));
    is_good_part.then_some(LegacyErrors {
        differing: count,
        last_seen,
        none_since: (since < end).then_some(since),
    })
}

/// What of a route that fails it is, behind how much differs; empty if nothing is told.
pub(super) fn of_route(route: &RouteDecision) -> String {
    let Some(errors) = route.legacy_errors else {
        return String::new();
    };
    format!(
        "; on {} of the {} that differ the legacy answered with a server error (5xx) and the candidate did not",
        number(errors.differing),
        number(route.differing)
    )
}

/// The same in a headline, of all.
pub(super) fn of_all(total: &RouteDecision) -> Option<String> {
    let errors = total.legacy_errors?;
    Some(format!(
        "on {} of {} that differ the legacy alone answered 5xx",
        number(errors.differing),
        number(total.differing)
    ))
}

/// What a reader of a fail can do if the legacy was ill.
pub(super) fn left_out<'a>(routes: impl Iterator<Item = &'a RouteDecision>) -> Option<String> {
    let failing = routes.filter(|route| route.outcome == Outcome::Fail);
    let all: Vec<LegacyErrors> = failing.filter_map(|route| route.legacy_errors).collect();
    let last = all.iter().map(|errors| errors.last_seen).max()?;
    let since: Option<Vec<Timestamp>> = all.iter().map(|errors| errors.none_since).collect();
    let since = since.and_then(|since| since.into_iter().max());
    let how = match since {
        Some(since) => format!("If it was ill, --since {since} leaves that time out"),
        None => "If it is ill, --since leaves that time out as soon as it is well again".to_owned(),
    };
    Some(format!(
        "where the legacy answered with a server error (5xx) and the candidate did not, the last time at {last}, that counts as differing: a candidate \
         must answer as the legacy does. {how}"
    ))
}
