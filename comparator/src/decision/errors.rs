//! How often the candidate fails where the legacy does not: a cap of its own, below that of differences.
//!
//! A failure already counts as a difference. But who allows 5 % to differ, because a text is another one, does not mean that
//! 5 % may fail. A failure of the candidate is an answer that did not come or could not be compared because of the candidate
//! alone (`candidate_*`), and a server error (5xx) where the legacy answered with another status. What the legacy fails at
//! is never the candidate's: an exchange in which it failed has no verdict or has its 5xx in the pair. Statuses are counted
//! by the groups of mismatches. Of mismatches that a recheck called transient or noise the legacy did the same, so they
//! prove no fail; and those that are in no group of their own may be failures, so they count against a pass.

use std::collections::{HashMap, HashSet};

use parity_schemas::evidence::{
    ErrorDecision, Evidence, GroupEvidence, Outcome, RouteEvidence, Thresholds,
};
use parity_schemas::recheck::MismatchClass;
use parity_schemas::route::OTHER;
use parity_schemas::tally::Counts;
use parity_schemas::verdict::Part;

use super::judged::Judged;
use super::operations::Parts;
use super::shares::wrong;
use super::words::{TOTAL, number, percents};
use crate::bounds::{self, Seen};
use crate::noise::excused::Found;

/// The first status of a server error, and the first that is none.
const SERVER_ERRORS: std::ops::Range<u16> = 500..600;

/// Failures of the candidate on one route, or on several.
#[derive(Clone, Copy, Debug, Default)]
struct Errors {
    /// At least so many.
    certain: u64,
    /// At most so many.
    possible: u64,
    compared: u64,
}

impl Errors {
    fn add(&mut self, counts: &Counts, of_groups: Option<&Self>) {
        let failed = counts.candidate_failures();
        let found = of_groups.copied().unwrap_or_default();
        self.certain += failed + found.certain.min(counts.mismatch);
        self.possible += failed + found.possible.min(counts.mismatch);
        self.compared += counts.compared();
    }
}

/// What is proven for all requests and for each required route. `alpha` is the chance of a wrong fail of each.
pub(super) fn judge(
    evidence: Option<&Evidence>,
    routes: &[Judged<'_>],
    noise: &Found<'_>,
    thresholds: &Thresholds,
    alpha: f64,
) -> Vec<ErrorDecision> {
    let Some(allowed) = thresholds.max_candidate_errors else {
        return Vec::new();
    };
    let (seen, groups) = evidence.map_or((&[][..], &[][..]), |evidence| {
        (&evidence.routes, &evidence.groups)
    });
    let of_groups = by_route(groups, noise);
    let parts = Parts::of(&thresholds.operations, seen);
    let sum = |routes: &mut dyn Iterator<Item = &RouteEvidence>| {
        let mut errors = Errors::default();
        for route in routes {
            errors.add(&route.counts, of_groups.get(route.route.as_str()));
        }
        errors
    };
    let all = sum(&mut seen.iter());
    let required = routes.iter().filter(|route| route.decision.required);
    let of_route = required.map(|route| {
        let name = route.decision.route.as_str();
        (name, sum(&mut parts.get(name).iter().copied()))
    });
    std::iter::once(("", all))
        .chain(of_route)
        .map(|(name, errors)| decided(name, errors, allowed, thresholds, alpha))
        .collect()
}

/// The same once more for a decision whose groups are not known: how many failures there are is taken from `stored`.
pub(super) fn again(
    stored: &[ErrorDecision],
    (all, routes): (&Counts, &[Judged<'_>]),
    thresholds: &Thresholds,
    alpha: f64,
) -> Vec<ErrorDecision> {
    let Some(allowed) = thresholds.max_candidate_errors else {
        return Vec::new();
    };
    let required = routes.iter().filter(|route| route.decision.required);
    let of_route = required.map(|route| (route.decision.route.as_str(), route.counts.as_deref()));
    std::iter::once(("", Some(all)))
        .chain(of_route)
        .map(|(name, counts)| {
            let told = stored.iter().find(|told| told.route == name);
            let counts = counts.cloned().unwrap_or_default();
            // A failure without an answer is always one, and what matched is none.
            let (least, most) = (counts.candidate_failures(), counts.differing());
            let at_most = told.map_or(0, |told| told.at_most).clamp(least, most);
            let errors = Errors {
                certain: told.map_or(0, |told| told.errors).clamp(least, at_most),
                possible: at_most,
                compared: counts.compared(),
            };
            decided(name, errors, allowed, thresholds, alpha)
        })
        .collect()
}

/// What groups say of statuses, by route.
fn by_route<'a>(groups: &'a [GroupEvidence], noise: &Found<'_>) -> HashMap<&'a str, Errors> {
    let noisy: HashSet<(&str, &str)> = noise
        .groups
        .iter()
        .map(|group| (group.route.as_str(), group.group.fingerprint.as_str()))
        .collect();
    let mut found: HashMap<&str, Errors> = HashMap::new();
    for group in groups {
        let errors = found.entry(&group.route).or_default();
        let pair = &group.group;
        if pair.fingerprint == OTHER {
            errors.possible += group.count;
        } else if pair.part == Part::Status
            && SERVER_ERRORS.contains(&pair.candidate_status)
            && !SERVER_ERRORS.contains(&pair.legacy_status)
        {
            let of = |class| group.classes.get(&class).copied().unwrap_or(0);
            let alike = of(MismatchClass::Transient) + of(MismatchClass::Noise);
            // By what is or may be noise the legacy fails, too.
            if !noisy.contains(&(group.route.as_str(), pair.fingerprint.as_str())) {
                errors.certain += group.count.saturating_sub(alike);
            }
            errors.possible += group.count;
        }
    }
    found
}

fn decided(
    name: &str,
    errors: Errors,
    allowed: f64,
    thresholds: &Thresholds,
    alpha: f64,
) -> ErrorDecision {
    let (bound, wrong) = (thresholds.bound, wrong(thresholds));
    let certain = Seen::new(errors.certain, errors.compared);
    let possible = Seen::new(errors.possible, errors.compared);
    let outcome = if bounds::is_beyond(bound, certain, allowed, alpha) {
        Outcome::Fail
    } else if bounds::is_within(bound, possible, allowed, wrong) {
        Outcome::Pass
    } else {
        Outcome::Undecided
    };
    let needed = match outcome {
        Outcome::Undecided => bounds::needed(bound, possible, allowed, wrong).unwrap_or(0),
        Outcome::Pass | Outcome::Fail => 0,
    };
    ErrorDecision {
        route: name.to_owned(),
        compared: errors.compared,
        errors: errors.certain,
        at_most: errors.possible,
        lower: bounds::lower(bound, certain, alpha),
        upper: bounds::upper(bound, possible, wrong),
        outcome,
        needed,
    }
}

/// Why it is a fail, one sentence for each route.
pub(super) fn failed(decisions: &[ErrorDecision], thresholds: &Thresholds) -> Vec<String> {
    let failed = decisions.iter().filter(|one| one.outcome == Outcome::Fail);
    failed
        .map(|one| {
            let (lower, allowed) = percents(one.lower, allowed(thresholds));
            format!(
                "{}: the candidate fails where the legacy does not on at least {lower} %, {allowed} % allowed",
                self::name(one)
            )
        })
        .collect()
}

/// Why it is open, one sentence for each route.
pub(super) fn open(decisions: &[ErrorDecision], thresholds: &Thresholds) -> Vec<String> {
    let open = decisions
        .iter()
        .filter(|one| one.outcome == Outcome::Undecided);
    open.map(|one| {
        let (upper, allowed) = percents(one.upper, allowed(thresholds));
        let settles = match one.needed {
            0 => "no number of requests can prove that".to_owned(),
            needed => format!(
                "{} more requests without one would settle it",
                number(needed)
            ),
        };
        format!(
            "{}: the candidate may fail where the legacy does not on up to {upper} %, {allowed} % allowed; {settles}",
            name(one)
        )
    })
    .collect()
}

fn allowed(thresholds: &Thresholds) -> f64 {
    thresholds.max_candidate_errors.unwrap_or(1.0)
}

fn name(decision: &ErrorDecision) -> &str {
    match decision.route.as_str() {
        "" => TOTAL,
        route => route,
    }
}
