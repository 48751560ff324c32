//! Flagger's webhooks. Flagger sees the status, and shows the body in an event.
//!
//! A status up to 202 means yes, so only a decision that says yes is answered by 200: a pass where Flagger asks whether to go on,
//! a proven fail where it asks whether to roll back. Everything else is no: 409 for another outcome, and for a record that
//! cannot be read; 400 for a call that is not understood; 401 without the token. Never 429 or 5xx, because those are tried again
//! and their reason is thrown away.
//!
//! A call cannot have headers, so its token is in its metadata, as is what it asks for. No text of the call is told back but the
//! names and values of parameters, so the token is not.

mod call;

use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use parity_schemas::documents::GateBrief;
use parity_schemas::evidence::Outcome;
use parity_schemas::visible::visible_up_to;

use self::call::Call;
use super::super::access::Role;
use super::super::audit;
use super::super::guard;
use super::super::parameters::{asked_of, of_address};
use super::super::question::{HookAsking, TOKEN};
use super::Gate;

/// Bytes of a call: names, and metadata that somebody wrote by hand. It is read before the token is known.
const MOST_BYTES: usize = 16 << 10;
/// Time for the body, so that nobody keeps a connection by sending none.
const BODY_WITHIN: Duration = Duration::from_secs(1);
/// Characters of an answer's line: Flagger writes it into an event, which is at most a kilobyte.
const LINE: usize = 2 * GateBrief::REASON;

/// Types of webhooks whose yes means to go on.
const GOES_ON: [&str; 6] = [
    "confirm-rollout",
    "confirm-traffic-increase",
    "confirm-promotion",
    "pre-rollout",
    "rollout",
    "post-rollout",
];

/// What Flagger asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    /// Whether to go on.
    Confirm,
    /// Whether to roll back.
    RollBack,
}

impl Hook {
    /// The outcome that means yes.
    fn yes(self) -> Outcome {
        match self {
            Self::Confirm => Outcome::Pass,
            Self::RollBack => Outcome::Fail,
        }
    }

    /// Why a webhook of this type must not ask here: its yes means the opposite. Older versions of Flagger do not say the type.
    fn refuses(self, kind: &str) -> Option<&'static str> {
        match (self, kind) {
            (Self::Confirm, "rollback") => Some(
                "a webhook of type rollback asks /gate/flagger/rollback; here a pass would roll back",
            ),
            // Of others, such as `skip`, a yes means something else.
            (Self::Confirm, kind) if !GOES_ON.contains(&kind) => Some(
                "this endpoint is for webhooks whose yes means to go on: confirm-rollout, confirm-traffic-increase, confirm-promotion, pre-rollout, rollout and post-rollout",
            ),
            (Self::RollBack, kind) if kind != "rollback" => Some(
                "only a webhook of type rollback asks here; for others a fail would mean to go on; they ask /gate/flagger/confirm",
            ),
            _ => None,
        }
    }
}

/// Answers a call.
pub(super) async fn answer(hook: Hook, gate: &Gate, request: Request) -> Response {
    match judged(hook, gate, request).await {
        Ok(said) => said,
        Err(Refused::Unknown(why)) => guard::unknown(line(StatusCode::UNAUTHORIZED, &why)),
        Err(Refused::LookOnly) => {
            let error = guard::look_only();
            line(error.status(), error.message())
        }
        Err(Refused::Wrong(why)) => line(StatusCode::BAD_REQUEST, &why),
        Err(Refused::No(why)) => line(StatusCode::CONFLICT, &why),
    }
}

/// Why a call gets no yes.
enum Refused {
    /// It has no token, or a wrong one.
    Unknown(String),
    /// Its token may only look.
    LookOnly,
    /// It is not understood.
    Wrong(String),
    /// It is, and the answer is no.
    No(String),
}

async fn judged(hook: Hook, gate: &Gate, request: Request) -> Result<Response, Refused> {
    let Gate { site, desk } = gate;
    let (head, body) = request.into_parts();
    let body = tokio::time::timeout(BODY_WITHIN, to_bytes(body, MOST_BYTES)).await;
    let body = match body {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            let why = format!("the body is not complete, or has more than {MOST_BYTES} bytes");
            return Err(Refused::Wrong(why));
        }
        Err(_) => {
            let why = format!("the body did not come within {} s", BODY_WITHIN.as_secs());
            return Err(Refused::Wrong(why));
        }
    };
    // What is wrong with it is told only to who has the token, which is in it.
    let call = Call::read(&body);
    let token = call.as_ref().ok().and_then(|call| call.metadata(TOKEN));
    let role = guard::is_known(site, &head.headers, token);
    let is_wrong = role.is_none() && guard::has_token(&head.headers, token);
    let refused = match role {
        None => {
            let why = if is_wrong {
                format!(
                    "the token of the webhook is wrong (metadata.token, or else Authorization): {}",
                    guard::WHERE
                )
            } else {
                "this port needs a token: metadata.token of the webhook, or Authorization: Bearer TOKEN"
                    .to_owned()
            };
            Some((Refused::Unknown(why.clone()), why))
        }
        Some(Role::Look) => Some((Refused::LookOnly, guard::look_only().message().to_owned())),
        Some(Role::Change) => None,
    };
    if let Some((refused, why)) = refused {
        let caller = guard::caller(&site.access, &head.headers, &head.extensions, role);
        let token = audit::Token { role, is_wrong };
        audit::refused(site, &caller, token, head.uri.path(), &why).await;
        return Err(refused);
    }
    let call = call.map_err(Refused::Wrong)?;
    if let Some(why) = call.kind().and_then(|kind| hook.refuses(kind)) {
        return Err(Refused::Wrong(why.to_owned()));
    }
    let mut given = of_address(&head.uri).map_err(Refused::Wrong)?;
    let asked = call.parameters::<HookAsking>();
    given.extend(asked.map_err(Refused::Wrong)?);
    let asking: HookAsking = asked_of(&given).map_err(Refused::Wrong)?;
    let is_kept = asking.store;
    let (given, question) = asking.of(site);
    let decided = desk.decide(&site.store, &given, &question).await;
    let decision = decided.map_err(|error| Refused::No(error.message().to_owned()))?;
    let brief = if is_kept {
        let visitor = guard::caller(&site.access, &head.headers, &head.extensions, role);
        GateBrief::of(&gate.keep(&visitor, &given, &question, &decision).await)
    } else {
        GateBrief::of(&decision)
    };
    let mut said = format!("{}: {}", brief.verdict.as_str(), brief.reason);
    if let Some(id) = brief.decision {
        said = format!("{said} (decision {id})");
    }
    if brief.verdict == hook.yes() {
        Ok(line(StatusCode::OK, &said))
    } else {
        Err(Refused::No(said))
    }
}

/// One line of text.
fn line(status: StatusCode, text: &str) -> Response {
    (status, visible_up_to(text, LINE) + "\n").into_response()
}
