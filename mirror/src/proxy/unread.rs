//! Answers to requests whose bodies have not come to their end: ours, and those of a legacy that answers early.
//!
//! The next request on a connection of HTTP/1 stands behind the body. So either somebody reads the rest, or the answer
//! says that it is the last one; a connection that ends without that word looks to a client like a fault. And it ends
//! slowly (see `client::linger`), for a client reads no answer before it has sent its body.

use std::rc::Rc;

use http::header::CONNECTION;
use http::{HeaderValue, Response, Version};

use crate::proxy::answer::Answer;
use crate::proxy::client::Client;
use crate::proxy::upload::{Upload, UploadState};

/// Our own answer to a request whose body may not have come to its end. The next request on the connection stands
/// behind that end: a short rest is read for nobody, and otherwise the client learns that there will be no next one.
/// HTTP/2 gives up one stream (`RST_STREAM` with `NO_ERROR`, behind the answer) and nothing else.
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

/// Makes an answer the last one on its connection, where the client may be sending what nobody reads.
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

/// Makes an answer the last one on its connection, whatever the client has sent behind its request. HTTP/2 has no
/// behind, and says by itself when a connection ends.
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
