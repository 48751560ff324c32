//! What the candidate gets, and when it is left alone.
//!
//! A shadow is a task of its own. It begins when the request is complete, holds one in-flight slot, and ends by the
//! deadline whatever the service does: refuse, hang, crawl, break off, lie, flood. Nothing that happens here reaches
//! the client. A panic in it ends the task, and the halves' drop counts it. In a tap the legacy is asked by a shadow,
//! too.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::time::Instant;

use http::uri::Scheme;
use http::{HeaderMap, Method, StatusCode};
use http_body::Body as _;
use parity_schemas::exchange::{ByteHold, Omitted};
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;

use crate::body::{Copied, Outbound};
use crate::capture::Recorder;
use crate::control::Slot;
use crate::failure;
use crate::generation::Generation;
use crate::headers;
use crate::metrics::{Outcome, Upstream};
use crate::pending::{Form, Half, Head, Pending, Side};
use crate::service::{SendError, Sent, Service};
use crate::turns;

/// Why this request is not for the candidate, from what its head says; `None` if it is.
///
/// A route that forbids shadowing is `unsafe_method` too: the operator says what the method does not. Shadows of shadows
/// of shadows are off: they lead in a circle.
pub(crate) fn refusal(
    generation: &Generation,
    route: &Route,
    method: &Method,
    headers: &HeaderMap,
) -> Option<Reason> {
    let safe = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let policy = route.policy();
    let shared = &generation.worker.shared;
    if !policy.shadow.unwrap_or(safe) {
        Some(Reason::UnsafeMethod)
    } else if !shared.shadowing() || headers::is_shadowed_out(headers) {
        Some(Reason::ShadowingOff)
    } else if !generation.sampler.takes(policy.sample, headers) {
        Some(Reason::SampledOut)
    } else {
        None
    }
}

/// Sends a complete request to a service, if there is room and the service is in use.
pub(crate) fn start(half: Half, side: Side) {
    let pending = Rc::clone(&half.pending);
    match admit(&pending.generation, side) {
        Ok(room) => {
            let worker = &pending.generation.worker;
            pending.owns(worker.spawn(run(half, room, side)));
        }
        Err(reason) => {
            if reason == Reason::ByteBudget {
                // The others that keep it from being sent are counted where it is settled; this one is given later, too.
                pending.generation.worker.metrics.shadow(Outcome::Shed);
            }
            half.fail(reason);
        }
    }
}

/// The room of a shadow, or why it must not begin.
fn admit(generation: &Generation, side: Side) -> Result<Room, Reason> {
    let shared = &generation.worker.shared;
    let slot = shared.enter(generation.limits.in_flight);
    let slot = slot.filter(|_| !generation.worker.turns.are_crowded());
    let slot = slot.ok_or(Reason::InFlightCap)?;
    if side == Side::Candidate && !shared.breaker.allows(generation.limits.breaker_pause) {
        return Err(Reason::BreakerOpen);
    }
    // Last, so that only what is sent counts.
    let in_rate = || {
        let rate = generation.limits.candidate_rate;
        rate.is_none_or(|rate| shared.rate.takes(rate))
    };
    if side == Side::Candidate && !in_rate() {
        return Err(Reason::SampledOut);
    }
    let mut buffers = shared.budget.hold();
    if !buffers.grow(beside_bodies(generation)) {
        return Err(Reason::ByteBudget);
    }
    Ok(Room {
        buffers,
        largest: 0,
        reading: 0,
        _slot: slot,
    })
}

/// What a shadow holds as long as it is under way. A connection that is idle afterwards keeps its buffer, which is not
/// charged: until its next request, or for `Limits::upstream_idle`. The slot goes last: where nothing is in flight, nothing is held.
struct Room {
    buffers: ByteHold,
    /// Bytes of the largest part of the body that was read at once.
    largest: usize,
    /// What is charged for it.
    reading: usize,
    _slot: Slot,
}

impl Room {
    /// A part of the body was read. Where it is large, the buffer of the connection then has room for two like it, which is
    /// charged from the second part on: most answers have only one. `false` if there is no room.
    fn reads(&mut self, bytes: usize) -> bool {
        let only = self.largest == 0;
        self.largest = self.largest.max(bytes);
        let buffer = if self.largest > FIRST_BUFFER / 2 {
            2 * self.largest
        } else {
            0
        };
        let more = buffer - self.reading;
        if only || more == 0 {
            return true;
        }
        let fits = self.buffers.grow(more);
        self.reading += usize::from(fits) * more;
        fits
    }
}

/// The buffer that a connection begins with; as long as small parts come, it stays as it is.
const FIRST_BUFFER: usize = 8 * 1024;

/// Bytes that a shadow holds beside the bodies, until it has read more than one part of one: the buffers that its
/// connection begins with (8 KiB to read into, 16 KiB where a head comes in parts, 8 KiB to write from), hyper's queue of
/// requests (10 KiB), task, heads and the rest (6 KiB); where few are in flight, the buffer of the client's head, too.
const BESIDE_BODIES: usize = 40 * 1024;

/// What of that is charged: as many as may be in flight must fit, with small bodies.
fn beside_bodies(generation: &Generation) -> usize {
    let limits = &generation.limits;
    BESIDE_BODIES.min(limits.shadow_bytes / 8 * 7 / limits.in_flight.max(1))
}

async fn run(half: Half, room: Room, side: Side) {
    let pending = Rc::clone(&half.pending);
    let generation = &pending.generation;
    let deadline = generation.limits.candidate_deadline;
    let mut attempt = Attempt {
        side,
        room: Some(room),
        half: Some(half),
        recorder: None,
    };
    let outcome = {
        let attempting = pin!(attempt.run(&pending));
        // Around the slices: the deadline holds for who waits for one, too.
        let sliced = turns::sliced(&generation.worker.turns, attempting);
        let ended = tokio::time::timeout(deadline, sliced).await;
        ended.unwrap_or(Err(Reason::CandidateTimeout))
    };
    // Before it is settled: who sees the outcome sees the room again, too.
    attempt.room = None;
    match side {
        Side::Candidate => {
            judge(generation, outcome);
            attempt.end(generation, outcome);
        }
        Side::Legacy => attempt.end(generation, outcome.map_err(of_legacy)),
    }
}

/// Tells breaker and metrics how the candidate did.
fn judge(generation: &Generation, outcome: Result<(), Reason>) {
    let limits = &generation.limits;
    let worker = &generation.worker;
    match outcome {
        Err(
            reason @ (Reason::CandidateRefused
            | Reason::CandidateTimeout
            | Reason::CandidateTls
            | Reason::CandidateFlood),
        ) => {
            worker
                .shared
                .breaker
                .failed(limits.breaker_failures, limits.breaker_pause);
            worker.metrics.shadow(match reason {
                Reason::CandidateTimeout => Outcome::Timeout,
                _ => Outcome::Error,
            });
        }
        // It was not asked; that it was shed is counted with its reason.
        Err(Reason::InFlightCap) => {}
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
}

/// The same failure of the other service.
fn of_legacy(reason: Reason) -> Reason {
    match reason {
        Reason::CandidateTimeout => Reason::LegacyTimeout,
        Reason::CandidateTruncated => Reason::LegacyTruncated,
        reason if reason.is_candidate_failure() => Reason::LegacyUnreachable,
        reason => reason,
    }
}

/// One try at a service. What it owns survives the deadline, so that the half can end with its reason.
struct Attempt {
    side: Side,
    room: Option<Room>,
    half: Option<Half>,
    recorder: Option<(Recorder, Instant)>,
}

impl Attempt {
    async fn run(&mut self, pending: &Pending) -> Result<(), Reason> {
        let Sent {
            response,
            mut link,
            at,
            head_at,
        } = send(pending, self.side).await?;
        let (head, mut body) = response.into_parts();
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            // Nobody asked it to.
            return Err(Reason::CandidateProtocol);
        }
        if headers::loses_coding(&head.headers) {
            return Err(Reason::CandidateProtocol);
        }
        let Some(half) = self.half.take() else {
            return Ok(());
        };
        let announced = body.size_hint().lower();
        let omitted = if headers::is_stream(&head.headers) && !body.is_end_stream() {
            Some(Omitted::Stream)
        } else if announced > pending.generation.limits.body as u64 {
            Some(Omitted::TooLarge {
                at_least: announced,
            })
        } else {
            None
        };
        let recorder = Recorder::new(half, head.status.as_u16(), &head.headers, at, head_at);
        // What it was read into is free again.
        drop(head);
        let (recorder, ended) = self.recorder.insert((recorder, Instant::now()));
        if let Some(why) = omitted {
            recorder.omit(why);
            return Ok(());
        }
        while let Some(frame) = poll_fn(|cx| link.poll_frame(&mut body, cx)).await {
            let frame = frame.map_err(|error| {
                if link.is_flooded() {
                    Reason::CandidateFlood
                } else {
                    failure::within_body(&error)
                }
            })?;
            if let Some(chunk) = frame.data_ref() {
                if recorder.data(chunk)?.is_some() {
                    // The connection goes with its link: what is left of the answer is for nobody.
                    *ended = Instant::now();
                    return Ok(());
                }
                if !link.credit(chunk.len()).await {
                    return Err(Reason::CandidateFlood);
                }
                if body.is_end_stream() {
                    break;
                }
                let reads = |room: &mut Room| room.reads(chunk.len());
                if !self.room.as_mut().is_none_or(reads) {
                    return Err(Reason::ByteBudget);
                }
            } else if let Some(trailers) = frame.trailers_ref() {
                recorder.trailers(trailers);
            }
        }
        *ended = Instant::now();
        service(&pending.generation, self.side).put(link, *ended);
        Ok(())
    }

    fn end(self, generation: &Generation, outcome: Result<(), Reason>) {
        match (outcome, self.recorder, self.half) {
            (Ok(()), Some((recorder, ended)), _) => {
                let elapsed = ended.saturating_duration_since(recorder.sent());
                let upstream = match self.side {
                    Side::Legacy => Upstream::Legacy,
                    Side::Candidate => Upstream::Candidate,
                };
                if recorder.keeps_body() {
                    generation.worker.metrics.answered(upstream, elapsed);
                }
                recorder.complete(elapsed);
            }
            (Err(reason), Some((recorder, _)), _) => recorder.fail(reason),
            (Err(reason), None, Some(half)) => half.fail(reason),
            // A half is in one of the two places until here.
            (_, None, _) => {}
        }
    }
}

fn service(generation: &Generation, side: Side) -> &Service {
    match side {
        Side::Legacy => &generation.legacy,
        Side::Candidate => &generation.candidate,
    }
}

async fn send(pending: &Pending, side: Side) -> Result<Sent, Reason> {
    let generation = &pending.generation;
    let service = service(generation, side);
    let body = request_body(pending);
    let replayable = matches!(body, Outbound::Empty) && pending.head.borrow().is_idempotent();
    let grpc = Head::is_grpc(&pending.head.borrow());
    let make = |body, wire, scheme: &Scheme| {
        let form = Form {
            service,
            forwarding: &generation.forwarding,
            wire,
            scheme,
            spells: true,
        };
        let mut request = pending.head.borrow().request(&form, body);
        headers::mark_shadow(request.headers_mut());
        request
    };
    service
        .send(make, body, replayable, grpc)
        .await
        .map_err(|error| match error {
            SendError::Spared => Reason::InFlightCap,
            SendError::Connect(error) => {
                tracing::debug!(error = %error.io(), "a shadow's service cannot be reached");
                failure::connecting(&error)
            }
            SendError::Exchange(error) => failure::before_head(&error),
            SendError::Flood => Reason::CandidateFlood,
        })
}

fn request_body(pending: &Pending) -> Outbound {
    let body = {
        let mut body = pending.body.borrow_mut();
        body.seal();
        body.clone()
    };
    let trailers: Option<HeaderMap> = pending.trailers.borrow().clone();
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
