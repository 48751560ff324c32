//! Compares arrays whose order does not count.
//!
//! Two multisets are equal if their elements can be paired so that each pair is equal. Elements with different hashes
//! cannot be equal, so only those with the same hash are compared. Equality within a tolerance is not transitive (1 is
//! near 2 and 2 near 3, but not 1 near 3), so the first partner that fits may be the wrong one: the pairing is a
//! maximum matching, found by augmenting paths.

use hashbrown::HashMap;

use super::align::{Pairing, match_by_key};
use super::array::INFERRED_KEY;
use super::path::Origin;
use super::walk::{Frame, Walk};
use crate::collect::Flow;

/// Most elements of one hash on one side that are matched. Without tolerance they are equal and matched in one go. With
/// it every pair may have to be compared, and a thousand elements are a million comparisons.
const MAX_CLASS: usize = 1_000;

impl Walk<'_, '_> {
    /// Two arrays under an `unordered` rule.
    pub(super) fn unordered(
        &mut self,
        legacy: u32,
        candidate: u32,
        frame: Frame,
        rule: u16,
    ) -> Flow {
        let one: Vec<u32> = self.legacy.elements(legacy).collect();
        let two: Vec<u32> = self.candidate.elements(candidate).collect();
        let Some(matches) = self.match_equal(&one, &two, frame) else {
            return self.give_up();
        };
        let mut taken = vec![false; two.len()];
        for other in matches.iter().flatten() {
            taken[*other] = true;
        }
        let left = matches.iter().filter(|found| found.is_none()).count();
        let right: Vec<usize> = (0..two.len()).filter(|index| !taken[*index]).collect();
        // One unmatched element on each side: it is the same element, changed.
        let changed = (left == 1 && right.len() == 1).then(|| right[0]);
        let mut pairs = Vec::with_capacity(one.len() + right.len());
        let (mut last, mut moved) = (0, false);
        for (index, found) in matches.iter().enumerate() {
            let Some(other) = found.or(changed) else {
                pairs.push(Pairing::LegacyOnly(index));
                continue;
            };
            moved |= other < last;
            last = other;
            // A probe only asks for equality. Walking equal elements again at every level would double the work with
            // each level.
            if self.probes == 0 || found.is_none() {
                pairs.push(Pairing::Both(index, other));
            }
        }
        if changed.is_none() {
            pairs.extend(right.into_iter().map(Pairing::CandidateOnly));
        }
        if moved {
            self.excused(rule);
        }
        self.report_pairs(&pairs, &one, &two, frame, false)
    }

    /// For each element of `one` the position in `two` of an equal one, each used once, as many as possible; `None` if
    /// that costs more than the work budget.
    pub(super) fn match_equal(
        &mut self,
        one: &[u32],
        two: &[u32],
        frame: Frame,
    ) -> Option<Vec<Option<usize>>> {
        let child = self.enter_index(frame, None);
        let found = match self.match_directly(one, two, child) {
            None => self.match_classes(one, two, child),
            found => found,
        };
        self.leave(child);
        found
    }

    /// Pairs all elements without comparing each with each: those with the same hash first, ignoring rules that make
    /// different values equal, then by `id`. (With tolerances or accepted differences, all elements may be in one class
    /// of the full matching.) `None` if any is left over: then only the full matching can tell whether it has a
    /// partner.
    fn match_directly(
        &mut self,
        one: &[u32],
        two: &[u32],
        child: Frame,
    ) -> Option<Vec<Option<usize>>> {
        if child.is_empty() || one.len() != two.len() {
            return None;
        }
        let mut places: HashMap<u64, Vec<usize>, foldhash::fast::FixedState> = HashMap::default();
        for (position, element) in two.iter().enumerate().rev() {
            let hash = self.exact_hash(Origin::Candidate, *element, child)?;
            places.entry(hash).or_default().push(position);
        }
        let mut found = vec![None; one.len()];
        let mut taken = vec![false; two.len()];
        for (position, element) in one.iter().enumerate() {
            let hash = self.exact_hash(Origin::Legacy, *element, child)?;
            if let Some(other) = places.get_mut(&hash).and_then(Vec::pop) {
                if !self.equal(*element, two[other], child) {
                    return None;
                }
                found[position] = Some(other);
                taken[other] = true;
            }
        }
        let left: Vec<usize> = (0..one.len()).filter(|at| found[*at].is_none()).collect();
        let right: Vec<usize> = (0..two.len()).filter(|at| !taken[*at]).collect();
        if left.is_empty() {
            return Some(found);
        }
        let elements =
            |of: &[u32], at: &[usize]| -> Vec<u32> { at.iter().map(|at| of[*at]).collect() };
        let (first, second) = (elements(one, &left), elements(two, &right));
        let partners = match_by_key(
            self.legacy,
            &first,
            self.candidate,
            &second,
            [&[[Some(INFERRED_KEY), None]]; 2],
        )?;
        for (index, partner) in partners.into_iter().enumerate() {
            let partner = partner?;
            if !self.equal(first[index], second[partner], child) {
                return None;
            }
            found[left[index]] = Some(right[partner]);
        }
        Some(found)
    }

    fn exact_hash(&mut self, side: Origin, at: u32, child: Frame) -> Option<u64> {
        if !self.spend(self.tree(side).cost(at)) {
            return None;
        }
        self.exact = true;
        let hash = self.canonical_hash(side, at, child);
        self.exact = false;
        Some(hash)
    }

    fn match_classes(
        &mut self,
        one: &[u32],
        two: &[u32],
        child: Frame,
    ) -> Option<Vec<Option<usize>>> {
        let mut classes: HashMap<u64, [Vec<usize>; 2], foldhash::fast::FixedState> =
            HashMap::default();
        let mut order = Vec::new();
        for (side, elements) in [(Origin::Legacy, one), (Origin::Candidate, two)] {
            for (position, element) in elements.iter().enumerate() {
                let tree = self.tree(side);
                if !self.spend(tree.cost(*element)) {
                    return None;
                }
                let hash = self.canonical_hash(side, *element, child);
                let class = classes.entry(hash).or_insert_with(|| {
                    order.push(hash);
                    Default::default()
                });
                class[side as usize].push(position);
            }
        }
        let mut found = vec![None; one.len()];
        for hash in order {
            let [left, right] = classes.remove(&hash).unwrap_or_default();
            if left.is_empty() || right.is_empty() {
                continue;
            }
            self.match_class(&left, &right, one, two, child, &mut found)?;
        }
        Some(found)
    }

    /// A maximum matching between the elements of one class.
    fn match_class(
        &mut self,
        left: &[usize],
        right: &[usize],
        one: &[u32],
        two: &[u32],
        child: Frame,
        found: &mut [Option<usize>],
    ) -> Option<()> {
        // In their order first, which is enough for a class of elements that are really equal.
        let mut in_order = 0;
        for (first, second) in left.iter().zip(right) {
            if !self.equal(one[*first], two[*second], child) {
                break;
            }
            in_order += 1;
        }
        if self.is_spent() {
            return None;
        }
        if in_order == left.len().max(right.len()) {
            for (first, second) in left.iter().zip(right) {
                found[*first] = Some(*second);
            }
            return Some(());
        }
        if left.len().max(right.len()) > MAX_CLASS {
            self.cannot_decide();
            return None;
        }
        let mut edges = Vec::with_capacity(left.len());
        for (index, first) in left.iter().enumerate() {
            let mut row = Vec::new();
            for (position, second) in right.iter().enumerate() {
                // A known result is not computed again: comparing containers compares everything in them.
                let near = if index == position && index <= in_order {
                    index < in_order
                } else {
                    self.equal(one[*first], two[*second], child)
                };
                if near {
                    row.push(position);
                } else if self.is_spent() {
                    return None;
                }
            }
            edges.push(row);
        }
        let mut owner: Vec<Option<usize>> = vec![None; right.len()];
        for start in 0..left.len() {
            let mut visited = vec![false; right.len()];
            let steps = augment(&edges, start, &mut visited, &mut owner);
            if !self.spend((right.len() + steps) as u64) {
                return None;
            }
        }
        for (position, first) in owner.iter().enumerate() {
            if let Some(first) = first {
                found[left[*first]] = Some(right[position]);
            }
        }
        Some(())
    }
}

/// Finds a partner for `start`, moving others to new partners if necessary. Breadth first, so without recursion.
/// Returns the number of edges visited: in the worst case all of them, for each start.
fn augment(
    edges: &[Vec<usize>],
    start: usize,
    visited: &mut [bool],
    owner: &mut [Option<usize>],
) -> usize {
    let mut steps = 0;
    // For each reached position on the right, the element on the left that it was reached from.
    let mut reached_from = vec![0; owner.len()];
    // For each element on the left, the position it would give up; `None` for the start.
    let mut queue = std::collections::VecDeque::from([(start, None::<usize>)]);
    let mut given_up = vec![None; edges.len()];
    while let Some((first, held)) = queue.pop_front() {
        given_up[first] = held;
        steps += edges[first].len();
        for position in &edges[first] {
            if std::mem::replace(&mut visited[*position], true) {
                continue;
            }
            reached_from[*position] = first;
            if let Some(next) = owner[*position] {
                queue.push_back((next, Some(*position)));
                continue;
            }
            // A free position: shift all partners along the path that led here.
            let mut free = *position;
            loop {
                let mover = reached_from[free];
                owner[free] = Some(mover);
                match given_up[mover] {
                    Some(old) => free = old,
                    None => return steps,
                }
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn augmenting_paths_move_those_who_came_first() {
        // 0 fits 0 and 1, 1 fits 0 only, 2 fits 1 and 2.
        let edges = [vec![0, 1], vec![0], vec![1, 2]];
        let mut owner = vec![None; 3];
        for start in 0..3 {
            augment(&edges, start, &mut [false; 3], &mut owner);
        }
        assert_eq!(owner, [Some(1), Some(0), Some(2)]);
    }
}
