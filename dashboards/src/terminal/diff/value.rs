//! Values of a finding, one under the other or alone.
//!
//! Of two values that differ in a few characters, the text around those is shown. A value that only one side has is laid out
//! over lines. JSON numbers and strings are shown as they were written, never parsed. Everything is made [`visible`] first.

use std::borrow::Cow;
use std::fmt::Write;

use parity_schemas::visible::{visible, visible_up_to};

use super::Layout;
use crate::terminal::{CANDIDATE, DIM, LEGACY, styled};
use crate::view::diff::changed::{Changed, Span};
use crate::view::diff::{alike, pretty};
use crate::view::words::grouped;

/// Lines shown of a value that only one side has, and of each of two containers.
const MAX_VALUE_LINES: usize = 12;
/// What stands for characters that are left out.
const GAP: &str = "…";

impl Layout {
    /// Characters of a line after the sign of its side.
    fn line(self) -> usize {
        if self.all {
            usize::MAX
        } else {
            self.width.saturating_sub(2)
        }
    }

    fn lines(self) -> usize {
        if self.all {
            usize::MAX
        } else {
            MAX_VALUE_LINES
        }
    }
}

/// Which side a line is of.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Legacy,
    Candidate,
}

impl Side {
    pub(super) const BOTH: [Self; 2] = [Self::Legacy, Self::Candidate];

    pub(super) fn style(self) -> anstyle::Style {
        match self {
            Self::Legacy => LEGACY,
            Self::Candidate => CANDIDATE,
        }
    }

    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Legacy => "-",
            Self::Candidate => "+",
        }
    }

    /// `text`, made visible already, as a line of this side.
    pub(super) fn line(self, text: &str) -> String {
        styled(self.style(), format_args!("{} {text}", self.sign()))
    }
}

/// Both values of a finding.
pub(super) fn both(
    out: &mut String,
    [legacy, candidate]: &[Cow<'_, str>; 2],
    layout: Layout,
) -> std::fmt::Result {
    if is_container(legacy) || is_container(candidate) {
        alone(out, Side::Legacy, legacy, layout)?;
        return alone(out, Side::Candidate, candidate, layout);
    }
    let (one, two) = alike(legacy, candidate);
    let changed = Changed::between(&one, &two);
    writeln!(out, "{}", spans(Side::Legacy, &changed, " ", layout))?;
    writeln!(out, "{}", spans(Side::Candidate, &changed, " ", layout))?;
    if !changed.any() {
        let note = "  the beginnings are the same; the difference lies beyond what is kept of them";
        writeln!(out, "{}", styled(DIM, note))?;
    }
    Ok(())
}

/// A value that only one side has.
pub(super) fn alone(out: &mut String, side: Side, value: &str, layout: Layout) -> std::fmt::Result {
    if !is_container(value) {
        return writeln!(out, "{}", side.line(&visible_up_to(value, layout.line())));
    }
    let width = layout.width.saturating_sub(2);
    let mut pretty = pretty::lines(value, width, layout.lines());
    if pretty.more == 1 {
        // Replacing a single line by a mark saves nothing.
        pretty = pretty::lines(value, width, layout.lines() + 1);
    }
    for line in &pretty.lines {
        writeln!(out, "{}", side.line(&visible_up_to(line, layout.line())))?;
    }
    if pretty.more > 0 {
        let more = grouped(pretty.more as u64);
        let note = format!("  … {more} more lines");
        writeln!(out, "{}", styled(DIM, note))?;
    }
    Ok(())
}

/// Two values without layout, and without marks of what changed.
pub(super) fn apart(
    out: &mut String,
    texts: &[Cow<'_, str>; 2],
    layout: Layout,
) -> std::fmt::Result {
    for (side, text) in Side::BOTH.into_iter().zip(texts) {
        writeln!(out, "{}", side.line(&visible_up_to(text, layout.line())))?;
    }
    Ok(())
}

fn is_container(value: &str) -> bool {
    value.starts_with(['{', '['])
}

/// The line of one side, cut to the text around the changes.
pub(super) fn spans(side: Side, changed: &Changed<'_>, margin: &str, layout: Layout) -> String {
    let spans = match side {
        Side::Legacy => &changed.legacy,
        Side::Candidate => &changed.candidate,
    };
    let plain = side.style();
    let marked = if changed.are_near() {
        plain.bold().underline()
    } else {
        plain
    };
    let mut out = String::new();
    // Adjacent spans of one style are joined, so that no escape sequence splits words that a user searches for.
    let mut piece = format!("{}{margin}", side.sign());
    let mut of = plain;
    let characters: usize = spans.iter().map(|span| span.text.chars().count()).sum();
    let whole = characters <= layout.line();
    let mut left = layout.line();
    for (position, span) in spans.iter().enumerate() {
        let style = if span.changed { marked } else { plain };
        let text = if whole {
            span.revealed()
        } else {
            let (first, last) = (position == 0, position + 1 == spans.len());
            shortened(span, first, last, layout.line() / 4, &mut left)
        };
        if style != of && !text.is_empty() {
            out.push_str(&styled(of, std::mem::take(&mut piece)));
            of = style;
        }
        piece.push_str(&text);
    }
    out.push_str(&styled(of, piece));
    if !whole {
        let note = format!(" ({} characters)", grouped(characters as u64));
        out.push_str(&styled(DIM, note));
    }
    out
}

/// What is shown of a span: of an equal one the ends that are next to changes, of a changed one as much as fits.
fn shortened(span: &Span<'_>, first: bool, last: bool, context: usize, left: &mut usize) -> String {
    if *left == 0 {
        return String::new();
    }
    let length = span.text.chars().count();
    let take = |from: usize, count: usize| {
        let text: String = span.text.chars().skip(from).take(count).collect();
        Span {
            text: &text,
            changed: span.changed,
        }
        .revealed()
    };
    let out = match (span.changed, first, last) {
        (false, true, true) => format!("{}{GAP}", take(0, context * 3)),
        (false, true, _) if length > context => format!("{GAP}{}", take(length - context, context)),
        (false, _, true) if length > context => format!("{}{GAP}", take(0, context)),
        (false, false, false) if length > 2 * context => {
            format!(
                "{}{GAP}{}",
                take(0, context),
                take(length - context, context)
            )
        }
        (true, ..) if length > *left => format!("{}{GAP}", take(0, *left)),
        _ => span.revealed(),
    };
    *left = left.saturating_sub(out.chars().count());
    out
}

/// A line that is the same on both sides.
pub(super) fn context(text: &str, layout: Layout) -> String {
    if layout.all {
        visible(text)
    } else {
        visible_up_to(text, layout.line())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout {
        width: 42,
        all: false,
    };

    fn shown(legacy: &str, candidate: &str, layout: Layout) -> String {
        let mut out = String::new();
        both(&mut out, &[legacy.into(), candidate.into()], layout).expect("a String takes all");
        anstream::adapter::strip_str(&out).to_string()
    }

    #[test]
    fn long_values_are_shown_around_what_differs() {
        let long = |end: &str| format!("\"{}{end}{}\"", "a".repeat(200), "b".repeat(300));
        assert_eq!(
            shown(&long("1"), &long("2"), LAYOUT),
            "- …aaaaaaaaaa1bbbbbbbbbb… (503 characters)\n\
             + …aaaaaaaaaa2bbbbbbbbbb… (503 characters)\n"
        );
        let whole = Layout {
            all: true,
            ..LAYOUT
        };
        let all = format!("- {}\n+ {}\n", long("1"), long("2"));
        assert_eq!(shown(&long("1"), &long("2"), whole), all);
    }

    #[test]
    fn a_changed_stretch_without_end_is_cut() {
        let text = shown(&"x".repeat(90_000), "y", LAYOUT);
        assert_eq!(
            text,
            format!("- {}… (90,000 characters)\n+ y\n", "x".repeat(40))
        );
    }

    #[test]
    fn escapes_that_mean_the_same_are_no_change() {
        assert_eq!(
            shown(r#""a\u003cb \u00e9""#, "\"a<b e\"", LAYOUT),
            "- \"a<b é\"\n+ \"a<b e\"\n"
        );
        assert_eq!(
            shown(r#""\ud800""#, "\"x\"", LAYOUT),
            "- \"\\ud800\"\n+ \"x\"\n"
        );
    }

    #[test]
    fn values_that_are_cut_before_they_differ_say_so() {
        assert!(shown("\"aaa…", "\"aaa…", LAYOUT).contains("lies beyond"));
    }
}
