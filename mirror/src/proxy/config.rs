//! What the operator may set, with the defaults of the command line and the reason of each limit.
//!
//! In two parts: what is fixed for the life of a process ([`Config`]), and what can be replaced while it runs
//! ([`Policy`], by [`Control::apply`](crate::Control::apply)).

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parity_schemas::route::RouteRule;

use crate::descriptors::Connections;
use crate::forwarding::Forwarding;
use crate::sampling::Sampling;
use crate::target::Target;

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
    pub others: Connections,
    /// Whether shadowing is on at the start; [`Control`](crate::Control) changes it later.
    pub shadowing: bool,
    /// What holds until another policy is applied.
    pub policy: Policy,
}

impl Config {
    /// Client connections by default: what 20,000 descriptors allow with one connection to each service behind it,
    /// and some to spare.
    pub const CONNECTIONS: usize = 10_000;
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

/// What bounds the mirror. All are for the whole process unless they say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the start of a shadow, connecting included, to the last byte of the candidate's answer.
    pub candidate_deadline: Duration,
    /// Shadows that wait for the candidate at a time: what a hung candidate may occupy in sockets.
    pub in_flight: usize,
    /// Shadows that begin in a second; more are `sampled_out`. `None` sets no bound.
    pub candidate_rate: Option<NonZeroUsize>,
    /// Bytes of request copies and captured answers, held until an exchange has been compared.
    pub shadow_bytes: usize,
    /// Bytes of one body that are copied or captured; more is `request_too_large` or `response_too_large`.
    pub body: usize,
    /// From the signal to the end: what is unfinished then is cut.
    pub drain: Duration,
    /// From the first byte of a request head to its last (slow-loris), and for a TLS handshake.
    pub header_read: Duration,
    /// How long an idle client connection is kept. Longer than the 60 s of common load balancers, so that they close
    /// first and no request meets a connection that is just being closed.
    pub client_idle: Duration,
    /// How long a client may take for the next bytes of a body: of the request's to send, of the answer's to take.
    /// As nginx has it by default.
    pub client_stall: Duration,
    /// How long an idle connection to a service is kept. Shorter than the 5 s of Node and uvicorn, so that we close
    /// first.
    pub upstream_idle: Duration,
    /// Idle connections that each worker keeps to each service.
    pub upstream_idle_connections: usize,
    /// From the end of an early answer to when a connection whose upload makes no progress any more is cut.
    pub linger: Duration,
    /// This many failures of the candidate to connect or to answer in time, or floods of it, without a success between,
    /// open the breaker.
    pub breaker_failures: u32,
    /// An open breaker lets one request through in this time, to see whether the candidate is back.
    pub breaker_pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            candidate_deadline: Duration::from_secs(5),
            in_flight: 1024,
            candidate_rate: None,
            shadow_bytes: 32 * 1024 * 1024,
            body: 1024 * 1024,
            drain: Duration::from_secs(20),
            header_read: Duration::from_secs(10),
            client_idle: Duration::from_secs(75),
            client_stall: Duration::from_mins(1),
            upstream_idle: Duration::from_secs(3),
            upstream_idle_connections: 256,
            linger: Duration::from_secs(5),
            breaker_failures: 50,
            breaker_pause: Duration::from_secs(1),
        }
    }
}
