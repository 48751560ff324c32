//! The body of an answer to a client: streamed from the legacy, or a short text of our own.
//!
//! The client's connection polls it; it starts no tasks.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::proxy::client::Busy;
use crate::proxy::relay::Relay;

/// Body of the answer to the client.
pub(crate) struct Answer {
    content: Content,
    /// Keeps the connection busy until hyper has dropped the answer.
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
    /// There is none, but `Content-Length` states the length of a full answer: a 304.
    Framed(u64),
    /// A short text of our own.
    Text(Bytes),
    /// The legacy's, streamed.
    Relay(Relay),
}

impl Answer {
    pub(crate) fn new(content: Content, busy: Busy) -> Self {
        Self { content, busy }
    }

    /// Removes a text of our own and returns its length.
    pub(crate) fn leave_out_text(&mut self) -> Option<usize> {
        let Content::Text(text) = &self.content else {
            return None;
        };
        let length = text.len();
        self.content = Content::Empty;
        Some(length)
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
