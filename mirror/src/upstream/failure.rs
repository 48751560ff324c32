//! What a failure of a service is called.

use std::error::Error;
use std::io;

use parity_schemas::verdict::Reason;

use crate::connect::ConnectError;

/// Why no connection to the candidate came about.
pub(crate) fn connecting(error: &ConnectError) -> Reason {
    match error {
        ConnectError::Refused(_) => Reason::CandidateRefused,
        ConnectError::TimedOut(_) => Reason::CandidateTimeout,
        ConnectError::Tls(_) => Reason::CandidateTls,
    }
}

/// Why the candidate's answer never began.
pub(crate) fn before_head(error: &hyper::Error) -> Reason {
    if error.is_parse() {
        return Reason::CandidateProtocol;
    }
    if let Some(error) = http2(error) {
        return if is_flood(error) {
            Reason::CandidateFlood
        } else if is_broken(error) {
            Reason::CandidateReset
        } else {
            Reason::CandidateProtocol
        };
    }
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return Reason::CandidateReset;
    }
    match io_kind(error) {
        Some(io::ErrorKind::TimedOut) => Reason::CandidateTimeout,
        Some(io::ErrorKind::InvalidData) if tls(error) => Reason::CandidateTls,
        Some(_) => Reason::CandidateReset,
        // Bytes where none belong: hyper names that error, but does not tell it apart in its interface.
        None => Reason::CandidateProtocol,
    }
}

/// Why the candidate's body did not come to its end.
pub(crate) fn within_body(error: &hyper::Error) -> Reason {
    if let Some(error) = http2(error).filter(|error| !is_broken(error)) {
        return if is_flood(error) {
            Reason::CandidateFlood
        } else {
            Reason::CandidateProtocol
        };
    }
    match io_kind(error) {
        // A chunk size that is none, a trailer block over the limit.
        Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) if !tls(error) => {
            Reason::CandidateProtocol
        }
        Some(io::ErrorKind::TimedOut) => Reason::CandidateTimeout,
        _ => Reason::CandidateTruncated,
    }
}

/// Whether a request that got no answer met a connection that the service was just giving up, rather than a service
/// that fails it.
pub(crate) fn may_be_stale(error: &hyper::Error) -> bool {
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
