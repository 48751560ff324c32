//! Values of a difference, one under the other or alone.
//!
//! Of two values that differ in a few characters, the text around those is shown. A value that only one side has is laid out
//! over lines. JSON numbers and strings are shown as they were written, never parsed. Everything is made [`visible`] first.

use parity_schemas::visible::{visible, visible_up_to, visible_value};

use super::alike;
use super::changed::Changed;
use super::pretty;
use super::rows::{Ink, Room, Row};
use crate::view::words::grouped;

impl Room {
    /// Whether every value is shown in one line.
    pub(super) fn is_flat(self) -> bool {
        self.value_lines <= 1
    }
}

/// Both values of a difference, with the bytes that each has as a whole, where that is known of one that is cut.
pub(super) fn both(
    legacy: &str,
    candidate: &str,
    whole: [Option<usize>; 2],
    room: Room,
) -> Vec<Row> {
    if is_container(legacy) || is_container(candidate) {
        let mut rows = alone(Ink::Legacy, legacy, room);
        rows.extend(alone(Ink::Candidate, candidate, room));
        return rows;
    }
    let (one, two) = alike(legacy, candidate);
    let changed = Changed::between(&one, &two);
    let mut rows: Vec<Row> = Ink::SIDES
        .into_iter()
        .zip(whole)
        .map(|(side, whole)| Row::of_changed(side, &changed, " ", whole, room))
        .collect();
    if !changed.any() {
        rows.push(Row::remark(
            "  the beginnings are the same; the difference lies beyond what is kept of them",
        ));
    }
    rows
}

/// A value that only one side has.
pub(super) fn alone(side: Ink, value: &str, room: Room) -> Vec<Row> {
    if room.is_flat() {
        return vec![Row::of_side(side, visible_value(value, room.line))];
    }
    if !is_container(value) {
        return vec![Row::of_side(side, visible_up_to(value, room.line))];
    }
    let mut pretty = pretty::lines(value, room.wrap, room.value_lines);
    if pretty.more == 1 {
        // Replacing a single line by a mark saves nothing.
        pretty = pretty::lines(value, room.wrap, room.value_lines + 1);
    }
    let lines = pretty.lines.iter();
    let mut rows: Vec<Row> = lines
        .map(|line| Row::of_side(side, visible_up_to(line, room.line)))
        .collect();
    if pretty.more > 0 {
        let more = grouped(pretty.more as u64);
        rows.push(Row::remark(format!("  … {more} more lines")));
    }
    rows
}

/// Two values without layout, and without marks of what changed.
pub(super) fn apart(texts: [&str; 2], room: Room) -> Vec<Row> {
    Ink::SIDES
        .into_iter()
        .zip(texts)
        .map(|(side, text)| Row::of_side(side, visible_value(text, room.line)))
        .collect()
}

fn is_container(value: &str) -> bool {
    value.starts_with(['{', '['])
}

/// A line that is the same on both sides.
pub(super) fn context(text: &str, room: Room) -> String {
    if room.line == usize::MAX {
        visible(text)
    } else {
        visible_up_to(text, room.line)
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::plain;
    use super::*;

    const ROOM: Room = Room {
        line: 40,
        wrap: 40,
        value_lines: 12,
        diff_lines: 60,
        elements: 12,
    };

    fn shown(legacy: &str, candidate: &str, room: Room) -> String {
        plain(&both(legacy, candidate, [None; 2], room))
    }

    #[test]
    fn of_a_value_that_is_cut_already_only_the_true_length_is_told() {
        let cut = format!("\"{}…", "x".repeat(90));
        let rows = |whole| plain(&both(&cut, "\"y\"", [whole, None], ROOM));
        let begin = format!("\"{}…", "x".repeat(39));
        assert_eq!(
            rows(Some(1_000_003)),
            format!("- {begin} (1,000,003 bytes)\n+ \"y\"\n")
        );
        // Of a record only the begin is known.
        assert_eq!(
            rows(None),
            format!("- {begin} (more than 91 characters)\n+ \"y\"\n")
        );
    }

    #[test]
    fn long_values_are_shown_around_what_differs() {
        let long = |end: &str| format!("\"{}{end}{}\"", "a".repeat(200), "b".repeat(300));
        assert_eq!(
            shown(&long("1"), &long("2"), ROOM),
            "- …aaaaaaaaaa1bbbbbbbbbb… (503 characters)\n\
             + …aaaaaaaaaa2bbbbbbbbbb… (503 characters)\n"
        );
        let whole = Room {
            line: usize::MAX,
            ..ROOM
        };
        let all = format!("- {}\n+ {}\n", long("1"), long("2"));
        assert_eq!(shown(&long("1"), &long("2"), whole), all);
    }

    #[test]
    fn a_changed_stretch_without_end_is_cut() {
        let text = shown(&"x".repeat(90_000), "y", ROOM);
        assert_eq!(
            text,
            format!("- {}… (90,000 characters)\n+ y\n", "x".repeat(40))
        );
    }

    #[test]
    fn escapes_that_mean_the_same_are_no_change() {
        assert_eq!(
            shown(r#""a\u003cb \u00e9""#, "\"a<b e\"", ROOM),
            "- \"a<b é\"\n+ \"a<b e\"\n"
        );
        assert_eq!(
            shown(r#""\ud800""#, "\"x\"", ROOM),
            "- \"\\ud800\"\n+ \"x\"\n"
        );
    }

    #[test]
    fn values_that_are_cut_before_they_differ_say_so() {
        assert!(shown("\"aaa…", "\"aaa…", ROOM).contains("lies beyond"));
    }
}
