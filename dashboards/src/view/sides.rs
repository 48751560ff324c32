//! The two sides of a difference, and how they are shown so that a reader sees at once how they differ.
//!
//! Whatever they were read from (two files, a record, a report), the same lines are shown of them: of two texts a diff, of
//! two bodies the first byte that differs, of a reordered array what moved, of two values what changed in them.

mod arranged;
mod bytes;
mod changed;
mod lines;
mod order;
mod pretty;
mod rows;
mod value;

use std::borrow::Cow;

use parity_comparator::{Limits, text};
use parity_schemas::verdict::{Finding, Kind, Part, Side, TextDiff};

pub(crate) use arranged::arranged;
pub(crate) use lines::unified;
use order::Order;
pub(crate) use rows::{Ink, Piece, Room, Row, Weight};

/// What is known of both sides at one place.
pub(crate) struct Sides<'a> {
    /// The legacy's value; `None` where it has none.
    pub(crate) legacy: Option<Cow<'a, str>>,
    /// The candidate's, likewise.
    pub(crate) candidate: Option<Cow<'a, str>>,
    /// For texts: their diff.
    pub(crate) text_diff: Option<Cow<'a, TextDiff>>,
    /// How many bytes each value has as a whole, where it is cut and that is known.
    whole: [Option<usize>; 2],
    /// The bodies as they came, where they are at hand and it is they that differ.
    bodies: Option<Bodies<'a>>,
}

/// Two whole bodies.
enum Bodies<'a> {
    Texts([&'a [u8]; 2]),
    Bytes([&'a [u8]; 2]),
}

/// What is drawn.
pub(crate) struct Drawing {
    /// Whether the lines are those of a unified diff rather than of two values.
    pub(crate) by_line: bool,
    pub(crate) rows: Vec<Row>,
}

impl<'a> Sides<'a> {
    /// Those of a finding in two answers whose bodies are at hand.
    pub(crate) fn found(finding: &'a Finding, bodies: [&'a [u8]; 2]) -> Self {
        let of_whole = finding.part == Part::Body && finding.path.is_empty();
        let bodies = match (&finding.legacy, &finding.candidate) {
            _ if !of_whole => None,
            (Side::Line(_), _) => Some(Bodies::Texts(bodies)),
            (Side::Bytes(one), Side::Bytes(two))
                if [one.length, two.length] == bodies.map(<[u8]>::len) =>
            {
                Some(Bodies::Bytes(bodies))
            }
            _ => None,
        };
        Self {
            legacy: finding.legacy.shown(),
            candidate: finding.candidate.shown(),
            text_diff: finding.text_diff.as_ref().map(Cow::Borrowed),
            whole: [&finding.legacy, &finding.candidate].map(Side::whole_bytes),
            bodies,
        }
    }

    /// Those of a record, which has the form that a person reads.
    pub(crate) fn recorded(
        legacy: Option<&'a str>,
        candidate: Option<&'a str>,
        text_diff: Option<&str>,
    ) -> Self {
        Self {
            legacy: legacy.map(Cow::Borrowed),
            candidate: candidate.map(Cow::Borrowed),
            text_diff: text_diff.map(|text| Cow::Owned(TextDiff::read(text))),
            whole: [None; 2],
            bodies: None,
        }
    }

    /// The lines that show best how the sides differ.
    pub(crate) fn draw(&self, kind: Kind, limits: &Limits, room: Room) -> Drawing {
        self.by_line(kind, limits, room).map_or_else(
            || Drawing {
                by_line: false,
                rows: self.values(kind, room),
            },
            |rows| Drawing {
                by_line: true,
                rows,
            },
        )
    }

    /// The diff of two texts; `None` if these are none, or if two values are clearer.
    fn by_line(&self, kind: Kind, limits: &Limits, room: Room) -> Option<Vec<Row>> {
        if matches!(self.bodies, Some(Bodies::Texts(bodies)) if bytes::line_ends(bodies).is_some())
        {
            return None;
        }
        if let Some(diff) = &self.text_diff
            && !is_one_line(&diff.lines)
        {
            return Some(lines::unified(diff, room));
        }
        let (Some(legacy), Some(candidate)) = (&self.legacy, &self.candidate) else {
            return None;
        };
        if matches!(kind, Kind::Order | Kind::Decode) {
            return None;
        }
        let diff = strings(legacy, candidate, limits)?;
        Some(lines::unified(&diff, room))
    }

    fn values(&self, kind: Kind, room: Room) -> Vec<Row> {
        match self.bodies {
            Some(Bodies::Texts(bodies)) => {
                if let Some(ends) = bytes::line_ends(bodies) {
                    return ends;
                }
            }
            Some(Bodies::Bytes(bodies)) => {
                let summaries = [&self.legacy, &self.candidate];
                let summaries = summaries.map(|side| side.as_deref().unwrap_or_default());
                return bytes::first_byte(bodies, summaries);
            }
            None => {}
        }
        match (&self.legacy, &self.candidate) {
            (Some(legacy), Some(candidate)) => match kind {
                Kind::Order if !room.is_flat() => Order::of(legacy, candidate).map_or_else(
                    || value::apart([legacy, candidate], room),
                    |order| lines::order(&order, room),
                ),
                // A message ("not valid JSON"), or elements that have moved: no marks of what changed.
                Kind::Order | Kind::Decode => value::apart([legacy, candidate], room),
                _ => value::both(legacy, candidate, self.whole, room),
            },
            (legacy, candidate) => {
                let mut rows = Vec::new();
                for (side, text) in Ink::SIDES.into_iter().zip([legacy, candidate]) {
                    match text {
                        Some(text) => rows.extend(value::alone(side, text, room)),
                        None if room.is_flat() => rows.push(Row::absent(side)),
                        None => {}
                    }
                }
                rows
            }
        }
    }
}

/// JSON text with every value on a line of its own.
pub(crate) fn lines_of_json(text: &str) -> Vec<String> {
    pretty::lines(text, 1, usize::MAX).lines
}

/// Whether a diff replaces one line by one line. Then showing the two values is clearer.
fn is_one_line(diff: &str) -> bool {
    let mut lines = diff.lines().filter(|line| !line.starts_with('\\'));
    let signs = [lines.next(), lines.next(), lines.next()];
    let is = |line: Option<&str>, sign| line.is_some_and(|line| line.starts_with(sign));
    is(signs[0], "@@") && is(signs[1], "-") && is(signs[2], "+") && lines.next().is_none()
}

/// The diff of two strings of which at least one has several lines; `None` for other values.
fn strings(legacy: &str, candidate: &str, limits: &Limits) -> Option<TextDiff> {
    let (one, two) = (string(legacy)?, string(candidate)?);
    let inner = |text: &str| text.trim_end_matches('\n').contains('\n');
    if !inner(&one) && !inner(&two) {
        return None;
    }
    text::unified(&one, &two, limits)
}

/// The content of a complete JSON string.
fn string(value: &str) -> Option<String> {
    value
        .starts_with('"')
        .then(|| serde_json::from_str(value).ok())
        .flatten()
}

/// Escapes both strings in the same way, because equal characters with different escapes would look like a change.
fn alike<'a>(legacy: &'a str, candidate: &'a str) -> (Cow<'a, str>, Cow<'a, str>) {
    if let (Some(one), Some(two)) = (string(legacy), string(candidate))
        && (legacy.contains('\\') || candidate.contains('\\'))
        && let (Ok(one), Ok(two)) = (serde_json::to_string(&one), serde_json::to_string(&two))
    {
        return (one.into(), two.into());
    }
    (legacy.into(), candidate.into())
}

#[cfg(test)]
mod tests {
    use super::rows::tests::plain;
    use super::*;

    const ROOM: Room = Room {
        line: 40,
        wrap: 40,
        value_lines: 12,
        diff_lines: 60,
        elements: 12,
    };
    const FLAT: Room = Room {
        value_lines: 1,
        ..ROOM
    };

    fn drawn(legacy: Option<&str>, candidate: Option<&str>, kind: Kind, room: Room) -> String {
        let sides = Sides::recorded(legacy, candidate, None);
        plain(&sides.draw(kind, &Limits::default(), room).rows)
    }

    #[test]
    fn each_kind_of_difference_has_its_lines() {
        let (one, two) = (Some("[1,2,3]"), Some("[2,3,1]"));
        for (legacy, candidate, kind, room, expected) in [
            (
                Some("1.5"),
                Some("1.6"),
                Kind::Value,
                ROOM,
                "- 1.5\n+ 1.6\n",
            ),
            (one, two, Kind::Order, ROOM, "- 1\n  2\n  3\n+ 1\n"),
            (one, two, Kind::Order, FLAT, "- [1,2,3]\n+ [2,3,1]\n"),
            (one, None, Kind::Missing, ROOM, "- [1, 2, 3]\n"),
            (one, None, Kind::Missing, FLAT, "- [1,2,3]\n+ (absent)\n"),
            (
                Some("\"a\\nb\""),
                Some("\"a\\nc\""),
                Kind::Value,
                FLAT,
                "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
            ),
            (None, None, Kind::Value, ROOM, ""),
        ] {
            assert_eq!(drawn(legacy, candidate, kind, room), expected);
        }
    }

    #[test]
    fn a_recorded_diff_is_drawn_like_one_that_was_just_made() {
        let diff = "@@ -1,2 +1,2 @@\n-a\n-b\n+c\n+d\n…";
        let sides = Sides::recorded(Some("a"), Some("c"), Some(diff));
        let drawing = sides.draw(Kind::Value, &Limits::default(), ROOM);
        assert!(drawing.by_line);
        assert_eq!(
            plain(&drawing.rows),
            "@@ -1,2 +1,2 @@\n-a\n-b\n+c\n+d\n… cut here; in all 2 lines are removed and 2 added at least\n"
        );
    }
}
