//! The entries of the register of known differences, with how they stand.

use std::fmt::Write;

use super::more;
use crate::terminal::{BAD, BOLD, DIM, place, styled};
use crate::view::words::{grouped, shown};
use crate::view::{KnownView, Place};

/// Entries listed, about half a screen; further ones are only counted.
const MAX_ENTRIES: usize = 10;
/// Groups listed of an entry.
const MAX_GROUPS: usize = 3;

/// Each entry with so many of its groups at the most.
pub(in crate::terminal) fn write(
    out: &mut String,
    view: &KnownView<'_>,
    groups: usize,
) -> std::fmt::Result {
    if view.entries.is_empty() {
        return Ok(());
    }
    let title = format!("KNOWN DIFFERENCES ({})", view.scope);
    writeln!(out, "\n{}", styled(BOLD, title))?;
    for entry in view.entries.iter().take(MAX_ENTRIES) {
        let state = if entry.state.is_news() {
            styled(BAD, entry.state)
        } else {
            entry.state.to_string()
        };
        let count = grouped(entry.count);
        writeln!(
            out,
            "{count:>6} × {}  {state}  {}",
            entry.id,
            styled(DIM, &entry.about)
        )?;
        for group in entry.groups.iter().take(groups.min(MAX_GROUPS)) {
            let place = place(Place {
                part: group.group.part,
                path: &group.group.pattern,
            });
            writeln!(
                out,
                "         {:>6} × {}  {place}  {}",
                grouped(group.count),
                shown(&group.route),
                group.group.kind.meaning()
            )?;
        }
    }
    more(out, view.entries.len(), MAX_ENTRIES, "entries")
}
