//! The rollout by degrees: which clients are served by the candidate, and how it does beside the legacy.
//!
//! A client is in the rollout by a hash of a header, a cookie or its address. The hash is the same in every instance and
//! after every restart, and a larger share includes the clients of a smaller one. What a policy says of it is [`Rollout`];
//! the share now and what was seen belong to the process ([`RolloutState`]), because they outlive every policy.
//!
//! This module never raises the share: it goes back to the legacy by itself when the candidate is down, and otherwise does
//! what [`MirrorHandle`](crate::MirrorHandle) says.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use http::Method;
use http::header::{HeaderName, HeaderValue};
use parity_schemas::verdict::Reason;

use crate::exchange::head::RequestHead;
use crate::exchange::reached::{Reached, ServiceSeen};
use crate::exchange::sampling;
use crate::exchange::side::{BySide, Side};

/// This many requests in a row that the candidate did not answer mean that it is down. Each of them has cost a client time,
/// so it is few; one client that repeats a request which kills the candidate is no reason to go on either.
const DOWN_AFTER: u32 = 5;
/// Classes of durations: four for each doubling, up to an hour. So a quantile is too high by a quarter at the most.
const CLASSES: usize = 128;

/// What a policy says of the rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// What a client is known by.
    pub by: RolloutBy,
    /// Enters every hash, so that another rollout begins with other clients. Equal in all instances.
    pub key: Box<str>,
    /// Whether the candidate also serves requests with other methods than GET, HEAD and OPTIONS, and those with a body.
    pub unsafe_methods: bool,
    /// How long the candidate may take until the head of its answer.
    pub head_timeout: Duration,
}

/// What a client is known by. If a request lacks the header or the cookie, or it is empty, the address decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolloutBy {
    /// The address that its connection comes from.
    Address,
    /// The first value of this header.
    Header(HeaderName),
    /// The value of this cookie; cookie names are case-sensitive.
    Cookie(Box<str>),
}

impl Rollout {
    /// What clients' hashes start from.
    pub(crate) fn seed(&self) -> u64 {
        sampling::spread(self.key.as_bytes())
    }

    /// Whether the candidate may serve this request, whoever sent it. `refusal` is why it is not shadowed.
    ///
    /// What a route or a GraphQL document declares unsafe is unsafe. A body is streamed once and not kept, so the legacy
    /// could not answer in the candidate's place.
    pub(crate) fn takes(&self, method: &Method, refusal: Option<Reason>, has_body: bool) -> bool {
        self.unsafe_methods
            || (is_safe(method) && refusal != Some(Reason::UnsafeMethod) && !has_body)
    }

    /// Where a client stands, evenly spread over all 32-bit numbers; `None` if nothing tells who it is.
    pub(crate) fn point(&self, seed: u64, head: &RequestHead) -> Option<u64> {
        let known = match &self.by {
            RolloutBy::Address => None,
            RolloutBy::Header(name) => head.headers.get(name).map(HeaderValue::as_bytes),
            RolloutBy::Cookie(name) => sampling::cookie(&head.headers, name),
        };
        let hash = match known.filter(|value| !value.is_empty()) {
            Some(value) => sampling::spread_from(seed, value),
            None => match head.peer.as_ref()?.client().address {
                IpAddr::V4(address) => sampling::spread_from(seed, &address.octets()),
                IpAddr::V6(address) => sampling::spread_from(seed, &address.octets()),
            },
        };
        Some(hash >> 32)
    }
}

/// Whether a method has no effect by its definition.
pub(crate) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// The share that the candidate serves now, and what was seen.
pub(crate) struct RolloutState {
    /// A client is in if its point is below this; 0 means that nobody is.
    below: AtomicU64,
    /// Set when the candidate was found down, until somebody asks.
    is_down: AtomicBool,
    /// Requests in a row that the candidate did not answer.
    in_a_row: AtomicU32,
    repaired: AtomicU64,
    served: BySide<Served>,
    /// Whether the legacy answers, clients or shadows.
    legacy: Reached,
}

/// What was seen of one service.
struct Served {
    answered: AtomicU64,
    errors: AtomicU64,
    classes: [AtomicU64; CLASSES],
}

impl RolloutState {
    pub(crate) fn new() -> Self {
        Self {
            below: AtomicU64::new(0),
            is_down: AtomicBool::new(false),
            in_a_row: AtomicU32::new(0),
            repaired: AtomicU64::new(0),
            legacy: Reached::default(),
            served: BySide::new(|_| Served {
                answered: AtomicU64::new(0),
                errors: AtomicU64::new(0),
                classes: std::array::from_fn(|_| AtomicU64::new(0)),
            }),
        }
    }

    /// The candidate serves this percent of the clients from now on.
    pub(crate) fn set(&self, percent: f64) {
        self.in_a_row.store(0, Ordering::Relaxed);
        let below = sampling::threshold(percent / 100.0);
        self.below.store(below, Ordering::Relaxed);
    }

    /// Whether any client is served by the candidate.
    pub(crate) fn is_any_in(&self) -> bool {
        self.below.load(Ordering::Relaxed) != 0
    }

    /// Whether a client at this point is.
    pub(crate) fn is_in(&self, point: u64) -> bool {
        point < self.below.load(Ordering::Relaxed)
    }

    /// The candidate is down: nobody is served by it from now on.
    pub(crate) fn is_down(&self) {
        if self.below.swap(0, Ordering::Relaxed) != 0 {
            self.is_down.store(true, Ordering::Release);
        }
    }

    /// Whether it was found down since the last call.
    pub(crate) fn take_down(&self) -> bool {
        self.is_down.swap(false, Ordering::Acquire)
    }

    /// A service answered a request whole, in this time; `None` for an answer whose length says nothing of the service: a stream, or one
    /// that is too large to be compared. Of a shadow nobody waits for its end, so it must not be timed for clients either.
    pub(crate) fn answered(&self, side: Side, status: u16, elapsed: Option<Duration>) {
        let served = &self.served[side];
        served.answered.fetch_add(1, Ordering::Relaxed);
        if status >= 500 {
            served.errors.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(elapsed) = elapsed {
            served.classes[class(elapsed)].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records whether the legacy answered the last request; returns whether that has changed. That it answers the first one
    /// is no change.
    pub(crate) fn legacy_answers(&self, answers: bool) -> bool {
        self.legacy.answers(answers)
    }

    /// It is another legacy from now on, of which nothing is known.
    pub(crate) fn forget_legacy(&self) {
        self.legacy.forget();
    }

    /// Whether the legacy answered the last request, or got none.
    pub(crate) fn legacy_reachable(&self) -> bool {
        self.legacy.is_reachable()
    }

    /// What is known of the legacy.
    pub(crate) fn legacy_seen(&self) -> ServiceSeen {
        self.legacy.seen()
    }

    /// A service did not answer a request, or not whole.
    pub(crate) fn failed(&self, side: Side) {
        self.served[side].answered.fetch_add(1, Ordering::Relaxed);
        self.served[side].errors.fetch_add(1, Ordering::Relaxed);
    }

    /// The head of an answer of the candidate for a client has arrived, or did not.
    pub(crate) fn candidate_began(&self, began: bool) {
        if began {
            // Read first: a store on every answer would bounce the cache line between cores.
            if self.in_a_row.load(Ordering::Relaxed) != 0 {
                self.in_a_row.store(0, Ordering::Relaxed);
            }
        } else if self.in_a_row.fetch_add(1, Ordering::Relaxed) + 1 >= DOWN_AFTER {
            self.is_down();
        }
    }

    /// The legacy answers a client in the candidate's place.
    pub(crate) fn repaired(&self) {
        self.repaired.fetch_add(1, Ordering::Relaxed);
    }

    /// All that was seen so far.
    pub(crate) fn seen(&self) -> RolloutSeen {
        let of = |side: Side| {
            let served = &self.served[side];
            ServedCounts {
                requests: served.answered.load(Ordering::Relaxed),
                errors: served.errors.load(Ordering::Relaxed),
                classes: std::array::from_fn(|index| served.classes[index].load(Ordering::Relaxed)),
            }
        };
        RolloutSeen {
            legacy: of(Side::Legacy),
            candidate: of(Side::Candidate),
            repaired: self.repaired.load(Ordering::Relaxed),
        }
    }
}

/// What was seen of both services since the process began: of the requests that the candidate may serve, whoever did.
#[derive(Clone, Debug)]
pub struct RolloutSeen {
    /// The legacy, for clients and as the shadow of the candidate.
    pub legacy: ServedCounts,
    /// The candidate, for clients.
    pub candidate: ServedCounts,
    /// Requests that the legacy answered because the candidate could not.
    pub repaired: u64,
}

/// What was seen of one service.
#[derive(Clone, Debug)]
pub struct ServedCounts {
    /// Requests that it answered or should have.
    pub requests: u64,
    /// Those that it did not answer whole, or answered 5xx.
    pub errors: u64,
    classes: [u64; CLASSES],
}

impl Default for ServedCounts {
    fn default() -> Self {
        Self {
            requests: 0,
            errors: 0,
            classes: [0; CLASSES],
        }
    }
}

impl ServedCounts {
    /// What came since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(before.requests),
            errors: self.errors.saturating_sub(before.errors),
            classes: std::array::from_fn(|index| {
                self.classes[index].saturating_sub(before.classes[index])
            }),
        }
    }

    /// Those of which a time is known.
    pub fn timed(&self) -> u64 {
        self.classes.iter().sum()
    }

    /// The share of errors, 0 to 1; 0 without requests.
    pub fn error_rate(&self) -> f64 {
        self.errors as f64 / self.requests.max(1) as f64
    }

    /// The time within which this share of the whole answers came, rounded up by a quarter at the most; `None` without any.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let all = self.timed();
        let wanted = ((all as f64 * share).ceil() as u64).clamp(1, all.max(1));
        let mut seen = 0;
        let index = self.classes.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(Duration::from_micros(upper(index)))
    }
}

/// The class of a duration: below 4 µs each microsecond, from there quarters of a doubling.
fn class(elapsed: Duration) -> usize {
    let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
    if micros < 4 {
        return micros as usize;
    }
    let doublings = micros.ilog2();
    let quarter = (micros >> (doublings - 2)) & 3;
    ((doublings as usize - 1) * 4 + quarter as usize).min(CLASSES - 1)
}

/// The most microseconds of a class.
fn upper(class: usize) -> u64 {
    if class < 4 {
        return class as u64;
    }
    ((5 + class as u64 % 4) << (class / 4 - 1)) - 1
}

#[cfg(test)]
mod tests;
