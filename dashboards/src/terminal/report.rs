//! The text report: the first thing that a person reads.
//!
//! Everything here is also in the JSON documents of report and gate.

mod clients;
mod groups;
mod known;
mod noise;
mod outcomes;

use std::collections::BTreeMap;
use std::fmt::Write;

use parity_schemas::evidence::Outcome;

use super::{BAD, BOLD, DIM, style, styled};
use crate::view::words::{
    elapsed, grouped, percent, plural, rate, sentence, sentences, shown, targets_line, version,
};
use crate::view::{Decided, ReportView, not_compared};

pub(super) use clients::headline as clients_line;
pub(super) use known::write as known_differences;
pub(super) use noise::short as noise_in_short;

/// Routes listed, about a screen. Further ones are only counted.
const MAX_ROUTES: usize = 30;

/// The whole report, with the decision on it.
pub fn report(decided: &Decided) -> String {
    let mut out = String::new();
    let _infallible = write(&mut out, &decided.into());
    out
}

fn write(out: &mut String, view: &ReportView<'_>) -> std::fmt::Result {
    let (report, decision) = (view.report, view.decision);
    if report.window.is_some() {
        clients::write(out, view)?;
    }
    writeln!(out, "{}", headline(view))?;
    let Some(window) = &report.window else {
        // It may be that all of it is left out.
        for told in sentences(&view.not_counted(&[])) {
            writeln!(out, "  {told}")?;
        }
        return hidden(out, view);
    };
    let reasons = match decision.outcome {
        Outcome::Undecided => decision.reasons.as_slice(),
        Outcome::Pass | Outcome::Fail => &[],
    };
    let not_counted = view.not_counted(reasons);
    for told in sentences(reasons).chain(sentences(&not_counted)) {
        writeln!(out, "  {told}")?;
    }
    if let Some(told) = view.classes() {
        writeln!(out, "  {told}")?;
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
    let whole = view.completeness().line(|time| time.to_string());
    writeln!(out, "{}", styled(DIM, whole))?;
    hidden(out, view)?;
    routes(out, view)?;
    groups::write(out, view)?;
    known::write(out, &view.known(), usize::MAX)?;
    noise::write(out, view)?;
    outcomes::write(out, view)?;
    rules(out, view)?;
    conservation(out, view)
}

/// What this report includes of evidence under other rules, and what it does not.
fn hidden(out: &mut String, view: &ReportView<'_>) -> std::fmt::Result {
    for line in view.completeness().carried_lines(|time| time.to_string()) {
        writeln!(out, "{}", styled(DIM, line))?;
    }
    let line = view
        .completeness()
        .other_rules_line(|time| time.to_string());
    match line {
        Some(line) => writeln!(out, "{}", styled(DIM, line)),
        None => Ok(()),
    }
}

/// The sentence that sums up the report.
fn headline(view: &ReportView<'_>) -> String {
    let headline = view.headline();
    let word = styled(style(headline.tone), headline.word.to_uppercase());
    let line = format!("{word} {}", sentence(&headline.rest));
    if !headline.is_compared {
        return line;
    }
    let thresholds = &view.decision.thresholds;
    let allowed = percent(thresholds.max_mismatch_rate);
    let sure = percent(thresholds.confidence);
    let terms = styled(DIM, format_args!("({allowed} allowed, {sure} sure)"));
    format!("{line} {terms}")
}

fn routes(out: &mut String, view: &ReportView<'_>) -> std::fmt::Result {
    let (report, columns) = (view.report, view.excused_columns());
    let listed: Vec<_> = report.routes.iter().take(MAX_ROUTES).collect();
    let width = listed
        .iter()
        .map(|route| shown(&route.route).chars().count())
        .max()
        .unwrap_or(0)
        .max(5);
    let header = format!(
        "{:width$}  {:>9}  {:>9}  {:>7}  {:>8}{}  {:>12}  {:>25}",
        "ROUTE",
        "RECEIVED",
        "MATCH",
        "DIFFER",
        "RATE",
        excused_cells(&columns.titles()).to_uppercase(),
        "NOT COMPARED",
        "p50 HEAD LEGACY/CANDIDATE"
    );
    writeln!(out, "\n{}", styled(BOLD, header.trim_end()))?;
    for route in &listed {
        let counts = &route.counts;
        let (differing, compared) = (route.differing, route.compared);
        let rate = rate(differing, compared).unwrap_or_else(|| "-".to_owned());
        // To the head, as the gate compares them: the last byte also depends on how long a body is.
        let median = |quantiles: &BTreeMap<String, u64>| {
            quantiles
                .get("p50")
                .map_or("-".to_owned(), |us| elapsed(*us))
        };
        let latency = format!(
            "{} / {}",
            median(&route.legacy_head_us),
            median(&route.candidate_head_us)
        );
        let differ = format!("{:>7}  {rate:>8}", grouped(differing));
        writeln!(
            out,
            "{:width$}  {:>9}  {:>9}  {}{}  {:>12}  {latency:>25}",
            shown(&route.route),
            grouped(counts.received),
            grouped(counts.matched),
            if differing > 0 {
                styled(BAD, &differ)
            } else {
                differ.clone()
            },
            excused_cells(&columns.cells(&route.excused)),
            grouped(not_compared(counts)),
        )?;
    }
    more(out, report.routes.len(), MAX_ROUTES, "routes")?;
    if let Some(line) = targets_line(report.distinct_targets, report.most_frequent_share) {
        writeln!(out, "{}", styled(DIM, line))?;
    }
    for told in view.fields_left() {
        writeln!(out, "{}", sentence(&told))?;
    }
    Ok(())
}

/// Titles or numbers of the columns for mismatches that do not count.
pub(super) fn excused_cells(cells: &[String]) -> String {
    let cells = cells.iter().map(|cell| format!("  {cell:>9}"));
    cells.collect()
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

/// Rules without a hit that are listed: a profile may have a dozen, most of which a service never needs.
const MAX_IDLE_RULES: usize = 20;

fn rules(out: &mut String, view: &ReportView<'_>) -> std::fmt::Result {
    let (report, since) = (view.report, view.excused_since());
    if !report.rules.is_empty() || since.is_some() {
        writeln!(out, "\n{}", styled(BOLD, "EXCUSED BY RULES"))?;
    }
    for rule in &report.rules {
        writeln!(out, "{:>6} × {}", grouped(rule.hits), shown(&rule.id))?;
    }
    if let Some((count, what)) = since {
        writeln!(out, "{:>6} × ({what})", grouped(count))?;
    }
    if !report.idle_rules.is_empty() {
        writeln!(out, "\n{}", styled(BOLD, "RULES THAT EXCUSED NOTHING"))?;
    }
    for rule in report.idle_rules.iter().take(MAX_IDLE_RULES) {
        let requests = plural(rule.compared, "compared request", "compared requests");
        let id = shown(&rule.id);
        writeln!(out, "  {id}  in {requests} since {}", rule.since)?;
    }
    match report.idle_rules.len().saturating_sub(MAX_IDLE_RULES) {
        0 => Ok(()),
        more => writeln!(out, "  … and {more} more; --output json has all"),
    }
}

/// Says how many requests have no outcome, if any. Once no request is in progress, there are none.
fn conservation(out: &mut String, view: &ReportView<'_>) -> std::fmt::Result {
    match view.unsettled() {
        Some(unsettled) => {
            let sentence = styled(style(unsettled.tone()), unsettled.sentence());
            writeln!(out, "\n{sentence}")
        }
        None => Ok(()),
    }
}
