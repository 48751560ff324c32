//! Two services beside each other by what they export: a table, what became of the thresholds, and what a reader should know.
//!
//! Names of metrics, labels and addresses come from services, so each text is made visible. What both lack for the same reason is told in
//! one line.

use std::fmt::Write;

use anstyle::Style;
use parity_schemas::metrics::{
    JudgedThreshold, Measured, MetricsDocument, MetricsOutcome, MetricsSide,
};
use parity_schemas::visible::{visible, visible_up_to};

use super::{BAD, BOLD, DIM, GOOD, OPEN, plural, styled};
use crate::view::measured::{COLUMNS, rows};

/// Longest note: it may quote a line of a page.
const MAX_NOTE_CHARS: usize = 400;

/// The table with all that is below it.
pub fn metrics(document: &MetricsDocument) -> String {
    let mut out = String::new();
    let _infallible = write(&mut out, document);
    out
}

fn write(out: &mut String, document: &MetricsDocument) -> std::fmt::Result {
    // That nothing was demanded is no pass of anything.
    let is_judged = !document.thresholds.is_empty() || document.outcome != MetricsOutcome::Pass;
    let word = if is_judged {
        styled(
            style(document.outcome),
            document.outcome.as_str().to_uppercase(),
        )
    } else {
        styled(OPEN, "NOT JUDGED".to_owned())
    };
    let ended = if document.interrupted {
        ", ended before its time"
    } else {
        ""
    };
    writeln!(out, "{word}  over {:.1} s{ended}", document.seconds)?;
    for (name, side) in sides(document) {
        writeln!(out, "{name:9}  {}", told(side))?;
    }
    writeln!(out)?;
    table(out, &document.measures)?;
    if !document.thresholds.is_empty() {
        writeln!(out)?;
    }
    judged(out, &document.thresholds)?;
    if document.thresholds.is_empty() {
        writeln!(out, "\nno thresholds: nothing was judged")?;
    }
    let notes = notes(document);
    if !notes.is_empty() {
        writeln!(out)?;
    }
    for note in notes {
        writeln!(out, "{}", styled(DIM, visible_up_to(&note, MAX_NOTE_CHARS)))?;
    }
    Ok(())
}

fn sides(document: &MetricsDocument) -> [(&'static str, &MetricsSide); 2] {
    [
        ("legacy", &document.legacy),
        ("candidate", &document.candidate),
    ]
}

pub(super) fn style(outcome: MetricsOutcome) -> Style {
    match outcome {
        MetricsOutcome::Pass => GOOD,
        MetricsOutcome::Undecided => OPEN,
        MetricsOutcome::Fail => BAD,
    }
}

fn told(side: &MetricsSide) -> String {
    let pages = plural(side.pages, "page", "pages");
    let failed = match side.failed {
        0 => String::new(),
        failed => format!(", {failed} not read"),
    };
    let restarts = match side.restarts {
        0 => String::new(),
        restarts => format!(", {}", plural(restarts, "restart", "restarts")),
    };
    format!("{}: {pages}{failed}{restarts}", visible(&side.target))
}

/// What became of thresholds, a line each.
pub(super) fn judged(out: &mut String, thresholds: &[JudgedThreshold]) -> std::fmt::Result {
    let width = thresholds.iter();
    let width = width.map(|judged| visible(&judged.threshold).chars().count());
    let width = width.max().unwrap_or(0);
    for judged in thresholds {
        let word = format!("{:9}", judged.outcome.as_str());
        writeln!(
            out,
            "{}  {:width$}  {}",
            styled(style(judged.outcome), word),
            visible(&judged.threshold),
            visible_up_to(&judged.why, MAX_NOTE_CHARS)
        )?;
    }
    Ok(())
}

/// The measures that at least one of them has.
pub(super) fn table(out: &mut String, measures: &[Measured]) -> std::fmt::Result {
    let head = COLUMNS.map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(rows(measures)).collect();
    let widths = [0, 1, 2].map(|column| {
        let cells = rows.iter().map(|row: &[String; 4]| &row[column]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    });
    for (at, [metric, legacy, candidate, change]) in rows.iter().enumerate() {
        let [first, second, third] = widths;
        let line = format!("{metric:first$}  {legacy:second$}  {candidate:third$}  {change}");
        let style = if at == 0 { BOLD } else { Style::new() };
        writeln!(out, "{}", styled(style, line.trim_end()))?;
    }
    Ok(())
}

/// What to know of the services, and of measures; those that have the same to say, for the same services, in one line.
fn notes(document: &MetricsDocument) -> Vec<String> {
    let of_sides = sides(document).into_iter().flat_map(|(name, side)| {
        let notes = side.notes.iter();
        notes.map(move |note| format!("{name}: {note}"))
    });
    let mut grouped: Vec<(String, String, Vec<&str>)> = Vec::new();
    for measured in &document.measures {
        for (of, note) in of_measure(measured) {
            let mut groups = grouped.iter_mut();
            let same = groups.find(|(other, known, _)| *other == of && *known == note);
            match same {
                Some((_, _, measures)) => measures.push(measured.measure.as_str()),
                None => grouped.push((of, note, vec![measured.measure.as_str()])),
            }
        }
    }
    let of_measures = grouped
        .into_iter()
        .map(|(of, note, measures)| format!("{} ({of}): {note}", measures.join(", ")));
    of_sides.chain(of_measures).collect()
}

/// The notes of a measure, each once with the services that it is of.
fn of_measure(measured: &Measured) -> Vec<(String, String)> {
    let mut told: Vec<(String, String)> = Vec::new();
    for note in &measured.notes {
        let (side, note) = note.split_once(": ").unwrap_or(("", note));
        match told.iter_mut().find(|(_, known)| known == note) {
            Some((sides, _)) => "both".clone_into(sides),
            None => told.push((side.to_owned(), note.to_owned())),
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use parity_comparator::metrics::{Format, Judged, Names, Scrapes, compared};

    use super::*;

    fn scrapes(pages: [&str; 2]) -> Scrapes {
        let mut scrapes = Scrapes::new("http://127.0.0.1:1/metrics", Names::default(), 0.0);
        for (at, page) in pages.into_iter().enumerate() {
            scrapes
                .take(at as f64 * 10.0, page, Format::Text)
                .expect("a page");
        }
        scrapes
    }

    fn shown(pages: [[&str; 2]; 2], thresholds: &[&str]) -> String {
        let thresholds = thresholds.iter().map(|text| text.parse().expect("one"));
        let thresholds: Vec<_> = thresholds.collect();
        let [legacy, candidate] = pages.map(scrapes);
        let document = compared(&legacy, &candidate, &thresholds, Judged::default());
        let text = metrics(&document);
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn a_table_has_what_there_is_and_tells_once_what_is_not() {
        let legacy = ["http_requests_total 0\n", "http_requests_total 1000\n"];
        let candidate = [
            "http_requests_total 0\nprocess_open_fds 7\n",
            "http_requests_total 1100\nprocess_open_fds 9\n",
        ];
        let text = shown([legacy, candidate], &["rate >= +0%", "descriptors <= 8"]);
        for line in [
            "FAIL  over 10.0 s",
            "legacy     http://127.0.0.1:1/metrics: 2 pages",
            "metric       legacy  candidate  change",
            "rate         100/s   110/s      +10.0 %",
            "descriptors  –       9",
            "pass       rate >= +0%       it is +10.0 %",
            "fail       descriptors <= 8  it is 9",
        ] {
            assert!(text.lines().any(|own| own == line), "`{line}` in\n{text}");
        }
        assert!(
            text.contains("\np50, p95, p99, p999 (both): none of"),
            "{text}"
        );
        assert!(text.contains("\ndescriptors (legacy): none of"), "{text}");
        assert!(!text.contains("\nheap   "), "{text}");
    }

    #[test]
    fn without_thresholds_it_is_no_pass_but_not_judged() {
        let page = ["http_requests_total 0\n", "http_requests_total 1000\n"];
        let text = shown([page; 2], &[]);
        assert!(text.starts_with("NOT JUDGED  over 10.0 s\n"), "{text}");
        assert!(
            text.contains("\nno thresholds: nothing was judged\n"),
            "{text}"
        );
        let text = shown([page; 2], &["rate >= 1"]);
        assert!(
            text.starts_with("PASS") && !text.contains("no thresholds"),
            "{text}"
        );
    }

    #[test]
    fn what_a_service_says_cannot_write_to_a_terminal() {
        let hostile = "a 1\n\u{1b}]0;owned\u{7}\u{202e} ##[error]x\n";
        let text = shown([[hostile; 2]; 2], &[]);
        assert!(text.contains("\\u{1b}]0;owned\\u{7}\\u{202e}"), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
        assert!(!text.contains("##["), "{text}");
    }
}
