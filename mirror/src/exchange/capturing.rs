//! Captures an answer while it is read, up to the limits.
//!
//! The capture is a copy: a slice would keep the whole socket buffer alive, more memory than is charged to the byte
//! budget. A body is captured whole or not at all, never truncated. Status and headers are captured in either case,
//! because they are compared whatever the body is.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderMap;
use parity_schemas::exchange::{Body, Capture, Omitted};
use parity_schemas::fields::FieldLines;
use parity_schemas::verdict::Reason;

use crate::exchange::grpc::MessageCounter;
use crate::exchange::naming::CountedRoute;
use crate::exchange::pending::Ask;
use crate::exchange::side::Side;

/// The capture of one answer in progress.
pub(crate) struct Capturing {
    ask: Ask,
    status: u16,
    headers: FieldLines,
    /// Counts messages of gRPC or gRPC-Web: an answer with several is a stream.
    messages: Option<MessageCounter>,
    body: Body,
    /// Bytes of the body so far, kept or not.
    seen: u64,
    /// Why the body is not kept.
    omitted: Option<Omitted>,
    trailers: Option<FieldLines>,
    sent: Instant,
    head_at: Instant,
}

impl Capturing {
    /// Starts with the head, which arrived at `head_at`. `sent` is when the request was handed to the connection.
    pub(crate) fn new(
        ask: Ask,
        status: u16,
        headers: &HeaderMap,
        sent: Instant,
        head_at: Instant,
    ) -> Self {
        Self {
            ask,
            status,
            messages: MessageCounter::of_answer(headers),
            headers: headers.into(),
            body: Body::default(),
            seen: 0,
            omitted: None,
            trailers: None,
            sent,
            head_at,
        }
    }

    /// Whether the whole answer of the other service is there.
    pub(crate) fn other_has_ended(&self) -> bool {
        self.ask.pending().has_answer(self.ask.side().other())
    }

    /// The route of the request, unless it is settled already.
    pub(super) fn route(&self) -> Option<CountedRoute> {
        self.ask.pending().route()
    }

    /// Captures a chunk. Returns why the body is not captured, if it is not; an error if there will be no capture at
    /// all.
    pub(crate) fn data(&mut self, chunk: &Bytes) -> Result<Option<Omitted>, Reason> {
        self.seen += chunk.len() as u64;
        let pending = self.ask.pending();
        if pending.is_doomed() && !pending.is_heard() {
            self.give_up();
            return Ok(None);
        }
        if self.omitted.is_some() {
            return Ok(self.omitted);
        }
        if let Some(messages) = &mut self.messages
            && messages.count(chunk) > 1
        {
            self.omit(Omitted::Stream);
        } else if self.seen > pending.terms().limits().body as u64 {
            self.omit(Omitted::TooLarge {
                at_least: self.seen,
            });
        } else if !pending.keep_chunk(&mut self.body, chunk) {
            return self.no_room().map(Some);
        }
        Ok(self.omitted)
    }

    /// The byte budget has no room for more of the body. The candidate's head is compared all the same: a wrong answer that is large
    /// must not be one that nobody counts. An error for the legacy's, whose answer says nothing of the candidate.
    pub(crate) fn no_room(&mut self) -> Result<Omitted, Reason> {
        if self.ask.side() == Side::Legacy {
            self.give_up();
            return Err(Reason::ByteBudget);
        }
        let why = Omitted::NoRoom {
            at_least: self.seen,
        };
        self.omit(why);
        Ok(why)
    }

    /// Stops capturing the body.
    fn omit(&mut self, why: Omitted) {
        self.give_up();
        self.omitted = Some(why);
        if matches!(why, Omitted::TooLarge { .. }) {
            self.ask.let_other_go();
        }
    }

    /// Whether the body is kept.
    pub(crate) fn keeps_body(&self) -> bool {
        self.omitted.is_none()
    }

    /// Decides from the head that the body will not be captured: it is a stream, or its announced length is over the
    /// limit.
    pub(crate) fn foresee(&mut self, is_stream: bool, announced: u64) -> Option<Omitted> {
        let why = if is_stream {
            Omitted::Stream
        } else if announced > self.ask.pending().terms().limits().body as u64 {
            Omitted::TooLarge {
                at_least: announced,
            }
        } else {
            return None;
        };
        self.omit(why);
        Some(why)
    }

    /// Keeps the trailers.
    pub(crate) fn trailers(&mut self, trailers: &HeaderMap) {
        self.trailers = Some(trailers.into());
    }

    /// The answer is complete, or all of it that is needed.
    pub(crate) fn complete(self, elapsed: Duration) {
        let body = match self.omitted {
            None => self.body,
            Some(Omitted::TooLarge { at_least }) => Body::omitted(Omitted::TooLarge {
                at_least: at_least.max(self.seen),
            }),
            Some(why) => Body::omitted(why),
        };
        self.ask.complete(Capture {
            status: self.status,
            headers: self.headers,
            body,
            trailers: self.trailers,
            hidden: None,
            head_elapsed: self.head_at.saturating_duration_since(self.sent),
            elapsed,
        });
    }

    /// The answer cannot be captured, for this reason.
    pub(crate) fn fail(mut self, reason: Reason) {
        self.give_up();
        self.ask.fail(reason);
    }

    /// The status of the answer.
    pub(super) fn status(&self) -> u16 {
        self.status
    }

    /// When the request was handed to the connection.
    pub(crate) fn sent(&self) -> Instant {
        self.sent
    }

    fn give_up(&mut self) {
        let kept = std::mem::take(&mut self.body);
        self.ask.pending().release(kept.len());
    }
}
