//! The members that both objects have under one key.

use super::path::Origin;

/// The members of both objects that have one key: ranges of [`Walk::indices`](super::walk::Walk), in the order of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyGroup {
    pub(super) legacy: [u32; 2],
    pub(super) candidate: [u32; 2],
    /// The first member, in the legacy if it has any.
    pub(super) first: u32,
    /// The rule by which the candidate has it under another name.
    pub(super) renamed: Option<u16>,
}

impl KeyGroup {
    /// The side that alone has the key.
    pub(super) fn only(&self) -> Option<Origin> {
        match (
            self.legacy[0] == self.legacy[1],
            self.candidate[0] == self.candidate[1],
        ) {
            (false, true) => Some(Origin::Legacy),
            (true, false) => Some(Origin::Candidate),
            _ => None,
        }
    }
}
