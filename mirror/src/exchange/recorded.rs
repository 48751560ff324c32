//! Sends a recorded request to both services, or to the candidate alone if the recording has the legacy's answer.
//!
//! The whole request is there from the beginning, so nothing is copied while it is forwarded. Else it is treated as one of a
//! client: counted, named, refused, limited and captured by the same code.

use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use http::Request as HttpRequest;
use http::header::DATE;
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use parity_schemas::exchange::{Capture, Omitted, PerService, Request};
use parity_schemas::fields::FieldLines;
use parity_schemas::route::Route;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;
use std::sync::Arc;

use crate::exchange::asker::{AskBody, Asker};
use crate::exchange::head::RequestHead;
use crate::exchange::intake::Intake;
use crate::exchange::own::{Heard, Own};
use crate::exchange::pending::{Ask, Pending};
use crate::exchange::receive::{BodyAhead, Received, receive};
use crate::exchange::ticket::Ticket;

/// A request of a recording, and how it is sent.
pub(crate) struct Sending<'a> {
    /// As it was recorded.
    pub(crate) request: &'a Request,
    /// The answer of the recording, if it stands for the legacy's.
    pub(crate) answer: Option<Capture>,
    /// What each service gets in its own form.
    pub(crate) own: Option<Arc<PerService>>,
    /// Who learns what the services answered.
    pub(crate) heard: Option<Heard>,
}

/// Counts a recorded request as received, and sends it. `beside` is called with its ticket; what it returns is dropped when
/// the request has ended.
///
/// Returns `false`, and counts nothing, if it is no request that HTTP can send.
pub(crate) fn send_recorded<B: AskBody>(
    asker: &Rc<Asker<B>>,
    route: Arc<Route>,
    sending: Sending<'_>,
    beside: impl FnOnce(&Ticket) -> Box<dyn std::any::Any>,
) -> bool {
    let Sending {
        request,
        answer,
        own: parts,
        heard,
    } = sending;
    let bodies = parts.as_ref().map_or(0, |parts| parts.bodies());
    let Ok(own) = Own::new(request, parts, heard) else {
        return false;
    };
    let Some(head) = RequestHead::of(request) else {
        return false;
    };
    let mut parts = HttpRequest::new(()).into_parts().0;
    parts.method = head.method.clone();
    parts.uri = head.uri.clone();
    parts.headers = head.headers.clone();
    let terms = asker.terms();
    let too_large = request.body.len() > terms.limits().body;
    let ahead = match request.body.len() {
        0 => BodyAhead::None,
        _ if too_large => BodyAhead::Unread,
        _ => BodyAhead::Readable,
    };
    let Received {
        mut ticket,
        refusal,
        has_effect: _,
    } = receive(terms, route, &parts, ahead);
    let held = beside(&ticket);
    ticket.hold(held);
    let refusal = refusal.or_else(|| too_large.then_some(Reason::RequestTooLarge));
    if let Some(reason) = refusal {
        ticket.not_compared(reason);
        return true;
    }
    let grpc = head.is_grpc();
    let (legacy, candidate) = Pending::for_each(ticket, head, Timestamp::now(), own);
    if !candidate.pending().charge(bodies) {
        candidate.fail(Reason::ByteBudget);
        legacy.abandon();
        return true;
    }
    if let Some(candidate) = with_body(candidate, request, grpc) {
        asker.start(candidate);
    }
    if legacy.pending().is_doomed() {
        legacy.abandon();
    } else if let Some(answer) = answer {
        answered(legacy, answer);
    } else {
        asker.start(legacy);
    }
    true
}

/// The candidate's ask, once the pending request has its body; `None` if it has ended.
fn with_body(candidate: Ask, request: &Request, grpc: bool) -> Option<Ask> {
    if request.body.is_empty() {
        return Some(candidate);
    }
    let (mut intake, completion) = Intake::new(candidate, grpc);
    for chunk in request.body.clone().into_chunks() {
        intake.data(&chunk);
    }
    intake.complete();
    match completion.poll(&Context::from_waker(Waker::noop())) {
        Poll::Ready(ask) => ask,
        // Not reached: the body is complete.
        Poll::Pending => None,
    }
}

/// Ends the legacy's ask with the answer of the recording.
fn answered(legacy: Ask, mut answer: Capture) {
    dated_now(&mut answer.headers);
    let pending = legacy.pending();
    let limit = pending.terms().limits().body;
    if answer.body.len() > limit {
        answer.body = parity_schemas::exchange::Body::omitted(Omitted::TooLarge {
            at_least: answer.body.len() as u64,
        });
        legacy.let_other_go();
    } else if !pending.charge(answer.body.len()) {
        return legacy.fail(Reason::ByteBudget);
    }
    legacy.complete(answer);
}

/// Puts the time of now in the place of the time that the answer was made: that is compared with the candidate's, and tells a clock
/// that is wrong, not how old a recording is.
fn dated_now(headers: &mut FieldLines) {
    let now = || DateTimePrinter::new().timestamp_to_rfc9110_string(&jiff::Timestamp::now());
    let is_time = |text: &str| DateTimeParser::new().parse_timestamp(text).is_ok();
    let Some(value) = headers.get(&DATE) else {
        return;
    };
    if let (true, Ok(now)) = (value.as_str().is_some_and(is_time), now()) {
        let (_, mut dated) = headers.partition(|name| name == DATE);
        dated.push(DATE, now.as_bytes());
        *headers = dated;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_answer_has_the_time_of_now_and_a_wrong_one_stays() {
        for (date, stays) in [
            ("Tue, 24 Nov 2020 03:00:00 GMT", false),
            ("yesterday", true),
        ] {
            let mut headers = FieldLines::default();
            headers.push(DATE, date.as_bytes());
            dated_now(&mut headers);
            let dated = headers.get(&DATE).expect("a date").lossy().into_owned();
            assert_eq!(dated == date, stays, "{dated}");
            assert!(stays || dated.ends_with(" GMT"), "{dated}");
        }
        let mut none = FieldLines::default();
        dated_now(&mut none);
        assert!(!none.contains(&DATE));
    }
}
