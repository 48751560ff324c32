//! What a failure of a service is called, whichever of the two services it is.
//!
//! The libraries that speak HTTP and TLS tell of an error by a chain of causes. It is looked through here and nowhere
//! else, so that the same failure has the same name for every request. What it means for a comparison is decided by who
//! asked.

use std::error::Error;
use std::io;

use crate::upstream::connect::ConnectError;

/// How a service failed to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServiceFault {
    /// There is no connection to it.
    Refused,
    /// It did not connect, or did not answer, in time.
    TimedOut,
    /// The TLS handshake failed.
    Tls,
    /// It ended the connection before an answer began.
    Reset,
    /// What it sent is not HTTP.
    Protocol,
    /// Its answer broke off.
    Truncated,
    /// It sent far more frames, interim answers or protocol bytes than its answer needed.
    Flood,
}

/// Why no connection came about.
pub(super) fn connecting(error: &ConnectError) -> ServiceFault {
    match error {
        ConnectError::Refused(_) => ServiceFault::Refused,
        ConnectError::TimedOut(_) => ServiceFault::TimedOut,
        ConnectError::Tls(_) => ServiceFault::Tls,
    }
}

/// Why an answer never began.
pub(super) fn before_head(error: &hyper::Error) -> ServiceFault {
    if error.is_parse() {
        return ServiceFault::Protocol;
    }
    if let Some(error) = http2(error) {
        return if is_flood(error) {
            ServiceFault::Flood
        } else if is_broken(error) {
            ServiceFault::Reset
        } else {
            ServiceFault::Protocol
        };
    }
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return ServiceFault::Reset;
    }
    match io_kind(error) {
        Some(io::ErrorKind::TimedOut) => ServiceFault::TimedOut,
        Some(io::ErrorKind::InvalidData) if tls(error) => ServiceFault::Tls,
        Some(_) => ServiceFault::Reset,
        // Bytes where none belong: hyper names that error, but does not tell it apart in its interface.
        None => ServiceFault::Protocol,
    }
}

/// Why an answer's body did not come to its end.
pub(super) fn within_body(error: &hyper::Error) -> ServiceFault {
    if let Some(error) = http2(error).filter(|error| !is_broken(error)) {
        return if is_flood(error) {
            ServiceFault::Flood
        } else {
            ServiceFault::Protocol
        };
    }
    match io_kind(error) {
        // A chunk size that is none, a trailer block over the limit.
        Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) if !tls(error) => {
            ServiceFault::Protocol
        }
        Some(io::ErrorKind::TimedOut) => ServiceFault::TimedOut,
        _ => ServiceFault::Truncated,
    }
}

/// Whether a request that got no answer met a connection that the service was just giving up, rather than a service
/// that fails it.
pub(super) fn may_be_stale(error: &hyper::Error) -> bool {
    match http2(error) {
        Some(error) => {
            error.is_go_away()
                || error.is_io()
                || error.reason() == Some(h2::Reason::REFUSED_STREAM)
        }
        // What is no HTTP was sent in answer to the request: the service has it.
        None => !error.is_parse(),
    }
}

/// What HTTP/2 says of it.
fn http2(error: &hyper::Error) -> Option<&h2::Error> {
    causes(error).find_map(|cause| cause.downcast_ref::<h2::Error>())
}

/// Whether the peer ended the stream or the connection, rather than spoke it wrongly.
fn is_broken(error: &h2::Error) -> bool {
    let ended = error.is_remote() || error.is_io();
    ended && error.reason() != Some(h2::Reason::PROTOCOL_ERROR)
}

/// Whether the library had enough of frames that carry nothing, before our own count of them had.
fn is_flood(error: &h2::Error) -> bool {
    error.is_library() && error.reason() == Some(h2::Reason::ENHANCE_YOUR_CALM)
}

fn causes(error: &hyper::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let mut next = error.source();
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause)
    })
}

fn io_kind(error: &hyper::Error) -> Option<io::ErrorKind> {
    causes(error).find_map(|cause| cause.downcast_ref::<io::Error>().map(io::Error::kind))
}

fn tls(error: &hyper::Error) -> bool {
    causes(error).any(|cause| {
        cause.is::<rustls::Error>()
            || cause
                .downcast_ref::<io::Error>()
                .and_then(io::Error::get_ref)
                .is_some_and(<dyn Error + Send + Sync>::is::<rustls::Error>)
    })
}
