//! Diffs by line: of texts, of strings of several lines, of the elements of a reordered array.

use std::fmt::Write;

use parity_schemas::verdict::TextDiff;

use super::Layout;
use super::value::{Side, context, spans};
use crate::terminal::{DIM, PLACE, styled};
use crate::view::diff::changed::Changed;
use crate::view::diff::{Order, Step};
use crate::view::words::grouped;

/// Lines shown of one unified diff: a screen.
const MAX_LINES: usize = 60;
/// Lines shown of a reordered array.
const MAX_ELEMENTS: usize = 12;

/// A unified diff in colours. Where each removed line has an added one beside it, the changed parts are marked.
pub(super) fn unified(out: &mut String, diff: &TextDiff, layout: Layout) -> std::fmt::Result {
    let lines: Vec<&str> = diff.lines.lines().collect();
    let limit = if layout.all { usize::MAX } else { MAX_LINES };
    let mut at = 0;
    while at < lines.len().min(limit) {
        let run = |from: usize, sign: char| {
            let run = lines[from..].iter();
            run.take_while(|line| line.starts_with(sign)).count()
        };
        let removed = run(at, '-');
        let added = run(at + removed, '+');
        if removed + added == 0 {
            writeln!(out, "{}", other(lines[at], layout))?;
            at += 1;
            continue;
        }
        let (legacy, rest) = lines[at..].split_at(removed);
        let candidate = &rest[..added];
        // Of a block that does not fit, the first removed and the first added lines are shown.
        let fits = (limit - at).max(2) / 2;
        let pairs: Vec<Changed<'_>> = legacy
            .iter()
            .zip(candidate)
            .take(if removed == added { fits } else { 0 })
            .map(|(one, two)| Changed::between(behind_sign(one), behind_sign(two)))
            .collect();
        for (side, block) in Side::BOTH.into_iter().zip([legacy, candidate]) {
            let shown = if removed + added > limit - at {
                block.len().min(fits)
            } else {
                block.len()
            };
            for (position, line) in block.iter().take(shown).enumerate() {
                match pairs.get(position) {
                    Some(changed) => writeln!(out, "{}", spans(side, changed, "", layout))?,
                    None => writeln!(out, "{}", styled(side.style(), context(line, layout)))?,
                }
            }
        }
        at += removed + added;
    }
    if diff.is_cut || limit < lines.len() {
        let (removed, added) = diff.counts();
        let note = format!(
            "… cut here; in all {} lines are removed and {} added{}",
            grouped(removed),
            grouped(added),
            if diff.is_cut { " at least" } else { "" }
        );
        writeln!(out, "{}", styled(DIM, note))?;
    }
    Ok(())
}

/// A line that belongs to neither side: a header, context, a remark.
fn other(line: &str, layout: Layout) -> String {
    let style = if line.starts_with("@@") { PLACE } else { DIM };
    styled(style, context(line, layout))
}

fn behind_sign(line: &str) -> &str {
    line.get(1..).unwrap_or_default()
}

/// A reordered array: which elements have moved.
pub(super) fn order(out: &mut String, order: &Order, layout: Layout) -> std::fmt::Result {
    let steps = order.steps();
    if steps.len() <= MAX_ELEMENTS || layout.all {
        let dim = |text: &str| styled(DIM, format_args!("  {}", context(text, layout)));
        return steps.into_iter().try_for_each(|step| {
            let line = match step {
                Step::InPlace(text) => dim(text),
                Step::MoreInPlace(count) => dim(&format!("… {count} more in place")),
                Step::Removed(text) => Side::Legacy.line(&context(text, layout)),
                Step::Added(text) => Side::Candidate.line(&context(text, layout)),
            };
            writeln!(out, "{line}")
        });
    }
    let (from, rest) = order.parted();
    for (side, texts) in Side::BOTH.into_iter().zip(rest) {
        writeln!(out, "{}", side.line(&context(&texts, layout)))?;
    }
    let note = format!("  from element {} on", grouped(from as u64));
    writeln!(out, "{}", styled(DIM, note))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout {
        width: 80,
        all: false,
    };

    fn plain(write: impl FnOnce(&mut String) -> std::fmt::Result) -> String {
        let mut out = String::new();
        write(&mut out).expect("a String takes all");
        anstream::adapter::strip_str(&out).to_string()
    }

    fn reordered(out: &mut String, legacy: &str, candidate: &str) -> std::fmt::Result {
        let found = Order::of(legacy, candidate).expect("two arrays");
        order(out, &found, LAYOUT)
    }

    fn diff(text: &str) -> TextDiff {
        TextDiff::read(text)
    }

    #[test]
    fn a_reordered_array_shows_what_moved() {
        for (legacy, candidate, expected) in [
            ("[1,2,3]", "[2,3,1]", "- 1\n  2\n  3\n+ 1\n"),
            (
                r#"[{"id":1,"a":"x"},{"id":2},{"id":3}]"#,
                r#"[{"id":2},{"a":"y","id":1},{"id":3}]"#,
                "+ id 2\n  id 1\n- id 2\n  id 3\n",
            ),
            (
                "[1,2,3,4,5,6,0]",
                "[0,1,2,3,4,5,6]",
                "+ 0\n  1\n  … 4 more in place\n  6\n- 0\n",
            ),
        ] {
            let text = plain(|out| reordered(out, legacy, candidate));
            assert_eq!(text, expected);
        }
        let many: Vec<String> = (0..400).map(|number| number.to_string()).collect();
        let back: Vec<String> = many.iter().rev().cloned().collect();
        let [many, back] = [many, back].map(|list| format!("[{}]", list.join(",")));
        let text = plain(|out| reordered(out, &many, &back));
        assert!(
            text.starts_with("- 0, 1, 2, 3,") && text.contains("+ 399, 398, 397,"),
            "{text}"
        );
        assert!(text.ends_with("  from element 0 on\n"), "{text}");
    }

    #[test]
    fn a_long_diff_is_cut_and_counted() {
        let lines: Vec<String> = (0..500)
            .map(|line| format!("-old {line}\n+new {line}\n"))
            .collect();
        let text = format!("@@ -1,500 +1,500 @@\n{}", lines.concat());
        let text = plain(|out| unified(out, &diff(&text), LAYOUT));
        assert!(text.lines().count() <= MAX_LINES + 2, "{text}");
        assert!(
            text.ends_with("500 lines are removed and 500 added\n"),
            "{text}"
        );
        let all = Layout {
            all: true,
            ..LAYOUT
        };
        let text = plain(|out| unified(out, &diff("@@ -1,1 +1,1 @@\n-a…\n+b\n…"), all));
        assert!(
            text.ends_with("+b\n… cut here; in all 1 lines are removed and 1 added at least\n"),
            "{text}"
        );
        let block = format!("{}{}", "-a\n".repeat(1_000), "+b\n".repeat(1_000));
        let text = plain(|out| unified(out, &diff(&block), LAYOUT));
        assert!(text.contains("-a\n+b\n"), "both sides are seen: {text}");
        assert!(text.lines().count() <= MAX_LINES + 2, "{text}");
    }
}
