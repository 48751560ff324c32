//! Pass, fail or undecided: what the counts prove.
//!
//! Each compared request is a trial that either agrees or differs. A candidate that failed to answer, or whose answer
//! alone could not be compared, differs. A mismatch does not if the data changed between the two answers, or if by it the
//! legacy differs from itself ([`crate::noise::excused`]). One-sided bounds ([`bounds`]) on the share of requests that differ follow from
//! the counts. The gate fails if a lower bound is above what is allowed, passes if the upper bounds of the total and of
//! every required route are within it, and is otherwise undecided and tells how many more requests would settle it.
//!
//! The chance that a decision is wrong is at most 1 − confidence, for all its bounds together. A pass needs no correction
//! for several routes: all that are required must hold, so a wrong pass needs one particular bound to be wrong. For a fail
//! one route is enough, so the routes share the chance of a wrong fail ([`shares`]).
//!
//! In this order:
//! 1. Nothing recorded, or fewer compared requests than `min_requests`: undecided.
//! 2. A route, or all together, is proven to differ too much, or the candidate to be slower than a `max_latency` or to fail
//!    more often than `max_candidate_errors` allows: fail. Our own drops do not excuse it: an observed
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
//! 7. More requests than `max_not_compared` allows were not compared for a reason, in all or on a required route, the
//!    evidence is of a shorter time than `min_duration_ms`, it has fewer distinct targets than `min_distinct`, or rules
//!    leave less than `min_fields` of the fields of a route to compare; or it is open whether the candidate is fast enough, or fails rarely enough: undecided.
//! 8. More compared requests than `max_transient` were transient mismatches, in all or on a required route, or more than
//!    `max_hidden` may hide a difference in what is taken for noise ([`crate::noise::hidden`]): undecided.
//! 9. The bounds are within what is allowed: pass. If 0 is allowed, no number of requests can prove that, and the
//!    decision says so. Requests that were received before the decision began and have no outcome yet, and those for
//!    which the candidate was not asked because it had failed so often, count as if each differed.
//!
//! A difference that is entered as known and does not block does not count ([`crate::known`]). If nothing may be new, a group
//! that is new, growing, back again or no longer known fails the gate beside 2., however rare it is, if a recheck confirmed it
//! or the counts prove its growth; and otherwise it is undecided beside 7.
//!
//! Nothing here looks at an answer: it must be readable with [`crate::bounds`] and the counts alone.

pub mod again;
mod caps;
mod carried;
mod conclude;
mod errors;
mod fields;
mod headline;
mod judged;
mod known_differences;
mod latency;
mod legacy_errors;
mod not_asked;
mod not_sent;
mod operations;
mod route;
mod sentences;
mod shares;
mod spread;
mod standing;
mod words;

use std::collections::HashSet;

use parity_schemas::evidence::{
    Decision, ErrorDecision, Evidence, EvidenceSummary, GATE_SCHEMA, LatencyDecision, LeftOut,
    Thresholds,
};
use parity_schemas::known::{KnownEntry, KnownUse, NewDifferences};
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Standing;
use uuid::Uuid;

use crate::known;
use crate::noise::excused::{self, Found};
use crate::redact::by_hand;
pub use caps::drops_too_much;
pub use carried::carried;
use conclude::{Question, conclude};
pub use fields::{FieldsWanting, fields_left, fields_wanting};
pub use judged::{HiddenSettledBy, hidden_settled_by, hides_too_much, never_shadowed};
pub use not_asked::{not_asked, paused};
pub use not_sent::operations_not_sent;
pub use route::of_route;
pub use sentences::{excused as not_counted, never_asked_again, of_the_legacy};
use spread::Spread;
pub use standing::{left_out, only_left_out};
pub use words::{number, plural};

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
    let question = Asked {
        migration,
        evidence,
        standing,
        thresholds,
    };
    decide_knowing(&question, &[], decision_id, time)
}

/// The same with a register of known differences.
pub fn decide_knowing(
    asked: &Asked<'_>,
    register: &[KnownEntry],
    decision_id: Uuid,
    time: Timestamp,
) -> Decision {
    let thresholds = asked.thresholds;
    let Some(evidence) = asked.evidence else {
        let nothing = (Found::default(), Known::default());
        return decide_with(asked, nothing, None, (decision_id, time));
    };
    let uses = known::find(register, evidence, thresholds, time);
    let noise = excused::find(evidence, thresholds.noise, &known::excused(&uses));
    let news = thresholds
        .nothing_new
        .then(|| known::news(evidence, &uses, &noise.groups, thresholds));
    decide_with(
        asked,
        (noise, Known { uses, news }),
        None,
        (decision_id, time),
    )
}

/// What is known of the differences, and what is new.
#[derive(Default)]
struct Known {
    uses: Vec<KnownUse>,
    news: Option<NewDifferences>,
}

/// What a decision is asked about.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// For which effort.
    pub migration: &'a str,
    /// What was counted; `None` if nothing was.
    pub evidence: Option<&'a Evidence>,
    /// Whether that is complete.
    pub standing: &'a Standing,
    /// What is allowed.
    pub thresholds: &'a Thresholds,
}

/// The version of how is decided, and of the words for it. Raise it with every change by which the same evidence gives another
/// number or another sentence, once a version has been released: a stored decision is then not made again by rules that were
/// not its own.
pub const METHOD: u32 = 1;

/// What is known besides the counts.
struct Measured {
    spread: Spread,
    latency: Vec<LatencyDecision>,
    errors: Vec<ErrorDecision>,
}

/// Decides when it is known already what is noise. Targets, times and statuses of groups are in no document: when a decision
/// is made again, only what follows from what `stored` says of them is made again, too.
fn decide_with(
    asked: &Asked<'_>,
    (noise, known): (Found<'_>, Known),
    stored: Option<&Decision>,
    (decision_id, time): (Uuid, Timestamp),
) -> Decision {
    let Asked {
        migration,
        evidence,
        standing,
        thresholds,
    } = *asked;
    let counts = evidence.map(Evidence::total).unwrap_or_default();
    let (seen, carried) = evidence.map_or((&[][..], &[][..]), |evidence| {
        (&evidence.routes, &evidence.carried)
    });
    let (mut total, mut routes, alpha) =
        judged::judge_all((seen, carried), &counts, &noise, thresholds);
    let Measured {
        spread,
        latency,
        errors,
    } = match stored {
        None => Measured {
            spread: Spread::fill(evidence, thresholds, &mut total, &mut routes),
            latency: latency::judge(evidence, &routes, thresholds, alpha),
            errors: errors::judge(evidence, &routes, &noise, thresholds, alpha),
        },
        Some(stored) => Measured {
            spread: Spread::stored(stored, &mut total, &mut routes),
            latency: latency::again(&stored.latency, (evidence, &routes), thresholds),
            errors: errors::again(
                &stored.candidate_errors,
                (&counts, &routes),
                thresholds,
                alpha,
            ),
        },
    };
    let excused = (&noise, &known.uses[..]);
    let written = (&mut total, &mut routes[..]);
    legacy_errors::fill((evidence, stored), excused, thresholds, written);
    let summary = evidence.map(|evidence| summary(evidence, standing));
    let question = Question {
        migration,
        evidence,
        summary: summary.as_ref(),
        counts: &counts,
        standing,
        thresholds,
        spread: &spread,
        latency: &latency,
        errors: &errors,
        noise: &noise.groups,
        known: &known.uses,
        news: known.news.as_ref(),
        time,
    };
    let (outcome, reasons) = conclude(&question, &total, &routes);
    let gone: HashSet<String> = routes
        .iter()
        .filter(|route| route.anew.is_some())
        .map(|route| route.decision.route.clone())
        .collect();
    let routes = routes
        .into_iter()
        .map(|route| route.decision)
        .collect::<Vec<_>>();
    let scope = headline::scope(&routes);
    Decision {
        clients: counts.clients,
        schema: GATE_SCHEMA.to_owned(),
        method: METHOD,
        decision_id,
        time,
        migration: migration.to_owned(),
        outcome,
        headline: headline::headline(
            outcome,
            &total,
            &routes,
            &scope,
            (thresholds, &known.uses),
            &gone,
        ) + &headline::left_out(evidence),
        scope,
        reasons,
        thresholds: thresholds.clone(),
        evidence: summary,
        noise: noise.groups,
        known: known.uses,
        news: known.news,
        total,
        routes,
        latency,
        candidate_errors: errors,
        targets: evidence.map(|_| spread.0),
        waited_ms: 0,
        terms: Vec::new(),
        terms_cut: false,
        stored: None,
        not_stored: None,
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
        carried: evidence.carried.clone(),
        other_rules: evidence.other_rules.clone(),
        left_out: evidence.left_out.iter().cloned().map(written).collect(),
        only_left_out: evidence.only_left_out.clone(),
    }
}

/// A decision is kept for ever, so a secret in a reason must not come into it.
fn written(mut left_out: LeftOut) -> LeftOut {
    left_out.span.reason = by_hand(&left_out.span.reason).into_owned();
    left_out
}

#[cfg(test)]
mod tests;
