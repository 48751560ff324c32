//! When the candidate answered with server errors where the legacy did not, to the second.
//!
//! An answer with a status of 5xx is an answer, so it is no outage of the candidate, and a mismatch like any other. But it is what
//! somebody on call asks for first. As in `stretches` beside this, what was counted since the last look is looked at, and no request
//! pays for it.
//!
//! A candidate that fails on one request in a thousand has differences, and no stretch. So a stretch is one in twenty or more. It begins
//! where the errors began to be so many: each counts for it, and each twentieth other one against it, and at nothing all is forgotten. It
//! is over when so many others followed that three of them would be errors at its rate.

use std::collections::VecDeque;

use parity_schemas::lately::{CandidateErrors, MAX_STRETCHES};
use parity_schemas::time::Timestamp;

use super::sighting::Sighting;
use super::stretches::keep;

/// Errors of a stretch: fewer may be those of one bad client.
const LEAST: u64 = 3;
/// One in so many compared requests.
const ONE_IN: u64 = 20;

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

    fn merge(&mut self, other: &Self) {
        self.add_mismatches(other.compared, &other.alone);
        self.add_legacy_errors(other.legacy_errors);
    }
}

/// Errors that may become a stretch, or are one.
struct Run {
    version: String,
    from: Timestamp,
    to: Timestamp,
    /// Up to the last of them.
    counted: Verdicts,
    /// Behind it.
    calm: Verdicts,
    /// In twentieths.
    weight: u64,
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
        CandidateErrors {
            candidate_version: self.version.clone(),
            from: self.from,
            to: self.to,
            ended,
            compared,
            errors: alone.candidate.saturating_add(both).min(compared),
            legacy_errors,
        }
    }

    /// Whether what followed shows that it is over.
    fn is_over(&self) -> bool {
        let most = LEAST * ONE_IN;
        let would_show = self.counted.compared.saturating_mul(LEAST);
        let would_show = would_show.div_ceil(self.counted.alone.candidate.max(1));
        self.calm.compared >= would_show.min(most)
    }
}

/// The latest stretches.
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
            self.end(None);
        }
        match (look.alone.span, &mut self.run) {
            (None, None) => return,
            (None, Some(run)) => run.calm.merge(look),
            (Some((from, to)), run) => {
                let run = run.get_or_insert_with(|| Run {
                    version: version.to_owned(),
                    from,
                    to,
                    counted: Verdicts::default(),
                    calm: Verdicts::default(),
                    weight: 0,
                    is_stretch: false,
                });
                // What was asked again is counted later than what was not.
                run.from = run.from.min(from);
                run.to = run.to.max(to);
                let calm = std::mem::take(&mut run.calm);
                run.counted.merge(&calm);
                run.counted.merge(look);
            }
        }
        let Some(run) = &mut self.run else {
            return;
        };
        let errors = look.alone.candidate;
        run.weight = run
            .weight
            .saturating_add(errors.saturating_mul(ONE_IN))
            .saturating_sub(look.compared);
        let counted = &run.counted;
        run.is_stretch |= counted.alone.candidate >= LEAST
            && counted.alone.candidate.saturating_mul(ONE_IN) >= counted.compared;
        if run.is_stretch && errors == 0 && run.is_over() {
            self.end(Some(now));
        } else if !run.is_stretch && run.weight == 0 {
            self.run = None;
        }
    }

    fn end(&mut self, ended: Option<Timestamp>) {
        if let Some(run) = self.run.take().filter(|run| run.is_stretch) {
            keep(&mut self.ended, run.told(ended), MAX_STRETCHES);
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
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(1_790_000_000_000_000 + second * 1_000_000)
    }

    /// Of looks: when, how many were compared, how many of them the candidate alone answered with an error, how many both did.
    fn told(looks: &[(i64, u64, u64, u64)]) -> Vec<(i64, i64, Option<i64>, [u64; 3])> {
        let mut erring = Erring::default();
        for (second, compared, alone, both) in looks {
            let look = Verdicts {
                compared: *compared,
                legacy_errors: *both,
                alone: ErrorsAlone {
                    candidate: *alone,
                    legacy: 0,
                    span: (*alone > 0).then(|| (at(*second), at(*second))),
                },
            };
            erring.look(&look, "2", at(*second));
        }
        let second = |time: Timestamp| (time.as_micros() - at(0).as_micros()) / 1_000_000;
        let each = erring.told().into_iter();
        each.map(|one| {
            let counts = [one.compared, one.errors, one.legacy_errors];
            let ended = one.ended.map(second);
            (second(one.from), second(one.to), ended, counts)
        })
        .collect()
    }

    #[test]
    fn a_stretch_is_from_the_first_error_to_the_last_and_over_when_others_follow() {
        let down = [(0, 10, 0, 0), (1, 10, 6, 1), (2, 10, 10, 0), (3, 0, 0, 0)];
        assert_eq!(told(&down), [(1, 2, None, [20, 17, 1])]);
        // At its rate, one of four would be none.
        let doubt = [&down[..], &[(4, 3, 0, 0)]].concat();
        assert_eq!(told(&doubt), [(1, 2, None, [20, 17, 1])]);
        let over = [&doubt[..], &[(5, 9, 0, 0), (60, 10, 0, 0)]].concat();
        assert_eq!(told(&over), [(1, 2, Some(5), [20, 17, 1])]);
        let two = [&over[..], &[(61, 10, 9, 0)]].concat();
        assert_eq!(told(&two).len(), 2);
    }

    #[test]
    fn a_route_that_always_fails_is_one_and_a_few_errors_are_none() {
        let route: Vec<_> = (0..400)
            .map(|second| (second, 9, u64::from(second % 2 == 0), 0))
            .collect();
        assert_eq!(told(&route), [(0, 398, None, [3_591, 200, 0])]);
        let seldom: Vec<_> = (0..4_000)
            .map(|second| (second, 10, u64::from(second % 10 == 0), 0))
            .collect();
        assert!(told(&seldom).is_empty(), "{:?}", told(&seldom));
        // Behind them, all of a sudden, it begins when it began.
        let then = [&seldom[..], &[(4_001, 9, 9, 0), (4_002, 9, 9, 0)]].concat();
        assert_eq!(told(&then), [(4_001, 4_002, None, [18, 18, 0])]);
        // Both services fail: that is no fault of the candidate's.
        let both: Vec<_> = (0..9).map(|second| (second, 9, 0, 9)).collect();
        assert!(told(&both).is_empty());
    }

    #[test]
    fn another_candidate_does_not_go_on_with_the_errors_of_the_one_before() {
        let mut erring = Erring::default();
        let look = Verdicts {
            compared: 9,
            legacy_errors: 0,
            alone: ErrorsAlone {
                candidate: 9,
                legacy: 0,
                span: Some((at(1), at(1))),
            },
        };
        for version in ["1", "2"] {
            erring.look(&look, version, at(1));
        }
        let told = erring.told();
        let told: Vec<_> = told
            .iter()
            .map(|one| (one.candidate_version.as_str(), one.errors, one.ended))
            .collect();
        assert_eq!(told, [("1", 9, None), ("2", 9, None)]);
    }
}
