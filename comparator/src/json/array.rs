//! Compares two arrays.
//!
//! Arrays are ordered: the verdict compares them by position. Only if they are known to differ are their elements
//! aligned, so that one insertion is one finding and one reordering is one `order` finding. Alignment tries in turn:
//! the equal elements at both ends, an `id` that is unique on both sides, a reordering of equal elements, the shortest
//! edit script. Alignment is bounded; beyond its bounds elements are compared by position, which is correct and only
//! less readable.

use parity_schemas::verdict::{Kind, Why};
use smallvec::SmallVec;

use super::align::{Field, Middle, Pairing, match_by_key};
use super::hash::fixed_hash;
use super::path::{Origin, Step};
use super::script;
use super::walk::{Frame, MatchedRules, Walk};
use crate::collect::{Flow, value};
use crate::notation::index::Tree;
use crate::rules::Action;

/// Most steps to find a shortest edit script: enough for over a thousand edits, which nobody reads, and some
/// milliseconds.
const SCRIPT_STEPS: u64 = 1_000_000;
/// The field that identifies an element if its values are unique on both sides.
pub(super) const INFERRED_KEY: &str = "id";

impl Walk<'_, '_> {
    pub(super) fn arrays(
        &mut self,
        legacy: u32,
        candidate: u32,
        frame: Frame,
        matched: &MatchedRules,
    ) -> Flow {
        // The rule that comes first in the configuration applies; `key` falls back to order if the field is not unique.
        let unordered = matched
            .unordered
            .filter(|rule| matched.key.is_none_or(|key| *rule < key));
        if let Some(rule) = unordered {
            return self.unordered(legacy, candidate, frame, rule);
        }
        if let Some(rule) = matched.key {
            if let Some(flow) = self.keyed(legacy, candidate, frame, rule) {
                return flow;
            }
            if self.detailed() {
                let id = self.out.rules.get(rule).id.to_string();
                self.tolerated(Why::KeyNotUnique(id));
            }
        }
        if self.detailed() {
            let prefix = self.equal_prefix(legacy, candidate, frame);
            // Once the budget is spent, equality is no longer known, and only comparison by position is still correct.
            if let Some(prefix) = prefix
                && self.can_read()
            {
                return self.aligned(legacy, candidate, prefix, frame);
            }
        }
        self.by_position(legacy, candidate, frame)
    }

    /// The number of equal elements at the start of two arrays; `None` if all elements are equal.
    fn equal_prefix(&mut self, legacy: u32, candidate: u32, frame: Frame) -> Option<usize> {
        let (legacy_end, candidate_end) =
            (self.legacy.next(legacy), self.candidate.next(candidate));
        let (mut one, mut two, mut prefix) = (legacy + 1, candidate + 1, 0);
        self.reading = true;
        while one < legacy_end
            && two < candidate_end
            && self.equal_elements(one, two, prefix, frame)
        {
            (one, two) = (self.legacy.next(one), self.candidate.next(two));
            prefix += 1;
        }
        self.reading = false;
        (one < legacy_end || two < candidate_end).then_some(prefix)
    }

    fn by_position(&mut self, legacy: u32, candidate: u32, frame: Frame) -> Flow {
        let (legacy_end, candidate_end) =
            (self.legacy.next(legacy), self.candidate.next(candidate));
        let (mut one, mut two, mut index) = (legacy + 1, candidate + 1, 0);
        while one < legacy_end && two < candidate_end {
            self.element(one, two, [index, index], frame, true)?;
            one = self.legacy.next(one);
            two = self.candidate.next(two);
            index += 1;
        }
        while one < legacy_end {
            self.absent_element(Origin::Legacy, one, index, frame, true)?;
            one = self.legacy.next(one);
            index += 1;
        }
        while two < candidate_end {
            self.absent_element(Origin::Candidate, two, index, frame, true)?;
            two = self.candidate.next(two);
            index += 1;
        }
        Flow::Continue(())
    }

    /// Compares two paired elements. Where order counts, rules may name the (legacy's) index.
    fn element(
        &mut self,
        legacy: u32,
        candidate: u32,
        at: [u32; 2],
        frame: Frame,
        ordered: bool,
    ) -> Flow {
        if self.same_text(legacy, candidate) {
            return Flow::Continue(());
        }
        let child = self.enter_index(frame, ordered.then_some(at[0]));
        self.steps.push(Step::Index {
            legacy: Some(at[0]),
            candidate: Some(at[1]),
        });
        let flow = self.values(legacy, candidate, child);
        self.steps.pop();
        self.leave(child);
        flow
    }

    fn absent_element(
        &mut self,
        side: Origin,
        at: u32,
        index: u32,
        frame: Frame,
        ordered: bool,
    ) -> Flow {
        let child = self.enter_index(frame, ordered.then_some(index));
        let present = |wanted: Origin| (side == wanted).then_some(index);
        self.steps.push(Step::Index {
            legacy: present(Origin::Legacy),
            candidate: present(Origin::Candidate),
        });
        let flow = self.absent(side, at, child, None);
        self.steps.pop();
        self.leave(child);
        flow
    }

    /// Whether two elements are equal where order counts.
    fn equal_elements(&mut self, legacy: u32, candidate: u32, index: usize, frame: Frame) -> bool {
        let child = self.enter_index(frame, Some(index as u32));
        let equal = self.equal(legacy, candidate, child);
        self.leave(child);
        equal
    }

    /// Reports the elements of two arrays as they were paired.
    pub(super) fn report_pairs(
        &mut self,
        pairs: &[Pairing],
        legacy: &[u32],
        candidate: &[u32],
        frame: Frame,
        ordered: bool,
    ) -> Flow {
        for pair in pairs {
            match *pair {
                // Equal elements are walked again only to list what is tolerated in them, and to count hits of rules.
                Pairing::Equal(..) if frame.is_empty() && self.out.is_full() => {}
                Pairing::Equal(one, two) | Pairing::Both(one, two) => {
                    self.element(
                        legacy[one],
                        candidate[two],
                        [one as u32, two as u32],
                        frame,
                        ordered,
                    )?;
                }
                Pairing::LegacyOnly(one) => {
                    self.absent_element(Origin::Legacy, legacy[one], one as u32, frame, ordered)?;
                }
                Pairing::CandidateOnly(two) => {
                    self.absent_element(
                        Origin::Candidate,
                        candidate[two],
                        two as u32,
                        frame,
                        ordered,
                    )?;
                }
            }
        }
        Flow::Continue(())
    }

    /// Reports two ordered arrays that differ, aligned for a reader.
    fn aligned(&mut self, legacy: u32, candidate: u32, prefix: usize, frame: Frame) -> Flow {
        let one: Vec<u32> = self.legacy.elements(legacy).collect();
        let two: Vec<u32> = self.candidate.elements(candidate).collect();
        self.reading = true;
        let middle = self.middle(&one, &two, prefix, frame);
        self.reading = false;
        if middle.reordered {
            self.order_finding(legacy, candidate)?;
        }
        let suffix = one.len() - middle.one.end;
        let ends = |from: [usize; 2], length| {
            (0..length).map(move |step| Pairing::Equal(from[0] + step, from[1] + step))
        };
        let mut pairs: Vec<Pairing> = ends([0, 0], prefix).collect();
        pairs.extend_from_slice(&middle.pairs);
        pairs.extend(ends([middle.one.end, middle.two.end], suffix));
        self.report_pairs(&pairs, &one, &two, frame, true)
    }

    /// How the elements between the equal ends of two arrays are paired.
    fn middle(&mut self, one: &[u32], two: &[u32], prefix: usize, frame: Frame) -> Middle {
        let shorter = one.len().min(two.len());
        let mut suffix = 0;
        while suffix < shorter - prefix
            && self.equal_elements(
                one[one.len() - 1 - suffix],
                two[two.len() - 1 - suffix],
                one.len() - 1 - suffix,
                frame,
            )
        {
            suffix += 1;
        }
        let mut middle = Middle {
            one: prefix..one.len() - suffix,
            two: prefix..two.len() - suffix,
            pairs: Vec::new(),
            reordered: false,
        };
        if self.is_spent()
            || middle.one.is_empty()
            || middle.two.is_empty()
            || (middle.one.len() == 1 && middle.two.len() == 1)
        {
            middle.by_position();
        } else if !self.by_inferred_key(&mut middle, one, two, frame)
            && !self.reordered(&mut middle, one, two, frame)
        {
            self.by_script(&mut middle, one, two, frame);
        }
        middle
    }

    fn order_finding(&mut self, legacy: u32, candidate: u32) -> Flow {
        let (one, two) = (self.legacy, self.candidate);
        self.report(Kind::Order, |limit| {
            (
                value(one.raw(legacy), limit),
                value(two.raw(candidate), limit),
                None,
            )
        })
    }

    /// Aligns by `id`, if every element has one and it is unique on both sides, and some are on both.
    fn by_inferred_key(
        &mut self,
        middle: &mut Middle,
        one: &[u32],
        two: &[u32],
        frame: Frame,
    ) -> bool {
        let Some(matches) = match_by_key(
            self.legacy,
            one,
            self.candidate,
            two,
            [&[[Some(INFERRED_KEY), None]]; 2],
        ) else {
            return false;
        };
        let partner = |index: usize| matches[index].filter(|other| middle.two.contains(other));
        let matched: Vec<(usize, usize)> = middle
            .one
            .clone()
            .filter_map(|index| Some((index, partner(index)?)))
            .collect();
        if matched.is_empty() {
            return false;
        }
        middle.reordered = matched.windows(2).any(|pair| pair[0].1 > pair[1].1);
        let mut taken = vec![false; two.len()];
        for (_, other) in &matched {
            taken[*other] = true;
        }
        // An element without a partner is the one at the same position, renumbered, if only the `id` differs.
        let mut renumbered = vec![false; one.len()];
        for index in middle.one.clone() {
            if partner(index).is_none()
                && middle.two.contains(&index)
                && !taken[index]
                && self.only_key_differs(one[index], two[index], frame)
            {
                renumbered[index] = true;
                taken[index] = true;
            }
        }
        for index in middle.one.clone() {
            let other = partner(index).or(renumbered[index].then_some(index));
            middle
                .pairs
                .push(other.map_or(Pairing::LegacyOnly(index), |other| {
                    Pairing::Both(index, other)
                }));
        }
        let extra = middle.two.clone().filter(|index| !taken[*index]);
        middle.pairs.extend(extra.map(Pairing::CandidateOnly));
        true
    }

    /// Whether two objects are equal except for the value of `id`.
    fn only_key_differs(&mut self, legacy: u32, candidate: u32, frame: Frame) -> bool {
        let nodes = |tree: Tree<'_>, at: u32| u64::from(tree.next(at) - at);
        if !self.spend(nodes(self.legacy, legacy) + nodes(self.candidate, candidate)) {
            return false;
        }
        let child = self.enter_index(frame, None);
        let one = self.members_hash(Origin::Legacy, legacy, child, Some(INFERRED_KEY));
        let two = self.members_hash(Origin::Candidate, candidate, child, Some(INFERRED_KEY));
        self.leave(child);
        one == two
    }

    /// Recognizes the same elements in another order.
    fn reordered(&mut self, middle: &mut Middle, one: &[u32], two: &[u32], frame: Frame) -> bool {
        if middle.one.len() != middle.two.len() {
            return false;
        }
        let matches = self.match_equal(&one[middle.one.clone()], &two[middle.two.clone()], frame);
        let Some(matches) = matches.filter(|matches| matches.iter().all(Option::is_some)) else {
            return false;
        };
        let (from, other) = (middle.one.start, middle.two.start);
        middle.reordered = true;
        middle.pairs = matches
            .iter()
            .enumerate()
            .filter_map(|(index, found)| Some(Pairing::Equal(from + index, other + (*found)?)))
            .collect();
        true
    }

    /// Aligns by the shortest edit script over classes of equal elements, unless position explains it as well.
    fn by_script(&mut self, middle: &mut Middle, one: &[u32], two: &[u32], frame: Frame) {
        let nodes = |tree: Tree<'_>, elements: &[u32]| -> u64 {
            let nodes = elements.iter().map(|at| u64::from(tree.next(*at) - at));
            nodes.sum()
        };
        let cost = nodes(self.legacy, &one[middle.one.clone()])
            + nodes(self.candidate, &two[middle.two.clone()]);
        if !self.spend(cost) {
            middle.by_position();
            return;
        }
        let child = self.enter_index(frame, None);
        let mut hashes = |side: Origin, elements: &[u32]| -> Vec<u64> {
            let tree = self.tree(side);
            let hash = |at: &u32| {
                fixed_hash((self.canonical_hash(side, *at, child), tree.kind(*at) as u8))
            };
            elements.iter().map(hash).collect()
        };
        let first = hashes(Origin::Legacy, &one[middle.one.clone()]);
        let second = hashes(Origin::Candidate, &two[middle.two.clone()]);
        self.leave(child);
        let runs = script::common(&first, &second, SCRIPT_STEPS);
        if first.len() == second.len() {
            let common: usize = runs.iter().map(|run| run.length).sum();
            let in_place = first.iter().zip(&second).filter(|(one, two)| one == two);
            if in_place.count() >= common {
                middle.by_position();
                return;
            }
        }
        middle.by_runs(&runs);
    }

    /// Compares two arrays under a `key` rule; `None` if the field does not identify the elements of both.
    fn keyed(&mut self, legacy: u32, candidate: u32, frame: Frame, rule: u16) -> Option<Flow> {
        let Action::Key(fields) = &self.out.rules.get(rule).action else {
            return None;
        };
        let one: Vec<u32> = self.legacy.elements(legacy).collect();
        let two: Vec<u32> = self.candidate.elements(candidate).collect();
        let fields: SmallVec<[&str; 4]> = fields.iter().collect();
        let child = self.enter_index(frame, None);
        let renames = self.renames(child);
        self.leave(child);
        let rules = self.out.rules;
        let renamed = |field: &str| {
            renames
                .iter()
                .find_map(|rule| match &rules.get(*rule).action {
                    Action::Rename(rename) if *rename.from == *field => Some(&*rename.to),
                    _ => None,
                })
        };
        let theirs: SmallVec<[Field<'_>; 4]> = fields
            .iter()
            .map(|field| [Some(*field), renamed(field)])
            .collect();
        let fields: SmallVec<[Field<'_>; 4]> =
            fields.iter().map(|field| [Some(*field), None]).collect();
        let [fields, theirs] = [&*fields, &*theirs];
        let matches = match_by_key(self.legacy, &one, self.candidate, &two, [fields, theirs])?;
        let mut last = None;
        let mut moved = false;
        let mut taken = vec![false; two.len()];
        let mut pairs = Vec::with_capacity(one.len());
        for (index, found) in matches.iter().enumerate() {
            if let Some(other) = *found {
                moved |= last.is_some_and(|last| other < last);
                last = Some(other);
                taken[other] = true;
                pairs.push(Pairing::Both(index, other));
            } else {
                pairs.push(Pairing::LegacyOnly(index));
            }
        }
        let extra = (0..two.len()).filter(|index| !taken[*index]);
        pairs.extend(extra.map(Pairing::CandidateOnly));
        if moved {
            self.excused(rule);
        }
        Some(self.report_pairs(&pairs, &one, &two, frame, false))
    }
}
