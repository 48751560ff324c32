//! Copies a request's body while it is forwarded.
//!
//! An ask that needs the whole body waits here. When the body is complete, the owner of the ask is told to start it:
//! code that forwards a body starts no task itself.

use std::rc::Rc;

use bytes::Bytes;
use http::HeaderMap;
use parity_schemas::verdict::Reason;

use crate::exchange::grpc::MessageCounter;
use crate::exchange::pending::Ask;

/// Starts an ask once the body of its request is complete.
pub(crate) trait StartAsk {
    /// Starts an ask whose request is complete.
    fn start(self: &Rc<Self>, ask: Ask);
}

/// An ask that waits for its request's body. If this is dropped before the body is complete, the ask ends with a
/// reason.
pub(crate) struct Intake<S: StartAsk> {
    /// `None` once it was started or has ended.
    ask: Option<Ask>,
    owner: Rc<S>,
    /// Counts gRPC messages: a request with several is a stream.
    messages: Option<MessageCounter>,
}

impl<S: StartAsk> Intake<S> {
    /// `owner` starts the ask when the body is complete; `grpc` is whether the body consists of gRPC messages.
    pub(crate) fn new(ask: Ask, owner: &Rc<S>, grpc: bool) -> Self {
        Self {
            ask: Some(ask),
            owner: Rc::clone(owner),
            messages: grpc.then(MessageCounter::default),
        }
    }

    /// Copies a part of the body, if the limits allow it; ends the ask otherwise.
    pub(crate) fn data(&mut self, chunk: &Bytes) {
        let Some(ask) = &self.ask else {
            return;
        };
        let pending = ask.pending();
        if pending.is_doomed() {
            pending.drop_body();
            if let Some(ask) = self.ask.take() {
                ask.abandon();
            }
            return;
        }
        let several = self
            .messages
            .as_mut()
            .is_some_and(|messages| messages.count(chunk) > 1);
        let kept = if several {
            Err(Reason::Stream)
        } else {
            pending.keep_body(chunk)
        };
        if let Err(refused) = kept {
            pending.drop_body();
            if let Some(ask) = self.ask.take() {
                ask.fail(refused);
            }
        }
    }

    /// Copies the trailers, from which hop-by-hop fields have been removed.
    pub(crate) fn trailers(&mut self, trailers: &HeaderMap) {
        if let Some(ask) = &self.ask {
            ask.pending().keep_trailers(trailers.clone());
        }
    }

    /// The body is complete.
    pub(crate) fn complete(&mut self) {
        if let Some(ask) = self.ask.take() {
            self.owner.start(ask);
        }
    }

    /// The client disconnected before the body was complete.
    pub(crate) fn fail(&mut self) {
        if let Some(ask) = self.ask.take() {
            ask.fail(Reason::ClientAborted);
        }
    }
}

impl<S: StartAsk> Drop for Intake<S> {
    fn drop(&mut self) {
        // The legacy answered before the body was complete. A panic or a shutdown is the better reason.
        if let Some(ask) = self.ask.take() {
            let reason = match ask.pending().terms().drop_reason() {
                Reason::ClientAborted => Reason::LegacyEarly,
                ours => ours,
            };
            ask.fail(reason);
        }
    }
}
