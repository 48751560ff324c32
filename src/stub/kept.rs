//! What is kept of calls that are not equal, so that a person finds them: when they came, of which request, and what they say.
//!
//! Only what the redactor gives, and of so many alone. The ids of requests are kept as they are in the fields that are for nothing else and
//! where they look like ids; those of other fields as the redactor keeps these fields.

use std::time::Instant;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName};
use parity_comparator::redact::{Recording, Redactor};
use parity_schemas::exchange::{Body, Origin, Request};
use parity_schemas::fields::FieldLines;
use parity_schemas::route::Route;
use parity_schemas::stub::{StubCall, StubCorrelation, UNPROVEN};
use parity_schemas::time::Timestamp;

use super::call::{Call, correlation};

/// Calls that are kept one by one: more are not read.
const KEPT: usize = 100;
/// Bytes of a body.
const EXCERPT: usize = 256;
/// A longer value is no id.
const LONGEST_ID: usize = 128;
/// Fields that say which request a call is for, and nothing else.
const IDS: [&str; 3] = ["x-request-id", "x-correlation-id", "traceparent"];

/// Calls that are not equal.
pub(super) struct Kept {
    pub(super) calls: Vec<StubCall>,
    /// How many there were.
    pub(super) all: u64,
    correlate_by: Vec<HeaderName>,
}

impl Kept {
    pub(super) fn new(correlate_by: Vec<HeaderName>) -> Self {
        Self {
            calls: Vec::new(),
            all: 0,
            correlate_by,
        }
    }

    /// Counts a call, and gives what is to be kept of it; `None` if there are enough.
    pub(super) fn told(
        &mut self,
        redactor: &Redactor,
        route: &Route,
        (call, since): (&Call, Instant),
        outcome: &str,
    ) -> Option<StubCall> {
        self.all += 1;
        if self.calls.len() >= KEPT {
            // What is proven is looked for first.
            let mut unproven = self.calls.iter();
            let last = unproven.rposition(|call| UNPROVEN.contains(&&*call.outcome))?;
            if UNPROVEN.contains(&outcome) {
                return None;
            }
            self.calls.remove(last);
        }
        let (method, url) = redactor.asked(&call.request);
        let micros = i64::try_from(since.elapsed().as_micros()).unwrap_or(i64::MAX);
        let time = Timestamp::now().saturating_add_micros(-micros);
        let recorded = redactor.recorded(&Recording {
            time,
            route: route.label(),
            request: &call.request,
            left_out: None,
            answer: None,
        });
        let is_alone = outcome != "differs";
        let body = recorded.body.text.filter(|_| is_alone).unwrap_or_default();
        let end = body.floor_char_boundary(EXCERPT);
        Some(StubCall {
            route: route.label().to_owned(),
            method,
            url,
            time,
            correlation: self.correlation(redactor, route, call, &recorded.headers),
            outcome: outcome.to_owned(),
            reason: None,
            is_guess: false,
            body_cut: end < body.len(),
            body: body.get(..end).map(str::to_owned),
            findings: Vec::new(),
            findings_cut: false,
        })
    }

    fn correlation(
        &self,
        redactor: &Redactor,
        route: &Route,
        call: &Call,
        redacted: &[(String, String)],
    ) -> Option<StubCorrelation> {
        let mut names = self.correlate_by.iter();
        let (header, id) =
            names.find_map(|name| Some((name, correlation(&call.request.headers, name)?)))?;
        let id = if IDS.contains(&header.as_str()) && is_id(&id) {
            searched(redactor, route, &id)
        } else {
            let mut fields = redacted.iter();
            let (_, value) = fields.find(|(name, _)| name == header.as_str())?;
            value.clone()
        };
        Some(StubCorrelation {
            header: header.as_str().to_owned(),
            id,
        })
    }
}

fn is_id(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    text.len() <= LONGEST_ID && text.bytes().all(is_part)
}

/// A text without what looks like a secret.
fn searched(redactor: &Redactor, route: &Route, text: &str) -> String {
    let mut headers = FieldLines::default();
    headers.push(CONTENT_TYPE, b"text/plain");
    let request = Request {
        method: http::Method::POST,
        target: "/".into(),
        headers,
        body: Body::from(Bytes::copy_from_slice(text.as_bytes())),
        origin: Origin::default(),
    };
    let recorded = redactor.recorded(&Recording {
        time: Timestamp::now(),
        route: route.label(),
        request: &request,
        left_out: None,
        answer: None,
    });
    recorded.body.text.unwrap_or_default()
}
