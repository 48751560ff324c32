//! Two objects, matched by key.
//!
//! The keys are guessed to come in the same order, which costs one comparison each. From the first miss on they are
//! looked up: few by a scan from the last hit, many through sorted indices. A key that occurs more than once has no
//! value that all parsers agree on, so it is a finding of its own unless both sides repeat it alike.

use parity_schemas::verdict::{Explanation, Kind};
use smallvec::SmallVec;

use super::index::Tree;
use super::path::{Side, Step};
use super::rename::Renamed;
use super::string;
use super::walk::{Frame, Walk};
use crate::collect::{Flow, shown};
use crate::explain;

/// Up to this many keys a scan beats sorting, and one word of bits says which were met.
const SCANNED_KEYS: usize = 64;

impl Walk<'_, '_> {
    pub(super) fn objects(&mut self, legacy: u32, candidate: u32, frame: Frame) -> Flow {
        if self.detailed() {
            return self.sorted_members(legacy + 1, candidate + 1, legacy, candidate, frame);
        }
        let (legacy_end, candidate_end) =
            (self.legacy.next(legacy), self.candidate.next(candidate));
        let (mut one, mut two) = (legacy + 1, candidate + 1);
        while one < legacy_end && two < candidate_end && self.same_key(one, two) {
            self.member(one, two, frame)?;
            one = self.legacy.next(one + 1);
            two = self.candidate.next(two + 1);
        }
        self.remaining_members(
            one,
            legacy_end,
            two,
            candidate_end,
            legacy,
            candidate,
            frame,
        )
    }

    /// Members behind the ones that came in the same order on both sides, when only the verdict is wanted.
    #[expect(
        clippy::too_many_arguments,
        reason = "two spans and their objects; a struct would only rename them"
    )]
    fn remaining_members(
        &mut self,
        legacy_from: u32,
        legacy_end: u32,
        candidate_from: u32,
        candidate_end: u32,
        legacy: u32,
        candidate: u32,
        frame: Frame,
    ) -> Flow {
        if self.scope.renames && (legacy_from < legacy_end || candidate_from < candidate_end) {
            return self.sorted_members(legacy_from, candidate_from, legacy, candidate, frame);
        }
        let mut keys = [0_u32; SCANNED_KEYS];
        let mut count = 0;
        let mut at = candidate_from;
        while at < candidate_end {
            if count == SCANNED_KEYS {
                return self.sorted_members(legacy_from, candidate_from, legacy, candidate, frame);
            }
            keys[count] = at;
            count += 1;
            at = self.candidate.next(at + 1);
        }
        if self.repeats_key(legacy_from, legacy_end) {
            return self.sorted_members(legacy_from, candidate_from, legacy, candidate, frame);
        }
        let keys = &keys[..count];
        let mut met: u64 = 0;
        let mut hint = 0;
        let mut key = legacy_from;
        while key < legacy_end {
            let hash = self.legacy.key_hash(key);
            let mut found = None;
            for step in 0..count {
                let position = if hint + step < count {
                    hint + step
                } else {
                    hint + step - count
                };
                let other = keys[position];
                if self.candidate.key_hash(other) == hash && self.same_key(key, other) {
                    found = Some(position);
                    break;
                }
            }
            if let Some(position) = found {
                met |= 1 << position;
                hint = if position + 1 < count {
                    position + 1
                } else {
                    0
                };
                self.member(key, keys[position], frame)?;
            } else {
                self.absent_member(Side::Legacy, key, frame, None)?;
            }
            key = self.legacy.next(key + 1);
        }
        for (position, key) in keys.iter().enumerate() {
            if met & (1 << position) == 0 {
                self.absent_member(Side::Candidate, *key, frame, None)?;
            }
        }
        Flow::Continue(())
    }

    #[inline]
    fn same_key(&mut self, key: u32, other: u32) -> bool {
        let (one, two) = (self.legacy, self.candidate);
        if string::same_bytes(one.content(key), two.content(other)) {
            return true;
        }
        // Only escapes could still make them the same.
        (one.special(key) || two.special(other)) && self.same_unescaped(key, other)
    }

    /// Whether a key occurs twice in a span of legacy members; also true when there are too many to tell by bits.
    fn repeats_key(&self, from: u32, end: u32) -> bool {
        // A bit for each of 1,024 hash values: few keys share one, and only then is the span searched.
        let mut seen = [0_u64; 16];
        let mut count = 0;
        let mut key = from;
        while key < end {
            let hash = self.legacy.key_hash(key);
            let (word, bit) = ((hash >> 6 & 15) as usize, 1_u64 << (hash & 63));
            if seen[word] & bit != 0 {
                let mut earlier = from;
                while earlier < key {
                    if self.legacy.key_hash(earlier) == hash {
                        return true;
                    }
                    earlier = self.legacy.next(earlier + 1);
                }
            }
            seen[word] |= bit;
            count += 1;
            if count > SCANNED_KEYS {
                return true;
            }
            key = self.legacy.next(key + 1);
        }
        false
    }

    /// Two members with the same key.
    pub(super) fn member(&mut self, legacy_key: u32, candidate_key: u32, frame: Frame) -> Flow {
        if self.same_text(legacy_key + 1, candidate_key + 1) {
            return Flow::Continue(());
        }
        let (child, any) = self.enter_key(frame, Side::Legacy, legacy_key);
        self.steps.push(Step::Key {
            side: Side::Legacy,
            key: legacy_key,
            any,
        });
        let flow = self.values(legacy_key + 1, candidate_key + 1, child);
        self.steps.pop();
        self.leave(child);
        flow
    }

    fn absent_member(
        &mut self,
        side: Side,
        key: u32,
        frame: Frame,
        near: Option<Explanation>,
    ) -> Flow {
        let (child, any) = self.enter_key(frame, side, key);
        self.steps.push(Step::Key { side, key, any });
        // A member may be accepted as absent; an element may not, for without it the others stand elsewhere.
        let accepted = if child.is_empty() {
            None
        } else {
            self.accepts(
                child,
                near.or_else(|| explain::absent(self.tree(side), key + 1)),
            )
        };
        let flow = match accepted.filter(|_| self.met(child).ignore.is_none()) {
            Some(rule) => {
                self.excused(rule);
                Flow::Continue(())
            }
            None => self.absent(side, key + 1, child, near),
        };
        self.steps.pop();
        self.leave(child);
        flow
    }

    /// The members from two keys on, in the order of the legacy's, through indices sorted by key.
    fn sorted_members(
        &mut self,
        legacy_from: u32,
        candidate_from: u32,
        legacy: u32,
        candidate: u32,
        frame: Frame,
    ) -> Flow {
        let base = self.indices.len();
        push_keys(
            self.legacy,
            legacy_from,
            self.legacy.next(legacy),
            self.indices,
        );
        let middle = self.indices.len();
        push_keys(
            self.candidate,
            candidate_from,
            self.candidate.next(candidate),
            self.indices,
        );
        let end = self.indices.len();
        sort_keys(self.legacy, &mut self.indices[base..middle]);
        sort_keys(self.candidate, &mut self.indices[middle..end]);
        let flow = self.sorted_pairs(
            legacy_from,
            candidate_from,
            [base, middle, end],
            legacy,
            candidate,
            frame,
        );
        self.indices.truncate(base);
        flow
    }

    fn sorted_pairs(
        &mut self,
        legacy_from: u32,
        candidate_from: u32,
        [base, middle, end]: [usize; 3],
        legacy: u32,
        candidate: u32,
        frame: Frame,
    ) -> Flow {
        let renamed = if self.detailed() || self.scope.renames {
            // Only where a rule accepts it does a renaming decide anything.
            let reading = self.reading;
            self.reading |= !self.scope.renames;
            let renamed = self.renamed([base, middle, end], frame);
            self.reading = reading;
            if self.scope.renames && self.is_spent() {
                return self.give_up();
            }
            renamed
        } else {
            Renamed::default()
        };
        let legacy_end = self.legacy.next(legacy);
        let mut key = legacy_from;
        while key < legacy_end {
            let next = self.legacy.next(key + 1);
            let own = self.group(Side::Legacy, key, [base, middle], Side::Legacy);
            if self.indices[own.0] == key {
                let other = self.group(Side::Legacy, key, [middle, end], Side::Candidate);
                match (own.1 - own.0, other.1 - other.0) {
                    (_, 0) => {
                        let near = renamed
                            .legacy
                            .contains(&key)
                            .then_some(Explanation::Renamed);
                        self.absent_member(Side::Legacy, key, frame, near)?;
                    }
                    (1, 1) => {
                        let other = self.indices[other.0];
                        self.member(key, other, frame)?;
                    }
                    _ => self.repeated(own, other, frame)?,
                }
            }
            key = next;
        }
        let candidate_end = self.candidate.next(candidate);
        let mut key = candidate_from;
        while key < candidate_end {
            let next = self.candidate.next(key + 1);
            let own = self.group(Side::Candidate, key, [middle, end], Side::Candidate);
            if self.indices[own.0] == key {
                let other = self.group(Side::Candidate, key, [base, middle], Side::Legacy);
                if other.0 == other.1 {
                    let near = renamed
                        .candidate
                        .contains(&key)
                        .then_some(Explanation::Renamed);
                    self.absent_member(Side::Candidate, key, frame, near)?;
                }
            }
            key = next;
        }
        Flow::Continue(())
    }

    /// The range of sorted indices, of keys in `within`, that have the content of `key`.
    pub(super) fn group(
        &self,
        side: Side,
        key: u32,
        [from, to]: [usize; 2],
        within: Side,
    ) -> (usize, usize) {
        let (tree, other) = (self.tree(side), self.tree(within));
        let sorted = &self.indices[from..to];
        let first = sorted.partition_point(|probe| compare_keys(other, *probe, tree, key).is_lt());
        let length =
            sorted[first..].partition_point(|probe| compare_keys(other, *probe, tree, key).is_eq());
        (from + first, from + first + length)
    }

    /// A key that at least one side has more than once: equal only if the values are, one by one.
    fn repeated(&mut self, own: (usize, usize), other: (usize, usize), frame: Frame) -> Flow {
        let legacy: SmallVec<[u32; 8]> = self.indices[own.0..own.1].into();
        let candidate: SmallVec<[u32; 8]> = self.indices[other.0..other.1].into();
        let (child, any) = self.enter_key(frame, Side::Legacy, legacy[0]);
        self.steps.push(Step::Key {
            side: Side::Legacy,
            key: legacy[0],
            any,
        });
        let alike = legacy.len() == candidate.len()
            && legacy
                .iter()
                .zip(&candidate)
                .all(|(one, two)| self.probe(one + 1, two + 1, child));
        let flow = if alike {
            Flow::Continue(())
        } else if self.is_spent() {
            self.give_up()
        } else if let Some(rule) = self.met(child).ignore {
            self.excused(rule);
            Flow::Continue(())
        } else {
            let (one, two) = (self.legacy, self.candidate);
            self.report(Kind::DuplicateKey, |limit| {
                (
                    Some(listed(one, &legacy, limit)),
                    Some(listed(two, &candidate, limit)),
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
fn listed(tree: Tree<'_>, keys: &[u32], limit: usize) -> String {
    let values: Vec<&[u8]> = keys.iter().map(|key| tree.raw(key + 1)).collect();
    shown(&values.join(&b", "[..]), limit)
}

fn compare_keys(one: Tree<'_>, key: u32, two: Tree<'_>, other: u32) -> std::cmp::Ordering {
    #[cfg(test)]
    colliding::count();
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

#[cfg(test)]
pub(super) mod colliding;
