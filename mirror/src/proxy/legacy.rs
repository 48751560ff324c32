//! Sends a client's request to the legacy, and decides what the client gets if no answer comes.
//!
//! It waits only for the legacy. The caller handles the answer.

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use http::StatusCode;
use http::header::EXPECT;
use http::uri::Scheme;
use hyper::ext;
use parity_schemas::clients::ClientOutcome;
use parity_schemas::verdict::Reason;

use crate::exchange::{Ask, Asker, Completion, Intake, RequestHead, Side};
use crate::framing;
use crate::headers::{self, Wire};
use crate::proxy::outbound::{Outbound, Tee};
use crate::proxy::own_answers;
use crate::proxy::tape::Tape;
use crate::proxy::upload::{Upload, UploadState};
use crate::proxy::worker::Worker;
use crate::upstream::{SendError, Sent, ServiceFault};

/// A request that a client waits for: forwarded only, or also compared.
pub(crate) enum Subject {
    Alone(Box<RequestHead>),
    Shadowed(Ask),
}

impl Subject {
    /// Reads its head.
    pub(crate) fn with_head<T>(&self, read: impl FnOnce(&RequestHead) -> T) -> T {
        match self {
            Self::Alone(head) => read(head),
            Self::Shadowed(ask) => ask.pending().with_head(read),
        }
    }
}

/// Why the client does not get the legacy's answer.
pub(crate) enum NoAnswer {
    ClientGone,
    /// The legacy failed before its answer began.
    LegacyFault(ServiceFault),
}

impl NoAnswer {
    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::ClientGone => Reason::ClientAborted,
            Self::LegacyFault(fault) => Side::Legacy.reason(*fault, false),
        }
    }

    /// The client's outcome.
    pub(crate) fn outcome(&self) -> ClientOutcome {
        match self {
            Self::ClientGone => ClientOutcome::ClientAborted,
            Self::LegacyFault(ServiceFault::TimedOut) => ClientOutcome::LegacyTimeout,
            Self::LegacyFault(_) => ClientOutcome::LegacyUnreachable,
        }
    }

    /// Our answer to the client, if it is still connected.
    pub(crate) fn answer(&self) -> Option<(StatusCode, &'static str)> {
        let Self::LegacyFault(fault) = self else {
            return None;
        };
        Some(match fault {
            ServiceFault::TimedOut => (StatusCode::GATEWAY_TIMEOUT, own_answers::LEGACY_TIMEOUT),
            ServiceFault::Protocol | ServiceFault::Flood => {
                (StatusCode::BAD_GATEWAY, own_answers::LEGACY_WRONG)
            }
            ServiceFault::Refused
            | ServiceFault::Tls
            | ServiceFault::Reset
            | ServiceFault::Truncated => (StatusCode::BAD_GATEWAY, own_answers::LEGACY_DOWN),
        })
    }
}

/// Sends the request to the legacy and, when it is complete, to the candidate. If the legacy answers before that, the
/// caller gets what is needed to ask the candidate then.
///
/// `Expect: 100-continue` is forwarded to the legacy. After its 100 the client is told to send the body; a final answer
/// is passed on without a body being sent. Over HTTP/2 hyper does not report interim answers, so the client is told to
/// send after [`upload::EXPECTATION`](crate::proxy::upload), unless the legacy answers earlier.
pub(crate) async fn send(
    worker: &Worker,
    asker: &Rc<Asker<Outbound>>,
    subject: &Subject,
    (progress, tape): (Option<&Rc<Upload>>, Option<&Rc<Tape>>),
    candidate: Option<Ask>,
    started: Instant,
) -> Result<(Sent<Outbound>, Option<Completion>), NoAnswer> {
    let grpc = subject.with_head(RequestHead::is_grpc);
    let mut asked = None;
    let mut completion = None;
    let outbound = if let Some(upload) = progress {
        asked = subject
            .with_head(RequestHead::asks_to_send)
            .then(|| upload.hold());
        let copy = candidate.map(|candidate| Intake::new(candidate, grpc));
        let (copy, completes) = copy.unzip();
        completion = completes;
        Outbound::Live(Tee::new(Rc::clone(upload), copy, tape.cloned()))
    } else {
        if let Some(candidate) = candidate {
            asker.start(candidate);
        }
        Outbound::Empty
    };
    let upload = || progress.map_or(UploadState::Complete, |progress| progress.state());
    let replayable = progress.is_none() && subject.with_head(RequestHead::is_idempotent);
    let make = |body, wire, scheme: &Scheme| {
        let form = asker.form(Side::Legacy, wire, scheme);
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
    let legacy = asker.service(Side::Legacy);
    let sending = pin!(legacy.send(make, outbound, replayable, grpc));
    match asker.start_during(&mut completion, sending).await {
        // A 101 without an upgrade request is invalid, and so is an answer that cannot be passed on.
        Ok(sent)
            if sent.response.status() == StatusCode::SWITCHING_PROTOCOLS
                || framing::is_unusable(sent.response.status(), sent.response.headers()) =>
        {
            Err(NoAnswer::LegacyFault(ServiceFault::Protocol))
        }
        Ok(mut sent) => {
            worker.process().legacy_answers(true);
            let waited = sent.at.saturating_duration_since(started);
            worker.meters().overhead(waited);
            // The candidate gets a body that is already complete. To measure both in the same way, the time that the
            // legacy waited for the client's body is subtracted.
            let waited = progress.map(|progress| progress.waited());
            sent.at = (sent.at + waited.unwrap_or_default()).min(sent.head_at);
            Ok((sent, completion))
        }
        Err(_) if upload() == UploadState::ClientGone => Err(NoAnswer::ClientGone),
        Err(error) => Err(no_answer(worker, &error)),
    }
}

/// Records that the legacy gave no answer, and returns what the client gets. The first failure in a row is logged as a
/// warning, later ones at debug level.
pub(crate) fn legacy_failed(
    worker: &Worker,
    error: &SendError,
) -> (StatusCode, &'static str, ClientOutcome) {
    let why = no_answer(worker, error);
    let (status, words) = why
        .answer()
        .unwrap_or((StatusCode::BAD_GATEWAY, own_answers::LEGACY_DOWN));
    (status, words, why.outcome())
}

fn no_answer(worker: &Worker, error: &SendError) -> NoAnswer {
    let changed = worker.process().legacy_answers(false);
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
        SendError::Broken(error) => {
            if changed {
                tracing::warn!(%error, "legacy broke before it answered; the client gets 502");
            } else {
                tracing::debug!(%error, "legacy broke before it answered");
            }
        }
        // Not reached: only answers to shadows are limited.
        SendError::Flood => tracing::debug!("legacy sent far more than its answer needed"),
    }
    // Only shadows are spared.
    NoAnswer::LegacyFault(error.fault().unwrap_or(ServiceFault::Refused))
}
