//! The full exchange behind a mismatch, redacted and bounded.
//!
//! Events and multipart bodies are shown as the JSON that they are compared as: secrets are found in it by the names
//! that they stand behind.

use http::HeaderMap;
use parity_schemas::exchange::{Body, Exchange, Omitted};
use parity_schemas::record::{RecordedMessage, Sample};
use parity_schemas::verdict::Part;

use super::Redactor;
use super::json::Position;
use crate::decode;
use crate::events;
use crate::json::index::{Index, Layout};
use crate::limits::{DECODED_BYTES, MAX_DEPTH};
use crate::media::{BodyKind, Declared};
use crate::multipart;
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
            body_bytes: match body.omission() {
                None => body.len() as u64,
                Some(Omitted::TooLarge { at_least: bytes } | Omitted::LetGo { bytes }) => bytes,
                Some(Omitted::Stream) => 0,
            },
            body_cut: body_cut || body.omission().is_some(),
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
        let declared = Declared::of(headers);
        if declared.kind == Some(BodyKind::Multipart) && !root.secret {
            let parts = decoded
                .ok()
                .and_then(|body| self.parts(&body, declared.boundary.as_deref(), root));
            return parts.unwrap_or_else(|| self.hash(&raw));
        }
        let text = decoded
            .as_ref()
            .ok()
            .and_then(|decoded| std::str::from_utf8(decoded).ok());
        let Some(text) = text.filter(|_| !root.secret) else {
            return self.hash(&raw);
        };
        let plain = text.trim_start_matches('\u{feff}');
        match declared.kind {
            Some(BodyKind::Form) => return self.form(text),
            // The data of one event may be on several lines, which only together are a text.
            Some(BodyKind::Events) => {
                let events = events::to_json(plain, &mut is_json);
                let events = std::str::from_utf8(&events).ok();
                let shown = events.and_then(|events| self.json(events, root));
                return shown.unwrap_or_else(|| self.hash(&raw));
            }
            _ => {}
        }
        self.json(plain, root).unwrap_or_else(|| self.text(text))
    }

    /// A multipart body as the list that paths of findings refer to; `None` when it is not framed as it says.
    fn parts(&self, body: &[u8], boundary: Option<&str>, root: Position<'_>) -> Option<String> {
        let parts = multipart::to_json(body, boundary, &mut is_json).ok()?;
        self.json(std::str::from_utf8(&parts).ok()?, root)
    }
}

/// Whether an embedded text is JSON, as deep as any comparison follows it.
fn is_json(text: &[u8]) -> bool {
    Index::default()
        .read(text, Layout::Document, MAX_DEPTH)
        .is_ok()
}
