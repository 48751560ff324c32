//! What clients got.

use std::fmt::Write;

use crate::terminal::{BAD, DIM, style, styled};
use crate::view::words::{grouped, shown};
use crate::view::{ClientsView, ReportView};

/// Routes that are named with the failures; the page and the JSON have all.
const MAX_ROUTES: usize = 5;

/// One line if all clients were served, else also the failures.
pub(super) fn write(out: &mut String, view: &ReportView<'_>) -> std::fmt::Result {
    let clients = view.clients();
    headline(out, &clients)?;
    for (outcome, count) in clients.not_answered() {
        let style = if outcome.is_failure() { BAD } else { DIM };
        let word = styled(style, format_args!("{outcome:20}"));
        writeln!(out, "{:>6} × {word} {}", grouped(count), outcome.meaning())?;
    }
    let failing = view.failing_routes();
    for (failed, route) in failing.iter().take(MAX_ROUTES) {
        writeln!(out, "         {} on {}", grouped(*failed), shown(route))?;
    }
    super::more(out, failing.len(), MAX_ROUTES, "routes")
}

/// The one line that every reader gets.
pub(in crate::terminal) fn headline(out: &mut String, clients: &ClientsView) -> std::fmt::Result {
    let word = styled(style(clients.tone()), "CLIENTS");
    write!(out, "{word} {}", clients.told())?;
    let classes: Vec<String> = clients
        .answered()
        .into_iter()
        .map(|(outcome, count)| {
            let style = if outcome.is_error() { BAD } else { DIM };
            styled(style, format_args!("{outcome} {}", grouped(count)))
        })
        .collect();
    if !classes.is_empty() {
        write!(out, " · {}", classes.join(" · "))?;
    }
    let open = clients.without_outcome();
    if open > 0 {
        write!(out, " · {} {}", grouped(open), clients.open())?;
    }
    writeln!(out)
}
