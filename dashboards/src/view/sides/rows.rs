//! What is drawn of two sides: lines without markup and colour, each of a side or of neither, in which what changed is
//! marked. Their text is visible already.

use parity_schemas::side::CUT_MARK;

use super::changed::{Changed, Span};
use crate::view::words::grouped;

/// What stands for characters that are left out.
const GAP: &str = "…";

/// How much is shown.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    /// Characters of a line behind the sign of its side; a longer one is cut.
    pub(crate) line: usize,
    /// Characters that a line of a value that is laid out should have.
    pub(crate) wrap: usize,
    /// Lines of a value that is laid out. If it is one, no value is.
    pub(crate) value_lines: usize,
    /// Lines of a diff of two texts.
    pub(crate) diff_lines: usize,
    /// Lines of a reordered array.
    pub(crate) elements: usize,
}

/// What a line is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// The legacy.
    Legacy,
    /// The candidate.
    Candidate,
    /// Neither: where the next lines stand.
    Place,
    /// Neither: what is the same on both sides, or a remark.
    Faint,
}

/// How a part of a line stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Not at all.
    Plain,
    /// It is what changed.
    Changed,
    /// It is a remark on the line.
    Remark,
}

/// A part of a line.
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) weight: Weight,
}

/// One line.
pub(crate) struct Row {
    pub(crate) ink: Ink,
    /// The sign that a unified diff begins such a line with.
    pub(crate) sign: &'static str,
    pub(crate) pieces: Vec<Piece>,
}

impl Ink {
    /// The two sides.
    pub(super) const SIDES: [Self; 2] = [Self::Legacy, Self::Candidate];

    fn sign(self) -> &'static str {
        match self {
            Self::Legacy => "-",
            Self::Candidate => "+",
            Self::Place | Self::Faint => "",
        }
    }

    /// The name that a style sheet has for it.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Candidate => "candidate",
            Self::Place => "place",
            Self::Faint => "faint",
        }
    }
}

impl Piece {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            weight: Weight::Plain,
        }
    }

    fn remark(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            weight: Weight::Remark,
        }
    }
}

impl Row {
    /// A line of neither side, visible already.
    pub(super) fn of_both(ink: Ink, text: impl Into<String>) -> Self {
        Self {
            ink,
            sign: "",
            pieces: vec![Piece::plain(text)],
        }
    }

    /// A remark.
    pub(super) fn remark(text: impl Into<String>) -> Self {
        Self::of_both(Ink::Faint, text)
    }

    /// A line of one side, visible already.
    pub(super) fn of_side(side: Ink, text: impl Into<String>) -> Self {
        Self::in_pieces(side, vec![Piece::plain(text)])
    }

    /// The same, in pieces.
    pub(super) fn in_pieces(side: Ink, mut pieces: Vec<Piece>) -> Self {
        match pieces.first_mut() {
            Some(first) if first.weight == Weight::Plain => first.text.insert(0, ' '),
            _ => pieces.insert(0, Piece::plain(" ")),
        }
        Self {
            ink: side,
            sign: side.sign(),
            pieces,
        }
    }

    /// That a side has nothing there.
    pub(super) fn absent(side: Ink) -> Self {
        Self {
            ink: side,
            sign: side.sign(),
            pieces: vec![Piece::remark(" (absent)")],
        }
    }

    /// The line of one side of two that were compared, cut to the text around the changes. `margin` follows the sign;
    /// `whole` is how many bytes the value has, if it is known that only its begin is here.
    pub(super) fn of_changed(
        side: Ink,
        changed: &Changed<'_>,
        margin: &'static str,
        whole: Option<usize>,
        room: Room,
    ) -> Self {
        let spans = match side {
            Ink::Candidate => &changed.candidate,
            _ => &changed.legacy,
        };
        let marked = if changed.are_near() {
            Weight::Changed
        } else {
            Weight::Plain
        };
        // Adjacent spans of one weight are joined, so that no markup splits words that a user searches for.
        let mut pieces = vec![Piece::plain(margin)];
        let characters: usize = spans.iter().map(|span| span.text.chars().count()).sum();
        let fits = characters <= room.line;
        let mut left = room.line;
        for (position, span) in spans.iter().enumerate() {
            let weight = if span.changed { marked } else { Weight::Plain };
            let text = if fits {
                span.revealed()
            } else {
                let (first, last) = (position == 0, position + 1 == spans.len());
                shortened(span, first, last, room.line / 4, &mut left)
            };
            match pieces.last_mut() {
                Some(piece) if piece.weight == weight => piece.text.push_str(&text),
                _ if text.is_empty() => {}
                _ => pieces.push(Piece { text, weight }),
            }
        }
        if !fits {
            // A value that was cut ends in the mark of that. Some do by themselves, of which it is true as well.
            let is_cut = spans
                .last()
                .is_some_and(|span| span.text.ends_with(CUT_MARK));
            let note = match whole {
                Some(bytes) => format!(" ({} bytes)", grouped(bytes as u64)),
                None if is_cut => {
                    format!(" (more than {} characters)", grouped(characters as u64 - 1))
                }
                None => format!(" ({} characters)", grouped(characters as u64)),
            };
            pieces.push(Piece::remark(note));
        }
        Self {
            ink: side,
            sign: side.sign(),
            pieces,
        }
    }
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The lines as a unified diff without colours.
    pub(in crate::view::sides) fn plain(rows: &[Row]) -> String {
        let mut out = String::new();
        for row in rows {
            out.push_str(row.sign);
            out.extend(row.pieces.iter().map(|piece| piece.text.as_str()));
            out.push('\n');
        }
        out
    }

    #[test]
    fn what_changed_is_a_piece_of_its_own() {
        let room = Room {
            line: 40,
            wrap: 40,
            value_lines: 12,
            diff_lines: 60,
            elements: 12,
        };
        let changed = Changed::between("12.50", "12.51");
        let row = Row::of_changed(Ink::Candidate, &changed, " ", None, room);
        let pieces: Vec<_> = row
            .pieces
            .iter()
            .map(|piece| (piece.text.as_str(), piece.weight))
            .collect();
        assert_eq!(row.sign, "+");
        assert_eq!(pieces, [(" 12.5", Weight::Plain), ("1", Weight::Changed)]);
    }
}
