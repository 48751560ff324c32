//! Sends a client's request to the service that serves the client, and decides what the client gets if no answer comes.
//!
//! That is the legacy, or during a rollout the candidate: the asker says which. It waits only for that one. The caller
//! handles the answer.

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
use crate::upstream::{self, SendError, Sent, ServiceFault};

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

/// Why the client does not get the answer of the service that serves it.
pub(crate) enum NoAnswer {
    ClientGone,
    /// The service failed before its answer began.
    Fault(Side, ServiceFault),
}

/// A request without an answer.
pub(crate) struct Failed {
    pub(crate) why: NoAnswer,
    /// If it is known that the service got nothing of the request, which may then be sent to the other one, whatever it does.
    pub(crate) unsent: Option<Unsent>,
}

/// What is left of a request that was not sent.
pub(crate) struct Unsent {
    /// The shadow that waited for the request's body, if there is one.
    pub(crate) shadow: Option<Ask>,
}

impl From<NoAnswer> for Failed {
    fn from(why: NoAnswer) -> Self {
        Self { why, unsent: None }
    }
}

impl NoAnswer {
    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::ClientGone => Reason::ClientAborted,
            Self::Fault(side, fault) => side.reason(*fault, false),
        }
    }

    /// The client's outcome.
    pub(crate) fn outcome(&self) -> ClientOutcome {
        match self {
            Self::ClientGone => ClientOutcome::ClientAborted,
            Self::Fault(Side::Legacy, ServiceFault::TimedOut) => ClientOutcome::LegacyTimeout,
            Self::Fault(Side::Legacy, _) => ClientOutcome::LegacyUnreachable,
            Self::Fault(Side::Candidate, ServiceFault::TimedOut) => ClientOutcome::CandidateTimeout,
            Self::Fault(Side::Candidate, _) => ClientOutcome::CandidateUnreachable,
        }
    }

    /// Our answer to the client, if it is still connected.
    pub(crate) fn answer(&self) -> Option<(StatusCode, &'static str)> {
        let Self::Fault(side, fault) = self else {
            return None;
        };
        let (status, of_legacy, of_candidate) = match fault {
            ServiceFault::TimedOut => (
                StatusCode::GATEWAY_TIMEOUT,
                own_answers::LEGACY_TIMEOUT,
                own_answers::CANDIDATE_TIMEOUT,
            ),
            ServiceFault::Protocol | ServiceFault::Flood => (
                StatusCode::BAD_GATEWAY,
                own_answers::LEGACY_WRONG,
                own_answers::CANDIDATE_WRONG,
            ),
            ServiceFault::Refused
            | ServiceFault::Tls
            | ServiceFault::Reset
            | ServiceFault::Truncated => (
                StatusCode::BAD_GATEWAY,
                own_answers::LEGACY_DOWN,
                own_answers::CANDIDATE_DOWN,
            ),
        };
        Some(match side {
            Side::Legacy => (status, of_legacy),
            Side::Candidate => (status, of_candidate),
        })
    }
}

/// Sends the request to the service that serves and, when it is complete, to the other one by `shadow`. If the service
/// answers before that, the caller gets what is needed to start the shadow then. The legacy as the shadow of a request
/// without a body is left to the caller: it gets the request once, as a shadow or in the candidate's place.
///
/// `Expect: 100-continue` is forwarded to the service. After its 100 the client is told to send the body; a final answer
/// is passed on without a body being sent. Over HTTP/2 hyper does not report interim answers, so the client is told to
/// send after [`upload::EXPECTATION`](crate::proxy::upload), unless the legacy answers earlier.
pub(crate) async fn send(
    worker: &Worker,
    asker: &Rc<Asker<Outbound>>,
    subject: &Subject,
    (progress, tape): (Option<&Rc<Upload>>, Option<&Rc<Tape>>),
    shadow: &mut Option<Ask>,
    started: Instant,
) -> Result<(Sent<Outbound>, Option<Completion>), Failed> {
    let side = asker.serving().side();
    let grpc = subject.with_head(RequestHead::is_grpc);
    let mut asked = None;
    let mut completion = None;
    let outbound = if let Some(upload) = progress {
        asked = subject
            .with_head(RequestHead::asks_to_send)
            .then(|| upload.hold());
        let copy = shadow.take().map(|shadow| Intake::new(shadow, grpc));
        let (copy, completes) = copy.unzip();
        completion = completes;
        Outbound::Live(Tee::new(Rc::clone(upload), copy, tape.cloned()))
    } else {
        if side == Side::Legacy
            && let Some(candidate) = shadow.take()
        {
            asker.start(candidate);
        }
        Outbound::Empty
    };
    let upload = || progress.map_or(UploadState::Complete, |progress| progress.state());
    let replayable = progress.is_none() && subject.with_head(RequestHead::is_safe);
    let make = |body, wire, scheme: &Scheme| {
        let form = asker.form(side, wire, scheme);
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
    let service = asker.service(side);
    let sending = pin!(service.send(make, outbound, replayable, grpc));
    match asker.start_during(&mut completion, sending).await {
        // A 101 without an upgrade request is invalid, and so is an answer that cannot be passed on.
        Ok(sent)
            if sent.response.status() == StatusCode::SWITCHING_PROTOCOLS
                || framing::is_unusable(sent.response.status(), sent.response.headers()) =>
        {
            Err(NoAnswer::Fault(side, ServiceFault::Protocol).into())
        }
        Ok(mut sent) => {
            if side == Side::Legacy {
                worker.process().legacy_answers(true);
            }
            let waited = sent.at.saturating_duration_since(started);
            worker.meters().overhead(waited);
            // The other service gets a body that is already complete. To measure both in the same way, the time that the
            // service waited for the client's body is subtracted.
            let waited = progress.map(|progress| progress.waited());
            sent.at = (sent.at + waited.unwrap_or_default()).min(sent.head_at);
            Ok((sent, completion))
        }
        Err(_) if upload() == UploadState::ClientGone => Err(NoAnswer::ClientGone.into()),
        Err(upstream::NoAnswer { error, unsent }) => Err(Failed {
            why: no_answer(worker, side, &error),
            unsent: unsent.map(|body| Unsent {
                shadow: body.into_shadow(),
            }),
        }),
    }
}

/// Records that the legacy gave no answer, and returns what the client gets. The first failure in a row is logged as a
/// warning, later ones at debug level.
pub(crate) fn legacy_failed(
    worker: &Worker,
    error: &SendError,
) -> (StatusCode, &'static str, ClientOutcome) {
    let why = no_answer(worker, Side::Legacy, error);
    let (status, words) = why
        .answer()
        .unwrap_or((StatusCode::BAD_GATEWAY, own_answers::LEGACY_DOWN));
    (status, words, why.outcome())
}

fn no_answer(worker: &Worker, side: Side, error: &SendError) -> NoAnswer {
    // Of the candidate, whoever watches the rollout tells.
    let changed = side == Side::Legacy && worker.process().legacy_answers(false);
    let service = side.name();
    match error {
        SendError::Spared => tracing::debug!("no connection to spare"),
        SendError::Connect(error) => {
            let error = error.io();
            if changed {
                tracing::warn!(%error, "legacy cannot be reached; clients get 502");
            } else {
                tracing::debug!(%error, service, "a service cannot be reached");
            }
        }
        SendError::Broken(error) => {
            if changed {
                tracing::warn!(%error, "legacy broke before it answered; the client gets 502");
            } else {
                tracing::debug!(%error, service, "a service broke before it answered");
            }
        }
        // Not reached: only answers to shadows are limited.
        SendError::Flood => {
            tracing::debug!(service, "a service sent far more than its answer needed");
        }
    }
    // Only shadows are spared.
    NoAnswer::Fault(side, error.fault().unwrap_or(ServiceFault::Refused))
}
