//! The only door through which captured values may leave.
//!
//! The comparison sees the true values; the record does not. What is not known to be harmless is replaced by a keyed
//! hash of it (HMAC-SHA256 with the operator's key), so two equal secrets are still seen to be equal, and nobody
//! without the key can test a guess.
//!
//! - Header and query values are kept only when their names are on a list, else hashed.
//! - Body values are kept, except below secret names (`names`), where a `mask` rule says so, and card numbers
//!   anywhere (`cards`). JSON keeps its number text: values are replaced in the text, nothing is re-serialized.
//! - Bytes that are no text are hashed as a whole.

mod cards;
mod json;
mod names;
mod sample;
mod text;

use std::collections::HashSet;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use parity_schemas::exchange::Exchange;
use parity_schemas::record::{Mismatch, MismatchClass, RecordedFinding};
use parity_schemas::tally::Identity;
use parity_schemas::verdict::{Finding, Kind, NOT_COMPARED, Part, Tolerated};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use uuid::Uuid;

use crate::comparator::Comparison;
use crate::comparator::body::{DIGEST_MARK, EXCERPT_MARK};
use crate::fingerprint;
use crate::limits::TOLERATED;
use crate::media::{BodyKind, Declared};
use crate::multipart;
use crate::rules::{Rules, Scope};

pub(crate) use cards::starred;
use json::Position;
use names::SecretNames;

const MULTIPART: Option<BodyKind> = Some(BodyKind::Multipart);
const FORM: Option<BodyKind> = Some(BodyKind::Form);

/// Bytes of a hash that are kept: 128 bits, so no two values of a service share one.
const HASH_BYTES: usize = 16;
/// Shortest key: as many bytes as the hash keeps.
const MIN_KEY_BYTES: usize = 16;

/// Fields that carry credentials; they can never be put on the list of those to keep.
const CREDENTIAL_HEADERS: &[&str] = &[
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "authentication-info",
    "www-authenticate",
];

/// What may be recorded as it is, and what must not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RedactConfig {
    /// Header and trailer fields whose values are recorded. Replaces the default list.
    pub keep_headers: Vec<String>,
    /// Query parameters whose values are recorded. Replaces the default list.
    pub keep_query: Vec<String>,
    /// Keys whose values in bodies are hashed, besides those that always are (`password`, `token`, …).
    pub mask_keys: Vec<String>,
}

impl Default for RedactConfig {
    fn default() -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            keep_headers: owned(&[
                "accept",
                "accept-encoding",
                "accept-language",
                "accept-ranges",
                "access-control-allow-credentials",
                "access-control-allow-headers",
                "access-control-allow-methods",
                "access-control-allow-origin",
                "access-control-max-age",
                "age",
                "allow",
                "cache-control",
                "connection",
                "content-encoding",
                "content-language",
                "content-length",
                "content-range",
                "content-type",
                "date",
                "etag",
                "expires",
                "grpc-status",
                "last-modified",
                "pragma",
                "retry-after",
                "server",
                "strict-transport-security",
                "transfer-encoding",
                "vary",
                "via",
                "x-content-type-options",
                "x-frame-options",
                "x-powered-by",
                "x-total-count",
            ]),
            keep_query: owned(&[
                "page",
                "limit",
                "offset",
                "size",
                "per_page",
                "page_size",
                "sort",
                "order",
                "_page",
                "_limit",
                "_per_page",
                "_sort",
                "_order",
                "_start",
                "_end",
            ]),
            mask_keys: Vec::new(),
        }
    }
}

/// What is wrong with the configuration of redaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedactError {
    /// A name on the list of fields to keep is none.
    #[error("keep_headers: `{0}` is not a header name")]
    HeaderName(String),
    /// A field that carries credentials.
    #[error(
        "keep_headers: `{0}` carries credentials and is always recorded as a keyed hash; remove it"
    )]
    CredentialHeader(String),
    /// A key of nothing but punctuation.
    #[error("mask_keys: `{0}` names no key")]
    MaskKey(String),
    /// A key that could be guessed.
    #[error(
        "the redaction key has {length} bytes, at least {MIN_KEY_BYTES} are needed; make one with `openssl rand -hex 32`"
    )]
    ShortKey {
        /// Bytes it has.
        length: usize,
    },
}

/// What a record says of an exchange besides what was captured.
#[derive(Clone, Copy, Debug)]
pub struct RecordContext<'a> {
    /// Id of the record.
    pub id: Uuid,
    /// What it is evidence for.
    pub identity: &'a Identity,
    /// Which process compared it.
    pub instance: &'a str,
    /// Whether request and answers are recorded too.
    pub keep_sample: bool,
}

/// Why a mismatch says nothing of its bodies, at the head of what it tolerates: they are not said to be equal.
fn not_compared(comparison: &Comparison) -> Option<Tolerated> {
    comparison.body_not_compared.map(|reason| Tolerated {
        part: Part::Body,
        path: String::new(),
        why: format!("{NOT_COMPARED}{reason}"),
    })
}

/// Turns captured values into what may be recorded.
pub struct Redactor {
    keep_headers: HashSet<String>,
    keep_query: HashSet<String>,
    names: SecretNames,
    mac: Hmac<Sha256>,
    rules: Arc<Rules>,
}

impl Redactor {
    /// With this configuration, the key of all instances, and the rules, of which `mask` matters here.
    pub fn new(config: &RedactConfig, key: &[u8], rules: Arc<Rules>) -> Result<Self, RedactError> {
        let mut keep_headers = HashSet::new();
        for name in &config.keep_headers {
            let lower = name.trim().to_ascii_lowercase();
            if http::HeaderName::from_bytes(lower.as_bytes()).is_err() {
                return Err(RedactError::HeaderName(name.clone()));
            }
            if CREDENTIAL_HEADERS.contains(&lower.as_str()) {
                return Err(RedactError::CredentialHeader(name.clone()));
            }
            keep_headers.insert(lower);
        }
        if key.len() < MIN_KEY_BYTES {
            return Err(RedactError::ShortKey { length: key.len() });
        }
        Ok(Self {
            keep_headers,
            keep_query: config.keep_query.iter().cloned().collect(),
            names: SecretNames::new(&config.mask_keys).map_err(RedactError::MaskKey)?,
            mac: Hmac::new_from_slice(key)
                .map_err(|_| RedactError::ShortKey { length: key.len() })?,
            rules,
        })
    }

    /// The record of an exchange that differed.
    pub fn mismatch(
        &self,
        exchange: &Exchange,
        comparison: &Comparison,
        context: RecordContext<'_>,
    ) -> Mismatch {
        let route = exchange.route.label();
        let scope = self.rules.scope(Some(route), exchange.time);
        let (legacy, candidate) = (&exchange.legacy, &exchange.candidate);
        let groups =
            fingerprint::groups(route, legacy.status, candidate.status, &comparison.findings);
        let mut fingerprints: Vec<String> = Vec::new();
        for group in &groups {
            if !fingerprints.contains(&group.fingerprint) {
                fingerprints.push(group.fingerprint.clone());
            }
        }
        let kinds = [legacy, candidate].map(|answer| Declared::of(&answer.headers).kind);
        let findings = comparison
            .findings
            .iter()
            .zip(groups)
            .map(|(finding, group)| {
                self.finding(finding, group.fingerprint, group.pattern, kinds, &scope)
            })
            .collect();
        let micros =
            |elapsed: std::time::Duration| u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        Mismatch {
            id: context.id,
            identity: context.identity.clone(),
            time: exchange.time,
            instance: context.instance.to_owned(),
            route: route.to_owned(),
            method: exchange.request.method.as_str().to_owned(),
            path: self.path(exchange.request.path()),
            query: self.query(exchange.request.query()),
            fingerprints,
            findings,
            findings_cut: comparison.findings_cut,
            tolerated: not_compared(comparison)
                .into_iter()
                .chain(comparison.tolerated.iter().map(|one| self.tolerated(one)))
                .take(TOLERATED)
                .collect(),
            legacy_status: legacy.status,
            candidate_status: candidate.status,
            legacy_us: micros(legacy.elapsed),
            candidate_us: micros(candidate.elapsed),
            trace_id: exchange.request.trace_id().unwrap_or_default().to_owned(),
            class: MismatchClass::Unconfirmed,
            sample: context.keep_sample.then(|| self.sample(exchange, &scope)),
        }
    }

    fn finding(
        &self,
        finding: &Finding,
        fingerprint: String,
        pattern: String,
        kinds: [Option<BodyKind>; 2],
        scope: &Scope,
    ) -> RecordedFinding {
        let whole_body = finding.part == Part::Body && finding.path.is_empty();
        let value = |value: &Option<String>, path: &str| {
            value.as_deref().map(|value| match finding.kind {
                _ if whole_body && self.is_text(value, scope) && kinds.contains(&MULTIPART) => {
                    self.framed(value)
                }
                _ if whole_body && self.is_text(value, scope) && kinds.contains(&FORM) => {
                    self.form(value)
                }
                Kind::Decode => self.problem(value, scope),
                _ => self.value(finding.part, path, value, scope),
            })
        };
        let candidate_path = finding.candidate_path.as_deref();
        RecordedFinding {
            fingerprint,
            part: finding.part,
            path: self.pointer(&finding.path),
            candidate_path: candidate_path.map(|path| self.pointer(path)),
            pattern,
            kind: finding.kind,
            legacy: value(&finding.legacy, &finding.path),
            candidate: value(&finding.candidate, candidate_path.unwrap_or(&finding.path)),
            explanation: finding.explanation,
            text_diff: finding.text_diff.as_deref().map(|diff| {
                if self.masks_body_root(scope)
                    || kinds.contains(&MULTIPART)
                    || kinds.contains(&FORM)
                {
                    self.hash(diff.as_bytes())
                } else {
                    self.text(diff)
                }
            }),
        }
    }

    /// Whether the value of a whole body is its text, rather than JSON or a hash.
    fn is_text(&self, value: &str, scope: &Scope) -> bool {
        let root = Position::at("", self, scope);
        !root.secret && !value.starts_with(DIGEST_MARK) && self.json(value, root).is_none()
    }

    /// The text of a multipart body that is not compared by its parts: the name of a field is far from its value, so
    /// none of it is kept. What is wrong with one is in our own words.
    fn framed(&self, value: &str) -> String {
        if multipart::PROBLEMS.contains(&value) {
            return value.to_owned();
        }
        self.hash(value.as_bytes())
    }

    fn tolerated(&self, tolerated: &Tolerated) -> Tolerated {
        Tolerated {
            path: self.pointer(&tolerated.path),
            ..tolerated.clone()
        }
    }

    /// A path holds keys of the service, and a key may be a card number.
    fn pointer(&self, path: &str) -> String {
        cards::replace(path, |card| self.hash(card.as_bytes())).into_owned()
    }

    fn value(&self, part: Part, path: &str, value: &str, scope: &Scope) -> String {
        match part {
            Part::Status => value.to_owned(),
            Part::Header | Part::Trailer => self.header_value(part, path, value, scope),
            Part::Body => self.body_value(path, value, scope),
        }
    }

    /// What is wrong with a body that is not what it claims to be. The text that it is wrong at has lost the key that
    /// it stood behind, so none of it is kept.
    fn problem(&self, value: &str, scope: &Scope) -> String {
        match value.split_once(EXCERPT_MARK) {
            Some((problem, excerpt)) if problem.starts_with("invalid ") => {
                format!("{problem}{EXCERPT_MARK}{}`", self.hash(excerpt.as_bytes()))
            }
            _ => self.body_value("", value, scope),
        }
    }

    fn header_value(&self, part: Part, path: &str, value: &str, scope: &Scope) -> String {
        if self.hides_header(part, path, scope) {
            return self.hash(value.as_bytes());
        }
        cards::replace(value, |card| self.hash(card.as_bytes())).into_owned()
    }

    /// Whether the value of a header field, or of what is in it, must not leave.
    fn hides_header(&self, part: Part, path: &str, scope: &Scope) -> bool {
        let name = path.split('/').next().unwrap_or(path);
        let masked = scope.masks.iter().any(|rule| {
            let rule = self.rules.get(*rule);
            rule.part == part && rule.pattern.covers_header(path)
        });
        masked || !self.keep_headers.contains(name)
    }

    fn body_value(&self, path: &str, value: &str, scope: &Scope) -> String {
        let position = Position::at(path, self, scope);
        if value.starts_with(DIGEST_MARK) {
            return self.digest(value);
        }
        if let Some(redacted) = self.json(value, position.clone()) {
            return redacted;
        }
        if position.secret {
            return self.hash(value.as_bytes());
        }
        self.text(value)
    }

    /// The summary of bytes, with a keyed hash: without the key, a digest of a few bytes can be guessed.
    fn digest(&self, summary: &str) -> String {
        let digest = summary.strip_prefix(DIGEST_MARK).unwrap_or(summary);
        let length = digest
            .find(" (")
            .and_then(|at| digest.get(at..))
            .unwrap_or_default();
        format!("{}{length}", self.hash(digest.as_bytes()))
    }

    fn masks_body_root(&self, scope: &Scope) -> bool {
        Position::at("", self, scope).secret
    }

    /// `hmac:` and 32 hex digits: the same for the same value under the same key.
    fn hash(&self, value: &[u8]) -> String {
        let mut mac = self.mac.clone();
        mac.update(value);
        let digest = mac.finalize().into_bytes();
        format!("hmac:{}", crate::hex::encode(&digest[..HASH_BYTES]))
    }
}

#[cfg(test)]
mod tests;
