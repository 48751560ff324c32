//! What is taken for noise, and what looks like it.

use std::fmt::Write;

use super::groups::values;
use super::more;
use crate::terminal::{BOLD, DIM, place, styled};
use crate::view::words::{grouped, shown};
use crate::view::{NoiseEntry, NoiseView, ReportView};

/// Places listed of each kind, half a screen; further ones are only counted.
const MAX_PLACES: usize = 10;
/// The same with a decision, which is not a report.
const MAX_IN_SHORT: usize = 5;

/// With evidence and examples.
pub(super) fn write(out: &mut String, view: &ReportView<'_>) -> std::fmt::Result {
    for list in view.noise().lists() {
        let title = format!("{} ({})", list.title.to_uppercase(), list.scope);
        writeln!(out, "\n{}", styled(BOLD, title))?;
        for entry in list.entries.iter().take(MAX_PLACES) {
            line(out, entry)?;
            let id = entry.example_id.map(|id| format!(" · for example {id}"));
            let about = format!(
                "{} · {}{}",
                entry.evidence,
                entry.verdict,
                id.unwrap_or_default()
            );
            writeln!(out, "         {}", styled(DIM, about))?;
        }
        more(out, list.entries.len(), MAX_PLACES, "places")?;
    }
    Ok(())
}

/// One line each, for the decision.
pub(in crate::terminal) fn short(out: &mut String, noise: &NoiseView<'_>) -> std::fmt::Result {
    for list in noise.lists() {
        let title = format!("{} ({})", list.title.to_uppercase(), list.scope);
        writeln!(out, "\n{}", styled(BOLD, title))?;
        for entry in list.entries.iter().take(MAX_IN_SHORT) {
            line(out, entry)?;
        }
        more(out, list.entries.len(), MAX_IN_SHORT, "places")?;
    }
    Ok(())
}

/// Where it is, what is there, and an example.
fn line(out: &mut String, entry: &NoiseEntry<'_>) -> std::fmt::Result {
    writeln!(
        out,
        "{:>6} × {}  {}  {}: {}{}",
        grouped(entry.count),
        shown(entry.route),
        place(entry.place),
        entry.kind.meaning(),
        entry.shapes,
        values(entry.values.as_ref()),
    )
}
