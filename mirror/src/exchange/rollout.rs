//! The rollout by degrees: which clients are served by the candidate, and how it does beside the legacy.
//!
//! A client is in the rollout by a hash of a header, a cookie or its address. The hash is the same in every instance and
//! after every restart, and a larger share includes the clients of a smaller one. What a policy says of it is [`Rollout`];
//! the share now and what was seen belong to the process ([`RolloutState`]), because they outlive every policy.
//!
//! This module never raises the share: it goes back to the legacy by itself when the candidate is down, and otherwise does
//! what [`MirrorHandle`](crate::MirrorHandle) says.

mod by_client;
mod by_route;
mod clients;
mod counts;
mod leaving;
mod row;
mod tried;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::Method;
use http::header::{HeaderName, HeaderValue};
use parity_schemas::verdict::Reason;

pub use self::by_client::{ClientCounts, Share};
use self::by_route::ByRoute;
use self::clients::Clients;
pub use self::clients::MANY as MANY_CLIENTS;
use self::counts::Served;
pub use self::counts::ServedCounts;
use self::leaving::LeftLately;
pub(crate) use self::leaving::{Came, Judged, Left};
use self::row::Row;
pub use self::tried::{RolloutTried, Tried};
use crate::exchange::head::RequestHead;
use crate::exchange::reached::{Reached, ServiceSeen};
use crate::exchange::sampling;
use crate::exchange::side::{BySide, Side};
use crate::headers;

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
            || (headers::is_safe(method) && refusal != Some(Reason::UnsafeMethod) && !has_body)
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

/// The share that the candidate serves now, and what was seen.
pub(crate) struct RolloutState {
    /// A client is in if its point is below this; 0 means that nobody is.
    below: AtomicU64,
    /// Set when the candidate was found down, until somebody asks.
    is_down: AtomicBool,
    /// Requests in a row that the candidate did not begin to answer, and those of which it gave clients nothing whole.
    heads: Row,
    whole: Row,
    lately: LeftLately,
    repaired: AtomicU64,
    served: BySide<Served>,
    /// What former legacies of this process did: it says nothing of how long the present one takes.
    former: Mutex<ServedCounts>,
    by_route: ByRoute,
    /// The candidate as the shadow of the legacy: what clients would have got of it.
    shadow: Served,
    /// How their answers compare.
    tried: tried::Counters,
    /// The first clients that were seen.
    clients: Clients,
    /// Whether the legacy answers, clients or shadows.
    legacy: Reached,
}

impl RolloutState {
    pub(crate) fn new() -> Self {
        Self {
            below: AtomicU64::new(0),
            is_down: AtomicBool::new(false),
            heads: Row::new(),
            whole: Row::new(),
            lately: LeftLately::default(),
            repaired: AtomicU64::new(0),
            legacy: Reached::default(),
            served: BySide::new(|_| Served::new()),
            former: Mutex::default(),
            by_route: ByRoute::new(),
            shadow: Served::new(),
            tried: tried::Counters::new(),
            clients: Clients::default(),
        }
    }

    /// The candidate serves this percent of the clients from now on.
    pub(crate) fn set(&self, percent: f64) {
        self.heads.clear();
        self.whole.clear();
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

    /// A service answered a request of this route whole, in this time; `None` for an answer whose length says nothing of the service: a stream, or one
    /// that is too large to be compared. Of a shadow nobody waits for its end, so it must not be timed for clients either.
    pub(crate) fn answered(
        &self,
        side: Side,
        route: Option<&str>,
        status: u16,
        elapsed: Option<Duration>,
    ) {
        self.served[side].answered(status, elapsed);
        match (side, route, elapsed) {
            (Side::Legacy, Some(route), Some(elapsed)) => self.by_route.answered(route, elapsed),
            (Side::Legacy, Some(route), None) => self.by_route.endless(route),
            (Side::Legacy, None, _) => {}
            (Side::Candidate, ..) => self.whole.answered(Instant::now()),
        }
    }

    /// The candidate answered whole as the shadow of the legacy, or did not (`None`): a request that it may serve.
    pub(crate) fn shadowed(&self, answer: Option<(u16, Option<Duration>)>) {
        match answer {
            Some((status, elapsed)) => self.shadow.answered(status, elapsed),
            None => self.shadow.failed(),
        }
    }

    /// Whether there are more clients than are told apart, so that nobody needs to tell of one more.
    pub(crate) fn knows_many_clients(&self) -> bool {
        self.clients.are_many()
    }

    /// A client stands at this point.
    pub(crate) fn saw_client(&self, point: u64) {
        self.clients.saw(point);
    }

    /// Records whether the legacy answered the last request; returns whether that has changed. That it answers the first one
    /// is no change.
    pub(crate) fn legacy_answers(&self, answers: bool) -> bool {
        self.legacy.answers(answers)
    }

    /// A client gave up on the legacy before anything of its answer had come; returns whether the legacy is known by that not to answer, and
    /// was not before.
    pub(super) fn legacy_given_up(&self) -> bool {
        self.legacy.given_up()
    }

    /// It is another legacy from now on, of which nothing is known.
    pub(crate) fn forget_legacy(&self) {
        self.legacy.forget();
        self.by_route.forget();
        let mut former = self.former.lock().unwrap_or_else(PoisonError::into_inner);
        *former = self.served[Side::Legacy].counts();
    }

    /// What the present legacy did.
    fn of_legacy(&self) -> ServedCounts {
        let former = self.former.lock().unwrap_or_else(PoisonError::into_inner);
        self.served[Side::Legacy].counts().since(&former)
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
        self.served[side].failed();
    }

    /// The legacy as a shadow had not ended by the deadline of shadows: it had `begun` an answer to a request of this route, which may have no
    /// end, or takes at least so long to begin one.
    pub(crate) fn legacy_cut(&self, route: &str, deadline: Duration, begun: bool) {
        if begun {
            self.by_route.endless(route);
        } else {
            self.by_route.left(route, deadline);
        }
    }

    /// The head of an answer of the candidate for a client has arrived, or did not.
    pub(crate) fn candidate_began(&self, began: bool) {
        if began {
            self.heads.answered(Instant::now());
        } else if self.heads.failed() {
            self.is_down();
        }
    }

    /// The legacy answers a client in the candidate's place.
    pub(crate) fn repaired(&self) {
        self.repaired.fetch_add(1, Ordering::Relaxed);
    }

    /// All that was seen so far.
    pub(crate) fn seen(&self) -> RolloutSeen {
        RolloutSeen {
            legacy: self.served[Side::Legacy].counts(),
            candidate: self.served[Side::Candidate].counts(),
            shadow: self.shadow.counts(),
            tried: self.tried.seen(),
            repaired: self.repaired.load(Ordering::Relaxed),
            clients: self.clients.count(),
        }
    }
}

/// What was seen of both services since the process began: of the requests that the candidate may serve, whoever did.
#[derive(Clone, Debug, Default)]
pub struct RolloutSeen {
    /// The legacy, for clients and as the shadow of the candidate.
    pub legacy: ServedCounts,
    /// The candidate, for clients.
    pub candidate: ServedCounts,
    /// The candidate as the shadow of the legacy.
    pub shadow: ServedCounts,
    /// How the answers compare, apart by who served.
    pub tried: RolloutTried,
    /// Requests that the legacy answered because the candidate could not.
    pub repaired: u64,
    /// How many clients were told apart by what they are known by, [`MANY_CLIENTS`] at the most.
    pub clients: usize,
}

#[cfg(test)]
mod tests;
