//! What `parity stub` needs of the configuration: what counts as equal, what is hidden, and how much is held.

use std::path::PathBuf;
use std::sync::Arc;

use parity_comparator::redact::RedactConfig;
use parity_comparator::rules::Rules;
use parity_schemas::route::RouteRule;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;

use super::Layers;
use super::problem::Problems;
use super::settings::{limits, mirror, top};

/// Everything that is checked.
pub(crate) struct StubSettings {
    pub(crate) identity: Identity,
    pub(crate) routes: Arc<[RouteRule]>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) redact: RedactConfig,
    pub(crate) redaction_key: Vec<u8>,
    /// Largest body of a call or an answer, in bytes.
    pub(crate) body: usize,
    /// Bytes that all calls and answers hold together.
    pub(crate) shadow_bytes: usize,
    /// Certificates that are trusted besides those of the system.
    pub(crate) ca_file: Option<PathBuf>,
}

impl Layers {
    /// Everything that `stub` needs, or all that is wrong.
    pub(crate) fn stub(mut self) -> Result<StubSettings, Problems> {
        let migration = self.get(&top::MIGRATION);
        let body = self.get(&limits::BODY);
        let shadow_bytes = self.get(&limits::SHADOW_BYTES);
        let ca_file = self.readable(&mirror::CA_FILE);
        let routes = self.routes();
        let rules = self.rules(Timestamp::now());
        let redact = self.redact();
        let redaction_key = self.redaction_key();
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let complete = || {
            let rules = rules?;
            Some(StubSettings {
                identity: Identity {
                    migration: migration?,
                    rules_hash: rules.hash().to_owned(),
                    ..Identity::default()
                },
                routes,
                rules,
                redact: redact?,
                redaction_key: redaction_key?,
                body: bytes(body?),
                shadow_bytes: bytes(shadow_bytes?),
                ca_file,
            })
        };
        match complete() {
            Some(settings) if self.problems.is_empty() => Ok(settings),
            _ => Err(self.into_problems()),
        }
    }
}
