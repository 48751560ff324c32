//! Compares two objects, matched by key.
//!
//! The keys are expected in the same order, which costs one comparison each. From the first mismatch on they are looked
//! up: few by a scan of their hashes, many through sorted indices. Parsers disagree on the value of a repeated key, so
//! it is a finding of its own unless both sides repeat it alike.

use parity_schemas::verdict::{Explanation, Kind};
use wide::u32x8;

use super::path::{Origin, Step};
use super::walk::{Frame, Walk};
use crate::collect::Flow;
use crate::explain;
use crate::notation::index::Tree;
use crate::notation::string;

/// Most keys for which a scan beats sorting; one word of bits then marks those that were found.
const SCANNED_KEYS: usize = 64;

impl Walk<'_, '_> {
    pub(super) fn objects(&mut self, legacy: u32, candidate: u32, frame: Frame) -> Flow {
        let (legacy_end, candidate_end) =
            (self.legacy.next(legacy), self.candidate.next(candidate));
        // The position of a key matters only if the key is repeated, and then only for details or if a rule lets it be
        // absent.
        let careful = self.detailed() || self.scope.members.absences || self.scope.members.renaming;
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

    /// Compares the members after those in the same order on both sides, matched by a scan.
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
        let mut keys = Keys {
            nodes: [0; SCANNED_KEYS],
            hashes: [0; SCANNED_KEYS],
            count: 0,
        };
        if !keys.read(self.candidate, candidate_from, candidate_end) {
            return self.sorted_members(legacy_from, candidate_from, legacy, candidate, frame);
        }
        let by_name = self.detailed() || self.scope.members.renames;
        if repeats_key(self.legacy, legacy_from, legacy_end)
            || ((by_name || self.scope.members.renaming)
                && self.lone_on_both(legacy_from, legacy_end, &keys))
        {
            return self.sorted_members(legacy_from, candidate_from, legacy, candidate, frame);
        }
        let mut met: u64 = 0;
        let mut key = legacy_from;
        while key < legacy_end {
            if let Some(position) = self.find_key(key, &keys) {
                met |= 1 << position;
                self.member(key, keys.nodes[position], frame)?;
            } else if !self.is_key_type(Origin::Legacy, key)
                || self.find_key(self.legacy.next(key + 1), &keys).is_some()
            {
                self.absent_member(Origin::Legacy, key, frame, None)?;
            }
            key = self.legacy.next(key + 1);
        }
        for (position, key) in keys.nodes[..keys.count].iter().enumerate() {
            // Behind the type of a key stands the key.
            let own = 1_u64.checked_shl(position as u32 + 1).unwrap_or(0);
            let is_met = met & (1 << position) != 0;
            if !is_met && (met & own != 0 || !self.is_key_type(Origin::Candidate, *key)) {
                self.absent_member(Origin::Candidate, *key, frame, None)?;
            }
        }
        Flow::Continue(())
    }

    /// The position of a legacy key among the candidate's `keys`.
    #[inline]
    fn find_key(&mut self, key: u32, keys: &Keys) -> Option<usize> {
        let mut alike = keys.with_hash(self.legacy.key_hash(key));
        while alike != 0 {
            let position = alike.trailing_zeros() as usize;
            if self.same_key(key, keys.nodes[position]) {
                return Some(position);
            }
            alike &= alike - 1;
        }
        None
    }

    /// Whether each side has keys that the other lacks, so that one may be the other under a new name.
    fn lone_on_both(&mut self, from: u32, end: u32, keys: &Keys) -> bool {
        let (mut found, mut lone) = (0, false);
        let mut key = from;
        while key < end {
            if self.find_key(key, keys).is_some() {
                found += 1;
            } else {
                lone = true;
            }
            key = self.legacy.next(key + 1);
        }
        lone && found < keys.count
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
        self.pair(legacy_key, candidate_key, None, frame)
    }

    /// Two members that belong together; `renamed` is the candidate's key if it is another one. Rules and findings name the
    /// legacy's.
    pub(super) fn pair(
        &mut self,
        legacy_key: u32,
        candidate_key: u32,
        renamed: Option<u32>,
        frame: Frame,
    ) -> Flow {
        let (child, any) = self.enter_key(frame, Origin::Legacy, legacy_key);
        self.steps.push(Step::Key {
            side: Origin::Legacy,
            key: legacy_key,
            renamed,
            any,
        });
        let flow = self.values(legacy_key + 1, candidate_key + 1, child);
        self.steps.pop();
        self.leave(child);
        flow
    }

    fn absent_member(
        &mut self,
        side: Origin,
        key: u32,
        frame: Frame,
        near: Option<Explanation>,
    ) -> Flow {
        let (child, any) = self.enter_key(frame, side, key);
        self.steps.push(Step::Key {
            side,
            key,
            renamed: None,
            any,
        });
        // A member may be accepted as absent. An element may not, because without it the others have other positions.
        let kind = match side {
            Origin::Legacy => Kind::Missing,
            Origin::Candidate => Kind::Extra,
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
        let flow = match accepted.filter(|_| self.matched_rules(child).ignore.is_none()) {
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

/// The keys of a span of members, with their hashes in one array: a scan compares eight of them at a time, in any
/// order.
struct Keys {
    nodes: [u32; SCANNED_KEYS],
    hashes: [u32; SCANNED_KEYS],
    count: usize,
}

impl Keys {
    /// Adds the keys of a span of members; false if there are too many to scan.
    #[inline]
    fn read(&mut self, tree: Tree<'_>, from: u32, end: u32) -> bool {
        let mut key = from;
        while key < end {
            let Some(node) = self.nodes.get_mut(self.count) else {
                return false;
            };
            *node = key;
            self.hashes[self.count] = tree.key_hash(key);
            self.count += 1;
            key = tree.next(key + 1);
        }
        true
    }

    /// A bit for each key with this hash.
    #[inline]
    fn with_hash(&self, hash: u32) -> u64 {
        let wanted = u32x8::splat(hash);
        let (chunks, _) = self.hashes.as_chunks::<8>();
        let used = self.count.div_ceil(8);
        let alike = chunks[..used].iter().rev().fold(0, |bits, chunk| {
            let alike = u32x8::new(*chunk).simd_eq(wanted).to_bitmask();
            bits << 8 | u64::from(alike)
        });
        // There is no hash after the last key.
        let behind = (SCANNED_KEYS - self.count) as u32;
        alike & u64::MAX.checked_shr(behind).unwrap_or(0)
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

#[cfg(test)]
mod colliding;
