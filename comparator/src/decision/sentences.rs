//! Why a decision is what it is, in sentences about one route each.

use std::fmt::Write as _;

use parity_schemas::evidence::{Decision, EvidenceSummary, Outcome, RouteDecision, Thresholds};
use parity_schemas::noise::{Excused, NoiseGroup, NoiseState};
use parity_schemas::recheck::RecheckEvent;
use parity_schemas::spelling;
use parity_schemas::tally::{Counts, MAX_GROUPS_OF_SET};
use parity_schemas::verdict::Reason;

use super::caps::most_frequent;
use super::judged::{HiddenSettledBy, hidden_settled_by, hides_too_much, never_shadowed};
use super::legacy_errors;
use super::not_sent::not_sent;
use super::shares::wrong;
use super::words::{TOTAL, hidden, number, percent, percents, plural};
use crate::bounds::{self, Seen};
use crate::noise::proof::MOST_MISSING;

/// Names in one sentence; more are counted.
const MAX_NAMED: usize = 5;

/// The sentence that says that there is no evidence, and for what.
pub(super) fn nothing(migration: &str, summary: Option<&EvidenceSummary>) -> String {
    match summary {
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

/// The sentence for a required route that was never requested, with the one that may be meant among those that were.
pub(super) fn never_seen<'a>(name: &str, seen: impl Iterator<Item = &'a str>) -> String {
    let hint = match spelling::nearest(name, seen) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`parity report` lists those that were".to_owned(),
    };
    format!("{name}: never seen, so nothing is known of it; {hint}")
}

/// The sentence for a required route that was received only in what is left out.
pub(super) fn left_out(name: &str) -> String {
    format!(
        "{name}: required, and all that was compared of it is in what --since or --leave-out leaves out"
    )
}

/// The sentence for operations of an API description that were never requested; `None` if all were.
pub(super) fn never_exercised(names: &[&str], of: usize) -> Option<String> {
    (!names.is_empty()).then(|| {
        format!(
            "{} of {} operations of the API description were never requested: {}",
            number(names.len() as u64),
            number(of as u64),
            listed(names, MAX_NAMED)
        )
    })
}

/// Names with commas between them; those beyond `most` are counted.
pub(super) fn listed(names: &[&str], most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let mut text = names
        .iter()
        .take(most)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    if more > 0 {
        text.extend([" and ", &number(more as u64), " more"]);
    }
    text
}

/// The sentence for a route that is proven to differ too much. Where nothing but failures of the candidate counts, it says so: there is no
/// answer then that would differ.
pub(super) fn proven(route: &RouteDecision, counts: &Counts, allowed: f64) -> String {
    let name = if route.route.is_empty() {
        TOTAL
    } else {
        &route.route
    };
    let (lower, allowed) = percents(route.lower, allowed);
    let Some(what) = counts.lacking(route.differing) else {
        let of_legacy = legacy_errors::of_route(route);
        return format!("{name}: at least {lower} % differ, {allowed} % allowed{of_legacy}");
    };
    let reasons = counts.failures_by_reason().into_iter();
    let why: Vec<String> = reasons
        .map(|(reason, count)| format!("{} × `{reason}`", number(count)))
        .collect();
    let why = why.join(", ");
    format!("{name}: at least {lower} % got no {what} ({why}), {allowed} % allowed")
}

/// Of a fail, the reasons that say how much of it is that the legacy alone answered with server errors, and what leaves that out.
pub fn of_the_legacy(decision: &Decision) -> Vec<String> {
    let all = decision.routes.iter().chain([&decision.total]);
    let failing = decision
        .routes
        .iter()
        .filter(|route| route.outcome == Outcome::Fail && route.legacy_errors.is_some());
    let told = failing.map(|route| {
        let counts = route.counts.as_ref().map(|own| &own.counts);
        let allowed = decision.thresholds.max_mismatch_rate;
        proven(route, counts.unwrap_or(&Counts::default()), allowed)
    });
    told.chain(legacy_errors::left_out(all)).collect()
}

/// What does not count against the candidate, and what would be hidden by that at the most.
pub fn excused(total: &RouteDecision) -> Vec<String> {
    let Excused {
        transient,
        noise,
        known,
        ..
    } = total.excused;
    let mut sentences = Vec::new();
    if known > 0 {
        sentences.push(format!(
            "{} not count: all that differs in them is entered as known, or is noise",
            plural(known, "mismatch does", "mismatches do")
        ));
    }
    if transient > 0 {
        sentences.push(format!(
            "{} mismatches do not count: the data changed between the answers, and asked again both agree{}",
            number(transient),
            // With noise it is told of both together.
            match noise {
                0 if total.excused.hidden > 0.0 => format!(
                    ". At most {} % of the compared requests could hide a difference there",
                    hidden(total)
                ),
                _ => String::new(),
            }
        ));
    }
    if noise > 0 {
        sentences.push(format!(
            "{} mismatches do not count: by them the legacy differs from itself, too. At most {} % of the compared requests \
             could hide a difference there, but for values that are off by less than the legacy's own move",
            number(noise),
            hidden(total)
        ));
    }
    sentences
}

/// What is missing to the proof of groups that look like noise; of many groups the most frequent, and of many reasons the
/// first: most often more rechecks settle all. The groups have them all.
pub(super) fn not_proven(noise: &[NoiseGroup]) -> Vec<String> {
    const MOST: usize = 3;
    let open = noise.iter().filter(|group| group.state == NoiseState::Open);
    let told = open.take(MOST).map(|noise| {
        let group = &noise.group;
        format!(
            "{}: {} {} ({}) looks like noise, not proven yet: {}{}",
            noise.route,
            group.part,
            if group.pattern.is_empty() {
                "as a whole"
            } else {
                &group.pattern
            },
            group.shape,
            noise.against.first().map_or("", String::as_str),
            match noise.against.len() {
                0 | 1 => String::new(),
                more => format!(
                    "; and {}",
                    plural(more as u64 - 1, "more reason", "more reasons")
                ),
            }
        )
    });
    told.collect()
}

/// What it means that only the legacy changes its answers.
fn only_the_legacy(counts: &Counts) -> String {
    let of = |event| number(counts.rechecks.get(&event).copied().unwrap_or(0));
    format!(
        "asked again, only the legacy changed its answer {} times and only the candidate {} times, so the candidate may lack what the \
         legacy shows now and then. If it is the data that changes, a higher --max-hidden allows it",
        of(RecheckEvent::LegacyAlone),
        of(RecheckEvent::CandidateAlone)
    )
}

/// The sentences that say why a route is undecided, and what would settle it. `routes` are those that it consists of.
pub(super) fn unproven(
    (name, routes): (&str, &[&str]),
    (route, counts): (&RouteDecision, &Counts),
    thresholds: &Thresholds,
    rechecks: Option<u64>,
) -> Vec<String> {
    let mut sentences = Vec::new();
    let excused = route.excused;
    if hides_too_much(excused, thresholds) {
        let (hidden, allowed) = percents(route.excused.hidden, thresholds.max_hidden);
        let missing = match (hidden_settled_by(route, counts, thresholds), rechecks) {
            (HiddenSettledBy::AnyLimit, _) => {
                "no number of rechecks can show that nothing does".to_owned()
            }
            (HiddenSettledBy::LimitOfOneSided, _) => only_the_legacy(counts),
            (HiddenSettledBy::LimitOfTransient, _) => {
                "the data changes while it is looked at, so only a higher --max-hidden allows more"
                    .to_owned()
            }
            (HiddenSettledBy::Rechecks, Some(rechecks)) if rechecks as f64 > MOST_MISSING => {
                "no number of rechecks that is waited for settles it: write a rule for what may differ, or allow a higher \
                 --max-hidden"
                    .to_owned()
            }
            (HiddenSettledBy::Rechecks, Some(rechecks)) => format!(
                "about {} more rechecks, spread as the mismatches are, would settle it",
                number(rechecks)
            ),
            (HiddenSettledBy::Rechecks, None) => "more rechecks would settle it".to_owned(),
        };
        sentences.push(format!(
            "{name}: up to {hidden} % of the compared requests may hide a difference in what is taken for noise or for a change of \
             the data, {allowed} % allowed; {missing}"
        ));
    }
    let seen = Seen::new(route.differing, route.compared);
    let (allowed, alpha) = (thresholds.max_mismatch_rate, wrong(thresholds));
    if !bounds::is_within(thresholds.bound, seen, allowed, alpha) {
        sentences.push(match never_shadowed(counts) {
            Some(reason) => format!("{name}: no request compared. {}", shadowing(reason, routes)),
            None => open(name, route, thresholds),
        });
    }
    sentences
}

/// Why the candidate is never asked about requests with these routes, and what changes that.
fn shadowing(reason: Reason, routes: &[&str]) -> String {
    match reason {
        Reason::ShadowingOff => {
            "The candidate is never asked, because shadowing is off (`shadow` in the settings or in a [[route]])".to_owned()
        }
        _ => format!("The candidate is never asked. {}", not_sent(routes.iter().copied()).join(". ")),
    }
}

/// What a reader of a fail must know about mismatches that are never asked about again: noise would look the same. Of the
/// routes that fail on their own, and of all if none does.
pub fn never_asked_again<'a>(
    routes: impl Iterator<Item = &'a RouteDecision> + Clone,
) -> Option<String> {
    let fails = |route: &RouteDecision| route.outcome == Outcome::Fail;
    let any = routes.clone().any(fails);
    let refused: Vec<(&str, u64)> = routes
        .filter(|route| !any || fails(route))
        .filter_map(|route| {
            let counts = &route.counts.as_ref()?.counts;
            let refused = counts.rechecks.get(&RecheckEvent::RefusedMethod).copied();
            Some((route.route.as_str(), refused.filter(|count| *count > 0)?))
        })
        .collect();
    let names: Vec<&str> = refused.iter().map(|(name, _)| *name).collect();
    let count: u64 = refused.iter().map(|(_, count)| count).sum();
    (count > 0).then(|| {
        format!(
            "{}: {} mismatches are of requests that are never asked again, so noise looks like a fault there. If a repeated \
             request does no harm, allow it by `recheck = true` in the [[route]], or write a rule",
            listed(&names, MAX_NAMED),
            number(count)
        )
    })
}

fn open(name: &str, route: &RouteDecision, thresholds: &Thresholds) -> String {
    let allowed = thresholds.max_mismatch_rate;
    let Excused {
        open,
        never_asked,
        partly,
        untold,
        ..
    } = route.excused;
    if partly > 0 {
        return format!(
            "{name}: {} of {} differ. {} of them are at places where the legacy moves, too, and the candidate was seen to be wrong in \
             some of its answers: in how many is not known, so they prove neither a pass nor a fail",
            number(route.differing),
            number(route.compared),
            number(partly)
        );
    }
    if untold > 0 {
        let rest = match open - untold.min(open) {
            0 => String::new(),
            more => format!("; {} more look like noise that is not proven", number(more)),
        };
        return format!(
            "{name}: {} of {} differ. Of {} of them not all that differs is kept (more than {MAX_GROUPS_OF_SET} groups in one answer, or \
             more combinations of groups than are counted), where differences are known that do not block: whether all of it is known \
             nobody can say, so they prove neither a pass nor a fail{rest}. Ignore what is known there by a rule, so that less differs, or \
             let its entry block",
            number(route.differing),
            number(route.compared),
            number(untold),
        );
    }
    if open > 0 {
        let (differing, compared) = (number(route.differing), number(route.compared));
        let mut text = format!(
            "{name}: {differing} of {compared} differ. {} of them look like noise that is not proven",
            number(open)
        );
        match route.needed {
            0 if open > never_asked => {
                text.push_str(
                    " yet: rechecks of further mismatches settle that, not more equal answers",
                );
            }
            0 => {}
            // They are so few that other requests outweigh them.
            needed => {
                let yet = if open > never_asked { " yet" } else { "" };
                let _infallible = write!(
                    text,
                    "{yet}; {} more requests, if all match, would settle it whatever they are",
                    number(needed)
                );
            }
        }
        if never_asked > 0 {
            // Writing to a String cannot fail.
            let _infallible = write!(
                text,
                ". {} are of requests that are never asked again (by their method, `recheck = false` or `recheck.rate = 0`), so \
                 no proof covers them: allow it by `recheck = true` in their [[route]] if that is safe, or write a rule",
                number(never_asked)
            );
        }
        return text;
    }
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

/// The sentence that says how often the candidate failed.
pub(super) fn candidate_failures(counts: &Counts) -> Option<String> {
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
