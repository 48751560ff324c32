//! The rollout as metrics for Prometheus.

use std::fmt;
use std::sync::Arc;

use parity_dashboards::server::RolloutAdmin as _;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::Controller;

/// The families of one rollout.
pub(super) struct Series(pub(super) Arc<Controller>);

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Series")
    }
}

impl Collector for Series {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let now = self.0.document();
        let gauges = [
            (
                "parity_rollout_percent",
                "Percent of the clients that the candidate serves",
                now.percent,
            ),
            (
                "parity_rollout_target_percent",
                "Percent that the configuration or a person wants; more than parity_rollout_percent while the gate does not allow it",
                now.target,
            ),
            (
                "parity_rollout_fell_back",
                "1 since the rollout fell back to the legacy, until somebody sets a percent",
                f64::from(u8::from(now.fell_back.is_some())),
            ),
        ];
        for (name, help, value) in gauges {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(metric)?;
        }
        let seen = self.0.mirror.rollout_seen();
        let (legacy, candidate) = (&seen.legacy, &seen.candidate);
        for (name, help, values) in [
            (
                "parity_rollout_requests",
                "Requests that the candidate may serve, by the service that was asked: the candidate for clients, the legacy for clients and as the candidate's shadow",
                [legacy.requests, candidate.requests],
            ),
            (
                "parity_rollout_errors",
                "Those of parity_rollout_requests that were not answered whole, or 5xx",
                [legacy.errors, candidate.errors],
            ),
        ] {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (upstream, value) in ["legacy", "candidate"].into_iter().zip(values) {
                let counter = ConstCounter::new(value);
                counter.encode(family.encode_family(&[("upstream", upstream)])?)?;
            }
        }
        let counter = ConstCounter::new(seen.repaired);
        counter.encode(encoder.encode_descriptor(
            "parity_rollout_repaired",
            "Requests that the legacy answered because the candidate could not",
            None,
            MetricType::Counter,
        )?)
    }
}
