//! What the candidate gets, and when it is left alone.
//!
//! A shadow is a task of its own. It begins when the request is complete, holds one in-flight slot, and ends by the
//! deadline whatever the candidate does: refuse, hang, crawl, break off, lie, flood. Nothing that happens here reaches
//! the client. A panic in it ends the task, and the halves' drop counts it.

use std::future::poll_fn;
use std::rc::Rc;
use std::time::Instant;

use http::{HeaderMap, Method, StatusCode};
use http_body::Body as _;
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;

use crate::body::{Copied, Outbound};
use crate::capture::Recorder;
use crate::control::Slot;
use crate::failure;
use crate::headers;
use crate::metrics::{Outcome, Upstream};
use crate::pending::{Half, Pending};
use crate::service::{SendError, Sent};
use crate::worker::Worker;

/// Why this request is not for the candidate, from what its head says; `None` if it is.
///
/// A route that forbids shadowing is `unsafe_method` too: the operator says what the method does not.
pub(crate) fn refusal(worker: &Worker, route: &Route, method: &Method) -> Option<Reason> {
    let safe = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    if !route.shadow().unwrap_or(safe) {
        Some(Reason::UnsafeMethod)
    } else if !worker.shared.shadowing() {
        Some(Reason::ShadowingOff)
    } else if !worker.sampler.takes() {
        Some(Reason::SampledOut)
    } else {
        None
    }
}

/// Sends a complete request to the candidate, if there is room and the candidate is in use.
pub(crate) fn start(half: Half) {
    let pending = Rc::clone(&half.pending);
    let worker = &pending.worker;
    let Some(slot) = worker.shared.enter() else {
        half.fail(Reason::InFlightCap);
        return;
    };
    if !worker.shared.breaker.allows() {
        half.fail(Reason::BreakerOpen);
        return;
    }
    let task = worker.spawn(run(half, slot));
    pending.shadow.set(Some(task));
}

async fn run(half: Half, slot: Slot) {
    let pending = Rc::clone(&half.pending);
    let worker = &pending.worker;
    let deadline = worker.shared.limits.candidate_deadline;
    let mut attempt = Attempt {
        half: Some(half),
        recorder: None,
    };
    let outcome = tokio::time::timeout(deadline, attempt.run(&pending))
        .await
        .unwrap_or(Err(Reason::CandidateTimeout));
    drop(slot);
    match outcome {
        Err(
            reason @ (Reason::CandidateRefused | Reason::CandidateTimeout | Reason::CandidateTls),
        ) => {
            worker.shared.breaker.failed();
            worker.metrics.shadow(match reason {
                Reason::CandidateTimeout => Outcome::Timeout,
                _ => Outcome::Error,
            });
        }
        Err(reason) => {
            worker.shared.breaker.succeeded();
            worker.metrics.shadow(if reason.is_our_drop() {
                Outcome::Shed
            } else if reason.is_candidate_failure() {
                Outcome::Error
            } else {
                Outcome::Sent
            });
        }
        Ok(()) => {
            worker.shared.breaker.succeeded();
            worker.metrics.shadow(Outcome::Sent);
        }
    }
    attempt.end(worker, outcome);
}

/// One try at the candidate. What it owns survives the deadline, so that the half can end with its reason.
struct Attempt {
    half: Option<Half>,
    recorder: Option<(Recorder, Instant)>,
}

impl Attempt {
    async fn run(&mut self, pending: &Pending) -> Result<(), Reason> {
        let Sent {
            response,
            mut link,
            at,
        } = send(pending).await?;
        let (head, mut body) = response.into_parts();
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            // Nobody asked it to.
            return Err(Reason::CandidateProtocol);
        }
        if headers::is_stream(&head.headers) {
            return Err(Reason::Stream);
        }
        let limits = &pending.worker.shared.limits;
        if body.size_hint().lower() > limits.body as u64 {
            return Err(Reason::ResponseTooLarge);
        }
        let Some(half) = self.half.take() else {
            return Ok(());
        };
        let recorder = Recorder::new(half, head.status.as_u16(), head.headers, at);
        let (recorder, ended) = self.recorder.insert((recorder, at));
        while let Some(frame) = poll_fn(|cx| link.poll_frame(&mut body, cx)).await {
            let frame = frame.map_err(|error| failure::within_body(&error))?;
            if let Some(chunk) = frame.data_ref() {
                recorder.data(chunk)?;
                if body.is_end_stream() {
                    break;
                }
            } else if let Some(trailers) = frame.trailers_ref() {
                recorder.trailers(trailers);
            }
        }
        *ended = Instant::now();
        pending.worker.candidate.pool.put(link, *ended);
        Ok(())
    }

    fn end(self, worker: &Worker, outcome: Result<(), Reason>) {
        match (outcome, self.recorder, self.half) {
            (Ok(()), Some((recorder, ended)), _) => {
                let elapsed = ended.saturating_duration_since(recorder.sent());
                worker.metrics.answered(Upstream::Candidate, elapsed);
                recorder.complete(elapsed);
            }
            (Err(reason), Some((recorder, _)), _) => recorder.fail(reason),
            (Err(reason), None, Some(half)) => half.fail(reason),
            // A half is in one of the two places until here.
            (_, None, _) => {}
        }
    }
}

async fn send(pending: &Pending) -> Result<Sent, Reason> {
    let service = &pending.worker.candidate;
    let body = request_body(pending);
    let replayable = matches!(body, Outbound::Empty) && pending.head.borrow().is_idempotent();
    let make = |body| {
        let mut request = pending.head.borrow().request(&service.connector, body);
        headers::mark_shadow(request.headers_mut());
        request
    };
    service
        .send(make, body, replayable)
        .await
        .map_err(|error| match error {
            SendError::Connect(error) => {
                tracing::debug!(error = %error.io(), "candidate cannot be reached");
                failure::connecting(&error)
            }
            SendError::Exchange(error) => failure::before_head(&error),
        })
}

fn request_body(pending: &Pending) -> Outbound {
    let body = pending.body.borrow().clone();
    let trailers: Option<HeaderMap> = pending.trailers.borrow_mut().take();
    if body.is_empty() && trailers.is_none() {
        return Outbound::Empty;
    }
    let sized = pending
        .head
        .borrow()
        .headers
        .contains_key(http::header::CONTENT_LENGTH);
    Outbound::Copy(Box::new(Copied::new(body, trailers, sized)))
}
