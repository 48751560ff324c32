//! Diffs by line: of texts, of strings of several lines, of the elements of a reordered array.

use std::fmt::Write;

use parity_comparator::Limits;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::changed::Changed;
use super::pretty::{elements, member};
use super::value::{self, Room, Side, context, spans};
use crate::output::{DIM, PLACE, grouped, styled};

/// Lines shown of one unified diff: a screen.
const MAX_LINES: usize = 60;
/// Lines shown of a reordered array.
const MAX_ELEMENTS: usize = 12;
/// Elements in a row that are at their place and still shown.
const MAX_IN_PLACE: usize = 3;
/// Elements of a reordered array that are aligned: some milliseconds when none is at its place.
const MAX_ALIGNED_ELEMENTS: usize = 500;
/// The last line of a diff that the comparator has cut.
const CUT_MARK: &str = "…";
/// The field by which elements are named, when all have it; the comparator pairs them by it, too.
const IDENTITY: &str = "id";

/// Lines that a unified diff removes and adds.
pub(super) fn counts(diff: &str) -> (u64, u64) {
    let count = |sign| diff.lines().filter(|line| line.starts_with(sign)).count() as u64;
    (count('-'), count('+'))
}

/// Whether a diff is of one line each, which their values show better.
pub(super) fn is_one_line(diff: &str) -> bool {
    let mut lines = diff.lines().filter(|line| !line.starts_with('\\'));
    let signs = [lines.next(), lines.next(), lines.next()];
    let is = |line: Option<&str>, sign| line.is_some_and(|line| line.starts_with(sign));
    is(signs[0], "@@") && is(signs[1], "-") && is(signs[2], "+") && lines.next().is_none()
}

/// A unified diff in colours, with what changed within a line marked where lines replace each other one by one.
pub(super) fn unified(out: &mut String, diff: &str, room: Room) -> std::fmt::Result {
    let mut lines: Vec<&str> = diff.lines().collect();
    // Every line of a diff begins with a sign or a space, but for the mark of one that was cut.
    let was_cut = lines.pop_if(|last| *last == CUT_MARK).is_some();
    let limit = if room.all { usize::MAX } else { MAX_LINES };
    let mut at = 0;
    while at < lines.len().min(limit) {
        let run = |from: usize, sign: char| {
            let run = lines[from..].iter();
            run.take_while(|line| line.starts_with(sign)).count()
        };
        let removed = run(at, '-');
        let added = run(at + removed, '+');
        if removed + added == 0 {
            writeln!(out, "{}", other(lines[at], room))?;
            at += 1;
            continue;
        }
        let (legacy, rest) = lines[at..].split_at(removed);
        let candidate = &rest[..added];
        // A block that does not fit is shown from both of its sides.
        let fits = (limit - at).max(2) / 2;
        let pairs: Vec<Changed<'_>> = legacy
            .iter()
            .zip(candidate)
            .take(if removed == added { fits } else { 0 })
            .map(|(one, two)| Changed::between(behind_sign(one), behind_sign(two)))
            .collect();
        for (side, block) in [(Side::Legacy, legacy), (Side::Candidate, candidate)] {
            let shown = if removed + added > limit - at {
                block.len().min(fits)
            } else {
                block.len()
            };
            for (position, line) in block.iter().take(shown).enumerate() {
                match pairs.get(position) {
                    Some(changed) => writeln!(out, "{}", spans(side, changed, "", room))?,
                    None => writeln!(out, "{}", styled(side.style(), context(line, room)))?,
                }
            }
        }
        at += removed + added;
    }
    if was_cut || limit < lines.len() {
        let (removed, added) = counts(diff);
        let note = format!(
            "… cut here; in all {} lines are removed and {} added{}",
            grouped(removed),
            grouped(added),
            if was_cut { " at least" } else { "" }
        );
        writeln!(out, "{}", styled(DIM, note))?;
    }
    Ok(())
}

/// A line that is of neither side: a header, context, a remark.
fn other(line: &str, room: Room) -> String {
    let style = if line.starts_with("@@") { PLACE } else { DIM };
    styled(style, context(line, room))
}

fn behind_sign(line: &str) -> &str {
    line.get(1..).unwrap_or_default()
}

/// Two strings, at least one of them of several lines; false when they are none.
pub(super) fn strings(
    out: &mut String,
    legacy: &str,
    candidate: &str,
    limits: &Limits,
    room: Room,
) -> Result<bool, std::fmt::Error> {
    let (Some(one), Some(two)) = (value::string(legacy), value::string(candidate)) else {
        return Ok(false);
    };
    let inner = |text: &str| text.trim_end_matches('\n').contains('\n');
    if !inner(&one) && !inner(&two) {
        return Ok(false);
    }
    let Some(diff) = parity_comparator::text::unified(&one, &two, limits) else {
        return Ok(false);
    };
    unified(out, &diff, room)?;
    Ok(true)
}

/// An array in another order: which elements are at another place. `legacy` and `candidate` may be cut.
pub(super) fn order(
    out: &mut String,
    legacy: &str,
    candidate: &str,
    room: Room,
) -> std::fmt::Result {
    let (one, two) = (elements(legacy), elements(candidate));
    if one.is_empty() || two.is_empty() {
        return value::apart(out, legacy, candidate, room);
    }
    let (first, second) = (names(&one), names(&two));
    let (first, second) = match (first, second) {
        (Some(first), Some(second)) => (first, second),
        _ => (texts(&one), texts(&two)),
    };
    let first = &first[..first.len().min(MAX_ALIGNED_ELEMENTS)];
    let second = &second[..second.len().min(MAX_ALIGNED_ELEMENTS)];
    let dim = |text: &str| styled(DIM, format_args!("  {}", context(text, room)));
    let mut lines = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, first, second) {
        match op {
            DiffOp::Equal { old_index, len, .. } if len > MAX_IN_PLACE => {
                lines.push(dim(&first[old_index]));
                lines.push(dim(&format!("… {} more in place", len - 2)));
                lines.push(dim(&first[old_index + len - 1]));
            }
            DiffOp::Equal { old_index, len, .. } => {
                let same = &first[old_index..old_index + len];
                lines.extend(same.iter().map(|text| dim(text)));
            }
            op => {
                for (side, moved) in [
                    (Side::Legacy, &first[op.old_range()]),
                    (Side::Candidate, &second[op.new_range()]),
                ] {
                    lines.extend(moved.iter().map(|text| side.line(&context(text, room))));
                }
            }
        }
    }
    if lines.len() <= MAX_ELEMENTS || room.all {
        return lines.iter().try_for_each(|line| writeln!(out, "{line}"));
    }
    // Too much has moved for every step to be of use: how both go on where they part.
    let same = first.iter().zip(second).take_while(|(one, two)| one == two);
    let from = same.count();
    for (side, texts) in [(Side::Legacy, first), (Side::Candidate, second)] {
        let texts = texts.get(from..).unwrap_or_default().join(", ");
        writeln!(out, "{}", side.line(&context(&texts, room)))?;
    }
    let note = format!("  from element {} on", grouped(from as u64));
    writeln!(out, "{}", styled(DIM, note))
}

/// What the elements are called, when each has a name.
fn names(elements: &[&str]) -> Option<Vec<String>> {
    let name = |element: &&str| Some(format!("{IDENTITY} {}", member(element, IDENTITY)?));
    elements.iter().map(name).collect()
}

fn texts(elements: &[&str]) -> Vec<String> {
    elements
        .iter()
        .map(|element| (*element).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room {
        width: 80,
        all: false,
    };

    fn plain(write: impl FnOnce(&mut String) -> std::fmt::Result) -> String {
        let mut out = String::new();
        write(&mut out).expect("a String takes all");
        anstream::adapter::strip_str(&out).to_string()
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
            let text = plain(|out| order(out, legacy, candidate, ROOM));
            assert_eq!(text, expected);
        }
        let many: Vec<String> = (0..400).map(|number| number.to_string()).collect();
        let back: Vec<String> = many.iter().rev().cloned().collect();
        let [many, back] = [many, back].map(|list| format!("[{}]", list.join(",")));
        let text = plain(|out| order(out, &many, &back, ROOM));
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
        let diff = format!("@@ -1,500 +1,500 @@\n{}", lines.concat());
        let text = plain(|out| unified(out, &diff, ROOM));
        assert!(text.lines().count() <= MAX_LINES + 2, "{text}");
        assert!(
            text.ends_with("500 lines are removed and 500 added\n"),
            "{text}"
        );
        let all = Room { all: true, ..ROOM };
        let text = plain(|out| unified(out, "@@ -1,1 +1,1 @@\n-a…\n+b\n…", all));
        assert!(
            text.ends_with("+b\n… cut here; in all 1 lines are removed and 1 added at least\n"),
            "{text}"
        );
        let block = format!("{}{}", "-a\n".repeat(1_000), "+b\n".repeat(1_000));
        let text = plain(|out| unified(out, &block, ROOM));
        assert!(text.contains("-a\n+b\n"), "both sides are seen: {text}");
        assert!(text.lines().count() <= MAX_LINES + 2, "{text}");
    }
}
