//! Answers to requests whose bodies have not been read to the end: our own, and those of a legacy that answers early.
//!
//! On HTTP/1 the next request follows the body on the same connection. So either the rest of the body is read, or the
//! answer says `Connection: close`; without that, closing looks like an error to the client. The close lingers (see
//! `client::linger`), because many clients read no answer before they have sent their body.

use std::rc::Rc;

use http::header::CONNECTION;
use http::{HeaderValue, Response, Version};

use crate::proxy::answer::Answer;
use crate::proxy::client::Client;
use crate::proxy::upload::{Upload, UploadState};

/// Prepares our own answer to a request whose body may be incomplete. A short rest is read and discarded; otherwise the
/// answer closes the connection. On HTTP/2 only the stream ends (`RST_STREAM` with `NO_ERROR`, after the answer).
pub(crate) async fn finish_or_close(
    client: &Client,
    version: Version,
    body: Option<Rc<Upload>>,
    answer: Response<Answer>,
) -> Response<Answer> {
    let rest = body.filter(|body| body.state() == UploadState::Running);
    let Some(rest) = rest.filter(|_| version != Version::HTTP_2) else {
        return answer;
    };
    if rest.has_little_left() {
        rest.promise();
        client
            .worker()
            .spawn(async move { rest.keep_promise().await });
        return answer;
    }
    if rest.size_hint().exact().is_none() && rest.ends_soon().await {
        return answer;
    }
    close_unread(client, version, answer)
}

/// Makes an answer the last one on its connection, while the client may still be sending a body that is not read.
pub(crate) fn close_unread(
    client: &Client,
    version: Version,
    answer: Response<Answer>,
) -> Response<Answer> {
    if let Some(socket) = client.http1_socket() {
        socket.leaves_unread();
    }
    close_after(answer, version)
}

/// Makes an answer the last one on its connection. HTTP/2 is not changed: there the connection itself announces its end
/// (`GOAWAY`).
pub(crate) fn close_after(mut answer: Response<Answer>, version: Version) -> Response<Answer> {
    if version != Version::HTTP_2 {
        // hyper would add `keep-alive` for a client of HTTP/1.0 that asked for it, unless the answer is of that
        // version.
        *answer.version_mut() = version;
        answer
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}
