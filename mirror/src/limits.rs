//! The limits of a process: those that the operator sets, and those that are fixed.
//!
//! One type for all of them, because one file of the operator says them all. Each says what it bounds and why it has
//! its default. It knows nothing of those who keep the limits.

use std::num::NonZeroUsize;
use std::time::Duration;

/// Longest head of a message: first line and all fields, and each block of trailers.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Longest that hyper buffers for one connection before it waits for the reader. As long as a head may be and no
/// longer, for an idle connection keeps its buffer, and there are many.
pub(crate) const MAX_BUFFER_BYTES: usize = MAX_HEAD_BYTES;

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
