//! What a check found, for a person.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use parity_dashboards::terminal::plural;
use parity_schemas::check::{CheckDocument, CheckOutcome, CheckedRequest};
use parity_schemas::visible::visible;

/// Differences of one request that are listed; the JSON document has them all.
const FINDINGS: usize = 10;
/// Characters of a value.
const VALUE: usize = 120;

/// The whole text.
pub(super) fn text(found: &CheckDocument) -> String {
    let mut out = String::new();
    let word = match found.outcome {
        CheckOutcome::Pass => "PASS",
        CheckOutcome::Fail => "FAIL",
        CheckOutcome::Undecided => "UNDECIDED",
    };
    let mut line = |text: String| {
        out.push_str(&visible(&text));
        out.push('\n');
    };
    line(format!(
        "{word} {}: {} of {} as expected, {} not, in {} ms",
        found.target,
        found.as_expected,
        plural(found.asked, "request", "requests"),
        found.differing,
        found.elapsed_ms
    ));
    for request in &found.requests {
        lines_of(request, &mut line);
    }
    let listed = found.requests.len() as u64;
    let more = (found.differing + found.not_compared).saturating_sub(listed);
    if more > 0 {
        line(format!("and {more} more"));
    }
    if !found.hidden.is_empty() {
        line(format!(
            "present, not compared, because the file does not show them: {}",
            counted(&found.hidden)
        ));
    }
    if let Some(left_out) = left_out(found) {
        line(left_out);
    }
    out
}

fn lines_of(request: &CheckedRequest, line: &mut impl FnMut(String)) {
    let CheckedRequest {
        place, method, url, ..
    } = request;
    let reason = request.reason.as_deref().unwrap_or_default();
    let what = match &*request.outcome {
        "no_answer" => format!("no answer: {reason}"),
        "not_compared" => format!("not compared: {reason}"),
        other => other.to_owned(),
    };
    line(format!("{method} {url} ({place}): {what}"));
    for finding in request.findings.iter().take(FINDINGS) {
        let value = |value: &Option<String>| match value {
            Some(value) => shortened(value),
            None => "nothing".to_owned(),
        };
        let place = match &*finding.path {
            "" => finding.part.as_str().to_owned(),
            path => format!("{} {path}", finding.part.as_str()),
        };
        line(format!(
            "  {place}: expected {}, got {}",
            value(&finding.legacy),
            value(&finding.candidate)
        ));
    }
    let more = request.findings.len().saturating_sub(FINDINGS);
    if more > 0 || request.findings_cut {
        line(format!(
            "  and {more} more that are listed in the JSON document"
        ));
    }
}

/// Names with their numbers.
fn counted(parts: &BTreeMap<String, u64>) -> String {
    let parts = parts
        .iter()
        .map(|(part, count)| format!("{part} ({count})"));
    parts.collect::<Vec<_>>().join(", ")
}

fn shortened(value: &str) -> String {
    let mut short: String = value.chars().take(VALUE).collect();
    if short.len() < value.len() {
        short.push('…');
    }
    short
}

/// What was not asked, and why; `None` if all was.
pub(super) fn left_out(found: &CheckDocument) -> Option<String> {
    let mut parts: Vec<String> = found
        .not_asked
        .iter()
        .map(|(why, count)| {
            let requests = plural(*count, "request", "requests");
            match &**why {
                "unsafe_method" => {
                    format!("{requests} by an unsafe method (--allow-unsafe sends them)")
                }
                "no_answer" => format!("{requests} without an answer to expect"),
                "hidden" => format!(
                    "{requests} with a value that the file hides ({}); [[substitute]] sets such a value",
                    counted(&found.needed)
                ),
                "not_sendable" => format!("{requests} that HTTP cannot send"),
                "timeout" => "those for which no time was left (--timeout gives more)".to_owned(),
                "not_read" => {
                    "the rest of the file, which did not come in time (--timeout gives more; a pipe must be closed by who writes to it)"
                        .to_owned()
                }
                other => format!("{requests}: {other}"),
            }
        })
        .collect();
    if found.unreadable > 0 {
        parts.push(plural(
            found.unreadable,
            "part that cannot be read",
            "parts that cannot be read",
        ));
    }
    if parts.is_empty() {
        return None;
    }
    let mut out = String::new();
    let _infallible = write!(out, "not asked: {}", parts.join("; "));
    Some(out)
}
