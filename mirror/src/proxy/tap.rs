//! Tap mode: requests that another proxy mirrors to us. Nobody waits for an answer, so both services are asked by
//! shadows.
//!
//! The proxy gets 204 as soon as the copy is complete. The rules for shadows apply to both sides: only safe methods,
//! the deadline, the limits, the shadow header. Envoy appends `-shadow` to the host of mirrored requests; it is
//! removed, because services route by host.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;

use http::header::HOST;
use http::uri::Uri;
use http::{HeaderValue, Response, StatusCode};
use parity_schemas::clients::ClientOutcome;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;

use crate::exchange::{Asker, Intake, Pending, RequestHead, Ticket};
use crate::proxy::answer::{Answer, Content};
use crate::proxy::client::Busy;
use crate::proxy::outbound::{Outbound, Tee};
use crate::proxy::tape::Tape;
use crate::proxy::ticket::ClientTicket;
use crate::proxy::upload::{ClientGone, Upload};

/// What Envoy appends to the host of a mirrored request.
const SUFFIX: &str = "-shadow";

/// A mirrored request, parsed.
pub(crate) struct Mirrored {
    pub(crate) ticket: Ticket,
    pub(crate) client_ticket: ClientTicket,
    pub(crate) head: RequestHead,
    pub(crate) upload: Option<Rc<Upload>>,
    /// Why the services must not be asked, if so.
    pub(crate) refusal: Option<Reason>,
    pub(crate) time: Timestamp,
    /// Records it; its answers are those of shadows, and are not recorded.
    pub(crate) tape: Option<Rc<Tape>>,
}

/// Takes a copy of a request and answers 204.
pub(crate) async fn serve(
    asker: &Rc<Asker<Outbound>>,
    mirrored: Mirrored,
    busy: Busy,
) -> Result<Response<Answer>, ClientGone> {
    let Mirrored {
        ticket,
        client_ticket,
        mut head,
        upload,
        refusal,
        time,
        tape,
    } = mirrored;
    let at_least = upload.as_ref().map_or(0, |body| body.size_hint().lower());
    let too_large = at_least > asker.terms().limits().body as u64;
    let refusal = refusal.or_else(|| too_large.then_some(Reason::RequestTooLarge));
    let grpc = head.is_grpc();
    strip_suffix(&mut head);
    let asks = if let Some(reason) = refusal {
        ticket.not_compared(reason);
        None
    } else {
        Some(Pending::for_both(ticket, head, time))
    };
    let (legacy, candidate) = asks.unzip();
    if let Some(upload) = upload {
        // Read to the end even if it is not used: the proxy would treat an early answer as an error.
        let copy = candidate.map(|candidate| Intake::new(candidate, grpc));
        let (copy, mut completion) = copy.unzip();
        let mut tee = Tee::new(upload, copy, tape);
        let reading = pin!(async {
            while let Some(frame) = poll_fn(|cx| tee.poll(cx)).await {
                frame.map_err(|_| ClientGone)?;
            }
            Ok(())
        });
        asker.start_during(&mut completion, reading).await?;
    } else if let Some(candidate) = candidate {
        asker.start(candidate);
    }
    if let Some(legacy) = legacy {
        if legacy.pending().is_doomed() {
            // Its body may have been dropped; without the body it would be a different request.
            legacy.abandon();
        } else {
            asker.start(legacy);
        }
    }
    client_ticket.answered(StatusCode::NO_CONTENT);
    client_ticket.end(ClientOutcome::Tapped);
    let mut response = Response::new(Answer::new(Content::Empty, busy));
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

/// Removes Envoy's suffix from the host, in the `Host` header or the target.
fn strip_suffix(head: &mut RequestHead) {
    let host = match head.uri.authority() {
        Some(authority) => authority.as_str(),
        None => match head.headers.get(HOST).and_then(|host| host.to_str().ok()) {
            Some(host) => host,
            None => return,
        },
    };
    let Some(host) = without_suffix(host) else {
        return;
    };
    let Ok(value) = HeaderValue::from_str(&host) else {
        return;
    };
    head.headers.insert(HOST, value);
    if head.uri.authority().is_some() {
        let path = head.uri.path_and_query().cloned();
        head.uri = path.map_or(Uri::from_static("/"), Uri::from);
    }
}

fn without_suffix(host: &str) -> Option<String> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, Some(port)),
        _ => (host, None),
    };
    // Some versions of Envoy append it after the port.
    let name = name.strip_suffix(SUFFIX)?;
    Some(match port {
        Some(port) => format!("{name}:{port}"),
        None => name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_goes_and_the_port_stays() {
        for (host, expected) in [
            ("payments-shadow", Some("payments")),
            ("payments-shadow:8080", Some("payments:8080")),
            ("payments:8080-shadow", Some("payments:8080")),
            ("payments:8080", None),
            ("shadow", None),
            ("[::1]-shadow:80", Some("[::1]:80")),
        ] {
            assert_eq!(without_suffix(host).as_deref(), expected, "{host}");
        }
    }
}
