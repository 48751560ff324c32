//! Serves one client request, from its parsed head to its answer. It waits only for the legacy; for the candidate, too, where
//! a rollout says that the candidate serves the client.
//!
//! This module decides what happens to each request: refused, tapped, tunnelled, forwarded only, or forwarded and
//! compared. Each of these has its own module.

mod passed;
mod rolled;

use std::rc::Rc;
use std::time::Instant;

use http::{Method, Request, Response, StatusCode, request};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use parity_schemas::clients::ClientOutcome;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;

use crate::exchange::{self, Ask, Asker, BodyAhead, Pending, Received, RequestHead, Side, Ticket};
use crate::framing;
use crate::headers;
use crate::proxy::answer::Answer;
use crate::proxy::client::{Busy, Client};
use crate::proxy::config::Mode;
use crate::proxy::generation::{Generation, Rolling};
use crate::proxy::host;
use crate::proxy::outbound::Outbound;
use crate::proxy::overdue::Rolled;
use crate::proxy::own_answers;
use crate::proxy::serving::{self, NoAnswer, Subject};
use crate::proxy::tap::{self, Mirrored};
use crate::proxy::tape::Tape;
use crate::proxy::ticket::ClientTicket;
use crate::proxy::tunnel;
use crate::proxy::unread::{close_after, close_unread, finish_or_close};
use crate::proxy::upload::{ClientGone, Upload};
use crate::proxy::waiting::Waiting;
use crate::spelling::Spelling;

/// Serves one request. While draining, the answer says that it is the last one on its connection, so that the client
/// sends no other request.
pub(crate) async fn serve(
    client: Rc<Client>,
    mut request: Request<Incoming>,
) -> Result<Response<Answer>, ClientGone> {
    let worker = Rc::clone(client.worker());
    let version = request.version();
    let is_head = request.method() == Method::HEAD;
    if client.is_ourselves() {
        worker.meters().refused();
        let answer = own_answers::text(
            StatusCode::LOOP_DETECTED,
            own_answers::OURSELVES,
            client.busy(),
        );
        return Ok(close_after(fit(answer, is_head), version));
    }
    let mut offer = tunnel::offer(&mut request);
    let response = fit(answer_to(&client, request, &mut offer).await?, is_head);
    if let Some(offer) = offer {
        tunnel::decline(client, offer);
    }
    if worker.is_draining() && response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(close_after(response, version));
    }
    Ok(response)
}

/// Removes the body from our own answer to HEAD: hyper does not do it on HTTP/2.
fn fit(answer: Response<Answer>, is_head: bool) -> Response<Answer> {
    if is_head {
        own_answers::without_body(answer)
    } else {
        answer
    }
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
    let generation = client.worker().generation();
    let wants_upgrade = headers::wants_upgrade(request.headers());
    let (parts, body) = request.into_parts();
    let version = parts.version;
    let upload = watched(client, body);
    // Taken even if this request is refused; otherwise the next request would get it.
    let spelling = client
        .http1_socket()
        .and_then(|socket| socket.take_spelling());
    if let Err(fault) = host::check(&parts) {
        // Like a head that hyper cannot parse, it does not count as received.
        client.worker().meters().refused();
        let answer = own_answers::text(StatusCode::BAD_REQUEST, own_answers::for_host(fault), busy);
        return Ok(finish_or_close(client, version, upload, answer).await);
    }
    if framing::has_other_coding(&parts.headers) {
        // The status is from RFC 9112 §6.1. The end of such a body is uncertain, so nothing after it is read.
        client.worker().meters().refused();
        let status = StatusCode::NOT_IMPLEMENTED;
        let answer = own_answers::text(status, own_answers::REFUSED_CODING, busy);
        return Ok(close_unread(client, version, answer));
    }
    let route = generation.route(&parts.method, &parts.uri, spelling.as_ref());
    let at_least = upload.as_ref().map_or(0, |body| body.size_hint().lower());
    let too_large = at_least > generation.limits().body as u64;
    let body = match upload {
        None => BodyAhead::None,
        Some(_) if too_large || wants_upgrade => BodyAhead::Unread,
        Some(_) => BodyAhead::Readable,
    };
    let Received {
        mut ticket,
        refusal,
        has_effect,
    } = exchange::receive(generation.terms(), route, &parts, body);
    let mut client_ticket = ClientTicket::beside(&ticket);
    if parts.method == Method::CONNECT {
        // A tunnel to any host that the client names would make this a forward proxy. The legacy does not get the
        // request either.
        let status = StatusCode::NOT_IMPLEMENTED;
        let answer = refuse(client_ticket, status, own_answers::REFUSED_CONNECT, busy);
        ticket.not_compared(Reason::UnsafeMethod);
        // Bytes that follow it, meant for the tunnel, may be under somebody else's control (RFC 9931).
        return Ok(close_unread(client, version, answer));
    }
    let head = received(client, parts, (spelling, has_effect));
    let what = (time, upload.is_some(), wants_upgrade);
    let tape = taped(&generation, &ticket, &head, what);
    if generation.mode() == Mode::Tap {
        let mirrored = Mirrored {
            ticket,
            client_ticket,
            head,
            upload,
            refusal: refusal.or_else(|| wants_upgrade.then_some(Reason::Upgrade)),
            time,
            tape,
        };
        return tap::serve(generation.asker(), mirrored, busy).await;
    }
    if wants_upgrade {
        let answer = if upload.is_some() {
            // Two parsers could disagree about where the body ends and the other protocol begins.
            let status = StatusCode::BAD_REQUEST;
            let answer = refuse(client_ticket, status, own_answers::REFUSED_UPGRADE, busy);
            finish_or_close(client, version, upload, answer).await
        } else {
            tunnel::open(
                client,
                generation.asker(),
                client_ticket,
                &head,
                offer,
                busy,
            )
            .await
        };
        ticket.not_compared(refusal.unwrap_or(Reason::Upgrade));
        return Ok(answer);
    }
    let refusal = refusal.or_else(|| too_large.then_some(Reason::RequestTooLarge));
    let rolling = generation.rolling();
    let counts = rolling.is_some_and(|rolling| rolling.takes(&head, refusal, upload.is_some()));
    let tickets = (&mut ticket, &mut client_ticket);
    let rolled = rolled_by(rolling.filter(|_| counts), &head, refusal, tickets);
    let (subject, mut shadow) = asks(ticket, head, (time, refusal), rolled.is_some());
    let open = OpenRequest {
        subject,
        client_ticket,
        upload,
        tape,
        busy,
        counts,
        rolled,
        stands_in: false,
    };
    if let (Some(rolling), Some(_)) = (rolling, rolled) {
        // Apart, so that its state takes no space in the task of a client where there is no rollout.
        let served = rolled::serve(client, &generation, rolling, open, shadow, started);
        return Box::pin(served).await;
    }
    by_legacy(client, generation.asker(), open, &mut shadow, started).await
}

/// Whom the candidate serves by a request that it may serve. How both services answer is counted with the one of the tickets that will
/// know: that of the comparison, or where there is none that of the client.
fn rolled_by(
    rolling: Option<&Rolling>,
    head: &RequestHead,
    refusal: Option<Reason>,
    (ticket, client_ticket): (&mut Ticket, &mut ClientTicket),
) -> Option<Rolled> {
    let rolling = rolling?;
    let rolled = rolling.serves(head);
    let tried = rolling.tries(rolled.as_ref().map(|rolled| rolled.client));
    match refusal {
        None => ticket.tries(tried),
        Some(_) => client_ticket.tries(tried),
    }
    rolled
}

/// What the client waits for, and the shadow of the other service unless there is none for a reason.
fn asks(
    ticket: Ticket,
    head: RequestHead,
    (time, refusal): (Timestamp, Option<Reason>),
    by_candidate: bool,
) -> (Subject, Option<Ask>) {
    if let Some(reason) = refusal {
        ticket.not_compared(reason);
        return (Subject::Alone(Box::new(head)), None);
    }
    let (legacy, candidate) = Pending::for_both(ticket, head, time);
    let (served, shadow) = if by_candidate {
        (candidate, legacy)
    } else {
        (legacy, candidate)
    };
    (Subject::Shadowed(served), Some(shadow))
}

/// Where a client of the legacy stands: nobody asks.
const OF_LEGACY: u64 = 0;

/// The legacy's answer, or our own if there is none.
async fn by_legacy(
    client: &Client,
    asker: &Rc<Asker<Outbound>>,
    open: OpenRequest,
    candidate: &mut Option<Ask>,
    started: Instant,
) -> Result<Response<Answer>, ClientGone> {
    let body = (open.upload.as_ref(), open.tape.as_ref());
    let worker = client.worker();
    let upload = open.upload.as_ref();
    let counts = (open.counts && !open.stands_in).then_some(OF_LEGACY);
    let waiting = Waiting::since(
        started,
        asker,
        (&open.subject, &open.client_ticket),
        upload,
        counts,
    );
    let sent = serving::send(worker, asker, &open.subject, body, candidate, started).await;
    waiting.ended();
    match sent {
        Ok((sent, completion)) => Ok(passed::answer(client, asker, open, sent, completion)),
        Err(failed) => {
            if open.counts && !matches!(failed.why, NoAnswer::ClientGone) {
                asker.serving().failed(Side::Legacy);
            }
            without_answer(client, open, &failed.why).await
        }
    }
}

/// Begins to record a request, if requests are recorded.
fn taped(
    generation: &Generation,
    ticket: &Ticket,
    head: &RequestHead,
    (time, has_body, wants_upgrade): (Timestamp, bool, bool),
) -> Option<Rc<Tape>> {
    let recorder = generation.recorder().filter(|_| !wants_upgrade)?;
    let limit = generation.limits().body;
    Tape::begin(recorder, ticket.route(), head, (time, has_body, limit))
}

/// The head of a request as the client sent it.
fn received(
    client: &Client,
    parts: request::Parts,
    (spelling, has_effect): (Option<Spelling>, bool),
) -> RequestHead {
    RequestHead {
        method: parts.method,
        uri: parts.uri,
        spelling,
        headers: parts.headers,
        keeps_buffer: client
            .http1_socket()
            .is_none_or(|socket| socket.has_large_buffer()),
        version: parts.version,
        has_effect,
        peer: Some(Rc::clone(client.peer())),
    }
}

/// A request that is sent to the service that serves it, and its unfinished parts.
struct OpenRequest {
    subject: Subject,
    client_ticket: ClientTicket,
    /// Its body, if it has one.
    upload: Option<Rc<Upload>>,
    tape: Option<Rc<Tape>>,
    busy: Busy,
    /// Whether it counts in a rollout.
    counts: bool,
    /// Where the candidate serves its client.
    rolled: Option<Rolled>,
    /// Whether its client has waited for the candidate before: how long it waits for the legacy in its place says nothing of that one.
    stands_in: bool,
}

/// Our own answer if no service gave one.
async fn without_answer(
    client: &Client,
    open: OpenRequest,
    why: &NoAnswer,
) -> Result<Response<Answer>, ClientGone> {
    let OpenRequest {
        subject,
        client_ticket,
        upload,
        busy,
        tape: _,
        counts: _,
        rolled: _,
        stands_in: _,
    } = open;
    let version = subject.with_head(|head| head.version);
    if let Subject::Shadowed(ask) = subject {
        ask.fail(why.reason());
    }
    let told = why.answer();
    if let Some((status, _)) = told {
        client_ticket.answered(status);
    }
    client_ticket.end(why.outcome());
    let (status, words) = told.ok_or(ClientGone)?;
    let answer = own_answers::text(status, words, busy);
    Ok(finish_or_close(client, version, upload, answer).await)
}

/// The body of a request, if it has one. If not, the request is complete and the client waits for the answer.
fn watched(client: &Client, body: Incoming) -> Option<Rc<Upload>> {
    if body.is_end_stream() {
        if let Some(socket) = client.http1_socket() {
            socket.await_answer();
        }
        return None;
    }
    let upload = Upload::new(body, client.http1_socket());
    client.watch_upload(&upload);
    Some(upload)
}

/// Our own answer to a request that is never forwarded.
fn refuse(
    client_ticket: ClientTicket,
    status: StatusCode,
    words: &'static str,
    busy: Busy,
) -> Response<Answer> {
    client_ticket.answered(status);
    client_ticket.end(ClientOutcome::Refused);
    own_answers::text(status, words, busy)
}
