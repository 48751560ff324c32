//! What the operator may set, with the defaults of the command line and the reason of each limit.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parity_schemas::route::RouteRule;

use crate::upstream::UpstreamUrl;

/// Everything that [`Mirror::bind`](crate::Mirror::bind) needs.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where clients connect to; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The service whose answers clients get.
    pub legacy: UpstreamUrl,
    /// The service whose answers nobody gets.
    pub candidate: UpstreamUrl,
    /// PEM file with certificate authorities that are trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Threads, each with a runtime of its own.
    pub workers: NonZeroUsize,
    /// Share of the requests that the candidate gets, 0..=1.
    pub sample: f64,
    /// Whether shadowing is on at the start; [`Control`](crate::Control) changes it later.
    pub shadowing: bool,
    /// What bounds this process.
    pub limits: Limits,
    /// The operator's routes, in the order in which they are tried.
    pub routes: Arc<[RouteRule]>,
}

/// What bounds the mirror. All are for the whole process unless they say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the start of a shadow, connecting included, to the last byte of the candidate's answer.
    pub candidate_deadline: Duration,
    /// Shadows that wait for the candidate at a time: what a hung candidate may occupy in sockets.
    pub in_flight: usize,
    /// Bytes of request copies and captured answers, held until an exchange has been compared.
    pub shadow_bytes: usize,
    /// Bytes of one body that are copied or captured; more is `request_too_large` or `response_too_large`.
    pub body: usize,
    /// From the signal to the end: what is unfinished then is cut.
    pub drain: Duration,
    /// Client connections; when they are used up, no more are accepted until one ends.
    pub connections: usize,
    /// From the first byte of a request head to its last (slow-loris).
    pub header_read: Duration,
    /// How long an idle client connection is kept. Longer than the 60 s of common load balancers, so that they close
    /// first and no request meets a connection that is just being closed.
    pub client_idle: Duration,
    /// How long an idle connection to a service is kept. Shorter than the 5 s of Node and uvicorn, so that we close
    /// first.
    pub upstream_idle: Duration,
    /// Idle connections that each worker keeps to each service.
    pub upstream_idle_connections: usize,
    /// From the end of an early answer to when a connection whose upload still runs is cut.
    pub linger: Duration,
    /// This many failures of the candidate to connect or to answer in time, without a success between, open the
    /// breaker.
    pub breaker_failures: u32,
    /// An open breaker lets one request through in this time, to see whether the candidate is back.
    pub breaker_pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            candidate_deadline: Duration::from_secs(5),
            in_flight: 1024,
            shadow_bytes: 32 * 1024 * 1024,
            body: 1024 * 1024,
            drain: Duration::from_secs(20),
            connections: 10_000,
            header_read: Duration::from_secs(10),
            client_idle: Duration::from_secs(75),
            upstream_idle: Duration::from_secs(3),
            upstream_idle_connections: 256,
            linger: Duration::from_secs(5),
            breaker_failures: 50,
            breaker_pause: Duration::from_secs(1),
        }
    }
}
