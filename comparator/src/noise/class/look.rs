//! What the second look says of each group: the table of [`super`].

use parity_schemas::record::MismatchClass;
use parity_schemas::side::Side;
use parity_schemas::verdict::{Finding, Kind, Part};

use super::spot::class_of_spots;
use crate::comparator::Comparison;
use crate::noise::place::{Likeness, Motion, is_above, is_membership, motion, overlap};
use crate::noise::shape::ValueShape;
use crate::noise::value::Ordered;

/// The other three comparisons.
pub(super) struct SecondLook<'a> {
    pub(super) second: &'a Comparison,
    pub(super) legacy: &'a Comparison,
    pub(super) candidate: &'a Comparison,
    in_second: Vec<Likeness>,
    in_legacy: Vec<Likeness>,
    in_candidate: Vec<Likeness>,
}

/// Which service moved by itself in another place.
#[derive(Clone, Copy, Default)]
pub(super) struct MovedAlone {
    legacy: bool,
    candidate: bool,
}

impl<'a> SecondLook<'a> {
    /// Both second answers, and each service compared with itself.
    pub(super) fn new(
        second: &'a Comparison,
        legacy: &'a Comparison,
        candidate: &'a Comparison,
    ) -> Self {
        Self {
            second,
            legacy,
            candidate,
            in_second: second.findings.iter().map(Likeness::of).collect(),
            in_legacy: legacy.findings.iter().map(Likeness::of).collect(),
            in_candidate: candidate.findings.iter().map(Likeness::of).collect(),
        }
    }

    /// Whether the legacy differs from itself in the way that the services differ in a group, and whether the candidate does.
    pub(super) fn likewise(&self, likeness: &Likeness) -> [bool; 2] {
        [&self.in_legacy, &self.in_candidate]
            .map(|motions| motions.iter().any(|moved| likeness.is_motion(moved)))
    }

    /// What the second answers differ in as a finding of the first says.
    pub(super) fn again(&self, first: &Finding) -> Vec<&Finding> {
        let likeness = Likeness::of(first);
        let findings = self.second.findings.iter().zip(&self.in_second);
        let again = findings.filter(|(_, other)| **other == likeness);
        again.map(|(finding, _)| finding).collect()
    }

    /// The class of the findings of one group.
    pub(super) fn class(
        &self,
        likeness: &Likeness,
        findings: &[&Finding],
        alone: MovedAlone,
    ) -> MismatchClass {
        let whole = self.class_of_whole(likeness, findings, alone);
        if !matches!(whole, MismatchClass::Noise | MismatchClass::Transient) {
            return whole;
        }
        // Texts differ in several places at once, of which the legacy may have moved in some.
        let here = findings
            .iter()
            .filter(|finding| motion(finding, &self.legacy.findings) == Motion::Here);
        let of_spots = here.filter_map(|finding| {
            let Some(spots) = self.spots(finding) else {
                // What cannot be laid over the others may hide a number beside an id.
                let is_pattern = likeness.shape.legacy == ValueShape::Pattern;
                return is_pattern.then_some(MismatchClass::Unconfirmed);
            };
            class_of_spots(&spots)
        });
        of_spots.min().map_or(whole, |class| class.min(whole))
    }

    fn class_of_whole(
        &self,
        likeness: &Likeness,
        findings: &[&Finding],
        alone: MovedAlone,
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
        } else if least < Motion::Here && alone.legacy {
            // As below, with the services exchanged: what is said of one that moves by itself is said of both.
            MismatchClass::Unconfirmed
        } else if least < Motion::Here {
            MismatchClass::Unstable
        } else if alone.candidate || findings.iter().any(|finding| self.is_gone(finding)) {
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

    /// Whether what the candidate had first is exactly what the legacy has now. Of elements of a list it is, see
    /// [`Self::is_on_the_way`].
    pub(super) fn is_exact(&self, finding: &Finding) -> bool {
        let [_, c1, l2, _] = self.values(finding);
        is_membership(finding) || c1 == l2
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

    /// Which service moved by itself where the first answers agreed, so that the second ones differ. A list of findings
    /// of the second pair that are of no group of the first, too.
    pub(super) fn moved_alone(&self, groups: &[(Likeness, Vec<usize>)]) -> (MovedAlone, usize) {
        let findings = self.second.findings.iter().zip(&self.in_second);
        let only_second = findings
            .filter(|(_, likeness)| !groups.iter().any(|(known, _)| known == *likeness))
            .map(|(finding, _)| finding);
        let stands = |finding: &Finding, service: &Comparison| {
            motion(finding, &service.findings) == Motion::None
        };
        let (mut alone, mut of_candidate) = (MovedAlone::default(), 0);
        for finding in only_second {
            if stands(finding, self.legacy) {
                alone.candidate = true;
                of_candidate += 1;
            }
            alone.legacy |= stands(finding, self.candidate);
        }
        (alone, of_candidate)
    }

    /// The values of both services at the place of a finding, of the first look and of the second.
    pub(super) fn values<'b>(&'b self, finding: &'b Finding) -> [&'b Side; 4] {
        self.values_or(finding, false)
    }

    /// The same, where a value is absent if what held it is gone. Otherwise it would seem to stand still.
    pub(super) fn values_there<'b>(&'b self, finding: &'b Finding) -> [&'b Side; 4] {
        self.values_or(finding, true)
    }

    fn values_or<'b>(&'b self, finding: &'b Finding, absent_with_holder: bool) -> [&'b Side; 4] {
        let at = |comparison: &'b Comparison, path: &str| {
            let mut there = comparison.findings.iter();
            there.find(|other| other.part == finding.part && other.path == path)
        };
        let path = finding.path.as_str();
        let in_candidate = finding.candidate_path.as_deref().unwrap_or(path);
        let second = at(self.second, path);
        let legacy = second.map(|pair| &pair.legacy);
        let candidate = second.map(|pair| &pair.candidate);
        let is_gone = |comparison: &'b Comparison, path: &str| {
            absent_with_holder
                && comparison.findings.iter().any(|other| {
                    other.part == finding.part
                        && matches!(other.kind, Kind::Missing | Kind::Type)
                        && is_above(&other.path, path)
                })
        };
        let moved = |comparison, path| {
            let there = at(comparison, path).map(|pair| &pair.candidate);
            there.or_else(|| is_gone(comparison, path).then_some(&Side::Absent))
        };
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
