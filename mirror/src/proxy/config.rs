//! The configuration of the mirror, with its defaults.
//!
//! In two parts: what is fixed for the life of a process ([`Config`]), and what can be replaced while it runs
//! ([`Policy`], by [`MirrorHandle::apply`](crate::MirrorHandle::apply)). The numbers that bound it are in [`Limits`].

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use parity_schemas::route::RouteRule;

use crate::descriptors::{self, ConnectionLimits};
use crate::exchange::{Rollout, Sampling};
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
    /// Maximum of client connections; at the limit, no more are accepted until one ends.
    pub connections: usize,
    /// Limits for connections other than those of clients.
    pub others: ConnectionLimits,
    /// Whether shadowing is on at the start; [`MirrorHandle`](crate::MirrorHandle) changes it later.
    pub shadowing: bool,
    /// The policy until another one is applied.
    pub policy: Policy,
}

impl Config {
    /// Client connections by default: what 20,000 descriptors allow with one connection to each service behind it,
    /// and some to spare.
    pub const CONNECTIONS: usize = descriptors::CLIENTS;
}

/// The part of the configuration that can be replaced at run time: what the mirror does with requests. Another policy
/// applies to requests that arrive after it; those in progress end under the policy that they began with.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Whether clients get the legacy's answers.
    pub mode: Mode,
    /// The service whose answers clients get; all of them, unless there is a rollout.
    pub legacy: Target,
    /// The service whose answers nobody gets, unless there is a rollout.
    pub candidate: Target,
    /// PEM file with certificate authorities that are trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// If set, clients connect with TLS; otherwise without.
    pub tls: Option<ServerTls>,
    /// Which requests the candidate gets.
    pub sampling: Sampling,
    /// Whether requests with other methods than GET, HEAD and OPTIONS are shadowed where no route says so.
    pub unsafe_methods: bool,
    /// How clients are chosen that the candidate serves; `None` if it serves nobody. How many are in is set by
    /// [`MirrorHandle::set_rollout`](crate::MirrorHandle::set_rollout), and is nobody at the start.
    pub rollout: Option<Rollout>,
    /// Which headers tell the services about the client and about this proxy.
    pub forwarding: Forwarding,
    /// The limits that the operator sets.
    pub limits: Limits,
    /// The operator's routes, in the order in which they are tried.
    pub routes: Arc<[RouteRule]>,
}

impl Policy {
    /// A policy for two services, with defaults for the rest.
    pub fn new(legacy: Target, candidate: Target) -> Self {
        Self {
            mode: Mode::default(),
            legacy,
            candidate,
            ca_file: None,
            tls: None,
            sampling: Sampling::default(),
            unsafe_methods: false,
            rollout: None,
            forwarding: Forwarding::default(),
            limits: Limits::default(),
            routes: Arc::new([]),
        }
    }
}

/// Where the mirror is placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// In front of the legacy: clients get its answers.
    #[default]
    Proxy,
    /// Beside another proxy that sends us copies of its requests: they are answered 204, and both services get them as
    /// shadows.
    Tap,
}

/// The certificate and key for client connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerTls {
    /// PEM file with the certificate, and those between it and the authority.
    pub certificate_file: PathBuf,
    /// PEM file with its key.
    pub key_file: PathBuf,
}
