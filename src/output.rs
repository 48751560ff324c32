//! What people read on stdout: colours, hostile text, numbers.
//!
//! Text is composed with its styles and written through `anstream`, which drops the styles when stdout is no terminal
//! or `NO_COLOR` is set. Everything that came from a request or an answer goes through [`shown`] first: captured
//! bytes are hostile in a terminal (invariant 10).

mod diff;
mod gate;
mod report;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use parity_schemas::evidence::OtherRules;
use parity_schemas::time::Timestamp;
use parity_schemas::visible::{is_hidden, visible, visible_up_to, visible_value};
use parity_schemas::watermark::{InstanceWatermark, RunState};
use serde::Serialize;

use crate::cli::Color;

pub(crate) use diff::View as DiffView;
pub(crate) use gate::text as gate_text;
pub(crate) use report::text as report_text;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const OPEN: Style = AnsiColor::Yellow.on_default().bold();
const LEGACY: Style = AnsiColor::Red.on_default();
const CANDIDATE: Style = AnsiColor::Green.on_default();
const PLACE: Style = AnsiColor::Cyan.on_default();

/// Longest value shown in a list; the whole value is in the JSON output and in the store.
const MAX_SHOWN_CHARS: usize = 120;

/// Decides once, for everything that is printed, what `--color` says.
pub(crate) fn choose_color(color: Color) {
    match color {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

/// Characters of a line where nobody says how wide it is: what fits a page and a log.
const DEFAULT_WIDTH: usize = 120;
/// Below this nothing can be read, and beyond it no line.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=400;

/// Characters of a line on stdout: as `COLUMNS` or the terminal says.
pub(crate) fn width() -> usize {
    let asked = || std::env::var("COLUMNS").ok()?.trim().parse().ok();
    let terminal = || {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    };
    let width: usize = asked().or_else(terminal).unwrap_or(DEFAULT_WIDTH);
    width.clamp(*WIDTHS.start(), *WIDTHS.end())
}

/// Writes text to stdout, with colours only where they can be seen.
pub(crate) fn print(text: &str) -> std::io::Result<()> {
    let mut stdout = anstream::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        // `| head` has read enough. What was decided stands, and so does its exit code.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Writes a document to stdout.
pub(crate) fn print_json(document: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    Ok(print(&escaped(&text))?)
}

/// A JSON text with what [`visible`] spells out written as `\u…`. Such characters stand within strings only (but for
/// line breaks), where that means the same; the document stays what it is, and a terminal obeys nothing in it.
fn escaped(json: &str) -> Cow<'_, str> {
    let obeyed = |character: char| character != '\n' && is_hidden(character);
    if !json.contains(obeyed) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + json.len() / 8);
    for character in json.chars() {
        if obeyed(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _infallible = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// How far the record is complete, and which processes keep it from being; one line.
fn watermark(until: Option<Timestamp>, watermarks: &[InstanceWatermark]) -> String {
    /// More is in the JSON document.
    const MAX_NAMED: usize = 5;
    let mut text = match until {
        Some(until) => format!("complete up to {until}"),
        None => "not known how far it is complete".to_owned(),
    };
    let is_whole = |watermark: &&InstanceWatermark| {
        matches!(watermark.state, RunState::Complete | RunState::Ended)
    };
    let rest: Vec<_> = watermarks.iter().filter(|one| !is_whole(one)).collect();
    for watermark in rest.iter().take(MAX_NAMED) {
        let (name, state) = (shown(&watermark.instance), watermark.state.as_str());
        let _infallible = write!(text, " · {name}: {state}");
        if let Some(rules) = &watermark.rules_hash {
            let _infallible = write!(text, " {}", shown(rules));
        }
        if let Some(heard) = watermark.last_heard {
            let _infallible = write!(text, ", last heard of at {heard}");
        }
    }
    if rest.len() > MAX_NAMED {
        let _infallible = write!(text, " · and {} more", rest.len() - MAX_NAMED);
    }
    text
}

/// What a change of the rules has put out of sight; one line, or nothing.
fn other_rules(others: &[OtherRules]) -> Option<String> {
    let (newest, more) = others.split_first()?;
    let mut text = format!(
        "recorded under other rules, and not counted here: {} ({} to {})",
        shown(&newest.rules_hash),
        newest.from,
        newest.to
    );
    if !more.is_empty() {
        let _infallible = write!(text, ", and {} others", more.len());
    }
    Some(text)
}

/// A note on stderr, where everything goes that is not data.
pub(crate) fn note(text: &str) {
    // Nobody listens when stderr is closed, and that is no reason to fail.
    let _gone = writeln!(anstream::stderr().lock(), "{text}");
}

/// `text` in a style.
fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Captured text made safe and short.
pub(crate) fn shown(text: &str) -> String {
    visible_up_to(text, MAX_SHOWN_CHARS)
}

/// Longest sentence of ours that is shown: names of routes and instances in it are others'.
const MAX_SENTENCE_CHARS: usize = 1_000;

/// A sentence of ours, with what it quotes made safe.
fn sentence(text: &str) -> String {
    visible_up_to(text, MAX_SENTENCE_CHARS)
}

/// A captured value in one line, safe and short.
fn shown_value(value: &str) -> String {
    visible_value(value, MAX_SHOWN_CHARS)
}

/// The lines of a unified diff of captured text, each made safe and in the colour of its side.
fn diff_lines(diff: &str) -> impl Iterator<Item = String> + '_ {
    diff.lines().map(|line| {
        let style = match line.as_bytes().first() {
            Some(b'-') => LEGACY,
            Some(b'+') => CANDIDATE,
            _ => DIM,
        };
        styled(style, visible(line))
    })
}

/// `12345` as `12,345`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A share as a percentage that does not round a small share to nothing.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        p if p < 0.01 => format!("{p:.4} %"),
        p if p < 10.0 => format!("{p:.2} %"),
        p => format!("{} %", format!("{p:.1}").trim_end_matches(".0")),
    }
}

/// Microseconds as a person says them.
fn elapsed(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{:.1} ms", micros as f64 / 1e3),
        _ => format!("{:.1} s", micros as f64 / 1e6),
    }
}

/// What a word of the vocabulary means to somebody who reads it for the first time.
pub(crate) fn explained(explanation: parity_schemas::verdict::Explanation) -> &'static str {
    use parity_schemas::verdict::Explanation as E;
    match explanation {
        E::SameInstant => "the same instant, spelt in another way",
        E::TruncatedTime => "the same time cut to fewer fractional digits",
        E::SameReading => "the same date and time of day, under another offset or without one",
        E::SameDuration => "the same duration, spelt in another way",
        E::EqualDecimal => "the same decimal, spelt in another way",
        E::EqualDouble => "the same double: one side went through floating point",
        E::NearDouble => "neighbouring doubles: calculated or rounded in another way",
        E::NotFinite => "not a number or infinite: JSON has no number for it",
        E::NullVsMissing => "null on one side, absent on the other",
        E::NullVsEmpty => "null on one side, empty on the other",
        E::NullVsBlank => "null on one side, an empty text on the other",
        E::EmptyVsMissing => "a zero or empty value on one side, absent on the other",
        E::TypeOnly => "the same value in another JSON type",
        E::SameUuid => "the same UUID, spelt in another way",
        E::CaseOnly => "equal but for letter case",
        E::WhitespaceOnly => "equal but for white space",
        E::UnicodeNfc => "equal after Unicode normalization",
        E::SameBytes => "the same bytes in another encoding",
        E::PercentEncoding => "equal but for percent-encoding",
        E::HtmlEntities => "equal but for HTML entities",
        E::Mojibake => "the same text through the wrong character encoding",
        E::ScaledBy1000 => "one is the other times a power of 1000",
        E::Rounded => "one is the other rounded",
        E::Permutation => "the same elements in another order",
        E::Truncated => "one is the beginning of the other",
        E::Renamed => "the same value under another field name",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            ["0", "999", "1,000", "1,234,567"],
            [0, 999, 1000, 1_234_567].map(grouped)
        );
        assert_eq!(
            ["0 %", "0.0010 %", "0.40 %", "12 %"],
            [0.0, 0.00001, 0.004, 0.12].map(percent)
        );
        assert_eq!(
            ["7 µs", "1.5 ms", "2.0 s"],
            [7, 1_500, 2_000_000].map(elapsed)
        );
    }
}
