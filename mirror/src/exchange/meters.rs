//! What one thread counts of services and shadows, and how Prometheus gets the sums over all threads.
//!
//! Labels are fixed: the side, why it was asked, and how a shadow ended. Nothing that a client sends becomes one.

use std::fmt;
use std::time::Duration;

use parity_schemas::verdict::Reason;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;

use crate::counters::{Count, DurationHistogram, sum};
use crate::exchange::purpose::Purpose;
use crate::exchange::side::{BySide, Side};

/// Upper bounds of the buckets in microseconds, as OpenTelemetry recommends for HTTP durations.
const BOUNDS: [u64; 14] = [
    5_000, 10_000, 25_000, 50_000, 75_000, 100_000, 250_000, 500_000, 750_000, 1_000_000,
    2_500_000, 5_000_000, 7_500_000, 10_000_000,
];

/// How a shadow ended.
#[derive(Clone, Copy)]
pub(super) enum ShadowEnd {
    Sent,
    SampledOut,
    Shed,
    Timeout,
    Error,
}

/// Their labels, in the order of the enumeration.
const SHADOW_ENDS: [&str; 5] = ["sent", "sampled_out", "shed", "timeout", "error"];

/// The counters of one thread.
pub(crate) struct Meters([OfPurpose; Purpose::ALL.len()]);

/// What is counted for each purpose.
struct OfPurpose {
    answers: BySide<DurationHistogram<14>>,
    shadows: [Count; SHADOW_ENDS.len()],
}

impl Meters {
    pub(crate) fn new() -> Self {
        Self(Purpose::ALL.map(|_| OfPurpose {
            answers: BySide::new(|_| DurationHistogram::new(&BOUNDS)),
            shadows: Default::default(),
        }))
    }

    /// A service sent a complete answer; `elapsed` is from sending the request to the last byte of the answer.
    pub(crate) fn answered(&self, purpose: Purpose, side: Side, elapsed: Duration) {
        self.0[purpose as usize].answers[side].observe(elapsed);
    }

    /// A shadow ended.
    pub(super) fn shadow(&self, purpose: Purpose, end: ShadowEnd) {
        self.0[purpose as usize].shadows[end as usize].add(1);
    }

    /// A request was settled with a reason. If that reason kept it from being sent, it counts as an outcome of a
    /// shadow.
    pub(super) fn not_sent(&self, purpose: Purpose, reason: Reason) {
        match reason {
            Reason::SampledOut => self.shadow(purpose, ShadowEnd::SampledOut),
            Reason::RequestTooLarge | Reason::InFlightCap | Reason::BreakerOpen => {
                self.shadow(purpose, ShadowEnd::Shed);
            }
            _ => {}
        }
    }

    /// The family of answers of all workers.
    pub(super) fn encode_answers(
        all: &[Self],
        encoder: &mut DescriptorEncoder<'_>,
    ) -> Result<(), fmt::Error> {
        let mut family = encoder.encode_descriptor(
            "parity_upstream_request_duration_seconds",
            "From sending a request to a service to the last byte of its answer",
            None,
            MetricType::Histogram,
        )?;
        for purpose in Purpose::ALL {
            let all = all.iter().map(|Self(worker)| &worker[purpose as usize]);
            for side in Side::ALL {
                let summed = sum(&BOUNDS, all.clone().map(|worker| &worker.answers[side]));
                family
                    .encode_family(&[("purpose", purpose.name()), ("upstream", side.name())])?
                    .encode_histogram::<NoLabelSet>(
                        summed.sum,
                        summed.count,
                        &summed.buckets,
                        None,
                    )?;
            }
        }
        Ok(())
    }

    /// The family of shadows of all workers.
    pub(super) fn encode_shadows(
        all: &[Self],
        encoder: &mut DescriptorEncoder<'_>,
    ) -> Result<(), fmt::Error> {
        let mut family = encoder.encode_descriptor(
            "parity_shadow_requests",
            "Shadows by how they ended: answered whole, left out by sampling, shed by a limit of ours, late, failed",
            None,
            MetricType::Counter,
        )?;
        for purpose in Purpose::ALL {
            let all = all.iter().map(|Self(worker)| &worker[purpose as usize]);
            for (index, outcome) in SHADOW_ENDS.into_iter().enumerate() {
                let total = all.clone().map(|worker| worker.shadows[index].get()).sum();
                let count: ConstCounter<u64> = ConstCounter::new(total);
                let labels = [("outcome", outcome), ("purpose", purpose.name())];
                count.encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
