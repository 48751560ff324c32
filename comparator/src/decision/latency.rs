//! Whether the candidate is fast enough: a quantile of its times against the same quantile of the legacy's.
//!
//! The times are those to the first byte, of requests with a verdict, in the buckets of the stored histograms. That a
//! quantile is below an edge says that few enough are slower than the edge; how many are is a binomial, to which
//! [`crate::bounds`] apply. The edges of the buckets are taken so that each bound is too wide rather than too narrow. Of all
//! edges at most one decides whether a bound is wrong, the one next to the true quantile, so a bound holds for all edges
//! together, and for any number of looks if those of [`Bound::AnyTime`] are taken.
//!
//! A request at which the candidate failed has no time, nor has one for which there was no room because of those under way.
//! They are part of what is counted: for a pass the candidate was slow at all of them, for a fail at none, and of the legacy it
//! is the reverse. Otherwise a candidate would look the faster the more of its slow answers ran into the deadline.
//!
//! What is proven needs a bound on each service, so each takes half of the chance to be wrong.

use parity_schemas::evidence::{
    Bound, Evidence, LatencyDecision, LatencyLimit, Outcome, RouteEvidence, Thresholds,
    TimesBetween,
};
use parity_schemas::histogram::{Histogram, lower_bound, upper_bound};

use super::judged::Judged;
use super::operations::Parts;
use super::shares::wrong;
use super::words::{TOTAL, micros, number};
use crate::bounds::{self, Seen};

/// Most times as many requests as there are that are tried to find how many would settle it.
const MOST_TIMES: u64 = 1 << 20;

/// Times to the first byte of one route, or of several.
#[derive(Clone, Debug, Default)]
struct Times {
    legacy: Histogram,
    candidate: Histogram,
    /// Requests without them, which the candidate may be the cause of.
    unknown: u64,
}

impl<'a> FromIterator<&'a RouteEvidence> for Times {
    fn from_iter<I: IntoIterator<Item = &'a RouteEvidence>>(routes: I) -> Self {
        let mut times = Self::default();
        for route in routes {
            times.legacy.merge(&route.legacy_head_latency);
            times.candidate.merge(&route.candidate_head_latency);
            times.unknown += route.counts.hidden_times();
        }
        times
    }
}

/// What is to be judged: the name of a route, empty for all, with its times.
struct Case<'a> {
    route: &'a str,
    times: Times,
}

/// What is proven of each limit, for all requests and for each route that was demanded. `alpha` is the chance of a wrong fail for
/// each of them.
pub(super) fn judge(
    evidence: Option<&Evidence>,
    routes: &[Judged<'_>],
    thresholds: &Thresholds,
    alpha: f64,
) -> Vec<LatencyDecision> {
    if thresholds.max_latency.is_empty() {
        return Vec::new();
    }
    let seen = evidence.map_or(&[][..], |evidence| &evidence.routes);
    let mut decisions = Vec::new();
    for case in cases(seen, routes, thresholds) {
        for limit in &thresholds.max_latency {
            decisions.push(decided(&case, limit, thresholds, alpha));
        }
    }
    decisions
}

/// The same once more for a decision whose times are not known: between which times each quantile is, is taken from
/// `stored`, and what follows from that is not.
pub(super) fn again(
    stored: &[LatencyDecision],
    (evidence, routes): (Option<&Evidence>, &[Judged<'_>]),
    thresholds: &Thresholds,
) -> Vec<LatencyDecision> {
    let seen = evidence.map_or(&[][..], |evidence| &evidence.routes);
    let mut decisions = Vec::new();
    for case in cases(seen, routes, thresholds) {
        for limit in &thresholds.max_latency {
            let told = stored
                .iter()
                .find(|told| told.route == case.route && told.limit == *limit);
            let mut told = told.cloned().unwrap_or_else(|| LatencyDecision {
                route: case.route.to_owned(),
                limit: *limit,
                requests: 0,
                without_time: 0,
                legacy: TimesBetween::default(),
                candidate: TimesBetween::default(),
                outcome: Outcome::Undecided,
                needed: 0,
            });
            told.without_time = case.times.unknown;
            told.outcome = shown(&told);
            if told.outcome != Outcome::Undecided {
                told.needed = 0;
            }
            decisions.push(told);
        }
    }
    decisions
}

/// What the times say that are shown. Those are what a pass rests on; a fail needs times that are proven with more
/// certainty, so these may exceed the limit and it is open all the same.
fn shown(told: &LatencyDecision) -> Outcome {
    let (legacy, candidate) = (told.legacy, told.candidate);
    let allowed = |legacy_us: u64| allowed(&told.limit, legacy_us);
    if let Some(slowest) = candidate.at_most_us
        && slowest as f64 <= allowed(legacy.at_least_us.unwrap_or(0))
    {
        return Outcome::Pass;
    }
    match (candidate.at_least_us, legacy.at_most_us) {
        (Some(fastest), Some(slowest))
            if fastest as f64 > allowed(slowest) && told.outcome == Outcome::Fail =>
        {
            Outcome::Fail
        }
        _ => Outcome::Undecided,
    }
}

/// How long the candidate may take, in microseconds, where the legacy takes so long.
fn allowed(limit: &LatencyLimit, legacy_us: u64) -> f64 {
    legacy_us as f64 * limit.factor + limit.plus_us as f64
}

fn cases<'a>(
    seen: &'a [RouteEvidence],
    routes: &'a [Judged<'_>],
    thresholds: &'a Thresholds,
) -> Vec<Case<'a>> {
    let parts = Parts::of(&thresholds.operations, seen);
    let all = Case {
        route: "",
        times: seen.iter().collect(),
    };
    // A route that is only required because its count began anew is as slow as it was: the rules say nothing of its times.
    let is_asked = |route: &str| {
        let demanded = thresholds
            .required_routes
            .iter()
            .chain(&thresholds.operations);
        thresholds.require_all_routes || demanded.into_iter().any(|name| *name == *route)
    };
    let required = routes
        .iter()
        .filter(|route| route.decision.required && is_asked(&route.decision.route));
    let mut names: Vec<&str> = required
        .map(|route| route.decision.route.as_str())
        .collect();
    names.sort_unstable();
    let of_route = names.into_iter().map(|route| Case {
        route,
        times: parts.get(route).iter().copied().collect(),
    });
    std::iter::once(all).chain(of_route).collect()
}

fn decided(
    case: &Case<'_>,
    limit: &LatencyLimit,
    thresholds: &Thresholds,
    alpha: f64,
) -> LatencyDecision {
    let bound = thresholds.bound;
    let levels = Levels {
        pass: wrong(thresholds) / 2.0,
        fail: alpha / 2.0,
    };
    let [legacy, candidate] = [&case.times.legacy, &case.times.candidate]
        .map(|times| Buckets::of(times, case.times.unknown));
    let outcome = settled(&legacy, &candidate, limit, bound, &levels);
    let needed = match outcome {
        Outcome::Undecided => needed(&legacy, &candidate, limit, bound, &levels),
        Outcome::Pass | Outcome::Fail => 0,
    };
    // What is shown is what a pass rests on.
    let between = |times: &Buckets| TimesBetween {
        at_least_us: times.at_least(limit.quantile, bound, levels.pass),
        at_most_us: times.at_most(limit.quantile, bound, levels.pass),
    };
    LatencyDecision {
        route: case.route.to_owned(),
        limit: *limit,
        requests: legacy.known.min(candidate.known),
        without_time: case.times.unknown,
        legacy: between(&legacy),
        candidate: between(&candidate),
        outcome,
        needed,
    }
}

/// The chances to be wrong of one bound.
struct Levels {
    pass: f64,
    fail: f64,
}

fn settled(
    legacy: &Buckets,
    candidate: &Buckets,
    limit: &LatencyLimit,
    bound: Bound,
    levels: &Levels,
) -> Outcome {
    let allowed = |legacy_us: u64| allowed(limit, legacy_us);
    let q = limit.quantile;
    let (slowest, legacy_fastest) = (
        candidate.at_most(q, bound, levels.pass),
        legacy.at_least(q, bound, levels.pass),
    );
    if slowest.is_some_and(|slowest| slowest as f64 <= allowed(legacy_fastest.unwrap_or(0))) {
        return Outcome::Pass;
    }
    let (fastest, legacy_slowest) = (
        candidate.at_least(q, bound, levels.fail),
        legacy.at_most(q, bound, levels.fail),
    );
    match (fastest, legacy_slowest) {
        (Some(fastest), Some(slowest)) if fastest as f64 > allowed(slowest) => Outcome::Fail,
        _ => Outcome::Undecided,
    }
}

/// How many more requests, if they are like those that were seen, would settle it; 0 if no number would.
fn needed(
    legacy: &Buckets,
    candidate: &Buckets,
    limit: &LatencyLimit,
    bound: Bound,
    levels: &Levels,
) -> u64 {
    let requests = legacy.known.min(candidate.known) + legacy.unknown;
    let is_open = |times: u64| {
        let (legacy, candidate) = (legacy.times(times), candidate.times(times));
        settled(&legacy, &candidate, limit, bound, levels) == Outcome::Undecided
    };
    let mut most = 1;
    while is_open(most) {
        if most >= MOST_TIMES || legacy.known == 0 || candidate.known == 0 {
            return 0;
        }
        most *= 2;
    }
    let mut least = most / 2;
    while most - least > 1 {
        let middle = u64::midpoint(least, most);
        if is_open(middle) {
            least = middle;
        } else {
            most = middle;
        }
    }
    requests.saturating_mul(most - 1)
}

/// A histogram by the edges of its buckets, the fastest first.
struct Buckets {
    /// Inclusive lower edge, exclusive upper edge, count.
    all: Vec<(u64, u64, u64)>,
    known: u64,
    /// Requests of which the time is not known: they may be faster or slower than all others.
    unknown: u64,
}

impl Buckets {
    fn of(histogram: &Histogram, unknown: u64) -> Self {
        let buckets = histogram.iter();
        let mut all: Vec<(u64, u64, u64)> = buckets
            .map(|(bucket, count)| (lower_bound(bucket), upper_bound(bucket), count))
            .collect();
        all.sort_unstable();
        let known = all.iter().map(|(.., count)| count).sum();
        Self {
            all,
            known,
            unknown,
        }
    }

    fn total(&self) -> u64 {
        self.known.saturating_add(self.unknown)
    }

    /// As often as they are.
    fn times(&self, times: u64) -> Self {
        let all = self.all.iter();
        Self {
            all: all
                .map(|(lower, upper, count)| (*lower, *upper, count.saturating_mul(times)))
                .collect(),
            known: self.known.saturating_mul(times),
            unknown: self.unknown.saturating_mul(times),
        }
    }

    /// The lowest edge that the quantile is proven to be below.
    fn at_most(&self, quantile: f64, bound: Bound, alpha: f64) -> Option<u64> {
        let mut edges: Vec<u64> = self.all.iter().map(|(_, upper, _)| *upper).collect();
        edges.sort_unstable();
        edges.dedup();
        // Beyond the last edge there is nothing to compare with.
        edges.retain(|edge| *edge < u64::MAX);
        let is_above = |edge: &u64| {
            // All that may be slower.
            let slower = self.count(|_, upper| upper > *edge) + self.unknown;
            !bounds::is_within(
                bound,
                Seen::new(slower, self.total()),
                1.0 - quantile,
                alpha,
            )
        };
        let place = edges.partition_point(is_above);
        edges.get(place).copied()
    }

    /// The highest edge that the quantile is proven not to be below.
    fn at_least(&self, quantile: f64, bound: Bound, alpha: f64) -> Option<u64> {
        let mut edges: Vec<u64> = self.all.iter().map(|(lower, ..)| *lower).collect();
        edges.dedup();
        let is_below = |edge: &u64| {
            // Only what is surely not faster.
            let slower = self.count(|lower, _| lower >= *edge);
            bounds::is_beyond(
                bound,
                Seen::new(slower, self.total()),
                1.0 - quantile,
                alpha,
            )
        };
        let place = edges.partition_point(is_below);
        edges.get(place.checked_sub(1)?).copied()
    }

    fn count(&self, wanted: impl Fn(u64, u64) -> bool) -> u64 {
        let counted = self
            .all
            .iter()
            .filter(|(lower, upper, _)| wanted(*lower, *upper));
        counted.map(|(.., count)| count).sum()
    }
}

/// Why it is a fail, one sentence for each limit that is proven to be exceeded.
pub(super) fn failed(decisions: &[LatencyDecision]) -> Vec<String> {
    let failed = decisions.iter().filter(|one| one.outcome == Outcome::Fail);
    failed
        .map(|one| {
            format!(
                "{}: the candidate's {} to the first byte is at least {}, the legacy's at most {}, {} allowed",
                name(one),
                one.limit.name(),
                micros(one.candidate.at_least_us),
                micros(one.legacy.at_most_us),
                one.limit.allowed()
            )
        })
        .collect()
}

/// What is proven of each limit that is kept.
pub(super) fn kept(decisions: &[LatencyDecision]) -> Vec<String> {
    let kept = decisions.iter().filter(|one| one.outcome == Outcome::Pass);
    kept.map(|one| {
        format!(
            "{}: the candidate's {} to the first byte is {}, the legacy's {}, {} allowed",
            name(one),
            one.limit.name(),
            between(one.candidate),
            between(one.legacy),
            one.limit.allowed()
        )
    })
    .collect()
}

/// Why it is open, one sentence for each limit of which nothing is proven.
pub(super) fn open(decisions: &[LatencyDecision]) -> Vec<String> {
    let open = decisions
        .iter()
        .filter(|one| one.outcome == Outcome::Undecided);
    open.map(|one| {
        let (name, quantile, allowed) = (name(one), one.limit.name(), one.limit.allowed());
        if one.requests == 0 {
            return format!("{name}: no times to the first byte are recorded; {quantile} is to be at most {allowed}");
        }
        let settles = match one.needed {
            0 if one.limit.factor <= 1.0 && one.limit.plus_us == 0 => format!(
                "no number of requests would settle it unless the candidate is clearly faster, because {allowed} leaves no room \
                 for two that are equally fast: allow some, such as {quantile}=1.1x or {quantile}=1x+1ms"
            ),
            0 => "no number of requests like these would settle it".to_owned(),
            needed => format!("{} more requests like these would settle it", number(needed)),
        };
        let unknown = match one.without_time {
            0 => String::new(),
            unknown => format!(
                "; {} of {} have no time because the candidate failed or had too much under way, and count as slow",
                number(unknown),
                number(one.requests.saturating_add(unknown))
            ),
        };
        format!(
            "{name}: the candidate's {quantile} to the first byte is {}, the legacy's {}, {allowed} allowed{unknown}; {settles}",
            between(one.candidate),
            between(one.legacy)
        )
    })
    .collect()
}

fn name(decision: &LatencyDecision) -> &str {
    match decision.route.as_str() {
        "" => TOTAL,
        route => route,
    }
}

fn between(times: TimesBetween) -> String {
    match (times.at_least_us, times.at_most_us) {
        (None, None) => "not known yet".to_owned(),
        (None, most) => format!("up to {}", micros(most)),
        (least, None) => format!("at least {}", micros(least)),
        (least, most) => format!("between {} and {}", micros(least), micros(most)),
    }
}
