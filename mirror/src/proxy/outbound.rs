//! The bodies that pass: requests on their way to a service, answers on their way to the client.
//!
//! Nothing here collects a body for the path of the client. Frames go on as they come; what is kept of them for the
//! candidate and the comparison is a copy.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body as HttpBody, Frame, SizeHint};
use parity_schemas::exchange::Body;
use parity_schemas::verdict::Reason;

use crate::client::Busy;
use crate::grpc::Messages;
use crate::headers;
use crate::pending::{Half, Side};
use crate::relay::Relay;
use crate::shadow;
use crate::upload::{BodyError, Progress};

/// Body of a request to a service.
pub(crate) enum Outbound {
    /// There is none.
    Empty,
    /// The client's, as it comes in.
    Live(Tee),
    /// The copy of one that came in whole.
    Copy(Box<Copied>),
}

impl HttpBody for Outbound {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.get_mut() {
            Self::Empty => Poll::Ready(None),
            Self::Live(tee) => tee.poll(cx),
            Self::Copy(copied) => Poll::Ready(copied.next().map(Ok)),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Live(tee) => tee.upload.is_end_stream(),
            Self::Copy(copied) => copied.chunks.len() == 0 && copied.trailers.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Live(tee) => tee.upload.size_hint(),
            Self::Copy(copied) if copied.sized => SizeHint::with_exact(copied.left as u64),
            Self::Copy(_) => SizeHint::default(),
        }
    }
}

/// The copy of a request's body.
pub(crate) struct Copied {
    chunks: Box<dyn ExactSizeIterator<Item = Bytes>>,
    left: usize,
    trailers: Option<HeaderMap>,
    /// Whether the client announced the length: the candidate gets the same framing as the legacy.
    sized: bool,
}

impl Copied {
    pub(crate) fn new(body: Body, trailers: Option<HeaderMap>, sized: bool) -> Self {
        Self {
            left: body.len(),
            chunks: Box::new(body.into_chunks()),
            trailers,
            sized,
        }
    }

    fn next(&mut self) -> Option<Frame<Bytes>> {
        let Some(chunk) = self.chunks.next() else {
            return self.trailers.take().map(Frame::trailers);
        };
        self.left -= chunk.len();
        Some(Frame::data(chunk))
    }
}

/// The client's body on its way to the legacy, copied while it passes.
pub(crate) struct Tee {
    upload: Rc<Progress>,
    copy: Option<Half>,
    /// Counts the messages of gRPC: a request of several is a stream.
    messages: Option<Messages>,
}

impl Tee {
    /// With `copy`, the candidate is started when the body is complete.
    pub(crate) fn new(upload: Rc<Progress>, copy: Option<Half>, grpc: bool) -> Self {
        Self {
            upload,
            copy,
            messages: grpc.then(Messages::default),
        }
    }

    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let mut polled = ready!(self.upload.poll_frame(cx));
        match &mut polled {
            Some(Ok(frame)) => {
                if let Some(chunk) = frame.data_ref() {
                    self.keep(chunk);
                    if self.upload.is_end_stream() {
                        self.complete();
                    }
                } else if let Some(trailers) = frame.trailers_mut() {
                    headers::strip_hop_by_hop(trailers);
                    if let Some(copy) = &self.copy {
                        *copy.pending.trailers.borrow_mut() = Some(trailers.clone());
                    }
                    self.complete();
                }
            }
            Some(Err(_)) => self.fail(),
            None => self.complete(),
        }
        Poll::Ready(polled)
    }

    fn fail(&mut self) {
        if let Some(copy) = self.copy.take() {
            copy.fail(Reason::ClientAborted);
        }
    }

    fn keep(&mut self, chunk: &Bytes) {
        let Some(copy) = &self.copy else {
            return;
        };
        let pending = &copy.pending;
        let mut body = pending.body.borrow_mut();
        if pending.is_doomed() {
            pending.hold.borrow_mut().shrink(body.len());
            *body = Body::default();
            drop(body);
            if let Some(copy) = self.copy.take() {
                copy.abandon();
            }
            return;
        }
        let several = self
            .messages
            .as_mut()
            .is_some_and(|messages| messages.count(chunk) > 1);
        let refused = if several {
            Reason::Stream
        } else if body.len() + chunk.len() > pending.generation.limits.body {
            Reason::RequestTooLarge
        } else if pending.hold.borrow_mut().keep(&mut body, chunk) {
            return;
        } else {
            Reason::ByteBudget
        };
        pending.hold.borrow_mut().shrink(body.len());
        *body = Body::default();
        drop(body);
        if let Some(copy) = self.copy.take() {
            copy.fail(refused);
        }
    }

    fn complete(&mut self) {
        if let Some(copy) = self.copy.take() {
            shadow::start(copy, Side::Candidate);
        }
    }
}

impl Drop for Tee {
    fn drop(&mut self) {
        // The legacy answered before the body was complete. Where it broke, or the client left, that comes first.
        if let Some(copy) = self.copy.take() {
            let reason = match copy.pending.generation.worker.loss() {
                Reason::ClientAborted => Reason::LegacyEarly,
                ours => ours,
            };
            copy.fail(reason);
        }
    }
}

/// Body of the answer to the client.
pub(crate) struct Answer {
    content: Content,
    /// The connection counts as busy until its answer has been handed over.
    busy: Busy,
}

/// What an answer's body is made of.
#[expect(
    clippy::large_enum_variant,
    reason = "the large one is the common one, and hyper keeps the body in one allocation per connection"
)]
pub(crate) enum Content {
    /// There is none.
    Empty,
    /// There is none, but the head states the length that another answer would have: 304.
    Framed(u64),
    /// A few words of ours.
    Text(Bytes),
    /// The legacy's, as it comes in.
    Relay(Relay),
}

impl Answer {
    pub(crate) fn new(content: Content, busy: Busy) -> Self {
        Self { content, busy }
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Self { content, busy } = self.get_mut();
        let polled = match content {
            Content::Empty | Content::Framed(_) => Poll::Ready(None),
            Content::Text(text) => {
                let text = std::mem::take(text);
                *content = Content::Empty;
                Poll::Ready(Some(Ok(Frame::data(text))))
            }
            Content::Relay(relay) => relay.poll(cx),
        };
        busy.polled(polled.is_ready());
        polled
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Empty => true,
            Content::Framed(_) | Content::Text(_) => false,
            Content::Relay(relay) => relay.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Empty => SizeHint::with_exact(0),
            Content::Framed(length) => SizeHint::with_exact(*length),
            Content::Text(text) => SizeHint::with_exact(text.len() as u64),
            Content::Relay(relay) => relay.size_hint(),
        }
    }
}
