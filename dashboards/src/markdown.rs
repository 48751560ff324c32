//! Report and decision as Markdown: for the summary of a CI job, the comment on a change, a chat.
//!
//! The models of [`view`](crate::view), shorter than in a terminal: what decides comes first, the rest is folded away in
//! `<details>`. It is the Markdown of GitHub and GitLab.
//!
//! *Captured text is hostile here, too.* It must not become markup, a link, a mention of a person or a command to the CI job. A
//! name or a value is a code span, in which none of that is looked for. In a sentence each sign that may mean something is
//! escaped. Each line begins with a sign of ours.
//!
//! *It ends in time*: a job summary that is longer than GitHub takes is refused as a whole, so [`MOST_BYTES`] are never
//! exceeded.

mod gate;
mod lists;
mod report;

use parity_schemas::evidence::Outcome;
use parity_schemas::visible::visible_value;

use crate::view::words::shown;
use crate::view::{Place, Values};

pub use gate::{gate, gate_with_report};
pub use report::report;

/// Longest document. GitHub refuses a step summary of more than 1 MiB, and a job may write something beside it.
const MOST_BYTES: usize = 900_000;
/// Longest value shown in a line.
const MAX_VALUE_CHARS: usize = 60;

/// A name or a value as code, in running text.
fn code(text: &str) -> String {
    let runs = text.split(|character| character != '`');
    let longest = runs.map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // Without the spaces its signs would be a part of the fence; a pair of spaces is taken away when it is shown.
    let edge = |end: Option<char>| end.is_none_or(|end| end == '`' || end == ' ');
    let space = if edge(text.chars().next()) || edge(text.chars().last()) {
        " "
    } else {
        ""
    };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A name as code in a cell of a table, whose columns end at each `|`, also within code.
fn code_in_cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// A recorded name, made visible.
fn name(text: &str) -> String {
    code(&shown(text))
}

/// A sentence with what it quotes: visible already, and without a meaning as Markdown.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        let is_harmless = match character {
            '*' | '_' | '[' | ']' | '<' | '>' | '&' | '#' | '|' | '\\' | '`' | '~' | '$' | '!' => {
                false
            }
            // A link: `http://…`, `www.…`.
            ':' => !rest.as_str().starts_with("//"),
            '.' => !(out.as_bytes().last_chunk::<3>())
                .is_some_and(|end| end.eq_ignore_ascii_case(b"www")),
            _ => true,
        };
        match character {
            // Without a break behind it, it names a person wherever it stands.
            '@' => out.push_str("@\u{200b}"),
            harmless if is_harmless => out.push(harmless),
            other => out.extend(['\\', other]),
        }
    }
    out
}

/// Where something differs.
fn place(place: Place<'_>) -> String {
    match (place.path, place.name()) {
        ("", name) => name,
        (path, name) => format!("{name} {}", self::name(path)),
    }
}

/// Both values, to follow their place; empty once retention has removed them.
fn values(values: Option<&Values<'_>>) -> String {
    let short = |value: Option<&str>| {
        value.map_or_else(
            || "(absent)".to_owned(),
            |value| code(&visible_value(value, MAX_VALUE_CHARS)),
        )
    };
    values.map_or(String::new(), |values| {
        format!(
            ": {} → {}",
            short(values.sides.legacy.as_deref()),
            short(values.sides.candidate.as_deref())
        )
    })
}

/// The outcome, with a sign that is seen from afar.
fn outcome(outcome: Outcome) -> String {
    let sign = match outcome {
        Outcome::Pass => "✅",
        Outcome::Fail => "❌",
        Outcome::Undecided => "⏳",
    };
    format!("{sign} {}", outcome.as_str().to_uppercase())
}

/// A part that is folded away, unless there is nothing in it.
fn folded(out: &mut Document, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let mut text = format!("\n<details><summary>{}</summary>\n\n", plain(title));
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    text.push_str("\n</details>\n");
    out.push(&text);
}

/// A document that ends before it is too long.
#[derive(Default)]
struct Document {
    text: String,
    is_cut: bool,
}

impl Document {
    /// Adds a part, or says that from here on something is missing. A part is whole or absent, so that nothing stays open.
    fn push(&mut self, part: &str) {
        if self.is_cut {
            return;
        }
        if self.text.len() + part.len() > MOST_BYTES {
            self.is_cut = true;
            self.text
                .push_str("\n*Too long for Markdown: `--output json` has all.*\n");
        } else {
            self.text.push_str(part);
        }
    }

    /// Adds a line.
    fn line(&mut self, line: &str) {
        self.push(&format!("{line}\n"));
    }

    /// Adds lines, and how many more there are.
    fn list(&mut self, lines: &[String], most: usize, what: &str) {
        for line in lines.iter().take(most) {
            self.line(line);
        }
        if let Some(line) = more(lines.len(), most, what) {
            self.line(&line);
        }
    }
}

/// How many more there are than are listed.
fn more(all: usize, listed: usize, what: &str) -> Option<String> {
    (all > listed).then(|| {
        format!(
            "- … and {} more {what}; `--output json` has all",
            all - listed
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_ends_where_it_should_whatever_is_in_it() {
        for (text, wanted) in [
            ("plain", "`plain`"),
            ("a`b", "``a`b``"),
            ("``", "``` `` ```"),
            ("`x", "`` `x ``"),
            (" x ", "`  x  `"),
            ("", "`  `"),
        ] {
            assert_eq!(code(text), wanted, "{text:?}");
        }
        assert_eq!(code_in_cell("a|b"), "`a\\|b`");
    }

    #[test]
    fn a_sentence_has_no_markup() {
        assert_eq!(
            plain("GET /a_b*: <b>@root</b> [x](http://e) | www.e"),
            "GET /a\\_b\\*: \\<b\\>@\u{200b}root\\</b\\> \\[x\\](http\\://e) \\| www\\.e"
        );
    }

    #[test]
    fn a_document_is_never_too_long_and_says_so() {
        let mut document = Document::default();
        let line = "x".repeat(1_000);
        for _ in 0..2_000 {
            document.line(&line);
        }
        assert!(document.text.len() < MOST_BYTES + 100);
        assert_eq!(document.text.matches("Too long").count(), 1);
    }
}
