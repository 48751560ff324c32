//! A record as JSON, with what the spool and the producer need to know of it.

use parity_schemas::record::{Record, RecordType};

use super::producer::Message;
use crate::write::spool::frame::Frame;

/// A record as it is sent.
pub(super) struct Encoded {
    record: RecordType,
    key: String,
    payload: Vec<u8>,
}

impl Encoded {
    pub(super) fn of(record: &Record) -> Self {
        let mut payload = Vec::with_capacity(1 << 10);
        record.write_json(&mut payload);
        Self {
            record: record.record_type(),
            key: record.id().to_string(),
            payload,
        }
    }

    pub(super) fn frame(&self) -> Frame<'_> {
        Frame {
            record: self.record,
            key: self.key.as_bytes(),
            payload: &self.payload,
        }
    }

    pub(super) fn message(&self) -> Message<'_> {
        Message {
            record: self.record,
            key: self.key.as_bytes(),
            payload: &self.payload,
        }
    }
}
