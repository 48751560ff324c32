//! Handling the broker's delivery reports.

use std::time::Instant;

use parity_schemas::time::Timestamp;
use rdkafka::types::RDKafkaErrorCode;

use super::producer::{Delivery, Label};
use super::{KafkaWriter, REST};
use crate::write::health::DropReason;
use crate::write::spool::Position;

/// A broker refuses a whole batch because of one record in it. So refused records are sent again one by one, and only a
/// record that is refused when sent alone is lost.
#[derive(Default)]
pub(super) struct OneByOne {
    /// Up to here, records are sent one by one.
    pub(super) until: Option<Position>,
    /// The record that was last sent alone.
    pub(super) alone: Option<Position>,
    /// Records of the spool that are under way.
    pub(super) under_way: u64,
}

impl OneByOne {
    /// Whether the next record may be sent.
    pub(super) fn lets_pass(&mut self) -> bool {
        let Some(until) = self.until else {
            return true;
        };
        if self.under_way > 0 {
            return false;
        }
        if self.alone.is_some_and(|at| at >= until) {
            self.until = None;
            self.alone = None;
        }
        true
    }

    pub(super) fn sent(&mut self, at: Position) {
        self.under_way += 1;
        self.alone = self.until.map(|_| at);
    }
}

impl KafkaWriter {
    /// Handles the delivery reports that have arrived.
    pub(super) fn hear(&mut self) {
        if self.producer.has_failed() {
            return self.begin_anew();
        }
        let mut undelivered: Option<Position> = None;
        let mut acknowledged = 0;
        let mut heard = false;
        for Delivery { label, outcome } in self.producer.deliveries() {
            if matches!(label, Label::Spooled(_)) {
                self.one_by_one.under_way = self.one_by_one.under_way.saturating_sub(1);
            }
            match (label, outcome) {
                (Label::Tally { attempt, number }, outcome) => {
                    heard |= outcome.is_ok();
                    let is_result = self.tallies.delivered(attempt, number, outcome.is_ok());
                    acknowledged += u64::from(is_result);
                    if let Err(code) = outcome {
                        self.undelivered(code);
                    }
                }
                (Label::Spooled(at), Ok(())) => {
                    acknowledged += 1;
                    self.spool.acknowledge(at);
                }
                (Label::Spooled(at), Err(code))
                    if is_fault_of_the_record(code) && self.one_by_one.alone == Some(at) =>
                {
                    self.reject(code);
                    self.spool.acknowledge(at);
                }
                (Label::Spooled(at), Err(code)) if is_fault_of_the_record(code) => {
                    undelivered = Some(undelivered.map_or(at, |first| first.min(at)));
                    self.one_by_one.until = self.one_by_one.until.max(Some(at));
                }
                (Label::Spooled(at), Err(code)) => {
                    undelivered = Some(undelivered.map_or(at, |first| first.min(at)));
                    self.undelivered(code);
                }
                (Label::Unspooled, Ok(())) => {
                    acknowledged += 1;
                    self.unspooled = self.unspooled.saturating_sub(1);
                }
                (Label::Unspooled, Err(code)) => {
                    self.unspooled = self.unspooled.saturating_sub(1);
                    self.reject(code);
                }
            }
        }
        self.tallies.settle(&self.inputs.book, &self.spool);
        if acknowledged > 0 || heard {
            self.sent += acknowledged;
            self.last_progress = Instant::now();
            let status = &self.inputs.status;
            status.metrics.acknowledged.inc_by(acknowledged);
            // Without a spool the store is still failing, although the broker accepts records.
            if self.spool.has_folder() {
                status.wrote(Timestamp::now());
                self.retry.worked(status.metrics.dropped_total());
            }
        }
        if let Some(first) = undelivered {
            self.inputs.status.metrics.resent.inc();
            self.lag_from(first);
            if self.one_by_one.until.is_none() {
                self.rest_until = Some(Instant::now() + REST);
            }
        }
    }

    /// The client had a fatal error: a new client sends everything again that is not acknowledged.
    fn begin_anew(&mut self) {
        tracing::warn!(
            "the Kafka client has failed for good and is replaced; what is not acknowledged is sent again"
        );
        let lost = self.unspooled;
        self.unspooled = 0;
        let unwritten = self.inputs.status.metrics.dropped(DropReason::Unwritten);
        unwritten.inc_by(lost);
        if let Err(error) = self.producer.replace() {
            self.inputs
                .status
                .failed(error.to_string(), Timestamp::now());
        }
        self.tallies.forget();
        self.one_by_one = OneByOne::default();
        let first = self.spool.first();
        self.spool.seek(first);
        self.lagging = true;
        self.rest_until = Some(Instant::now() + REST);
    }

    fn reject(&self, code: RDKafkaErrorCode) {
        self.inputs
            .status
            .metrics
            .dropped(DropReason::Rejected)
            .inc();
        tracing::error!(%code, "the broker refused a record for good");
    }

    fn undelivered(&mut self, code: RDKafkaErrorCode) {
        let text = match code {
            RDKafkaErrorCode::UnknownTopic
            | RDKafkaErrorCode::UnknownTopicOrPartition
            | RDKafkaErrorCode::UnknownPartition => format!(
                "Kafka: there is no topic {} and the broker does not make it; create it",
                self.producer.topic()
            ),
            code => format!("Kafka: {code}"),
        };
        self.complain(&text);
    }

    pub(super) fn complain(&mut self, text: &str) {
        let status = &self.inputs.status;
        status.failed(text.to_owned(), Timestamp::now());
        let dropped = status.metrics.dropped_total();
        self.retry.failed(&text, dropped, Instant::now());
    }
}

/// Whether the record itself is at fault, so that every further attempt would fail too.
fn is_fault_of_the_record(code: RDKafkaErrorCode) -> bool {
    matches!(
        code,
        RDKafkaErrorCode::MessageSizeTooLarge
            | RDKafkaErrorCode::InvalidMessage
            | RDKafkaErrorCode::InvalidMessageSize
            | RDKafkaErrorCode::InvalidRecord
    )
}
