//! What report and decision both list: noise, and known differences.

use super::{Document, folded, more, name, place, plain};
use crate::view::words::grouped;
use crate::view::{KnownView, NoiseView, Place};

/// Places of noise and entries of the register; the JSON document has all.
const MAX_ENTRIES: usize = 10;
/// Groups named of an entry.
const MAX_PLACES: usize = 5;

/// What is taken for noise, and what looks like it.
pub(super) fn noise(out: &mut Document, noise: &NoiseView<'_>) {
    for list in noise.lists() {
        let mut lines: Vec<String> = list
            .entries
            .iter()
            .take(MAX_ENTRIES)
            .map(|entry| {
                format!(
                    "- {} × {} {}: {}; {}",
                    grouped(entry.count),
                    name(entry.route),
                    place(entry.place),
                    plain(&entry.shapes),
                    plain(&entry.verdict)
                )
            })
            .collect();
        lines.extend(more(list.entries.len(), MAX_ENTRIES, "places"));
        folded(out, &format!("{} ({})", list.title, list.scope), &lines);
    }
}

/// The entries of the register of known differences.
pub(super) fn known(out: &mut Document, view: &KnownView<'_>) {
    let entries = view.entries.iter().take(MAX_ENTRIES);
    let mut lines: Vec<String> = entries
        .map(|entry| {
            let places = entry.groups.iter().take(MAX_PLACES).map(|group| {
                let place = place(Place {
                    part: group.group.part,
                    path: &group.group.pattern,
                });
                format!("\n  - {} {place}", name(&group.route))
            });
            let count = grouped(entry.count);
            let about = plain(&format!("{}; {}", entry.state, entry.about));
            let places: String = places.collect();
            format!("- {count} × {}: {about}{places}", name(&entry.id))
        })
        .collect();
    lines.extend(more(view.entries.len(), MAX_ENTRIES, "entries"));
    folded(out, &format!("known differences ({})", view.scope), &lines);
}
