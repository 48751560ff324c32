//! Pass, fail or undecided: what the counts prove.
//!
//! Each compared request is a trial that either agrees or differs. A candidate that failed to answer, or whose answer
//! alone could not be compared, differs. One-sided bounds ([`bounds`]) on the share of requests that differ follow from
//! the counts. The gate fails if a lower bound is above what is allowed, passes if the upper bounds of the total and of
//! every required route are within it, and is otherwise undecided and tells how many more requests would settle it.
//!
//! The chance that a decision is wrong is at most 1 − confidence, for all its bounds together. A pass needs no correction
//! for several routes: all that are required must hold, so a wrong pass needs one particular bound to be wrong. For a fail
//! one route is enough, so the routes share the chance of a wrong fail ([`share_of_wrong_fails`]).
//!
//! In this order:
//! 1. Nothing recorded, or fewer compared requests than `min_requests`: undecided.
//! 2. A route, or all together, is proven to differ too much: fail. Our own drops do not excuse it: an observed
//!    difference is a fact, and a candidate that is down makes us drop.
//! 3. An instance that counted was not heard of since the decision began, or part of its counts is missing, or an
//!    instance still receives requests under other rules or for other versions: undecided.
//! 4. Of the requests to be compared, in total or on a required route, we dropped more than `max_dropped`: undecided.
//! 5. Of the pairs to be compared, in total or on a required route, more than `max_uncomparable` could not be compared
//!    because of the client (who disconnected), the legacy (which failed, or gave an answer that cannot be compared) or
//!    both services: undecided. Routes that are not required may consist of streams only.
//! 6. More than `max_errors` of the legacy's answers, on the compared routes or on a required one, are server errors
//!    (5xx): undecided. That both services fail alike does not show that they answer alike. Client errors (4xx) are
//!    answers that clients got; if they are the majority, a pass says so.
//! 7. The bounds are within what is allowed: pass. If 0 is allowed, no number of requests can prove that, and the
//!    decision says so. Requests that were received before the decision began and have no outcome yet, and those for
//!    which the candidate was not asked because it had failed so often, count as if each differed.
//!
//! This module imports nothing else of this crate: it must be readable on its own.

pub mod bounds;
mod caps;
mod served;
mod standing;
mod words;

use std::cmp::Ordering;

use parity_schemas::evidence::{
    Decision, Evidence, EvidenceSummary, GATE_SCHEMA, Outcome, RouteDecision, Thresholds,
};
use parity_schemas::route::OTHER;
use parity_schemas::spelling;
use parity_schemas::tally::Counts;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;
use parity_schemas::watermark::Standing;
use uuid::Uuid;

use bounds::Seen;
use caps::{Answers, most_frequent};
use served::is_unserved;
pub use words::number;
use words::{percent, percents};

/// The name of all routes together in sentences.
const TOTAL: &str = "all requests";

/// Decides from the evidence of a migration, which is `None` if nothing was recorded. `standing` tells whether it is
/// complete. The caller gives id and time, so that the same counts always give the same result.
pub fn decide(
    migration: &str,
    evidence: Option<&Evidence>,
    standing: &Standing,
    thresholds: &Thresholds,
    decision_id: Uuid,
    time: Timestamp,
) -> Decision {
    let counts = evidence.map(Evidence::total).unwrap_or_default();
    let seen = evidence.iter().flat_map(|evidence| &evidence.routes);
    let is_required = |route: &str| thresholds.required_routes.iter().any(|name| name == route);
    let tested = seen.filter(|route| {
        route.counts.compared() > 0 && (is_required(&route.route) || !is_unserved(&route.counts))
    });
    let alpha = share_of_wrong_fails(thresholds, tested.count());
    let mut total = judge("", &counts, thresholds, alpha);
    // The minimum number of requests applies to the total.
    let short = thresholds.min_requests.saturating_sub(total.compared);
    if short > 0 {
        total.outcome = Outcome::Undecided;
        total.needed = total.needed.max(short);
    }
    let mut routes: Vec<RouteDecision> = evidence
        .iter()
        .flat_map(|evidence| &evidence.routes)
        .map(|route| {
            let mut judged = judge(&route.route, &route.counts, thresholds, alpha);
            judged.unserved = !is_required(&route.route) && is_unserved(&route.counts);
            if judged.unserved && judged.outcome == Outcome::Fail {
                judged.outcome = Outcome::Undecided;
            }
            judged
        })
        .collect();
    for wanted in &thresholds.required_routes {
        if !routes.iter().any(|route| route.route == *wanted) {
            routes.push(judge(wanted, &Counts::default(), thresholds, alpha));
        }
    }
    routes.sort_by(worst_first);
    let summary = evidence.map(|evidence| summary(evidence, standing));
    let question = Question {
        migration,
        evidence,
        summary: summary.as_ref(),
        counts: &counts,
        standing,
        thresholds,
    };
    let (outcome, reasons) = conclude(&question, &total, &routes);
    Decision {
        clients: counts.clients,
        schema: GATE_SCHEMA.to_owned(),
        decision_id,
        time,
        migration: migration.to_owned(),
        outcome,
        reasons,
        thresholds: thresholds.clone(),
        evidence: summary,
        total,
        routes,
        waited_ms: 0,
    }
}

/// What a decision is based on, besides the bounds.
struct Question<'a> {
    migration: &'a str,
    evidence: Option<&'a Evidence>,
    summary: Option<&'a EvidenceSummary>,
    counts: &'a Counts,
    standing: &'a Standing,
    thresholds: &'a Thresholds,
}

impl Question<'_> {
    /// The counts of a route; `None` if it was required but never received.
    fn counts_of(&self, route: &str) -> Option<&Counts> {
        let routes = self.evidence.iter().flat_map(|evidence| &evidence.routes);
        let mut found = routes.filter(|seen| seen.route == route);
        found.next().map(|seen| &seen.counts)
    }

    /// Reasons why the evidence is not complete.
    fn doubts(&self) -> Vec<String> {
        standing::doubts(self.standing, self.summary)
    }

    /// Facts that do not prevent a decision but that its reader must know.
    fn told(&self) -> Vec<String> {
        let mut told = standing::told(self.standing);
        told.extend(self.summary.and_then(standing::other_rules));
        told
    }
}

fn summary(evidence: &Evidence, standing: &Standing) -> EvidenceSummary {
    EvidenceSummary {
        legacy_version: evidence.identity.legacy_version.clone(),
        candidate_version: evidence.identity.candidate_version.clone(),
        rules_hash: evidence.identity.rules_hash.clone(),
        from: evidence.window.from,
        to: evidence.window.to,
        instances: evidence.instances.clone(),
        complete_until: standing.complete_until,
        watermarks: standing.watermarks.clone(),
        other_rules: evidence.other_rules.clone(),
    }
}

/// Which chance of a wrong fail is left for each of so many routes: a fail on any one is a fail, and so is one of all
/// together, which is a test of its own where there are several.
fn share_of_wrong_fails(thresholds: &Thresholds, routes: usize) -> f64 {
    let tests = if routes > 1 { routes + 1 } else { 1 };
    wrong(thresholds) / tests as f64
}

/// How likely a decision may be wrong.
fn wrong(thresholds: &Thresholds) -> f64 {
    1.0 - thresholds.confidence
}

/// What the counts of one route prove: that it passes with a chance to be wrong of 1 − confidence, that it fails with
/// `alpha`.
fn judge(route: &str, counts: &Counts, thresholds: &Thresholds, alpha: f64) -> RouteDecision {
    let (compared, differing) = (counts.compared(), counts.differing());
    let (allowed, bound) = (thresholds.max_mismatch_rate, thresholds.bound);
    let seen = Seen::new(differing, compared);
    let outcome = if bounds::is_beyond(bound, seen, allowed, alpha) {
        Outcome::Fail
    } else if bounds::is_within(bound, seen, allowed, wrong(thresholds)) {
        Outcome::Pass
    } else {
        Outcome::Undecided
    };
    let needed = match outcome {
        Outcome::Undecided => bounds::needed(bound, seen, allowed, wrong(thresholds)).unwrap_or(0),
        Outcome::Pass | Outcome::Fail => 0,
    };
    RouteDecision {
        route: route.to_owned(),
        compared,
        differing,
        uncomparable: counts.uncomparable(),
        unserved: false,
        rate: if compared == 0 {
            0.0
        } else {
            differing as f64 / compared as f64
        },
        lower: bounds::lower(bound, seen, alpha),
        upper: bounds::upper(bound, seen, wrong(thresholds)),
        outcome,
        needed,
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

fn conclude(
    question: &Question<'_>,
    total: &RouteDecision,
    routes: &[RouteDecision],
) -> (Outcome, Vec<String>) {
    let Question {
        counts,
        standing,
        thresholds,
        ..
    } = question;
    if counts.received == 0 && total.compared == 0 {
        let mut reasons = vec![nothing(question)];
        reasons.extend(question.doubts());
        reasons.extend(question.told());
        return (Outcome::Undecided, reasons);
    }
    if total.compared < thresholds.min_requests {
        let reason = format!(
            "{TOTAL}: {} compared, at least {} wanted",
            number(total.compared),
            number(thresholds.min_requests)
        );
        let mut reasons = vec![reason];
        reasons.extend(question.doubts());
        reasons.extend(question.told());
        return (Outcome::Undecided, reasons);
    }
    let allowed = thresholds.max_mismatch_rate;
    let failed = |route: &&RouteDecision| route.outcome == Outcome::Fail;
    let mut reasons: Vec<String> = routes
        .iter()
        .filter(failed)
        .map(|route| proven(route, allowed))
        .collect();
    if total.outcome == Outcome::Fail && (reasons.is_empty() || routes.len() > 1) {
        reasons.push(proven(total, allowed));
    }
    if !reasons.is_empty() {
        reasons.extend(candidate_failures(counts));
        reasons.extend(question.doubts());
        reasons.extend(question.told());
        return (Outcome::Fail, reasons);
    }
    reasons.extend(question.doubts());
    reasons.extend(
        question
            .counts_of(OTHER)
            .and_then(|counts| caps::hidden_routes(counts, thresholds)),
    );
    reasons.extend(caps::too_many_dropped(TOTAL, counts, thresholds));
    reasons.extend(caps::too_many_uncomparable(TOTAL, counts, thresholds));
    let answers = Answers::of(question.evidence);
    reasons.extend(answers.too_many_errors(TOTAL, thresholds));
    let required = |route: &&RouteDecision| thresholds.required_routes.contains(&route.route);
    for (name, route) in std::iter::once((TOTAL, total)).chain(
        routes
            .iter()
            .filter(required)
            .map(|route| (route.route.as_str(), route)),
    ) {
        let counted = if name == TOTAL {
            Some(*counts)
        } else {
            question.counts_of(&route.route)
        };
        let Some(counted) = counted else {
            reasons.push(never_seen(name, routes, question));
            continue;
        };
        if name != TOTAL {
            reasons.extend(caps::too_many_dropped(name, counted, thresholds));
            reasons.extend(caps::too_many_uncomparable(name, counted, thresholds));
            reasons.extend(Answers::on(counted).too_many_errors(name, thresholds));
        }
        if route.outcome != Outcome::Pass {
            reasons.push(open(name, route, thresholds));
        } else if let Some(reason) = standing::unknown(name, route, counted, standing, thresholds) {
            reasons.push(reason);
        }
    }
    if reasons.is_empty() {
        let (upper, allowed) = percents(total.upper, allowed);
        let reason = format!(
            "{TOTAL}: at most {upper} % differ, {allowed} % allowed ({} compared, {} % confidence)",
            number(total.compared),
            percent(thresholds.confidence)
        );
        let mut reasons = vec![reason];
        reasons.extend(caps::never_compared(counts));
        reasons.extend(answers.mostly_errors());
        reasons.extend(question.told());
        return (Outcome::Pass, reasons);
    }
    reasons.extend(candidate_failures(counts));
    reasons.extend(question.told());
    (Outcome::Undecided, reasons)
}

/// The sentence that says that there is no evidence, and for what.
fn nothing(question: &Question<'_>) -> String {
    let migration = question.migration;
    match question.summary {
        Some(evidence) if !evidence.candidate_version.is_empty() => format!(
            "no traffic recorded yet for candidate version `{}` of migration `{migration}`",
            evidence.candidate_version
        ),
        Some(_) => format!(
            "no traffic recorded yet for migration `{migration}` since the mirror was started or its rules were changed"
        ),
        None => format!("no traffic recorded for migration `{migration}`"),
    }
}

/// The sentence for a required route that was never requested, with the one that may be meant.
fn never_seen(name: &str, routes: &[RouteDecision], question: &Question<'_>) -> String {
    let seen = routes.iter().map(|route| route.route.as_str());
    let meant = spelling::nearest(
        name,
        seen.filter(|route| question.counts_of(route).is_some()),
    );
    let hint = match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`parity report` lists those that were".to_owned(),
    };
    format!("{name}: never seen, so nothing is known of it; {hint}")
}

fn proven(route: &RouteDecision, allowed: f64) -> String {
    let name = if route.route.is_empty() {
        TOTAL
    } else {
        &route.route
    };
    let (lower, allowed) = percents(route.lower, allowed);
    format!("{name}: at least {lower} % differ, {allowed} % allowed")
}

/// The sentence that says why a route is undecided, and what would settle it.
fn open(name: &str, route: &RouteDecision, thresholds: &Thresholds) -> String {
    let allowed = thresholds.max_mismatch_rate;
    if route.compared == 0 {
        return if route.needed > 0 {
            format!(
                "{name}: no request compared; {} matching ones would settle it",
                number(route.needed)
            )
        } else {
            format!("{name}: no request compared")
        };
    }
    if route.needed == 0 {
        return format!(
            "{name}: {} of {} differ, but no number of requests can prove that at most {} % do; allow a higher rate",
            number(route.differing),
            number(route.compared),
            percent(allowed)
        );
    }
    let (upper, shown) = percents(route.upper, allowed);
    format!(
        "{name}: up to {upper} % may differ, {shown} % allowed; {} more requests, if all match, would settle it",
        number(route.needed)
    )
}

fn candidate_failures(counts: &Counts) -> Option<String> {
    let failures = counts.candidate_failures();
    let reason = most_frequent(counts, Reason::is_candidate_failure)?;
    (failures > 0).then(|| {
        format!(
            "the candidate failed, or gave no answer that can be compared, for {} of {} requests (mostly `{reason}`); each counts as different",
            number(failures),
            number(counts.compared())
        )
    })
}

#[cfg(test)]
mod tests;
