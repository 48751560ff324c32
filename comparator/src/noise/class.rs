//! Which kind of mismatch it is, from two answers of each service.
//!
//! | the legacy moved there | the second pair differs there | class |
//! |---|---|---|
//! | no | yes | `confirmed`: it differs again, and the legacy stands still |
//! | no | no | `unstable`: the candidate moved while the legacy stood still |
//! | yes | no | `transient`: the data moved between the looks, and both agree now; `unstable` if not so |
//! | yes | yes, all four values of one shape | `noise`: the legacy does not agree with itself there |
//! | yes | yes, but of another shape | `confirmed` |
//!
//! What cannot be told is `unconfirmed`: an answer that was not compared, a list of findings that was cut, a legacy whose
//! second answer is an error. An exchange is as grave as the gravest of its groups, in this order: confirmed, unstable,
//! unconfirmed, noise, transient.
//!
//! `transient` excuses at once, without a proof. So it asks for more than `noise`, which needs one: the legacy must have
//! moved in each of the places themselves, not only in other elements of the same lists; what the candidate had first must
//! be what the legacy moved to, or between its two values, so that no nonsense is excused because a clock ticked meanwhile
//! (that is `unstable`); and there must be no difference
//! that only the second pair has, at a place where the legacy stood still. Such a candidate changes its answers by itself, so that
//! its agreement here shows nothing. Otherwise such differences are no findings of the exchange: it is counted by the
//! answer that a client would have got.
//!
//! Besides the class there is what the four values say of how alike the services behave ([`Observation`]), also where the
//! class is not noise: a service that answers one of three values at random is often the same twice.

mod look;
mod observe;
mod orders;
mod spot;
mod spots;

use std::cmp::Ordering;
use std::collections::HashMap;

use http::{Method, StatusCode};
use parity_schemas::exchange::Capture;
use parity_schemas::fields::FieldLines;
use parity_schemas::recheck::RecheckEvent;
use parity_schemas::record::MismatchClass;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Finding, Verdict};

use self::look::SecondLook;
pub use self::observe::Observation;
use self::observe::observe;
use super::place::Likeness;
use super::shape::Shape;
use crate::comparator::{AnswerPair, Comparator, Comparison};

/// The first answers and the second ones, to one request.
#[derive(Clone, Copy)]
pub struct Answers<'a> {
    /// Label of the route.
    pub route: &'a str,
    /// Method of the request.
    pub method: &'a Method,
    /// Header fields of the request.
    pub request: &'a FieldLines,
    /// When the request came.
    pub time: Timestamp,
    /// What the legacy answered, first and second.
    pub legacy: [&'a Capture; 2],
    /// What the candidate answered, first and second.
    pub candidate: [&'a Capture; 2],
}

/// The four comparisons, each by the rules of the route.
#[derive(Clone, Copy)]
pub struct Comparisons<'a> {
    /// Both first answers: what is to be classified.
    pub first: &'a Comparison,
    /// Both second answers.
    pub second: &'a Comparison,
    /// The legacy's first answer and its second.
    pub legacy: &'a Comparison,
    /// The candidate's first answer and its second.
    pub candidate: &'a Comparison,
    /// A second answer is an error, and neither of the first two was one: it says nothing of what differed. Of both services
    /// alike, or one that fails now and then would differ from itself.
    pub only_second_failed: bool,
}

/// What the second look said of an exchange.
pub struct Rechecked {
    /// Of the exchange: the gravest of its groups.
    pub class: MismatchClass,
    /// Each finding of the first pair is in one of them.
    pub groups: Vec<RecheckedGroup>,
    /// Findings of the second pair alone, where the legacy stood still. They are none of this exchange.
    pub only_second: usize,
    /// Only the candidate changed its answer (`Greater`), or only the legacy, in more groups than the other way round. `None` if
    /// neither, or if the legacy had failed at first: that it answers now says nothing of the candidate.
    pub moved: Option<Ordering>,
    /// It is transient, and of a value it is only known that it was between the two that the legacy had.
    pub is_between: bool,
}

/// What the second look said of the findings of one group.
pub struct RecheckedGroup {
    /// Their positions among the findings of the first pair.
    pub findings: Vec<usize>,
    /// What they are about.
    pub shape: Shape,
    /// Their class.
    pub class: MismatchClass,
    /// What the values say besides.
    pub observation: Observation,
}

/// Compares the second answers, and each service with itself, and classifies the findings of the first comparison. It costs
/// three comparisons, each within the limits of the comparator. `hash` must be keyed, so that what it returns says nothing
/// of a value.
pub fn recheck(
    comparator: &mut Comparator,
    first: &Comparison,
    answers: &Answers<'_>,
    hash: &dyn Fn(&[u8]) -> u64,
) -> Rechecked {
    let mut compare = |legacy, candidate, request: Option<_>| {
        comparator.compare_answers(AnswerPair {
            route: answers.route,
            method: answers.method,
            request,
            time: answers.time,
            legacy,
            candidate,
            asked_together: request.is_some(),
        })
    };
    let second = compare(
        answers.legacy[1],
        answers.candidate[1],
        Some(answers.request),
    );
    // Clocks are not compared over the time between the looks, and what the client can read is a question to the
    // candidate beside the legacy.
    let legacy = compare(answers.legacy[0], answers.legacy[1], None);
    let candidate = compare(answers.candidate[0], answers.candidate[1], None);
    let comparisons = Comparisons {
        first,
        second: &second,
        legacy: &legacy,
        candidate: &candidate,
        // Where one of them had failed before, this says that the other one does so, too.
        only_second_failed: ![answers.legacy[0], answers.candidate[0]]
            .into_iter()
            .any(refuses)
            && [answers.legacy[1], answers.candidate[1]]
                .into_iter()
                .any(refuses),
    };
    let mut rechecked = classify(&comparisons, hash);
    if is_failure(answers.legacy[0].status) {
        rechecked.moved = None;
    }
    rechecked
}

/// Which service changed its answer alone, in a group of which something is known.
fn moved_alone(group: &RecheckedGroup) -> i32 {
    let known = group.class != MismatchClass::Unconfirmed;
    let moved = group.observation.moved.filter(|_| known);
    moved.map_or(0, |moved| moved as i32)
}

/// Whether a service says by this status that it failed.
pub(super) fn is_failure(status: u16) -> bool {
    status >= 500 || StatusCode::REQUEST_TIMEOUT == status
}

impl Rechecked {
    /// What is to be counted of it for its route, besides that it was asked about.
    pub fn events(&self) -> impl Iterator<Item = RecheckEvent> {
        let moved = self.moved.map(|moved| match moved {
            Ordering::Greater => RecheckEvent::CandidateAlone,
            _ => RecheckEvent::LegacyAlone,
        });
        let between = self.is_between.then_some(RecheckEvent::Between);
        between.into_iter().chain(moved)
    }
}

/// Whether a service answers that it cannot answer now: it fails, or it has had too many requests, to which a second look
/// adds one. What it would have answered is not known.
pub fn refuses(answer: &Capture) -> bool {
    is_failure(answer.status) || StatusCode::TOO_MANY_REQUESTS == answer.status
}

/// The class of an exchange of which nothing more can be told: there was no second look, or it failed.
pub fn not_rechecked(first: &Comparison) -> Rechecked {
    let groups = grouped(&first.findings).into_iter();
    Rechecked {
        class: MismatchClass::Unconfirmed,
        groups: groups
            .map(|(likeness, findings)| RecheckedGroup {
                findings,
                shape: likeness.shape,
                class: MismatchClass::Unconfirmed,
                observation: Observation::default(),
            })
            .collect(),
        only_second: 0,
        moved: None,
        is_between: false,
    }
}

/// Classifies the findings of the first comparison by the other three.
pub fn classify(comparisons: &Comparisons<'_>, hash: &dyn Fn(&[u8]) -> u64) -> Rechecked {
    let Comparisons {
        first,
        second,
        legacy,
        candidate,
        only_second_failed,
    } = *comparisons;
    let is_unknown =
        |comparison: &Comparison| matches!(comparison.verdict, Verdict::NotCompared(_));
    if only_second_failed || [second, legacy, candidate].into_iter().any(is_unknown) {
        return not_rechecked(first);
    }
    let seen = SecondLook::new(second, legacy, candidate);
    let grouped = grouped(&first.findings);
    let (alone, only_second) = seen.moved_alone(&grouped);
    let groups: Vec<RecheckedGroup> = grouped
        .into_iter()
        .map(|(likeness, positions)| {
            let findings: Vec<&Finding> = positions.iter().map(|at| &first.findings[*at]).collect();
            let class = seen.class(&likeness, &findings, alone);
            RecheckedGroup {
                shape: likeness.shape,
                class,
                observation: Observation {
                    likewise: seen.likewise(&likeness),
                    ..observe(&seen, likeness.shape, &findings, hash)
                },
                findings: positions,
            }
        })
        .collect();
    let gravest = groups.iter().map(|group| group.class).min();
    let mut class = gravest.unwrap_or(MismatchClass::Unconfirmed);
    // What is not listed was not looked at again.
    if first.findings_cut || first.body_not_compared.is_some() {
        class = class.min(MismatchClass::Unconfirmed);
    }
    let is_between = class == MismatchClass::Transient
        && first.findings.iter().any(|finding| !seen.is_exact(finding));
    let moved: i32 = groups.iter().map(moved_alone).sum();
    Rechecked {
        class,
        groups,
        only_second,
        moved: (moved != 0).then(|| moved.cmp(&0)),
        is_between,
    }
}

/// Findings by what makes them one group, in the order of the first of each.
fn grouped(findings: &[Finding]) -> Vec<(Likeness, Vec<usize>)> {
    let mut groups: Vec<(Likeness, Vec<usize>)> = Vec::new();
    let mut positions = HashMap::new();
    for (at, finding) in findings.iter().enumerate() {
        let key = (Likeness::of(finding), finding.explanation);
        let position = *positions.entry(key).or_insert_with_key(|(likeness, _)| {
            groups.push((likeness.clone(), Vec::new()));
            groups.len() - 1
        });
        groups[position].1.push(at);
    }
    groups
}

#[cfg(test)]
mod tests;
