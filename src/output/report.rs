//! The text report: the first thing that a person reads.
//!
//! In the order in which one asks: is it equal? where is it not? what differs, with one example each? what was not
//! compared, and why? Everything here is also in the JSON document; the text adds the verdict sentence only.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use parity_schemas::evidence::{Decision, Outcome};
use parity_schemas::report::{GroupReport, Report};
use parity_schemas::tally::Counts;
use parity_schemas::verdict::{Kind, Part, Reason};

use super::{
    BAD, BOLD, CANDIDATE, DIM, GOOD, LEGACY, OPEN, diff_lines, elapsed, explained, grouped,
    percent, shown, shown_value, styled,
};

/// More routes and groups than a screen holds are counted, not listed.
const MAX_ROUTES: usize = 30;
const MAX_GROUPS: usize = 30;
/// Lines shown of a text diff.
const MAX_DIFF_LINES: usize = 12;

/// The whole report; `decision` is the gate's view at its default thresholds.
pub(crate) fn text(report: &Report, decision: &Decision) -> String {
    let mut out = String::new();
    let _infallible = write(&mut out, report, decision);
    out
}

fn write(out: &mut String, report: &Report, decision: &Decision) -> std::fmt::Result {
    writeln!(out, "{}", verdict(report, decision))?;
    let Some(window) = &report.window else {
        return Ok(());
    };
    writeln!(
        out,
        "{}",
        styled(
            DIM,
            format_args!(
                "migration {} · legacy {} · candidate {} · rules {} · {} to {} · {}",
                shown(&report.migration),
                version(&report.legacy_version),
                version(&report.candidate_version),
                shown(&report.rules_hash),
                window.from,
                window.to,
                shown(&report.instances.join(", ")),
            )
        )
    )?;
    routes(out, report)?;
    groups(out, report)?;
    not_compared(out, &report.counts)?;
    rules(out, report)?;
    conservation(out, &report.counts)
}

fn version(version: &str) -> String {
    if version.is_empty() {
        "(no version)".to_owned()
    } else {
        shown(version)
    }
}

/// One sentence that says how it stands.
fn verdict(report: &Report, decision: &Decision) -> String {
    let counts = &report.counts;
    if report.window.is_none() {
        return styled(
            OPEN,
            format_args!(
                "NOTHING RECORDED for migration {}",
                shown(&report.migration)
            ),
        );
    }
    let compared = counts.compared();
    let differing = counts.differing();
    if compared == 0 {
        return styled(
            OPEN,
            format_args!(
                "NOTHING COMPARED of {} requests received",
                grouped(counts.received)
            ),
        );
    }
    let bad_routes = report
        .routes
        .iter()
        .filter(|route| route.counts.differing() > 0)
        .count();
    let sentence = if differing == 0 {
        format!("all {} compared requests are equal", grouped(compared))
    } else {
        format!(
            "{} of {} compared requests differ ({}), on {bad_routes} of {} routes",
            grouped(differing),
            grouped(compared),
            percent(differing as f64 / compared as f64),
            report.routes.len(),
        )
    };
    let (style, word) = match decision.outcome {
        Outcome::Pass => (GOOD, "PASS"),
        Outcome::Fail => (BAD, "FAIL"),
        Outcome::Undecided => (OPEN, "UNDECIDED"),
    };
    let allowed = percent(decision.thresholds.max_mismatch_rate);
    let sure = percent(decision.thresholds.confidence);
    let more = match decision.total.needed {
        0 => String::new(),
        needed => format!(", {} more equal ones would prove it", grouped(needed)),
    };
    let terms = format!("({allowed} allowed, {sure} sure{more})");
    format!("{} {sentence} {}", styled(style, word), styled(DIM, terms))
}

fn routes(out: &mut String, report: &Report) -> std::fmt::Result {
    let listed: Vec<_> = report.routes.iter().take(MAX_ROUTES).collect();
    let width = listed
        .iter()
        .map(|route| shown(&route.route).chars().count())
        .max()
        .unwrap_or(0)
        .max(5);
    let header = format!(
        "{:width$}  {:>9}  {:>9}  {:>7}  {:>8}  {:>12}  {:>20}",
        "ROUTE", "RECEIVED", "MATCH", "DIFFER", "RATE", "NOT COMPARED", "p50 LEGACY/CANDIDATE"
    );
    writeln!(out, "\n{}", styled(BOLD, header.trim_end()))?;
    for route in &listed {
        let counts = &route.counts;
        let (differing, compared) = (counts.differing(), counts.compared());
        let rate = if compared == 0 {
            "-".to_owned()
        } else {
            percent(differing as f64 / compared as f64)
        };
        let rest = counts.not_compared.values().sum::<u64>() - counts.candidate_failures();
        let median = |quantiles: &BTreeMap<String, u64>| {
            quantiles
                .get("p50")
                .map_or("-".to_owned(), |us| elapsed(*us))
        };
        let latency = format!(
            "{} / {}",
            median(&route.legacy_us),
            median(&route.candidate_us)
        );
        let differ = format!("{:>7}  {rate:>8}", grouped(differing));
        writeln!(
            out,
            "{:width$}  {:>9}  {:>9}  {}  {:>12}  {latency:>20}",
            shown(&route.route),
            grouped(counts.received),
            grouped(counts.matched),
            if differing > 0 {
                styled(BAD, &differ)
            } else {
                differ.clone()
            },
            grouped(rest),
        )?;
    }
    more(out, report.routes.len(), MAX_ROUTES, "routes")
}

fn more(out: &mut String, all: usize, listed: usize, what: &str) -> std::fmt::Result {
    if all > listed {
        writeln!(
            out,
            "{}",
            styled(
                DIM,
                format_args!("… and {} more {what}; --output json has all", all - listed)
            )
        )?;
    }
    Ok(())
}

fn groups(out: &mut String, report: &Report) -> std::fmt::Result {
    if report.groups.is_empty() {
        return Ok(());
    }
    let causes = causes(&report.groups);
    let title = format!(
        "DIFFERENCES ({} group{})",
        report.groups.len(),
        plural(report.groups.len())
    );
    writeln!(out, "\n{}", styled(BOLD, title))?;
    for cause in causes.iter().take(MAX_GROUPS) {
        write_cause(out, cause)?;
    }
    more(out, causes.len(), MAX_GROUPS, "differences")
}

/// Groups by what a person would mend once. A header that differs in the same way on every route is one line; bodies
/// of different routes stay apart, because equal paths in them need not mean the same.
fn causes(groups: &[GroupReport]) -> Vec<Vec<&GroupReport>> {
    let mut causes: Vec<Vec<&GroupReport>> = Vec::new();
    for group in groups {
        let same = causes.iter_mut().find(|cause| {
            let first = cause[0];
            matches!(group.part, Part::Header | Part::Trailer)
                && (first.part, &first.pattern, first.kind, first.explanation)
                    == (group.part, &group.pattern, group.kind, group.explanation)
                && (matches!(group.kind, Kind::Missing | Kind::Extra)
                    || sides(first) == sides(group))
        });
        match same {
            Some(cause) => cause.push(group),
            None => causes.push(vec![group]),
        }
    }
    causes
        .sort_by_key(|cause| std::cmp::Reverse(cause.iter().map(|group| group.count).sum::<u64>()));
    causes
}

fn sides(group: &GroupReport) -> Option<(Option<&str>, Option<&str>)> {
    group
        .example
        .as_ref()
        .map(|example| (example.legacy.as_deref(), example.candidate.as_deref()))
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn write_cause(out: &mut String, cause: &[&GroupReport]) -> std::fmt::Result {
    let group = cause[0];
    let count = cause.iter().map(|group| group.count).sum();
    let routes: BTreeSet<&str> = cause.iter().map(|group| group.route.as_str()).collect();
    let route = if routes.len() == 1 {
        shown(&group.route)
    } else {
        format!("on {} routes", routes.len())
    };
    let place = match (group.part, group.pattern.as_str()) {
        (Part::Status, _) => "status".to_owned(),
        (part, "") => format!("{part}, as a whole"),
        (part, pattern) => format!("{part} {}", shown(pattern)),
    };
    writeln!(
        out,
        "{} × {route}  {}  {}",
        styled(BOLD, format_args!("{:>6}", grouped(count))),
        styled(BOLD, place),
        kind(group.kind),
    )?;
    if let Some(example) = &group.example {
        let mut place = shown(&example.target);
        if !example.path.is_empty() && example.path != group.pattern {
            let _infallible = write!(place, " at {}", shown(&example.path));
        }
        writeln!(
            out,
            "         {}",
            styled(DIM, format_args!("for example {place}"))
        )?;
        if let Some(diff) = &example.text_diff {
            for line in diff_lines(diff).take(MAX_DIFF_LINES) {
                writeln!(out, "         | {line}")?;
            }
        } else {
            let (legacy, candidate) = (example.legacy.as_deref(), example.candidate.as_deref());
            writeln!(out, "         legacy     {}", side(LEGACY, legacy))?;
            writeln!(out, "         candidate  {}", side(CANDIDATE, candidate))?;
        }
    }
    if let Some(explanation) = group.explanation {
        writeln!(out, "         {explanation}: {}", explained(explanation))?;
    }
    Ok(())
}

fn side(style: anstyle::Style, value: Option<&str>) -> String {
    value.map_or_else(
        || styled(DIM, "(absent)"),
        |value| styled(style, shown_value(value)),
    )
}

pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Missing => "is missing in the candidate",
        Kind::Extra => "is only in the candidate",
        Kind::Type => "has another type",
        Kind::Value => "has another value",
        Kind::Order => "is in another order",
        Kind::DuplicateKey => "has a key twice",
        Kind::Decode => "is not what it claims to be",
    }
}

fn not_compared(out: &mut String, counts: &Counts) -> std::fmt::Result {
    if counts.not_compared.is_empty() {
        return Ok(());
    }
    let total = counts.not_compared.values().sum();
    writeln!(
        out,
        "\n{}",
        styled(BOLD, format_args!("NOT COMPARED ({})", grouped(total)))
    )?;
    let mut reasons: Vec<_> = counts.not_compared.iter().collect();
    reasons.sort_by_key(|(reason, count)| (std::cmp::Reverse(**count), **reason));
    for (reason, count) in reasons {
        let style = if reason.is_candidate_failure() {
            BAD
        } else {
            anstyle::Style::new()
        };
        let word = styled(style, format_args!("{reason:20}"));
        writeln!(out, "{:>6} × {word} {}", grouped(*count), advice(*reason))?;
    }
    Ok(())
}

/// What a reason means and what to do about it.
fn advice(reason: Reason) -> &'static str {
    match reason {
        Reason::UnsafeMethod => {
            "the method may have side effects; a [[route]] with shadow = true allows it"
        }
        Reason::ShadowingOff => "shadowing was switched off",
        Reason::SampledOut => "left out by the sampling rate",
        Reason::Upgrade => "a connection upgrade; only the legacy takes part",
        Reason::RequestTooLarge => "the request body is over limits.body",
        Reason::InFlightCap => "more shadows under way than limits.in_flight",
        Reason::ByteBudget => "more bytes held than limits.shadow_bytes",
        Reason::BreakerOpen => "the candidate kept failing and was left alone for a while",
        Reason::ClientAborted => "the client went away first",
        Reason::LegacyUnreachable => "the legacy could not be reached; the client got 502",
        Reason::LegacyTimeout => "the legacy did not answer in time",
        Reason::LegacyTruncated => "the legacy's answer broke off",
        Reason::CandidateRefused => "the candidate refused the connection; counts against it",
        Reason::CandidateTimeout => {
            "the candidate did not answer within its deadline; counts against it"
        }
        Reason::CandidateReset => {
            "the candidate closed the connection before it answered; counts against it"
        }
        Reason::CandidateProtocol => "the candidate did not answer in HTTP; counts against it",
        Reason::CandidateTls => "the TLS handshake with the candidate failed; counts against it",
        Reason::CandidateTruncated => "the candidate's answer broke off; counts against it",
        Reason::ResponseTooLarge => "an answer is over limits.body, as sent or decompressed",
        Reason::Stream => "an answer without an end",
        Reason::Undecodable => "a content encoding that cannot be undone",
        Reason::TooDeep => "nested deeper than is followed, and the bytes differ",
        Reason::WorkBudget => "comparing would cost more work than allowed",
        Reason::QueueFull => "more exchanges waited for comparison than limits.queue",
        Reason::InternalPanic => "a bug of parity; please report it with the log",
        Reason::Shutdown => "parity was shut down first",
    }
}

fn rules(out: &mut String, report: &Report) -> std::fmt::Result {
    if report.rules.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", styled(BOLD, "EXCUSED BY RULES"))?;
    for rule in &report.rules {
        writeln!(out, "{:>6} × {}", grouped(rule.hits), shown(&rule.id))?;
    }
    Ok(())
}

/// Says so when requests have no outcome yet; at rest there are none.
fn conservation(out: &mut String, counts: &Counts) -> std::fmt::Result {
    let (received, settled) = (counts.received, counts.settled());
    if received > settled {
        writeln!(
            out,
            "\n{} under way: received {}, settled {}",
            received - settled,
            received,
            settled
        )?;
    } else if settled > received {
        let text =
            format!("ACCOUNTING ERROR: received {received}, settled {settled}; please report this");
        writeln!(out, "\n{}", styled(BAD, text))?;
    }
    Ok(())
}
