//! Receives requests: under which route each is counted, and why it must not be shadowed.
//!
//! What a GraphQL request asks for decides both. Of a GET it is in the target; of a POST it is in the body, which is copied
//! for that even if the request is never shadowed.

use std::rc::Rc;
use std::sync::Arc;

use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Uri, request};
use parity_schemas::exchange;
use parity_schemas::graphql::{Operation, can_read};
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;

use crate::exchange::eligibility;
use crate::exchange::head::RequestHead;
use crate::exchange::naming::Naming;
use crate::exchange::terms::Terms;
use crate::exchange::ticket::Ticket;
use crate::headers;

/// Where the operation of a request is.
enum Asks {
    /// It is no GraphQL.
    Nothing,
    /// In its target, or nowhere.
    This(Operation),
    InBody,
}

/// What comes behind the head of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyAhead {
    None,
    /// It may be read to know the operation.
    Readable,
    /// It is too large for that, or the connection becomes another protocol.
    Unread,
}

/// What is known of a request from its head.
pub(crate) struct Received {
    pub(crate) ticket: Ticket,
    /// Why it must not be shadowed; that of a request whose operation is in its body is known later.
    pub(crate) refusal: Option<Reason>,
    /// Whether it may have an effect though its method has none, whatever its route allows: its route says so, or it asks for another method,
    /// or for a mutation.
    pub(crate) has_effect: bool,
}

/// Counts a request as received.
pub(crate) fn receive(
    terms: &Rc<Terms>,
    route: Arc<Route>,
    parts: &request::Parts,
    body: BodyAhead,
) -> Received {
    let policy = *route.policy();
    let (method, headers) = (&parts.method, &parts.headers);
    let mut has_effect =
        policy.shadow == Some(false) || headers::says_unsafe_method(headers::fields(headers));
    let refusal = |allowed| eligibility::refusal(terms, &policy, allowed, headers);
    let asks = if policy.graphql {
        asks(method, &parts.uri, headers, body)
    } else {
        Asks::Nothing
    };
    let (ticket, refusal) = match asks {
        Asks::Nothing => {
            let refusal = refusal(eligibility::allows_method(&policy, method));
            (Ticket::receive(terms, route), refusal)
        }
        Asks::This(operation) => {
            has_effect |= eligibility::may_write(&operation);
            let allowed = eligibility::allows_operation(&route, method, &operation);
            let route = terms.operation_route(&route, &operation);
            let refusal = eligibility::refusal(terms, route.policy(), allowed, headers);
            (Ticket::receive(terms, route), refusal)
        }
        Asks::InBody => {
            let refusal = refusal(eligibility::may_allow_operations(&route));
            let naming = Naming::new(terms, route, refusal);
            (Ticket::begin(terms, naming), None)
        }
    };
    Received {
        ticket,
        refusal,
        has_effect,
    }
}

/// Whether a recorded request may be sent where nobody waits for its answer: by its route, and on a GraphQL endpoint by all that it
/// asks for.
pub(crate) fn may_send(route: &Route, request: &exchange::Request) -> bool {
    let policy = route.policy();
    let method = &request.method;
    let says = || {
        let fields = request.headers.iter();
        headers::says_unsafe_method(fields.map(|(name, value)| (name, value.as_bytes())))
    };
    if eligibility::is_overridden(policy, says) {
        return false;
    }
    if !policy.graphql {
        return eligibility::allows_method(policy, method);
    }
    let Some(head) = RequestHead::of(request) else {
        return false;
    };
    let body = match request.body.len() {
        0 => BodyAhead::None,
        _ => BodyAhead::Readable,
    };
    match asks(method, &head.uri, &head.headers, body) {
        Asks::Nothing => eligibility::allows_method(policy, method),
        Asks::This(operation) => eligibility::allows_operation(route, method, &operation),
        Asks::InBody => {
            let media = head.headers.get(CONTENT_TYPE);
            let media = media.map(HeaderValue::as_bytes).unwrap_or_default();
            let operation = Operation::of_body(media, head.uri.query(), &request.body.contiguous());
            eligibility::allows_operation(route, method, &operation)
        }
    }
}

fn asks(method: &Method, uri: &Uri, headers: &HeaderMap, body: BodyAhead) -> Asks {
    match *method {
        // Some servers take the document from the body of a GET.
        Method::GET | Method::HEAD if body != BodyAhead::None => Asks::This(Operation::UNKNOWN),
        Method::GET | Method::HEAD => Asks::This(Operation::of_query(uri.query())),
        Method::POST if body == BodyAhead::Readable && is_readable(headers) => Asks::InBody,
        Method::POST => Asks::This(Operation::UNKNOWN),
        _ => Asks::Nothing,
    }
}

/// Whether a body can be read by its head: one known type, and as it is.
fn is_readable(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let known = types.next().is_some_and(|media| can_read(media.as_bytes()));
    known && types.next().is_none() && !headers.contains_key(CONTENT_ENCODING)
}
