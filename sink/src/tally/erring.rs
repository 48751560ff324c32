//! When the candidate answered with server errors where the legacy did not, to the second.
//!
//! An answer with a status of 5xx is an answer, so it is no outage of the candidate, and a mismatch like any other. But it is what
//! somebody on call asks for first. As in `stretches` beside this, what was counted since the last look is looked at, and no request
//! pays for it.
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

use std::collections::VecDeque;

use parity_schemas::lately::{CandidateErrors, MAX_STRETCHES};
use parity_schemas::time::Timestamp;

use super::sighting::Sighting;
use super::stretches::keep;

/// Errors of a stretch: fewer may be those of one bad client.
const LEAST: u64 = 5;
/// One in so many compared requests.
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

/// Mismatches in which one service alone answered with a server error.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ErrorsAlone {
    candidate: u64,
    legacy: u64,
    /// When the first and the last request was received that the candidate alone answered so.
    span: Option<(Timestamp, Timestamp)>,
}

const fn is_error(status: u16) -> bool {
    matches!(status, 500..=599)
}

impl ErrorsAlone {
    /// Adds a mismatch. Each of its groups has the statuses of both answers.
    pub(super) fn add(&mut self, seen: &Sighting<'_>) {
        let Some(group) = seen.groups.first() else {
            return;
        };
        match (
            is_error(group.legacy_status),
            is_error(group.candidate_status),
        ) {
            (false, true) => {
                self.candidate += 1;
                let (from, to) = self.span.unwrap_or((seen.time, seen.time));
                self.span = Some((from.min(seen.time), to.max(seen.time)));
            }
            (true, false) => self.legacy += 1,
            _ => {}
        }
    }

    fn merge(&mut self, other: &Self) {
        self.candidate = self.candidate.saturating_add(other.candidate);
        self.legacy = self.legacy.saturating_add(other.legacy);
        self.span = match (self.span, other.span) {
            (Some((from, to)), Some((begun, last))) => Some((from.min(begun), to.max(last))),
            (span, other) => span.or(other),
        };
    }
}

/// What was compared between two looks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Verdicts {
    compared: u64,
    /// Answers of the legacy that are errors.
    legacy_errors: u64,
    alone: ErrorsAlone,
}

impl Verdicts {
    pub(super) fn add_matches(&mut self, count: u64) {
        self.compared = self.compared.saturating_add(count);
    }

    pub(super) fn add_mismatches(&mut self, count: u64, alone: &ErrorsAlone) {
        self.compared = self.compared.saturating_add(count);
        self.alone.merge(alone);
    }

    pub(super) fn add_legacy_errors(&mut self, count: u64) {
        self.legacy_errors = self.legacy_errors.saturating_add(count);
    }

    /// Whether the candidate alone answered more than one in twenty with an error, in twentieths.
    fn excess(&self) -> std::cmp::Ordering {
        let errors = self.alone.candidate.saturating_mul(ONE_IN);
        errors.cmp(&self.compared)
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.add_mismatches(other.compared, &other.alone);
        self.add_legacy_errors(other.legacy_errors);
    }
}

/// Errors that may become a stretch, or are one.
struct Run {
    version: String,
    /// Up to the last look at which one in twenty or more were errors.
    counted: Verdicts,
    /// Behind it: fewer are.
    calm: Verdicts,
    is_stretch: bool,
}

impl Run {
    fn told(&self, ended: Option<Timestamp>) -> CandidateErrors {
        let Verdicts {
            compared,
            legacy_errors,
            alone,
        } = self.counted;
        let both = legacy_errors.saturating_sub(alone.legacy);
        let (from, to) = alone.span.unwrap_or_default();
        CandidateErrors {
            candidate_version: self.version.clone(),
            from,
            to,
            ended,
            compared,
            errors: alone.candidate.saturating_add(both).min(compared),
            legacy_errors,
        }
    }

    fn add(&mut self, look: &Verdicts) {
        self.calm.merge(look);
        if self.calm.excess().is_ge() {
            let calm = std::mem::take(&mut self.calm);
            self.counted.merge(&calm);
        }
    }

    /// Whether these are surely no errors of one in twenty or less.
    fn is_sure(&self) -> bool {
        let Verdicts {
            compared, alone, ..
        } = self.counted;
        alone.candidate >= LEAST
            && self.counted.excess().is_gt()
            && evidence(compared, alone.candidate, SHARE) >= SURE
    }

    /// Whether what is not yet one may be forgotten.
    fn is_spent(&self) -> bool {
        let mut all = self.counted;
        all.merge(&self.calm);
        all.excess().is_le()
    }

    /// Whether what followed shows that it is over.
    fn is_over(&self) -> bool {
        let rate = self.counted.alone.candidate as f64 / self.counted.compared.max(1) as f64;
        let calm = &self.calm;
        evidence(calm.compared, calm.alone.candidate, SHARE.max(rate / 2.0)) >= SURE
    }
}

/// The latest stretches, and of many those with the most errors.
#[derive(Default)]
pub(super) struct Erring {
    ended: VecDeque<CandidateErrors>,
    run: Option<Run>,
}

impl Erring {
    /// Adds what was compared of this version since the last look.
    pub(super) fn look(&mut self, look: &Verdicts, version: &str, now: Timestamp) {
        if self.run.as_ref().is_some_and(|run| run.version != version) {
            // It is another candidate: of the one before nothing more will be known.
            self.end(now);
        }
        match &mut self.run {
            Some(run) => run.add(look),
            None if look.excess().is_gt() => {
                self.run = Some(Run {
                    version: version.to_owned(),
                    counted: *look,
                    calm: Verdicts::default(),
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

    fn end(&mut self, ended: Timestamp) {
        if let Some(run) = self.run.take().filter(|run| run.is_stretch) {
            let one = run.told(Some(ended));
            keep(&mut self.ended, one, MAX_STRETCHES, |one| one.errors);
        }
    }

    /// The stretches, the earliest first, with the one that goes on.
    pub(super) fn told(&self) -> Vec<CandidateErrors> {
        let open = self.run.iter().filter(|run| run.is_stretch);
        let open = open.map(|run| run.told(None));
        self.ended.iter().cloned().chain(open).collect()
    }
}

#[cfg(test)]
mod tests;
