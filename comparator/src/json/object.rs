//! Two objects, matched by key.
//!
//! The keys are guessed to come in the same order, which costs one comparison each. From the first miss on they are
//! looked up: few by a scan from the last hit, many through sorted indices. A key that occurs more than once has no
//! value that all parsers agree on, so it is a finding of its own unless both sides repeat it alike.

use parity_schemas::verdict::{Explanation, Kind};

use super::index::Tree;
use super::path::{Side, Step};
use super::string;
use super::walk::{Frame, Walk};
use crate::collect::Flow;
use crate::explain;

/// Up to this many keys a scan beats sorting, and one word of bits says which were met.
const SCANNED_KEYS: usize = 64;

impl Walk<'_, '_> {
    pub(super) fn objects(&mut self, legacy: u32, candidate: u32, frame: Frame) -> Flow {
        let (legacy_end, candidate_end) =
            (self.legacy.next(legacy), self.candidate.next(candidate));
        // Where a key stands matters when it is repeated, and then only to those who want details, or may leave it out.
        let careful = self.detailed() || self.scope.absences;
        if careful
            && (repeats_key(self.legacy, legacy + 1, legacy_end)
                || repeats_key(self.candidate, candidate + 1, candidate_end))
        {
            return self.sorted_members(legacy + 1, candidate + 1, legacy, candidate, frame);
        }
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

    /// Members behind the ones that came in the same order on both sides, matched by a scan.
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
        let keys = &keys[..count];
        let by_name = self.detailed() || self.scope.renames;
        if repeats_key(self.legacy, legacy_from, legacy_end)
            || (by_name && self.lone_on_both(legacy_from, legacy_end, keys))
        {
            return self.sorted_members(legacy_from, candidate_from, legacy, candidate, frame);
        }
        let mut met: u64 = 0;
        let mut hint = 0;
        let mut key = legacy_from;
        while key < legacy_end {
            if let Some(position) = self.find_key(key, keys, hint) {
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

    /// Where among `keys` of the candidate one of the legacy's is, looked for from `hint` on.
    #[inline]
    fn find_key(&mut self, key: u32, keys: &[u32], hint: usize) -> Option<usize> {
        let hash = self.legacy.key_hash(key);
        let (behind, before) = (hint..keys.len(), 0..hint);
        behind.chain(before).find(|position| {
            let other = keys[*position];
            self.candidate.key_hash(other) == hash && self.same_key(key, other)
        })
    }

    /// Whether each side has keys that the other lacks, so that one may be the other under a new name.
    fn lone_on_both(&mut self, from: u32, end: u32, keys: &[u32]) -> bool {
        let (mut found, mut lone, mut hint) = (0, false, 0);
        let mut key = from;
        while key < end {
            if let Some(position) = self.find_key(key, keys, hint) {
                found += 1;
                hint = (position + 1) % keys.len();
            } else {
                lone = true;
            }
            key = self.legacy.next(key + 1);
        }
        lone && found < keys.len()
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
        let kind = match side {
            Side::Legacy => Kind::Missing,
            Side::Candidate => Kind::Extra,
        };
        let accepted = if child.is_empty() {
            None
        } else {
            self.accepts(
                child,
                kind,
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
}

/// Whether a key occurs twice in a span of members; also true when there are too many to tell by bits.
fn repeats_key(tree: Tree<'_>, from: u32, end: u32) -> bool {
    // A bit for each of 1,024 hash values: few keys share one, and only then is the span searched.
    let mut seen = [0_u64; 16];
    let mut count = 0;
    let mut key = from;
    while key < end {
        let hash = tree.key_hash(key);
        let (word, bit) = ((hash >> 6 & 15) as usize, 1_u64 << (hash & 63));
        if seen[word] & bit != 0 {
            let mut earlier = from;
            while earlier < key {
                if tree.key_hash(earlier) == hash {
                    return true;
                }
                earlier = tree.next(earlier + 1);
            }
        }
        seen[word] |= bit;
        count += 1;
        if count > SCANNED_KEYS {
            return true;
        }
        key = tree.next(key + 1);
    }
    false
}

mod sorted;

pub(super) use sorted::KeyGroup;

#[cfg(test)]
pub(super) mod colliding;
