//! What became of the clients: told before everything else, for nothing is worse than users without an answer.

use std::fmt::Write;

use parity_schemas::clients::{ClientOutcome, Clients, told};
use parity_schemas::report::Report;

use crate::output::{BAD, DIM, GOOD, OPEN, grouped, shown, styled};

/// Routes that are named with the failures; the page and the JSON have all.
const MAX_ROUTES: usize = 5;

/// One line where all is well, and what is not otherwise.
pub(super) fn write(out: &mut String, report: &Report) -> std::fmt::Result {
    let counts = &report.counts;
    let open = if super::goes_on(report) {
        "under way"
    } else {
        "not known"
    };
    headline(out, counts.received, &counts.clients, open)?;
    for (outcome, count) in &counts.clients {
        if !outcome.is_answered() {
            let style = if outcome.is_failure() { BAD } else { DIM };
            let word = styled(style, format_args!("{outcome:20}"));
            writeln!(out, "{:>6} × {word} {}", grouped(*count), outcome.meaning())?;
        }
    }
    failing_routes(out, report)
}

/// The one line that every reader gets. `open` is what those are who have no outcome.
pub(in crate::output) fn headline(
    out: &mut String,
    received: u64,
    clients: &Clients,
    open: &str,
) -> std::fmt::Result {
    let under_way = received.saturating_sub(clients.values().sum());
    let failed = clients.keys().any(|outcome| outcome.is_failure());
    let answered = clients.keys().all(|outcome| outcome.is_answered());
    let style = match (failed, answered && under_way == 0) {
        (true, _) => BAD,
        (false, true) => GOOD,
        (false, false) => OPEN,
    };
    let told = told(received, clients, grouped);
    let classes: Vec<String> = clients
        .iter()
        .filter(|(outcome, _)| outcome.is_answered())
        .map(|(outcome, count)| {
            let style = if *outcome == ClientOutcome::ServerError {
                BAD
            } else {
                DIM
            };
            styled(style, format_args!("{outcome} {}", grouped(*count)))
        })
        .collect();
    write!(out, "{} {told}", styled(style, "CLIENTS"))?;
    if !classes.is_empty() {
        write!(out, " · {}", classes.join(" · "))?;
    }
    if under_way > 0 {
        write!(out, " · {} {open}", grouped(under_way))?;
    }
    writeln!(out)
}

fn failing_routes(out: &mut String, report: &Report) -> std::fmt::Result {
    let mut failing: Vec<(u64, &str)> = report
        .routes
        .iter()
        .map(|route| (route.counts.clients_failed(), route.route.as_str()))
        .filter(|(failed, _)| *failed > 0)
        .collect();
    failing.sort_by_key(|(failed, route)| (std::cmp::Reverse(*failed), *route));
    for (failed, route) in failing.iter().take(MAX_ROUTES) {
        writeln!(out, "         {} on {}", grouped(*failed), shown(route))?;
    }
    super::more(out, failing.len(), MAX_ROUTES, "routes")
}
