//! The document of `parity stress`: how much two services hold, at what cost, and whether they still answer alike under load.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metrics::{JudgedThreshold, Measure, Measured, MetricsOutcome};
use crate::vocabulary::{UnknownWord, vocabulary};

/// Name and version of the document.
pub const STRESS_SCHEMA: &str = "parity.stress/v1";

vocabulary! {
    /// What became of a step, or of a run of it.
    StressVerdict as "verdict of a step" {
        /// All demands were met.
        Held = "held" => "the service held the rate",
        /// One was not.
        Broken = "broken" => "the service did not hold the rate",
        /// Nothing is said of the service.
        Generator = "generator" => "the load generator was the limit",
        /// Nothing is said at all.
        Unclear = "unclear" => "too little was measured",
    }
}

/// What two services hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StressDocument {
    /// [`STRESS_SCHEMA`].
    pub schema: String,
    /// What the exit code says.
    pub outcome: MetricsOutcome,
    /// Whether it says anything of what the services hold and cost: without thresholds a pass says only that the candidate holds a rate and
    /// that the answers are alike, and the text says `NOT JUDGED`.
    #[serde(default)]
    pub judged: bool,
    /// Why, one sentence each.
    pub reasons: Vec<String>,
    /// Whether it was ended before its time: what was measured until then is here, and it is no pass.
    pub interrupted: bool,
    /// From the first request to the last.
    pub seconds: f64,
    /// What a service must do to hold a rate.
    pub demands: StressDemands,
    /// What was sent.
    pub requests: LoadRequests,
    /// The legacy.
    pub legacy: StressSide,
    /// The candidate.
    pub candidate: StressSide,
    /// Both beside each other, at the rates that were chosen, and last each at its own limit.
    pub tables: Vec<StressTable>,
    /// What the difference is worth; absent without prices, or where cores and memory were not measured.
    pub cost: Option<StressCost>,
    /// Whether both answered alike meanwhile; absent if nothing was to be compared.
    pub answers: Option<LoadAnswers>,
    /// As they were given. `rate` is the highest rate that was held, everything else is of the highest rate that both held.
    pub thresholds: Vec<JudgedThreshold>,
    /// What parity itself did.
    pub generator: LoadGenerator,
}

/// What a service must do to hold a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StressDemands {
    /// In seconds, from when a request was due to the last byte of its answer; at most.
    pub p99: f64,
    /// Share of the requests without an answer, with 5xx or with 429; at most.
    pub errors: f64,
    /// Whole answers that come in a time, by the requests that are due in it; at least.
    pub answered: f64,
    /// In seconds: what of each run is measured.
    pub window: f64,
    /// In seconds: what is sent before that.
    pub warm_up: f64,
    /// Runs of each step.
    pub repeats: u64,
}

/// What was sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRequests {
    /// A file, or a template.
    pub source: String,
    /// Different requests, which were sent in turn.
    pub requests: u64,
    /// Requests of the file that were not sent, by reason: `unsafe_method`, `hidden` (it needs a value that the file hides),
    /// `too_many` (there was no room for them).
    pub left_out: BTreeMap<String, u64>,
    /// Parts of the file that could not be read.
    pub unreadable: u64,
}

/// One service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StressSide {
    /// Its address.
    pub target: String,
    /// The highest rate that it held below the first at which it broke, in requests a second; absent if it held none.
    pub sustained: Option<u32>,
    /// The lowest rate at which it broke; absent if it broke at none.
    pub broken: Option<u32>,
    /// Why it is not known whether it holds more, or how it broke.
    pub why: Option<String>,
    /// One for each rate, in their order.
    pub steps: Vec<StressStep>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// All runs at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StressStep {
    /// Requests a second.
    pub rate: u32,
    /// What most of its runs say.
    pub verdict: StressVerdict,
    /// Why, if it was not held.
    pub why: Option<String>,
    /// In the order of time.
    pub runs: Vec<LoadRun>,
}

/// One stretch of load on one service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRun {
    /// What is said of it.
    pub verdict: StressVerdict,
    /// Why, if the rate was not held.
    pub why: Option<String>,
    /// Requests that were due in the measured part.
    pub due: u64,
    /// Answers to them by the class of their status: `2xx`, `4xx`, …
    pub statuses: BTreeMap<String, u64>,
    /// Answers 429, which count as errors.
    pub throttled: u64,
    /// Requests without an answer, by reason.
    pub failures: BTreeMap<String, u64>,
    /// Requests that were due and that the generator did not get to.
    pub unsent: u64,
    /// Requests that the service got in the measured part besides, to compare its answers. They are in no count and no latency here, but the
    /// service worked for them, too: CPU for each request is by all.
    #[serde(default)]
    pub besides: u64,
    /// Latencies in seconds, from when a request was due, by name: `p50`, `p90`, `p95`, `p99`, `p999`, `max`.
    pub latency: BTreeMap<String, f64>,
    /// The p99 of how late the generator was itself, in seconds.
    pub lateness: f64,
    /// The most requests that were unanswered at once.
    pub most_open: u64,
    /// CPU of parity meanwhile, in cores; absent where that cannot be read.
    pub generator_cpu: Option<f64>,
    /// What was measured, in the unit of each measure.
    pub values: BTreeMap<Measure, LoadValue>,
}

/// A number and where it is from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadValue {
    /// In the unit of its measure.
    pub value: f64,
    /// `load`, `process`, `cgroup`, or the metric that says it.
    pub source: String,
}

/// The median of several runs, and between what they were.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The middle one; of an even number the mean of the two in the middle.
    pub median: f64,
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// Where it is from.
    pub source: String,
}

impl StressStep {
    /// A measure over its runs; `None` if none has it.
    pub fn spread(&self, measure: Measure) -> Option<Spread> {
        let runs = self.runs.iter();
        let found: Vec<&LoadValue> = runs.filter_map(|run| run.values.get(&measure)).collect();
        let mut values: Vec<f64> = found.iter().map(|value| value.value).collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        };
        Some(Spread {
            median,
            low,
            high,
            source: found.first()?.source.clone(),
        })
    }
}

/// Both services beside each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StressTable {
    /// The rate of legacy and candidate.
    pub rates: [u32; 2],
    /// What became of these rates for legacy and candidate: where both held no rate in common, the highest that both were loaded with is
    /// here. Absent in documents of earlier versions, in which all were held or chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<[StressVerdict; 2]>,
    /// Medians of the runs; between what they were are their bounds.
    pub measures: Vec<Measured>,
}

/// What the difference is worth, in the currency and for the time of the prices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StressCost {
    /// Of a vCPU, as given.
    pub price_vcpu: f64,
    /// Of a GiB, as given.
    pub price_gib: f64,
    /// At which rate the two are compared.
    pub rate: u32,
    /// What the legacy uses.
    pub legacy: StressUse,
    /// What the candidate uses.
    pub candidate: StressUse,
    /// What the candidate costs less.
    pub saving: f64,
    /// By what the legacy costs; absent if that is 0.
    pub saving_share: Option<f64>,
}

/// What a service uses at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StressUse {
    /// Cores.
    pub vcpus: f64,
    /// Memory.
    pub gib: f64,
    /// By the prices.
    pub price: f64,
}

/// Whether both services answered alike while they were loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadAnswers {
    /// Requests that were sent to both.
    pub asked: u64,
    /// Of those, the ones that were answered alike.
    pub equal: u64,
    /// Of those, the ones that were not.
    pub differing: u64,
    /// Of those, the ones without two answers that can be compared, by reason.
    pub not_compared: BTreeMap<String, u64>,
    /// Share of the compared ones that may differ.
    pub allowed: f64,
    /// Where they differ, the most frequent first.
    pub differences: Vec<LoadDifference>,
}

impl LoadAnswers {
    /// Share of the compared ones that differ; `None` if none was compared.
    pub fn rate(&self) -> Option<f64> {
        let compared = self.equal + self.differing;
        (compared > 0).then(|| self.differing as f64 / compared as f64)
    }
}

impl LoadAnswers {
    /// What is to be said against a pass: too many differ, or none could be compared.
    pub fn objection(&self) -> Option<(MetricsOutcome, String)> {
        let compared = self.equal + self.differing;
        match self.rate() {
            Some(rate) if rate > self.allowed => Some((
                MetricsOutcome::Fail,
                format!("{} of {compared} answers differ under load", self.differing),
            )),
            None => Some((
                MetricsOutcome::Undecided,
                "no answers could be compared under load".to_owned(),
            )),
            Some(_) => {
                let unknown: u64 = self.not_compared.values().sum();
                (unknown > compared).then(|| {
                    (
                        MetricsOutcome::Undecided,
                        format!("most answers could not be compared under load: {unknown} beside {compared}"),
                    )
                })
            }
        }
    }
}

/// A difference under load. It has no values: those are in a record, which a mirror makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadDifference {
    /// The route.
    pub route: String,
    /// Part and place, and how they differ.
    pub place: String,
    /// In how many answers.
    pub count: u64,
}

/// What parity itself did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadGenerator {
    /// Threads that send.
    pub threads: u64,
    /// Requests that may be unanswered at once.
    pub places: u64,
    /// The most CPU that it took in a run, in cores; absent where that cannot be read.
    pub cpu: Option<f64>,
    /// The highest p99 of how late it was itself, in seconds: in runs that were held, or in all if none was.
    pub lateness: f64,
    /// Whether no run was held, so that the lateness is that of all.
    #[serde(default)]
    pub none_held: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_and_its_bounds_are_what_was_seen() {
        let run = |value: Option<f64>| LoadRun {
            verdict: StressVerdict::Held,
            why: None,
            due: 0,
            statuses: BTreeMap::new(),
            throttled: 0,
            failures: BTreeMap::new(),
            unsent: 0,
            besides: 0,
            latency: BTreeMap::new(),
            lateness: 0.0,
            most_open: 0,
            generator_cpu: None,
            values: value
                .map(|value| {
                    let source = "load".to_owned();
                    (Measure::P99, LoadValue { value, source })
                })
                .into_iter()
                .collect(),
        };
        let spread = |values: &[Option<f64>]| {
            let step = StressStep {
                rate: 1,
                verdict: StressVerdict::Held,
                why: None,
                runs: values.iter().map(|value| run(*value)).collect(),
            };
            let spread = step.spread(Measure::P99)?;
            Some((spread.median, spread.low, spread.high))
        };
        assert_eq!(
            spread(&[Some(3.0), Some(1.0), Some(9.0)]),
            Some((3.0, 1.0, 9.0))
        );
        assert_eq!(spread(&[Some(3.0), None, Some(1.0)]), Some((2.0, 1.0, 3.0)));
        assert_eq!(spread(&[None]), None);
    }
}
