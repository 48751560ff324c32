//! The metrics for Prometheus. Those of clients are counted here, those of services and shadows in
//! [`crate::exchange`].
//!
//! Labels are fixed; nothing that a client sends becomes one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::counters::{Count, DurationHistogram, OfWorker, sum};
use crate::exchange::{ExchangeMetrics, Meters, Side};
use crate::proxy::process::ProcessState;

/// Upper bounds in microseconds: what a proxy adds is between 50 µs and 50 ms, or something is wrong.
const OVERHEAD_BOUNDS: [u64; 10] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000,
];

/// The counters of one worker.
pub(crate) struct ClientMeters {
    overhead: DurationHistogram<10>,
    accepted: Count,
    closed: Count,
    refused: Count,
}

impl ClientMeters {
    fn new() -> Self {
        Self {
            overhead: DurationHistogram::new(&OVERHEAD_BOUNDS),
            accepted: Count::default(),
            closed: Count::default(),
            refused: Count::default(),
        }
    }

    /// Time from the parsed head until the request was handed to the legacy's connection.
    pub(crate) fn overhead(&self, elapsed: Duration) {
        self.overhead.observe(elapsed);
    }

    /// A client's connection began.
    pub(crate) fn accepted(&self) {
        self.accepted.add(1);
    }

    /// A request was refused before it counts as received.
    pub(crate) fn refused(&self) {
        self.refused.add(1);
    }

    /// A client's connection ended.
    pub(crate) fn closed(&self) {
        self.closed.add(1);
    }
}

/// The counters of all workers: register them once, they are collected at each scrape.
#[derive(Clone)]
pub struct Metrics {
    clients: Arc<[ClientMeters]>,
    exchanges: ExchangeMetrics,
    process: Arc<ProcessState>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics")
            .field("workers", &self.clients.len())
            .finish_non_exhaustive()
    }
}

impl Metrics {
    pub(crate) fn new(workers: usize, process: &Arc<ProcessState>) -> Self {
        Self {
            clients: (0..workers).map(|_| ClientMeters::new()).collect(),
            exchanges: ExchangeMetrics::new(workers + 1, Arc::clone(process.exchange())),
            process: Arc::clone(process),
        }
    }

    /// What one worker counts of its clients.
    pub(crate) fn of_clients(&self, worker: usize) -> OfWorker<ClientMeters> {
        OfWorker::new(&self.clients, worker)
    }

    /// What one worker counts of services and shadows.
    pub(crate) fn of_exchanges(&self, worker: usize) -> OfWorker<Meters> {
        self.exchanges.of_thread(worker)
    }

    /// What the thread counts that sends requests again.
    pub(crate) fn of_rechecks(&self) -> OfWorker<Meters> {
        self.exchanges.of_thread(self.clients.len())
    }

    /// Adds the `parity_upstream_…`, `parity_proxy_…`, `parity_shadow…` and `parity_client_…` families.
    pub fn register(&self, registry: &mut Registry) {
        registry.register_collector(Box::new(self.clone()));
    }

    /// How many requests were within each upper bound and none before, in microseconds, of what the mirror added to them before they were
    /// on a connection to the legacy; `u64::MAX` is beyond all bounds.
    pub fn overhead(&self) -> Vec<(u64, u64)> {
        let all = self.clients.iter().map(|worker| &worker.overhead);
        let counts = sum(&OVERHEAD_BOUNDS, all).buckets.into_iter();
        let counts = counts.map(|(_, count)| count);
        OVERHEAD_BOUNDS
            .into_iter()
            .chain([u64::MAX])
            .zip(counts)
            .collect()
    }

    fn total(&self, of: impl Fn(&ClientMeters) -> u64) -> u64 {
        self.clients.iter().map(of).sum()
    }

    /// The state of the services, and of the switch of shadowing.
    fn encode_state(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut family = encoder.encode_descriptor(
            "parity_upstream_up",
            "1 while a service is used: the legacy answered the last request; the candidate does not fail at all requests in a row, for which it is left alone",
            None,
            MetricType::Gauge,
        )?;
        for side in Side::ALL {
            let gauge = ConstGauge::new(i64::from(match side {
                Side::Legacy => self.process.legacy_reachable(),
                Side::Candidate => self.process.candidate_reachable(),
            }));
            gauge.encode(family.encode_family(&[("upstream", side.name())])?)?;
        }
        let shadowing = ConstGauge::new(i64::from(self.process.admission().shadowing()));
        shadowing.encode(encoder.encode_descriptor(
            "parity_shadowing",
            "1 while requests are shadowed, 0 while somebody has switched that off",
            None,
            MetricType::Gauge,
        )?)
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        self.exchanges.encode(&mut encoder)?;
        self.encode_state(&mut encoder)?;
        let summed = sum(
            &OVERHEAD_BOUNDS,
            self.clients.iter().map(|worker| &worker.overhead),
        );
        encoder
            .encode_descriptor(
                "parity_proxy_overhead_seconds",
                "From a parsed request head to the request being on a connection to the legacy",
                None,
                MetricType::Histogram,
            )?
            .encode_histogram::<NoLabelSet>(summed.sum, summed.count, &summed.buckets, None)?;
        let open = self
            .total(|worker| worker.accepted.get())
            .saturating_sub(self.total(|worker| worker.closed.get()));
        let gauge = ConstGauge::new(open);
        gauge.encode(encoder.encode_descriptor(
            "parity_client_connections",
            "Open connections of clients",
            None,
            MetricType::Gauge,
        )?)?;
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
