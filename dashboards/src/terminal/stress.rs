//! What two services hold under load: a line for each, tables beside each other, what it is worth, and what to know of it.

use std::fmt::Write;

use parity_schemas::stress::StressDocument;
use parity_schemas::visible::visible_up_to;

use super::load::{Loaded as _, MAX_CHARS, foot, head};
use super::metrics::{judged, table};
use super::{BOLD, DIM, styled};
use crate::view::stress::{cost, demands, limit, title};

/// The result with all that is below it.
pub fn stress(document: &StressDocument) -> String {
    let mut out = String::new();
    let _infallible = write(&mut out, document);
    out
}

fn write(out: &mut String, document: &StressDocument) -> std::fmt::Result {
    let done = format!("over {:.1} s", document.seconds);
    head(out, document, &done)?;
    for (name, target, side) in document.sides() {
        writeln!(out, "{name:9}  {target}: {}", limit(side))?;
    }
    for shown in &document.tables {
        writeln!(out, "\n{}", styled(BOLD, title(shown)))?;
        table(out, &shown.measures)?;
    }
    if let Some(found) = &document.cost {
        let [saving, used] = cost(found);
        writeln!(out, "\n{saving}\n{}", styled(DIM, used))?;
    }
    if !document.thresholds.is_empty() {
        writeln!(out)?;
        judged(out, &document.thresholds)?;
    }
    foot(out, document)?;
    writeln!(out, "{}", styled(DIM, demands(&document.demands)))?;
    for (name, _, side) in document.sides() {
        for note in &side.notes {
            let note = visible_up_to(note, MAX_CHARS);
            writeln!(out, "{}", styled(DIM, format!("{name}: {note}")))?;
        }
    }
    Ok(())
}
