//! What the counts of each route and of all together prove, one by one.
//!
//! A fail takes only one of them, so they share the chance of a wrong one ([`shares`]). Routes on which nothing was compared
//! cannot fail, and those that are not served may not, so neither takes a share.
//!
//! After a change of rules some routes keep their counts, and those that it touches start anew. All together would then
//! rather show the routes that it left alone. So each route that starts anew must be proven on its own, and is open as long as
//! nothing has come since. If no route keeps comparisons, all together are what came since, and show no other routes: then each
//! one that was compared before is required only as long as nothing of it is compared, because no count shows that it is missing.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};

use parity_schemas::evidence::carried::CarriedRules;
use parity_schemas::evidence::{Outcome, OwnCounts, RouteDecision, RouteEvidence, Thresholds};
use parity_schemas::noise::Excused;
use parity_schemas::served::is_unserved;
use parity_schemas::tally::Counts;
use parity_schemas::verdict::Reason;

use super::carried;
use super::fields::{FieldsWanting, fields_wanting};
use super::operations;
use super::shares::{self, wrong};
use crate::bounds::{self, Seen};
use crate::noise::excused::Found;
use crate::noise::one_sided;

/// A route, what was counted of it, and what that proves.
pub(super) struct Judged<'a> {
    pub(super) decision: RouteDecision,
    /// `None` if it was required but never received.
    pub(super) counts: Option<Cow<'a, Counts>>,
    /// It is an operation of an API description.
    pub(super) is_operation: bool,
    /// Nothing of it was received since its count began anew, for this reason.
    pub(super) anew: Option<&'a str>,
}

/// All routes together, and each one, the worst first; and the chance of a wrong fail that each test has.
pub(super) fn judge_all<'a>(
    (seen, carried): (&'a [RouteEvidence], &'a [CarriedRules]),
    all: &Counts,
    noise: &Found<'_>,
    thresholds: &'a Thresholds,
) -> (RouteDecision, Vec<Judged<'a>>, f64) {
    let candidates = Candidate::all((seen, carried), noise, thresholds);
    let tested = candidates
        .iter()
        .filter(|route| !route.unserved && route.compared() > 0);
    let tested: HashSet<&str> = tested.map(|route| route.name).collect();
    let routes = tested.len() + shares::started_anew(carried, &tested);
    let unserved = candidates
        .iter()
        .filter(|route| route.unserved && route.compared() > 0);
    let tested = shares::Tested {
        routes,
        in_all: routes + unserved.count(),
        required: candidates
            .iter()
            .filter(|route| route.demand != Demand::Nothing)
            .count(),
    };
    let alpha = shares::of_each(thresholds, tested);
    let mut total = judge("", all, of_all(seen, noise), thresholds, alpha);
    total.traffic = if all.received > 0 { 1.0 } else { 0.0 };
    // The minimum number of requests applies to the total.
    let short = thresholds.min_requests.saturating_sub(total.compared);
    if short > 0 {
        total.outcome = Outcome::Undecided;
        total.needed = total.needed.max(short);
    }
    let mut routes: Vec<Judged<'a>> = candidates
        .into_iter()
        .map(|route| route.judged(all, thresholds, alpha))
        .collect();
    routes.sort_by(|one, two| worst_first(&one.decision, &two.decision));
    (total, routes, alpha)
}

/// A route that is to be judged.
struct Candidate<'a> {
    name: &'a str,
    counts: Option<Cow<'a, Counts>>,
    excused: Excused,
    /// Of the route of this name alone.
    own: Option<OwnCounts>,
    demand: Demand,
    unserved: bool,
    is_operation: bool,
    anew: Option<&'a str>,
}

/// What a pass needs of a route.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demand {
    Nothing,
    /// That something of it is compared.
    Comparison,
    /// That it is proven on its own.
    Proof,
}

impl<'a> Candidate<'a> {
    fn all(
        (seen, carried): (&'a [RouteEvidence], &'a [CarriedRules]),
        noise: &Found<'_>,
        thresholds: &'a Thresholds,
    ) -> Vec<Self> {
        let anew = began_anew(carried);
        let must_be_proven = carried::has_comparisons(carried);
        // Not all of them are named.
        let any_anew = carried
            .iter()
            .any(|rules| rules.routes_anew > rules.anew.len() as u64);
        let required: HashSet<&str> = thresholds
            .required_routes
            .iter()
            .map(String::as_str)
            .collect();
        let operations: HashSet<&str> = thresholds.operations.iter().map(String::as_str).collect();
        let mut covered = operations::cover(&thresholds.operations, seen, noise);
        let mut all: Vec<Self> = seen
            .iter()
            .map(|route| {
                let name = route.route.as_str();
                let is_operation = operations.contains(name);
                let named = required.contains(name) || is_operation;
                let unserved = !named && is_unserved(&route.counts);
                let is_anew = anew.contains_key(name);
                let is_missed = is_anew && route.counts.compared() == 0;
                let by_all = thresholds.require_all_routes || (any_anew && must_be_proven);
                let by_all = by_all && !unserved;
                // Other routes may belong to the same operation.
                let (counts, excused) = covered.remove(name).map_or_else(
                    || (Cow::Borrowed(&route.counts), noise.of(name)),
                    |(counts, excused)| (Cow::Owned(counts), excused),
                );
                Self {
                    name,
                    counts: Some(counts),
                    excused,
                    own: Some(OwnCounts {
                        counts: route.counts.clone(),
                        excused: noise.of(name),
                    }),
                    demand: if named || by_all || (is_anew && must_be_proven) {
                        Demand::Proof
                    } else if is_missed {
                        Demand::Comparison
                    } else {
                        Demand::Nothing
                    },
                    unserved,
                    is_operation,
                    anew: None,
                }
            })
            .collect();
        let known: HashSet<&str> = all.iter().map(|route| route.name).collect();
        let gone: BTreeMap<&str, &str> = anew
            .into_iter()
            .filter(|(name, _)| !known.contains(name))
            .collect();
        let gone_of = operations::closest(&thresholds.operations, gone.keys().copied());
        let mut told = HashSet::new();
        let named = thresholds
            .required_routes
            .iter()
            .chain(&thresholds.operations);
        let missing: Vec<&str> = named
            .map(String::as_str)
            .chain(gone.keys().copied())
            .filter(|name| !known.contains(name) && told.insert(*name))
            .collect();
        all.extend(missing.into_iter().map(|name| {
            let named = thresholds.required_routes.iter().any(|one| one == name);
            let by_all = thresholds.require_all_routes || operations.contains(name);
            let covered = covered.remove(name);
            let excused = covered.as_ref().map(|(_, excused)| *excused);
            Self {
                name,
                counts: covered.map(|(counts, _)| Cow::Owned(counts)),
                excused: excused.unwrap_or_default(),
                own: None,
                demand: if named || by_all || must_be_proven {
                    Demand::Proof
                } else {
                    Demand::Comparison
                },
                unserved: false,
                is_operation: operations.contains(name),
                anew: gone
                    .get(name)
                    .or_else(|| gone.get(gone_of.get(name)?))
                    .copied(),
            }
        }));
        all
    }

    fn compared(&self) -> u64 {
        self.counts.as_ref().map_or(0, |counts| counts.compared())
    }

    fn judged(self, all: &Counts, thresholds: &Thresholds, alpha: f64) -> Judged<'a> {
        let none = Counts::default();
        let counts = self.counts.as_deref().unwrap_or(&none);
        let mut decision = judge(self.name, counts, self.excused, thresholds, alpha);
        decision.traffic = counts.received as f64 / all.received.max(1) as f64;
        decision.required = self.demand != Demand::Nothing;
        decision.unserved = self.unserved;
        decision.counts = self.own;
        if self.demand == Demand::Comparison {
            decision.needed = decision.needed.min(1);
        }
        if self.unserved && decision.outcome == Outcome::Fail {
            decision.outcome = Outcome::Undecided;
        }
        // Its bounds may hold, but for too few of its fields.
        let wanting = fields_wanting(counts, thresholds).filter(|_| !self.unserved);
        if wanting.is_some() && decision.outcome == Outcome::Pass {
            decision.outcome = Outcome::Undecided;
        }
        if wanting == Some(FieldsWanting::TooLittle) {
            decision.needed = 0;
        }
        Judged {
            decision,
            anew: self.anew.filter(|_| self.counts.is_none()),
            counts: self.counts,
            is_operation: self.is_operation,
        }
    }
}

/// Routes whose count began anew, and why; of several changes by the latest. A path that is not served is none, and neither is one
/// of which nothing was compared: that it is never asked for again says nothing.
fn began_anew(carried: &[CarriedRules]) -> BTreeMap<&str, &str> {
    let each = carried.iter().rev().flat_map(|rules| &rules.anew);
    each.filter(|anew| anew.is_missed())
        .map(|anew| (anew.route.as_str(), anew.why.as_str()))
        .collect()
}

/// What does not count of all routes together.
fn of_all(seen: &[RouteEvidence], noise: &Found<'_>) -> Excused {
    let (mut all, mut compared) = (Excused::default(), 0);
    for route in seen {
        let more = route.counts.compared();
        all = all.with(compared, noise.of(&route.route), more);
        compared += more;
    }
    all
}

/// Whether more may hide in what is taken for noise than is allowed.
pub fn hides_too_much(excused: Excused, thresholds: &Thresholds) -> bool {
    excused.total() > 0 && excused.hidden > thresholds.max_hidden
}

/// What would settle that more may hide in what is taken for noise than is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HiddenSettledBy {
    /// Rechecks of further mismatches.
    Rechecks,
    /// A limit other than 0: no number of rechecks can show that nothing hides.
    AnyLimit,
    /// A higher limit: only the legacy changes its answers, which may be a fault or the data.
    LimitOfOneSided,
    /// A higher limit: the data changes while it is looked at.
    LimitOfTransient,
}

/// What would settle it for a route of these counts, or for all together.
pub fn hidden_settled_by(
    route: &RouteDecision,
    counts: &Counts,
    thresholds: &Thresholds,
) -> HiddenSettledBy {
    let excused = route.excused;
    let share = excused.total() as f64 / route.compared.max(1) as f64;
    // Most of what may hide.
    let mostly = thresholds.max_hidden.max(excused.hidden) / 2.0;
    if thresholds.max_hidden == 0.0 {
        HiddenSettledBy::AnyLimit
    } else if one_sided::of_all(counts) * share > mostly {
        HiddenSettledBy::LimitOfOneSided
    } else if excused.transient > excused.noise {
        HiddenSettledBy::LimitOfTransient
    } else {
        HiddenSettledBy::Rechecks
    }
}

/// Why the candidate is asked about none of the requests, however many come; `None` if it is asked about some.
pub fn never_shadowed(counts: &Counts) -> Option<Reason> {
    let of = |reason| counts.not_compared.get(&reason).copied().unwrap_or(0);
    let (method, off) = (of(Reason::UnsafeMethod), of(Reason::ShadowingOff));
    let all: u64 = counts.not_compared.values().sum();
    (counts.compared() == 0 && all > 0 && method + off == all).then_some(if method >= off {
        Reason::UnsafeMethod
    } else {
        Reason::ShadowingOff
    })
}

/// What the counts of one route prove: that it passes with a chance to be wrong of 1 − confidence, that it fails with
/// `alpha`.
fn judge(
    route: &str,
    counts: &Counts,
    excused: Excused,
    thresholds: &Thresholds,
    alpha: f64,
) -> RouteDecision {
    let compared = counts.compared();
    let differing = counts.differing().saturating_sub(excused.total());
    let (allowed, bound) = (thresholds.max_mismatch_rate, thresholds.bound);
    let seen = Seen::new(differing, compared);
    // What may turn out to be noise proves no fail, and no pass either.
    let certain = Seen::new(differing.saturating_sub(excused.open), compared);
    let open = Seen::new(excused.open.min(compared), compared);
    let outcome = if bounds::is_beyond(bound, certain, allowed, alpha) {
        Outcome::Fail
    } else if bounds::is_within(bound, seen, allowed, wrong(thresholds)) {
        // What may hide is not known to differ, so it proves no fail.
        if hides_too_much(excused, thresholds) {
            Outcome::Undecided
        } else {
            Outcome::Pass
        }
    } else {
        Outcome::Undecided
    };
    let needed = match outcome {
        // More requests would not settle it where rechecks alone do, where as many more would look like noise again, or where
        // none of them is ever compared.
        Outcome::Undecided
            if (excused.open > 0
                && (bounds::is_within(bound, certain, allowed, wrong(thresholds))
                    || bounds::is_beyond(bound, open, allowed, alpha)))
                || never_shadowed(counts).is_some()
                || bounds::is_within(bound, seen, allowed, wrong(thresholds)) =>
        {
            0
        }
        Outcome::Undecided => bounds::needed(bound, seen, allowed, wrong(thresholds)).unwrap_or(0),
        Outcome::Pass | Outcome::Fail => 0,
    };
    RouteDecision {
        route: route.to_owned(),
        received: counts.received,
        traffic: 0.0,
        required: false,
        compared,
        differing,
        excused,
        uncomparable: counts.uncomparable(),
        unserved: false,
        // Known where all is known that was counted of it, see `spread`.
        distinct_targets: 0,
        most_frequent_share: None,
        rate: if compared == 0 {
            0.0
        } else {
            differing as f64 / compared as f64
        },
        lower: bounds::lower(bound, certain, alpha),
        alpha: Some(alpha),
        upper: bounds::upper(bound, seen, wrong(thresholds)),
        // Known where the groups are, see `legacy_errors`.
        legacy_errors: None,
        outcome,
        needed,
        counts: None,
    }
}

fn worst_first(one: &RouteDecision, two: &RouteDecision) -> Ordering {
    let failed = |route: &RouteDecision| route.outcome == Outcome::Fail;
    failed(two)
        .cmp(&failed(one))
        .then(two.lower.total_cmp(&one.lower))
        .then(two.rate.total_cmp(&one.rate))
        .then(two.compared.cmp(&one.compared))
        .then_with(|| one.route.cmp(&two.route))
}
