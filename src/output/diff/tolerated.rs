//! What differs and counts as equal: a line for each reason, and the rules that excused nothing.

use std::collections::BTreeMap;
use std::fmt::Write;

use parity_comparator::document::hits;
use parity_schemas::verdict::Tolerated;
use parity_schemas::visible::visible_up_to;

use super::{View, plural};
use crate::output::{DIM, OPEN, grouped, shown, styled};

/// Places named for each reason.
const MAX_PLACES: usize = 3;
/// Rules named that excused nothing, and headers that differ by nature.
const MAX_NAMES: usize = 20;

pub(super) fn write(view: &View<'_>, out: &mut String) -> std::fmt::Result {
    let listed = &view.comparison.tolerated;
    if view.all {
        for tolerated in listed {
            let place = view.place(tolerated.part, &tolerated.path);
            let why = shown(&tolerated.why);
            writeln!(out, "{}", styled(DIM, format_args!("= {place} ({why})")))?;
        }
    }
    let mut reasons: BTreeMap<&str, Vec<&Tolerated>> = BTreeMap::new();
    let mut headers: Vec<&str> = Vec::new();
    for tolerated in listed {
        if tolerated.why.starts_with("default:") {
            headers.push(&tolerated.path);
        } else {
            reasons.entry(&tolerated.why).or_default().push(tolerated);
        }
    }
    // The list may be cut; what the rules excused is counted all the same.
    let cut = listed.len() >= view.limits.tolerated;
    let mut lines = Vec::new();
    for (why, places) in &reasons {
        if !why.starts_with("rule:") {
            let least = if cut { "at least " } else { "" };
            let count = grouped(places.len() as u64);
            lines.push(line(
                view,
                &format!("{least}{count} × {}", in_words(why)),
                places,
            ));
        }
    }
    let mut unused = Vec::new();
    for (id, hits) in hits(view.comparison, view.rules) {
        if hits == 0 {
            unused.push(id);
            continue;
        }
        let places = reasons.get(format!("rule:{id}").as_str());
        let words = format!("{} × by rule {}", grouped(hits), shown(id));
        lines.push(line(view, &words, places.map_or(&[], Vec::as_slice)));
    }
    if !headers.is_empty() {
        lines.push(format!(
            "headers that differ by nature: {}",
            names(&headers)
        ));
    }
    for line in lines {
        writeln!(out, "{}", styled(DIM, format_args!("equal: {line}")))?;
    }
    if !unused.is_empty() {
        let rules = plural(unused.len() as u64, "rule", "rules");
        let note = styled(OPEN, format_args!("{rules} excused nothing here"));
        writeln!(out, "{note}: {}", names(&unused))?;
    }
    Ok(())
}

/// A reason with the first places where it holds.
fn line(view: &View<'_>, words: &str, places: &[&Tolerated]) -> String {
    let shown = places.iter().take(MAX_PLACES);
    let mut named: Vec<String> = shown
        .map(|tolerated| view.place(tolerated.part, &tolerated.path))
        .collect();
    if places.len() > MAX_PLACES {
        named.push("…".to_owned());
    }
    let room = if view.all {
        usize::MAX
    } else {
        view.width.saturating_sub("equal: ".len())
    };
    visible_up_to(&format!("{words}: {}", named.join(", ")), room)
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

fn in_words(why: &str) -> String {
    match why {
        "equal_decimal" => "the same number in other digits".to_owned(),
        "equal_string" => "the same text, escaped in another way".to_owned(),
        "final_newline" => "a newline at the very end".to_owned(),
        "byte_order_mark" => "a byte order mark".to_owned(),
        other => shown(other),
    }
}
