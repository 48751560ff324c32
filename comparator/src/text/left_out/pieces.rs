//! Finds the parts of a text that rules name.
//!
//! Each line is looked at once for each rule, and each page is read once. What would be too much is compared whole.

use std::cmp::Reverse;
use std::ops::Range;

use crate::rules::{Action, InText, Place, Rules, Scope, Span};
use crate::text::page;

/// Most pieces of a text, about twenty bytes each: two for every line of a text of a quarter of a million lines. A text with
/// more is compared whole.
pub(super) const MAX_PIECES: usize = 1 << 19;
/// Longest line in which an expression is looked for, or columns are counted. People write no longer ones, and what is found
/// somewhere in a megabyte says little about it.
const MAX_LINE_BYTES: usize = 64 << 10;
/// A part of a text that a rule names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// With the white space before a column.
    pub(super) start: u32,
    pub(super) value: u32,
    pub(super) end: u32,
    pub(super) rule: u16,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// A line that is left out, with its end.
    Line,
    /// A value, which the other text must have, too.
    Value,
    /// White space.
    Blank,
}

impl Piece {
    pub(super) fn span(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(super) fn value<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.value as usize..self.end as usize)
            .unwrap_or_default()
    }
}

/// What all rules name in a text, in its order. What lies in another piece is left out with it; `None` if it is too much.
pub(super) fn pieces(text: &str, scope: &Scope, rules: &Rules) -> Option<Vec<Piece>> {
    let mut found = Found {
        text,
        pieces: Vec::new(),
    };
    for (rule, action) in scope.in_text(rules) {
        match action {
            Action::Parts(parts) => {
                let captured = parts.captured(text.as_bytes()).unwrap_or_default();
                for part in captured {
                    found.value(rule, part);
                }
            }
            Action::InText(named) => found.named(rule, named),
            _ => {}
        }
        if found.pieces.len() > MAX_PIECES {
            return None;
        }
    }
    let mut pieces = found.pieces;
    pieces.sort_unstable_by_key(|piece| (piece.start, Reverse(piece.end), piece.what, piece.rule));
    let mut end = 0;
    pieces.retain(|piece| {
        let stands = piece.start >= end;
        if stands {
            end = piece.end;
        }
        stands
    });
    Some(pieces)
}

struct Found<'t> {
    text: &'t str,
    pieces: Vec<Piece>,
}

impl Found<'_> {
    fn push(&mut self, rule: u16, what: What, start: usize, value: Range<usize>) {
        // The text is shorter than what 32 bits can count.
        self.pieces.push(Piece {
            start: start as u32,
            value: value.start as u32,
            end: value.end as u32,
            rule,
            what,
        });
    }

    fn value(&mut self, rule: u16, value: Range<usize>) {
        self.push(rule, What::Value, value.start, value);
    }

    fn named(&mut self, rule: u16, named: &InText) {
        let (lines, span) = match &named.place {
            Place::Attribute(selector) => {
                let values = page::values(self.text, selector);
                for value in values {
                    self.value(rule, value);
                }
                return;
            }
            Place::Lines(lines, span) => (lines, *span),
        };
        let mut start = 0;
        for (number, whole) in self.text.split_inclusive('\n').enumerate() {
            let end = start + whole.len();
            let line = whole.strip_suffix('\n').unwrap_or(whole);
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.len() <= MAX_LINE_BYTES && lines.has(number + 1, line) {
                match span {
                    Span::Whole if matches!(named.action, Action::Ignore) => {
                        self.push(rule, What::Line, start, start..end);
                    }
                    Span::Whole => self.value(rule, start..start + line.len()),
                    Span::Column(column) => self.column(rule, start, line, column),
                    Span::Characters(first, last) => {
                        if let Some(range) = characters(line, first, last) {
                            self.value(rule, start + range.start..start + range.end);
                        }
                    }
                }
            }
            if self.pieces.len() > MAX_PIECES {
                return;
            }
            start = end;
        }
    }

    fn column(&mut self, rule: u16, start: usize, line: &str, column: usize) {
        let bytes = line.as_bytes();
        let until = |from: usize, blank: bool| {
            let rest = bytes.get(from..).unwrap_or_default();
            let length = rest.iter().position(|byte| is_blank(*byte) == blank);
            from + length.unwrap_or(rest.len())
        };
        let (mut before, mut at) = (0, until(0, false));
        for _ in 1..column {
            if at == line.len() {
                return;
            }
            before = until(at, true);
            at = until(before, false);
        }
        let end = until(at, true);
        if at == end {
            return;
        }
        self.push(rule, What::Value, start + before, start + at..start + end);
        let next = until(end, false);
        if end < next && next < line.len() {
            self.push(rule, What::Blank, start + end, start + end..start + next);
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Where these characters of a line are, as far as it has them.
fn characters(line: &str, first: usize, last: usize) -> Option<Range<usize>> {
    let mut starts = line.char_indices().map(|(at, _)| at).skip(first - 1);
    let start = starts.next()?;
    let end = starts.nth(last - first).unwrap_or(line.len());
    Some(start..end)
}
