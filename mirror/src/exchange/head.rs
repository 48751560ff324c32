//! The head of a request: as the client sent it, and as each service gets it.
//!
//! The head is kept as the client sent it, and rewritten separately for each service and HTTP version: only then do two
//! services get the same request.

use std::rc::Rc;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::uri::{self, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, Uri, Version};
use http_body::Body;
use parity_schemas::exchange::{self, Origin};

use crate::exchange::detach;
use crate::forwarding::{Forwarding, Peer};
use crate::headers::{self, Wire};
use crate::spelling::Spelling;
use crate::upstream::{RequestBody, Service, Target};

/// A request head as the client sent it.
pub(crate) struct RequestHead {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    /// The bytes of the target that `uri` cannot represent, if there are any.
    pub(crate) spelling: Option<Spelling>,
    pub(crate) headers: HeaderMap,
    /// Whether it was read into a buffer that is much larger than it.
    pub(crate) keeps_buffer: bool,
    pub(crate) version: Version,
    /// Whether it may have an effect though its method has none.
    pub(crate) has_effect: bool,
    /// Who sent it, if anybody did.
    pub(crate) peer: Option<Rc<Peer>>,
}

/// How a request is written for one service.
pub(crate) struct RequestForm<'a> {
    /// What is changed for this service.
    target: &'a Target,
    /// Stands in for a `Host` field that the client did not send.
    host: &'a HeaderValue,
    forwarding: &'a Forwarding,
    wire: Wire,
    scheme: &'a Scheme,
    /// Whether the connection can send the target with the client's exact bytes.
    spells: bool,
}

impl<'a> RequestForm<'a> {
    /// For a connection that can send the client's exact target.
    pub(crate) fn of<B: RequestBody>(
        service: &'a Service<B>,
        forwarding: &'a Forwarding,
        wire: Wire,
        scheme: &'a Scheme,
    ) -> Self {
        Self {
            target: service.target(),
            host: service.host(),
            forwarding,
            wire,
            scheme,
            spells: true,
        }
    }

    /// For a connection that cannot send the client's exact target: bytes that a URL must not contain are
    /// percent-encoded.
    pub(crate) fn encoded(self) -> Self {
        Self {
            spells: false,
            ..self
        }
    }
}

impl RequestHead {
    /// The request that a service gets.
    pub(crate) fn request<B: Body>(&self, form: &RequestForm<'_>, body: B) -> Request<B> {
        let mut headers = headers::for_upstream(&self.headers, &self.uri, form.host);
        form.forwarding
            .request(&mut headers, self.peer.as_deref(), self.version);
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
            // Without this header hyper would not send the chunked body of a GET.
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

    /// Whether the client waits for `100 Continue` before it sends the body. HTTP/1.0 has no such thing (RFC 9110
    /// §10.1.1), and hyper does not send it over HTTP/2.
    pub(crate) fn asks_to_send(&self) -> bool {
        self.version == Version::HTTP_11 && headers::expects_continue(&self.headers)
    }

    /// Whether it has no effect, by its method (RFC 9110 §9.2.1) and by what else it says, so that it may be sent twice. That a method is
    /// idempotent is not enough: the second DELETE is answered otherwise than the first, and another client's change may have come
    /// between two PUTs.
    pub(crate) fn is_safe(&self) -> bool {
        headers::is_safe(&self.method) && !self.has_effect
    }

    /// Whether the client announced the length of the body.
    pub(super) fn is_sized(&self) -> bool {
        self.headers.contains_key(CONTENT_LENGTH)
    }

    /// Copies it out of the buffer that it was read into.
    pub(super) fn detach(&mut self) {
        detach::fields(&mut self.headers);
        detach::target(&mut self.uri);
    }

    /// What is compared, recorded, or needed to send it again.
    pub(crate) fn kept(&self, body: exchange::Body) -> exchange::Request {
        let target = target(&self.uri);
        exchange::Request {
            method: self.method.clone(),
            target: match &self.spelling {
                Some(spelling) => spelling.text(target).into(),
                None => target.into(),
            },
            headers: (&self.headers).into(),
            body,
            origin: Origin {
                client: self.peer.as_ref().map(|peer| peer.client()),
                version: self.version,
                authority: self.uri.authority().map(|it| it.as_str().into()),
                target: self.spelling.as_ref().map(|it| it.bytes(target).into()),
                trailers: None,
                own: None,
            },
        }
    }

    /// The head of a request that was taken apart, or recorded. `None` if it is not one that HTTP can send.
    pub(crate) fn of(request: &exchange::Request) -> Option<Self> {
        let origin = &request.origin;
        let bytes = origin.target.as_deref();
        let (target, spelling) = Spelling::of_target(bytes.unwrap_or(request.target.as_bytes()));
        let mut uri = uri::Parts::default();
        uri.path_and_query = Some(PathAndQuery::from_maybe_shared(Bytes::from(target)).ok()?);
        if let Some(authority) = &origin.authority {
            // The scheme is that of the service; without any, there could be no authority.
            uri.scheme = Some(Scheme::HTTP);
            uri.authority = Some(authority.parse().ok()?);
        }
        let mut headers = HeaderMap::with_capacity(request.headers.len());
        for (name, value) in request.headers.iter() {
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).ok()?);
        }
        let peer = |client: exchange::Client| Rc::new(Peer::new(client.address, client.secure));
        Some(Self {
            method: request.method.clone(),
            uri: Uri::from_parts(uri).ok()?,
            spelling,
            keeps_buffer: false,
            version: origin.version,
            // What else it asks for was looked at before.
            has_effect: headers::says_unsafe_method(headers::fields(&headers)),
            headers,
            peer: origin.client.map(peer),
        })
    }
}

/// Path and query as on the request line.
fn target(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", |target| target.as_str())
}

/// The length of the common suffix of two targets.
fn common_end(one: &Uri, other: &Uri) -> usize {
    let [one, other] = [one, other].map(|uri| target(uri).bytes().rev());
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}
