//! Compares texts by line.
//!
//! The bytes decide whether two texts differ, except for a newline at the very end, which editors and serializers add
//! at will. The finding shows the first lines that differ, and a unified diff. The diff is for people: the number of
//! lines it aligns is bounded, and beyond that it is left out while the finding stays.

use std::ops::Range;

use parity_schemas::verdict::{EqualByDefault, Finding, Kind, Part, Side, TextDiff, Why};
use similar::DiffOp;

use crate::collect::{Collector, Flow, excerpt, shown};
use crate::explain;
use crate::limits::Limits;
use crate::rules::{Rules, Scope};

mod left_out;
mod page;

use left_out::LeftOut;
pub(crate) use left_out::leaves_nothing;

/// Lines shown around a change.
const CONTEXT_LINES: usize = 3;

/// Compares two texts that are not the same bytes.
pub(crate) fn compare(
    legacy: &str,
    candidate: &str,
    scope: &Scope,
    out: &mut Collector<'_>,
) -> Flow {
    if final_newline_only(legacy, candidate) {
        out.tolerated(
            Part::Body,
            String::new,
            Why::Default(EqualByDefault::FinalNewline),
        );
        return Flow::Continue(());
    }
    let accepted = scope.accepting(out.rules, || {
        explain::texts(legacy.as_bytes(), candidate.as_bytes())
    });
    if let Some(rule) = accepted {
        out.excused(rule, Part::Body, String::new);
        return Flow::Continue(());
    }
    let left_out = LeftOut::of([legacy, candidate], scope, out.rules);
    let left_out = left_out.map(|texts| texts.of_answers(out.apart));
    if let Some(rules) = left_out.as_ref().and_then(LeftOut::excused) {
        for rule in rules {
            out.excused(rule, Part::Body, String::new);
        }
        return Flow::Continue(());
    }
    // A reader looks for what differs, and not for what a rule has excused.
    let shown = left_out
        .filter(|_| out.detail)
        .and_then(|left_out| left_out.shown());
    for rule in shown.iter().flat_map(|shown| &shown.rules) {
        out.excused(*rule, Part::Body, String::new);
    }
    out.finding(|limits| {
        let (legacy, candidate) = match &shown {
            Some(shown) => (shown.texts[0].as_str(), shown.texts[1].as_str()),
            None => (legacy, candidate),
        };
        let (one, two) = first_difference(legacy, candidate);
        Finding {
            part: Part::Body,
            path: String::new(),
            candidate_path: None,
            pattern: String::new(),
            kind: Kind::Value,
            legacy: line(one, limits),
            candidate: line(two, limits),
            explanation: explain::texts(legacy.as_bytes(), candidate.as_bytes()),
            text_diff: unified(legacy, candidate, limits),
        }
    })
}

/// Two texts that differ, with what rules excuse in one spelling.
pub(crate) fn for_a_reader(texts: [&str; 2], scope: &Scope, rules: &Rules) -> Option<[String; 2]> {
    Some(LeftOut::of(texts, scope, rules)?.shown()?.texts)
}

fn line(line: Option<&str>, limits: &Limits) -> Side {
    Side::Line(excerpt(
        line.unwrap_or_default().as_bytes(),
        limits.value_bytes,
    ))
}

fn final_newline_only(legacy: &str, candidate: &str) -> bool {
    let trimmed = |text: &'_ str| -> usize {
        let text = text.strip_suffix('\n').unwrap_or(text);
        text.strip_suffix('\r').unwrap_or(text).len()
    };
    let (one, two) = (trimmed(legacy), trimmed(candidate));
    one == two && legacy.as_bytes()[..one] == candidate.as_bytes()[..two]
}

/// The first lines that differ, without line ends; `None` for a side that has no more lines.
pub(crate) fn first_difference<'a>(
    legacy: &'a str,
    candidate: &'a str,
) -> (Option<&'a str>, Option<&'a str>) {
    let (mut one, mut two) = (
        legacy.split_inclusive('\n'),
        candidate.split_inclusive('\n'),
    );
    loop {
        let (first, second) = (one.next(), two.next());
        if first != second || first.is_none() {
            let line =
                |line: Option<&'a str>| line.map(|line| line.strip_suffix('\n').unwrap_or(line));
            return (line(first), line(second));
        }
    }
}

/// A unified diff, cut at whole lines; `None` when it would be too much work.
pub fn unified(legacy: &str, candidate: &str, limits: &Limits) -> Option<TextDiff> {
    let one: Vec<&str> = legacy.split_inclusive('\n').collect();
    let two: Vec<&str> = candidate.split_inclusive('\n').collect();
    let prefix = one
        .iter()
        .zip(&two)
        .take_while(|(one, two)| one == two)
        .count();
    let rest = one.len().min(two.len()) - prefix;
    let suffix = one
        .iter()
        .rev()
        .zip(two.iter().rev())
        .take(rest)
        .take_while(|(one, two)| one == two)
        .count();
    if one.len().max(two.len()) - prefix - suffix > limits.text_diff_lines {
        return None;
    }
    let from = prefix.saturating_sub(CONTEXT_LINES);
    let until = |length: usize| length - suffix.saturating_sub(CONTEXT_LINES);
    let (old, new) = (&one[from..until(one.len())], &two[from..until(two.len())]);
    let diff = similar::TextDiff::from_slices(old, new);
    let mut out = String::new();
    for hunk in diff
        .unified_diff()
        .context_radius(CONTEXT_LINES)
        .iter_hunks()
    {
        out.push_str(&hunk_header(hunk.ops(), from));
        for change in hunk.iter_changes() {
            let line = change.value();
            out.push_str(&change.tag().to_string());
            let shown_line = line.strip_suffix('\n').unwrap_or(line);
            out.push_str(&shown(shown_line.as_bytes(), limits.value_bytes));
            out.push('\n');
            if !line.ends_with('\n') {
                out.push_str("\\ No newline at end of file\n");
            }
            if out.len() > limits.text_diff_bytes {
                return Some(cut(out, limits.text_diff_bytes));
            }
        }
    }
    Some(TextDiff {
        lines: out,
        is_cut: false,
    })
}

/// `@@ -first,count +first,count @@`, counted from the start of the texts.
fn hunk_header(ops: &[DiffOp], skipped: usize) -> String {
    let span = |range: &dyn Fn(&DiffOp) -> Range<usize>| {
        let start = ops.first().map_or(0, |op| range(op).start);
        let end = ops.last().map_or(0, |op| range(op).end);
        format!("{},{}", skipped + start + 1, end - start)
    };
    format!(
        "@@ -{} +{} @@\n",
        span(&DiffOp::old_range),
        span(&DiffOp::new_range)
    )
}

fn cut(mut text: String, limit: usize) -> TextDiff {
    let kept = text.as_bytes()[..limit.min(text.len())]
        .iter()
        .rposition(|byte| *byte == b'\n');
    text.truncate(kept.map_or(0, |newline| newline + 1));
    TextDiff {
        lines: text,
        is_cut: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_the_change_in_its_place() {
        let one = "a\nb\nc\nd\ne\nf\ng\n";
        let two = "a\nb\nc\nd\nE\nf\ng\n";
        assert_eq!(
            unified(one, two, &Limits::default()).map(|diff| diff.to_string()),
            Some("@@ -2,6 +2,6 @@\n b\n c\n d\n-e\n+E\n f\n g\n".to_owned())
        );
        assert_eq!(first_difference(one, two), (Some("e"), Some("E")));
        assert_eq!(first_difference("a\n", "a\nb"), (None, Some("b")));
    }

    #[test]
    fn a_long_diff_is_cut_at_a_line_and_one_without_bounds_left_out() {
        let lines = |word: &str| {
            let lines: Vec<String> = (0..1_500).map(|line| format!("{word} {line}\n")).collect();
            lines.concat()
        };
        let (one, two) = (lines("old"), lines("new"));
        let diff = unified(&one, &two, &Limits::default()).expect("within bounds");
        assert!(diff.is_cut && diff.lines.len() <= 8_192 && diff.lines.ends_with('\n'));
        assert!(unified(&one.repeat(2), &two, &Limits::default()).is_none());
    }
}
