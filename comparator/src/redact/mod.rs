//! The only way by which captured values leave the process.
//!
//! The comparison sees the true values; the record does not. Whatever is not known to be harmless is replaced by its
//! keyed hash (HMAC-SHA256 with the operator's key). So two equal secrets still show as equal, and without the key
//! nobody can test a guess.
//!
//! Each body is redacted once, for its findings and for its sample ([`body`]), so that the two cannot disagree:
//!
//! - What can be parsed is redacted by its structure: JSON, JSON lines, YAML, forms, events and multipart bodies as the
//!   JSON that they are compared as (`json`), XML and HTML (`markup`), GraphQL (`graphql`), and each of them within
//!   strings (`strings`). Values are kept, except below secret names (`names`), where a `mask` rule says so, and card
//!   numbers anywhere (`cards`).
//! - A body that claims a structure but cannot be parsed is not stored, and neither are bytes whose type or content is
//!   not text. The record has their length and keyed hash instead.
//! - Plain text is searched for patterns (`text`), which is best effort; `text = "hidden"` keeps none of it.
//! - Header and query values are kept only when their names are on a list (`address`).
//! - What a `rename` rule calls one field is as secret as either of its names says (`renamed`).

mod accounts;
mod address;
mod again;
mod attributes;
mod body;
mod by_hand;
mod cards;
mod claim;
mod codes;
mod commands;
mod config;
mod context;
mod doubt;
mod encoded;
mod escapes;
mod findings;
mod graphql;
mod hidden;
mod json;
mod last_word;
mod logins;
mod markup;
mod name_value;
mod names;
mod networks;
mod passfiles;
mod place;
mod prose;
mod recording;
mod renamed;
mod rules;
mod sample;
mod sessions;
mod statements;
mod strings;
mod table;
mod text;
mod webhooks;
mod within;

use std::collections::HashSet;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use parity_schemas::exchange::Exchange;
use parity_schemas::record::{Mismatch, MismatchClass};
use parity_schemas::tally::{Group, Identity};
use parity_schemas::verdict::{Part, Tolerated, Why};
use sha2::Sha256;
use uuid::Uuid;

use crate::comparator::Comparison;
use crate::fingerprint;
use crate::limits::TOLERATED;
use crate::rules::Rules;

pub use again::{KeptRequest, kept_request};
pub use attributes::{AttributeConfig, MAX_HEADERS};
pub use by_hand::by_hand;
use config::{CREDENTIAL_HEADERS, MIN_KEY_BYTES};
pub use config::{PlainText, RedactConfig, RedactError};
use names::SecretNames;
pub use recording::Recording;
pub use rules::rules_text;

/// What a record says of an exchange besides what was captured.
#[derive(Clone, Copy, Debug)]
pub struct RecordContext<'a> {
    /// Id of the record.
    pub id: Uuid,
    /// What it is evidence for.
    pub identity: &'a Identity,
    /// Which process compared it.
    pub instance: &'a str,
}

/// The entry that says why the bodies of a mismatch were not compared. It comes first in the list of what is tolerated,
/// so that nobody takes the bodies for equal.
fn not_compared(comparison: &Comparison) -> Option<Tolerated> {
    comparison.body_not_compared.map(|reason| Tolerated {
        part: Part::Body,
        path: String::new(),
        why: Why::NotCompared(reason),
    })
}

/// Turns captured values into what may be recorded.
pub struct Redactor {
    keep_headers: HashSet<String>,
    keep_query: HashSet<String>,
    secret_names: SecretNames,
    text: PlainText,
    mac: Hmac<Sha256>,
    rules: Arc<Rules>,
}

impl Redactor {
    /// Builds a redactor. The key must be the same for all instances; of the rules, only `mask` matters here.
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
        let rules = rules.also_hiding(&config.mask_places);
        let rules = rules.map_err(|(place, why)| RedactError::MaskPlace(place, why))?;
        Ok(Self {
            keep_headers,
            keep_query: config.keep_query.iter().cloned().collect(),
            secret_names: SecretNames::new(&config.mask_keys).map_err(RedactError::MaskKey)?,
            text: config.text,
            mac: Hmac::new_from_slice(key)
                .map_err(|_| RedactError::ShortKey { length: key.len() })?,
            rules,
        })
    }

    /// The record of an exchange that differed, and the group of each finding. The record includes the request and both
    /// answers if `keep_sample`, given the groups, returns true.
    ///
    /// Groups are stored without a key to hash with. So a secret in a pattern becomes `*`, and every instance gives the
    /// same group the same name.
    pub fn mismatch(
        &self,
        exchange: &Exchange,
        comparison: &Comparison,
        context: &RecordContext<'_>,
        keep_sample: impl FnOnce(&[Group]) -> bool,
    ) -> (Vec<Group>, Mismatch) {
        let route = exchange.route.label();
        let scope = self.rules.scope(Some(route), exchange.time);
        let by_rules = self.for_exchange(&scope);
        let this = by_rules.as_ref().unwrap_or(self);
        let (legacy, candidate) = (&exchange.legacy, &exchange.candidate);
        let doubtful = this.are_names_in_doubt(exchange);
        let groups = fingerprint::groups(
            route,
            legacy.status,
            candidate.status,
            &comparison.findings,
            |finding| this.pattern(finding, doubtful, &scope),
        );
        let keep_sample = keep_sample(&groups);
        let mut fingerprints: Vec<String> = Vec::new();
        for group in &groups {
            if !fingerprints.contains(&group.fingerprint) {
                fingerprints.push(group.fingerprint.clone());
            }
        }
        let bodies = this.bodies(exchange, comparison, keep_sample, doubtful, &scope);
        let micros =
            |elapsed: std::time::Duration| u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let mismatch = Mismatch {
            id: context.id,
            identity: context.identity.clone(),
            time: exchange.time,
            instance: context.instance.to_owned(),
            route: route.to_owned(),
            method: address::method(&exchange.request.method).to_owned(),
            path: this.path(exchange.request.path()),
            query: this.query(exchange.request.query()),
            fingerprints,
            findings: this.findings(comparison, &groups, &bodies, &scope),
            findings_cut: comparison.findings_cut,
            tolerated: not_compared(comparison)
                .into_iter()
                .chain(
                    comparison
                        .tolerated
                        .iter()
                        .map(|tolerated| this.tolerated(tolerated, bodies.doubtful, &scope)),
                )
                .take(TOLERATED)
                .collect(),
            legacy_status: legacy.status,
            candidate_status: candidate.status,
            legacy_us: micros(legacy.elapsed),
            candidate_us: micros(candidate.elapsed),
            trace_id: exchange.request.trace_id().unwrap_or_default().to_owned(),
            class: MismatchClass::Unconfirmed,
            sample: keep_sample.then(|| this.sample(exchange, &bodies, &scope)),
        };
        (groups, mismatch)
    }

    /// `hmac:` and 32 hex digits; equal for equal values under one key.
    fn hash(&self, value: &[u8]) -> String {
        let mut mac = self.mac.clone();
        mac.update(value);
        hidden::written(&mac.finalize().into_bytes())
    }
}

#[cfg(test)]
mod tests;
