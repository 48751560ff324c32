//! The admin port of a mirror, a sink and `parity ui`: where it listens, who may look and change, and how it is encrypted.

use std::net::SocketAddr;
use std::path::PathBuf;

use parity_dashboards::links::Links;
use parity_dashboards::server::{Access, TlsAcceptor};
use parity_mirror::{ServerTls, TlsError};

use super::Layers;
use super::problem::{Origin, Problem};
use super::settings::{One, Setting, links, mirror, sink};

/// Shorter admin tokens can be guessed over the network.
const MIN_TOKEN_BYTES: usize = 16;
/// What the port speaks within TLS.
const PROTOCOLS: [&str; 1] = ["http/1.1"];

/// Where the admin port listens and what it demands.
#[derive(Clone)]
pub(crate) struct AdminSettings {
    /// Address.
    pub(crate) address: SocketAddr,
    /// Its tokens; always there unless the address is loopback.
    pub(crate) access: Access,
    /// With which certificate it is encrypted; `None` if it is not.
    pub(crate) tls: Option<TlsAcceptor>,
    /// Where its pages lead to elsewhere.
    pub(crate) links: Links,
}

/// The settings of one admin port.
pub(super) struct AdminPort {
    address: &'static One<SocketAddr>,
    token_file: &'static One<PathBuf>,
    look_token_file: &'static One<PathBuf>,
    certificate_file: &'static One<PathBuf>,
    key_file: &'static One<PathBuf>,
}

/// That of a mirror, and of `parity ui`.
pub(super) static OF_MIRROR: AdminPort = AdminPort {
    address: &mirror::ADMIN,
    token_file: &mirror::ADMIN_TOKEN_FILE,
    look_token_file: &mirror::ADMIN_LOOK_TOKEN_FILE,
    certificate_file: &mirror::ADMIN_TLS_CERTIFICATE_FILE,
    key_file: &mirror::ADMIN_TLS_KEY_FILE,
};

/// That of a sink.
pub(super) static OF_SINK: AdminPort = AdminPort {
    address: &sink::ADMIN,
    token_file: &sink::ADMIN_TOKEN_FILE,
    look_token_file: &sink::ADMIN_LOOK_TOKEN_FILE,
    certificate_file: &sink::ADMIN_TLS_CERTIFICATE_FILE,
    key_file: &sink::ADMIN_TLS_KEY_FILE,
};

impl AdminPort {
    /// The settings besides the address: those of who binds no port may be wrong.
    pub(super) fn files(&self) -> [&'static One<PathBuf>; 4] {
        [
            self.token_file,
            self.look_token_file,
            self.certificate_file,
            self.key_file,
        ]
    }
}

impl Layers {
    /// An admin port by its settings.
    pub(super) fn admin(&mut self, port: &AdminPort) -> Option<AdminSettings> {
        let address = self.get(port.address);
        let access = self.access(port);
        let tls = self.admin_tls(port);
        let links = self.links();
        let address = address?;
        if !address.ip().is_loopback() && !self.is_given(port.token_file) {
            let origin = self.origin(port.address);
            let message = format!(
                "{}: {address} can be reached from other machines, so it needs a token",
                port.address.key
            );
            let hint = format!(
                "name a file with {}, or listen on 127.0.0.1",
                flag(port.token_file)
            );
            self.problems.push(Problem::new(origin, message).hint(hint));
            return None;
        }
        Some(AdminSettings {
            address,
            access: access?,
            tls: tls?,
            links,
        })
    }

    /// Where pages lead to elsewhere.
    fn links(&mut self) -> Links {
        Links {
            grafana: self.get(&links::GRAFANA),
            trace: self.get(&links::TRACE),
            logs: self.get(&links::LOGS),
        }
    }

    /// Who may look and who may change something.
    fn access(&mut self, port: &AdminPort) -> Option<Access> {
        let mut token = |setting| {
            let token = self.secret(setting, MIN_TOKEN_BYTES);
            token.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        let (change, look) = (token(port.token_file), token(port.look_token_file));
        let [may_change, may_look] =
            [port.token_file, port.look_token_file].map(|setting| self.is_given(setting));
        let refused = match (&change, &look) {
            // Nobody could stop shadowing by such a port, or everybody could.
            _ if may_look && !may_change => Some((
                format!(
                    "{} is of no use without {}: then everybody may change everything",
                    port.look_token_file.key, port.token_file.key
                ),
                format!("name a file with {}, too", flag(port.token_file)),
            )),
            (Some(change), Some(look)) if change == look => Some((
                format!(
                    "{} and {} hold the same token, so who may look may change, too",
                    port.look_token_file.key, port.token_file.key
                ),
                "`openssl rand -hex 32` makes another one".to_owned(),
            )),
            _ => None,
        };
        if let Some((message, hint)) = refused {
            let origin = self.origin(port.look_token_file);
            self.problems.push(Problem::new(origin, message).hint(hint));
            return None;
        }
        // A token that is named and cannot be read was told.
        let is_whole = change.is_some() == may_change && look.is_some() == may_look;
        is_whole.then(|| Access::new(change, look))
    }

    /// The certificate of the port, if it has one.
    #[expect(clippy::option_option, reason = "wrong, none, or one")]
    fn admin_tls(&mut self, port: &AdminPort) -> Option<Option<TlsAcceptor>> {
        let (certificate, key) = (port.certificate_file, port.key_file);
        let Some(files) = self.server_tls(certificate, key)? else {
            return Some(None);
        };
        match files.acceptor(&PROTOCOLS) {
            Ok(acceptor) => Some(Some(acceptor)),
            Err(error) => {
                let setting: &'static Setting = match &error {
                    TlsError::NoKey { .. } | TlsError::Pair { .. } => key,
                    TlsError::File { path, .. } if *path == files.key_file => key,
                    _ => certificate,
                };
                // With its causes, in one line.
                let message = format!("{}: {:#}", setting.key, anyhow::Error::from(error));
                let origin = self.origin(setting);
                self.problems.push(Problem::new(origin, message));
                None
            }
        }
    }

    /// Two files that belong together: a certificate and its key; `None` if one of them is missing or cannot be read.
    #[expect(clippy::option_option, reason = "wrong, none, or one")]
    pub(super) fn server_tls(
        &mut self,
        certificate: &'static One<PathBuf>,
        key: &'static One<PathBuf>,
    ) -> Option<Option<ServerTls>> {
        let files = (self.readable(certificate), self.readable(key));
        let given = [certificate, key].map(|setting| self.is_given(setting));
        match (files, given) {
            ((Some(certificate_file), Some(key_file)), _) => Some(Some(ServerTls {
                certificate_file,
                key_file,
            })),
            (_, [true, false] | [false, true]) => {
                let message = format!("{} and {} belong together", certificate.key, key.key);
                self.problems.push(
                    Problem::new(Origin::Default, message)
                        .hint("name both, or none to serve without TLS"),
                );
                None
            }
            (_, [false, false]) => Some(None),
            _ => None,
        }
    }
}

/// What a setting is called on the command line.
fn flag(setting: &Setting) -> &'static str {
    setting.flag.map_or(setting.key, |flag| flag.name)
}
