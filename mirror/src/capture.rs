//! Keeping an answer while it passes, up to the caps.
//!
//! What is kept is a copy, so that no more memory is kept than is charged to the budget of the process: a slice of what
//! was read from the socket would keep all of the buffer. What does not fit is not cut to fit: an answer is captured
//! whole or not at all.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderMap;
use parity_schemas::exchange::{Body, Capture};
use parity_schemas::verdict::Reason;

use crate::detach;
use crate::grpc::Messages;
use crate::headers;
use crate::pending::Half;

/// One side's answer in the making.
pub(crate) struct Recorder {
    half: Half,
    status: u16,
    headers: HeaderMap,
    /// Counts the messages of gRPC: an answer of several is a stream.
    messages: Option<Messages>,
    body: Body,
    trailers: Option<HeaderMap>,
    sent: Instant,
}

impl Recorder {
    /// From the head on. `sent` is when the request was handed to the connection.
    pub(crate) fn new(half: Half, status: u16, mut headers: HeaderMap, sent: Instant) -> Self {
        detach::fields(&mut headers);
        Self {
            half,
            status,
            messages: headers::is_grpc(&headers).then(Messages::default),
            headers,
            body: Body::default(),
            trailers: None,
            sent,
        }
    }

    /// Keeps a chunk, or says why the answer cannot be kept; then what was kept is given up.
    pub(crate) fn data(&mut self, chunk: &Bytes) -> Result<(), Reason> {
        let pending = &self.half.pending;
        if pending.is_doomed() {
            self.give_up();
            return Ok(());
        }
        if let Some(messages) = &mut self.messages
            && messages.count(chunk) > 1
        {
            self.give_up();
            return Err(Reason::Stream);
        }
        if self.body.len() + chunk.len() > pending.generation.limits.body {
            self.give_up();
            return Err(Reason::ResponseTooLarge);
        }
        if !pending.hold.borrow_mut().grow(chunk.len()) {
            self.give_up();
            return Err(Reason::ByteBudget);
        }
        self.body.push(chunk);
        Ok(())
    }

    /// Keeps the trailers.
    pub(crate) fn trailers(&mut self, trailers: &HeaderMap) {
        detach::fields(self.trailers.insert(trailers.clone()));
    }

    /// Remembers why this will not be an exchange and goes on without keeping anything.
    pub(crate) fn note(&mut self, reason: Reason) {
        self.half.pending.note(reason);
    }

    /// The answer is whole.
    pub(crate) fn complete(self, elapsed: Duration) {
        self.half.complete(Capture {
            status: self.status,
            headers: self.headers,
            body: self.body,
            trailers: self.trailers,
            elapsed,
        });
    }

    /// The answer is not to be had.
    pub(crate) fn fail(mut self, reason: Reason) {
        self.give_up();
        self.half.fail(reason);
    }

    /// When the request was handed to the connection.
    pub(crate) fn sent(&self) -> Instant {
        self.sent
    }

    fn give_up(&mut self) {
        let kept = std::mem::take(&mut self.body);
        self.half.pending.hold.borrow_mut().shrink(kept.len());
    }
}
