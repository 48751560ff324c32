//! What carries one request to a service: a connection of its own (HTTP/1.1), or a stream on a shared one (HTTP/2).
//!
//! The caller need not know which of the two it is, with one exception: an HTTP/1.1 connection moves bytes only while
//! the caller polls it.

/// The methods that a wrapper around a connection forwards unchanged.
macro_rules! forward_to_inner_io {
    () => {
        fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.io).poll_flush(cx)
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.io).poll_shutdown(cx)
        }

        fn is_write_vectored(&self) -> bool {
            self.io.is_write_vectored()
        }
    };
}

pub(super) mod frame_counter;
pub(super) mod http1;
pub(super) mod http2;
mod spelled;

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body as _, Frame};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;

use crate::headers::Wire;
use crate::upstream::account::Account;
use crate::upstream::body::{AnswerBody, RequestBody};
use crate::upstream::fault::ServiceFault;

/// What carries a request and its answer.
pub(crate) enum Link<B: RequestBody> {
    /// Driven by the task that waits for the answer; see [`http1`].
    Own(Box<http1::Connected<B>>),
    /// Driven by a task of the connection; see [`http2`].
    Stream(http2::Stream<B>),
}

impl<B: RequestBody> Link<B> {
    /// The HTTP version.
    pub(crate) fn wire(&self) -> Wire {
        match self {
            Self::Own(_) => Wire::Http1,
            Self::Stream(_) => Wire::Http2,
        }
    }

    fn account(&self) -> Option<&Account> {
        match self {
            Self::Own(link) => link.account(),
            Self::Stream(stream) => stream.account(),
        }
    }

    /// Whether it was closed because the service sent far more than its answers needed.
    pub(super) fn is_flooded(&self) -> bool {
        self.account().is_some_and(Account::is_flooded)
    }

    /// Classifies an error within an answer's body.
    pub(crate) fn fault(&self, error: &hyper::Error) -> ServiceFault {
        if self.is_flooded() {
            ServiceFault::Flood
        } else {
            ServiceFault::within_body(error)
        }
    }

    /// Credits a part of an answer's body to the account of the connection. Returns `false` if the account is
    /// overdrawn; waits if the slice is used up.
    pub(crate) async fn credit(&self, bytes: usize) -> bool {
        let Some(account) = self.account() else {
            return true;
        };
        match self {
            Self::Own(_) => account.chunk(bytes),
            Self::Stream(_) => account.delivered(bytes),
        }
        if account.check().is_err() {
            return false;
        }
        account.turns().go_on().await;
        true
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(
        &mut self,
        request: Request<B>,
    ) -> Result<Response<Incoming>, TrySendError<Request<B>>> {
        match self {
            Self::Own(link) => link.send(request).await,
            Self::Stream(stream) => stream.send(request).await,
        }
    }

    /// The next frame of the answer's body.
    pub(crate) fn poll_frame(
        &mut self,
        body: &mut AnswerBody,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self {
            Self::Own(link) => link.poll_frame(body, cx),
            Self::Stream(_) => Pin::new(body).poll_frame(cx),
        }
    }
}
