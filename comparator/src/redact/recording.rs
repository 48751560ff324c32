//! A live request, and the answer to it, as a line of a recording.
//!
//! The same rules say what is hidden as for the record, but a line is to be sent again. So a body stays in its own format, and
//! each hidden part is named: whoever replays the line can put another value there, or leave the request out. What cannot be
//! written in its own format is hidden whole. A body is written without its content encoding.

use std::borrow::Cow;
use std::fmt::Display;

use http::header::{CONTENT_ENCODING, COOKIE, HOST, HeaderName, SET_COOKIE};
use parity_schemas::exchange::{Body, Capture, Request};
use parity_schemas::fields::FieldLines;
use parity_schemas::recording::{
    EXCHANGE_SCHEMA, LeftOut, RecordedBody, RecordedExchange, RecordedResponse,
};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Part;

use super::body::{ParsedBody, RedactedBody, UNPACKED_BYTES};
use super::claim::{Claim, in_utf8};
use super::escapes::percent_decoded;
use super::hidden::HideReason;
use super::json::Document;
use super::place::Content;
use super::{Redactor, address, strings};
use crate::notation::index::Layout;
use crate::rules::Scope;
use crate::{decode, form, media, yaml};

/// The name of a hidden part for all of a body.
const WHOLE_BODY: &str = "body";

/// A live request as it was captured.
#[derive(Clone, Copy)]
pub struct Recording<'a> {
    /// When it came.
    pub time: Timestamp,
    /// Label of its route, for rules that are for one route only.
    pub route: &'a str,
    /// As the client sent it.
    pub request: &'a Request,
    /// Why its body is not there although it had one.
    pub left_out: Option<LeftOut>,
    /// What the legacy answered.
    pub answer: Option<&'a Capture>,
}

impl Redactor {
    /// The line of a recording.
    pub fn recorded(&self, recording: &Recording<'_>) -> RecordedExchange {
        let scope = self.rules.scope(Some(recording.route), recording.time);
        let by_rules = self.for_exchange(&scope);
        let this = by_rules.as_ref().unwrap_or(self);
        let request = recording.request;
        let mut hidden = Vec::new();
        let method = address::method(&request.method);
        if method != request.method.as_str() {
            hidden.push("method".to_owned());
        }
        let url = this.url(request, &mut hidden);
        let (mut body, is_decoded, of_body) =
            this.recorded_body(&request.headers, &request.body, &scope);
        body.left_out = recording.left_out;
        let authority = request.origin.authority.as_deref();
        let mut headers = Vec::with_capacity(request.headers.len() + 1);
        if let Some(authority) = authority.filter(|_| !request.headers.contains(&HOST)) {
            this.line(
                &HOST,
                authority.as_bytes(),
                &scope,
                &mut headers,
                &mut hidden,
            );
        }
        for (name, value) in without_encoding(&request.headers, is_decoded) {
            this.line(name, value, &scope, &mut headers, &mut hidden);
        }
        hidden.extend(of_body);
        RecordedExchange {
            schema: EXCHANGE_SCHEMA.to_owned(),
            time: recording.time,
            session: request
                .origin
                .client
                .map(|client| self.session(client.address)),
            method: method.to_owned(),
            url,
            headers,
            body,
            hidden,
            response: recording
                .answer
                .map(|answer| this.recorded_answer(answer, &scope)),
        }
    }

    fn recorded_answer(&self, answer: &Capture, scope: &Scope) -> RecordedResponse {
        let (mut headers, mut hidden) = (Vec::with_capacity(answer.headers.len()), Vec::new());
        let (body, is_decoded, of_body) = self.recorded_body(&answer.headers, &answer.body, scope);
        for (name, value) in without_encoding(&answer.headers, is_decoded) {
            self.line(name, value, scope, &mut headers, &mut hidden);
        }
        hidden.extend(of_body);
        let trailers = answer.trailers.iter().flat_map(FieldLines::iter);
        let trailers = trailers.filter_map(|(name, value)| {
            if self.is_no_name(name.as_str()) {
                hidden.push(format!("trailer/{}", self.field_name(name.as_str())));
                return None;
            }
            let shown = self.field_of(Part::Trailer, name, value.as_bytes(), scope, &mut hidden);
            Some((name.as_str().to_owned(), shown))
        });
        let trailers = trailers.collect();
        RecordedResponse {
            status: answer.status,
            headers,
            body,
            trailers: Some(trailers),
            elapsed_us: u64::try_from(answer.elapsed.as_micros()).unwrap_or(u64::MAX),
            hidden,
        }
    }

    /// Names a client without saying who it is. It is hashed with a prefix, so that it is not the hash of a value that is the
    /// same text.
    fn session(&self, address: impl Display) -> String {
        self.hash(format!("client {address}").as_bytes())
    }

    /// Method and target of a request, for people.
    pub fn asked(&self, request: &Request) -> (String, String) {
        let method = address::method(&request.method).to_owned();
        (method, self.url(request, &mut Vec::new()))
    }

    // === Path and query ===

    fn url(&self, request: &Request, hidden: &mut Vec<String>) -> String {
        let mut url = self.path(request.path());
        if url != request.path() {
            hidden.push("path".to_owned());
        }
        if !request.target.contains('?') {
            return url;
        }
        url.push('?');
        for part in request.query().split_inclusive(['&', ';']) {
            let field = part.trim_end_matches(['&', ';']);
            let shown = self.query(field);
            if shown != field {
                let name = shown.split_once('=').map_or("", |(name, _)| name);
                hidden.push(format!("query/{name}"));
            }
            url.push_str(&shown);
            url.push_str(part.get(field.len()..).unwrap_or_default());
        }
        url
    }

    // === Fields ===

    fn line(
        &self,
        name: &HeaderName,
        value: &[u8],
        scope: &Scope,
        lines: &mut Vec<(String, String)>,
        hidden: &mut Vec<String>,
    ) {
        let key = name.as_str();
        if self.is_no_name(key) {
            // A hash is no name that a field could have, so the field is left out.
            hidden.push(format!("header/{}", self.field_name(key)));
            return;
        }
        let shown = match std::str::from_utf8(value) {
            Ok(text) if *name == COOKIE => self.cookies(text, hidden),
            Ok(text) if *name == SET_COOKIE => self.set_cookie(text, hidden),
            _ => self.field_of(Part::Header, name, value, scope, hidden),
        };
        lines.push((key.to_owned(), shown));
    }

    /// The value of a header or trailer field.
    fn field_of(
        &self,
        part: Part,
        name: &HeaderName,
        value: &[u8],
        scope: &Scope,
        hidden: &mut Vec<String>,
    ) -> String {
        // A line has only text.
        let text = std::str::from_utf8(value).ok();
        let shown = text.map_or_else(
            || self.hash(value),
            |text| self.header_value(part, name.as_str(), text, scope),
        );
        if text != Some(&*shown) {
            hidden.push(format!("{}/{name}", part.as_str()));
        }
        shown
    }

    /// Cookies by name, each with its value hidden.
    fn cookies(&self, text: &str, hidden: &mut Vec<String>) -> String {
        let cookie = |pair: &str| {
            if let Some((name, value)) = self.cookie(pair) {
                hidden.push(format!("header/cookie/{name}"));
                return format!("{name}={value}");
            }
            hidden.push("header/cookie".to_owned());
            self.hash(pair.trim().as_bytes())
        };
        let pairs: Vec<String> = text.split(';').map(cookie).collect();
        pairs.join("; ")
    }

    /// A cookie that is set, by its name. Its attributes are hidden with its value.
    fn set_cookie(&self, text: &str, hidden: &mut Vec<String>) -> String {
        let pair = text.split(';').next().unwrap_or_default();
        let hash = self.hash(text.as_bytes());
        if let Some((name, _)) = self.cookie(pair) {
            hidden.push(format!("header/set-cookie/{name}"));
            return format!("{name}={hash}");
        }
        hidden.push("header/set-cookie".to_owned());
        hash
    }

    /// The name of a cookie, and its value hidden; `None` if the name may be a secret itself, or looks like a token.
    fn cookie<'t>(&self, pair: &'t str) -> Option<(&'t str, String)> {
        let (name, value) = pair.trim().split_once('=')?;
        let is_name = HeaderName::from_bytes(name.as_bytes()).is_ok();
        (is_name && !self.is_no_cookie(name, value)).then(|| (name, self.hash(value.as_bytes())))
    }

    // === Bodies ===

    /// A body in its own format, whether its content encoding was undone, and the names of what is hidden in it.
    fn recorded_body(
        &self,
        headers: &FieldLines,
        body: &Body,
        scope: &Scope,
    ) -> (RecordedBody, bool, Vec<String>) {
        let raw = body.contiguous();
        if raw.is_empty() {
            return (RecordedBody::default(), false, Vec::new());
        }
        let (text, hidden) = self.body_as_sent(headers, body, &raw, scope);
        let body = RecordedBody {
            text: Some(text),
            ..RecordedBody::default()
        };
        (body, true, hidden)
    }

    fn body_as_sent(
        &self,
        headers: &FieldLines,
        body: &Body,
        raw: &[u8],
        scope: &Scope,
    ) -> (String, Vec<String>) {
        let all = || vec![WHOLE_BODY.to_owned()];
        let hide = |reason| (self.hide(raw, reason), all());
        let (claim, declared) = Claim::of(headers);
        let limit = UNPACKED_BYTES.max(raw.len());
        let encodings = decode::encodings(headers);
        let Ok(decoded) = decode::decode(raw, &encodings, limit) else {
            return hide(HideReason::Invalid("content encoding"));
        };
        let charset = declared.charset_of(&decoded).map(Cow::into_owned);
        // In another charset it would be other bytes.
        let is_utf8 = in_utf8(Cow::Borrowed(&*decoded), charset.as_deref())
            .is_some_and(|text| text == decoded);
        let text = std::str::from_utf8(&decoded).ok().filter(|_| is_utf8);
        let Some(text) = text.filter(|_| !media::is_any_grpc(headers)) else {
            return hide(HideReason::Binary);
        };
        match self.read(headers, body, scope) {
            ParsedBody::Redacted(RedactedBody::Absent) => (String::new(), Vec::new()),
            ParsedBody::Redacted(RedactedBody::Hidden(placeholder)) => (placeholder, all()),
            ParsedBody::Redacted(RedactedBody::Json(document)) => {
                let hidden = document.hidden_parts();
                (document.text().to_owned(), hidden)
            }
            ParsedBody::Redacted(RedactedBody::Text(shown))
            | ParsedBody::Xml(shown, _)
            | ParsedBody::Csv(shown, ..) => {
                // A byte order mark is not content.
                let is_same = shown == text || shown == text.trim_start_matches('\u{feff}');
                (shown, if is_same { Vec::new() } else { all() })
            }
            ParsedBody::Documents(documents, Content::Values)
                if claim == Claim::Form || strings::is_form(text) =>
            {
                let [json] = documents.as_slice() else {
                    return hide(HideReason::Requested);
                };
                self.form(text, json, scope)
                    .unwrap_or_else(|| hide(HideReason::Requested))
            }
            // JSON is YAML.
            ParsedBody::Documents(documents, Content::Values) | ParsedBody::Aliased(documents)
                if documents.len() == 1 =>
            {
                let json = yaml::joined(documents, true);
                match Document::read(self, json, Layout::Document, Content::Values, true, scope) {
                    Ok(document) => (document.text().to_owned(), document.hidden_parts()),
                    Err(_) => hide(HideReason::Limit),
                }
            }
            ParsedBody::Documents(..) | ParsedBody::Aliased(_) => hide(HideReason::Requested),
        }
    }

    /// A form with the hidden values replaced; `None` if a name is hidden.
    fn form(&self, text: &str, json: &[u8], scope: &Scope) -> Option<(String, Vec<String>)> {
        let layout = Layout::Document;
        let document = Document::read(self, json.to_vec(), layout, Content::Values, false, scope);
        let members = document.ok()?.hidden_members()?;
        if members.is_empty() {
            return Some((text.to_owned(), Vec::new()));
        }
        let mut hidden = Vec::new();
        let pairs: Vec<String> = text
            .split('&')
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                // As the form was read: a name that is hidden is found by the same spelling.
                let plain = form::plain_name(name);
                if plain.is_some_and(|plain| !members.contains(&plain)) {
                    return pair.to_owned();
                }
                hidden.push(format!("{WHOLE_BODY}/{name}"));
                format!("{name}={}", self.hash(percent_decoded(value).as_bytes()))
            })
            .collect();
        Some((pairs.join("&"), hidden))
    }
}

/// The fields of a message as it is recorded: without the encoding of its body, if that was undone.
fn without_encoding(
    fields: &FieldLines,
    is_decoded: bool,
) -> impl Iterator<Item = (&HeaderName, &[u8])> {
    let kept = fields
        .iter()
        .filter(move |(name, _)| !(is_decoded && *name == CONTENT_ENCODING));
    kept.map(|(name, value)| (name, value.as_bytes()))
}
