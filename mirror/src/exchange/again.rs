//! Sends a request to one service once more, and waits for the whole answer.
//!
//! The request is made from what an exchange keeps of it: the head as the client sent it, the body, and who the client
//! was. It is a shadow as any other: marked, with the deadline and within the limits of shadows. The caller decides how
//! often which service is asked, and in which order.

use std::rc::Rc;
use std::sync::Arc;

use http::HeaderMap;
use http::HeaderValue;
use parity_schemas::exchange::Request;
use parity_schemas::fields::FieldLines;
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;

use crate::exchange::asker::{AskBody, Asker};
use crate::exchange::head::RequestHead;
use crate::exchange::own;
use crate::exchange::pending::Pending;
use crate::exchange::purpose::Purpose;
use crate::exchange::side::Side;
use crate::exchange::ticket::{Answer, Ticket};

/// Sends `request` to a service and returns its answer, or the reason why there is none. The body of the request must
/// stay charged to the byte budget by the caller until then.
pub(crate) async fn ask<B: AskBody>(
    asker: &Rc<Asker<B>>,
    purpose: Purpose,
    side: Side,
    route: &Arc<Route>,
    request: &Request,
) -> Result<Answer, Reason> {
    let terms = asker.terms();
    let (ticket, answered) = Ticket::again(terms, Arc::clone(route), purpose);
    let trailers = request.origin.trailers.as_ref().map(trailers);
    // Values that a service gave out are asked of that service again.
    let own = own::parts(request, side).map(|own| own.of(request));
    let request = own.as_ref().unwrap_or(request);
    if let Some(head) = RequestHead::of(request) {
        let body = request.body.clone();
        asker.start(Pending::for_one(ticket, side, head, body, trailers));
    } else {
        // Not reached: it came by HTTP, so HTTP can send it.
        ticket.not_compared(Reason::InternalPanic);
    }
    answered.await.unwrap_or_else(|_| Err(terms.drop_reason()))
}

fn trailers(lines: &FieldLines) -> HeaderMap {
    let line = |(name, value): (&http::HeaderName, parity_schemas::fields::FieldValue<'_>)| {
        let value = HeaderValue::from_bytes(value.as_bytes()).ok()?;
        Some((name.clone(), value))
    };
    let mut map = HeaderMap::new();
    map.extend(lines.iter().filter_map(line));
    map
}

#[cfg(test)]
mod tests;
