//! Matches members through indices sorted by key: for objects with many keys, repeated keys or renamed keys.

use parity_schemas::verdict::{Explanation, Kind, Side};
use smallvec::SmallVec;

use super::super::keys::KeyGroup;
use super::super::path::{Origin, Step};
use super::super::rename::Renamed;
use super::super::walk::{Frame, Walk};
use crate::collect::{Flow, value};
use crate::notation::index::Tree;

impl Walk<'_, '_> {
    /// Compares the members from two keys on, in the legacy's order; those that only the candidate has come last.
    pub(super) fn sorted_members(
        &mut self,
        legacy_from: u32,
        candidate_from: u32,
        legacy: u32,
        candidate: u32,
        frame: Frame,
    ) -> Flow {
        let (base, first) = (self.indices.len(), self.groups.len());
        let legacy_end = self.legacy.next(legacy);
        push_keys(self.legacy, legacy_from, legacy_end, self.indices);
        let middle = self.indices.len();
        let candidate_end = self.candidate.next(candidate);
        push_keys(self.candidate, candidate_from, candidate_end, self.indices);
        sort_keys(self.legacy, &mut self.indices[base..middle]);
        sort_keys(self.candidate, &mut self.indices[middle..]);
        self.push_groups(base, middle);
        self.join_renamed(first, frame);
        let flow = self.grouped_members(first, frame);
        self.indices.truncate(base);
        self.groups.truncate(first);
        flow
    }

    /// Merges the sorted keys of both sides into groups, in the order in which they are reported.
    fn push_groups(&mut self, base: usize, middle: usize) {
        let (first, end) = (self.groups.len(), self.indices.len());
        let (legacy, candidate) = (self.legacy, self.candidate);
        let until = |indices: &[u32], tree: Tree<'_>, from: usize, end: usize| {
            let same = |at: &usize| compare_keys(tree, indices[from], tree, indices[*at]).is_eq();
            (from + 1..end).find(|at| !same(at)).unwrap_or(end)
        };
        let (mut one, mut two) = (base, middle);
        while one < middle || two < end {
            let order = match (one < middle, two < end) {
                (true, true) => {
                    compare_keys(legacy, self.indices[one], candidate, self.indices[two])
                }
                (true, false) => std::cmp::Ordering::Less,
                _ => std::cmp::Ordering::Greater,
            };
            let key = self.indices[if order.is_le() { one } else { two }];
            let (mut after, mut behind) = (one, two);
            if order.is_le() {
                after = until(self.indices, legacy, one, middle);
            }
            if order.is_ge() {
                behind = until(self.indices, candidate, two, end);
            }
            self.groups.push(KeyGroup {
                legacy: [one as u32, after as u32],
                candidate: [two as u32, behind as u32],
                first: key,
                renamed: None,
            });
            (one, two) = (after, behind);
        }
        self.groups[first..]
            .sort_unstable_by_key(|group| (group.only() == Some(Origin::Candidate), group.first));
    }

    fn grouped_members(&mut self, from: usize, frame: Frame) -> Flow {
        let end = self.groups.len();
        let found = if self.detailed() || self.scope.members.renames {
            // A renaming affects the verdict only if a rule accepts it.
            let reading = self.reading;
            self.reading |= !self.scope.members.renames;
            let found = self.renamed(from, frame);
            self.reading = reading;
            if self.scope.members.renames && self.is_spent() {
                return self.give_up();
            }
            found
        } else {
            Renamed::default()
        };
        for position in from..end {
            let group = self.groups[position];
            match group.only() {
                Some(side)
                    if self.is_key_type(side, group.first)
                        && self.is_alone(side, self.tree(side).next(group.first + 1), from) => {}
                Some(side) => {
                    let near = found
                        .contains(side, group.first)
                        .then_some(Explanation::Renamed);
                    self.absent_member(side, group.first, frame, near)?;
                }
                None if group.legacy[1] - group.legacy[0] == 1
                    && group.candidate[1] - group.candidate[0] == 1 =>
                {
                    let other = self.indices[group.candidate[0] as usize];
                    match group.renamed {
                        Some(rule) => self.renamed_member(group.first, other, rule, frame)?,
                        None => self.member(group.first, other, frame)?,
                    }
                }
                None => self.repeated(group, frame)?,
            }
        }
        Flow::Continue(())
    }

    /// Whether the other side lacks this key of a side, or has it under another name, among the groups from this one on.
    fn is_alone(&self, side: Origin, key: u32, from: usize) -> bool {
        let mut groups = self.groups[from..].iter();
        groups.any(|group| {
            let [begin, end] = match side {
                Origin::Legacy => group.legacy,
                Origin::Candidate => group.candidate,
            };
            let own = self.indices.get(begin as usize..end as usize);
            (group.only().is_some() || group.renamed.is_some())
                && own.is_some_and(|own| own.contains(&key))
        })
    }

    /// A key that at least one side repeats: equal only if the values are, one by one.
    fn repeated(&mut self, group: KeyGroup, frame: Frame) -> Flow {
        let keys = |[from, end]: [u32; 2]| -> SmallVec<[u32; 8]> {
            self.indices[from as usize..end as usize].into()
        };
        let (legacy, candidate) = (keys(group.legacy), keys(group.candidate));
        let (child, any) = self.enter_key(frame, Origin::Legacy, legacy[0]);
        self.steps.push(Step::Key {
            side: Origin::Legacy,
            key: legacy[0],
            renamed: None,
            any,
        });
        let paired = legacy.len() == candidate.len();
        // Without details the first difference decides, whatever it is called. A probe before each walk would double the
        // work with every level of repeated keys.
        let alike = paired
            && (!self.detailed()
                || legacy
                    .iter()
                    .zip(&candidate)
                    .all(|(one, two)| self.probe(one + 1, two + 1, child)));
        let flow = if alike {
            // A probe leaves no trace, so the differences that rules excused still have to be counted.
            legacy.iter().zip(&candidate).try_for_each(|(one, two)| {
                if self.same_text(one + 1, two + 1) {
                    return Flow::Continue(());
                }
                self.values(one + 1, two + 1, child)
            })
        } else if self.is_spent() {
            self.give_up()
        } else if let Some(rule) = self.matched_rules(child).ignore {
            self.excused(rule);
            Flow::Continue(())
        } else {
            let (one, two) = (self.legacy, self.candidate);
            self.report(Kind::DuplicateKey, |limit| {
                (
                    listed(one, &legacy, limit),
                    listed(two, &candidate, limit),
                    None,
                )
            })
        };
        self.steps.pop();
        self.leave(child);
        flow
    }
}

/// The values of a repeated key, as received, in their order.
fn listed(tree: Tree<'_>, keys: &[u32], limit: usize) -> Side {
    let values: Vec<&[u8]> = keys.iter().map(|key| tree.raw(key + 1)).collect();
    value(&values.join(&b", "[..]), limit)
}

fn compare_keys(one: Tree<'_>, key: u32, two: Tree<'_>, other: u32) -> std::cmp::Ordering {
    #[cfg(test)]
    crate::notation::colliding::count();
    one.key_hash(key).cmp(&two.key_hash(other)).then_with(|| {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        one.unescaped(key, &mut first)
            .cmp(two.unescaped(other, &mut second))
    })
}

fn push_keys(tree: Tree<'_>, from: u32, end: u32, out: &mut Vec<u32>) {
    let mut key = from;
    while key < end {
        out.push(key);
        key = tree.next(key + 1);
    }
}

/// By content; the same content in the order of the text.
fn sort_keys(tree: Tree<'_>, keys: &mut [u32]) {
    keys.sort_unstable_by(|one, two| compare_keys(tree, *one, tree, *two).then(one.cmp(two)));
}
