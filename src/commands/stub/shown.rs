//! What a stub has seen, for a person.

use std::collections::BTreeMap;

use parity_dashboards::terminal::plural;
use parity_schemas::stub::{StubCall, StubDocument, StubOutcome, UNPROVEN};
use parity_schemas::visible::{visible, visible_up_to};

/// Lines of calls; the document has more calls.
const CALLS: usize = 10;
/// Calls of one line that are told apart, so that each can be looked for.
const NAMED: usize = 3;
/// Routes without an answer that are named.
const ROUTES: usize = 5;
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
    let unclear = unclear(found);
    line(format!(
        "legacy {}, candidate {}: {} equal, {} differing, {} missing, {} extra, {} in another order{unclear}",
        plural(counts.legacy, "call", "calls"),
        plural(counts.candidate, "call", "calls"),
        counts.equal,
        counts.differing,
        counts.missing,
        counts.extra,
        found.other_order
    ));
    if let Some(warning) = unanswered(found) {
        line(warning);
    }
    if counts.legacy + counts.candidate > 0 || !found.limits.is_empty() {
        for reason in &found.reasons {
            let before = match found.outcome {
                StubOutcome::Undecided => "because",
                _ => "besides",
            };
            line(format!("{before} {reason}"));
        }
    }
    for route in &found.routes {
        let counts = &route.counts;
        let not_reached = match counts.not_reached {
            0 => String::new(),
            count => format!(", {count} without a partner"),
        };
        line(format!(
            "  {}: {} equal, {} differing, {} missing, {} extra{not_reached}",
            route.route, counts.equal, counts.differing, counts.missing, counts.extra
        ));
    }
    for group in &found.groups {
        let place = format!("{} {}", group.part.as_str(), group.pattern);
        let near = group
            .explanation
            .map_or_else(String::new, |near| format!(" ({})", near.meaning()));
        let guessed = match group.guessed {
            0 => String::new(),
            count => format!(", {count} by a guess of the partner"),
        };
        line(format!(
            "{} × {}  {}  {}{near}{guessed}",
            group.count,
            group.route,
            place.trim_end(),
            group.kind.meaning()
        ));
    }
    tell_calls(found, &mut line);
    for (words, parts) in [
        ("not compared", &found.not_compared),
        ("answered", &found.answered),
    ] {
        if !parts.is_empty() {
            line(format!("{words}: {}", counted(parts)));
        }
    }
    out
}

/// What is counted and proves nothing.
fn unclear(found: &StubDocument) -> String {
    let crowded = found.limits.get("crowded").copied().unwrap_or(0);
    let mut out = String::new();
    for (count, words) in [
        (
            found.counts.not_reached,
            "without a partner and perhaps never sent to the candidate",
        ),
        (crowded, "pairs unclear"),
    ] {
        if count > 0 {
            out = format!("{out}, {count} {words}");
        }
    }
    out
}

/// The calls that are not equal, those that are told alike together.
fn tell_calls(found: &StubDocument, line: &mut impl FnMut(String)) {
    let mut folded = folded(&found.calls);
    // What is proven first.
    folded.sort_by_key(|(calls, _)| {
        let mut calls = calls.iter();
        calls.any(|call| UNPROVEN.contains(&&*call.outcome))
    });
    for (calls, lines) in folded.iter().take(CALLS) {
        let times = match calls.len() {
            1 => String::new(),
            count => format!("{count} times "),
        };
        let (first, more) = lines
            .split_first()
            .map_or(("", [].as_slice()), |(first, more)| (first.as_str(), more));
        line(format!("{times}{first}"));
        for one in calls.iter().take(NAMED) {
            line(format!("  {}", which(one)));
        }
        if calls.len() > NAMED {
            line(format!("  and {} more of them", calls.len() - NAMED));
        }
        for text in more {
            line(text.clone());
        }
    }
    let told: usize = folded
        .iter()
        .take(CALLS)
        .map(|(calls, _)| calls.len())
        .sum();
    let more = found.not_equal.saturating_sub(told as u64);
    if more > 0 {
        let kept = found.calls.len();
        line(format!(
            "and {more} more that are not equal; --report json=FILE or --output json has {kept} of {} one by one",
            found.not_equal
        ));
    }
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
        StubOutcome::Undecided => {
            format!("UNDECIDED not everything is known, in {seconds:.1} s")
        }
    }
}

/// What is said of calls that the file of answers does not know.
fn unanswered(found: &StubDocument) -> Option<String> {
    let calls = found.counts.legacy + found.counts.candidate;
    let all: u64 = found.unanswered.values().sum();
    let mut routes: Vec<String> = found
        .unanswered
        .iter()
        .take(ROUTES)
        .map(|(route, count)| format!("{route} ({count})"))
        .collect();
    if found.unanswered.len() > ROUTES {
        routes.push("…".to_owned());
    }
    let routes = routes.join(", ");
    (all > 0).then(|| {
        format!(
            "WARNING {all} of {calls} calls got 404, because no [[answer]] matches them: {routes}"
        )
    })
}

/// Calls that are told in the same words, with the lines of these.
fn folded(calls: &[StubCall]) -> Vec<(Vec<&StubCall>, Vec<String>)> {
    let mut folded: Vec<(Vec<&StubCall>, Vec<String>)> = Vec::new();
    for call in calls {
        let lines = lines_of(call);
        match folded.iter_mut().find(|(_, known)| *known == lines) {
            Some((alike, _)) => alike.push(call),
            None => folded.push((vec![call], lines)),
        }
    }
    folded
}

/// By what a call is found elsewhere.
fn which(call: &StubCall) -> String {
    match &call.correlation {
        Some(correlation) => format!("{} {}, {}", correlation.header, correlation.id, call.time),
        None => format!("no correlation header, {}", call.time),
    }
}

fn lines_of(call: &StubCall) -> Vec<String> {
    let what = match &*call.outcome {
        "missing" => "the candidate does not make this call",
        "not_reached" => "has no partner; perhaps its request was never sent to the candidate",
        "extra" => "only the candidate makes this call",
        "other_order" => "comes in another order within its request",
        "not_compared" => "could not be compared",
        _ if call.is_guess => "differs from all calls of the other side; its partner is a guess",
        _ => "differs",
    };
    let reason = call
        .reason
        .as_ref()
        .map_or_else(String::new, |reason| format!(": {reason}"));
    let mut lines = vec![format!("{} {}: {what}{reason}", call.method, call.url)];
    if let Some(body) = call.body.as_ref().filter(|body| !body.is_empty()) {
        let cut = if call.body_cut { "…" } else { "" };
        lines.push(format!("  body {}{cut}", visible_up_to(body, VALUE)));
    }
    for finding in call.findings.iter().take(FINDINGS) {
        let value = |value: &Option<String>| match value {
            Some(value) => visible_up_to(value, VALUE),
            None => "nothing".to_owned(),
        };
        let place = format!("{} {}", finding.part.as_str(), finding.path);
        lines.push(format!(
            "  {}: legacy {}, candidate {}",
            place.trim_end(),
            value(&finding.legacy),
            value(&finding.candidate)
        ));
    }
    if call.findings.len() > FINDINGS || call.findings_cut {
        lines.push("  and more; --report json=FILE has it".to_owned());
    }
    lines
}

/// Names with their numbers.
fn counted(parts: &BTreeMap<String, u64>) -> String {
    let parts = parts.iter().map(|(part, count)| format!("{part} {count}"));
    parts.collect::<Vec<_>>().join(", ")
}
