//! The copy of a complete request body, to be sent to a service.
//!
//! It uses the client's framing (length or chunks). Its chunks share memory with the body that is kept for the
//! comparison.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body as HttpBody, Frame, SizeHint};
use parity_schemas::exchange::Body;

/// The copy of a request's body.
pub(crate) struct Copied {
    chunks: Box<dyn ExactSizeIterator<Item = Bytes>>,
    left: usize,
    trailers: Option<HeaderMap>,
    /// Whether the client announced the length: every service gets the same framing.
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

    /// The next frame; never waits.
    pub(crate) fn next(&mut self) -> Option<Frame<Bytes>> {
        let Some(chunk) = self.chunks.next() else {
            return self.trailers.take().map(Frame::trailers);
        };
        self.left -= chunk.len();
        Some(Frame::data(chunk))
    }
}

/// No body at all.
impl Default for Copied {
    fn default() -> Self {
        Self::new(Body::default(), None, true)
    }
}

impl HttpBody for Copied {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.get_mut().next().map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.chunks.len() == 0 && self.trailers.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        if self.sized {
            SizeHint::with_exact(self.left as u64)
        } else {
            SizeHint::default()
        }
    }
}
