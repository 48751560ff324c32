//! Calls that wait for their partners, by side, and which of them are the nearest to a call.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{oneshot, watch};

use super::answer::Answer;
use super::call::{Call, Side};

/// Calls that an arriving one is compared with: each costs a comparison of bodies. Who makes more calls at once to one address should
/// send a correlation header.
pub(super) const LOOKED_AT: usize = 16;
/// An answer that is not there yet, or will never be.
pub(crate) type Coming = watch::Receiver<Option<Arc<Answer>>>;

/// What a call has to do with the answer to its partner.
pub(crate) enum Played {
    /// Each side is answered by itself.
    Apart,
    /// The legacy's: this is what it gets.
    Gives(Coming),
    /// The candidate's: it waits for what its partner gets.
    Wants(oneshot::Sender<Coming>),
}

/// A call without a partner so far.
pub(super) struct Waiting {
    pub(super) number: u64,
    pub(super) call: Call,
    pub(super) played: Played,
    pub(super) since: Instant,
    /// Not all that could be its partner was looked at.
    pub(super) is_crowded: bool,
}

/// Calls of legacy and candidate that wait.
#[derive(Default)]
pub(super) struct Queues {
    pub(super) legacy: VecDeque<Waiting>,
    pub(super) candidate: VecDeque<Waiting>,
}

impl Queues {
    pub(super) fn of(&mut self, side: Side) -> &mut VecDeque<Waiting> {
        match side {
            Side::Legacy => &mut self.legacy,
            Side::Candidate => &mut self.candidate,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.legacy.is_empty() && self.candidate.is_empty()
    }
}

/// What the correlation headers of two calls say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kin {
    /// They are of one request.
    Same,
    /// One of them does not say.
    Unknown,
    /// They are of different requests.
    Other,
}

/// What two calls have to do with each other.
pub(super) fn kin(one: &Call, other: &Call) -> Kin {
    match (&one.correlation, &other.correlation) {
        (Some(one), Some(other)) if one == other => Kin::Same,
        (Some(_), Some(_)) => Kin::Other,
        _ => Kin::Unknown,
    }
}

/// Where possible partners stand, those of the same request first.
pub(super) fn nearest(
    queue: &VecDeque<Waiting>,
    call: &Call,
    may_be: impl Fn(Kin) -> bool,
) -> Vec<(usize, Kin)> {
    let all = || {
        queue
            .iter()
            .enumerate()
            .map(|(place, waiting)| (place, kin(&waiting.call, call)))
    };
    let same = all().filter(|(_, kin)| *kin == Kin::Same);
    let others = all().filter(|(_, kin)| *kin != Kin::Same && may_be(*kin));
    same.chain(others).take(LOOKED_AT).collect()
}
