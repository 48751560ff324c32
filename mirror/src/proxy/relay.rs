//! Streams the body of the service that serves to the client, and then releases the service's connection.
//!
//! It also measures how long the service took: until its last byte, minus the time in which the client was not ready for
//! more data. Otherwise a slow client would make the service look slow.

mod leaving;

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use parity_schemas::clients::ClientOutcome;
use parity_schemas::exchange::Omitted;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::exchange::{Asker, Capturing, Completion, Purpose, Side};
use crate::headers;
use crate::proxy::outbound::Outbound;
use crate::proxy::overdue::{Counted, Overdue, Rolled};
use crate::proxy::tape::Tape;
use crate::proxy::ticket::ClientTicket;
use crate::proxy::upload::Upload;
use crate::upstream::{AnswerBody, Connected, Link, ServiceFault};

/// Who moves the bytes of the service's connection while the answer is read.
pub(crate) enum Driven {
    /// The reader of the answer itself.
    ByReader(Link<Outbound>),
    /// A separate task, because the request's body is still being sent, which must not wait for the client to read.
    ByTask(LinkTask),
    /// hyper's own task of a connection outside the pool (after a declined upgrade).
    Separately,
}

/// The task that drives a link while the answer is read, and a while longer.
pub(crate) struct LinkTask {
    task: AbortHandle,
    /// Dropped when the answer has been read to its end.
    reading: Option<oneshot::Sender<()>>,
}

impl LinkTask {
    /// Drives the link until its request has been sent too, and starts the ask that waits for that. After the end of the answer, an upload without progress for
    /// [`Limits::linger`](crate::Limits::linger) is stopped: a service that has already answered may never read the
    /// rest. The rest is then read and discarded, if the client may use its connection again.
    pub(crate) fn drive(
        asker: &Rc<Asker<Outbound>>,
        mut link: Box<Connected<Outbound>>,
        upload: Rc<Upload>,
        mut completion: Option<Completion>,
    ) -> Self {
        let (reading, over) = oneshot::channel::<()>();
        let owner = Rc::clone(asker);
        let task = asker.terms().tasks().spawn(async move {
            let patience = owner.terms().limits().linger;
            let stuck = async {
                drop(over.await);
                loop {
                    let before = upload.bytes();
                    tokio::time::sleep(patience).await;
                    if upload.bytes() == before {
                        break;
                    }
                }
            };
            let reusable = {
                let settling = pin!(link.settle());
                tokio::select! {
                    reusable = owner.start_during(&mut completion, settling) => reusable,
                    () = stuck => false,
                }
            };
            if reusable {
                let service = owner.service(owner.serving().side());
                service.put(Link::Own(link), Instant::now());
            } else {
                drop(link);
            }
            upload.keep_promise().await;
        });
        Self {
            task: task.abort_handle(),
            reading: Some(reading),
        }
    }

    /// The answer has been read to its end.
    pub(crate) fn finish(mut self) {
        self.reading = None;
    }
}

impl Drop for LinkTask {
    fn drop(&mut self) {
        if self.reading.is_some() {
            self.task.abort();
        }
    }
}

/// Status and times of an answer, and the client's ticket.
pub(crate) struct Answered {
    pub(crate) client_ticket: ClientTicket,
    pub(crate) status: u16,
    /// When the request was handed to the connection, plus the time that the service waited for the client's body.
    pub(crate) sent: Instant,
    /// When the head of the answer arrived.
    pub(crate) head_at: Instant,
    pub(crate) counted: Counted,
    /// Where the candidate serves the client.
    pub(crate) rolled: Option<Rolled>,
}

/// The rest of an answer after its head.
pub(crate) struct Relay {
    incoming: AnswerBody,
    driven: Driven,
    capturing: Option<Capturing>,
    tape: Option<Rc<Tape>>,
    asker: Rc<Asker<Outbound>>,
    /// The client's ticket, until the answer is over; and the status that the client got.
    client_ticket: Option<ClientTicket>,
    status: u16,
    counted: Counted,
    /// Watches an answer of the candidate that may take too long.
    overdue: Option<Box<Overdue>>,
    /// Bytes so far: what is too large to be compared lasts as long as it is, too.
    length: u64,
    sent: Instant,
    /// Since when the client has not been ready for more; `None` while waiting for the service.
    client_since: Option<Instant>,
    /// When the client was last ready for more: while waiting for the service, since when.
    ready_at: Instant,
    /// Total time in which the client was not ready for more.
    client_took: Duration,
    /// An error that waits until the bytes before it have been flushed to the client.
    failed: Option<hyper::Error>,
}

impl Relay {
    pub(crate) fn new(
        asker: &Rc<Asker<Outbound>>,
        incoming: AnswerBody,
        driven: Driven,
        (capturing, tape): (Option<Capturing>, Option<Rc<Tape>>),
        answered: Answered,
    ) -> Self {
        let Answered {
            client_ticket,
            status,
            sent,
            head_at,
            counted,
            rolled,
        } = answered;
        let overdue = rolled.map(|rolled| Box::new(Overdue::new(rolled)));
        Self {
            length: 0,
            incoming,
            driven,
            capturing,
            tape,
            asker: Rc::clone(asker),
            client_ticket: Some(client_ticket),
            status,
            counted,
            overdue,
            sent,
            client_since: Some(head_at),
            ready_at: head_at,
            client_took: Duration::ZERO,
            failed: None,
        }
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        self.failed.is_none() && self.incoming.is_end_stream()
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }

    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Some(Err(error)));
        }
        if let Some(since) = self.client_since.take() {
            self.ready_at = Instant::now();
            self.client_took += self.ready_at.saturating_duration_since(since);
        }
        let polled = self.poll_incoming(cx);
        if polled.is_pending()
            && self
                .overdue
                .as_mut()
                .is_some_and(|overdue| overdue.is_due(cx))
        {
            self.wait_goes_on();
        }
        match ready!(polled) {
            Some(Ok(mut frame)) => {
                if let Some(chunk) = frame.data_ref() {
                    self.length += chunk.len() as u64;
                    capture(&mut self.capturing, chunk);
                    if let Some(tape) = &self.tape
                        && !tape.answer_data(chunk)
                    {
                        self.tape = None;
                    }
                    if self.incoming.is_end_stream() {
                        self.finish();
                    }
                } else if let Some(trailers) = frame.trailers_mut() {
                    headers::strip_trailers(trailers);
                    if let Some(capturing) = &mut self.capturing {
                        capturing.trailers(trailers);
                    }
                    if let Some(tape) = &self.tape {
                        tape.answer_trailers(trailers);
                    }
                    self.finish();
                }
                if self.client_ticket.is_some() {
                    self.client_since = Some(Instant::now());
                }
                Poll::Ready(Some(Ok(frame)))
            }
            None => {
                self.finish();
                Poll::Ready(None)
            }
            Some(Err(error)) => {
                let side = self.asker.serving().side();
                if let Some(capturing) = self.capturing.take() {
                    let fault = ServiceFault::within_body(&error);
                    capturing.fail(side.reason(fault, true));
                }
                if let Some(client) = self.client_ticket.take() {
                    if self.counted.is_in_rollout() && !self.is_overdue() {
                        self.asker.serving().failed(side);
                    }
                    client.end(match side {
                        Side::Legacy => ClientOutcome::LegacyTruncated,
                        Side::Candidate => ClientOutcome::CandidateTruncated,
                    });
                }
                self.driven = Driven::Separately;
                // Delayed, so that the client gets all bytes before the error: hyper flushes them before the next poll.
                self.failed = Some(error);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }

    fn poll_incoming(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.driven {
            Driven::ByReader(link) => link.poll_frame(&mut self.incoming, cx),
            Driven::ByTask(_) | Driven::Separately => Pin::new(&mut self.incoming).poll_frame(cx),
        }
    }

    /// The answer is over: releases the connection and completes the capture.
    pub(crate) fn finish(&mut self) {
        let now = Instant::now();
        let side = self.asker.serving().side();
        match std::mem::replace(&mut self.driven, Driven::Separately) {
            Driven::ByReader(link) => self.asker.service(side).put(link, now),
            Driven::ByTask(task) => task.finish(),
            Driven::Separately => {}
        }
        let Some(client) = self.client_ticket.take() else {
            return;
        };
        // One that was overdue has been counted.
        let counts = self.counted.is_in_rollout() && !self.is_overdue();
        let route = counts.then(|| client.route().clone());
        client.end(match side {
            Side::Legacy => ClientOutcome::of_status(self.status),
            Side::Candidate => ClientOutcome::of_candidate(self.status),
        });
        // An answer without a body ended with its head.
        let until = self.client_since.take().unwrap_or(now);
        let elapsed = until
            .saturating_duration_since(self.sent)
            .saturating_sub(self.client_took);
        let meters = self.asker.terms().meters();
        meters.answered(Purpose::Traffic, side, elapsed);
        if let Some(route) = &route {
            let most = self.asker.terms().limits().body as u64;
            let is_timed = self.counted.is_timed() && self.length <= most;
            let elapsed = is_timed.then_some(elapsed);
            let serving = self.asker.serving();
            serving.answered(side, Some(route), self.status, elapsed);
        }
        if let Some(capturing) = self.capturing.take() {
            capturing.complete(elapsed);
        }
        if let Some(tape) = self.tape.take() {
            tape.answer_complete(elapsed);
        }
    }
}

/// Captures a chunk. If that is not possible, the answer is still forwarded to the client. The capture of a body that
/// is too large or a stream is completed now, because the download may take hours. The client's outcome is reported
/// separately.
fn capture(slot: &mut Option<Capturing>, chunk: &Bytes) {
    let Some(capturing) = slot else {
        return;
    };
    match capturing.data(chunk) {
        Ok(None | Some(Omitted::LetGo { .. })) => {}
        Ok(Some(Omitted::Stream | Omitted::TooLarge { .. } | Omitted::NoRoom { .. })) => {
            if let Some(capturing) = slot.take() {
                let elapsed = capturing.sent().elapsed();
                capturing.complete(elapsed);
            }
        }
        Err(reason) => {
            if let Some(capturing) = slot.take() {
                capturing.fail(reason);
            }
        }
    }
}
