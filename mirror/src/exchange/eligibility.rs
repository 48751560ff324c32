//! Decides whether a request may be shadowed.
//!
//! First by the request's head ([`refusal`]), then by the limits on shadows ([`admit`]). Nothing here waits: a shadow
//! over a limit is not sent, and its request is counted with the reason.

use http::{HeaderMap, Method};
use parity_schemas::exchange::ByteHold;
use parity_schemas::graphql::{Access, Operation};
use parity_schemas::route::{Route, RoutePolicy};
use parity_schemas::verdict::Reason;

use crate::exchange::admission::Slot;
use crate::exchange::side::Side;
use crate::exchange::terms::Terms;
use crate::headers;

/// The size of a connection's first buffer; it grows only when large parts arrive.
const FIRST_BUFFER: usize = 8 * 1024;

/// Memory of a shadow in addition to bodies, until it has read more than one part of its answer's body: the first
/// buffers of its connection (8 KiB to read, 16 KiB if a head arrives in parts, 8 KiB to write), hyper's request queue
/// (10 KiB), task, heads and the rest (6 KiB). With few in flight it includes the buffer of the client's head.
const BESIDE_BODIES: usize = 40 * 1024;

/// Whether a request with this method may be shadowed.
pub(super) fn allows_method(policy: &RoutePolicy, method: &Method) -> bool {
    let safe = headers::is_safe(method);
    policy.shadow.unwrap_or(safe)
}

/// Whether a request that `says` another method to frameworks, one with an effect, must not be shadowed, because nobody said that its route may
/// be sent whatever it does.
pub(super) fn is_overridden(policy: &RoutePolicy, says: impl FnOnce() -> bool) -> bool {
    policy.shadow != Some(true) && says()
}

/// Whether a GraphQL request may have an effect: anything in it is no query, or cannot be read.
pub(super) fn may_write(operation: &Operation) -> bool {
    let mut parts = operation.parts().iter();
    parts.any(|part| {
        matches!(
            part.access(),
            Access::Writes | Access::Streams | Access::Unknown
        )
    })
}

/// Whether a GraphQL request may be shadowed: all that it has must be allowed, also what it does not ask for.
pub(super) fn allows_operation(route: &Route, method: &Method, operation: &Operation) -> bool {
    let mut parts = operation.parts().iter();
    parts.all(|part| allows_part(&route.policy_of(part), method, part.access()))
}

/// A method that is safe by name is not enough for what is no query, or cannot be read. A document that only the service has
/// may be a mutation; that none is one by GET, who allows queries relies on. A subscription has an answer without an end,
/// and each one keeps a service busy.
fn allows_part(policy: &RoutePolicy, method: &Method, access: Access) -> bool {
    match (access, policy.shadow) {
        (Access::Streams, _) | (Access::Unknown | Access::Writes, None) => false,
        (_, Some(shadow)) => shadow,
        (Access::Reads, None) => policy.shadow_queries || allows_method(policy, method),
        (Access::Untold, None) => policy.shadow_queries && allows_method(policy, method),
    }
}

/// Whether any operation in the body of a request may be shadowed.
pub(super) fn may_allow_operations(route: &Route) -> bool {
    let policy = route.policy();
    policy.shadow.unwrap_or(policy.shadow_queries) || route.is_some_operation_shadowed(true)
}

/// Whether every operation in the body of a request may be shadowed, also one that cannot be read.
pub(super) fn allows_all_operations(route: &Route) -> bool {
    route.policy().shadow == Some(true) && !route.is_some_operation_shadowed(false)
}

/// Why a request must not be shadowed, decided from its head; `None` if it may be. `allowed` is whether it may be by its
/// route and what it asks for.
///
/// A route that forbids shadowing gives `unsafe_method` too: the operator knows what the method does not tell. A
/// request that has been shadowed many times is most likely in a loop and is not shadowed again.
pub(super) fn refusal(
    terms: &Terms,
    policy: &RoutePolicy,
    allowed: bool,
    headers: &HeaderMap,
) -> Option<Reason> {
    let says = || headers::says_unsafe_method(headers::fields(headers));
    if !allowed || is_overridden(policy, says) {
        Some(Reason::UnsafeMethod)
    } else if !terms.admission().shadowing() || headers::is_shadowed_out(headers) {
        Some(Reason::ShadowingOff)
    } else if !terms.sampler().takes(policy.sample, headers) {
        Some(Reason::SampledOut)
    } else {
        None
    }
}

/// Reserves what a shadow needs, or returns why it must not begin. Only the candidate has a breaker and a rate limit.
pub(super) fn admit(terms: &Terms, side: Side) -> Result<Reservation, Reason> {
    let (limits, admission) = (terms.limits(), terms.admission());
    let slot = admission.enter(limits.in_flight, side);
    let slot = slot.filter(|_| !terms.turns().are_crowded());
    let slot = slot.ok_or(Reason::InFlightCap)?;
    if side == Side::Candidate && !admission.breaker().allows(limits.breaker_pause) {
        return Err(Reason::BreakerOpen);
    }
    // Last, so that only requests that are sent use up the rate.
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

/// How much of [`BESIDE_BODIES`] is charged: with small bodies, the allowed number in flight must fit in the byte
/// budget.
fn beside_bodies(terms: &Terms) -> usize {
    let limits = terms.limits();
    BESIDE_BODIES.min(limits.shadow_bytes / 8 * 7 / limits.in_flight.max(1))
}

/// The slot and memory of a shadow in flight. An idle connection keeps its buffer afterwards, at most for
/// [`Limits::upstream_idle`](crate::Limits::upstream_idle), which is not charged. The slot is dropped last: when
/// nothing is in flight, nothing is held.
pub(super) struct Reservation {
    buffers: ByteHold,
    /// Size of the largest part of the body that was read at once.
    largest: usize,
    /// Bytes charged for reading it.
    reading: usize,
    _slot: Slot,
}

impl Reservation {
    /// Records that a part of the body was read. If it is large, the connection's buffer grows to twice its size. That
    /// is charged from the second part on, because most answers have only one. Returns `false` if the byte budget is
    /// used up.
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

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn another_method_in_a_header_counts_unless_all_may_be_sent() {
        let policy = |shadow| RoutePolicy {
            shadow,
            ..RoutePolicy::default()
        };
        for (name, value, expected) in [
            ("x-http-method-override", "DELETE", true),
            ("x_http_method_override", "DELETE", true),
            ("X-HTTP_Method_Override", "DELETE", true),
            ("x_http-method-override", "PATCH", true),
            ("X-HTTP-Method", "put", true),
            ("x-http_method", "put", true),
            ("x-method-override", "anything", true),
            ("x_method-override", "anything", true),
            ("x-http-method-override", " get ", false),
            ("x-http-method-override", "", false),
            ("x-method", "DELETE", false),
            ("x-http.method", "DELETE", false),
        ] {
            let header = HeaderName::from_bytes(name.as_bytes()).expect("a name");
            let headers = HeaderMap::from_iter([(header, HeaderValue::from_static(value))]);
            let says = || headers::says_unsafe_method(headers::fields(&headers));
            assert_eq!(
                is_overridden(&policy(None), says),
                expected,
                "{name}: {value}"
            );
            assert!(!is_overridden(&policy(Some(true)), says), "{name}: {value}");
        }
    }
}
