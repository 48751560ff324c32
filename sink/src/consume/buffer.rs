//! Buffered records of one partition, which become a batch.
//!
//! Payloads are copied out of the Kafka client into one growing vector: the client's buffers hold whole fetches, and
//! one record would keep all of its fetch in memory.

use std::time::Instant;

use parity_schemas::record::{RECORD_VERSION, RecordType, TYPE_HEADER, VERSION_HEADER};
use rdkafka::message::{BorrowedMessage, Headers as _, Message as _, OwnedHeaders};

/// A larger record is not ours: a mirror limits its records to 900 KiB.
const MAX_PAYLOAD_BYTES: usize = 4 << 20;
/// Memory of a record besides its bytes.
const OVERHEAD: usize = std::mem::size_of::<Entry>();

/// Why a record cannot be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The word for it in headers and metrics.
    pub(super) reason: &'static str,
    /// For a person.
    pub(super) why: String,
}

impl Refusal {
    pub(super) fn new(reason: &'static str, why: impl Into<String>) -> Self {
        Self {
            reason,
            why: why.into(),
        }
    }
}

/// One buffered record.
pub(super) struct Entry {
    pub(super) offset: i64,
    /// Where the key begins in [`RecordBuffer::bytes`]; the payload follows it.
    start: usize,
    key: usize,
    payload: usize,
    pub(super) record: Result<RecordType, Box<Refusal>>,
    /// All headers, if there are more than our own two or the record is refused: a dead letter keeps them.
    pub(super) headers: Option<Box<OwnedHeaders>>,
}

/// Records at consecutive offsets of one partition.
pub(super) struct RecordBuffer {
    bytes: Vec<u8>,
    pub(super) entries: Vec<Entry>,
    /// When its first record arrived.
    pub(super) since: Instant,
}

impl RecordBuffer {
    pub(super) fn new() -> Self {
        Self {
            bytes: Vec::new(),
            entries: Vec::new(),
            since: Instant::now(),
        }
    }

    /// Takes the records, and leaves an empty buffer with the same capacity, since the next batch will be of about that
    /// size.
    pub(super) fn take(&mut self) -> Self {
        let next = Self {
            bytes: Vec::with_capacity(self.bytes.len()),
            entries: Vec::with_capacity(self.entries.len()),
            since: Instant::now(),
        };
        std::mem::replace(self, next)
    }

    pub(super) fn add(&mut self, message: &BorrowedMessage<'_>) {
        if self.entries.is_empty() {
            self.since = Instant::now();
        }
        let key = message.key().unwrap_or_default();
        let payload = message.payload().unwrap_or_default();
        let start = self.bytes.len();
        let (record, headers) = classify(message, payload.len());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(payload);
        self.entries.push(Entry {
            offset: message.offset(),
            start,
            key: key.len(),
            payload: payload.len(),
            record,
            headers,
        });
    }

    pub(super) fn key(&self, entry: &Entry) -> &[u8] {
        self.bytes
            .get(entry.start..entry.start + entry.key)
            .unwrap_or_default()
    }

    pub(super) fn payload(&self, entry: &Entry) -> &[u8] {
        let start = entry.start + entry.key;
        self.bytes
            .get(start..start + entry.payload)
            .unwrap_or_default()
    }

    /// Its share of the memory limit.
    pub(super) fn cost(&self) -> usize {
        self.bytes.len() + self.entries.len() * OVERHEAD
    }

    /// First and last offset; `None` without any record.
    pub(super) fn span(&self) -> Option<(i64, i64)> {
        Some((self.entries.first()?.offset, self.entries.last()?.offset))
    }

    /// A checksum of its content. It is part of the name of the batch, because a topic that was deleted and created
    /// again uses the same offsets again.
    pub(super) fn checksum(&self) -> u32 {
        crc32fast::hash(&self.bytes)
    }
}

/// The type of a record according to its headers, and the headers to keep.
fn classify(
    message: &BorrowedMessage<'_>,
    payload: usize,
) -> (Result<RecordType, Box<Refusal>>, Option<Box<OwnedHeaders>>) {
    let Some(headers) = message.headers() else {
        let refusal = Refusal::new("no_type", format!("it has no header {TYPE_HEADER}"));
        return (Err(Box::new(refusal)), None);
    };
    let (mut record, mut version, mut others) = (None, None, false);
    for header in headers.iter() {
        let text = header
            .value
            .and_then(|value| std::str::from_utf8(value).ok());
        match header.key {
            TYPE_HEADER => record = Some(text.unwrap_or_default()),
            VERSION_HEADER => version = Some(text.unwrap_or_default()),
            _ => others = true,
        }
    }
    let judged = judge(record, version, payload);
    let keep = others || judged.is_err();
    (
        judged.map_err(Box::new),
        keep.then(|| Box::new(headers.detach())),
    )
}

fn judge(
    record: Option<&str>,
    version: Option<&str>,
    payload: usize,
) -> Result<RecordType, Refusal> {
    let Some(word) = record else {
        return Err(Refusal::new(
            "no_type",
            format!("it has no header {TYPE_HEADER}"),
        ));
    };
    let number = version.and_then(|text| text.parse::<u32>().ok());
    let Some(number) = number else {
        return Err(Refusal::new(
            "no_version",
            format!("its header {VERSION_HEADER} is {version:?}, which is no number"),
        ));
    };
    // Checked before the type, because a newer program may have new types.
    if number > RECORD_VERSION {
        return Err(Refusal::new(
            "newer_version",
            format!(
                "it has schema version {number}, this program knows up to {RECORD_VERSION}; update the sinks, then run one on the dead-letter topic"
            ),
        ));
    }
    let Some(known) = RecordType::from_word(word) else {
        return Err(Refusal::new(
            "unknown_type",
            format!("its type is {word:?}, which this program does not know"),
        ));
    };
    if payload > MAX_PAYLOAD_BYTES {
        return Err(Refusal::new(
            "too_large",
            format!("it has {payload} bytes, {MAX_PAYLOAD_BYTES} are allowed"),
        ));
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_told_by_its_headers() {
        let reason = |record, version, payload| {
            judge(record, version, payload)
                .map(RecordType::as_str)
                .map_err(|refusal| refusal.reason)
        };
        assert_eq!(reason(Some("tally"), Some("1"), 10), Ok("tally"));
        for (record, version, payload, expected) in [
            (None, Some("1"), 10, "no_type"),
            (Some("tally"), None, 10, "no_version"),
            (Some("tally"), Some("one"), 10, "no_version"),
            (Some("tally"), Some("2"), 10, "newer_version"),
            (Some("novelty"), Some("2"), 10, "newer_version"),
            (Some("novelty"), Some("1"), 10, "unknown_type"),
            (Some("tally"), Some("1"), MAX_PAYLOAD_BYTES + 1, "too_large"),
        ] {
            assert_eq!(reason(record, version, payload), Err(expected));
        }
    }
}
