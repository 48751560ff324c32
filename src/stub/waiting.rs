//! Calls that wait for their partners, by side, and which of them are the nearest to a call.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{oneshot, watch};

use super::answer::Answer;
use super::call::{Call, Side};
use super::likeness::Likeness;

/// Calls that an arriving one is compared with, the nearest: each costs a comparison of bodies. Who makes more calls at once to one
/// address should send a correlation header.
pub(super) const LOOKED_AT: usize = 16;
/// Calls of which it is found out how near they are to another one: each costs less than a microsecond.
pub(super) const RANKED: usize = 1_024;
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

/// Why two calls are partners.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// They are equal.
    Equal,
    /// Nothing else has as much in common with either of them.
    Nearest,
    /// Others are as near.
    Guess,
}

/// A call without a partner so far.
pub(super) struct Waiting {
    pub(super) number: u64,
    pub(super) call: Call,
    pub(super) likeness: Likeness,
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
    /// Two of these calls were put together by a guess: then what is left may be the partners of those.
    pub(super) has_guessed: bool,
}

impl Queues {
    pub(super) fn of(&mut self, side: Side) -> &mut VecDeque<Waiting> {
        match side {
            Side::Legacy => &mut self.legacy,
            Side::Candidate => &mut self.candidate,
        }
    }

    /// How certain a pair is after those that were put together before it.
    pub(super) fn certain(&mut self, fit: Fit) -> Fit {
        match fit {
            Fit::Equal => Fit::Equal,
            Fit::Nearest if !self.has_guessed => Fit::Nearest,
            Fit::Nearest | Fit::Guess => {
                self.has_guessed = true;
                Fit::Guess
            }
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

/// A call that may be a partner.
pub(super) struct Near {
    pub(super) place: usize,
    pub(super) kin: Kin,
    /// How much the two have in common.
    pub(super) common: u32,
}

/// Where possible partners stand: those of the same request first, then those that have the most in common, then those that came first.
pub(super) fn nearest(
    queue: &VecDeque<Waiting>,
    (call, likeness): (&Call, &Likeness),
    may_be: impl Fn(Kin) -> bool,
) -> Vec<Near> {
    let all = queue.iter().enumerate().map(|(place, waiting)| {
        let kin = kin(&waiting.call, call);
        (place, kin, &waiting.likeness)
    });
    let possible = all.filter(|(_, kin, _)| *kin == Kin::Same || may_be(*kin));
    let mut near: Vec<Near> = possible
        .enumerate()
        .filter(|(count, (_, kin, other))| {
            *count < RANKED || *kin == Kin::Same || other.has_body_of(likeness)
        })
        .map(|(_, (place, kin, other))| Near {
            place,
            kin,
            common: likeness.to(other),
        })
        .collect();
    near.sort_by_key(|near| (near.kin != Kin::Same, Reverse(near.common)));
    near.truncate(LOOKED_AT);
    near
}
