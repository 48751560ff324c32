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

use std::cmp::Ordering;
use std::collections::HashMap;

use http::{Method, StatusCode};
use parity_schemas::exchange::Capture;
use parity_schemas::fields::FieldLines;
use parity_schemas::record::MismatchClass;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Finding, Kind, Part, Side, Verdict};

use super::place::{Likeness, Motion, is_membership, motion, overlap};
use super::shape::Shape;
use super::value::Ordered;
use crate::comparator::{AnswerPair, Comparator, Comparison};

/// Findings of a group whose values are looked at; of more, the first.
const VALUES: usize = 16;

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
    /// The legacy's second answer is an error of its own, and neither of the first two was one.
    pub legacy_failed: bool,
}

/// What the second look said of an exchange.
pub struct Rechecked {
    /// Of the exchange: the gravest of its groups.
    pub class: MismatchClass,
    /// Each finding of the first pair is in one of them.
    pub groups: Vec<RecheckedGroup>,
    /// Findings of the second pair alone, where the legacy stood still. They are none of this exchange.
    pub only_second: usize,
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

/// What the four values of a place say of how alike two services behave there.
///
/// The two second answers are asked in alternating order, so for services that behave alike each statement about the
/// candidate here is as likely as its counterpart about the legacy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// Of values with an order: the candidate's second one, seen from the legacy's. Of tokens, its length. Of several
    /// findings, of the most.
    pub order: Option<Ordering>,
    /// The power of two of the distance between the second values; of several, the greatest.
    pub between: Option<i32>,
    /// The same of the legacy's two values.
    pub motion: Option<i32>,
    /// Each service repeats itself (`Greater`) more than the other one, or less.
    pub own: Option<Ordering>,
    /// Only the candidate moved (`Greater`), or only the legacy.
    pub moved: Option<Ordering>,
    /// More of the candidate's values have a shape that the other service did not show (`Greater`), or of the legacy's.
    pub odd: Option<Ordering>,
    /// Hashes of the legacy's values, without those that repeat within this exchange.
    pub legacy_values: Vec<u64>,
    /// The same of the candidate's.
    pub candidate_values: Vec<u64>,
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
        // Where the candidate had failed before, this says that the legacy does so, too.
        legacy_failed: refuses(answers.legacy[1])
            && !refuses(answers.legacy[0])
            && !refuses(answers.candidate[0]),
    };
    classify(&comparisons, hash)
}

/// Whether a service answers that it cannot answer now: it fails, or it has had too many requests, to which a second look
/// adds one. What it would have answered is not known.
fn refuses(answer: &Capture) -> bool {
    let status = answer.status;
    status >= 500
        || [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS]
            .iter()
            .any(|refusal| *refusal == status)
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
    }
}

/// Classifies the findings of the first comparison by the other three.
pub fn classify(comparisons: &Comparisons<'_>, hash: &dyn Fn(&[u8]) -> u64) -> Rechecked {
    let Comparisons {
        first,
        second,
        legacy,
        candidate,
        legacy_failed,
    } = *comparisons;
    let is_unknown =
        |comparison: &Comparison| matches!(comparison.verdict, Verdict::NotCompared(_));
    if legacy_failed || [second, legacy, candidate].into_iter().any(is_unknown) {
        return not_rechecked(first);
    }
    let seen = SecondLook {
        second,
        legacy,
        candidate,
        in_second: second.findings.iter().map(Likeness::of).collect(),
        in_legacy: legacy.findings.iter().map(Likeness::of).collect(),
    };
    let grouped = grouped(&first.findings);
    let only_second = seen.only_second(&grouped);
    let groups: Vec<RecheckedGroup> = grouped
        .into_iter()
        .map(|(likeness, positions)| {
            let findings: Vec<&Finding> = positions.iter().map(|at| &first.findings[*at]).collect();
            let class = seen.class(&likeness, &findings, only_second > 0);
            RecheckedGroup {
                shape: likeness.shape,
                class,
                observation: seen.observe(likeness.shape, &findings, hash),
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
    Rechecked {
        class,
        groups,
        only_second,
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

/// The other three comparisons.
struct SecondLook<'a> {
    second: &'a Comparison,
    legacy: &'a Comparison,
    candidate: &'a Comparison,
    in_second: Vec<Likeness>,
    in_legacy: Vec<Likeness>,
}

impl SecondLook<'_> {
    fn class(
        &self,
        likeness: &Likeness,
        findings: &[&Finding],
        differs_elsewhere: bool,
    ) -> MismatchClass {
        let motions = findings
            .iter()
            .map(|finding| motion(finding, &self.legacy.findings));
        let (mut least, mut most) = (Motion::Here, Motion::None);
        for motion in motions {
            least = least.min(motion);
            most = most.max(motion);
        }
        let is_cut = |comparison: &Comparison| {
            let of_body = findings.iter().any(|finding| finding.part == Part::Body);
            comparison.findings_cut || (of_body && comparison.body_not_compared.is_some())
        };
        let again = self.in_second.contains(likeness);
        let otherwise = self.second.findings.iter().any(|finding| {
            // An answer with another status is another answer, wherever the first pair differed.
            finding.part == Part::Status || findings.iter().any(|first| overlap(first, finding))
        });
        if again || otherwise {
            let moved_alike = self.in_legacy.iter().any(|moved| likeness.is_motion(moved));
            return if again && most > Motion::None && moved_alike {
                MismatchClass::Noise
            } else if most < Motion::Here && is_cut(self.legacy) {
                MismatchClass::Unconfirmed
            } else {
                MismatchClass::Confirmed
            };
        }
        if is_cut(self.second) || (least < Motion::Here && is_cut(self.legacy)) {
            MismatchClass::Unconfirmed
        } else if least < Motion::Here {
            MismatchClass::Unstable
        } else if differs_elsewhere || findings.iter().any(|finding| self.is_gone(finding)) {
            MismatchClass::Unconfirmed
        } else if findings.iter().all(|finding| self.is_on_the_way(finding)) {
            MismatchClass::Transient
        } else {
            MismatchClass::Unstable
        }
    }

    /// Whether a candidate that sees the data change at another moment than the legacy can have had this first: what the
    /// legacy has now, or a number or time between its two. Of elements of a list [`motion`] has looked at that already.
    fn is_on_the_way(&self, finding: &Finding) -> bool {
        if is_membership(finding) {
            return true;
        }
        let [l1, c1, l2, _] = self.values(finding);
        // There is no order of status codes.
        if finding.kind != Kind::Value || finding.part == Part::Status {
            return c1 == l2;
        }
        let of = |side| Ordered::of(finding.part, side);
        let is_between = || {
            let (from, at, to) = (of(l1)?, of(c1)?, of(l2)?);
            let (first, last) = (at.compare(&from)?.order, to.compare(&at)?.order);
            Some(first == last)
        };
        c1 == l2 || is_between() == Some(true)
    }

    /// Whether there is no value any more where two values differed: a link that works once, an item that was deleted. That
    /// both agree about that says nothing of the values.
    fn is_gone(&self, finding: &Finding) -> bool {
        let [l1, c1, l2, _] = self.values(finding);
        let is_value = |side: &Side| matches!(side, Side::Value(_));
        finding.kind == Kind::Value
            && [l1, c1].into_iter().all(is_value)
            && matches!(l2, Side::Absent)
    }

    /// Findings of the second pair that are of no group of the first, where the legacy did not move.
    fn only_second(&self, groups: &[(Likeness, Vec<usize>)]) -> usize {
        let findings = self.second.findings.iter().zip(&self.in_second);
        findings
            .filter(|(finding, likeness)| {
                !groups.iter().any(|(known, _)| known == *likeness)
                    && motion(finding, &self.legacy.findings) == Motion::None
            })
            .count()
    }

    fn observe(
        &self,
        shape: Shape,
        findings: &[&Finding],
        hash: &dyn Fn(&[u8]) -> u64,
    ) -> Observation {
        let mut sums = Sums::default();
        let mut seen = Observation::default();
        for finding in findings.iter().take(VALUES) {
            let values = self.values(finding);
            sums.add(finding.part, shape, &values);
            let [l1, c1, l2, c2] = values;
            seen.between = seen.between.max(distance(finding.part, c2, l2));
            // Of numbers and times also the first values: a fault may be in first answers only. Which of them is the greater
            // one says nothing, because the legacy may be asked earlier.
            if shape.is_ordered() {
                seen.between = seen.between.max(distance(finding.part, c1, l1));
            }
            seen.motion = seen.motion.max(distance(finding.part, l2, l1));
            push_hashes(&mut seen.legacy_values, [l1, l2], hash);
            push_hashes(&mut seen.candidate_values, [c1, c2], hash);
        }
        let sign = |sum: i32| (sum != 0).then(|| sum.cmp(&0));
        seen.order = sign(sums.order);
        seen.own = sign(sums.own);
        seen.moved = sign(sums.moved);
        seen.odd = sign(sums.odd);
        seen
    }

    /// The values of both services at the place of a finding, of the first look and of the second.
    fn values<'a>(&'a self, finding: &'a Finding) -> [&'a Side; 4] {
        let at = |comparison: &'a Comparison, path: &str| {
            let mut there = comparison.findings.iter();
            there.find(|other| other.part == finding.part && other.path == path)
        };
        let path = finding.path.as_str();
        let in_candidate = finding.candidate_path.as_deref().unwrap_or(path);
        let second = at(self.second, path);
        let legacy = second.map(|pair| &pair.legacy);
        let candidate = second.map(|pair| &pair.candidate);
        let moved = |comparison, path| at(comparison, path).map(|pair| &pair.candidate);
        let legacy = legacy.or_else(|| moved(self.legacy, path));
        let candidate = candidate.or_else(|| moved(self.candidate, in_candidate));
        [
            &finding.legacy,
            &finding.candidate,
            legacy.unwrap_or(&finding.legacy),
            candidate.unwrap_or(&finding.candidate),
        ]
    }
}

/// What several findings of one group say, added up.
#[derive(Default)]
struct Sums {
    order: i32,
    own: i32,
    moved: i32,
    odd: i32,
}

impl Sums {
    fn add(&mut self, part: Part, shape: Shape, [l1, c1, l2, c2]: &[&Side; 4]) {
        if let (Some(one), Some(two)) = (Ordered::of(part, c2), Ordered::of(part, l2)) {
            let difference = one.compare(&two);
            self.order += difference.map_or(0, |difference| difference.order as i32);
        } else if shape.is_ordered()
            && let (Side::Value(one), Side::Value(two)) = (c2, l2)
        {
            self.order += one.text.len().cmp(&two.text.len()) as i32;
        }
        // Of values that are of two shapes, the shapes are what is compared.
        let alike = |one: &Side, two: &Side| Shape::of_sides(part, one, two).is_alike();
        let same = |one: &Side, two: &Side| {
            if shape.is_alike() {
                one == two
            } else {
                alike(one, two)
            }
        };
        let own = [same(l1, l2), same(c1, c2)];
        let other = [same(l1, c2), same(c1, l2)];
        let count = |of: [bool; 2]| i32::from(of[0]) + i32::from(of[1]);
        self.own += count(own) - count(other);
        self.moved += i32::from(own[0]) - i32::from(own[1]);
        // A value of a kind that the other service shows in neither look.
        let odd = |value: &Side, known: [&Side; 2]| {
            i32::from(!known.into_iter().any(|known| alike(known, value)))
        };
        let (legacy, candidate) = ([*l1, *l2], [*c1, *c2]);
        self.odd += odd(c1, legacy) + odd(c2, legacy) - odd(l1, candidate) - odd(l2, candidate);
    }
}

fn distance(part: Part, one: &Side, two: &Side) -> Option<i32> {
    let difference = Ordered::of(part, one)?.compare(&Ordered::of(part, two)?)?;
    Some(difference.power)
}

/// Adds the hashes of two values, of equal ones one.
fn push_hashes(hashes: &mut Vec<u64>, values: [&Side; 2], hash: &dyn Fn(&[u8]) -> u64) {
    for side in values {
        let of = match side {
            Side::Value(text) | Side::Line(text) | Side::Body(text) => match &text.whole {
                Some(whole) => hash(&whole.sha256),
                None => hash(text.text.as_bytes()),
            },
            Side::Bytes(digest) => hash(&digest.sha256),
            Side::Absent | Side::Described(_) | Side::Broken { .. } => continue,
        };
        if !hashes.contains(&of) {
            hashes.push(of);
        }
    }
}

#[cfg(test)]
mod tests;
