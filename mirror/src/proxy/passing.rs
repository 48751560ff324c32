//! Turns the answer of the service that serves into the client's: the head without hop-by-hop headers, the body as a [`Relay`].

use std::rc::Rc;
use std::time::Instant;

use http::header::CONTENT_LENGTH;
use http::{Response, StatusCode, Version};
use http_body::Body as _;

use crate::exchange::{Asker, Capturing};
use crate::headers;
use crate::proxy::answer::{Answer, Content};
use crate::proxy::client::Busy;
use crate::proxy::outbound::Outbound;
use crate::proxy::overdue::{Counted, Rolled};
use crate::proxy::relay::{Answered, Driven, Relay};
use crate::proxy::tape::Tape;
use crate::proxy::ticket::ClientTicket;
use crate::upstream::AnswerBody;

/// What belongs to a forwarded answer, in addition to head and body.
pub(crate) struct Passed {
    pub(crate) driven: Driven,
    pub(crate) capturing: Option<Capturing>,
    /// Records the answer, if that is wanted.
    pub(crate) tape: Option<Rc<Tape>>,
    pub(crate) client_ticket: ClientTicket,
    pub(crate) sent: Instant,
    pub(crate) head_at: Instant,
    pub(crate) is_head: bool,
    /// Whether the `Content-Length` of a 304 must be preserved, which hyper would drop.
    pub(crate) keeps_length: bool,
    pub(crate) busy: Busy,
    pub(crate) counted: Counted,
    pub(crate) rolled: Option<Rolled>,
}

/// Forwards an answer whose head has arrived.
pub(crate) fn relay(
    asker: &Rc<Asker<Outbound>>,
    response: Response<AnswerBody>,
    passed: Passed,
) -> Response<Answer> {
    let (mut parts, incoming) = response.into_parts();
    headers::strip_answer(parts.status, &mut parts.headers);
    asker.forwarding().via(&mut parts.headers, parts.version);
    // The version of the legacy's connection does not apply to the client's. hyper lowers this one for an HTTP/1.0
    // client.
    parts.version = Version::HTTP_11;
    let Passed {
        driven,
        capturing,
        tape,
        client_ticket,
        sent,
        head_at,
        is_head,
        keeps_length,
        busy,
        counted,
        rolled,
    } = passed;
    // An HTTP/2 service may end an answer without a body with an empty frame after the head, which hyper does not wait
    // for.
    let bodiless = incoming.is_end_stream()
        || is_head
        || [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&parts.status);
    let answered = Answered {
        client_ticket,
        status: parts.status.as_u16(),
        sent,
        head_at,
        counted,
        rolled,
    };
    let mut relay = Relay::new(asker, incoming, driven, (capturing, tape), answered);
    let content = if bodiless {
        // hyper does not poll a body that has ended, so the end is handled here.
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
