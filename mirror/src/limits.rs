//! All limits of the mirror: those that the operator sets, and fixed ones.
//!
//! One type for all of them, because the operator sets all of them in one file. Each documents what it bounds and why
//! it has its default. The modules that enforce them are not known here.

use std::num::NonZeroUsize;
use std::time::Duration;

/// Largest head of a message: first line and all headers. Also the limit for trailers.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Largest read buffer of one connection. No larger than a head may be, because the many idle connections keep their
/// buffers.
pub(crate) const MAX_BUFFER_BYTES: usize = MAX_HEAD_BYTES;

/// The limits that the operator sets. All are for the whole process unless they say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the start of a shadow, connecting included, to the last byte of the candidate's answer.
    pub candidate_deadline: Duration,
    /// Concurrent shadows: how many sockets a hung candidate may occupy.
    pub in_flight: usize,
    /// Shadows that begin in a second; more are `sampled_out`. `None` sets no bound.
    pub candidate_rate: Option<NonZeroUsize>,
    /// Bytes of request copies and captured answers, held until an exchange has been compared.
    pub shadow_bytes: usize,
    /// Bytes of one body that are copied or captured; more is `request_too_large` or `response_too_large`.
    pub body: usize,
    /// From the signal to the end of the process: what is unfinished then is aborted.
    pub drain: Duration,
    /// From the first byte of a request head to its last (slow-loris), and for a TLS handshake.
    pub header_read: Duration,
    /// How long an idle client connection is kept. Longer than the 60 s of common load balancers, so that they close
    /// first and no request is sent on a connection that is just being closed.
    pub client_idle: Duration,
    /// How long a client may take to send the next bytes of a request body, or to read the next bytes of an answer. The
    /// default is nginx's.
    pub client_stall: Duration,
    /// How long an idle connection to a service is kept. Shorter than the 5 s of Node and uvicorn, so that we close
    /// first.
    pub upstream_idle: Duration,
    /// Idle connections that each worker keeps to each service.
    pub upstream_idle_connections: usize,
    /// How long after an early answer an upload may make no progress before its connection is closed.
    pub linger: Duration,
    /// This many candidate failures in a row (cannot connect, no answer in time, flood) open the breaker.
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
