//! The client's path: from a parsed head to the legacy's answer. It waits for the legacy and for nothing else.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode, Version};
use http_body::Body as _;
use hyper::body::Incoming;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;

use crate::body::{Answer, Content, Outbound, Tee, Upload};
use crate::capture::Recorder;
use crate::client::{Busy, Client};
use crate::connect::ConnectError;
use crate::headers;
use crate::observer::Ticket;
use crate::pending::{Half, Head, Pending};
use crate::relay::{Apart, Driven, Relay};
use crate::service::{SendError, Sent};
use crate::shadow;
use crate::tunnel;
use crate::worker::Worker;

/// There is nobody to answer: the connection is closed without a word.
#[derive(Debug, thiserror::Error)]
#[error("the client left before its request was complete")]
pub(crate) struct ClientGone;

/// Serves one request.
pub(crate) async fn serve(
    client: Rc<Client>,
    mut request: Request<Incoming>,
) -> Result<Response<Answer>, ClientGone> {
    let started = Instant::now();
    let time = Timestamp::now();
    let busy = client.busy();
    let worker = &client.worker;
    let route = worker
        .routes
        .borrow_mut()
        .resolve(request.method(), request.uri().path());
    let ticket = Ticket::receive(worker, route);

    if request.method() == Method::CONNECT {
        // A tunnel to where the client says would make a forward proxy of us; the legacy is not asked either.
        let answer = refuse(&ticket, StatusCode::NOT_IMPLEMENTED, busy);
        ticket.not_compared(Reason::UnsafeMethod);
        return Ok(answer);
    }
    let policy = shadow::refusal(worker, ticket.route(), request.method());
    let wants_upgrade = headers::wants_upgrade(request.headers());
    let upgrade = wants_upgrade.then(|| hyper::upgrade::on(&mut request));
    let (parts, body) = request.into_parts();
    let head = Head {
        method: parts.method,
        uri: parts.uri,
        headers: parts.headers,
        version: parts.version,
        client: client.address.clone(),
    };
    if let Some(upgrade) = upgrade {
        let has_body = !body.is_end_stream();
        let answer = if has_body {
            // Where the body would end and the other protocol begin is for two parsers to disagree about.
            refuse(&ticket, StatusCode::BAD_REQUEST, busy)
        } else {
            tunnel::open(&client, &ticket, &head, upgrade, busy).await
        };
        ticket.not_compared(policy.unwrap_or(Reason::Upgrade));
        return Ok(answer);
    }
    let too_large = body.size_hint().lower() > worker.shared.limits.body as u64;
    let refusal = policy.or_else(|| too_large.then_some(Reason::RequestTooLarge));
    let route = ticket.route().clone();
    let (subject, candidate) = if let Some(reason) = refusal {
        ticket.not_compared(reason);
        (Subject::Alone(Box::new(head)), None)
    } else {
        let (legacy, candidate) = Pending::open(worker, ticket, head, time);
        (Subject::Shadowed(legacy), Some(candidate))
    };

    let sent = send(worker, &subject, body, candidate, started).await;
    let (sent, upload) = match sent {
        Ok(sent) => sent,
        Err(failure) => {
            if let Subject::Shadowed(half) = subject {
                half.fail(failure.reason());
            }
            let status = failure.status().ok_or(ClientGone)?;
            worker.observer.answered(&route, status.as_u16());
            return Ok(text(status, busy));
        }
    };
    worker
        .observer
        .answered(&route, sent.response.status().as_u16());
    Ok(answer(worker, subject, sent, upload, busy))
}

/// A request on the client's path, with or without a shadow.
enum Subject {
    Alone(Box<Head>),
    Shadowed(Half),
}

impl Subject {
    fn with_head<T>(&self, read: impl FnOnce(&Head) -> T) -> T {
        match self {
            Self::Alone(head) => read(head),
            Self::Shadowed(half) => read(&half.pending.head.borrow()),
        }
    }
}

/// Why the client does not get the legacy's answer.
enum Failure {
    ClientGone,
    TimedOut,
    Unreachable,
}

impl Failure {
    fn reason(&self) -> Reason {
        match self {
            Self::ClientGone => Reason::ClientAborted,
            Self::TimedOut => Reason::LegacyTimeout,
            Self::Unreachable => Reason::LegacyUnreachable,
        }
    }

    fn status(&self) -> Option<StatusCode> {
        match self {
            Self::ClientGone => None,
            Self::TimedOut => Some(StatusCode::GATEWAY_TIMEOUT),
            Self::Unreachable => Some(StatusCode::BAD_GATEWAY),
        }
    }
}

/// Sends the request to the legacy and, when it is complete, to the candidate.
async fn send(
    worker: &Rc<Worker>,
    subject: &Subject,
    body: Incoming,
    candidate: Option<Half>,
    started: Instant,
) -> Result<(Sent, Upload), Failure> {
    let service = &worker.legacy;
    let mut progress = None;
    let outbound = if body.is_end_stream() {
        if let Some(candidate) = candidate {
            shadow::start(candidate);
        }
        Outbound::Empty
    } else {
        let shared = Rc::new(Cell::new(Upload::Running));
        progress = Some(Rc::clone(&shared));
        Outbound::Live(Tee::new(body, candidate, shared))
    };
    let upload = || progress.as_deref().map_or(Upload::Complete, Cell::get);
    let replayable = progress.is_none() && subject.with_head(Head::is_idempotent);
    let make = |body| subject.with_head(|head| head.request(&service.connector, body));
    match service.send(make, outbound, replayable).await {
        // An answer to an upgrade that nobody asked for is none.
        Ok(sent) if sent.response.status() == StatusCode::SWITCHING_PROTOCOLS => {
            Err(Failure::Unreachable)
        }
        Ok(sent) => {
            worker.shared.legacy_answers(true);
            let waited = sent.at.saturating_duration_since(started);
            worker.metrics.overhead(waited);
            Ok((sent, upload()))
        }
        Err(_) if upload() == Upload::ClientGone => Err(Failure::ClientGone),
        Err(error) => Err(unreachable(worker, &error)),
    }
}

/// Tells of a legacy that does not answer: loudly when it stops, quietly while it stays so.
pub(crate) fn legacy_failed(worker: &Worker, error: &SendError) -> StatusCode {
    unreachable(worker, error)
        .status()
        .unwrap_or(StatusCode::BAD_GATEWAY)
}

fn unreachable(worker: &Worker, error: &SendError) -> Failure {
    let changed = worker.shared.legacy_answers(false);
    match error {
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
    }
    match error {
        SendError::Connect(ConnectError::TimedOut(_)) => Failure::TimedOut,
        _ => Failure::Unreachable,
    }
}

/// The legacy's answer for the client, and what is kept of it.
fn answer(
    worker: &Rc<Worker>,
    subject: Subject,
    sent: Sent,
    upload: Upload,
    busy: Busy,
) -> Response<Answer> {
    let Sent { response, link, at } = sent;
    let is_head_request = subject.with_head(|head| head.method == Method::HEAD);
    let recorder = match subject {
        Subject::Alone(_) => None,
        Subject::Shadowed(half) if headers::is_stream(response.headers()) => {
            // The half ends here, not with the stream: that ends when the client has had enough.
            half.fail(Reason::Stream);
            None
        }
        Subject::Shadowed(half) => Some(Recorder::new(
            half,
            response.status().as_u16(),
            response.headers().clone(),
            at,
        )),
    };
    let driven = if upload == Upload::Running {
        Driven::Apart(Apart::drive(worker, link))
    } else {
        Driven::Here(link)
    };
    relay(
        worker,
        response,
        driven,
        recorder,
        at,
        is_head_request,
        busy,
    )
}

/// Passes an answer on from its head.
pub(crate) fn relay(
    worker: &Rc<Worker>,
    response: Response<Incoming>,
    driven: Driven,
    recorder: Option<Recorder>,
    sent: Instant,
    is_head_request: bool,
    busy: Busy,
) -> Response<Answer> {
    let (mut parts, incoming) = response.into_parts();
    headers::strip_answer(&mut parts.headers);
    // The client's connection has a version of its own; hyper lowers it for a client of HTTP/1.0.
    parts.version = Version::HTTP_11;
    let bodiless = incoming.is_end_stream();
    let mut relay = Relay::new(worker, incoming, driven, recorder, sent);
    let content = if bodiless {
        // hyper will not ask a body that has ended, so the end is told here.
        relay.finish();
        match framed_length(&parts, is_head_request) {
            Some(length) => Content::Framed(length),
            None => Content::Empty,
        }
    } else {
        Content::Relay(relay)
    };
    Response::from_parts(parts, Answer::new(content, busy))
}

/// The `Content-Length` of a 304, which hyper would drop from an answer that has no body.
fn framed_length(parts: &http::response::Parts, is_head_request: bool) -> Option<u64> {
    if parts.status != StatusCode::NOT_MODIFIED || is_head_request {
        return None;
    }
    let value = parts.headers.get(CONTENT_LENGTH)?;
    value.to_str().ok()?.parse().ok()
}

/// Our own answer to what is never passed on.
fn refuse(ticket: &Ticket, status: StatusCode, busy: Busy) -> Response<Answer> {
    ticket.answered(status);
    text(status, busy)
}

/// A few words of ours, told apart from the legacy's by their first one.
pub(crate) fn text(status: StatusCode, busy: Busy) -> Response<Answer> {
    const REFUSED_CONNECT: &str = "parity: CONNECT is not supported\n";
    const REFUSED_UPGRADE: &str = "parity: a request to upgrade must not have a body\n";
    const LEGACY_TIMEOUT: &str =
        "parity: the legacy service did not accept the connection in time\n";
    const LEGACY_DOWN: &str = "parity: the legacy service did not answer\n";
    let words = match status {
        StatusCode::NOT_IMPLEMENTED => REFUSED_CONNECT,
        StatusCode::BAD_REQUEST => REFUSED_UPGRADE,
        StatusCode::GATEWAY_TIMEOUT => LEGACY_TIMEOUT,
        _ => LEGACY_DOWN,
    };
    let content = Content::Text(Bytes::from_static(words.as_bytes()));
    let mut response = Response::new(Answer::new(content, busy));
    *response.status_mut() = status;
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}
