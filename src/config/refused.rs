//! What the other parts of a mirror would refuse of its settings at the start: names on the lists of redaction, what the
//! files of TLS hold, two ports that are one.
//!
//! They are asked here already, with the settings as they are. So `config check` says what `mirror` would say, and both
//! name the place in the file.

use std::net::SocketAddr;
use std::path::PathBuf;

use parity_comparator::redact::{RedactConfig, RedactError, Redactor};
use parity_comparator::rules::Rules;
use parity_mirror::{Mirror, Policy, TlsError};

use super::Layers;
use super::problem::Problem;
use super::settings::{Many, Setting, mirror, redact};

impl Layers {
    /// What may be recorded clear. Every name that redaction refuses is reported.
    pub(super) fn redact(&mut self) -> Option<RedactConfig> {
        let text = self.get(&redact::TEXT)?;
        let config = RedactConfig {
            keep_headers: self.list(&redact::KEEP_HEADERS),
            keep_query: self.list(&redact::KEEP_QUERY),
            mask_keys: self.list(&redact::MASK_KEYS),
            mask_places: Vec::new(),
            text,
        };
        self.refuse_names(&redact::KEEP_HEADERS, |name| RedactConfig {
            keep_headers: vec![name],
            ..RedactConfig::default()
        });
        self.refuse_names(&redact::MASK_KEYS, |name| RedactConfig {
            mask_keys: vec![name],
            ..RedactConfig::default()
        });
        Some(config)
    }

    /// Asks for each name by itself, because only the first mistake of a list would be told.
    fn refuse_names(
        &mut self,
        list: &'static Many<String>,
        alone: impl Fn(String) -> RedactConfig,
    ) {
        for name in self.list(list) {
            let refused = Redactor::new(&alone(name), &[0; 32], Rules::default().into()).err();
            let Some(error) = refused else { continue };
            // The messages begin with the name of the key.
            let message = format!("{}.{error}", list.section());
            let problem = Problem::new(self.origin(list), message);
            self.problems.push(match error {
                RedactError::CredentialHeader(_) => problem,
                RedactError::HeaderName(_) => {
                    problem.hint("write the name alone, for example `x-request-id`")
                }
                _ => problem.hint("write the name of a member, for example `iban`"),
            });
        }
    }

    /// Reports what cannot be used of the certificates and keys that a policy names.
    pub(super) fn look_at_certificates(&mut self, policy: &Policy) {
        let Err(error) = Mirror::check(policy.clone()) else {
            return;
        };
        let of_clients =
            |path: &PathBuf| Some(path) == policy.tls.as_ref().map(|tls| &tls.certificate_file);
        let setting: &'static Setting = match &error {
            TlsError::NoKey { .. } | TlsError::Pair { .. } => &mirror::TLS_KEY_FILE,
            TlsError::File { path, .. } | TlsError::Empty { path } if of_clients(path) => {
                &mirror::TLS_CERTIFICATE_FILE
            }
            TlsError::File { path, .. } if Some(path) != policy.ca_file.as_ref() => {
                &mirror::TLS_KEY_FILE
            }
            TlsError::File { .. } | TlsError::Empty { .. } | TlsError::Authority { .. } => {
                &mirror::CA_FILE
            }
            TlsError::Name(host) if !policy.legacy.url.to_string().contains(host.as_str()) => {
                &mirror::CANDIDATE
            }
            TlsError::NoRoots { upstream } if policy.legacy.url.to_string() != *upstream => {
                &mirror::CANDIDATE
            }
            TlsError::Name(_) | TlsError::NoRoots { .. } | TlsError::Setup(_) => &mirror::LEGACY,
        };
        // With its causes, in one line.
        let message = format!("{}: {:#}", setting.key, anyhow::Error::from(error));
        self.problems
            .push(Problem::new(self.origin(setting), message));
    }

    /// Reports an admin port that is the port of the clients.
    pub(super) fn refuse_one_port_twice(&mut self, proxy: SocketAddr, admin: SocketAddr) {
        let same_ip = proxy.ip() == admin.ip()
            || (proxy.is_ipv4() == admin.is_ipv4()
                && (proxy.ip().is_unspecified() || admin.ip().is_unspecified()));
        if proxy.port() == 0 || proxy.port() != admin.port() || !same_ip {
            return;
        }
        let message = format!(
            "{}: {admin} is where {} listens",
            mirror::ADMIN.key,
            mirror::LISTEN.key
        );
        // Whichever of the two was given.
        let given = [&*mirror::ADMIN, &*mirror::LISTEN]
            .into_iter()
            .find(|setting| self.is_given(setting));
        let origin = self.origin(given.unwrap_or(&mirror::ADMIN));
        self.problems
            .push(Problem::new(origin, message).hint("give each of them a port of its own"));
    }
}
