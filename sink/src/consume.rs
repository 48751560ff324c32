//! Kafka → `ClickHouse`: a member of a consumer group that moves records in batches.
//!
//! ```text
//! poll ──► buffers, one a partition ──► batches ──► workers: decode, dead letters, insert ──► commit
//! ```
//!
//! One thread polls, because polling keeps us in the group: it continues whatever the database does. A batch is a range
//! of consecutive offsets of one partition, and a partition has at most one batch under way. So committed offsets only
//! move forward, and a repeated batch has the same name as the first attempt. An offset is committed only after every
//! table has acknowledged its rows and every record that cannot be stored is in the dead-letter topic.
//!
//! After a failure in between, the next owner of the partition reads the same records again. Some rows are then written
//! twice, and deduplicated by id.
//!
//! Memory is bounded by [`SinkOptions::memory`]: when it is reached partitions are paused, and what the Kafka client
//! fetches ahead has a share of its own.

mod buffer;
mod context;
mod dead;
mod health;
mod progress;
mod run;
mod work;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prometheus_client::registry::Registry;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};

pub use self::health::{SinkHandle, SinkHealth};

use self::context::Context;
use self::dead::DeadLetters;
use self::health::SinkStatus;
use self::run::Poller;
use self::work::Workers;
use crate::clickhouse::{Server, schema};
use crate::error::StoreError;
use crate::kafka;
use crate::runtime::runtime;
use crate::store::StoreConfig;
use crate::url::{KafkaUrl, StoreUrl};

/// The Kafka client may prefetch one in this many of the memory.
const FETCH_SHARE: usize = 4;
/// The smallest value that the client accepts.
const MIN_FETCH_BYTES: usize = 1 << 20;
/// Longest member name that a broker accepts.
const MAX_MEMBER_BYTES: usize = 249;
/// After this long without a poll, the group considers us stuck. We poll every few milliseconds; only finishing batches
/// during a rebalance takes longer.
const MAX_POLL_INTERVAL: Duration = Duration::from_mins(2);

/// Settings of a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkOptions {
    /// The consumer group; `parity-sink-TOPIC` by default. All sinks that move one topic into one database share it.
    /// Sinks of another topic should not, because whoever joins or leaves a group rebalances all of it.
    pub group: Option<String>,
    /// Name within the group and topic (static membership); a restart under the same name takes its partitions back
    /// without a rebalance.
    pub instance: Option<String>,
    /// Records of a batch.
    pub batch_rows: usize,
    /// Bytes of a batch, as they came from Kafka.
    pub batch_bytes: usize,
    /// Longest time that a record waits for its batch to fill.
    pub batch_interval: Duration,
    /// Bytes of all records that are buffered or under way.
    pub memory: usize,
    /// After this long without a heartbeat our partitions are given to others.
    pub session_timeout: Duration,
    /// Threads that decode and insert.
    pub workers: usize,
    /// How long stopping may take to finish the batches in memory.
    pub finish: Duration,
}

impl Default for SinkOptions {
    fn default() -> Self {
        Self {
            group: None,
            instance: None,
            // The server need not merge a part of a hundred thousand rows soon.
            batch_rows: 100_000,
            batch_bytes: 16 << 20,
            // An on-call engineer looks at the last minute, not at the last second.
            batch_interval: Duration::from_secs(1),
            memory: 64 << 20,
            session_timeout: Duration::from_secs(10),
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            finish: Duration::from_secs(20),
        }
    }
}

/// Why a sink ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The database refuses this batch, and a retry would not help.
    #[error(
        "cannot insert into {table}: {message}; nothing of the batch is committed, and the next start takes it up again"
    )]
    Permanent {
        /// Which table.
        table: &'static str,
        /// What the server said.
        message: String,
    },
    /// The Kafka client had a fatal error.
    #[error("the consumer has failed for good: {0}; is `instance` the name of another sink, too?")]
    Consumer(String),
    /// A bug of ours.
    #[error("a thread of the sink ended by a panic; nothing of its batch is committed")]
    Panicked,
}

/// What a sink did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SinkReport {
    /// Records stored.
    pub stored: u64,
    /// Records that went to the dead-letter topic.
    pub dead_letters: u64,
    /// Batches that could not be finished in time; the next owner of their partitions reads them again.
    pub unfinished: usize,
}

impl fmt::Display for SinkReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} records stored, {} to the dead-letter topic",
            self.stored, self.dead_letters
        )?;
        if self.unfinished > 0 {
            write!(
                f,
                "; {} batches could not be finished and are taken up by the next start",
                self.unfinished
            )?;
        }
        Ok(())
    }
}

/// Tells a running sink to end.
#[derive(Clone)]
pub struct Stopper(Arc<AtomicBool>);

impl Stopper {
    /// The batches in hand are finished and committed, then [`Sink::run`] returns.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A sink that is ready to run.
pub struct Sink {
    poller: Poller,
    workers: Workers,
    status: Arc<SinkStatus>,
    stop: Arc<AtomicBool>,
}

impl Sink {
    /// Checks the topic and the tables, so that a wrong setting is an error now, and joins the group.
    pub fn open(
        source: &StoreConfig,
        target: &StoreConfig,
        options: SinkOptions,
    ) -> Result<Self, StoreError> {
        let StoreUrl::Kafka(url) = &source.url else {
            return Err(StoreError::NotKafka {
                url: source.url.to_string(),
            });
        };
        let server = Server::of(target)?;
        runtime()?.block_on(schema::check(&server))?;
        let base = kafka::client_config(url, &source.kafka)?;
        kafka::ensure_topic(url, &base)?;
        let dead = KafkaUrl {
            topic: format!("{}{}", url.topic, kafka::DEAD_SUFFIX),
            ..url.clone()
        };
        kafka::ensure_topic(&dead, &base)?;

        let options = tidy(options);
        let status = Arc::new(SinkStatus::default());
        let dead = Arc::new(DeadLetters::new(&dead, &base)?);
        let workers = Workers::start(&url.topic, target, &dead, &options, &status)?;
        let context = Context::new(&url.topic, Arc::clone(&status), workers.progress());
        let consumer: BaseConsumer<Context> = consumer_config(&base, &url.topic, &options)
            .create_with_context(context)
            .map_err(|error| kafka::refused(url, &error))?;
        consumer
            .subscribe(&[&url.topic])
            .map_err(|error| kafka::refused(url, &error))?;
        let stop = Arc::new(AtomicBool::new(false));
        Ok(Self {
            poller: Poller::new(
                consumer,
                url,
                options,
                Arc::clone(&status),
                Arc::clone(&stop),
            ),
            workers,
            status,
            stop,
        })
    }

    /// Moves records until it is told to stop, or a fatal error.
    pub fn run(self) -> Result<SinkReport, SinkError> {
        self.poller.run(self.workers)
    }

    /// A handle for the health of the sink, for any thread.
    pub fn handle(&self) -> SinkHandle {
        SinkHandle::new(Arc::clone(&self.status))
    }

    /// A handle that stops the sink, for any thread.
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.stop))
    }

    /// Adds the `parity_sink_*` metrics of a sink to a registry that has no prefix of its own.
    pub fn register(&self, registry: &mut Registry) {
        self.status.register(registry);
    }
}

/// Makes the limits consistent: a batch must fit into memory together with the one that is under way.
fn tidy(mut options: SinkOptions) -> SinkOptions {
    options.batch_rows = options.batch_rows.max(1);
    options.workers = options.workers.max(1);
    options.memory = options.memory.max(MIN_FETCH_BYTES);
    options.batch_bytes = options.batch_bytes.clamp(1, options.memory / 2);
    options
}

fn consumer_config(base: &ClientConfig, topic: &str, options: &SinkOptions) -> ClientConfig {
    let fetch_bytes = (options.memory / FETCH_SHARE).max(MIN_FETCH_BYTES);
    let mut config = base.clone();
    config
        .set(
            "group.id",
            options.group.clone().unwrap_or_else(|| group_of(topic)),
        )
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "earliest")
        // A sink that joins or leaves moves only the partitions that must move.
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("isolation.level", "read_committed")
        .set("session.timeout.ms", millis(options.session_timeout))
        .set("heartbeat.interval.ms", millis(options.session_timeout / 4))
        .set(
            "max.poll.interval.ms",
            millis(MAX_POLL_INTERVAL.max(options.session_timeout)),
        )
        .set(
            "queued.max.messages.kbytes",
            (fetch_bytes >> 10).to_string(),
        )
        // By default the client pauses for a second after its queue was full. A sink that catches up spent most of its
        // time so.
        .set("fetch.queue.backoff.ms", "10")
        .set("fetch.max.bytes", fetch_bytes.to_string())
        .set("max.partition.fetch.bytes", MIN_FETCH_BYTES.to_string())
        .set("message.max.bytes", MIN_FETCH_BYTES.to_string())
        // Wait a little for a larger fetch; an idle topic costs only a few requests a second.
        .set("fetch.min.bytes", "65536")
        .set("fetch.wait.max.ms", "100")
        .set("check.crcs", "true")
        .set("statistics.interval.ms", "1000");
    if let Some(instance) = &options.instance {
        config.set("group.instance.id", member_of(instance, topic));
    }
    config
}

/// The default group of a topic.
fn group_of(topic: &str) -> String {
    format!("parity-sink-{topic}")
}

/// The name of a static member, which is the same after a restart. It includes the topic: a broker gives a returning
/// member its former partitions without asking for its subscription, and those could be of another topic.
fn member_of(instance: &str, topic: &str) -> String {
    let name = format!("{instance}.{topic}");
    if name.len() <= MAX_MEMBER_BYTES {
        return name;
    }
    // The name of a member must never change, so the hash function must not either.
    let hash = topic.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{instance}.{hash:016x}")
}

fn millis(duration: Duration) -> String {
    duration.as_millis().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_one_of_its_topic_and_its_name_is_not_too_long() {
        assert_eq!(
            member_of("sink-1", "parity.records"),
            "sink-1.parity.records"
        );
        let long = |last| member_of("sink-1", &format!("{}{last}", "x".repeat(248)));
        assert_eq!(long('a').len(), "sink-1.".len() + 16);
        assert_ne!(long('a'), long('b'));
    }
}
