//! Fields under other names: those that a rule names, and those whose names only changed style.
//!
//! A rule pairs the two names only where each stands alone: once on its side, and not at all on the other. So a body with
//! both names, or with neither, is compared as it is.
//!
//! `userName` on one side and `user_name` on the other, with equal values, are still one missing and one extra field:
//! a client that reads the one does not find the other. That they belong together is their explanation.

use smallvec::SmallVec;

use super::keys::KeyGroup;
use super::names::plain_name;
use super::path::{Origin, Step};
use super::walk::{Frame, Walk};
use crate::collect::Flow;
use crate::notation::string;
use crate::rules::Action;

/// Most keys that only one side has, on each side, for which a renaming is searched.
const MAX_RENAMED: usize = 64;

impl Walk<'_, '_> {
    /// Joins the groups from `from` on that rules say are one field under two names.
    pub(super) fn join_renamed(&mut self, from: usize, frame: Frame) {
        for rule in self.renames(frame) {
            let rules = self.out.rules;
            let Action::Rename(rename) = &rules.get(rule).action else {
                continue;
            };
            let legacy = self.lone_group(from, Origin::Legacy, &rename.from);
            let candidate = self.lone_group(from, Origin::Candidate, &rename.to);
            if let (Some(legacy), Some(candidate)) = (legacy, candidate) {
                self.groups[legacy].candidate = self.groups[candidate].candidate;
                self.groups[legacy].renamed = Some(rule);
                self.groups.remove(candidate);
            }
        }
    }

    /// The group of a key that only this side has, and only once.
    fn lone_group(&self, from: usize, side: Origin, name: &str) -> Option<usize> {
        let tree = self.tree(side);
        let hash = string::hash(name.as_bytes());
        let mut scratch = Vec::new();
        let mut is_it = |group: &KeyGroup| {
            group.only() == Some(side)
                && tree.key_hash(group.first) == hash
                && tree.unescaped(group.first, &mut scratch) == name.as_bytes()
        };
        let found = (from..self.groups.len()).find(|at| is_it(&self.groups[*at]))?;
        let group = &self.groups[found];
        let [start, end] = match side {
            Origin::Legacy => group.legacy,
            Origin::Candidate => group.candidate,
        };
        (end - start == 1).then_some(found)
    }

    /// Compares a member with the one that a rule calls the same.
    pub(super) fn renamed_member(
        &mut self,
        legacy: u32,
        candidate: u32,
        rule: u16,
        frame: Frame,
    ) -> Flow {
        self.steps.push(Step::Key {
            side: Origin::Legacy,
            key: legacy,
            renamed: Some(candidate),
            any: false,
        });
        self.excused(rule);
        self.steps.pop();
        if self.same_text(legacy + 1, candidate + 1) {
            return Flow::Continue(());
        }
        self.pair(legacy, candidate, Some(candidate), frame)
    }

    /// Finds keys that one side lacks and the other has in another case style, with an equal value. Searches the groups
    /// from `from` on.
    pub(super) fn renamed(&mut self, from: usize, frame: Frame) -> Renamed {
        let lone = |walk: &Self, side: Origin| -> SmallVec<[u32; 8]> {
            let lone = walk.groups[from..]
                .iter()
                .filter(|group| group.only() == Some(side));
            lone.map(|group| group.first).collect()
        };
        let (missing, extra) = (lone(self, Origin::Legacy), lone(self, Origin::Candidate));
        let mut renamed = Renamed::default();
        if missing.is_empty() || missing.len() > MAX_RENAMED || extra.len() > MAX_RENAMED {
            return renamed;
        }
        // Computed once: keys may be long, and each is compared with each.
        let extra: Vec<(u32, String)> = extra
            .iter()
            .filter_map(|two| Some((*two, plain_name(self.candidate, *two)?)))
            .collect();
        for one in missing {
            let Some(wanted) = plain_name(self.legacy, one) else {
                continue;
            };
            for (two, name) in &extra {
                if *name == wanted && !renamed.candidate.contains(two) {
                    let (child, _) = self.enter_key(frame, Origin::Legacy, one);
                    let same = self.equal(one + 1, two + 1, child);
                    self.leave(child);
                    if same {
                        renamed.legacy.push(one);
                        renamed.candidate.push(*two);
                        break;
                    }
                }
            }
        }
        renamed
    }
}

#[derive(Default)]
pub(super) struct Renamed {
    pub(super) legacy: SmallVec<[u32; 4]>,
    pub(super) candidate: SmallVec<[u32; 4]>,
}

impl Renamed {
    pub(super) fn contains(&self, side: Origin, key: u32) -> bool {
        match side {
            Origin::Legacy => self.legacy.contains(&key),
            Origin::Candidate => self.candidate.contains(&key),
        }
    }
}
