//! The copy of a request's body that is taken while the body passes.
//!
//! An ask that has to wait for the whole body waits here. When the body is whole, whoever owns the ask is told to start
//! it: what passes a body on starts no task by itself.

use std::rc::Rc;

use bytes::Bytes;
use http::HeaderMap;
use parity_schemas::verdict::Reason;

use crate::exchange::grpc::MessageCounter;
use crate::exchange::pending::Ask;

/// Who starts an ask once its request is whole.
pub(crate) trait StartAsk {
    /// Starts an ask whose request is whole.
    fn start(self: &Rc<Self>, ask: Ask);
}

/// An ask that waits for its request's body. Dropped before that is whole, it ends the ask: the other service answered
/// early, or the reason is ours.
pub(crate) struct Intake<S: StartAsk> {
    /// `None` once it was started, or has ended.
    ask: Option<Ask>,
    owner: Rc<S>,
    /// Counts the messages of gRPC: a request of several is a stream.
    messages: Option<MessageCounter>,
}

impl<S: StartAsk> Intake<S> {
    /// `owner` is told when the body is whole; `grpc` is whether it consists of messages of gRPC.
    pub(crate) fn new(ask: Ask, owner: &Rc<S>, grpc: bool) -> Self {
        Self {
            ask: Some(ask),
            owner: Rc::clone(owner),
            messages: grpc.then(MessageCounter::default),
        }
    }

    /// Keeps a part of the body, as far as the limits go.
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

    /// Keeps the trailers, without the fields that ended with the client's connection.
    pub(crate) fn trailers(&mut self, trailers: &HeaderMap) {
        if let Some(ask) = &self.ask {
            ask.pending().keep_trailers(trailers.clone());
        }
    }

    /// The body is whole.
    pub(crate) fn complete(&mut self) {
        if let Some(ask) = self.ask.take() {
            self.owner.start(ask);
        }
    }

    /// The body broke off: the client is gone.
    pub(crate) fn fail(&mut self) {
        if let Some(ask) = self.ask.take() {
            ask.fail(Reason::ClientAborted);
        }
    }
}

impl<S: StartAsk> Drop for Intake<S> {
    fn drop(&mut self) {
        // The legacy answered before the body was complete. Where it broke, or the client left, that comes first.
        if let Some(ask) = self.ask.take() {
            let reason = match ask.pending().terms().drop_reason() {
                Reason::ClientAborted => Reason::LegacyEarly,
                ours => ours,
            };
            ask.fail(reason);
        }
    }
}
