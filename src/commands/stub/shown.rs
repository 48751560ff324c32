//! What a stub has seen, for a person.

use std::collections::BTreeMap;

use parity_dashboards::terminal::plural;
use parity_schemas::stub::{StubCall, StubDocument, StubOutcome};
use parity_schemas::visible::{visible, visible_up_to};

/// Calls that are listed; the JSON document has more.
const CALLS: usize = 10;
/// Differences of one call that are listed.
const FINDINGS: usize = 5;
/// Characters of a value.
const VALUE: usize = 120;

/// The whole text.
pub(super) fn text(found: &StubDocument) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&visible(&text));
        out.push('\n');
    };
    line(headline(found));
    let counts = &found.counts;
    line(format!(
        "legacy {}, candidate {}: {} equal, {} differing, {} missing, {} extra, {} in another order",
        plural(counts.legacy, "call", "calls"),
        plural(counts.candidate, "call", "calls"),
        counts.equal,
        counts.differing,
        counts.missing,
        counts.extra,
        found.other_order
    ));
    for route in &found.routes {
        let counts = &route.counts;
        line(format!(
            "  {}: {} equal, {} differing, {} missing, {} extra",
            route.route, counts.equal, counts.differing, counts.missing, counts.extra
        ));
    }
    for group in &found.groups {
        let place = format!("{} {}", group.part.as_str(), group.pattern);
        let near = group
            .explanation
            .map_or_else(String::new, |near| format!(" ({})", near.meaning()));
        line(format!(
            "{} × {}  {}  {}{near}",
            group.count,
            group.route,
            place.trim_end(),
            group.kind.meaning()
        ));
    }
    for call in found.calls.iter().take(CALLS) {
        lines_of(call, &mut line);
    }
    let more = found.calls.len().saturating_sub(CALLS);
    if more > 0 {
        line(format!("and {more} more calls in the JSON document"));
    }
    for (words, parts) in [
        ("not compared", &found.not_compared),
        ("a limit was hit", &found.limits),
        ("answered", &found.answered),
    ] {
        if !parts.is_empty() {
            line(format!("{words}: {}", counted(parts)));
        }
    }
    out
}

fn headline(found: &StubDocument) -> String {
    let seconds = found.elapsed_ms as f64 / 1_000.0;
    let counts = &found.counts;
    match found.outcome {
        StubOutcome::Pass => format!("PASS both sides make the same calls, in {seconds:.1} s"),
        StubOutcome::Fail => format!("FAIL the calls of the two sides differ, in {seconds:.1} s"),
        StubOutcome::Undecided
            if counts.legacy + counts.candidate == 0 && found.limits.is_empty() =>
        {
            format!("UNDECIDED no call was seen in {seconds:.1} s")
        }
        StubOutcome::Undecided => format!("UNDECIDED not all could be compared, in {seconds:.1} s"),
    }
}

fn lines_of(call: &StubCall, line: &mut impl FnMut(String)) {
    let what = match &*call.outcome {
        "missing" => "the candidate does not make this call",
        "extra" => "only the candidate makes this call",
        "other_order" => "comes in another order within its request",
        "not_compared" => "could not be compared",
        _ => "differs",
    };
    let reason = call
        .reason
        .as_ref()
        .map_or_else(String::new, |reason| format!(": {reason}"));
    line(format!("{} {}: {what}{reason}", call.method, call.url));
    for finding in call.findings.iter().take(FINDINGS) {
        let value = |value: &Option<String>| match value {
            Some(value) => visible_up_to(value, VALUE),
            None => "nothing".to_owned(),
        };
        let place = format!("{} {}", finding.part.as_str(), finding.path);
        line(format!(
            "  {}: legacy {}, candidate {}",
            place.trim_end(),
            value(&finding.legacy),
            value(&finding.candidate)
        ));
    }
    if call.findings.len() > FINDINGS || call.findings_cut {
        line("  and more in the JSON document".to_owned());
    }
}

/// Names with their numbers.
fn counted(parts: &BTreeMap<String, u64>) -> String {
    let parts = parts.iter().map(|(part, count)| format!("{part} {count}"));
    parts.collect::<Vec<_>>().join(", ")
}
