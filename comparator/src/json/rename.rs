//! Recognizes fields whose names only changed style.
//!
//! `userName` on one side and `user_name` on the other, with equal values, are still one missing and one extra field:
//! a client that reads the one does not find the other. That they belong together is their explanation.

use smallvec::SmallVec;

use super::names::plain_name;
use super::path::Origin;
use super::walk::{Frame, Walk};

/// Most keys that only one side has, on each side, for which a renaming is searched.
const MAX_RENAMED: usize = 64;

impl Walk<'_, '_> {
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
