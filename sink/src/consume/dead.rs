//! The dead-letter topic: records that cannot be stored, with the reason.
//!
//! A dead letter is the original record (key, payload, headers) with additional headers that say where it was read and
//! why it was refused. So a sink of a later version can simply be run on the dead-letter topic. The offset of a record
//! is committed only after the broker has acknowledged its dead letter.

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
/// The length of a payload that is too large for the dead-letter topic, and so was left out.
const OMITTED_HEADER: &str = "parity-dead-payload-bytes";
/// How long one attempt waits for the broker.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(10);
/// How long one poll for acknowledgements waits.
const LOOK: Duration = Duration::from_millis(5);
/// Dead letters under way at a time, so that a topic full of garbage does not fill our memory.
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

/// The number of the letter, and where to send its outcome.
type Receipt = Box<(usize, Sender<Outcome>)>;

impl ProducerContext for Acknowledgements {
    type DeliveryOpaque = Receipt;

    fn delivery(&self, result: &DeliveryResult<'_>, receipt: Receipt) {
        let (number, sender) = *receipt;
        let outcome = match result {
            Ok(_) => Ok(()),
            Err((error, _)) => Err(error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Fail)),
        };
        // If the receiver has given up waiting, the letters are sent again.
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
            // As much as a broker can be configured to accept: the limit is the broker's.
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

    /// Writes records to the dead-letter topic. When it returns without an error, the broker has acknowledged all of
    /// them.
    pub(super) fn put(
        &self,
        source: &str,
        buffer: &RecordBuffer,
        letters: &[(&Entry, &Refusal)],
    ) -> Result<(), String> {
        for window in letters.chunks(WINDOW) {
            let too_large = self.put_window(source, buffer, window, true)?;
            // The broker refuses a whole batch because of one record, so most of these may be small enough when sent
            // alone.
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

    /// Sends letters and waits for all outcomes. Returns the numbers of those that the broker considers too large.
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
            // Handled as if the broker had refused it.
            Err((KafkaError::MessageProduction(code), record)) => {
                let (number, sender) = *record.delivery_opaque;
                let _gone = sender.send((number, Err(code)));
                Ok(())
            }
            Err((error, _)) => Err(format!("{}: {error}", self.topic)),
        }
    }
}

/// Our own two headers, for a record whose headers were not kept because it had no others.
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
        // All outcomes were awaited; anything left belongs to batches that are not committed.
        self.producer
            .purge(rdkafka::producer::PurgeConfig::default().queue().inflight());
    }
}

/// The dead-letter producer as the workers share it.
pub(super) type SharedDeadLetters = Arc<DeadLetters>;
