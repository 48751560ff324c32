//! Two services set beside each other by the metrics that they export: how fast, how often wrong, at what cost.
//!
//! The pages are taken over the same time and given here as texts; this only reads and counts. A quantile of a histogram has the edges
//! of buckets as its bounds, and the chance of a sample besides, so that a [threshold](threshold) is held, broken, or cannot be told.
//! What a service does not export is not measured, and never 0.

mod advice;
mod counted;
mod edges;
mod exposition;
mod followed;
mod format;
mod kept;
mod labels;
mod measured;
mod names;
mod pages;
mod passed;
mod range;
mod same_process;
mod sampled;
mod service;
mod shown;
mod status;
mod threshold;

use parity_schemas::metrics::{
    JudgedThreshold, METRICS_SCHEMA, Measure, Measured, MetricValue, MetricsDocument,
    MetricsOutcome, MetricsSide,
};

pub use advice::Advice;
pub use exposition::PageError;
pub use format::Format;
pub use names::{Names, Source, SourceError};
pub use pages::Scrapes;
pub use range::Judged;
use service::Service;
pub use shown::shown;
pub use threshold::{Threshold, ThresholdError};

/// Sets two services beside each other.
pub fn compared(
    legacy: &Scrapes,
    candidate: &Scrapes,
    thresholds: &[Threshold],
    judged: Judged,
) -> MetricsDocument {
    let services = [legacy, candidate].map(Service::of);
    // No page tells that, so it is not missing on one.
    let on_pages = |measure: &&Measure| **measure != Measure::Anon;
    let measures: Vec<Measured> = Measure::ALL
        .iter()
        .filter(on_pages)
        .map(|measure| beside(*measure, &services))
        .collect();
    let mut outcomes = judge(thresholds, &measures, judged, Advice::Pages);
    let [legacy, candidate] = services;
    for (threshold, judged) in thresholds.iter().zip(&mut outcomes) {
        let rests_on = [
            ("legacy", &legacy, threshold.is_beside_legacy()),
            ("candidate", &candidate, true),
        ];
        let doubted = rests_on
            .into_iter()
            .find(|(_, service, rests)| *rests && service.is_doubted(threshold.measure()));
        if let Some((name, ..)) = doubted {
            doubt(
                judged,
                &format!(
                    "but the {name} began anew meanwhile, and what was gone with it is not known"
                ),
            );
        }
    }
    // What a service did until it was lost is no pass for what it did then.
    let lost = [("legacy", &legacy), ("candidate", &candidate)]
        .into_iter()
        .find(|(_, service)| service.scrapes.lost.is_some());
    if let Some((name, _)) = lost {
        for judged in &mut outcomes {
            doubt(judged, &format!("but the {name} answers no more"));
        }
    }
    // Whether it is the legacy or the candidate is not known then, so nothing is known of the other one.
    let is_same = same_process::are_one(&legacy, &candidate);
    if is_same {
        for judged in &mut outcomes {
            judged.outcome = MetricsOutcome::Undecided;
            judged.why = format!("{}, but both pages are of one process", judged.why);
        }
    }
    // Where nothing is demanded, it is enough that there is something to compare, of processes that ran on.
    let is_beside = |measured: &Measured| measured.legacy.is_some() && measured.candidate.is_some();
    let ran_on = lost.is_none() && !is_same && legacy.restarts == 0 && candidate.restarts == 0;
    let outcome = match outcomes.iter().map(|judged| judged.outcome).max() {
        Some(outcome) => outcome,
        None if ran_on && measures.iter().any(is_beside) => MetricsOutcome::Pass,
        None => MetricsOutcome::Undecided,
    };
    let [mut legacy, mut candidate] = [legacy, candidate];
    if is_same {
        candidate.notes.push(same_process::TOLD.to_owned());
        legacy.notes.push(same_process::TOLD.to_owned());
    }
    MetricsDocument {
        schema: METRICS_SCHEMA.to_owned(),
        outcome,
        interrupted: false,
        seconds: legacy.seconds().max(candidate.seconds()),
        legacy: side(&legacy),
        candidate: side(&candidate),
        measures,
        thresholds: outcomes,
    }
}

/// What holds only as far as is known does not pass. What is broken stays so.
fn doubt(judged: &mut JudgedThreshold, why: &str) {
    if judged.outcome == MetricsOutcome::Pass {
        judged.outcome = MetricsOutcome::Undecided;
        judged.why = format!("{}, {why}", judged.why);
    }
}

/// What one service did, as far as its pages say it. What a process counted that ended meanwhile is not known, so nothing that
/// grows is among it then.
pub fn measures(scrapes: &Scrapes) -> Vec<(Measure, MetricValue)> {
    let service = Service::of(scrapes);
    let all = Measure::ALL.iter();
    let all = all.filter(|measure| !service.is_doubted(**measure));
    all.filter_map(|measure| Some((*measure, service.measure(*measure).ok()?.value)))
        .collect()
}

/// What becomes of thresholds by measures that were taken elsewhere.
pub fn judge(
    thresholds: &[Threshold],
    measures: &[Measured],
    judged: Judged,
    advice: Advice,
) -> Vec<JudgedThreshold> {
    let thresholds = thresholds.iter();
    thresholds
        .map(|threshold| threshold.judge(measures, judged, advice))
        .collect()
}

fn side(service: &Service<'_>) -> MetricsSide {
    let scrapes = service.scrapes;
    MetricsSide {
        target: scrapes.target.clone(),
        pages: scrapes.read,
        failed: scrapes.failed,
        seconds: service.seconds(),
        restarts: service.restarts,
        unreadable_lines: scrapes.followed.unreadable,
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
    Measured {
        notes,
        ..Measured::of(measure, legacy, candidate)
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these numbers are exact")]
mod tests;
