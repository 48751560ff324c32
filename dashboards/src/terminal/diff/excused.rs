//! Differences that count as equal: a line for each reason, and the rules that excused nothing or do not apply.

use std::fmt::Write;

use parity_schemas::visible::visible_up_to;

use super::Writer;
use crate::terminal::{DIM, OPEN, styled};
use crate::view::words::{plural, shown};
use crate::view::{Equal, Place};

/// Places named for each reason.
const MAX_PLACES: usize = 3;
/// Rules that excused nothing, and headers that always differ, that are named.
const MAX_NAMES: usize = 20;

pub(super) fn write(writer: &Writer<'_>, out: &mut String) -> std::fmt::Result {
    if writer.layout.all {
        for tolerated in &writer.diff.comparison.tolerated {
            let place = writer.place(Place::from(tolerated));
            let why = shown(&tolerated.why.to_string());
            writeln!(out, "{}", styled(DIM, format_args!("= {place} ({why})")))?;
        }
    }
    let excused = writer.diff.excused();
    let mut lines: Vec<String> = excused
        .equal
        .iter()
        .map(|equal| line(writer, equal))
        .collect();
    if !excused.headers.is_empty() {
        lines.push(format!(
            "headers that differ by nature: {}",
            names(&excused.headers)
        ));
    }
    for line in lines {
        writeln!(out, "{}", styled(DIM, format_args!("equal: {line}")))?;
    }
    if !excused.unused.is_empty() {
        let rules = plural(excused.unused.len() as u64, "rule", "rules");
        let note = styled(OPEN, format_args!("{rules} excused nothing here"));
        writeln!(out, "{note}: {}", names(&excused.unused))?;
    }
    if !excused.of_one_route.is_empty() {
        let many = "rules are each for one route";
        let rules = plural(
            excused.of_one_route.len() as u64,
            "rule is for one route",
            many,
        );
        let note = styled(DIM, format_args!("{rules}, not applied without --route"));
        writeln!(out, "{note}: {}", names(&excused.of_one_route))?;
    }
    Ok(())
}

/// A reason with the first places where it holds.
fn line(writer: &Writer<'_>, equal: &Equal<'_>) -> String {
    let places = equal.places.iter().take(MAX_PLACES);
    let mut named: Vec<String> = places.map(|place| writer.place(*place)).collect();
    if equal.places.len() > MAX_PLACES {
        named.push("…".to_owned());
    }
    let room = if writer.layout.all {
        usize::MAX
    } else {
        writer.layout.width.saturating_sub("equal: ".len())
    };
    let line = format!("{}: {}", equal.summary(), named.join(", "));
    visible_up_to(&line, room)
}

fn names(names: &[&str]) -> String {
    let mut listed: Vec<String> = names
        .iter()
        .take(MAX_NAMES)
        .map(|name| shown(name))
        .collect();
    if names.len() > MAX_NAMES {
        listed.push(format!("… {} more", names.len() - MAX_NAMES));
    }
    listed.join(", ")
}
