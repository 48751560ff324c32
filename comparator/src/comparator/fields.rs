//! How many fields an answer has, and how many of them rules leave to compare.
//!
//! A field is the status, a header or trailer field that is compared by default, or a value of the body: of what is read by
//! structure each scalar and each empty container, else the whole body. What a rule ignores is not compared, and neither is a
//! text of which the rules for its parts leave nothing, or what a recording hides. What a rule compares
//! within a tolerance, in part, or up to an explanation that a wrong value may have, is compared, but roughly; what may only be
//! written in another way is compared. Masks decide nothing.
//!
//! Only the legacy's answer is looked at: of equal answers both have the same fields, and of others it is the one that clients
//! get.

use std::borrow::Cow;

use parity_schemas::exchange::{Body, Capture, Exchange};
use parity_schemas::field_share::{FieldCount, FieldNumbers};
use parity_schemas::fields::FieldLines;
use parity_schemas::verdict::Part;

use super::Comparator;
use super::body::{sent, without_bom};
use super::hidden::{hidden_fields, without_hidden_body};
use crate::charset;
use crate::csv;
use crate::decode;
use crate::events;
use crate::form;
use crate::grpc;
use crate::headers;
use crate::json::{self, Scratch, Values};
use crate::limits::Limits;
use crate::media::{BodyKind, Declared};
use crate::multipart;
use crate::notation::index::{Layout, without_separators};
use crate::rules::{Rules, Scope};
use crate::text::leaves_nothing;
use crate::xml;
use crate::yaml;

impl Comparator {
    /// The fields of the legacy's answer. It costs about what it costs to compare it with one that differs.
    pub fn fields(&mut self, exchange: &Exchange) -> FieldNumbers {
        let scope = self
            .scopes
            .get(&self.rules, exchange.route.label(), exchange.time);
        let answer = &exchange.legacy;
        let deciding = (&*self.rules, &*scope);
        let (fields, trailers) = if grpc::are_both(answer, &exchange.candidate) {
            grpc::parts(answer)
        } else {
            grpc::plain(answer)
        };
        let mut body =
            sent(&exchange.request.method, answer).map_or_else(Values::default, |body| {
                let counting = Counting {
                    answer,
                    deciding,
                    limits: &self.limits,
                    scratch: &mut self.scratch,
                };
                counting.body(body)
            });
        let hidden = answer.hidden.as_deref().unwrap_or_default();
        if !hidden.is_empty() {
            body = without_hidden_body(body, hidden);
        }
        let count = |fields: &FieldLines, part| {
            let mut counted = headers::count(fields, part, deciding);
            if !hidden.is_empty() {
                let hidden = hidden_fields(fields, part, hidden);
                let hidden = headers::count(&hidden, part, deciding);
                counted.left = counted.left.saturating_sub(hidden.left);
                counted.roughly = counted.roughly.saturating_sub(hidden.roughly);
            }
            counted
        };
        let status = Values {
            all: 1,
            left: u64::from(scope.status.is_empty()),
            roughly: 0,
        };
        let parts = [
            status,
            count(&fields, Part::Header),
            count(&trailers, Part::Trailer),
            body,
        ];
        let sum = |of: fn(&Values) -> u64| parts.iter().map(of).sum();
        let mut numbers = FieldNumbers::default();
        for (count, number) in FieldCount::ALL.iter().zip(&mut numbers) {
            *number = match count {
                FieldCount::Sampled => 1,
                FieldCount::BodyRoughly => body.roughly,
                FieldCount::Roughly => sum(|part| part.roughly),
                FieldCount::BodyLeft => body.left,
                FieldCount::Left => sum(|part| part.left),
                FieldCount::Body => body.all,
                FieldCount::All => sum(|part| part.all),
            };
        }
        numbers
    }
}

struct Counting<'a> {
    answer: &'a Capture,
    deciding: (&'a Rules, &'a Scope),
    limits: &'a Limits,
    scratch: &'a mut Scratch,
}

impl Counting<'_> {
    fn body(mut self, body: &Body) -> Values {
        if body.omission().is_some() {
            return self.whole();
        }
        let bytes = body.contiguous();
        let limit = self.limits.decoded_bytes;
        let encodings = decode::encodings(&self.answer.headers);
        let Ok(decoded) = decode::decode(&bytes, &encodings, limit) else {
            return self.whole();
        };
        if decoded.is_empty() {
            return Values::default();
        }
        let declared = Declared::of(&self.answer.headers);
        if let Some(message) = grpc::json_message(&self.answer.headers, &decoded, limit) {
            return self.json(&message, Layout::Document);
        }
        let text = if let Some(BodyKind::Bytes | BodyKind::Multipart) = declared.kind {
            decoded
        } else {
            let charset = declared.charset_of(&decoded);
            charset::to_utf8(decoded, charset.as_deref())
        };
        self.decoded(&text, &declared)
    }

    fn decoded(&mut self, body: &[u8], declared: &Declared) -> Values {
        let plain = without_bom(body);
        let (depth, limit) = (self.limits.honoured_depth(), self.limits.decoded_bytes);
        let text = std::str::from_utf8(plain).ok();
        let mut is_json = |text: &[u8]| self.scratch.is_json(text, depth);
        let json = match declared.kind {
            None | Some(BodyKind::Json) => Some(Cow::Borrowed(plain)),
            Some(BodyKind::JsonLines) => {
                return self.json(&without_separators(plain), Layout::Lines);
            }
            Some(BodyKind::Yaml) => {
                let documents = text.and_then(|text| yaml::documents(text, depth, limit).ok());
                documents.map(|documents| {
                    let single = documents.len() == 1;
                    Cow::Owned(yaml::joined(documents, single))
                })
            }
            Some(BodyKind::Xml) => {
                let document = text.and_then(|text| xml::parse(text, depth).ok());
                let json =
                    document.map(|document| xml::as_json([&document, &document], None, limit));
                json.and_then(|[one, _]| one.ok()).map(Cow::Owned)
            }
            Some(BodyKind::Csv) => {
                let table = text.and_then(csv::parse);
                let json = table
                    .and_then(|table| csv::as_json([&table, &table], declared.says_header, &[]));
                json.map(|[one, _]| Cow::Owned(one))
            }
            Some(BodyKind::Events) => {
                text.map(|text| Cow::Owned(events::to_json(text, &mut is_json)))
            }
            Some(BodyKind::Form) => text.map(|text| Cow::Owned(form::to_json(text))),
            Some(BodyKind::Multipart) => {
                let boundary = declared.boundary.as_deref();
                let parts = multipart::read(body, boundary).ok();
                parts.map(|parts| Cow::Owned(multipart::to_json(&parts, &mut is_json)))
            }
            Some(BodyKind::Text | BodyKind::Bytes) => None,
        };
        match json {
            Some(json) => self.json(&json, Layout::Document),
            None => self.text(text),
        }
    }

    /// A body that is compared as a text.
    fn text(&self, text: Option<&str>) -> Values {
        let (rules, scope) = self.deciding;
        match text {
            Some(text) if leaves_nothing(text, scope, rules) => Values {
                all: 1,
                ..Values::default()
            },
            _ => self.whole(),
        }
    }

    /// The values of a JSON text; of what is none, the whole body.
    fn json(&mut self, text: &[u8], layout: Layout) -> Values {
        let depth = self.limits.honoured_depth();
        json::count(text, layout, self.deciding, depth, self.scratch)
            .unwrap_or_else(|_| self.text(std::str::from_utf8(text).ok()))
    }

    /// A body that is compared as a whole.
    fn whole(&self) -> Values {
        let (rules, scope) = self.deciding;
        if scope.ignores_body.is_some() {
            return Values {
                all: 1,
                ..Values::default()
            };
        }
        let mut of_root = scope.body.iter().map(|rule| rules.get(*rule));
        let is_rough = of_root.any(|rule| rule.pattern.covers_root() && rule.action.is_rough());
        Values {
            all: 1,
            left: 1,
            roughly: u64::from(is_rough),
        }
    }
}

#[cfg(test)]
mod tests;
