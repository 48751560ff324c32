//! Who may use the admin port.
//!
//! Four checks. A request must name exactly one host: with two `Host` fields, or a target that contradicts the `Host`, two
//! programs could read different hosts. Without a token the port is bound to loopback, and the host must be a loopback
//! name; this refuses a page that rebinds its DNS name to 127.0.0.1. With tokens, every request must carry one:
//! `Authorization: Bearer TOKEN`, or Basic with the token as the password, which a browser can ask its user for; one of them
//! may only look (`access`). A webhook that cannot send headers has it in its body, which its handler reads ([`admit_hook`],
//! [`is_known`]). A request that changes something must come from nobody's page but ours (`browser`).

mod browser;
mod given;
mod host;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{Extensions, HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use parity_schemas::documents::ErrorCode;

use self::browser::is_of_browser;
pub(super) use self::browser::same_origin;
use self::given::Given;
use self::host::{is_loopback_name, place};
use super::access::{Access, Role};
use super::answer::ErrorAnswer;
use super::audit;
use super::html::sorry;
use super::site::Site;
use super::visit::{Peer, Visit, Visitor};

const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; \
     img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types parity";

/// Lets a request pass or answers it here.
pub(super) async fn admit(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let asked = Asked::of(&request);
    let tried = Tried::of(&site.access, &request);
    match admitted(&site, request).await {
        Ok(request) => next.run(request).await,
        Err(Refused { error, visitor }) => {
            if let Some(tried) = tried {
                tried.refused(&site, &error).await;
            }
            let visit = Visit { site, visitor };
            asked.told(&error, &visit)
        }
    }
}

/// A change that somebody asks for, and may not.
struct Tried {
    path: String,
    by: Visitor,
    /// What the token lets them do that they showed in a header, if they did.
    role: Option<Role>,
}

impl Tried {
    /// `None` if a request changes nothing.
    fn of(access: &Access, request: &Request) -> Option<Self> {
        let is_change = !matches!(*request.method(), Method::GET | Method::HEAD);
        is_change.then(|| {
            let (headers, extensions) = (request.headers(), request.extensions());
            let role = access.role(Given::of(headers).token());
            Self {
                path: request.uri().path().to_owned(),
                by: caller(access, headers, extensions, role),
                role,
            }
        })
    }

    /// Leaves a line of it.
    async fn refused(&self, site: &Site, error: &ErrorAnswer) {
        let token = audit::Token {
            role: self.role,
            is_wrong: error.code() == ErrorCode::TokenWrong,
        };
        audit::refused(site, &self.by, token, &self.path, error.message()).await;
    }
}

/// The same for a webhook, whose handler looks for the token itself.
pub(super) async fn admit_hook(
    State(site): State<Arc<Site>>,
    request: Request,
    next: Next,
) -> Response {
    let tried = Tried::of(&site.access, &request);
    let refused = is_for_us(&site, &request).and_then(|()| {
        let headers = request.headers();
        if !same_origin(headers) {
            return Err(foreign());
        }
        // A page could send a body that reads as a call, and the browser the password that it was told once.
        if is_of_browser(headers) {
            let text =
                "a webhook comes from a rollout controller, and not from a page in a browser";
            return Err(ErrorAnswer::new(ErrorCode::NoForm, text));
        }
        Ok(())
    });
    match refused {
        Ok(()) => next.run(request).await,
        Err(error) => {
            if let Some(tried) = tried {
                tried.refused(&site, &error).await;
            }
            line(&error)
        }
    }
}

/// What a webhook may do by the token that it carries, in its body or in a header; `None` if this port demands one, and it
/// carries none of them.
pub(super) fn is_known(site: &Site, headers: &HeaderMap, given: Option<&str>) -> Option<Role> {
    match given {
        Some(given) => site.access.role(Some(given.as_bytes())),
        None => site.access.role(Given::of(headers).token()),
    }
}

/// Whether a webhook shows a token at all, as [`is_known`] takes it.
pub(super) fn has_token(headers: &HeaderMap, given: Option<&str>) -> bool {
    let is_any = |token: &[u8]| !token.is_empty();
    match given {
        Some(given) => is_any(given.as_bytes()),
        None => Given::of(headers).token().is_some_and(is_any),
    }
}

/// Who sent a request that may do this; nothing, if `role` is `None`. The name comes to the record, to the log and to pages that who may only
/// look can read. So there is none of somebody whose role is not known, who may have typed a token, or most of it, in its place;
/// and none that has a token in it.
pub(super) fn caller(
    access: &Access,
    headers: &HeaderMap,
    extensions: &Extensions,
    role: Option<Role>,
) -> Visitor {
    let given = Given::of(headers);
    Visitor {
        role: role.unwrap_or(Role::Look),
        address: extensions.get().map(|Peer(address)| *address),
        user: role.and_then(|_| given.user(access)),
    }
}

/// Why a request may not pass, and who sent it.
struct Refused {
    error: ErrorAnswer,
    visitor: Visitor,
}

impl From<ErrorAnswer> for Refused {
    fn from(error: ErrorAnswer) -> Self {
        Self {
            error,
            visitor: Visitor::default(),
        }
    }
}

/// The request, with who sent it in its extensions.
async fn admitted(site: &Site, mut request: Request) -> Result<Request, Refused> {
    is_for_us(site, &request)?;
    let given = Given::of(request.headers());
    let role = site.access.role(given.token());
    let role = role.ok_or_else(|| without_role(&given))?;
    let visitor = caller(
        &site.access,
        request.headers(),
        request.extensions(),
        Some(role),
    );
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let is_bearer = site.access.demands_token() && matches!(given, Given::Bearer(_));
        request = may_change(site, request, role, is_bearer)
            .await
            .map_err(|error| Refused {
                error,
                visitor: visitor.clone(),
            })?;
    }
    request.extensions_mut().insert(visitor);
    Ok(request)
}

/// Why somebody has no role who shows this. It says nothing of the tokens of the port, nor how near the one that was shown is.
fn without_role(given: &Given) -> ErrorAnswer {
    match given {
        Given::Unreadable => ErrorAnswer::new(
            ErrorCode::TokenNeeded,
            "this port needs a token, and what stands in Authorization is none: write Bearer TOKEN, or Basic with any user and the \
             token as password",
        ),
        _ if given.token().is_some_and(|token| !token.is_empty()) => ErrorAnswer::new(
            ErrorCode::TokenWrong,
            format!("the token is wrong: {WHERE}"),
        ),
        _ => ErrorAnswer::new(
            ErrorCode::TokenNeeded,
            "this port needs a token: Authorization: Bearer TOKEN, or any user with the token as password; a command has it from \
             --token-file",
        ),
    }
}

/// Where to look when a token is wrong: at both ends.
pub(super) const WHERE: &str = "it must be what is in the file of --admin-token-file, or to look only of --admin-look-token-file, with which \
     the process of this port was started; a command reads its own from --token-file";

/// What is answered to who names several hosts: before anything else, and by no other program.
pub const ONE_HOST: &str =
    "say once which host is asked: one Host field, and no target that names another one";

/// Whether a request is for this port, and says so once.
fn is_for_us(site: &Site, request: &Request) -> Result<(), ErrorAnswer> {
    let Some(host) = place(request.uri(), request.headers()) else {
        return Err(ErrorAnswer::bad(ONE_HOST.to_owned()));
    };
    if !site.access.demands_token() && !is_loopback_name(host) {
        let text = "the Host is not a loopback name; reach this port as 127.0.0.1 or localhost";
        return Err(ErrorAnswer::new(ErrorCode::WrongHost, text));
    }
    Ok(())
}

/// Whether a request may change something. The body of a form is read for that; what comes back has it again.
async fn may_change(
    site: &Site,
    request: Request,
    role: Role,
    is_bearer: bool,
) -> Result<Request, ErrorAnswer> {
    if !same_origin(request.headers()) {
        return Err(foreign());
    }
    if role == Role::Look {
        return Err(look_only());
    }
    // A page cannot make a browser send a bearer token that the page does not know.
    if is_bearer {
        return Ok(request);
    }
    let is_page = !request.uri().path().starts_with(API);
    if !is_page && !is_of_browser(request.headers()) && !browser::is_form(request.headers()) {
        return Ok(request);
    }
    let (request, given) = browser::form_of(request).await?;
    if given.is_some_and(|given| site.access.is_own_form(&given)) {
        return Ok(request);
    }
    let text = "this is no form of a page of this process, or the process was started again since: open the page again and \
                repeat it there; a program asks /api/v1 without a form, or with Authorization: Bearer TOKEN";
    Err(ErrorAnswer::new(ErrorCode::NoForm, text))
}

/// Paths of the API, which programs ask.
const API: &str = "/api/";

fn foreign() -> ErrorAnswer {
    let text = "a page of another origin may not change anything here";
    ErrorAnswer::new(ErrorCode::ForeignPage, text)
}

/// The answer to who may only look, and wants to change something.
pub(super) fn look_only() -> ErrorAnswer {
    let text = "this token may only look: a change needs the other one, which is in the file that --admin-token-file names";
    ErrorAnswer::new(ErrorCode::LookOnly, text)
}

/// How a refusal is told: by a page in a browser, by a document to who asks the API, and else by a line.
enum Asked {
    Page,
    Document,
    Line,
}

impl Asked {
    fn of(request: &Request) -> Self {
        if browser::wants_page(request.headers()) {
            Self::Page
        } else if request.uri().path().starts_with(API) {
            Self::Document
        } else {
            Self::Line
        }
    }

    fn told(&self, error: &ErrorAnswer, visit: &Visit) -> Response {
        if error.status() == StatusCode::UNAUTHORIZED {
            let told = match self {
                Self::Document => error.clone().into_response(),
                Self::Page | Self::Line => line(error),
            };
            return unknown(told);
        }
        match self {
            // A page has the buttons to repeat it, for who was let in.
            Self::Page if visit.visitor != Visitor::default() => sorry(error, visit),
            Self::Document => error.clone().into_response(),
            Self::Page | Self::Line => line(error),
        }
    }
}

fn line(error: &ErrorAnswer) -> Response {
    (error.status(), format!("{}\n", error.message())).into_response()
}

/// Makes an answer the one to who does not have the token.
pub(super) fn unknown(told: Response) -> Response {
    let challenge = (
        header::WWW_AUTHENTICATE,
        "Basic realm=\"parity\", charset=\"UTF-8\"",
    );
    // Nobody keeps a connection that has no token.
    let last = (header::CONNECTION, "close");
    (StatusCode::UNAUTHORIZED, [challenge, last], told).into_response()
}

/// Headers on every answer.
pub(super) async fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let fixed: [(HeaderName, &'static str); 4] = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        // With `no-referrer`, a browser would say `Origin: null` of our own forms.
        (header::REFERRER_POLICY, "same-origin"),
    ];
    for (name, value) in fixed {
        // What an answer says itself is stricter: a stored body must not be taken for a page.
        let value = HeaderValue::from_static(value);
        headers.entry(name).or_insert(value);
    }
    response
}

#[cfg(test)]
mod tests;
