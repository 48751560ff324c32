//! Clients that leave a service, and those that wait for it without end: what their waits say of it, beside what the legacy takes.
//!
//! A client of a fast service leaves for reasons of its own, and of one that hangs because of that. So a wait counts as an error of the
//! service where it is [surely longer](surely) than [`SLOWEST`] of the legacy's answers at the route, or of all where it has few of these: of
//! a candidate that takes as long as the legacy these are no more than of the legacy. Short waits count, too, because deadlines of machines
//! are short.
//!
//! Where the legacy's times at a route are not known, as after a start, one client may only have found a slow route. It then counts once in a
//! while, and takes nobody back alone ([`Row`]).

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::RolloutState;
use super::row::{Means, Member};
use crate::exchange::reached::GIVEN_UP_AFTER;
use crate::exchange::side::Side;

/// A client that leaves sooner says nothing: as much the scheduling of busy machines, a new connection and the first request on it take, and
/// who leaves a page at once.
pub(super) const LEAST_WAIT: Duration = Duration::from_millis(50);
/// The share of the legacy's answers whose times are usual to wait for.
pub(super) const SLOWEST: f64 = 0.99;
/// The share of them that ends sooner than anybody waits who finds a candidate down by leaving it: five such waits in a row come of a
/// candidate that is like the legacy once in a hundred thousand times.
pub(super) const USUAL: f64 = 0.9;
/// So many answers of all routes it takes to know which one in a hundred is the slowest.
const ENOUGH: u64 = 100;
/// For so long a client is known that has left a route of which nothing is known.
const LATELY: Duration = Duration::from_secs(10);
/// So many of them are told apart; beyond that the oldest one is forgotten.
const MOST_LATELY: usize = 64;

/// An answer that took less is surely faster than a client that left after this wait: it waited for as long again, or for half a second
/// longer. A candidate may take twice as long as the legacy.
pub(super) fn surely(waited: Duration) -> Duration {
    waited.saturating_sub(GIVEN_UP_AFTER.min(waited / 2))
}

/// What had come of an answer when its client left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// Nothing.
    Nothing,
    /// A part, and it says how long it is.
    Part,
    /// A part, and it does not say how long it is.
    Open,
    /// A part of what may last as long as somebody listens: a stream by its type, or too large to be timed. It counts only beside answers of
    /// the legacy at the route that had an end.
    Stream,
}

/// A wait that has ended without a whole answer, or goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left<'a> {
    pub(crate) route: &'a str,
    /// Where the client stands; of the legacy's clients nobody asks.
    pub(crate) client: u64,
    /// When it asked.
    pub(crate) asked: Instant,
    /// How long the service took, without the time in which the client took nothing.
    pub(crate) waited: Duration,
    pub(crate) came: Came,
    /// Whether the client still waits.
    pub(crate) waits: bool,
}

/// What a wait says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Judged {
    /// It was counted as an error of the service.
    pub(crate) is_error: bool,
    /// It was longer than any answer of the legacy took at the route.
    pub(crate) is_longest: bool,
    /// It counts as one that the candidate did not begin to answer.
    pub(crate) is_unanswered: bool,
}

impl RolloutState {
    /// A client left, or waits for longer than anybody should.
    pub(crate) fn given_up(&self, side: Side, left: &Left<'_>) -> Judged {
        if left.waited < LEAST_WAIT {
            return Judged::default();
        }
        let judged = self.judge(side, left);
        if judged.is_error {
            self.failed(side);
        }
        if side == Side::Legacy && !left.waits {
            match left.came {
                Came::Nothing | Came::Part => self.by_route.left(left.route, left.waited),
                // Somebody may have listened to a stream.
                Came::Open | Came::Stream if left.waited >= GIVEN_UP_AFTER => {
                    self.by_route.endless(left.route);
                }
                Came::Open | Came::Stream => {}
            }
        }
        judged
    }

    fn judge(&self, side: Side, left: &Left<'_>) -> Judged {
        let own = self.by_route.beside(left.route, left.waited);
        let is_longer = |share| own.is_longer(share, || self.is_longer_than_all(share, left));
        let is_slowest = is_longer(SLOWEST);
        let is_clear = own.is_clear();
        if left.waits && !(is_slowest && is_clear) {
            return Judged::default();
        }
        let is_only_one = self.clients.count() <= 1;
        let now = Instant::now();
        let member = Member {
            client: left.client,
            asked: left.asked,
            is_clear,
            is_only_one,
        };
        let mut judged = Judged {
            is_error: is_slowest
                && (side == Side::Legacy
                    || is_clear
                    || is_only_one
                    || self.lately.is_new(left.client, now)),
            is_longest: own.is_longest(|| self.is_longer_than_all(1.0, left)),
            is_unanswered: false,
        };
        if side == Side::Legacy {
            return judged;
        }
        // So many in a row that got nothing, or nothing whole, without such an answer between them, unless the legacy is as slow there.
        let heads = match left.came {
            Came::Nothing if is_longer(USUAL) => self.heads.left(member, now),
            _ => Means::Nothing,
        };
        let whole = if is_slowest {
            self.whole.left(member, now)
        } else {
            Means::Nothing
        };
        if [heads, whole].contains(&Means::Down) {
            self.is_down();
        }
        judged.is_unanswered = heads != Means::Nothing;
        judged
    }

    /// Whether it was surely longer than this share of all answers of the legacy. Without any, half a second is long, but of an answer that may
    /// have no end nothing is known; and a short wait, or one in the middle of such an answer, takes enough of them.
    fn is_longer_than_all(&self, share: f64, left: &Left<'_>) -> bool {
        let may_be_stream = matches!(left.came, Came::Open | Came::Stream);
        let is_known = !may_be_stream || self.by_route.beside(left.route, left.waited).is_known();
        if left.came == Came::Stream && !is_known {
            return false;
        }
        let seen = self.of_legacy();
        let is_doubtful = !is_known || left.waited < GIVEN_UP_AFTER;
        if is_doubtful && seen.timed() < ENOUGH {
            return false;
        }
        let usual = seen.times.quantile(share).map(Duration::from_micros);
        usual.is_none_or(|usual| surely(left.waited) >= usual)
    }
}

/// Clients that have lately left a route of which nothing is known.
#[derive(Default)]
pub(super) struct LeftLately(Mutex<Vec<(u64, Instant)>>);

impl LeftLately {
    /// Whether this one has not, and from now on it has.
    fn is_new(&self, client: u64, now: Instant) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(_, at)| now.saturating_duration_since(*at) < LATELY);
        if known.iter().any(|(other, _)| *other == client) {
            return false;
        }
        if known.len() >= MOST_LATELY {
            known.remove(0);
        }
        known.push((client, now));
        true
    }
}
