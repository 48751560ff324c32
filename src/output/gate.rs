//! The decision in words: the outcome, why, and what would settle it.

use std::fmt::Write;

use parity_schemas::evidence::{Decision, Outcome};

use super::{BAD, BOLD, DIM, GOOD, OPEN, grouped, percent, sentence, shown, styled, watermark};

/// Routes listed; the rest is in the JSON document.
const MAX_ROUTES: usize = 20;

/// The whole decision.
pub(crate) fn text(decision: &Decision) -> String {
    let mut out = String::new();
    let _infallible = write(&mut out, decision);
    out
}

fn write(out: &mut String, decision: &Decision) -> std::fmt::Result {
    // Nothing is decided from it, and nobody who reads a PASS may overlook it.
    if decision
        .clients
        .iter()
        .any(|(outcome, _)| outcome.is_failure())
    {
        let received = decision.clients.values().sum();
        super::report::clients_headline(out, received, &decision.clients, "under way")?;
    }
    let word = |outcome: Outcome| match outcome {
        Outcome::Pass => styled(GOOD, "PASS"),
        Outcome::Fail => styled(BAD, "FAIL"),
        Outcome::Undecided => styled(OPEN, "UNDECIDED"),
    };
    let first = decision
        .reasons
        .first()
        .map(|reason| format!("  {}", sentence(reason)))
        .unwrap_or_default();
    writeln!(out, "{}{first}", word(decision.outcome))?;
    for reason in decision.reasons.iter().skip(1) {
        writeln!(out, "  {}", sentence(reason))?;
    }
    if !decision.routes.is_empty() {
        let width = decision
            .routes
            .iter()
            .map(|route| shown(&route.route).chars().count())
            .max()
            .unwrap_or(0)
            .max(5);
        let header = format!(
            "{:width$}  {:>9}  {:>9}  {:>9}  {:>21}  {:9}  {:>7}",
            "ROUTE", "COMPARED", "DIFFERING", "RATE", "BETWEEN", "OUTCOME", "NEEDED"
        );
        writeln!(out, "\n{}", styled(BOLD, header))?;
        for route in decision
            .routes
            .iter()
            .take(MAX_ROUTES)
            .chain([&decision.total])
        {
            let name = if route.route.is_empty() {
                "total".to_owned()
            } else {
                shown(&route.route)
            };
            let between = format!("{} .. {}", percent(route.lower), percent(route.upper));
            let needed = if route.needed == 0 {
                "-".to_owned()
            } else {
                grouped(route.needed)
            };
            writeln!(
                out,
                "{name:width$}  {:>9}  {:>9}  {:>9}  {between:>21}  {:9}  {needed:>7}",
                grouped(route.compared),
                grouped(route.differing),
                percent(route.rate),
                route.outcome.as_str(),
            )?;
        }
    }
    if let Some(evidence) = &decision.evidence {
        let line = format!(
            "decision {} · migration {} · candidate {} · rules {} · {} to {}",
            decision.decision_id,
            shown(&decision.migration),
            if evidence.candidate_version.is_empty() {
                "(no version)".into()
            } else {
                shown(&evidence.candidate_version)
            },
            shown(&evidence.rules_hash),
            evidence.from,
            evidence.to,
        );
        writeln!(out, "\n{}", styled(DIM, line))?;
        let whole = watermark(evidence.complete_until, &evidence.watermarks);
        writeln!(out, "{}", styled(DIM, whole))?;
    }
    Ok(())
}
