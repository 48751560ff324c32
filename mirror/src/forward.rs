//! The client's path: from a parsed head to the legacy's answer. It waits for the legacy and for nothing else.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use http::header::{CONTENT_LENGTH, EXPECT};
use http::uri::Scheme;
use http::{Method, Request, Response, StatusCode, Version};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::ext;
use hyper::upgrade::OnUpgrade;
use parity_schemas::clients::ClientOutcome;
use parity_schemas::exchange::Omitted;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;

use crate::body::{Answer, Content, Outbound, Tee};
use crate::capture::Recorder;
use crate::client::{Busy, Client};
use crate::config::Mode;
use crate::connect::ConnectError;
use crate::generation::Generation;
use crate::headers::{self, Wire};
use crate::host;
use crate::link::Link;
use crate::observer::{ClientTicket, Ticket};
use crate::pending::{Form, Half, Head, Pending, Side};
use crate::relay::{Answered, Apart, Driven, Relay};
use crate::service::{SendError, Sent};
use crate::shadow;
use crate::tap::{self, Mirrored};
use crate::tunnel;
use crate::unread::{abandon, behind, last};
use crate::upload::{Progress, Upload};
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
    mut request: Request<Incoming>,
) -> Result<Response<Answer>, ClientGone> {
    let worker = Rc::clone(&client.worker);
    let version = request.version();
    if client.is_ourselves() {
        worker.metrics.refused();
        let answer = words::text(StatusCode::LOOP_DETECTED, words::OURSELVES, client.busy());
        return Ok(last(answer, version));
    }
    let mut offer = tunnel::offer(&mut request);
    let response = answer_to(&client, request, &mut offer).await?;
    if let Some(offer) = offer {
        tunnel::decline(client, offer);
    }
    if worker.draining.get() && response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(last(response, version));
    }
    Ok(response)
}

async fn answer_to(
    client: &Rc<Client>,
    request: Request<Incoming>,
    offer: &mut Option<OnUpgrade>,
) -> Result<Response<Answer>, ClientGone> {
    let started = Instant::now();
    let time = Timestamp::now();
    let mut busy = client.busy();
    busy.take_place().await;
    let generation = client.worker.generation();
    let wants_upgrade = headers::wants_upgrade(request.headers());
    let (parts, body) = request.into_parts();
    let version = parts.version;
    let upload = watched(client, body);
    let spelling = client.socket().and_then(|socket| socket.take_spelling());
    if let Err(fault) = host::check(&parts) {
        // Not received: like a head that hyper refuses to parse.
        client.worker.metrics.refused();
        let answer = words::text(StatusCode::BAD_REQUEST, words::for_host(fault), busy);
        return Ok(behind(client, version, upload, answer).await);
    }
    if headers::has_other_coding(&parts.headers) {
        // RFC 9112 §6.1 has this status for it. Where such a body ends is not certain, so nothing is read behind it.
        client.worker.metrics.refused();
        let answer = words::text(StatusCode::NOT_IMPLEMENTED, words::REFUSED_CODING, busy);
        return Ok(abandon(client, version, answer));
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
        return Ok(abandon(client, version, answer));
    }
    let policy = shadow::refusal(&generation, ticket.route(), &parts.method, &parts.headers);
    let head = Head {
        method: parts.method,
        uri: parts.uri,
        spelling,
        headers: parts.headers,
        version: parts.version,
        peer: Rc::clone(&client.peer),
    };
    if generation.mode == Mode::Tap {
        let mirrored = Mirrored {
            ticket,
            client_ticket,
            head,
            upload,
            policy: policy.or_else(|| wants_upgrade.then_some(Reason::Upgrade)),
            time,
        };
        return tap::serve(&generation, mirrored, busy).await;
    }
    if wants_upgrade {
        let answer = if upload.is_some() {
            // Where the body would end and the other protocol begin is for two parsers to disagree about.
            let answer = refuse(
                &ticket,
                client_ticket,
                StatusCode::BAD_REQUEST,
                words::REFUSED_UPGRADE,
                busy,
            );
            behind(client, version, upload, answer).await
        } else {
            tunnel::open(
                client,
                &generation,
                &ticket,
                client_ticket,
                &head,
                offer,
                busy,
            )
            .await
        };
        ticket.not_compared(policy.unwrap_or(Reason::Upgrade));
        return Ok(answer);
    }
    let at_least = upload.as_ref().map_or(0, |body| body.size_hint().lower());
    let too_large = at_least > generation.limits.body as u64;
    let refusal = policy.or_else(|| too_large.then_some(Reason::RequestTooLarge));
    let route = ticket.route().clone();
    let (subject, candidate) = if let Some(reason) = refusal {
        ticket.not_compared(reason);
        (Subject::Alone(Box::new(head)), None)
    } else {
        let (legacy, candidate) = Pending::open(&generation, ticket, head, time);
        (Subject::Shadowed(legacy), Some(candidate))
    };

    let sent = send(&generation, &subject, upload.as_ref(), candidate, started).await;
    let sent = match sent {
        Ok(sent) => sent,
        Err(failure) => {
            if let Subject::Shadowed(half) = subject {
                half.fail(failure.reason());
            }
            client_ticket.end(failure.outcome());
            let (status, words) = failure.answer().ok_or(ClientGone)?;
            generation.observer.answered(&route, status.as_u16());
            let answer = words::text(status, words, busy);
            return Ok(behind(client, version, upload, answer).await);
        }
    };
    generation
        .observer
        .answered(&route, sent.response.status().as_u16());
    let answered = LegacyAnswer {
        sent,
        client_ticket,
        upload,
    };
    Ok(answer(client, &generation, subject, answered, busy))
}

/// The body of a request, if it has one. Where it has none, the client has said all and waits.
fn watched(client: &Client, body: Incoming) -> Option<Rc<Progress>> {
    if body.is_end_stream() {
        if let Some(socket) = client.socket() {
            socket.await_answer();
        }
        return None;
    }
    let upload = Progress::new(body, client.socket());
    client.watch(&upload);
    Some(upload)
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

/// Sends the request to the legacy and, when it is complete, to the candidate.
///
/// A client that asks whether to send its body (`Expect: 100-continue`) is answered by the legacy, which is asked the
/// same: its 100 lets the body come, a final answer is passed on without one. HTTP/2 cannot be asked so: hyper does
/// not tell of interim answers there, and a legacy by it has a while to refuse.
async fn send(
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

/// The head of the legacy's answer, and what is still open of its request.
struct LegacyAnswer {
    sent: Sent,
    client_ticket: ClientTicket,
    /// The request's body, if it has one.
    upload: Option<Rc<Progress>>,
}

/// The legacy's answer for the client, and what is kept of it.
fn answer(
    client: &Client,
    generation: &Rc<Generation>,
    subject: Subject,
    answered: LegacyAnswer,
    busy: Busy,
) -> Response<Answer> {
    let LegacyAnswer {
        sent,
        client_ticket,
        upload,
    } = answered;
    let Sent {
        response,
        link,
        at,
        head_at,
    } = sent;
    let version = subject.with_head(|head| head.version);
    let early = upload.filter(|upload| upload.upload() == Upload::Running);
    // Whether the legacy reads the rest is its own affair, and not known yet.
    let ends_here = early
        .as_ref()
        .is_some_and(|rest| link.wire() == Wire::Http2 || !rest.has_little_left());
    // The length of an answer that has no body: HTTP/2 needs no help to send it, and HEAD is hyper's to know.
    let keeps_length =
        subject.with_head(|head| head.method != Method::HEAD && head.version != Version::HTTP_2);
    let recorder = match subject {
        Subject::Alone(_) => None,
        Subject::Shadowed(half) => {
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let is_stream = headers::is_stream(&headers) && !response.body().is_end_stream();
            let mut recorder = Recorder::new(half, status, headers, at, head_at);
            if is_stream {
                // The half ends here, not with the stream: that ends when the client has had enough.
                recorder.omit(Omitted::Stream);
                recorder.complete(at.elapsed());
                None
            } else {
                Some(recorder)
            }
        }
    };
    let driven = match (early, link) {
        // A client that is answered before it was told to send has nothing to send any more.
        (Some(upload), Link::Own(link)) if !upload.is_held() => {
            if !ends_here && version != Version::HTTP_2 {
                upload.promise();
            }
            Driven::Apart(Apart::drive(generation, link, upload))
        }
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
    let answer = relay(generation, response, passed);
    if ends_here {
        abandon(client, version, answer)
    } else {
        answer
    }
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
