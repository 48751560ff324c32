//! When a service is asked for a comparison, and when it is left alone.
//!
//! First what a request's head says ([`refusal`]), then whether there is room ([`admit`]). Nothing here waits: a shadow
//! that finds no room is not sent, and its request counts with the reason.

use http::{HeaderMap, Method};
use parity_schemas::exchange::ByteHold;
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;

use crate::exchange::admission::Slot;
use crate::exchange::side::Side;
use crate::exchange::terms::Terms;
use crate::headers;

/// The buffer that a connection begins with; as long as small parts come, it stays as it is.
const FIRST_BUFFER: usize = 8 * 1024;

/// Bytes that a shadow holds beside the bodies, until it has read more than one part of one: the buffers that its
/// connection begins with (8 KiB to read into, 16 KiB where a head comes in parts, 8 KiB to write from), hyper's queue
/// of requests (10 KiB), task, heads and the rest (6 KiB); where few are in flight, the buffer of the client's head,
/// too.
const BESIDE_BODIES: usize = 40 * 1024;

/// Why this request is not for the candidate, from what its head says; `None` if it is.
///
/// A route that forbids shadowing is `unsafe_method` too: the operator says what the method does not. Shadows of
/// shadows of shadows are off: they lead in a circle.
pub(crate) fn refusal(
    terms: &Terms,
    route: &Route,
    method: &Method,
    headers: &HeaderMap,
) -> Option<Reason> {
    let safe = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let policy = route.policy();
    if !policy.shadow.unwrap_or(safe) {
        Some(Reason::UnsafeMethod)
    } else if !terms.admission().shadowing() || headers::is_shadowed_out(headers) {
        Some(Reason::ShadowingOff)
    } else if !terms.sampler().takes(policy.sample, headers) {
        Some(Reason::SampledOut)
    } else {
        None
    }
}

/// The room of a shadow that asks one side, or why it must not begin. Only the candidate has a breaker and a rate.
pub(super) fn admit(terms: &Terms, side: Side) -> Result<Reservation, Reason> {
    let (limits, admission) = (terms.limits(), terms.admission());
    let slot = admission.enter(limits.in_flight);
    let slot = slot.filter(|_| !terms.turns().are_crowded());
    let slot = slot.ok_or(Reason::InFlightCap)?;
    if side == Side::Candidate && !admission.breaker().allows(limits.breaker_pause) {
        return Err(Reason::BreakerOpen);
    }
    // Last, so that only what is sent counts.
    if side == Side::Candidate && !admission.is_in_rate(limits.candidate_rate) {
        return Err(Reason::SampledOut);
    }
    let mut buffers = admission.budget().hold();
    if !buffers.grow(beside_bodies(terms)) {
        return Err(Reason::ByteBudget);
    }
    Ok(Reservation {
        buffers,
        largest: 0,
        reading: 0,
        _slot: slot,
    })
}

/// What of [`BESIDE_BODIES`] is charged: as many as may be in flight must fit, with small bodies.
fn beside_bodies(terms: &Terms) -> usize {
    let limits = terms.limits();
    BESIDE_BODIES.min(limits.shadow_bytes / 8 * 7 / limits.in_flight.max(1))
}

/// What a shadow holds as long as it is under way. A connection that is idle afterwards keeps its buffer, which is not
/// charged: until its next request, or for [`Limits::upstream_idle`](crate::Limits::upstream_idle). The slot goes last:
/// where nothing is in flight, nothing is held.
pub(super) struct Reservation {
    buffers: ByteHold,
    /// Bytes of the largest part of the body that was read at once.
    largest: usize,
    /// What is charged for it.
    reading: usize,
    _slot: Slot,
}

impl Reservation {
    /// A part of the body was read. Where it is large, the buffer of the connection then has room for two like it,
    /// which is charged from the second part on: most answers have only one. `false` if there is no room.
    pub(super) fn reads(&mut self, bytes: usize) -> bool {
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
