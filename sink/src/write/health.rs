//! How the store is doing, for the admin port and for Prometheus.

use std::sync::{Mutex, MutexGuard, PoisonError};

use parity_schemas::time::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// How the store is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// What has been failing since the last successful write; `None` if nothing is.
    pub failure: Option<Incident>,
    /// Why and when the open store was last lost (deleted, replaced, set back). Stays set after the store was opened
    /// again.
    pub loss: Option<Incident>,
    /// Records that wait to be written.
    pub queued_records: u64,
    /// Records dropped since the process began, for whatever reason.
    pub dropped_records: u64,
    /// The time of the last write.
    pub last_write: Option<Timestamp>,
    /// About the bytes of the records that wait on disk for a Kafka broker; 0 for other stores.
    pub spool_bytes: u64,
}

/// Something that is, or was, wrong with a store or broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// The last error message.
    pub message: String,
    /// When it began.
    pub since: Timestamp,
}

/// Why a record never reached the store; the `reason` of `parity_sink_dropped_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DropReason {
    QueueFull,
    QueueBytes,
    TooLarge,
    Closed,
    /// The store refused this one record.
    Rejected,
    /// The store was unavailable until the process had to end.
    Unwritten,
    /// The broker was unavailable for so long that the spool is full.
    SpoolFull,
    /// The spool could not be written, and the broker was unavailable.
    SpoolFailed,
}

impl DropReason {
    const ALL: [(Self, &'static str); 8] = [
        (Self::QueueFull, "queue_full"),
        (Self::QueueBytes, "queue_bytes"),
        (Self::TooLarge, "too_large"),
        (Self::Closed, "closed"),
        (Self::Rejected, "rejected"),
        (Self::Unwritten, "unwritten"),
        (Self::SpoolFull, "spool_full"),
        (Self::SpoolFailed, "spool_failed"),
    ];
}

/// What the writer thread, the senders and the admin port share.
#[derive(Default)]
pub(super) struct WriterStatus {
    pub(super) metrics: Metrics,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    failure: Option<Incident>,
    loss: Option<Incident>,
    last_write: Option<Timestamp>,
}

impl WriterStatus {
    pub(super) fn health(&self) -> Health {
        let state = self.state();
        Health {
            failure: state.failure.clone(),
            loss: state.loss.clone(),
            queued_records: u64::try_from(self.metrics.queue_depth.get()).unwrap_or(0),
            dropped_records: self.metrics.dropped_total(),
            last_write: state.last_write,
            spool_bytes: u64::try_from(self.metrics.spool_bytes.get()).unwrap_or(0),
        }
    }

    pub(super) fn wrote(&self, now: Timestamp) {
        let mut state = self.state();
        state.failure = None;
        state.last_write = Some(now);
        self.metrics.store_failing.set(0);
    }

    /// The store works, but there was nothing to write.
    pub(super) fn works(&self) {
        self.state().failure = None;
        self.metrics.store_failing.set(0);
    }

    /// The store is no longer the one that was opened.
    pub(super) fn lost(&self, message: String, now: Timestamp) {
        self.state().loss = Some(Incident {
            message,
            since: now,
        });
        self.metrics.store_losses.inc();
    }

    pub(super) fn failed(&self, message: String, now: Timestamp) {
        let mut state = self.state();
        let since = state.failure.as_ref().map_or(now, |failure| failure.since);
        state.failure = Some(Incident { message, since });
        self.metrics.store_failing.set(1);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The `parity_sink_*` metrics.
#[derive(Clone, Debug)]
pub(super) struct Metrics {
    pub(super) queue_depth: Gauge,
    pub(super) batch_rows: Histogram,
    pub(super) write_seconds: Histogram,
    pub(super) write_errors: Counter,
    pub(super) store_bytes: Gauge,
    pub(super) store_failing: Gauge,
    pub(super) store_losses: Counter,
    pub(super) spool_bytes: Gauge,
    pub(super) spool_disk_bytes: Gauge,
    pub(super) spool_records: Gauge,
    pub(super) spool_damaged: Counter,
    pub(super) acknowledged: Counter,
    pub(super) resent: Counter,
    dropped: [Counter; DropReason::ALL.len()],
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            queue_depth: Gauge::default(),
            // 1 to 4,096 rows, 0.1 ms to 6.5 s: from an idle tick to a stalling disk.
            batch_rows: Histogram::new(exponential_buckets(1.0, 4.0, 7)),
            write_seconds: Histogram::new(exponential_buckets(1e-4, 4.0, 9)),
            write_errors: Counter::default(),
            store_bytes: Gauge::default(),
            store_failing: Gauge::default(),
            store_losses: Counter::default(),
            spool_bytes: Gauge::default(),
            spool_disk_bytes: Gauge::default(),
            spool_records: Gauge::default(),
            spool_damaged: Counter::default(),
            acknowledged: Counter::default(),
            resent: Counter::default(),
            dropped: Default::default(),
        }
    }
}

impl Metrics {
    pub(super) fn dropped(&self, reason: DropReason) -> &Counter {
        &self.dropped[reason as usize]
    }

    pub(super) fn dropped_total(&self) -> u64 {
        self.dropped.iter().map(Counter::get).sum()
    }

    /// Adds them to a registry that has no prefix of its own.
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "parity_sink_queue_depth",
            "Records that wait to be written",
            self.queue_depth.clone(),
        );
        registry.register(
            "parity_sink_batch_rows",
            "Rows per write",
            self.batch_rows.clone(),
        );
        registry.register(
            "parity_sink_write_seconds",
            "Duration of a write",
            self.write_seconds.clone(),
        );
        registry.register(
            "parity_sink_write_errors",
            "Writes that failed and are tried again",
            self.write_errors.clone(),
        );
        registry.register(
            "parity_sink_store_bytes",
            "Size of the store on disk",
            self.store_bytes.clone(),
        );
        registry.register(
            "parity_sink_store_failing",
            "1 while the store cannot be opened or written to",
            self.store_failing.clone(),
        );
        registry.register(
            "parity_sink_store_losses",
            "Times that the store was deleted, replaced or set back while it was open",
            self.store_losses.clone(),
        );
        registry.register(
            "parity_sink_spool_bytes",
            "About the bytes of the records that wait on disk for a Kafka broker",
            self.spool_bytes.clone(),
        );
        registry.register(
            "parity_sink_spool_disk_bytes",
            "Bytes that the spool takes on disk, with those of files of which a part has arrived",
            self.spool_disk_bytes.clone(),
        );
        registry.register(
            "parity_sink_spool_records",
            "Records that wait on disk for a Kafka broker",
            self.spool_records.clone(),
        );
        registry.register(
            "parity_sink_spool_damaged",
            "Records or ends of files in the spool that were not what had been written",
            self.spool_damaged.clone(),
        );
        registry.register(
            "parity_sink_acknowledged",
            "Records that a Kafka broker has acknowledged",
            self.acknowledged.clone(),
        );
        registry.register(
            "parity_sink_resent",
            "Times that records had to be sent again",
            self.resent.clone(),
        );
        registry.register_collector(Box::new(Drops(self.clone())));
    }
}

/// Exports every reason from the start, as 0: a rate over a series that did not exist before misses its first
/// increment.
#[derive(Debug)]
struct Drops(Metrics);

impl Collector for Drops {
    fn encode(&self, mut encoder: DescriptorEncoder) -> std::fmt::Result {
        let mut metric = encoder.encode_descriptor(
            "parity_sink_dropped",
            "Records that never reached the store; their mismatches are counted all the same",
            None,
            MetricType::Counter,
        )?;
        for (reason, label) in DropReason::ALL {
            let labels = [("reason", label)];
            self.0
                .dropped(reason)
                .encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
