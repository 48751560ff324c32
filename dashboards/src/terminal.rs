//! What people read in a terminal: the models of [`view`](crate::view) as lines of text in colours.
//!
//! Text is composed with its styles and written through `anstream`, which drops the styles when stdout is not a terminal
//! or `NO_COLOR` is set. Everything that came from a request or an answer is made visible first: captured bytes are
//! hostile in a terminal.

mod decisions;
mod diff;
mod gate;
mod load;
mod metrics;
mod report;
mod rerun;
mod soak;
mod stress;
mod suggested;
mod tame;
mod tried;

use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use parity_schemas::json_text::escaped;
use serde::Serialize;

use crate::view::{Ink, Piece, Place, Row, Tone, Weight};

pub use decisions::{decisions, verification};
pub use diff::{Layout, diff, stat};
pub use gate::gate;
pub use metrics::metrics;
pub use report::report;
pub use rerun::rerun;
pub use soak::soak;
pub use stress::stress;
pub use suggested::{suggested, suggested_rule};
pub use tame::{tame, tame_json};
pub use tried::tried;

pub use crate::view::words::{grouped, plural, shown};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const OPEN: Style = AnsiColor::Yellow.on_default().bold();
const LEGACY: Style = AnsiColor::Red.on_default();
const CANDIDATE: Style = AnsiColor::Green.on_default();
const PLACE: Style = AnsiColor::Cyan.on_default();

/// Longest value shown in a list. The JSON output and the store have the whole value.
const MAX_VALUE_CHARS: usize = 120;

/// Width of a line if the terminal's is unknown: it fits a page and a log.
const DEFAULT_WIDTH: usize = 120;
/// Least and greatest width that is used: narrower or wider text is hard to read.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=400;

/// Width of a line on stdout, from `COLUMNS` or the terminal.
pub fn width() -> usize {
    let asked = || std::env::var("COLUMNS").ok()?.trim().parse().ok();
    let terminal = || {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    };
    let width: usize = asked().or_else(terminal).unwrap_or(DEFAULT_WIDTH);
    width.clamp(*WIDTHS.start(), *WIDTHS.end())
}

/// Writes text to stdout, with colours only where they can be seen.
pub fn print(text: &str) -> std::io::Result<()> {
    let mut stdout = anstream::stdout().lock();
    match stdout
        .write_all(tame(text).as_bytes())
        .and_then(|()| stdout.flush())
    {
        // A reader such as `head` has closed the pipe. That is no error: the decision and its exit code stand.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Writes a document to stdout.
pub fn print_json(document: &impl Serialize) -> std::io::Result<()> {
    print_document(&serde_json::to_string_pretty(document)?)
}

/// Writes the text of a JSON document to stdout.
pub fn print_document(json: &str) -> std::io::Result<()> {
    print(&tame_json(&escaped(&format!("{json}\n"))))
}

/// Prints a note on stderr, which is for everything that is not data.
pub fn note(text: &str) {
    // A closed stderr is no reason to fail.
    let _gone = writeln!(anstream::stderr().lock(), "{}", tame(text));
}

/// `text` in a style.
fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// The style that shows how good a thing is.
fn style(tone: Tone) -> Style {
    match tone {
        Tone::Good => GOOD,
        Tone::Bad => BAD,
        Tone::Open => OPEN,
        Tone::Plain => Style::new(),
    }
}

/// Where something differs.
fn place(place: Place<'_>) -> String {
    place.shown()
}

/// A line of a drawing with the sign of its side.
fn signed(row: &Row) -> String {
    inked(row, row.sign)
}

/// The same without the sign.
fn unsigned(row: &Row) -> String {
    inked(row, "")
}

fn inked(row: &Row, sign: &str) -> String {
    let plain = match row.ink {
        Ink::Legacy => LEGACY,
        Ink::Candidate => CANDIDATE,
        Ink::Place => PLACE,
        Ink::Faint => DIM,
    };
    let mut out = String::new();
    let mut pieces = row.pieces.as_slice();
    // One escape sequence for the sign and the text behind it.
    match pieces {
        [Piece { text, weight }, rest @ ..] if *weight == Weight::Plain => {
            out.push_str(&styled(plain, format_args!("{sign}{text}")));
            pieces = rest;
        }
        _ if sign.is_empty() => {}
        _ => out.push_str(&styled(plain, sign)),
    }
    for piece in pieces {
        let style = match piece.weight {
            Weight::Plain => plain,
            Weight::Changed => plain.bold().underline(),
            Weight::Remark => DIM,
        };
        out.push_str(&styled(style, &piece.text));
    }
    out
}
