//! Diffs by line: of texts, of strings of several lines, of the elements of a reordered array.

use parity_schemas::verdict::TextDiff;

use super::changed::Changed;
use super::order::{Order, Step};
use super::rows::{Ink, Room, Row};
use super::value::context;
use crate::view::words::grouped;

/// A unified diff. Where each removed line has an added one beside it, the changed parts are marked.
pub(crate) fn unified(diff: &TextDiff, room: Room) -> Vec<Row> {
    let lines: Vec<&str> = diff.lines.lines().collect();
    let limit = room.diff_lines;
    let mut rows = Vec::new();
    let mut at = 0;
    while at < lines.len().min(limit) {
        let run = |from: usize, sign: char| {
            let run = lines[from..].iter();
            run.take_while(|line| line.starts_with(sign)).count()
        };
        let removed = run(at, '-');
        let added = run(at + removed, '+');
        if removed + added == 0 {
            rows.push(other(lines[at], room));
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
        for (side, block) in Ink::SIDES.into_iter().zip([legacy, candidate]) {
            let shown = if removed + added > limit - at {
                block.len().min(fits)
            } else {
                block.len()
            };
            for (position, line) in block.iter().take(shown).enumerate() {
                rows.push(match pairs.get(position) {
                    Some(changed) => Row::of_changed(side, changed, "", None, room),
                    None => Row::of_both(side, context(line, room)),
                });
            }
        }
        at += removed + added;
    }
    if diff.is_cut || limit < lines.len() {
        let (removed, added) = diff.counts();
        rows.push(Row::remark(format!(
            "… cut here; in all {} lines are removed and {} added{}",
            grouped(removed),
            grouped(added),
            if diff.is_cut { " at least" } else { "" }
        )));
    }
    rows
}

/// A line that belongs to neither side: a header, context, a remark.
fn other(line: &str, room: Room) -> Row {
    let ink = if line.starts_with("@@") {
        Ink::Place
    } else {
        Ink::Faint
    };
    Row::of_both(ink, context(line, room))
}

fn behind_sign(line: &str) -> &str {
    line.get(1..).unwrap_or_default()
}

/// A reordered array: which elements have moved.
pub(super) fn order(order: &Order, room: Room) -> Vec<Row> {
    let steps = order.steps();
    if steps.len() <= room.elements {
        let in_place = |text: &str| Row::remark(format!("  {}", context(text, room)));
        return steps
            .into_iter()
            .map(|step| match step {
                Step::InPlace(text) => in_place(text),
                Step::MoreInPlace(count) => in_place(&format!("… {count} more in place")),
                Step::Removed(text) => Row::of_side(Ink::Legacy, context(text, room)),
                Step::Added(text) => Row::of_side(Ink::Candidate, context(text, room)),
            })
            .collect();
    }
    let (from, rest) = order.parted();
    let mut rows: Vec<Row> = Ink::SIDES
        .into_iter()
        .zip(rest)
        .map(|(side, texts)| Row::of_side(side, context(&texts, room)))
        .collect();
    let from = grouped(from as u64);
    rows.push(Row::remark(format!("  from element {from} on")));
    rows
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::plain;
    use super::*;

    const ROOM: Room = Room {
        line: 78,
        wrap: 78,
        value_lines: 12,
        diff_lines: 60,
        elements: 12,
    };

    fn reordered(legacy: &str, candidate: &str) -> String {
        let found = Order::of(legacy, candidate).expect("two arrays");
        plain(&order(&found, ROOM))
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
            let text = reordered(legacy, candidate);
            assert_eq!(text, expected);
        }
        let many: Vec<String> = (0..400).map(|number| number.to_string()).collect();
        let back: Vec<String> = many.iter().rev().cloned().collect();
        let [many, back] = [many, back].map(|list| format!("[{}]", list.join(",")));
        let text = reordered(&many, &back);
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
        let text = plain(&unified(&diff(&text), ROOM));
        assert!(text.lines().count() <= ROOM.diff_lines + 2, "{text}");
        assert!(
            text.ends_with("500 lines are removed and 500 added\n"),
            "{text}"
        );
        let all = Room {
            line: usize::MAX,
            diff_lines: usize::MAX,
            ..ROOM
        };
        let text = plain(&unified(&diff("@@ -1,1 +1,1 @@\n-a…\n+b\n…"), all));
        assert!(
            text.ends_with("+b\n… cut here; in all 1 lines are removed and 1 added at least\n"),
            "{text}"
        );
        let block = format!("{}{}", "-a\n".repeat(1_000), "+b\n".repeat(1_000));
        let text = plain(&unified(&diff(&block), ROOM));
        assert!(text.contains("-a\n+b\n"), "both sides are seen: {text}");
        assert!(text.lines().count() <= ROOM.diff_lines + 2, "{text}");
    }
}
