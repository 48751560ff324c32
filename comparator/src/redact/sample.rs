//! The full exchange behind a mismatch, redacted and bounded.

use http::HeaderMap;
use parity_schemas::exchange::{Body, Exchange};
use parity_schemas::record::{RecordedMessage, Sample};
use parity_schemas::verdict::Part;

use super::Redactor;
use super::json::Position;
use crate::decode;
use crate::limits::DECODED_BYTES;
use crate::media::MediaType;
use crate::rules::Scope;

/// Bytes of a body that are recorded: a record of request and two answers stays far below the 900 KiB that a message
/// of the record may have.
const SAMPLE_BODY_BYTES: usize = 64 * 1024;

impl Redactor {
    pub(super) fn sample(&self, exchange: &Exchange, scope: &Scope) -> Sample {
        Sample {
            request: self.message(&exchange.request.headers, &exchange.request.body, scope),
            legacy: self.message(&exchange.legacy.headers, &exchange.legacy.body, scope),
            candidate: self.message(&exchange.candidate.headers, &exchange.candidate.body, scope),
        }
    }

    fn message(&self, headers: &HeaderMap, body: &Body, scope: &Scope) -> RecordedMessage {
        let mut text = self.body(headers, body, scope);
        let body_cut = text.len() > SAMPLE_BODY_BYTES;
        if body_cut {
            text.truncate(text.floor_char_boundary(SAMPLE_BODY_BYTES));
        }
        RecordedMessage {
            headers: headers
                .iter()
                .map(|(name, value)| {
                    let value = String::from_utf8_lossy(value.as_bytes());
                    (
                        name.as_str().to_owned(),
                        self.header_value(Part::Header, name.as_str(), &value, scope),
                    )
                })
                .collect(),
            body: text,
            body_bytes: body.len() as u64,
            body_cut,
        }
    }

    fn body(&self, headers: &HeaderMap, body: &Body, scope: &Scope) -> String {
        let raw = body.contiguous();
        if raw.is_empty() {
            return String::new();
        }
        let root = Position::at("", self, scope);
        let encodings = decode::encodings(headers);
        let decoded = decode::decode(&raw, &encodings, DECODED_BYTES);
        let text = decoded
            .as_ref()
            .ok()
            .and_then(|decoded| std::str::from_utf8(decoded).ok());
        let Some(text) = text.filter(|_| !root.secret) else {
            return self.hash(&raw);
        };
        let essence = headers
            .get(http::header::CONTENT_TYPE)
            .map(|value| MediaType::parse(&String::from_utf8_lossy(value.as_bytes())).essence);
        if essence.as_deref() == Some("application/x-www-form-urlencoded") {
            return self.form(text);
        }
        self.json(text.trim_start_matches('\u{feff}'), root)
            .unwrap_or_else(|| self.text(text))
    }
}
