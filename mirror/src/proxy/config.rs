//! What the operator may set for a proxy, with the defaults of the command line.
//!
//! In two parts: what is fixed for the life of a process ([`Config`]), and what can be replaced while it runs
//! ([`Policy`], by [`MirrorHandle::apply`](crate::MirrorHandle::apply)). The numbers that bound it are in [`Limits`].

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use parity_schemas::route::RouteRule;

use crate::descriptors::{self, ConnectionLimits};
use crate::exchange::Sampling;
use crate::forwarding::Forwarding;
use crate::limits::Limits;
use crate::upstream::Target;

/// Everything that [`Mirror::bind`](crate::Mirror::bind) needs.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where clients connect to; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Threads, each with a runtime of its own.
    pub workers: NonZeroUsize,
    /// Client connections; when they are used up, no more are accepted until one ends.
    pub connections: usize,
    /// Connections besides those of clients.
    pub others: ConnectionLimits,
    /// Whether shadowing is on at the start; [`MirrorHandle`](crate::MirrorHandle) changes it later.
    pub shadowing: bool,
    /// What holds until another policy is applied.
    pub policy: Policy,
}

impl Config {
    /// Client connections by default: what 20,000 descriptors allow with one connection to each service behind it,
    /// and some to spare.
    pub const CONNECTIONS: usize = descriptors::CLIENTS;
}

/// What the mirror does with requests. A new one holds for the requests that come after it; those under way end
/// under the policy that they began with.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Who waits for the answer.
    pub mode: Mode,
    /// The service whose answers clients get.
    pub legacy: Target,
    /// The service whose answers nobody gets.
    pub candidate: Target,
    /// PEM file with certificate authorities that are trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// With it, clients connect by TLS; without it, in clear.
    pub tls: Option<ServerTls>,
    /// Which requests the candidate gets.
    pub sampling: Sampling,
    /// What the services are told of the client, and of us.
    pub forwarding: Forwarding,
    /// What bounds this process.
    pub limits: Limits,
    /// The operator's routes, in the order in which they are tried.
    pub routes: Arc<[RouteRule]>,
}

impl Policy {
    /// Two services, and the defaults.
    pub fn new(legacy: Target, candidate: Target) -> Self {
        Self {
            mode: Mode::default(),
            legacy,
            candidate,
            ca_file: None,
            tls: None,
            sampling: Sampling::default(),
            forwarding: Forwarding::default(),
            limits: Limits::default(),
            routes: Arc::new([]),
        }
    }
}

/// Where the mirror stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// In front of the legacy: clients get its answers.
    #[default]
    Proxy,
    /// Beside another proxy that sends us copies of its requests: they are answered 204, and both services get them as
    /// shadows.
    Tap,
}

/// Certificate and key that clients are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerTls {
    /// PEM file with the certificate, and those between it and the authority.
    pub certificate_file: PathBuf,
    /// PEM file with its key.
    pub key_file: PathBuf,
}
