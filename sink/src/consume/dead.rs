//! Records that cannot be stored, put aside with the reason.
//!
//! A dead letter is the record as it was (key, payload, headers) with headers that say where it stood and why it was
//! refused, so that a sink of a later version can simply be run on the topic of dead letters. It is acknowledged by the
//! broker before the offset of the record is committed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};
use rdkafka::types::RDKafkaErrorCode;

use super::buffer::{Entry, RecordBuffer, Refusal};
use crate::error::StoreError;
use crate::kafka;
use crate::url::KafkaUrl;

/// Every reason, as in the header and the metric.
pub(super) const REASONS: &[&str] = &[
    "malformed",
    "newer_version",
    "no_type",
    "no_version",
    "refused",
    "time_out_of_range",
    "too_large",
    "unknown_type",
];
const REASON_HEADER: &str = "parity-dead-reason";
const WHY_HEADER: &str = "parity-dead-why";
const SOURCE_HEADER: &str = "parity-dead-source";
/// Said instead of a payload that the topic of dead letters does not take.
const OMITTED_HEADER: &str = "parity-dead-payload-bytes";
/// How long one attempt waits for the broker.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(10);
/// Between two looks for acknowledgements.
const LOOK: Duration = Duration::from_millis(5);
/// Dead letters under way at once: a topic full of garbage must not fill our memory with it.
const WINDOW: usize = 256;

/// The producer for the dead-letter topic. Shared by the workers.
pub(super) struct DeadLetters {
    topic: String,
    producer: BaseProducer<Acknowledgements>,
}

struct Acknowledgements;

type Outcome = (usize, Result<(), RDKafkaErrorCode>);

impl ClientContext for Acknowledgements {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        kafka::log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(target: "librdkafka", %error, "{reason}");
    }
}

/// Which letter, and who wants to know.
type Receipt = Box<(usize, Sender<Outcome>)>;

impl ProducerContext for Acknowledgements {
    type DeliveryOpaque = Receipt;

    fn delivery(&self, result: &DeliveryResult<'_>, receipt: Receipt) {
        let (number, sender) = *receipt;
        let outcome = match result {
            Ok(_) => Ok(()),
            Err((error, _)) => Err(error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Fail)),
        };
        // Whoever waited has given up; the letters are sent again.
        let _gone = sender.send((number, outcome));
    }
}

impl DeadLetters {
    pub(super) fn new(url: &KafkaUrl, base: &ClientConfig) -> Result<Self, StoreError> {
        let mut config = base.clone();
        config
            .set("enable.idempotence", "true")
            .set("acks", "all")
            .set("compression.type", "zstd")
            .set("linger.ms", "5")
            // As much as a broker may be told to take; it is the broker that decides.
            .set("message.max.bytes", "67108864")
            .set("queue.buffering.max.kbytes", "65536")
            .set("message.timeout.ms", "8000");
        let producer = config
            .create_with_context(Acknowledgements)
            .map_err(|error| kafka::refused(url, &error))?;
        Ok(Self {
            topic: url.topic.clone(),
            producer,
        })
    }

    /// Puts records aside; when it returns without an error the broker has all of them.
    pub(super) fn put(
        &self,
        source: &str,
        buffer: &RecordBuffer,
        letters: &[(&Entry, &Refusal)],
    ) -> Result<(), String> {
        for window in letters.chunks(WINDOW) {
            let too_large = self.put_window(source, buffer, window, true)?;
            // The broker refuses a batch as a whole, so most of these may only have been in bad company.
            for number in too_large {
                let Some(alone) = window.get(number..=number) else {
                    continue;
                };
                if !self.put_window(source, buffer, alone, true)?.is_empty() {
                    self.put_window(source, buffer, alone, false)?;
                }
            }
        }
        Ok(())
    }

    /// Sends letters and waits for all of them; gives those that the broker finds too large.
    fn put_window(
        &self,
        source: &str,
        buffer: &RecordBuffer,
        letters: &[(&Entry, &Refusal)],
        whole: bool,
    ) -> Result<Vec<usize>, String> {
        let (sender, outcomes) = crossbeam_channel::bounded(letters.len());
        for (number, (entry, refusal)) in letters.iter().enumerate() {
            let receipt: Receipt = Box::new((number, sender.clone()));
            self.send(source, buffer, entry, refusal, receipt, whole)?;
        }
        let deadline = Instant::now() + ACKNOWLEDGED_WITHIN;
        let (mut open, mut too_large) = (letters.len(), Vec::new());
        while open > 0 {
            if Instant::now() > deadline {
                return Err(format!(
                    "the broker has not acknowledged them in {}",
                    self.topic
                ));
            }
            self.producer.poll(LOOK);
            while let Ok((number, outcome)) = outcomes.try_recv() {
                open -= 1;
                match outcome {
                    Ok(()) => {}
                    Err(RDKafkaErrorCode::MessageSizeTooLarge) => too_large.push(number),
                    Err(code) => return Err(format!("{}: {code}", self.topic)),
                }
            }
        }
        Ok(too_large)
    }

    fn send(
        &self,
        source: &str,
        buffer: &RecordBuffer,
        entry: &Entry,
        refusal: &Refusal,
        receipt: Receipt,
        whole: bool,
    ) -> Result<(), String> {
        let payload = buffer.payload(entry);
        let place = format!("{source}@{}", entry.offset);
        let mut headers = match &entry.headers {
            Some(headers) => OwnedHeaders::clone(headers),
            None => own_headers(entry),
        };
        for (key, value) in [
            (REASON_HEADER, refusal.reason),
            (WHY_HEADER, &refusal.why),
            (SOURCE_HEADER, &place),
        ] {
            headers = headers.insert(Header {
                key,
                value: Some(value),
            });
        }
        if !whole {
            headers = headers.insert(Header {
                key: OMITTED_HEADER,
                value: Some(&payload.len().to_string()),
            });
        }
        let mut record = BaseRecord::with_opaque_to(&self.topic, receipt)
            .key(buffer.key(entry))
            .headers(headers);
        if whole {
            record = record.payload(payload);
        }
        match self.producer.send(record) {
            Ok(()) => Ok(()),
            // Told like a refusal of the broker.
            Err((KafkaError::MessageProduction(code), record)) => {
                let (number, sender) = *record.delivery_opaque;
                let _gone = sender.send((number, Err(code)));
                Ok(())
            }
            Err((error, _)) => Err(format!("{}: {error}", self.topic)),
        }
    }
}

/// Our two headers, for a record that had no others and so did not keep them.
fn own_headers(entry: &Entry) -> OwnedHeaders {
    let word = entry.record.as_ref().map_or("", |record| record.as_str());
    OwnedHeaders::new()
        .insert(Header {
            key: parity_schemas::record::TYPE_HEADER,
            value: Some(word),
        })
        .insert(Header {
            key: parity_schemas::record::VERSION_HEADER,
            value: Some(&parity_schemas::record::RECORD_VERSION.to_string()),
        })
}

impl Drop for DeadLetters {
    fn drop(&mut self) {
        // Everything was waited for; what is left belongs to batches that are not committed.
        self.producer
            .purge(rdkafka::producer::PurgeConfig::default().queue().inflight());
    }
}

/// What the workers hold.
pub(super) type SharedDeadLetters = Arc<DeadLetters>;
