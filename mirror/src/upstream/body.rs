//! Body types: that of a request, which the sender chooses, and that of an answer.
//!
//! Connections are generic over the body that they send, so one worker uses one type for all its requests. The body of
//! an answer wraps hyper's type, so that no other module depends on it.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

/// What can be sent as the body of a request. The default is the empty body, with which a request without a body is
/// sent again.
pub(crate) trait RequestBody:
    Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Default + Unpin + 'static
{
}

impl<B> RequestBody for B where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Default + Unpin + 'static
{
}

/// The body of an answer. If its reader also drives the connection, it must be read with
/// [`Link::poll_frame`](crate::upstream::Link::poll_frame).
pub(crate) struct AnswerBody(Incoming);

impl AnswerBody {
    pub(super) fn new(incoming: Incoming) -> Self {
        Self(incoming)
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.0).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}
