//! Two recorded bodies side by side: laid out over lines, what is equal folded away, and what changed marked.
//!
//! JSON is laid out by its tokens, so numbers and strings keep their spelling. The candidate's members are set in the legacy's
//! order, which no comparison minds; as they came, both bodies stand below the diff. Bodies of any other form keep their own lines.

use parity_comparator::{Limits, text};
use parity_schemas::hidden::is_hash_of_body;
use parity_schemas::record::{RecordedMessage, Sample};

use super::sides::{Ink, Room, Row, arranged, lines_of_json, unified};

/// Bytes of a diff: about two screens of the longest lines, or some hundred of ordinary ones.
const DIFF_BYTES: usize = 256 << 10;
/// Bytes of a line: one that is longer is no line for a reader.
const LINE_BYTES: usize = 16 << 10;
/// Lines of a diff, likewise.
const DIFF_LINES: usize = 4_000;

/// The diff of two bodies.
pub(crate) struct BodyDiff {
    /// Its lines, one under the other.
    pub(crate) rows: Vec<Row>,
    /// Whether a body was cut where it was recorded, so that more may differ behind.
    pub(crate) is_cut: bool,
    /// Whether members of the candidate's objects came in another order than they stand here.
    pub(crate) is_arranged: bool,
}

/// A line of both sides.
pub(crate) struct Pair<'a> {
    /// The line, or where the next ones stand.
    pub(crate) legacy: Option<&'a Row>,
    /// Likewise.
    pub(crate) candidate: Option<&'a Row>,
}

impl BodyDiff {
    /// Of the two answers; `None` where there is nothing to compare by line: a body was not kept or is no text, both are equal,
    /// or they are too long and too different.
    pub(crate) fn of(sample: &Sample) -> Option<Self> {
        let messages = [&sample.legacy, &sample.candidate];
        if messages.iter().any(|message| !is_text(message)) {
            return None;
        }
        let [legacy, candidate] = messages.map(|message| message.body.as_str());
        let arranged = arranged(candidate, legacy);
        let is_arranged = arranged.is_some();
        let candidate = laid_out(arranged.as_deref().unwrap_or(candidate));
        let legacy = laid_out(legacy);
        if legacy == candidate {
            return None;
        }
        let limits = Limits {
            text_diff_bytes: DIFF_BYTES,
            value_bytes: LINE_BYTES,
            ..Limits::default()
        };
        let diff = text::unified(&legacy, &candidate, &limits)?;
        let room = Room {
            line: usize::MAX,
            wrap: usize::MAX,
            value_lines: usize::MAX,
            diff_lines: DIFF_LINES,
            elements: usize::MAX,
        };
        Some(Self {
            rows: unified(&diff, room),
            is_cut: messages.iter().any(|message| message.body_cut),
            is_arranged,
        })
    }

    /// The same lines beside each other: of a block that changed, each removed line beside an added one.
    pub(crate) fn pairs(&self) -> Vec<Pair<'_>> {
        let mut pairs = Vec::new();
        let mut rest = self.rows.as_slice();
        while let [first, behind @ ..] = rest {
            let run = |rows: &[Row], ink: Ink| rows.iter().take_while(|row| row.ink == ink).count();
            let (removed, others) = rest.split_at(run(rest, Ink::Legacy));
            let (added, others) = others.split_at(run(others, Ink::Candidate));
            if removed.is_empty() && added.is_empty() {
                pairs.push(Pair {
                    legacy: Some(first),
                    candidate: Some(first),
                });
                rest = behind;
                continue;
            }
            pairs.extend((0..removed.len().max(added.len())).map(|at| Pair {
                legacy: removed.get(at),
                candidate: added.get(at),
            }));
            rest = others;
        }
        pairs
    }
}

/// Whether lines of it can be shown: what is no text is recorded as a hash.
fn is_text(message: &RecordedMessage) -> bool {
    !message.body.is_empty() && !is_hash_of_body(&message.body)
}

/// One token to a line, if it looks like JSON; its own lines, if not.
fn laid_out(body: &str) -> String {
    let trimmed = body.trim_start();
    let mut text = if trimmed.starts_with(['{', '[']) {
        lines_of_json(trimmed).join("\n")
    } else {
        body.to_owned()
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(body: &str) -> RecordedMessage {
        RecordedMessage {
            headers: Vec::new(),
            body: body.to_owned(),
            body_bytes: body.len() as u64,
            body_cut: false,
        }
    }

    fn diff(legacy: &str, candidate: &str) -> Option<BodyDiff> {
        BodyDiff::of(&Sample {
            request: message(""),
            legacy: message(legacy),
            candidate: message(candidate),
        })
    }

    fn text(row: &Row) -> String {
        let pieces = row.pieces.iter().map(|piece| piece.text.as_str());
        format!("{}{}", row.sign, pieces.collect::<String>())
    }

    #[test]
    fn numbers_keep_their_spelling_and_what_is_equal_is_folded() {
        let body = |price: &str| {
            let many: Vec<String> = (0..50)
                .map(|number| format!("\"k{number}\":{number}"))
                .collect();
            format!(
                "{{\"price\":{price},{},\"big\":12345678901234567890}}",
                many.join(",")
            )
        };
        let diff = diff(&body("1.50"), &body("1.5")).expect("they differ");
        let lines: Vec<String> = diff.rows.iter().map(text).collect();
        assert!(
            lines.iter().any(|line| line.contains("\"price\": 1.50")),
            "{lines:?}"
        );
        assert!(
            lines.iter().any(|line| line.contains("\"price\": 1.5,")),
            "{lines:?}"
        );
        assert!(lines.len() < 10, "{lines:?}");
    }

    #[test]
    fn another_order_of_members_hides_no_difference() {
        let found = diff(
            r#"{"account":"a","as_of":"9","balance":"1.28","currency":"EUR"}"#,
            r#"{"account":"a","currency":"EUR","balance":"1.27","as_of":"9"}"#,
        );
        let found = found.expect("they differ");
        assert!(found.is_arranged);
        let lines = found.rows.iter().map(text);
        let changed: Vec<String> = lines.filter(|line| line.starts_with(['-', '+'])).collect();
        assert_eq!(
            changed,
            ["-  \"balance\": \"1.28\",", "+  \"balance\": \"1.27\","]
        );
        // Nothing but the order.
        assert!(diff(r#"{"a":1,"b":[2]}"#, r#"{"b":[2],"a":1}"#).is_none());
        // Of an array it is a difference.
        assert!(diff("[1,2]", "[2,1]").is_some_and(|found| !found.is_arranged));
    }

    #[test]
    fn beside_each_other_each_line_stands_on_its_side() {
        let diff = diff("a\nb\nc\n", "a\nB\nB2\nc\n").expect("they differ");
        let shown: Vec<[Option<String>; 2]> = diff
            .pairs()
            .iter()
            .skip(1)
            .map(|pair| [pair.legacy.map(text), pair.candidate.map(text)])
            .collect();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            shown,
            [
                [some(" a"), some(" a")],
                [some("-b"), some("+B")],
                [None, some("+B2")],
                [some(" c"), some(" c")]
            ]
        );
    }

    #[test]
    fn what_cannot_be_shown_by_line_is_not() {
        for (legacy, candidate) in [
            ("", "a"),
            ("{\"a\":1}", "{ \"a\" : 1 }"),
            (
                "hmac:0123456789abcdef0123456789abcdef",
                "hmac:1123456789abcdef0123456789abcdef (7 bytes)",
            ),
        ] {
            assert!(diff(legacy, candidate).is_none(), "{legacy} {candidate}");
        }
        // A service may say such words itself.
        assert!(diff("hmac:0123", "hmac:4567").is_some());
        // Too long and too different: nobody reads that, and aligning it would take long.
        let lines = |word: &str| {
            let lines: Vec<String> = (0..5_000).map(|n| format!("{word}{n}")).collect();
            lines.join("\n")
        };
        assert!(diff(&lines("a"), &lines("b")).is_none());
    }
}
