//! Asks the legacy for a client: what is sent, what is expected of it, and what it means that no answer came.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use http::StatusCode;
use http::header::EXPECT;
use http::uri::Scheme;
use hyper::ext;
use parity_schemas::clients::ClientOutcome;
use parity_schemas::verdict::Reason;

use crate::body::{Outbound, Tee};
use crate::connect::ConnectError;
use crate::generation::Generation;
use crate::headers::{self, Wire};
use crate::pending::{Form, Half, Head, Side};
use crate::service::{SendError, Sent};
use crate::shadow;
use crate::upload::{Progress, Upload};
use crate::words;
use crate::worker::Worker;

/// A request on the client's path, with or without a shadow.
pub(super) enum Subject {
    Alone(Box<Head>),
    Shadowed(Half),
}

impl Subject {
    pub(super) fn with_head<T>(&self, read: impl FnOnce(&Head) -> T) -> T {
        match self {
            Self::Alone(head) => read(head),
            Self::Shadowed(half) => read(&half.pending.head.borrow()),
        }
    }
}

/// Why the client does not get the legacy's answer.
pub(super) enum Failure {
    ClientGone,
    TimedOut,
    Unreachable,
    /// It answered, but with what is no HTTP, or too much of it.
    Wrong,
}

impl Failure {
    pub(super) fn reason(&self) -> Reason {
        match self {
            Self::ClientGone => Reason::ClientAborted,
            Self::TimedOut => Reason::LegacyTimeout,
            Self::Unreachable | Self::Wrong => Reason::LegacyUnreachable,
        }
    }

    /// What became of the client.
    pub(super) fn outcome(&self) -> ClientOutcome {
        match self {
            Self::ClientGone => ClientOutcome::ClientAborted,
            Self::TimedOut => ClientOutcome::LegacyTimeout,
            Self::Unreachable | Self::Wrong => ClientOutcome::LegacyUnreachable,
        }
    }

    /// What the client is told, if it is there.
    pub(super) fn answer(&self) -> Option<(StatusCode, &'static str)> {
        match self {
            Self::ClientGone => None,
            Self::TimedOut => Some((StatusCode::GATEWAY_TIMEOUT, words::LEGACY_TIMEOUT)),
            Self::Unreachable => Some((StatusCode::BAD_GATEWAY, words::LEGACY_DOWN)),
            Self::Wrong => Some((StatusCode::BAD_GATEWAY, words::LEGACY_WRONG)),
        }
    }
}

/// Sends the request to the legacy and, when it is complete, to the candidate.
///
/// A client that asks whether to send its body (`Expect: 100-continue`) is answered by the legacy, which is asked the
/// same: its 100 lets the body come, a final answer is passed on without one. HTTP/2 cannot be asked so: hyper does
/// not tell of interim answers there, and a legacy by it has a while to refuse.
pub(super) async fn send(
    generation: &Rc<Generation>,
    subject: &Subject,
    progress: Option<&Rc<Progress>>,
    candidate: Option<Half>,
    started: Instant,
) -> Result<Sent, Failure> {
    let service = &generation.legacy;
    let grpc = subject.with_head(Head::is_grpc);
    let mut asked = None;
    let outbound = if let Some(upload) = progress {
        asked = subject.with_head(Head::asks_to_send).then(|| upload.hold());
        Outbound::Live(Tee::new(Rc::clone(upload), candidate, grpc))
    } else {
        if let Some(candidate) = candidate {
            shadow::start(candidate, Side::Candidate);
        }
        Outbound::Empty
    };
    let upload = || progress.map_or(Upload::Complete, |progress| progress.upload());
    let replayable = progress.is_none() && subject.with_head(Head::is_idempotent);
    let make = |body, wire, scheme: &Scheme| {
        let form = Form {
            service,
            forwarding: &generation.forwarding,
            wire,
            scheme,
            spells: true,
        };
        let mut request = subject.with_head(|head| head.request(&form, body));
        if let (Some(told), Wire::Http1) = (&asked, wire) {
            let told = Arc::clone(told);
            request.headers_mut().insert(EXPECT, headers::CONTINUE);
            ext::on_informational(&mut request, move |interim| {
                if interim.status() == StatusCode::CONTINUE {
                    told.notify_one();
                }
            });
        }
        request
    };
    match service.send(make, outbound, replayable, grpc).await {
        // An answer to an upgrade that nobody asked for is none, nor is one that nobody behind us could decode.
        Ok(sent)
            if sent.response.status() == StatusCode::SWITCHING_PROTOCOLS
                || headers::loses_coding(sent.response.headers()) =>
        {
            Err(Failure::Wrong)
        }
        Ok(mut sent) => {
            generation.worker.shared.legacy_answers(true);
            let waited = sent.at.saturating_duration_since(started);
            generation.worker.metrics.overhead(waited);
            // The candidate gets the body at once; what the legacy waited for the client's is not its own time.
            let waited = progress.map(|progress| progress.waited());
            sent.at = (sent.at + waited.unwrap_or_default()).min(sent.head_at);
            Ok(sent)
        }
        Err(_) if upload() == Upload::ClientGone => Err(Failure::ClientGone),
        Err(error) => Err(unreachable(&generation.worker, &error)),
    }
}

/// Tells of a legacy that does not answer: loudly when it stops, quietly while it stays so.
pub(crate) fn legacy_failed(
    worker: &Worker,
    error: &SendError,
) -> (StatusCode, &'static str, ClientOutcome) {
    let failure = unreachable(worker, error);
    let (status, words) = failure
        .answer()
        .unwrap_or((StatusCode::BAD_GATEWAY, words::LEGACY_DOWN));
    (status, words, failure.outcome())
}

fn unreachable(worker: &Worker, error: &SendError) -> Failure {
    let changed = worker.shared.legacy_answers(false);
    match error {
        SendError::Spared => tracing::debug!("no connection to spare"),
        SendError::Connect(error) => {
            let error = error.io();
            if changed {
                tracing::warn!(%error, "legacy cannot be reached; clients get 502");
            } else {
                tracing::debug!(%error, "legacy cannot be reached");
            }
        }
        SendError::Exchange(error) => {
            if changed {
                tracing::warn!(%error, "legacy broke before it answered; the client gets 502");
            } else {
                tracing::debug!(%error, "legacy broke before it answered");
            }
        }
        // Only what a shadow may be sent is limited.
        SendError::Flood => tracing::debug!("legacy sent far more than its answer needed"),
    }
    match error {
        SendError::Connect(ConnectError::TimedOut(_)) => Failure::TimedOut,
        SendError::Exchange(error) if error.is_parse() => Failure::Wrong,
        _ => Failure::Unreachable,
    }
}
