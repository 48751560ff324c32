//! The health of a sink, for the admin port and Prometheus.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parity_schemas::record::RecordType;
use parity_schemas::time::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::write::Incident;

/// The health of a sink.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinkHealth {
    /// It is a member of its group, and neither broker nor database fails.
    pub ready: bool,
    /// Partitions assigned to it now.
    pub partitions: usize,
    /// Records in these partitions that are not committed yet, as of up to a second ago.
    pub lag: u64,
    /// Bytes of records that are buffered or under way.
    pub buffered_bytes: u64,
    /// Records stored since it began.
    pub stored: u64,
    /// Records that went to the dead-letter topic since it began.
    pub dead_letters: u64,
    /// What is failing; `None` if nothing is.
    pub failure: Option<Incident>,
    /// When the last batch was stored.
    pub last_write: Option<Timestamp>,
}

/// Gives access to the health of a sink from any thread.
#[derive(Clone)]
pub struct SinkHandle(Arc<SinkStatus>);

impl SinkHandle {
    pub(super) fn new(status: Arc<SinkStatus>) -> Self {
        Self(status)
    }

    /// The present health.
    pub fn health(&self) -> SinkHealth {
        self.0.health()
    }
}

/// What the threads of a sink and the admin port share.
#[derive(Default)]
pub(super) struct SinkStatus {
    pub(super) metrics: Metrics,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    joined: bool,
    partitions: Vec<i32>,
    lags: BTreeMap<i32, i64>,
    broker: Option<Incident>,
    database: Option<Incident>,
    /// The group has assigned partitions of another topic.
    group: Option<Incident>,
    last_write: Option<Timestamp>,
    dead_letters: BTreeMap<&'static str, u64>,
}

impl SinkStatus {
    pub(super) fn health(&self) -> SinkHealth {
        let state = self.state();
        let failure = state
            .database
            .clone()
            .or_else(|| state.group.clone())
            .or_else(|| state.broker.clone());
        SinkHealth {
            ready: state.joined && failure.is_none(),
            partitions: state.partitions.len(),
            lag: state
                .lags
                .values()
                .map(|lag| u64::try_from(*lag).unwrap_or(0))
                .sum(),
            buffered_bytes: u64::try_from(self.metrics.buffered_bytes.get()).unwrap_or(0),
            stored: self.metrics.stored_total(),
            dead_letters: state.dead_letters.values().sum(),
            failure,
            last_write: state.last_write,
        }
    }

    pub(super) fn assigned(&self, partitions: &[i32]) {
        let mut state = self.state();
        state.joined = true;
        state.group = None;
        state.partitions = partitions.to_vec();
        let own = state.partitions.clone();
        state.lags.retain(|partition, _| own.contains(partition));
        drop(state);
        self.metrics.rebalances.inc();
        let count = i64::try_from(partitions.len()).unwrap_or(i64::MAX);
        self.metrics.assigned.set(count);
    }

    /// The group has assigned partitions of another topic to us.
    pub(super) fn assigned_another_topic(&self, topic: &str, own: &str) {
        let mut state = self.state();
        state.joined = false;
        state.partitions.clear();
        state.lags.clear();
        let message = format!(
            "Kafka: the group has partitions of the topic {topic} for this sink, which moves {own}; use another --group or --instance"
        );
        fail(&mut state.group, message);
        drop(state);
        self.metrics.rebalances.inc();
        self.metrics.assigned.set(0);
    }

    pub(super) fn set_lags(&self, lags: BTreeMap<i32, i64>) {
        let mut state = self.state();
        let own = state.partitions.clone();
        state.lags = lags;
        state.lags.retain(|partition, _| own.contains(partition));
    }

    pub(super) fn broker_failed(&self, message: String) {
        fail(&mut self.state().broker, message);
    }

    pub(super) fn broker_worked(&self) {
        self.state().broker = None;
    }

    pub(super) fn database_failed(&self, message: String) {
        fail(&mut self.state().database, message);
    }

    pub(super) fn stored(&self) {
        let mut state = self.state();
        state.database = None;
        state.last_write = Some(Timestamp::now());
    }

    pub(super) fn dead(&self, reason: &'static str) {
        *self.state().dead_letters.entry(reason).or_default() += 1;
    }

    pub(super) fn dead_letters(&self) -> u64 {
        self.state().dead_letters.values().sum()
    }

    /// Adds the metrics to a registry.
    pub(super) fn register(&self, registry: &mut Registry) {
        self.metrics.register(registry);
        registry.register_collector(Box::new(Live(Arc::clone(&self.state))));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn fail(failure: &mut Option<Incident>, message: String) {
    let since = failure
        .as_ref()
        .map_or_else(Timestamp::now, |failure| failure.since);
    *failure = Some(Incident { message, since });
}

type ByTable = Vec<(&'static str, &'static str)>;

/// The `parity_sink_*` metrics of a sink.
#[derive(Debug)]
pub(super) struct Metrics {
    pub(super) batch_records: Histogram,
    pub(super) batch_bytes: Histogram,
    pub(super) batch_seconds: Histogram,
    insert_seconds: Family<ByTable, Histogram>,
    stored: [Counter; RecordType::ALL.len()],
    pub(super) retries: Counter,
    pub(super) commit_errors: Counter,
    pub(super) skipped_offsets: Counter,
    pub(super) buffered_bytes: Gauge,
    pub(super) paused: Gauge,
    assigned: Gauge,
    rebalances: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            // 1 record to a million, 1 KiB to 64 MiB, a millisecond to a minute.
            batch_records: Histogram::new(exponential_buckets(1.0, 4.0, 11)),
            batch_bytes: Histogram::new(exponential_buckets(1024.0, 4.0, 9)),
            batch_seconds: Histogram::new(seconds()),
            insert_seconds: Family::new_with_constructor(|| Histogram::new(seconds())),
            stored: Default::default(),
            retries: Counter::default(),
            commit_errors: Counter::default(),
            skipped_offsets: Counter::default(),
            buffered_bytes: Gauge::default(),
            paused: Gauge::default(),
            assigned: Gauge::default(),
            rebalances: Counter::default(),
        }
    }
}

fn seconds() -> impl Iterator<Item = f64> {
    exponential_buckets(1e-3, 4.0, 9)
}

impl Metrics {
    pub(super) fn inserted(&self, table: RecordType, rows: usize, seconds: f64) {
        self.insert_seconds
            .get_or_create(&vec![("table", table.table())])
            .observe(seconds);
        let place = RecordType::ALL.iter().position(|known| *known == table);
        if let Some(counter) = place.and_then(|place| self.stored.get(place)) {
            counter.inc_by(rows as u64);
        }
    }

    pub(super) fn stored_total(&self) -> u64 {
        self.stored.iter().map(Counter::get).sum()
    }

    fn register(&self, registry: &mut Registry) {
        registry.register(
            "parity_sink_batch_records",
            "Records per batch",
            self.batch_records.clone(),
        );
        registry.register(
            "parity_sink_batch_bytes",
            "Bytes per batch, as they came from Kafka",
            self.batch_bytes.clone(),
        );
        registry.register(
            "parity_sink_batch_seconds",
            "Time from taking a batch up to all tables having it",
            self.batch_seconds.clone(),
        );
        registry.register(
            "parity_sink_insert_seconds",
            "Duration of an insert",
            self.insert_seconds.clone(),
        );
        registry.register(
            "parity_sink_retries",
            "Attempts that failed and were repeated",
            self.retries.clone(),
        );
        registry.register(
            "parity_sink_commit_errors",
            "Commits that failed",
            self.commit_errors.clone(),
        );
        registry.register(
            "parity_sink_skipped_offsets",
            "Offsets that the topic no longer had when their turn came",
            self.skipped_offsets.clone(),
        );
        registry.register(
            "parity_sink_buffered_bytes",
            "Bytes of records in hand",
            self.buffered_bytes.clone(),
        );
        registry.register(
            "parity_sink_paused_partitions",
            "Partitions that wait for room",
            self.paused.clone(),
        );
        registry.register(
            "parity_sink_assigned_partitions",
            "Partitions of this sink",
            self.assigned.clone(),
        );
        registry.register(
            "parity_sink_rebalances",
            "Changes of the assignment",
            self.rebalances.clone(),
        );
        registry.register_collector(Box::new(Stored(self.stored.clone())));
    }
}

/// Exports every table from the start, as 0: a rate over a series that did not exist before misses its first increment.
#[derive(Debug)]
struct Stored([Counter; RecordType::ALL.len()]);

impl Collector for Stored {
    fn encode(&self, mut encoder: DescriptorEncoder) -> std::fmt::Result {
        let mut metric = encoder.encode_descriptor(
            "parity_sink_stored_records",
            "Records that a table has taken",
            None,
            MetricType::Counter,
        )?;
        for (record, counter) in RecordType::ALL.iter().zip(&self.0) {
            let labels = [("table", record.table())];
            counter.encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

/// Metrics that are read from the state when they are scraped.
struct Live(Arc<Mutex<State>>);

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Live")
    }
}

impl Collector for Live {
    fn encode(&self, mut encoder: DescriptorEncoder) -> std::fmt::Result {
        let (lags, dead) = {
            let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            (state.lags.clone(), state.dead_letters.clone())
        };
        let mut metric = encoder.encode_descriptor(
            "parity_sink_lag_records",
            "Records of a partition that are not committed",
            None,
            MetricType::Gauge,
        )?;
        for (partition, lag) in lags {
            let labels = [("partition", partition.to_string())];
            ConstGauge::new(lag).encode(metric.encode_family(&labels)?)?;
        }
        let mut metric = encoder.encode_descriptor(
            "parity_sink_dead_letters",
            "Records that went to the dead-letter topic",
            None,
            MetricType::Counter,
        )?;
        for reason in super::dead::REASONS {
            let labels = [("reason", *reason)];
            ConstCounter::new(dead.get(reason).copied().unwrap_or(0))
                .encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
