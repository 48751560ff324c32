//! The client's path: from a parsed head to the legacy's answer. It waits for the legacy and for nothing else.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use http::header::{CONNECTION, CONTENT_LENGTH};
use http::uri::Scheme;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version};
use http_body::Body as _;
use hyper::body::Incoming;
use parity_schemas::clients::ClientOutcome;
use parity_schemas::route::Route;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;

use crate::body::{Answer, Content, Outbound, Progress, Tee, Upload};
use crate::capture::Recorder;
use crate::client::{Busy, Client};
use crate::config::Mode;
use crate::connect::ConnectError;
use crate::generation::Generation;
use crate::headers;
use crate::host;
use crate::link::Link;
use crate::observer::{ClientTicket, Ticket};
use crate::pending::{Form, Half, Head, Pending, Side};
use crate::relay::{Answered, Apart, Driven, Relay};
use crate::service::{SendError, Sent};
use crate::shadow;
use crate::tap::{self, Mirrored};
use crate::tunnel;
use crate::words;
use crate::worker::Worker;

/// There is nobody to answer: the connection is closed without a word.
#[derive(Debug, thiserror::Error)]
#[error("the client left before its request was complete")]
pub(crate) struct ClientGone;

/// Serves one request. While draining the answer says that it is the last one on its connection: a client learns it
/// before it sends another request.
pub(crate) async fn serve(
    client: Rc<Client>,
    request: Request<Incoming>,
) -> Result<Response<Answer>, ClientGone> {
    let worker = Rc::clone(&client.worker);
    let version = request.version();
    let response = answer_to(client, request).await?;
    if worker.draining.get() && response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(last(response, version));
    }
    Ok(response)
}

async fn answer_to(
    client: Rc<Client>,
    mut request: Request<Incoming>,
) -> Result<Response<Answer>, ClientGone> {
    let started = Instant::now();
    let time = Timestamp::now();
    let mut busy = client.busy();
    busy.take_place().await;
    let generation = client.worker.generation();
    let wants_upgrade = headers::wants_upgrade(request.headers());
    let upgrade = wants_upgrade.then(|| hyper::upgrade::on(&mut request));
    let (parts, body) = request.into_parts();
    if let Some((status, words)) = unreceivable(&parts) {
        // Not received: like a head that hyper refuses to parse.
        client.worker.metrics.refused();
        let answer = words::text(status, words, busy);
        // Where a body in an unknown coding ends is not certain, so nothing is read behind it.
        return Ok(match status {
            StatusCode::NOT_IMPLEMENTED => last(answer, parts.version),
            _ => answer,
        });
    }
    let route = generation
        .routes
        .borrow_mut()
        .resolve(&parts.method, parts.uri.path());
    let (ticket, client_ticket) = Ticket::receive(&generation, route);
    if parts.method == Method::CONNECT {
        // A tunnel to where the client says would make a forward proxy of us; the legacy is not asked either.
        let answer = refuse(
            &ticket,
            client_ticket,
            StatusCode::NOT_IMPLEMENTED,
            words::REFUSED_CONNECT,
            busy,
        );
        ticket.not_compared(Reason::UnsafeMethod);
        // What a client sends behind it in the hope of a tunnel may be somebody else's bytes (RFC 9931).
        return Ok(last(answer, parts.version));
    }
    let policy = shadow::refusal(&generation, ticket.route(), &parts.method, &parts.headers);
    let head = Head {
        method: parts.method,
        uri: parts.uri,
        headers: parts.headers,
        version: parts.version,
        peer: Rc::clone(&client.peer),
    };
    if generation.mode == Mode::Tap {
        let mirrored = Mirrored {
            ticket,
            client_ticket,
            head,
            body,
            policy: policy.or_else(|| wants_upgrade.then_some(Reason::Upgrade)),
            time,
        };
        return tap::serve(&client, &generation, mirrored, busy).await;
    }
    if let Some(upgrade) = upgrade {
        let has_body = !body.is_end_stream();
        let answer = if has_body {
            // Where the body would end and the other protocol begin is for two parsers to disagree about.
            refuse(
                &ticket,
                client_ticket,
                StatusCode::BAD_REQUEST,
                words::REFUSED_UPGRADE,
                busy,
            )
        } else {
            tunnel::open(
                &client,
                &generation,
                &ticket,
                client_ticket,
                &head,
                upgrade,
                busy,
            )
            .await
        };
        ticket.not_compared(policy.unwrap_or(Reason::Upgrade));
        return Ok(answer);
    }
    let too_large = body.size_hint().lower() > generation.limits.body as u64;
    let refusal = policy.or_else(|| too_large.then_some(Reason::RequestTooLarge));
    let route = ticket.route().clone();
    let (subject, candidate) = if let Some(reason) = refusal {
        ticket.not_compared(reason);
        (Subject::Alone(Box::new(head)), None)
    } else {
        let (legacy, candidate) = Pending::open(&generation, ticket, head, time);
        (Subject::Shadowed(legacy), Some(candidate))
    };

    let sent = send(&client, &generation, &subject, body, candidate, started).await;
    conclude(&generation, &route, client_ticket, subject, sent, busy)
}

/// What is said to a head that does not count as received.
fn unreceivable(parts: &http::request::Parts) -> Option<(StatusCode, &'static str)> {
    if let Err(fault) = host::check(parts) {
        return Some((StatusCode::BAD_REQUEST, words::for_host(fault)));
    }
    // RFC 9112 §6.1 has this status for it.
    headers::has_other_coding(&parts.headers)
        .then_some((StatusCode::NOT_IMPLEMENTED, words::REFUSED_CODING))
}

/// What the client gets when the legacy has answered, or will not.
fn conclude(
    generation: &Rc<Generation>,
    route: &Arc<Route>,
    client_ticket: ClientTicket,
    subject: Subject,
    sent: Result<(Sent, Option<Rc<Progress>>), Failure>,
    busy: Busy,
) -> Result<Response<Answer>, ClientGone> {
    let (sent, upload) = match sent {
        Ok(sent) => sent,
        Err(failure) => {
            if let Subject::Shadowed(half) = subject {
                half.fail(failure.reason());
            }
            client_ticket.end(failure.outcome());
            let (status, words) = failure.answer().ok_or(ClientGone)?;
            generation.observer.answered(route, status.as_u16());
            return Ok(words::text(status, words, busy));
        }
    };
    generation
        .observer
        .answered(route, sent.response.status().as_u16());
    Ok(answer(
        generation,
        subject,
        client_ticket,
        sent,
        upload,
        busy,
    ))
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
    /// It answered, but with what is no HTTP, or too much of it.
    Wrong,
}

impl Failure {
    fn reason(&self) -> Reason {
        match self {
            Self::ClientGone => Reason::ClientAborted,
            Self::TimedOut => Reason::LegacyTimeout,
            Self::Unreachable | Self::Wrong => Reason::LegacyUnreachable,
        }
    }

    /// What became of the client.
    fn outcome(&self) -> ClientOutcome {
        match self {
            Self::ClientGone => ClientOutcome::ClientAborted,
            Self::TimedOut => ClientOutcome::LegacyTimeout,
            Self::Unreachable | Self::Wrong => ClientOutcome::LegacyUnreachable,
        }
    }

    /// What the client is told, if it is there.
    fn answer(&self) -> Option<(StatusCode, &'static str)> {
        match self {
            Self::ClientGone => None,
            Self::TimedOut => Some((StatusCode::GATEWAY_TIMEOUT, words::LEGACY_TIMEOUT)),
            Self::Unreachable => Some((StatusCode::BAD_GATEWAY, words::LEGACY_DOWN)),
            Self::Wrong => Some((StatusCode::BAD_GATEWAY, words::LEGACY_WRONG)),
        }
    }
}

/// Sends the request to the legacy and, when it is complete, to the candidate. The body's progress is given back if
/// it has not ended.
async fn send(
    client: &Rc<Client>,
    generation: &Rc<Generation>,
    subject: &Subject,
    body: Incoming,
    candidate: Option<Half>,
    started: Instant,
) -> Result<(Sent, Option<Rc<Progress>>), Failure> {
    let service = &generation.legacy;
    let grpc = subject.with_head(Head::is_grpc);
    let mut progress = None;
    let outbound = if body.is_end_stream() {
        if let Some(candidate) = candidate {
            shadow::start(candidate, Side::Candidate);
        }
        Outbound::Empty
    } else {
        let shared = Progress::new();
        client.watch(&shared);
        progress = Some(Rc::clone(&shared));
        Outbound::Live(Tee::new(body, candidate, shared, grpc))
    };
    let upload = || {
        progress
            .as_ref()
            .map_or(Upload::Complete, |progress| progress.upload())
    };
    let replayable = progress.is_none() && subject.with_head(Head::is_idempotent);
    let make = |body, wire, scheme: &Scheme| {
        let form = Form {
            service,
            forwarding: &generation.forwarding,
            wire,
            scheme,
        };
        subject.with_head(|head| head.request(&form, body))
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
            let waited = progress.as_ref().map(|progress| progress.waited());
            sent.at = (sent.at + waited.unwrap_or_default()).min(sent.head_at);
            let running = upload() == Upload::Running;
            Ok((sent, progress.filter(|_| running)))
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
        SendError::Exchange(error) if error.is_parse() => Failure::Wrong,
        _ => Failure::Unreachable,
    }
}

/// The legacy's answer for the client, and what is kept of it.
fn answer(
    generation: &Rc<Generation>,
    subject: Subject,
    client_ticket: ClientTicket,
    sent: Sent,
    upload: Option<Rc<Progress>>,
    busy: Busy,
) -> Response<Answer> {
    let Sent {
        response,
        link,
        at,
        head_at,
    } = sent;
    // The length of an answer that has no body: HTTP/2 needs no help to send it, and HEAD is hyper's to know.
    let keeps_length =
        subject.with_head(|head| head.method != Method::HEAD && head.version != Version::HTTP_2);
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
            head_at,
        )),
    };
    let driven = match (upload, link) {
        (Some(upload), Link::Own(link)) => Driven::Apart(Apart::drive(generation, link, upload)),
        (_, link) => Driven::Here(link),
    };
    let passed = Passed {
        driven,
        recorder,
        client_ticket,
        sent: at,
        head_at,
        keeps_length,
        busy,
    };
    relay(generation, response, passed)
}

/// An answer on its way, apart from itself.
pub(crate) struct Passed {
    pub(crate) driven: Driven,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) client_ticket: ClientTicket,
    pub(crate) sent: Instant,
    pub(crate) head_at: Instant,
    /// Whether the `Content-Length` of a 304 must be kept by us.
    pub(crate) keeps_length: bool,
    pub(crate) busy: Busy,
}

/// Passes an answer on from its head.
pub(crate) fn relay(
    generation: &Rc<Generation>,
    response: Response<Incoming>,
    passed: Passed,
) -> Response<Answer> {
    let (mut parts, incoming) = response.into_parts();
    headers::strip_answer(&mut parts.headers);
    generation.forwarding.via(&mut parts.headers, parts.version);
    // The client's connection has a version of its own; hyper lowers it for a client of HTTP/1.0.
    parts.version = Version::HTTP_11;
    let bodiless = incoming.is_end_stream();
    let Passed {
        driven,
        recorder,
        client_ticket,
        sent,
        head_at,
        keeps_length,
        busy,
    } = passed;
    let answered = Answered {
        client_ticket,
        status: parts.status.as_u16(),
        sent,
        head_at,
    };
    let mut relay = Relay::new(generation, incoming, driven, recorder, answered);
    let content = if bodiless {
        // hyper will not ask a body that has ended, so the end is told here.
        relay.finish();
        let length = keeps_length.then(|| framed_length(&parts)).flatten();
        length.map_or(Content::Empty, Content::Framed)
    } else {
        Content::Relay(relay)
    };
    Response::from_parts(parts, Answer::new(content, busy))
}

/// The `Content-Length` of a 304, which hyper would drop from an answer that has no body.
fn framed_length(parts: &http::response::Parts) -> Option<u64> {
    if parts.status != StatusCode::NOT_MODIFIED {
        return None;
    }
    let value = parts.headers.get(CONTENT_LENGTH)?;
    value.to_str().ok()?.parse().ok()
}

/// Makes an answer the last one on its connection, whatever the client has sent behind its request. HTTP/2 has no behind,
/// and says by itself when a connection ends.
fn last(mut answer: Response<Answer>, version: Version) -> Response<Answer> {
    if version != Version::HTTP_2 {
        answer
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

/// Our own answer to what is never passed on.
fn refuse(
    ticket: &Ticket,
    client_ticket: ClientTicket,
    status: StatusCode,
    words: &'static str,
    busy: Busy,
) -> Response<Answer> {
    ticket.answered(status);
    client_ticket.end(ClientOutcome::Refused);
    words::text(status, words, busy)
}
