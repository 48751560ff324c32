//! The proof that what is at the other end of a connection is an admin port of parity.
//!
//! A port is asked nothing, shown no token and changed in no way before it has proven that ([`Proof::prove`]): whoever mistypes a port may
//! have that of the proxy, which passes what it gets on to the legacy service. Each new connection proves it again, because another
//! program may have taken the port since.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::header::{HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use parity_dashboards::server::ONE_HOST;
use parity_schemas::documents::{ErrorCode, ErrorDocument};
use parity_schemas::visible::visible_up_to;
use serde::Deserialize;

use super::lines::{Line, with_hosts};
use super::port::{Port, Refused, SHORT, is_error};

/// What proves that a port is an admin port: the description of its API, which every one of them has.
const PROOF: &str = "/api/v1/openapi.json";
/// The second host of a question that names two: a name that is never anybody's (RFC 2606).
const NO_HOST: &str = "parity.invalid";
/// What each answer of a proxy port begins with that is its own.
const OF_PROXY: &[u8] = b"parity: ";
/// What to do about a port that is none of ours.
const NAME_IT: &str = "Name the admin port by --admin (http://127.0.0.1:9900 unless `parity mirror --admin` says otherwise), and not the \
     port at which clients are served";
/// The title of that description.
pub(super) const TITLE: &str = "parity";
/// The version of the API that is spoken here.
pub(super) const API_VERSION: &str = "1";
/// Longest part of what a stranger answered that is told.
const MAX_STRANGER_CHARS: usize = 80;

/// What the description of an API says of itself.
#[derive(Deserialize)]
struct Described {
    info: Info,
}

#[derive(Deserialize)]
struct Info {
    title: String,
    version: String,
}

/// What is known of a port already.
#[derive(Default)]
pub(super) struct Proof {
    /// Whether its API was described since it was last lost.
    is_described: AtomicBool,
}

impl Proof {
    /// Whoever answers there next may be of another version.
    pub(super) fn forget(&self) {
        self.is_described.store(false, Ordering::Relaxed);
    }

    /// A connection that has proven that an admin port of parity is at its other end. The first question is refused by each of them, in
    /// words that nobody else has; where a proxy before the port refuses it, or nothing is known of the API yet, the description of that
    /// is asked for.
    pub(super) async fn prove(&self, port: &Port, headers: &HeaderMap) -> Result<Line, Refused> {
        let mut line = port.open().await?;
        let is_admin = refuses_two_hosts(port, &mut line).await?;
        if !(is_admin && self.is_described.load(Ordering::Relaxed)) {
            describe(port, &mut line, headers, is_admin).await?;
            self.is_described.store(true, Ordering::Relaxed);
        }
        Ok(line)
    }
}

/// Asks for the description of the API, and looks whether it is that of parity. Unless it is known to be an admin port, first
/// without the token: only a port that says by the status and in the words of parity that it needs one is shown it.
async fn describe(
    port: &Port,
    line: &mut Line,
    headers: &HeaderMap,
    is_admin: bool,
) -> Result<(), Refused> {
    let (mut status, mut body) = if is_admin {
        let answer = question(port, line, headers).await?;
        answer.ok_or_else(|| port.hung_up())?
    } else {
        question_of_stranger(port, line, &HeaderMap::new()).await?
    };
    let is_asked_for =
        !is_admin && status == StatusCode::UNAUTHORIZED && is_error(&body, ErrorCode::TokenNeeded);
    if is_asked_for && !headers.is_empty() {
        (status, body) = question_of_stranger(port, line, headers).await?;
    }
    if serde_json::from_slice::<ErrorDocument>(&body).is_ok()
        && matches!(
            status,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST
        )
    {
        return Err(port.refuses(status, &body));
    }
    let described: Option<Described> = serde_json::from_slice(&body).ok();
    let info = described.map(|described| described.info);
    match info {
        Some(info) if status == StatusCode::OK && info.title == TITLE => {
            if info.version == API_VERSION {
                return Ok(());
            }
            Err(Refused::Unreachable(format!(
                "{} is an admin port of parity whose API has version {}, and this program speaks version {API_VERSION}: use a parity \
                 of the same version",
                port.name(),
                visible_up_to(&info.version, MAX_STRANGER_CHARS)
            )))
        }
        _ => {
            let told = visible_up_to(String::from_utf8_lossy(&body).trim(), MAX_STRANGER_CHARS);
            Err(Refused::Unreachable(format!(
                "{} is no admin port of parity: it answered GET {PROOF} with {status} and `{told}`; nothing else was sent there. \
                 {NAME_IT}",
                port.name()
            )))
        }
    }
}

/// Asks for the description on a connection; `None` if that has ended.
async fn question(
    port: &Port,
    line: &mut Line,
    headers: &HeaderMap,
) -> Result<Option<(StatusCode, Bytes)>, Refused> {
    let headers = with_hosts(&[port.authority()], headers);
    port.send(line, (&Method::GET, PROOF), &headers, SHORT)
        .await
}

/// The same, and on a new connection if this one has ended: there are servers that close it behind what they refuse.
async fn question_of_stranger(
    port: &Port,
    line: &mut Line,
    headers: &HeaderMap,
) -> Result<(StatusCode, Bytes), Refused> {
    if let Some(answer) = question(port, line, headers).await? {
        return Ok(answer);
    }
    *line = port.open().await?;
    let answer = question(port, line, headers).await?;
    answer.ok_or_else(|| port.hung_up())
}

/// Asks once what no server may serve: which of two hosts is meant is not said (RFC 9112 §3.2). The port of a mirror at which clients are
/// served refuses it by itself, passes nothing on and counts nothing as received, so the slip of a person is in no record, and
/// nobody can hide a request by it. An admin port refuses it in words of its own, and that is what this returns. Everybody else
/// is asked properly then: so does a proxy before an admin port refuse it.
async fn refuses_two_hosts(port: &Port, line: &mut Line) -> Result<bool, Refused> {
    let nobody = HeaderValue::from_static(NO_HOST);
    let hosts = with_hosts(&[port.authority(), &nobody], &HeaderMap::new());
    let asked = (&Method::GET, PROOF);
    let answer = port.send(line, asked, &hosts, SHORT).await?;
    let (status, body) = answer.ok_or_else(|| port.hung_up())?;
    if status != StatusCode::BAD_REQUEST {
        return Ok(false);
    }
    if body.starts_with(OF_PROXY) {
        return Err(Refused::Unreachable(format!(
            "{} is the port of a mirror at which clients are served, and no admin port of parity: it refused the first question by itself, \
             and nothing was passed on to the legacy or recorded. {NAME_IT}",
            port.name()
        )));
    }
    let document: Option<ErrorDocument> = serde_json::from_slice(&body).ok();
    Ok(document.is_some_and(|document| document.error == ONE_HOST))
}
