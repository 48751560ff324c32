//! What two services hold under load, as one HTML file that stands alone: tables and charts, without a script.
//!
//! Its numbers are in a table, too. Names and texts of services are escaped by askama, with their invisible characters as escapes before
//! that.

use std::collections::BTreeMap;

use askama::Template;
use parity_comparator::metrics::shown;
use parity_schemas::metrics::{Measure, Unit};
use parity_schemas::stress::{StressDocument, StressSide, StressStep};
use parity_schemas::visible::visible;

use super::load_chart::{Chart, Dots, Point, Range};
use super::told::told;
use crate::view::measured::{COLUMNS, rows};
use crate::view::stress as told;
use crate::view::words::grouped;

#[derive(Template)]
#[template(path = "stress.html")]
struct StressPage<'a> {
    document: &'a StressDocument,
    charts: Vec<Chart>,
    /// It is ours, and the only text that is not escaped.
    style: &'a str,
}

/// The result as a page.
pub fn stress(document: &StressDocument) -> askama::Result<String> {
    let style = super::asset("style.css").unwrap_or_default();
    let sides = [&document.legacy, &document.candidate];
    let latency = [
        (Measure::P50, "p50"),
        (Measure::P99, "p99"),
        (Measure::P999, "p999"),
    ];
    let charts = [
        chart("Latency by rate", sides, &latency, true),
        chart(
            "CPU by rate, in cores",
            sides,
            &[(Measure::Cpu, "cpu")],
            false,
        ),
        chart(
            "Resident memory by rate",
            sides,
            &[(Measure::Rss, "rss")],
            false,
        ),
    ];
    StressPage {
        document,
        charts: charts.into_iter().flatten().collect(),
        style: &String::from_utf8_lossy(&style),
    }
    .render()
}

impl StressPage<'_> {
    fn sides(&self) -> [(&'static str, &StressSide); 2] {
        [
            ("legacy", &self.document.legacy),
            ("candidate", &self.document.candidate),
        ]
    }
}

/// Medians by rate of both services; `None` if nothing was measured. With `is_log` the scale has equal steps for equal ratios: what
/// breaks is far above what holds.
fn chart(
    title: &'static str,
    sides: [&StressSide; 2],
    measures: &[(Measure, &str)],
    is_log: bool,
) -> Option<Chart> {
    let unit = measures
        .first()
        .map_or(Unit::Number, |(measure, _)| measure.unit());
    let mut lines = Vec::new();
    for (name, side) in ["legacy", "candidate"].into_iter().zip(sides) {
        for (measure, word) in measures {
            let steps = side.steps.iter();
            let found = steps.filter_map(|step| Some((step.rate, step.spread(*measure)?)));
            let points = found.map(|(rate, spread)| Point {
                x: f64::from(rate),
                y: [spread.low, spread.median, spread.high],
                title: format!(
                    "{name} {word} at {rate}/s: {} ({} to {})",
                    shown(spread.median, unit),
                    shown(spread.low, unit),
                    shown(spread.high, unit)
                ),
            });
            lines.push(Dots {
                class: format!("of-{name} {word}"),
                name: format!("{name} {word}"),
                points: points.collect(),
            });
        }
    }
    let range = if is_log {
        Range::Ratios
    } else {
        Range::FromZero
    };
    Chart::of(title, lines, [Unit::PerSecond, unit], range)
}

/// Requests that were due, of all runs.
fn due(step: &StressStep) -> u64 {
    step.runs.iter().map(|run| run.due).sum()
}

/// Answers by class.
fn statuses(step: &StressStep) -> String {
    counted(step.runs.iter().map(|run| &run.statuses))
}

/// Requests without an answer, by reason.
fn failures(step: &StressStep) -> String {
    counted(step.runs.iter().map(|run| &run.failures))
}

fn counted<'a>(runs: impl Iterator<Item = &'a BTreeMap<String, u64>>) -> String {
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for (word, count) in runs.flatten() {
        *all.entry(word).or_default() += count;
    }
    let told: Vec<String> = all
        .into_iter()
        .map(|(word, count)| format!("{} {}", grouped(count), visible(word)))
        .collect();
    told.join(", ")
}

fn p99s(step: &StressStep) -> String {
    let found = step.runs.iter().filter_map(|run| run.latency.get("p99"));
    let told: Vec<String> = found.map(|p99| shown(*p99, Unit::Seconds)).collect();
    told.join(", ")
}

#[cfg(test)]
mod tests;
