//! Classifies the failures of a service, whichever of the two it is.
//!
//! The HTTP and TLS libraries report errors as a chain of causes. Only this module inspects it, so that the same
//! failure is classified in the same way for every request. The caller decides what it means for a comparison.

use std::error::Error;
use std::io;

use crate::upstream::connect::ConnectError;

/// How a service failed to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServiceFault {
    /// No connection could be opened.
    Refused,
    /// It did not connect, or did not answer, in time.
    TimedOut,
    /// The TLS handshake failed.
    Tls,
    /// It closed the connection before an answer began.
    Reset,
    /// What it sent is not HTTP.
    Protocol,
    /// It closed the connection within an answer.
    Truncated,
    /// It sent far more frames, interim answers or protocol bytes than its answer needed.
    Flood,
}

impl ServiceFault {
    /// Why an answer's body is incomplete.
    pub(crate) fn within_body(error: &hyper::Error) -> Self {
        if let Some(error) = http2(error).filter(|error| !is_broken(error)) {
            return if is_flood(error) {
                Self::Flood
            } else {
                Self::Protocol
            };
        }
        match io_kind(error) {
            // An invalid chunk size, or trailers over the limit.
            Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) if !tls(error) => {
                Self::Protocol
            }
            Some(io::ErrorKind::TimedOut) => Self::TimedOut,
            _ => Self::Truncated,
        }
    }
}

/// Why no connection was opened.
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
        // Unexpected bytes: hyper has an error for it, but no public method to recognize it.
        None => ServiceFault::Protocol,
    }
}

/// Whether a request may have failed only because the service was closing an idle connection.
pub(super) fn may_be_stale(error: &hyper::Error) -> bool {
    match http2(error) {
        Some(error) => {
            error.is_go_away()
                || error.is_io()
                || error.reason() == Some(h2::Reason::REFUSED_STREAM)
        }
        // The service answered with something that is not HTTP, so it has received the request.
        None => !error.is_parse(),
    }
}

/// The HTTP/2 error in the chain of causes.
fn http2(error: &hyper::Error) -> Option<&h2::Error> {
    causes(error).find_map(|cause| cause.downcast_ref::<h2::Error>())
}

/// Whether the peer ended the stream or the connection, rather than violated the protocol.
fn is_broken(error: &h2::Error) -> bool {
    let ended = error.is_remote() || error.is_io();
    ended && error.reason() != Some(h2::Reason::PROTOCOL_ERROR)
}

/// Whether the HTTP/2 library stopped at too many empty frames, before our own limit did.
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
