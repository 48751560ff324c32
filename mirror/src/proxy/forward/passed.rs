//! Handles the answer of the service that serves: how it is sent to the client, which task drives its connection, and what is captured.

use std::rc::Rc;

use http::{Method, Response, Version};
use http_body::Body as _;

use super::OpenRequest;
use crate::exchange::{Asker, Capturing, Completion, Side};
use crate::headers::{self, Wire};
use crate::proxy::answer::Answer;
use crate::proxy::client::Client;
use crate::proxy::outbound::Outbound;
use crate::proxy::overdue::Counted;
use crate::proxy::passing::{Passed, relay};
use crate::proxy::relay::{Driven, LinkTask};
use crate::proxy::serving::Subject;
use crate::proxy::tape::until_head;
use crate::proxy::unread::close_unread;
use crate::proxy::upload::UploadState;
use crate::upstream::{Link, Sent};

/// Builds the client's answer from the service's, and begins to capture it. `completion` is there if the shadow waits for
/// the rest of the request.
pub(super) fn answer(
    client: &Client,
    asker: &Rc<Asker<Outbound>>,
    open: OpenRequest,
    sent: Sent<Outbound>,
    completion: Option<Completion>,
) -> Response<Answer> {
    let OpenRequest {
        subject,
        client_ticket,
        upload,
        tape,
        busy,
        counts,
        rolled,
        stands_in: _,
    } = open;
    client_ticket.answered(sent.response.status());
    let Sent {
        response,
        link,
        at,
        head_at,
    } = sent;
    let version = subject.with_head(|head| head.version);
    let early = upload.filter(|upload| upload.state() == UploadState::Running);
    let is_early = early.is_some();
    // It is not known yet whether the service will read the rest of the request.
    let ends_here = early
        .as_ref()
        .is_some_and(|rest| link.wire() == Wire::Http2 || !rest.has_little_left());
    // hyper drops the length of an answer without a body on HTTP/1, except for HEAD.
    let is_head = subject.with_head(|head| head.method == Method::HEAD);
    let keeps_length = !is_head && version != Version::HTTP_2;
    // A recording has the legacy's answers.
    let tape = tape.filter(|_| asker.serving().side() == Side::Legacy);
    let size = response.body().size_hint();
    let is_stream =
        headers::is_stream(response.headers(), &size) && !response.body().is_end_stream();
    let tape = tape.filter(|tape| {
        let (status, headers) = (response.status().as_u16(), response.headers());
        let announced = response.body().size_hint().lower();
        tape.answer(
            status,
            headers,
            until_head(at, head_at),
            (is_stream, announced),
        )
    });
    let capturing = match subject {
        Subject::Alone(_) => None,
        Subject::Shadowed(ask) => {
            let (status, headers) = (response.status().as_u16(), response.headers());
            let announced = response.body().size_hint().lower();
            let mut capturing = Capturing::new(ask, status, headers, at, head_at);
            if capturing.foresee(is_stream, announced).is_some() {
                // The ask ends here and not with the answer, which may last as long as the client reads: nothing more
                // will be captured.
                capturing.complete(at.elapsed());
                None
            } else {
                Some(capturing)
            }
        }
    };
    let driven = match (early, link) {
        // A client that was never told to send its body has an answer now and need not send it.
        (Some(upload), Link::Own(mut link)) if !upload.is_held() => {
            link.came_early();
            if !ends_here && version != Version::HTTP_2 {
                upload.promise();
            }
            Driven::ByTask(LinkTask::drive(asker, link, upload, completion))
        }
        // The connection's own task sends the rest.
        (Some(_), link @ Link::Stream(_)) => {
            if let Some(completion) = completion {
                let tasks = asker.terms().tasks();
                drop(tasks.spawn(Rc::clone(asker).start_after(completion)));
            }
            Driven::ByReader(link)
        }
        (_, link) => Driven::ByReader(link),
    };
    let passed = Passed {
        driven,
        capturing,
        tape,
        client_ticket,
        sent: at,
        head_at,
        is_head,
        keeps_length,
        busy,
        counted: match (counts, is_stream, is_early) {
            (false, false, false) => Counted::Waited,
            (false, ..) => Counted::No,
            (true, _, true) => Counted::Untimed,
            (true, true, false) => Counted::Stream,
            (true, false, false) if headers::may_be_messages(response.headers()) => {
                Counted::Messages
            }
            (true, false, false) => Counted::Timed,
        },
        rolled,
    };
    let answer = relay(asker, response, passed);
    if ends_here {
        close_unread(client, version, answer)
    } else {
        answer
    }
}
