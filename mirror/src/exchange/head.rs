//! The head of a request, as it came and as a service gets it.
//!
//! A head is kept as the client sent it, and put anew for each service that is asked and each version of HTTP that is
//! spoken there: that is the only way in which two services can be asked the same.

use std::rc::Rc;

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::uri::Scheme;
use http::{HeaderMap, HeaderValue, Method, Request, Uri, Version};
use http_body::Body;
use parity_schemas::exchange;

use crate::exchange::detach;
use crate::forwarding::{Forwarding, Peer};
use crate::headers::{self, Wire};
use crate::spelling::Spelling;
use crate::upstream::Target;

/// A request head as the client sent it.
pub(crate) struct RequestHead {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    /// How the client wrote the target, where `uri` cannot have it.
    pub(crate) spelling: Option<Spelling>,
    pub(crate) headers: HeaderMap,
    /// Whether it was read into a buffer that is much larger than it.
    pub(crate) keeps_buffer: bool,
    pub(crate) version: Version,
    pub(crate) peer: Rc<Peer>,
}

/// In what form a service gets a request.
pub(crate) struct RequestForm<'a> {
    /// What is changed for this service.
    pub(super) target: &'a Target,
    /// Stands in for a `Host` field that the client did not send.
    pub(super) host: &'a HeaderValue,
    pub(super) forwarding: &'a Forwarding,
    pub(super) wire: Wire,
    pub(super) scheme: &'a Scheme,
    /// Whether the connection can write a target as the client wrote it.
    pub(super) spells: bool,
}

impl RequestForm<'_> {
    /// On a connection that cannot write a target as the client wrote it: what a URL must not have is percent-encoded.
    pub(crate) fn encoded(self) -> Self {
        Self {
            spells: false,
            ..self
        }
    }
}

impl RequestHead {
    /// What a service is sent for it.
    pub(crate) fn request<B: Body>(&self, form: &RequestForm<'_>, body: B) -> Request<B> {
        let mut headers = headers::for_upstream(&self.headers, &self.uri, form.host);
        form.forwarding
            .request(&mut headers, &self.peer, self.version);
        form.target.change(&mut headers);
        let mut target = form.target.target(&self.uri);
        let mut request = Request::new(body);
        if let Some(spelling) = &self.spelling {
            let spelling = spelling.clone().within(common_end(&self.uri, &target));
            if form.spells && form.wire == Wire::Http1 {
                request.extensions_mut().insert(spelling);
            } else {
                target = spelling.encoded(&target).unwrap_or(target);
            }
        }
        let uri = headers::fit(form.wire, target, &mut headers, form.scheme);
        let body = request.body();
        if form.wire == Wire::Http1 && !body.is_end_stream() && body.size_hint().exact().is_none() {
            // hyper would leave out the body of a GET in chunks, unless it is told in so many words.
            headers.insert(TRANSFER_ENCODING, headers::CHUNKED);
        }
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        request
    }

    /// Whether it calls a gRPC service, which speaks HTTP/2 only.
    pub(crate) fn is_grpc(&self) -> bool {
        self.version == Version::HTTP_2 && headers::is_grpc(&self.headers)
    }

    /// Whether its client sends the body only when it is told to. HTTP/1.0 has no such thing (RFC 9110 §10.1.1), and
    /// over HTTP/2 nobody would be told.
    pub(crate) fn asks_to_send(&self) -> bool {
        self.version == Version::HTTP_11 && headers::expects_continue(&self.headers)
    }

    /// Whether sending it twice is as good as once (RFC 9110 §9.2.2).
    pub(crate) fn is_idempotent(&self) -> bool {
        self.method.is_idempotent()
    }

    /// Whether its client announced how long the body is.
    pub(super) fn is_sized(&self) -> bool {
        self.headers.contains_key(CONTENT_LENGTH)
    }

    /// Lets go of the buffer that it was read into.
    pub(super) fn detach(&mut self) {
        detach::fields(&mut self.headers);
        detach::target(&mut self.uri);
    }

    /// What is compared and recorded of it; the head itself is of no use any more.
    pub(super) fn taken(&mut self, body: exchange::Body) -> exchange::Request {
        exchange::Request {
            method: std::mem::take(&mut self.method),
            target: match &self.spelling {
                Some(spelling) => spelling.text(target(&self.uri)).into(),
                None => target(&self.uri).into(),
            },
            headers: (&self.headers).into(),
            body,
        }
    }
}

/// Path and query as on the request line.
fn target(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", |target| target.as_str())
}

/// How many bytes at the ends of two targets are the same.
fn common_end(one: &Uri, other: &Uri) -> usize {
    let [one, other] = [one, other].map(|uri| target(uri).bytes().rev());
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}
