//! The decision as Markdown.

use std::fmt::Write as _;

use parity_schemas::evidence::{Decision, Outcome};

use super::lists::{known, noise};
use super::report::differences;
use super::{Document, code_in_cell, more, outcome, plain};
use crate::view::words::{sentence, sentences};
use crate::view::{Completeness, Decided, DecisionView, ReportView};

/// Routes in the table; the JSON document has all.
const MAX_ROUTES: usize = 20;

/// The whole decision.
pub fn gate(decision: &Decision) -> String {
    whole(decision, None)
}

/// The whole decision with what differs, for whoever reads no other document.
pub fn gate_with_report(decided: &Decided) -> String {
    whole(&decided.decision, Some(&ReportView::from(decided)))
}

fn whole(decision: &Decision, report: Option<&ReportView<'_>>) -> String {
    let view = DecisionView { decision };
    let mut out = Document::default();
    let mut reasons = sentences(&decision.reasons);
    let first = if decision.outcome == Outcome::Pass {
        Some(sentence(view.claim()))
    } else {
        reasons.next()
    };
    let word = outcome(decision.outcome);
    let claim = first.map_or(String::new(), |first| {
        format!(": {}", plain(first.trim_start_matches([' ', ':'])))
    });
    out.line(&format!("## {word}{claim}\n"));
    if let Some(clients) = view.failing_clients() {
        out.line(&format!("- clients: {}", plain(&clients.told())));
    }
    for reason in reasons {
        out.line(&format!("- {}", plain(&reason)));
    }
    routes(&mut out, view);
    if let Some(report) = report {
        if let Some(later) = report.later() {
            out.line(&format!("\n{}", plain(&sentence(&later))));
        }
        differences(&mut out, report);
    }
    noise(&mut out, &view.noise());
    known(&mut out, &view.known());
    for line in about(view) {
        out.line(&format!("\n<sub>{}</sub>", plain(&line)));
    }
    out.text
}

fn routes(out: &mut Document, view: DecisionView<'_>) {
    let rows = view.routes();
    if rows.is_empty() {
        return;
    }
    let titles = view.excused_columns().titles();
    let excused = cells(&titles);
    out.line(&format!(
        "\n| route | compared | differing | rate |{excused} between | outcome | needed |"
    ));
    let columns = "---:|".repeat(titles.len());
    out.line(&format!("|---|---:|---:|---:|{columns}---|---|---:|"));
    for row in rows.iter().take(MAX_ROUTES).chain([&view.total()]) {
        let excused = cells(&row.excused);
        out.line(&format!(
            "| {} | {} | {} | {} |{excused} {} | {} | {} |",
            code_in_cell(&row.name),
            row.compared,
            row.differing,
            row.rate,
            row.between,
            row.outcome,
            row.needed,
        ));
    }
    if let Some(line) = more(rows.len(), MAX_ROUTES, "routes") {
        out.line(&format!("\n{line}"));
    }
}

/// Cells of a row, with the sign behind each.
fn cells(cells: &[impl std::fmt::Display]) -> String {
    let mut row = String::new();
    for cell in cells {
        // Writing to a String cannot fail.
        let _infallible = write!(row, " {cell} |");
    }
    row
}

/// What it rests on.
fn about(view: DecisionView<'_>) -> Vec<String> {
    let evidence = view.decision.evidence.as_ref();
    let whole = evidence.map(|evidence| Completeness::from(evidence).line(|time| time.to_string()));
    [view.targets(), view.bound_to(), whole]
        .into_iter()
        .flatten()
        .collect()
}
