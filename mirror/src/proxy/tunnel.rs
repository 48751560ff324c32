//! Protocol upgrades: WebSocket and whatever else the legacy accepts.
//!
//! Only the legacy gets them, on a connection that is never pooled, and nothing is tunnelled before its 101. Either
//! direction may end before the other. A tunnel has no idle time-out, because a quiet WebSocket is not a dead one; TCP
//! keep-alive detects peers that vanished. At shutdown tunnels have the drain time to end.

use std::rc::Rc;
use std::time::Instant;

use http::header::{CONNECTION, HeaderMap, HeaderValue, UPGRADE};
use http::uri::Scheme;
use http::{Method, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use parity_schemas::clients::ClientOutcome;
use tokio::io::AsyncWriteExt as _;

use crate::exchange::{Asker, RequestHead, Side};
use crate::framing;
use crate::headers::{self, Wire};
use crate::proxy::answer::{Answer, Content};
use crate::proxy::client::{Busy, Client};
use crate::proxy::outbound::Outbound;
use crate::proxy::overdue::Counted;
use crate::proxy::own_answers;
use crate::proxy::passing::{Passed, relay};
use crate::proxy::relay::Driven;
use crate::proxy::serving;
use crate::proxy::ticket::ClientTicket;
use crate::upstream::{AnswerBody, SendError};

/// Forwards an upgrade request to the legacy and its answer to the client; connects the two if the answer is 101.
pub(crate) async fn open(
    client: &Rc<Client>,
    asker: &Rc<Asker<Outbound>>,
    client_ticket: ClientTicket,
    head: &RequestHead,
    offer: &mut Option<OnUpgrade>,
    busy: Busy,
) -> Response<Answer> {
    let worker = client.worker();
    let sent = Instant::now();
    let mut response = match ask(client, asker, head).await {
        Ok(response) => response,
        Err(error) => {
            let (status, words, outcome) = serving::legacy_failed(worker, &error);
            client_ticket.answered(status);
            client_ticket.end(outcome);
            return own_answers::text(status, words, busy);
        }
    };
    worker.process().legacy_answers(true);
    if framing::is_unusable(response.status(), response.headers()) {
        client_ticket.answered(StatusCode::BAD_GATEWAY);
        client_ticket.end(ClientOutcome::LegacyUnreachable);
        return own_answers::text(StatusCode::BAD_GATEWAY, own_answers::LEGACY_WRONG, busy);
    }
    client_ticket.answered(response.status());
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let passed = Passed {
            driven: Driven::Separately,
            capturing: None,
            tape: None,
            client_ticket,
            sent,
            head_at: Instant::now(),
            is_head: head.method == Method::HEAD,
            keeps_length: head.method != Method::HEAD,
            busy,
            counted: Counted::No,
            rolled: None,
        };
        return relay(asker, response, passed);
    }
    let Some(client_side) = offer.take() else {
        // Not reached: hyper offers the socket with every upgrade request.
        client_ticket.end(ClientOutcome::Refused);
        return own_answers::text(StatusCode::BAD_GATEWAY, own_answers::LEGACY_WRONG, busy);
    };
    // What passes through the tunnel does not change the outcome.
    client_ticket.end(ClientOutcome::Informational);
    let legacy_side = hyper::upgrade::on(&mut response);
    if let Some(socket) = client.http1_socket() {
        socket.becomes_tunnel();
    }
    let holder = Rc::clone(client);
    worker.spawn(async move {
        join(client_side, legacy_side).await;
        // Until here the tunnel counts as a client connection.
        drop(holder);
    });
    let (mut parts, _) = response.into_parts();
    let protocols = take_protocols(&parts.headers);
    headers::strip_answer(parts.status, &mut parts.headers);
    put_protocols(&mut parts.headers, protocols);
    Response::from_parts(parts, Answer::new(Content::Empty, busy))
}

/// The socket of an upgrade request, as a future. hyper hands the socket over even if the upgrade is declined.
pub(crate) fn offer(request: &mut Request<Incoming>) -> Option<OnUpgrade> {
    let offers = request.headers().contains_key(UPGRADE) || request.method() == Method::CONNECT;
    (offers && request.version() != Version::HTTP_2).then(|| hyper::upgrade::on(request))
}

/// Takes the socket when a connection with a declined upgrade ends, and shuts it down as hyper does.
pub(crate) fn decline(client: Rc<Client>, offer: OnUpgrade) {
    let worker = Rc::clone(client.worker());
    worker.spawn(async move {
        // If a later request on the connection asked for an upgrade, this future fails.
        if let Ok(socket) = offer.await
            && let Err(error) = TokioIo::new(socket).shutdown().await
        {
            tracing::debug!(%error, "client connection ended");
        }
        drop(client);
    });
}

async fn ask(
    client: &Client,
    asker: &Asker<Outbound>,
    head: &RequestHead,
) -> Result<Response<AnswerBody>, SendError> {
    let make = |scheme: &Scheme| {
        let form = asker.form(Side::Legacy, Wire::Http1, scheme).encoded();
        let mut request = head.request(&form, Outbound::Empty);
        put_protocols(request.headers_mut(), take_protocols(&head.headers));
        request
    };
    let legacy = asker.service(Side::Legacy);
    legacy.upgrade(client.worker().tasks(), make).await
}

async fn join(client_side: OnUpgrade, legacy_side: OnUpgrade) {
    let joined = match tokio::try_join!(client_side, legacy_side) {
        Ok((client, legacy)) => {
            let (mut client, mut legacy) = (TokioIo::new(client), TokioIo::new(legacy));
            tokio::io::copy_bidirectional(&mut client, &mut legacy).await
        }
        Err(error) => {
            tracing::debug!(%error, "upgrade did not come about");
            return;
        }
    };
    match joined {
        Ok((sent, received)) => tracing::debug!(sent, received, "tunnel ended"),
        Err(error) => tracing::debug!(%error, "tunnel broke"),
    }
}

fn take_protocols(headers: &HeaderMap) -> Vec<HeaderValue> {
    headers.get_all(UPGRADE).iter().cloned().collect()
}

fn put_protocols(headers: &mut HeaderMap, protocols: Vec<HeaderValue>) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    for protocol in protocols {
        headers.append(UPGRADE, protocol);
    }
}
