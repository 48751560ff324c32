//! Our own answers: to requests that are not forwarded, and when the legacy gives no answer. Each text begins with
//! `parity:`, which distinguishes it from the legacy's answers. The callers decide when they are sent.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};

use crate::proxy::answer::{Answer, Content};
use crate::proxy::client::Busy;
use crate::proxy::host::HostFault;

pub(crate) const REFUSED_CONNECT: &str = "parity: CONNECT is not supported\n";
pub(crate) const REFUSED_CODING: &str = "parity: the request's transfer coding is not supported\n";
pub(crate) const REFUSED_UPGRADE: &str = "parity: a request to upgrade must not have a body\n";
pub(crate) const OURSELVES: &str =
    "parity: this request came from parity itself; legacy or candidate leads back to it\n";
pub(crate) const LEGACY_TIMEOUT: &str = "parity: the connection to the legacy service timed out\n";
pub(crate) const LEGACY_WRONG: &str =
    "parity: the legacy service answered something that cannot be passed on as HTTP\n";
pub(crate) const LEGACY_DOWN: &str = "parity: the legacy service did not answer\n";
pub(crate) const CANDIDATE_TIMEOUT: &str =
    "parity: the candidate, which serves this client, did not answer in time\n";
pub(crate) const CANDIDATE_WRONG: &str = "parity: the candidate, which serves this client, answered something that cannot be passed on as HTTP\n";
pub(crate) const CANDIDATE_DOWN: &str =
    "parity: the candidate, which serves this client, did not answer\n";

pub(crate) fn for_host(fault: HostFault) -> &'static str {
    match fault {
        HostFault::Missing => "parity: the request has no Host\n",
        HostFault::Repeated => "parity: the request has more than one Host\n",
        HostFault::Malformed => "parity: the request's Host is no host\n",
        HostFault::Conflict => "parity: the request's target and its Host do not agree\n",
    }
}

/// An answer with one of our own texts.
pub(crate) fn text(status: StatusCode, words: &'static str, busy: Busy) -> Response<Answer> {
    let content = Content::Text(Bytes::from_static(words.as_bytes()));
    let mut response = Response::new(Answer::new(content, busy));
    *response.status_mut() = status;
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

/// Removes the text from an answer of our own, and states its length in `Content-Length`.
pub(crate) fn without_body(mut response: Response<Answer>) -> Response<Answer> {
    if let Some(length) = response.body_mut().leave_out_text() {
        let headers = response.headers_mut();
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    response
}
