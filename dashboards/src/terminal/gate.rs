//! The decision in words: the outcome, why, and what would settle it.

use std::fmt::Write;

use parity_schemas::evidence::{Decision, Outcome};

use super::report::{clients_line, excused_cells, known_differences, noise_in_short};
use super::{BOLD, DIM, style, styled};
use crate::view::words::{sentence, sentences};
use crate::view::{Completeness, DecisionView};

/// Routes listed; the rest is in the JSON document.
const MAX_ROUTES: usize = 20;

/// The whole decision.
pub fn gate(decision: &Decision) -> String {
    let mut out = String::new();
    let _infallible = write(&mut out, DecisionView { decision });
    out
}

fn write(out: &mut String, view: DecisionView<'_>) -> std::fmt::Result {
    if let Some(clients) = view.failing_clients() {
        clients_line(out, &clients)?;
    }
    let decision = view.decision;
    let word = decision.outcome.as_str().to_uppercase();
    let word = styled(style(decision.outcome.into()), word);
    // What a pass is proven for comes first, and otherwise what stands in its way.
    let mut reasons = sentences(&decision.reasons);
    if decision.outcome == Outcome::Pass {
        writeln!(out, "{word}{}", sentence(view.claim()))?;
    } else {
        let first = reasons.next().map(|reason| format!("  {reason}"));
        writeln!(out, "{word}{}", first.unwrap_or_default())?;
    }
    for reason in reasons {
        writeln!(out, "  {reason}")?;
    }
    routes(out, view)?;
    if let Some(line) = view.targets() {
        writeln!(out, "{}", styled(DIM, line))?;
    }
    known_differences(out, &view.known(), 0)?;
    noise_in_short(out, &view.noise())?;
    if let Some(line) = view.bound_to() {
        writeln!(out, "\n{}", styled(DIM, line))?;
    }
    if let Some(evidence) = &decision.evidence {
        let whole = Completeness::from(evidence).line(|time| time.to_string());
        writeln!(out, "{}", styled(DIM, whole))?;
    }
    Ok(())
}

fn routes(out: &mut String, view: DecisionView<'_>) -> std::fmt::Result {
    let routes = view.routes();
    let Some(longest) = routes.iter().map(|row| row.name.chars().count()).max() else {
        return Ok(());
    };
    let width = longest.max(5);
    let total = view.total();
    let shown = || routes.iter().take(MAX_ROUTES).chain([&total]);
    let needed = shown().map(|row| row.needed.chars().count()).max();
    let needed = needed.unwrap_or(0).max(9);
    let header = format!(
        "{:width$}  {:>9}  {:>9}  {:>9}  {:>9}{}  {:>21}  {:9}  {:>needed$}",
        "ROUTE",
        "COMPARED",
        "TARGETS",
        "DIFFERING",
        "RATE",
        excused_cells(&view.excused_columns().titles()).to_uppercase(),
        "BETWEEN",
        "OUTCOME",
        "NEEDED"
    );
    writeln!(out, "\n{}", styled(BOLD, header))?;
    for row in shown() {
        writeln!(
            out,
            "{:width$}  {:>9}  {:>9}  {:>9}  {:>9}{}  {:>21}  {:9}  {:>needed$}",
            row.name,
            row.compared,
            row.targets,
            row.differing,
            row.rate,
            excused_cells(&row.excused),
            row.between,
            row.outcome,
            row.needed,
        )?;
    }
    Ok(())
}
