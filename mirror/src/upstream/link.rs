//! The way to a service that one request has: a connection of its own (HTTP/1.1), or a stream among others (HTTP/2).

/// What a wrapper of a connection that only looks at bytes leaves to the connection itself.
macro_rules! ends_like_its_io {
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

pub(crate) mod frames;
pub(crate) mod http1;
pub(crate) mod http2;
mod spelled;

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body as _, Frame};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;

use crate::account::Account;
use crate::body::Outbound;
use crate::headers::Wire;

/// Longest head of an answer: status line and all fields, and each block of trailers.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Longest that hyper buffers for one connection before it waits for the reader. As long as a head may be and no longer,
/// for an idle connection keeps its buffer, and there are many.
pub(crate) const MAX_BUFFER_BYTES: usize = MAX_HEAD_BYTES;

/// What carries a request and its answer.
pub(crate) enum Link {
    /// Driven by whoever waits for the answer; see [`http1`].
    Own(Box<http1::Connected>),
    /// Driven by a task of the connection; see [`http2`].
    Stream(http2::Stream),
}

impl Link {
    /// What is spoken on it.
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

    /// Whether it broke because the service sent far more than its answers needed.
    pub(crate) fn is_flooded(&self) -> bool {
        self.account().is_some_and(Account::is_flooded)
    }

    /// Credits a part of an answer's body to the account of the connection. Returns `false` if the account is overdrawn
    /// nevertheless; waits, if the slice of work is used up.
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
    pub(crate) async fn send(
        &mut self,
        request: Request<Outbound>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Outbound>>> {
        match self {
            Self::Own(link) => link.send(request).await,
            Self::Stream(stream) => stream.send(request).await,
        }
    }

    /// The next frame of the answer's body.
    pub(crate) fn poll_frame(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self {
            Self::Own(link) => link.poll_frame(body, cx),
            Self::Stream(_) => Pin::new(body).poll_frame(cx),
        }
    }
}
