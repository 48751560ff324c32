//! Two services set beside each other by the metrics that they export: how fast, how often wrong, at what cost.
//!
//! The pages are taken over the same time and given here as texts; this only reads and counts. A quantile of a histogram has the edges
//! of buckets as its bounds, and the chance of a sample besides, so that a [threshold](threshold) is held, broken, or cannot be told.
//! What a service does not export is not measured, and never 0.

mod counted;
mod exposition;
mod measured;
mod names;
mod threshold;

use parity_schemas::metrics::{
    METRICS_SCHEMA, Measure, Measured, MetricsDocument, MetricsOutcome, MetricsSide,
};

pub use exposition::{Exposition, Sample};
use measured::Service;
pub use names::{Names, Source, SourceError};
pub use threshold::{Threshold, ThresholdError, shown};

/// A page and when it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Scrape {
    /// Seconds since the first page was asked for.
    pub at: f64,
    /// What it says.
    pub page: Exposition,
}

/// The pages of a service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scrapes {
    /// Where they came from.
    pub target: String,
    /// In the order of time.
    pub pages: Vec<Scrape>,
    /// How many could not be read.
    pub failed: u64,
    /// When the first page was asked for, in seconds since 1970.
    pub asked_at: f64,
    /// Where this service says what.
    pub names: Names,
}

/// How thresholds are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Judged {
    /// By the bounds: what could be on either side of a threshold is undecided.
    #[default]
    ByBounds,
    /// By the values, as a dashboard shows them.
    ByValues,
}

/// Sets two services beside each other.
pub fn compared(
    legacy: &Scrapes,
    candidate: &Scrapes,
    thresholds: &[Threshold],
    judged: Judged,
) -> MetricsDocument {
    let services = [legacy, candidate].map(Service::of);
    let measures: Vec<Measured> = Measure::ALL
        .iter()
        .map(|measure| beside(*measure, &services))
        .collect();
    let thresholds: Vec<_> = thresholds
        .iter()
        .map(|threshold| threshold.judge(&measures, judged))
        .collect();
    let outcomes = thresholds.iter().map(|threshold| threshold.outcome);
    let [legacy, candidate] = services;
    MetricsDocument {
        schema: METRICS_SCHEMA.to_owned(),
        outcome: outcomes.max().unwrap_or(MetricsOutcome::Pass),
        seconds: legacy.seconds().max(candidate.seconds()),
        legacy: side(&legacy),
        candidate: side(&candidate),
        measures,
        thresholds,
    }
}

fn side(service: &Service<'_>) -> MetricsSide {
    let scrapes = service.scrapes;
    MetricsSide {
        target: scrapes.target.clone(),
        pages: scrapes.pages.len() as u64,
        failed: scrapes.failed,
        restarts: service.restarts,
        unreadable_lines: scrapes
            .pages
            .iter()
            .map(|scrape| scrape.page.unreadable)
            .sum(),
        notes: service.notes.clone(),
    }
}

fn beside(measure: Measure, services: &[Service<'_>; 2]) -> Measured {
    let mut notes = Vec::new();
    let [legacy, candidate] = [("legacy", &services[0]), ("candidate", &services[1])].map(
        |(name, service)| match service.measure(measure) {
            Ok(found) => {
                notes.extend(found.note.map(|note| format!("{name}: {note}")));
                Some(found.value)
            }
            Err(why) => {
                notes.push(format!("{name}: {why}"));
                None
            }
        },
    );
    let change = legacy
        .as_ref()
        .zip(candidate.as_ref())
        .and_then(|(legacy, candidate)| {
            let ratio = candidate.value / legacy.value - 1.0;
            ratio.is_finite().then_some(ratio)
        });
    Measured {
        measure,
        legacy,
        candidate,
        change,
        notes,
    }
}

#[cfg(test)]
mod tests;
