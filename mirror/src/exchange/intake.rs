//! Copies a request's body while it is forwarded.
//!
//! The body is polled deep inside the HTTP library, often by a task of a connection, so nothing is started from there.
//! It holds an [`Intake`], which copies, and only signals that the body is complete. The task of the client's request
//! holds the other end, a [`Completion`], and starts the ask. If that task polls the body itself, it looks right after
//! and is not woken for it.

use std::cell::Cell;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::HeaderMap;
use parity_schemas::graphql::OPERATION_BYTES;
use parity_schemas::verdict::Reason;

use crate::exchange::grpc::MessageCounter;
use crate::exchange::pending::Ask;
use crate::exchange::side::Side;

/// What the two ends share. Each has one reference, so the count tells whether the other one is gone.
#[derive(Default)]
struct Handover {
    /// The ask, from when the body is complete until it is taken.
    ask: Cell<Option<Ask>>,
    /// The task that waits for it.
    waiting: Cell<Option<Waker>>,
}

/// An ask that waits for its request's body. If this is dropped before the body is complete, the ask ends with a
/// reason.
pub(crate) struct Intake {
    /// `None` once it was handed over or has ended.
    ask: Option<Ask>,
    handover: Rc<Handover>,
    /// Counts gRPC messages: a request with several is a stream.
    messages: Option<MessageCounter>,
    /// Most bytes from which its GraphQL operation is read, if it is not shadowed otherwise.
    readable: Option<usize>,
}

/// The end of a request's body, as seen by the task that starts the ask then. If this is dropped before, the ask ends
/// with a reason.
pub(crate) struct Completion(Rc<Handover>);

impl Completion {
    /// The ask, once the body is complete; `None` if it never will be.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<Option<Ask>> {
        let ask = self.0.ask.take();
        if ask.is_some() || Rc::strong_count(&self.0) == 1 {
            return Poll::Ready(ask);
        }
        self.0.waiting.set(Some(cx.waker().clone()));
        Poll::Pending
    }

    /// Does not wake the task until the next [`Self::poll`].
    pub(crate) fn be_silent(&self) {
        self.0.waiting.take();
    }
}

impl Intake {
    /// The two ends of a body for which `ask` waits; `grpc` is whether the body consists of gRPC messages.
    pub(crate) fn new(ask: Ask, grpc: bool) -> (Self, Completion) {
        let handover = Rc::<Handover>::default();
        let naming = ask.pending().naming();
        let readable = naming.is_some_and(|naming| !naming.takes_any());
        let intake = Self {
            readable: readable.then_some(OPERATION_BYTES),
            ask: Some(ask),
            handover: Rc::clone(&handover),
            messages: grpc.then(MessageCounter::default),
        };
        (intake, Completion(handover))
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
        let rest = self.readable.as_mut().map(|rest| {
            let fits = rest.checked_sub(chunk.len());
            *rest = fits.unwrap_or_default();
            fits
        });
        let kept = if several {
            Err(Reason::Stream)
        } else if rest == Some(None) {
            // It may be anything.
            Err(Reason::UnsafeMethod)
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
        // If nobody takes the ask any more, it ends when this is dropped.
        if Rc::strong_count(&self.handover) > 1
            && let Some(ask) = self.ask.take()
        {
            if let Some(refused) = ask.pending().read_operation() {
                ask.pending().drop_body();
                return ask.fail(refused);
            }
            self.handover.ask.set(Some(ask));
            self.wake();
        }
    }

    /// The body will not be complete, for this reason.
    pub(crate) fn fail(&mut self, reason: Reason) {
        if let Some(ask) = self.ask.take() {
            ask.fail(reason);
        }
    }

    /// The ask that waits, if nothing of the body has come yet; it is for the caller to end it.
    pub(crate) fn take_ask(&mut self) -> Option<Ask> {
        self.ask.take()
    }

    fn wake(&self) {
        if let Some(waiting) = self.handover.waiting.take() {
            waiting.wake();
        }
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        // The legacy answered before the body was complete. A panic or a shutdown is the better reason.
        if let Some(ask) = self.ask.take() {
            let terms = ask.pending().terms();
            let reason = match terms.drop_reason() {
                // Behind the candidate, what became of the candidate is the better reason, if it failed.
                lost if lost == terms.lost() && ask.side() == Side::Legacy => {
                    ask.abandon_for(Reason::LegacyEarly);
                    return self.wake();
                }
                lost if lost == terms.lost() => Reason::LegacyEarly,
                ours => ours,
            };
            ask.fail(reason);
        }
        self.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;
    use crate::exchange::fixture::{Log, asks, head, terms};

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_end_of_a_body_hands_the_ask_over_and_wakes_only_a_task_that_waits() {
        for looks_itself in [true, false] {
            let log = Rc::<Log>::default();
            let terms = terms(&log);
            let (_legacy, candidate) = asks(&terms, head());
            let (mut intake, completion) = Intake::new(candidate, false);
            let woken = Arc::<Woken>::default();
            let waker = Waker::from(Arc::clone(&woken));
            let context = Context::from_waker(&waker);
            assert!(completion.poll(&context).is_pending());
            if looks_itself {
                completion.be_silent();
            }
            // Outside of a runtime: starting a task here would panic.
            intake.complete();
            assert_eq!(woken.0.load(Ordering::Relaxed), usize::from(!looks_itself));
            assert!(matches!(completion.poll(&context), Poll::Ready(Some(_))));
        }
    }

    #[test]
    fn a_body_that_ends_too_early_or_too_late_ends_the_ask() {
        type End = fn(Intake, Completion);
        let cases: [(End, Reason); 3] = [
            (
                |intake, completion| {
                    drop(intake);
                    let polled = completion.poll(&Context::from_waker(Waker::noop()));
                    assert!(matches!(polled, Poll::Ready(None)));
                },
                Reason::LegacyEarly,
            ),
            (
                |mut intake, completion| {
                    drop(completion);
                    intake.complete();
                },
                Reason::LegacyEarly,
            ),
            (
                |mut intake, completion| {
                    intake.fail(Reason::ClientAborted);
                    drop((intake, completion));
                },
                Reason::ClientAborted,
            ),
        ];
        for (end, expected) in cases {
            let log = Rc::<Log>::default();
            let terms = terms(&log);
            let (legacy, candidate) = asks(&terms, head());
            let (intake, completion) = Intake::new(candidate, false);
            end(intake, completion);
            legacy.abandon();
            assert_eq!(log.outcomes(), [Some(expected)]);
        }
    }
}
