//! Whether a service answers, as the last request to it told, of a client or of a shadow.
//!
//! Until it was asked nobody knows, and nothing else is claimed.

use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

use parity_schemas::time::Timestamp;

/// No request was sent to it yet.
const UNASKED: u8 = 0;
/// It answered the last one.
const ANSWERS: u8 = 1;
/// It did not.
const DOWN: u8 = 2;

/// What is known of one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceSeen {
    /// Whether it has answered anything since the process began, or failed to. Until then nobody knows whether it answers.
    pub asked: bool,
    /// When it was first noticed that it does not answer; `None` if it answered the last request, or was asked nothing.
    pub failing_since: Option<Timestamp>,
}

/// The state of one service.
#[derive(Default)]
pub(super) struct Reached {
    /// [`UNASKED`], [`ANSWERS`] or [`DOWN`].
    state: AtomicU8,
    /// When it began to be down, in microseconds since 1970.
    down_since: AtomicI64,
}

impl Reached {
    /// Records whether it answered; returns whether that has changed. That it answers the first request is no change.
    pub(super) fn answers(&self, answers: bool) -> bool {
        let now = if answers { ANSWERS } else { DOWN };
        // Read first: a store on every answer would bounce the cache line between cores.
        let before = self.state.load(Ordering::Relaxed);
        if before == now {
            return false;
        }
        if !answers {
            let since = Timestamp::now().as_micros();
            self.down_since.store(since, Ordering::Relaxed);
        }
        // Behind its time: who sees that it is down must see since when.
        self.state.store(now, Ordering::Release);
        before != UNASKED || !answers
    }

    /// It is another one from now on, of which nothing is known.
    pub(super) fn forget(&self) {
        self.state.store(UNASKED, Ordering::Relaxed);
    }

    /// Whether it answered the last request, or got none.
    pub(super) fn is_reachable(&self) -> bool {
        self.state.load(Ordering::Relaxed) != DOWN
    }

    /// What is known of it.
    pub(super) fn seen(&self) -> ServiceSeen {
        let state = self.state.load(Ordering::Acquire);
        let since = || Timestamp::from_micros(self.down_since.load(Ordering::Relaxed));
        ServiceSeen {
            asked: state != UNASKED,
            failing_since: (state == DOWN).then(since),
        }
    }
}
