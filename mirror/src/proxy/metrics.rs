//! What the mirror counts for Prometheus.
//!
//! Each worker has its own counters and is their only writer, so counting is a plain load and store of a relaxed
//! atomic, on a cache line that no other core writes. They are added up when they are read. Labels are fixed; nothing
//! that a client sends becomes one.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parity_schemas::verdict::Reason;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::control::Shared;

/// Upper bounds in microseconds, as OpenTelemetry advises for HTTP durations.
const UPSTREAM_BOUNDS: [u64; 14] = [
    5_000, 10_000, 25_000, 50_000, 75_000, 100_000, 250_000, 500_000, 750_000, 1_000_000,
    2_500_000, 5_000_000, 7_500_000, 10_000_000,
];
/// Upper bounds in microseconds: what a proxy adds is between 50 µs and 50 ms, or something is wrong.
const OVERHEAD_BOUNDS: [u64; 10] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000,
];

/// One of the two services.
#[derive(Clone, Copy)]
pub(crate) enum Upstream {
    Legacy,
    Candidate,
}

/// How a shadow ended.
#[derive(Clone, Copy)]
pub(crate) enum Outcome {
    Sent,
    SampledOut,
    Shed,
    Timeout,
    Error,
}

const OUTCOMES: [&str; 5] = ["sent", "sampled_out", "shed", "timeout", "error"];

/// The counters of one worker.
pub(crate) struct WorkerMetrics {
    upstream: [Durations<14>; 2],
    overhead: Durations<10>,
    shadows: [Count; OUTCOMES.len()],
    accepted: Count,
    closed: Count,
    refused: Count,
}

impl WorkerMetrics {
    fn new() -> Self {
        Self {
            upstream: std::array::from_fn(|_| Durations::new(&UPSTREAM_BOUNDS)),
            overhead: Durations::new(&OVERHEAD_BOUNDS),
            shadows: Default::default(),
            accepted: Count::default(),
            closed: Count::default(),
            refused: Count::default(),
        }
    }

    /// A service answered whole; `elapsed` from sending to the last byte.
    pub(crate) fn answered(&self, upstream: Upstream, elapsed: Duration) {
        self.upstream[upstream as usize].observe(elapsed);
    }

    /// From the parsed head to the moment when the legacy's connection had the request.
    pub(crate) fn overhead(&self, elapsed: Duration) {
        self.overhead.observe(elapsed);
    }

    /// A shadow ended.
    pub(crate) fn shadow(&self, outcome: Outcome) {
        self.shadows[outcome as usize].add(1);
    }

    /// A request was settled with a reason; those that kept it from being sent at all are outcomes of a shadow.
    pub(crate) fn not_sent(&self, reason: Reason) {
        match reason {
            Reason::SampledOut => self.shadow(Outcome::SampledOut),
            Reason::RequestTooLarge | Reason::InFlightCap | Reason::BreakerOpen => {
                self.shadow(Outcome::Shed);
            }
            _ => {}
        }
    }

    pub(crate) fn accepted(&self) {
        self.accepted.add(1);
    }

    /// A request was refused before it counts as received.
    pub(crate) fn refused(&self) {
        self.refused.add(1);
    }

    pub(crate) fn closed(&self) {
        self.closed.add(1);
    }
}

/// The counters of all workers: register them once, they are collected at each scrape.
#[derive(Clone)]
pub struct Metrics {
    workers: Arc<[WorkerMetrics]>,
    shared: Arc<Shared>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics")
            .field("workers", &self.workers.len())
            .finish_non_exhaustive()
    }
}

impl Metrics {
    pub(crate) fn new(workers: usize, shared: Arc<Shared>) -> Self {
        Self {
            workers: (0..workers).map(|_| WorkerMetrics::new()).collect(),
            shared,
        }
    }

    pub(crate) fn worker(&self, index: usize) -> WorkerHandle {
        WorkerHandle {
            workers: Arc::clone(&self.workers),
            index,
        }
    }

    /// Adds the `parity_upstream_…`, `parity_proxy_…`, `parity_shadow_…` and `parity_client_…` families.
    pub fn register(&self, registry: &mut Registry) {
        registry.register_collector(Box::new(self.clone()));
    }

    fn total(&self, of: impl Fn(&WorkerMetrics) -> u64) -> u64 {
        self.workers.iter().map(of).sum()
    }
}

/// One worker's counters.
pub(crate) struct WorkerHandle {
    workers: Arc<[WorkerMetrics]>,
    index: usize,
}

impl std::ops::Deref for WorkerHandle {
    type Target = WorkerMetrics;

    fn deref(&self) -> &WorkerMetrics {
        &self.workers[self.index]
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut family = encoder.encode_descriptor(
            "parity_upstream_request_duration_seconds",
            "From sending a request to a service to the last byte of its answer",
            None,
            MetricType::Histogram,
        )?;
        for (name, upstream) in [
            ("legacy", Upstream::Legacy),
            ("candidate", Upstream::Candidate),
        ] {
            let each = self
                .workers
                .iter()
                .map(|worker| &worker.upstream[upstream as usize]);
            let summed = sum(&UPSTREAM_BOUNDS, each);
            family
                .encode_family(&[("upstream", name)])?
                .encode_histogram::<NoLabelSet>(summed.sum, summed.count, &summed.buckets, None)?;
        }
        let summed = sum(
            &OVERHEAD_BOUNDS,
            self.workers.iter().map(|worker| &worker.overhead),
        );
        encoder
            .encode_descriptor(
                "parity_proxy_overhead_seconds",
                "From a parsed request head to the request being on a connection to the legacy",
                None,
                MetricType::Histogram,
            )?
            .encode_histogram::<NoLabelSet>(summed.sum, summed.count, &summed.buckets, None)?;
        let mut family = encoder.encode_descriptor(
            "parity_shadow_requests",
            "Shadows by how they ended: answered whole, left out by sampling, shed by a limit of ours, late, failed",
            None,
            MetricType::Counter,
        )?;
        for (index, outcome) in OUTCOMES.into_iter().enumerate() {
            let count = ConstCounter::new(self.total(|worker| worker.shadows[index].get()));
            count.encode(family.encode_family(&[("outcome", outcome)])?)?;
        }
        let open = self
            .total(|worker| worker.accepted.get())
            .saturating_sub(self.total(|worker| worker.closed.get()));
        for (name, help, value) in [
            (
                "parity_shadow_queue_depth",
                "Shadows that wait for the candidate",
                self.shared.in_flight() as u64,
            ),
            (
                "parity_shadow_bytes",
                "Bytes held for shadows and for exchanges that are not compared yet",
                self.shared.budget.held() as u64,
            ),
            (
                "parity_client_connections",
                "Open connections of clients",
                open,
            ),
            (
                "parity_candidate_connections",
                "Open connections to the candidate, in use and idle",
                self.shared.candidates.open() as u64,
            ),
        ] {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        }
        for (name, help, value) in [
            (
                "parity_client_connections_accepted",
                "Connections accepted from clients",
                self.total(|worker| worker.accepted.get()),
            ),
            (
                "parity_client_requests_refused",
                "Requests refused before they count as received: for no single host (400), in a transfer coding that is not supported (501), or because they came from the mirror itself (508)",
                self.total(|worker| worker.refused.get()),
            ),
        ] {
            let counter = ConstCounter::new(value);
            counter.encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)?;
        }
        Ok(())
    }
}
