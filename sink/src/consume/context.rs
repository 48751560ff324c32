//! Callbacks of the Kafka client: partitions assigned and revoked, statistics, errors.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::statistics::Statistics;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use super::health::SinkStatus;
use super::progress::Progress;
use crate::kafka;

/// How long a rebalance waits for the batches of revoked partitions: long enough for a busy server, short enough not to
/// hold up the group. The next owner repeats what is not done by then.
pub(super) const HAND_OVER: Duration = Duration::from_secs(5);

/// Callbacks of the consumer. They run within `poll`, on its thread.
pub(super) struct Context {
    topic: String,
    status: Arc<SinkStatus>,
    progress: Arc<Progress>,
    /// The assigned partitions, with their topics, as the group has told. The client is not asked for them: within a callback
    /// of a consumer that is being closed its answer never comes, and the sink would never end.
    assigned: Mutex<BTreeSet<(String, i32)>>,
    /// Revoked partitions that the poller has not removed yet.
    revoked: Mutex<Vec<i32>>,
}

impl Context {
    pub(super) fn new(topic: &str, status: Arc<SinkStatus>, progress: Arc<Progress>) -> Self {
        Self {
            topic: topic.to_owned(),
            status,
            progress,
            assigned: Mutex::default(),
            revoked: Mutex::default(),
        }
    }

    /// The partitions of our topic in a list.
    fn own(&self, list: &TopicPartitionList) -> Vec<i32> {
        let own = named(list).into_iter();
        own.filter(|(topic, _)| *topic == self.topic)
            .map(|(_, partition)| partition)
            .collect()
    }

    /// Notes what the group gave or took. Returns all partitions of our topic, and the name of another topic, if there is one.
    fn note(&self, rebalance: &Rebalance<'_>) -> (Vec<i32>, Option<String>) {
        let mut assigned = self.assigned.lock().unwrap_or_else(PoisonError::into_inner);
        match rebalance {
            Rebalance::Assign(list) => assigned.extend(named(list)),
            Rebalance::Revoke(list) => {
                for one in named(list) {
                    assigned.remove(&one);
                }
            }
            Rebalance::Error(_) => {}
        }
        let (own, others): (Vec<_>, Vec<_>) =
            assigned.iter().partition(|(topic, _)| *topic == self.topic);
        (
            own.into_iter().map(|(_, partition)| *partition).collect(),
            others.first().map(|(topic, _)| topic.clone()),
        )
    }

    pub(super) fn take_revoked(&self) -> Vec<i32> {
        std::mem::take(&mut *self.revoked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Topics and partitions of a list.
fn named(list: &TopicPartitionList) -> Vec<(String, i32)> {
    let elements = list.elements();
    let each = elements.iter();
    each.map(|element| (element.topic().to_owned(), element.partition()))
        .collect()
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        kafka::log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(target: "librdkafka", %error, "{reason}");
        self.status.broker_failed(format!("Kafka: {reason}"));
    }

    fn stats(&self, statistics: Statistics) {
        let up = statistics
            .brokers
            .values()
            .any(|broker| broker.nodeid >= 0 && broker.state == "UP");
        if up {
            self.status.broker_worked();
        }
        let lags = statistics
            .topics
            .values()
            .flat_map(|topic| topic.partitions.values())
            // -1 means that the lag is not known yet, or is the client's own entry for "no partition yet".
            .filter(|partition| partition.partition >= 0 && partition.consumer_lag >= 0)
            .map(|partition| (partition.partition, partition.consumer_lag))
            .collect();
        self.status.set_lags(lags);
    }
}

impl ConsumerContext for Context {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let Rebalance::Revoke(partitions) = rebalance else {
            return;
        };
        let gone = self.own(partitions);
        // The group considered us dead, so the partitions already have another owner.
        let lost = consumer.assignment_lost();
        let done = self
            .progress
            .hand_over(&gone, if lost { Duration::ZERO } else { HAND_OVER });
        if !lost && !done.is_empty() {
            let mut offsets = TopicPartitionList::new();
            for element in partitions.elements() {
                if element.topic() != self.topic {
                    continue;
                }
                if let Some(next) = done.get(&element.partition()) {
                    let added = offsets.add_partition_offset(
                        element.topic(),
                        element.partition(),
                        Offset::Offset(*next),
                    );
                    debug_assert!(added.is_ok(), "an offset is a number");
                }
            }
            if let Err(error) = consumer.commit(&offsets, CommitMode::Sync) {
                tracing::warn!(%error, "the last batches of revoked partitions are stored but not committed; they will be stored again");
            }
        }
        self.revoked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(gone);
    }

    fn post_rebalance(&self, _consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Error(error) = rebalance {
            tracing::warn!(%error, "a rebalance failed");
        }
        let (partitions, foreign) = self.note(rebalance);
        if let Some(foreign) = foreign {
            // Reported as not ready: records of another topic are not consumed.
            tracing::warn!(
                topic = foreign,
                "the group has given this sink partitions of another topic"
            );
            self.status.assigned_another_topic(&foreign, &self.topic);
            return;
        }
        tracing::info!(?partitions, "partitions of this sink");
        self.status.assigned(&partitions);
    }

    fn commit_callback(&self, result: KafkaResult<()>, _offsets: &TopicPartitionList) {
        if let Err(error) = result {
            self.status.metrics.commit_errors.inc();
            tracing::warn!(%error, "a commit failed; the next one covers it, or the batch is stored again");
        }
    }

    fn main_queue_min_poll_interval(&self) -> rdkafka::util::Timeout {
        // So that statistics and errors are handled also while there are no records.
        Duration::from_millis(100).into()
    }
}
