//! `--stat`: one line for each pattern, the most frequent first, as `git diff --stat` counts by file.

use std::fmt::Write;

use super::Writer;
use crate::terminal::{DIM, PLACE, styled};
use crate::view::words::{grouped, plural};

/// Patterns listed; `--all` lists every one.
const MAX_PATTERNS: usize = 100;
/// Characters of the bar of the most frequent one.
const BAR_CHARACTERS: u64 = 10;
/// A character of a bar in eighths.
const EIGHTHS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

pub(super) fn write(writer: &Writer<'_>, out: &mut String) -> std::fmt::Result {
    let groups = writer.diff.groups();
    let order = groups.by_count();
    let listed = if writer.layout.all {
        order.len()
    } else {
        MAX_PATTERNS
    };
    let first = order
        .iter()
        .take(listed)
        .map(|position| &groups.groups[*position]);
    let most = order
        .first()
        .map_or(0, |position| groups.groups[*position].count);
    let counts = grouped(most).len();
    let kinds = first.clone().map(|group| group.key.kind.as_str().len());
    let kinds = kinds.max().unwrap_or_default();
    for group in first {
        let key = &group.key;
        let near = key
            .explanation
            .map(|near| styled(DIM, format_args!("  {near}")))
            .unwrap_or_default();
        let lines = writer.diff.lines(group).map(|(removed, added)| {
            let removed = plural(removed, "line", "lines");
            format!("  {removed} removed, {} added", grouped(added))
        });
        writeln!(
            out,
            " {:>counts$} {} {:kinds$}  {}{near}{}",
            grouped(group.count),
            styled(PLACE, bar(group.count, most)),
            key.kind.as_str(),
            writer.place(group.into()),
            lines.unwrap_or_default(),
        )?;
    }
    let rest = order.get(listed..).unwrap_or_default();
    if !rest.is_empty() {
        let patterns = plural(rest.len() as u64, "pattern", "patterns");
        let count = rest.iter().map(|position| groups.groups[*position].count);
        let count = plural(count.sum(), "difference", "differences");
        let note = format!("… and {patterns} more with {count}: --all lists them");
        writeln!(out, "{}", styled(PLACE, note))?;
    }
    let patterns = plural(order.len() as u64, "pattern", "patterns");
    writeln!(out, "{}", styled(DIM, patterns))
}

/// A bar of fixed width, never empty.
fn bar(count: u64, most: u64) -> String {
    let full = BAR_CHARACTERS * 8;
    let length = (count as f64 / most.max(1) as f64 * full as f64).round() as u64;
    let length = length.clamp(1, full);
    (0..BAR_CHARACTERS)
        .map(|cell| EIGHTHS[length.saturating_sub(cell * 8).min(8) as usize])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion_and_never_empty() {
        for (count, most, expected) in [
            (10, 10, "██████████"),
            (5, 10, "█████     "),
            (1, 1_000_000, "▏         "),
            (33, 80, "████▏     "),
        ] {
            assert_eq!(bar(count, most), expected);
        }
    }
}
