//! The Kafka producer and its delivery reports.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use parity_schemas::record::{RECORD_VERSION, RecordType, TYPE_HEADER, VERSION_HEADER};
use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext, PurgeConfig};
use rdkafka::types::RDKafkaErrorCode;

use crate::error::StoreError;
use crate::kafka;
use crate::store::KafkaAccess;
use crate::url::KafkaUrl;
use crate::write::spool::Position;

/// Limits of the client's queue: enough for a second of a busy mirror with a distant broker. The rest waits on disk,
/// which costs no memory.
const QUEUE_KBYTES: &str = "16384";
const QUEUE_MESSAGES: &str = "20000";

/// Identifies the record of a delivery report. Passes through the client as one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// A record in the spool.
    Spooled(Position),
    /// A record that is only in the client's memory.
    Unspooled,
    /// A row of a snapshot of the counts.
    Tally { attempt: u32, number: u32 },
}

/// The highest bit marks counts; segment numbers never get that high.
const TALLY_BIT: u64 = 1 << 63;
const UNSPOOLED: u64 = u64::MAX;

impl Label {
    fn to_number(self) -> u64 {
        match self {
            Self::Spooled(at) => u64::from(at.segment) << 32 | u64::from(at.index),
            Self::Unspooled => UNSPOOLED,
            Self::Tally { attempt, number } => {
                TALLY_BIT | u64::from(attempt & 0x3fff_ffff) << 32 | u64::from(number)
            }
        }
    }

    fn from_number(number: u64) -> Self {
        let (high, low) = ((number >> 32) as u32, number as u32);
        if number == UNSPOOLED {
            Self::Unspooled
        } else if number & TALLY_BIT != 0 {
            Self::Tally {
                attempt: high & 0x3fff_ffff,
                number: low,
            }
        } else {
            Self::Spooled(Position {
                segment: high,
                index: low,
            })
        }
    }
}

/// A record to be sent.
pub(super) struct Message<'a> {
    pub(super) record: RecordType,
    pub(super) key: &'a [u8],
    pub(super) payload: &'a [u8],
}

/// The delivery report of one record.
pub(super) struct Delivery {
    pub(super) label: Label,
    pub(super) outcome: Result<(), RDKafkaErrorCode>,
}

/// The producer of records, with what is needed to replace it.
pub(super) struct RecordProducer {
    config: ClientConfig,
    url: KafkaUrl,
    producer: BaseProducer<ProducerEvents>,
    headers: [OwnedHeaders; RecordType::ALL.len()],
}

/// The client's callbacks store their events here.
#[derive(Clone, Default)]
struct ProducerEvents(Arc<Mutex<PendingEvents>>);

#[derive(Default)]
struct PendingEvents {
    deliveries: VecDeque<Delivery>,
    last_error: Option<String>,
}

impl ProducerEvents {
    fn with<T>(&self, use_it: impl FnOnce(&mut PendingEvents) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ClientContext for ProducerEvents {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        kafka::log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(target: "librdkafka", %error, "{reason}");
        self.with(|heard| heard.last_error = Some(reason.to_owned()));
    }
}

impl ProducerContext for ProducerEvents {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, number: usize) {
        let outcome = match result {
            Ok(_) => Ok(()),
            Err((error, _)) => Err(error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Fail)),
        };
        let delivery = Delivery {
            label: Label::from_number(number as u64),
            outcome,
        };
        self.with(|heard| {
            if outcome.is_ok() {
                heard.last_error = None;
            }
            heard.deliveries.push_back(delivery);
        });
    }
}

impl RecordProducer {
    pub(super) fn open(url: &KafkaUrl, access: &KafkaAccess) -> Result<Self, StoreError> {
        let mut config = kafka::client_config(url, access)?;
        config
            .set("enable.idempotence", "true")
            .set("acks", "all")
            .set("compression.type", "zstd")
            .set("linger.ms", "20")
            .set("batch.size", "1000000")
            .set("queue.buffering.max.kbytes", QUEUE_KBYTES)
            .set("queue.buffering.max.messages", QUEUE_MESSAGES)
            // Every record stays in our spool until it is acknowledged, so the client must never drop one.
            .set("message.timeout.ms", "0")
            .set("message.max.bytes", "1048576");
        let producer = config
            .create_with_context(ProducerEvents::default())
            .map_err(|error| kafka::refused(url, &error))?;
        Ok(Self {
            config,
            url: url.clone(),
            producer,
            headers: RecordType::ALL.map(headers),
        })
    }

    /// Passes a record to the client; an error means that its queue is full.
    pub(super) fn send(&mut self, message: &Message<'_>, label: Label) -> Result<(), ()> {
        let place = RecordType::ALL
            .iter()
            .position(|known| *known == message.record)
            .unwrap_or_default();
        let headers = self.headers.get(place).cloned().unwrap_or_default();
        let number = label.to_number() as usize;
        let record = BaseRecord::with_opaque_to(&self.url.topic, number)
            .key(message.key)
            .payload(message.payload)
            .headers(headers);
        match self.producer.send(record) {
            Ok(()) => Ok(()),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => Err(()),
            // Any other error is about this record, and is reported as if the broker had refused it.
            Err((error, _)) => {
                let code = error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Fail);
                self.producer.context().with(|heard| {
                    heard.deliveries.push_back(Delivery {
                        label,
                        outcome: Err(code),
                    });
                });
                Ok(())
            }
        }
    }

    /// The delivery reports since the last call.
    pub(super) fn deliveries(&mut self) -> VecDeque<Delivery> {
        // Each poll handles one event, which may report thousands of records.
        loop {
            let before = self.heard();
            self.producer.poll(Duration::ZERO);
            if self.heard() == before {
                break;
            }
        }
        self.producer
            .context()
            .with(|heard| std::mem::take(&mut heard.deliveries))
    }

    fn heard(&self) -> usize {
        self.producer.context().with(|heard| heard.deliveries.len())
    }

    /// Waits for an event of the client.
    pub(super) fn wait(&self, limit: Duration) {
        self.producer.poll(limit);
    }

    /// The last error of the client since the last acknowledgement.
    pub(super) fn last_error(&self) -> Option<String> {
        self.producer
            .context()
            .with(|heard| heard.last_error.clone())
    }

    pub(super) fn topic(&self) -> &str {
        &self.url.topic
    }

    /// Whether the client had a fatal error and will never send again.
    pub(super) fn has_failed(&self) -> bool {
        self.producer.client().fatal_error().is_some()
    }

    /// Replaces the client; records in its queue are discarded.
    pub(super) fn replace(&mut self) -> Result<(), StoreError> {
        let new = self
            .config
            .create_with_context(ProducerEvents::default())
            .map_err(|error| kafka::refused(&self.url, &error))?;
        let old = std::mem::replace(&mut self.producer, new);
        old.purge(PurgeConfig::default().queue().inflight());
        Ok(())
    }
}

impl Drop for RecordProducer {
    fn drop(&mut self) {
        // Callers have already waited as long as they wanted. Without this, dropping the client would wait for ever.
        self.producer
            .purge(PurgeConfig::default().queue().inflight());
    }
}

fn headers(record: RecordType) -> OwnedHeaders {
    OwnedHeaders::new_with_capacity(2)
        .insert(Header {
            key: TYPE_HEADER,
            value: Some(record.as_str()),
        })
        .insert(Header {
            key: VERSION_HEADER,
            value: Some(&RECORD_VERSION.to_string()),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_reads_back() {
        for label in [
            Label::Unspooled,
            Label::Spooled(Position {
                segment: 0,
                index: 0,
            }),
            Label::Spooled(Position {
                segment: 0x7fff_ffff,
                index: u32::MAX,
            }),
            Label::Tally {
                attempt: 0,
                number: 0,
            },
            Label::Tally {
                attempt: 0x3fff_ffff,
                number: u32::MAX,
            },
        ] {
            assert_eq!(Label::from_number(label.to_number()), label);
        }
    }
}
