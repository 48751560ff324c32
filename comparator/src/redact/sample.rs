//! The full exchange behind a mismatch, redacted and bounded.
//!
//! Whatever is compared as JSON is recorded as that JSON, because there the keys tell which values are secret.

use parity_schemas::exchange::{Body, Exchange, Omitted};
use parity_schemas::fields::FieldLines;
use parity_schemas::record::{RecordedMessage, Sample};
use parity_schemas::verdict::Part;

use super::Redactor;
use super::body::{RedactedBodies, RedactedBody};
use crate::rules::Scope;

/// Bytes of a body that are recorded. A record with a request and two answers then stays far below the 900 KiB that a
/// message of the record may have.
const SAMPLE_BODY_BYTES: usize = 64 * 1024;

impl Redactor {
    pub(super) fn sample(
        &self,
        exchange: &Exchange,
        bodies: &RedactedBodies,
        scope: &Scope,
    ) -> Sample {
        let (request, legacy, candidate) =
            (&exchange.request, &exchange.legacy, &exchange.candidate);
        let message = |headers: &FieldLines, body: &Body, shown: &RedactedBody| {
            self.message(headers, body, shown, scope)
        };
        Sample {
            request: message(&request.headers, &request.body, &bodies.request),
            legacy: message(&legacy.headers, &legacy.body, &bodies.legacy),
            candidate: message(&candidate.headers, &candidate.body, &bodies.candidate),
        }
    }

    fn message(
        &self,
        headers: &FieldLines,
        body: &Body,
        shown: &RedactedBody,
        scope: &Scope,
    ) -> RecordedMessage {
        let text = shown.text();
        let end = text.floor_char_boundary(SAMPLE_BODY_BYTES);
        RecordedMessage {
            headers: headers
                .iter()
                .map(|(name, value)| {
                    let value = value.lossy();
                    (
                        self.field_name(name.as_str()).into_owned(),
                        self.header_value(Part::Header, name.as_str(), &value, scope),
                    )
                })
                .collect(),
            body: text.get(..end).unwrap_or(text).to_owned(),
            body_bytes: match body.omission() {
                None => body.len() as u64,
                Some(
                    Omitted::TooLarge { at_least: bytes }
                    | Omitted::NoRoom { at_least: bytes }
                    | Omitted::LetGo { bytes },
                ) => bytes,
                Some(Omitted::Stream) => 0,
            },
            body_cut: end < text.len() || body.omission().is_some(),
        }
    }
}
