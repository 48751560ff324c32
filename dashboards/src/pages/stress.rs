//! What two services hold under load, as one HTML file that stands alone: tables and charts, without a script.
//!
//! A chart is drawn here as those of the pages are: shapes with classes. Its numbers are in a table, too. Names and texts of services
//! are escaped by askama, with their invisible characters as escapes before that.

use std::collections::BTreeMap;

use askama::Template;
use parity_comparator::metrics::shown;
use parity_schemas::metrics::{Measure, Unit};
use parity_schemas::stress::{StressDocument, StressSide, StressStep};
use parity_schemas::visible::visible;

use crate::view::measured::{COLUMNS, rows};
use crate::view::stress as told;
use crate::view::words::grouped;

const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 992.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 226.0;
/// Steps of the scale.
const STEPS: u32 = 4;

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
        Chart::of("Latency by rate", sides, &latency, true),
        Chart::of(
            "CPU by rate, in cores",
            sides,
            &[(Measure::Cpu, "cpu")],
            false,
        ),
        Chart::of(
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

/// A line of a chart.
struct Line {
    class: String,
    name: String,
    points: String,
    dots: Vec<Dot>,
}

/// A median with its spread.
struct Dot {
    x: String,
    y: String,
    low: String,
    high: String,
    title: String,
}

/// A text at a place.
struct Label {
    x: String,
    y: String,
    text: String,
}

struct Chart {
    title: &'static str,
    lines: Vec<Line>,
    scale: Vec<Label>,
    ticks: Vec<Label>,
}

fn unit(number: f64) -> String {
    format!("{number:.1}")
}

impl Chart {
    /// Medians by rate of both services; `None` if nothing was measured. With `is_log` the scale has equal steps for equal ratios:
    /// what breaks is far above what holds.
    fn of(
        title: &'static str,
        sides: [&StressSide; 2],
        measures: &[(Measure, &str)],
        is_log: bool,
    ) -> Option<Self> {
        let steps = || sides.iter().flat_map(|side| &side.steps);
        let most_rate = f64::from(steps().map(|step| step.rate).max()?);
        let spreads = || {
            let each = |step: &StressStep| {
                let found = measures
                    .iter()
                    .filter_map(|(measure, _)| step.spread(*measure));
                found.collect::<Vec<_>>()
            };
            steps().flat_map(each)
        };
        let highest = spreads().map(|spread| spread.high).reduce(f64::max)?;
        let positive = spreads().map(|spread| spread.low).filter(|low| *low > 0.0);
        let lowest = positive.reduce(f64::min).unwrap_or(highest);
        let scale = Scale::of(lowest, highest, is_log);
        let across = |rate: f64| LEFT + rate / most_rate.max(1.0) * (RIGHT - LEFT);
        let unit_of = measures
            .first()
            .map_or(Unit::Number, |(measure, _)| measure.unit());
        let mut lines = Vec::new();
        for (name, side) in ["legacy", "candidate"].into_iter().zip(sides) {
            for (measure, word) in measures {
                let found = side
                    .steps
                    .iter()
                    .filter_map(|step| Some((step.rate, step.spread(*measure)?)));
                let dots: Vec<Dot> = found
                    .map(|(rate, spread)| Dot {
                        x: unit(across(f64::from(rate))),
                        y: unit(scale.height(spread.median)),
                        low: unit(scale.height(spread.low)),
                        high: unit(scale.height(spread.high)),
                        title: format!(
                            "{name} {word} at {rate}/s: {} ({} to {})",
                            shown(spread.median, unit_of),
                            shown(spread.low, unit_of),
                            shown(spread.high, unit_of)
                        ),
                    })
                    .collect();
                let points: Vec<String> = dots
                    .iter()
                    .map(|dot| format!("{},{}", dot.x, dot.y))
                    .collect();
                if !dots.is_empty() {
                    lines.push(Line {
                        class: format!("of-{name} {word}"),
                        name: format!("{name} {word}"),
                        points: points.join(" "),
                        dots,
                    });
                }
            }
        }
        let steps = (0..=STEPS).map(|step| f64::from(step) / f64::from(STEPS));
        let at_left = steps.clone().map(|share| Label {
            x: unit(LEFT - 8.0),
            y: unit(BOTTOM - share * (BOTTOM - TOP) + 4.0),
            text: shown(scale.value(share), unit_of),
        });
        let below = steps.map(|share| Label {
            x: unit(across(share * most_rate)),
            y: unit(BOTTOM + 20.0),
            text: shown(share * most_rate, Unit::PerSecond),
        });
        Some(Self {
            title,
            lines,
            scale: at_left.collect(),
            ticks: below.collect(),
        })
    }

    #[expect(clippy::unused_self, reason = "askama calls methods of fields")]
    fn frame(&self) -> [String; 4] {
        [LEFT, RIGHT, TOP, BOTTOM].map(unit)
    }

    #[expect(clippy::unused_self, reason = "askama calls methods of fields")]
    fn size(&self) -> String {
        format!("0 0 {WIDTH} {HEIGHT}")
    }
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

/// From values to heights.
#[derive(Clone, Copy)]
struct Scale {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Scale {
    fn of(lowest: f64, highest: f64, is_log: bool) -> Self {
        let high = if highest > 0.0 { highest } else { 1.0 };
        let low = if is_log { lowest.min(high / 2.0) } else { 0.0 };
        Self { low, high, is_log }
    }

    fn share(self, value: f64) -> f64 {
        let share = if self.is_log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            value / self.high
        };
        if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    fn height(self, value: f64) -> f64 {
        BOTTOM - self.share(value) * (BOTTOM - TOP)
    }

    fn value(self, share: f64) -> f64 {
        if self.is_log {
            self.low * (self.high / self.low).powf(share)
        } else {
            share * self.high
        }
    }
}

#[cfg(test)]
mod tests;
