//! The text report: the first thing that a person reads.
//!
//! In the order in which one asks: did the clients get their answers? is it equal, and if that is open, why? where is it not? what differs, with one
//! example each? what was not compared, and why? Everything here is also in the JSON documents of report and gate.

mod clients;
mod groups;
mod outcomes;

use std::collections::BTreeMap;
use std::fmt::Write;

use parity_schemas::evidence::{Decision, Outcome};
use parity_schemas::report::Report;
use parity_schemas::tally::Counts;
use parity_schemas::watermark::RunState;

use super::{
    BAD, BOLD, DIM, GOOD, OPEN, elapsed, grouped, other_rules, percent, sentence, shown, styled,
    watermark,
};

pub(super) use clients::headline as clients_headline;
pub(super) use groups::kind;

/// More routes than a screen holds are counted, not listed.
const MAX_ROUTES: usize = 30;

/// The whole report; `decision` is the gate's view at its default thresholds.
pub(crate) fn text(report: &Report, decision: &Decision) -> String {
    let mut out = String::new();
    let _infallible = write(&mut out, report, decision);
    out
}

fn write(out: &mut String, report: &Report, decision: &Decision) -> std::fmt::Result {
    if report.window.is_some() {
        clients::write(out, report)?;
    }
    writeln!(out, "{}", verdict(report, decision))?;
    let Some(window) = &report.window else {
        return hidden(out, report);
    };
    if decision.outcome == Outcome::Undecided {
        for reason in &decision.reasons {
            writeln!(out, "  {}", sentence(reason))?;
        }
    }
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
    let whole = watermark(report.complete_until, &report.watermarks);
    writeln!(out, "{}", styled(DIM, whole))?;
    hidden(out, report)?;
    routes(out, report)?;
    groups::write(out, report)?;
    outcomes::candidate_failed(out, &report.counts)?;
    outcomes::not_compared(out, &report.counts)?;
    rules(out, report)?;
    conservation(out, report)
}

/// What there is that a change of the rules has put out of sight.
fn hidden(out: &mut String, report: &Report) -> std::fmt::Result {
    match other_rules(&report.other_rules) {
        Some(line) => writeln!(out, "{}", styled(DIM, line)),
        None => Ok(()),
    }
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
    let terms = format!("({allowed} allowed, {sure} sure)");
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

/// Whether somebody may yet tell the outcome of a request that has none.
fn goes_on(report: &Report) -> bool {
    let mut runs = report.watermarks.iter();
    runs.any(|run| {
        !matches!(
            run.state,
            RunState::Ended | RunState::Replaced | RunState::OtherRules
        )
    })
}

/// Says so when requests have no outcome; at rest there are none.
fn conservation(out: &mut String, report: &Report) -> std::fmt::Result {
    let counts: &Counts = &report.counts;
    let (received, settled) = (counts.received, counts.settled());
    if received > settled {
        let what = if goes_on(report) {
            "under way"
        } else {
            "without an outcome, which was lost with its process"
        };
        writeln!(
            out,
            "\n{} {what}: received {}, settled {}",
            grouped(received - settled),
            grouped(received),
            grouped(settled)
        )?;
    } else if settled > received {
        let text =
            format!("ACCOUNTING ERROR: received {received}, settled {settled}; please report this");
        writeln!(out, "\n{}", styled(BAD, text))?;
    }
    Ok(())
}
