//! When a part of what was counted was bad, surely more than one in twenty, to the second: what the candidate alone answered with server
//! errors ([`alone`]), what clients got of them ([`served`]), and answers of the legacy that took too long ([`slow`]).
//!
//! An answer with a status of 5xx is an answer, so it is no outage of the candidate, and a mismatch like any other; and a client who
//! gets one of the legacy has a whole answer. But it is what somebody on call asks for first. As in `stretches` beside this, what was
//! counted since the last look is looked at, and no request pays for it.
//!
//! A candidate that fails on one request in a hundred has differences, and no stretch, however long it is looked at: chance puts three of
//! its errors together many times an hour. So a stretch is surely one in twenty or more. Errors may become one where they began to be so
//! many: each counts for it, and each twentieth other one against it, and at nothing all is forgotten. They are one when so many of so
//! many requests are too unlikely at one in twenty. It is over when what followed is surely rarer than one in twenty, and than half of
//! what the stretch had.
//!
//! How unlikely that is, is said by the bound of Chernoff (1952; Hoeffding 1963, theorem 1): of `n` independent requests, `k` or more are
//! errors at a share `p` below `k/n` with a probability of at most `exp(-n·KL(k/n‖p))`, where `KL(q‖p) = q·ln(q/p) + (1-q)·ln((1-q)/(1-p))`;
//! for `p` above `k/n` the same holds for `k` or fewer.

mod alone;
mod served;
mod slow;

use std::cmp::Ordering;
use std::collections::VecDeque;

use parity_schemas::lately::MAX_STRETCHES;
use parity_schemas::time::Timestamp;

pub(super) use self::alone::{ErrorsAlone, Verdicts};
pub(super) use self::served::Answers;
pub(super) use self::slow::Pace;
use super::stretches::keep;

/// A service that is asked nothing for so long is no longer told to answer with errors.
const REST_MICROS: i64 = 60_000_000;
/// Errors of a stretch: fewer may be those of one bad client.
const LEAST: u64 = 5;
/// One in so many counted requests.
const ONE_IN: u64 = 20;
const SHARE: f64 = 1.0 / ONE_IN as f64;
/// How unlikely chance must be, as `-ln` of its bound: 3.4 in ten million, of which five errors of five at one in twenty are just less
/// (3.1). It is asked at each look. At a share of one in fifty or less chance has it once in months, since it must begin with an error,
/// and at one in a hundred the same five are three thousand times rarer.
const SURE: f64 = 14.9;

/// `-ln` of the bound on the probability that of so many requests so few or so many are errors, at this share.
fn evidence(requests: u64, errors: u64, share: f64) -> f64 {
    let requests = requests as f64;
    let errors = (errors as f64).min(requests);
    let part = |counted: f64, expected: f64| {
        if counted > 0.0 {
            counted * (counted / expected).ln()
        } else {
            0.0
        }
    };
    part(errors, requests * share) + part(requests - errors, requests * (1.0 - share))
}

/// What was counted between two looks, of which a part is bad.
pub(super) trait Counted: Clone + Default {
    /// A stretch, as it is told.
    type Told: Clone;

    /// What was counted.
    fn all(&self) -> u64;

    /// What of it is bad.
    fn bad(&self) -> u64;

    /// Adds what was counted behind it.
    fn merge(&mut self, other: &Self);

    /// The stretch that this is, of a service of this version; `ended` while it goes on is `None`.
    fn told(&self, version: &str, ended: Option<Timestamp>) -> Self::Told;

    /// What of a stretch is bad: of too many the smallest are left out.
    fn size(told: &Self::Told) -> u64;

    /// Whether more than one in twenty is bad, in twentieths.
    fn excess(&self) -> Ordering {
        self.bad().saturating_mul(ONE_IN).cmp(&self.all())
    }
}

/// From the first to the last of some times.
type Span = Option<(Timestamp, Timestamp)>;

/// Together with another one.
fn joined(one: Span, other: Span) -> Span {
    match (one, other) {
        (Some((from, to)), Some((begun, last))) => Some((from.min(begun), to.max(last))),
        (span, other) => span.or(other),
    }
}

/// What is bad and may become a stretch, or is one.
struct Run<C> {
    version: String,
    /// Up to the last look at which one in twenty or more were bad.
    counted: C,
    /// Behind it: fewer are.
    calm: C,
    is_stretch: bool,
}

impl<C: Counted> Run<C> {
    fn add(&mut self, look: &C) {
        self.calm.merge(look);
        if self.calm.excess().is_ge() {
            let calm = std::mem::take(&mut self.calm);
            self.counted.merge(&calm);
        }
    }

    /// Whether these are surely no errors of one in twenty or less.
    fn is_sure(&self) -> bool {
        let (all, bad) = (self.counted.all(), self.counted.bad());
        bad >= LEAST && self.counted.excess().is_gt() && evidence(all, bad, SHARE) >= SURE
    }

    /// Whether what is not yet one may be forgotten.
    fn is_spent(&self) -> bool {
        let mut all = self.counted.clone();
        all.merge(&self.calm);
        all.excess().is_le()
    }

    /// Whether what followed shows that it is over.
    fn is_over(&self) -> bool {
        let rate = self.counted.bad() as f64 / self.counted.all().max(1) as f64;
        evidence(self.calm.all(), self.calm.bad(), SHARE.max(rate / 2.0)) >= SURE
    }
}

/// The latest stretches, and of many those with the most that is bad.
pub(super) struct Surely<C: Counted> {
    ended: VecDeque<C::Told>,
    run: Option<Run<C>>,
    /// The last look that had anything.
    counted_at: Timestamp,
}

/// Those of the candidate.
pub(super) type Erring = Surely<Verdicts>;

impl<C: Counted> Default for Surely<C> {
    fn default() -> Self {
        Self {
            ended: VecDeque::new(),
            run: None,
            counted_at: Timestamp::default(),
        }
    }
}

impl<C: Counted> Surely<C> {
    /// Adds what was counted of a service of this version since the last look.
    pub(super) fn look(&mut self, look: &C, version: &str, now: Timestamp) {
        if self.run.as_ref().is_some_and(|run| run.version != version) {
            // It is another service: of the one before nothing more will be known.
            self.end(now);
        }
        if look.all() > 0 {
            self.counted_at = now;
        }
        match &mut self.run {
            Some(run) => run.add(look),
            None if look.excess().is_gt() => {
                self.run = Some(Run {
                    version: version.to_owned(),
                    counted: look.clone(),
                    calm: C::default(),
                    is_stretch: false,
                });
            }
            None => {}
        }
        let Some(run) = &mut self.run else {
            return;
        };
        run.is_stretch |= run.is_sure();
        if run.is_stretch && run.is_over() {
            self.end(now);
        } else if !run.is_stretch && run.is_spent() {
            self.run = None;
        }
    }

    /// Ends what goes on where nothing was counted for so long: who is asked nothing answers nobody with errors, and nothing would ever show
    /// that it is over.
    pub(super) fn rest(&mut self, now: Timestamp) {
        let since = now.as_micros().saturating_sub(self.counted_at.as_micros());
        if since > REST_MICROS && self.run.as_ref().is_some_and(|run| run.is_stretch) {
            self.end(self.counted_at);
        }
    }

    /// Ends what goes on.
    fn end(&mut self, ended: Timestamp) {
        if let Some(run) = self.run.take().filter(|run| run.is_stretch) {
            let one = run.counted.told(&run.version, Some(ended));
            keep(&mut self.ended, one, MAX_STRETCHES, C::size);
        }
    }

    /// Whether something goes on, or may.
    fn is_open(&self) -> bool {
        self.run.is_some()
    }

    /// The stretches, the earliest first, with the one that goes on.
    pub(super) fn told(&self) -> Vec<C::Told> {
        let open = self.run.iter().filter(|run| run.is_stretch);
        let open = open.map(|run| run.counted.told(&run.version, None));
        self.ended.iter().cloned().chain(open).collect()
    }
}

#[cfg(test)]
mod tests;
