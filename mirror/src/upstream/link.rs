//! The way to a service that one request has: a connection of its own (HTTP/1.1), or a stream among others (HTTP/2).
//!
//! Who sends a request need not know which of the two it is, but for one thing: a connection of its own moves bytes
//! only while somebody polls it.

/// The methods that a wrapper which only looks at the bytes of a connection forwards to the connection.
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
use crate::upstream::fault::{self, ServiceFault};

/// What carries a request and its answer.
pub(crate) enum Link<B: RequestBody> {
    /// Driven by whoever waits for the answer; see [`http1`].
    Own(Box<http1::Connected<B>>),
    /// Driven by a task of the connection; see [`http2`].
    Stream(http2::Stream<B>),
}

impl<B: RequestBody> Link<B> {
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
    pub(super) fn is_flooded(&self) -> bool {
        self.account().is_some_and(Account::is_flooded)
    }

    /// What an error within an answer's body is called.
    pub(crate) fn fault(&self, error: &hyper::Error) -> ServiceFault {
        if self.is_flooded() {
            ServiceFault::Flood
        } else {
            fault::within_body(error)
        }
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
