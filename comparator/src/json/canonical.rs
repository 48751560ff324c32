//! Hashes that are equal for all values that count as equal.
//!
//! Equal values have equal hashes, under the rules that apply at their position; the reverse need not hold. A hash
//! cannot follow a tolerance, so a tolerated scalar hashes to a constant, and the walk still compares the values within
//! a class of one hash.

use super::hash::{fixed_hash, hash_bytes, number_text};
use super::path::Origin;
use super::walk::{Frame, Walk};
use crate::notation::index::NodeKind;
use crate::notation::string;
use crate::rules::{Action, Rename};

/// The hash of an ignored or tolerated value.
const WILDCARD: u64 = 0x5bd1_e995_0bad_cafe;

impl Walk<'_, '_> {
    /// Whether a member may exist on one side only.
    fn may_be_absent(&self, frame: Frame) -> bool {
        if frame.is_empty() {
            return false;
        }
        let matched = self.matched_rules(frame);
        if self.exact {
            return matched.ignore.is_some();
        }
        let accepted = |rule: &u16| matches!(self.out.rules.get(*rule).action, Action::Accept(set, _) if set.of_absence());
        matched.ignore.is_some() || matched.scalar.iter().any(accepted)
    }

    /// The hash of a value under the rules of `frame`.
    pub(super) fn canonical_hash(&mut self, side: Origin, at: u32, frame: Frame) -> u64 {
        let tree = self.tree(side);
        let matched = self.matched_rules(frame);
        if matched.ignore.is_some() || (!self.exact && !matched.scalar.is_empty()) {
            return WILDCARD;
        }
        let kind = tree.kind(at);
        match kind {
            NodeKind::Null | NodeKind::True | NodeKind::False => fixed_hash(kind as u8),
            NodeKind::String | NodeKind::Key => {
                let mut scratch = Vec::new();
                hash_bytes(kind, tree.unescaped(at, &mut scratch))
            }
            NodeKind::Number => hash_bytes(kind, &number_text(tree.content(at))),
            NodeKind::Object => self.members_hash(side, at, frame, None),
            NodeKind::Array => {
                let mut state = fixed_hash(kind as u8);
                if matched.key.is_some() {
                    // Elements are compared by the key, or by position if the key is not unique; they then meet other
                    // rules.
                    return state;
                }
                let any_order = matched.unordered.is_some();
                for (index, element) in tree.elements(at).enumerate() {
                    let child = self.enter_index(frame, (!any_order).then_some(index as u32));
                    if self.matched_rules(child).ignore.is_none() {
                        let value = self.canonical_hash(side, element, child);
                        state = if any_order {
                            state.wrapping_add(fixed_hash(value))
                        } else {
                            fixed_hash((state, value))
                        };
                    }
                    self.leave(child);
                }
                state
            }
        }
    }

    /// The hash of a key, the same for both names of a renamed member; `None` if other rules apply under one of them, so that
    /// the hash of the value is not known to be the same.
    fn name_hash(&mut self, side: Origin, key: u32, renames: &[u16], frame: Frame) -> Option<u32> {
        let tree = self.tree(side);
        if renames.is_empty() {
            return Some(tree.key_hash(key));
        }
        let mut scratch = Vec::new();
        let name = tree.unescaped(key, &mut scratch);
        let rules = self.out.rules;
        let renames = || {
            renames
                .iter()
                .filter_map(|rule| match &rules.get(*rule).action {
                    Action::Rename(rename) => Some(rename),
                    _ => None,
                })
        };
        let has = |rename: &Rename, name: &[u8]| {
            [&rename.from, &rename.to]
                .iter()
                .any(|own| own.as_bytes() == name)
        };
        let Some(rename) = renames().find(|rename| has(rename, name)) else {
            return Some(tree.key_hash(key));
        };
        // Of a name of several rules it is not known which of them pairs it.
        let shared = renames()
            .filter(|other| has(other, rename.from.as_bytes()) || has(other, rename.to.as_bytes()));
        if shared.count() > 1 || !self.is_ruled_alike(frame, [&rename.from, &rename.to]) {
            return None;
        }
        Some(string::hash(rename.to.as_bytes()))
    }

    /// The hash of an object, perhaps without one of its members.
    pub(super) fn members_hash(
        &mut self,
        side: Origin,
        at: u32,
        frame: Frame,
        without: Option<&str>,
    ) -> u64 {
        let tree = self.tree(side);
        let mut scratch = Vec::new();
        // A sum does not depend on the order of the members.
        let mut sum = fixed_hash(NodeKind::Object as u8);
        let renames = self.renames(frame);
        for key in tree.keys(at) {
            if without.is_some_and(|name| tree.unescaped(key, &mut scratch) == name.as_bytes()) {
                continue;
            }
            let Some(name) = self.name_hash(side, key, &renames, frame) else {
                continue;
            };
            let (child, _) = self.enter_key(frame, side, key);
            if !self.may_be_absent(child) {
                let value = self.canonical_hash(side, key + 1, child);
                sum = sum.wrapping_add(fixed_hash((name, value)));
            }
            self.leave(child);
        }
        sum
    }
}
