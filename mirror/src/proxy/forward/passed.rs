//! The legacy's answer on its way to the client, and what is kept of it.

use std::rc::Rc;
use std::time::Instant;

use http::header::CONTENT_LENGTH;
use http::{Method, Response, StatusCode, Version};
use http_body::Body as _;
use hyper::body::Incoming;
use parity_schemas::exchange::Omitted;

use super::Open;
use super::legacy::Subject;
use crate::body::{Answer, Content};
use crate::capture::Recorder;
use crate::client::{Busy, Client};
use crate::generation::Generation;
use crate::headers::{self, Wire};
use crate::link::Link;
use crate::observer::ClientTicket;
use crate::relay::{Answered, Apart, Driven, Relay};
use crate::service::Sent;
use crate::unread::abandon;
use crate::upload::Upload;

/// The legacy's answer for the client, and what is kept of it.
pub(super) fn answer(
    client: &Client,
    generation: &Rc<Generation>,
    open: Open,
    sent: Sent,
) -> Response<Answer> {
    let Open {
        subject,
        client_ticket,
        upload,
        busy,
    } = open;
    client_ticket.answered(sent.response.status());
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
            let (status, headers) = (response.status().as_u16(), response.headers());
            let is_stream = headers::is_stream(headers) && !response.body().is_end_stream();
            let mut recorder = Recorder::new(half, status, headers, at, head_at);
            let announced = response.body().size_hint().lower();
            let omitted = if is_stream {
                Some(Omitted::Stream)
            } else if announced > generation.limits.body as u64 {
                Some(Omitted::TooLarge {
                    at_least: announced,
                })
            } else {
                None
            };
            if let Some(why) = omitted {
                // The half ends here, not with the answer: that ends when the client has had enough, or all of it, and
                // until then the record would wait for what is known already.
                recorder.omit(why);
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
