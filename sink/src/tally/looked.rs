//! What was counted of the candidate between two looks, told apart by its version.
//!
//! Each configuration counts for one version, and requests to the one before may be settled when the next one is there already. What
//! they are is looked for in `stretches` and `erring` beside this.

use std::sync::PoisonError;

use parity_schemas::time::Timestamp;

use super::TallyBook;
use super::erring::Verdicts;
use super::gather::State;
use super::stretches::Look;

/// What one configuration counted.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) look: Look,
    pub(super) verdicts: Verdicts,
}

impl TallyBook {
    /// Looks at what was counted of each version. Of configurations of the same version that follow each other the counts are of one.
    pub(super) fn look(&self, state: &mut State, now: Timestamp) {
        let mut looked = std::mem::take(&mut state.looked);
        looked.retain(|_, looked| looked.look.is_any());
        if looked.is_empty() {
            return;
        }
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        let before = self.config.candidate_deadline;
        let mut looked = looked.into_iter().peekable();
        while let Some((generation, counted)) = looked.next() {
            let version = routes.candidate_version(generation);
            if let Some((next, beside)) = looked.peek_mut()
                && routes.candidate_version(*next) == version
            {
                beside.look.merge(&counted.look);
                beside.verdicts.merge(&counted.verdicts);
                continue;
            }
            let of = (generation, version);
            state.stretches.look(counted.look, of, now, before);
            // What is compared late of a version that was replaced says nothing of the errors that go on.
            if looked.peek().is_none() && generation >= state.judged {
                state.judged = generation;
                state.erring.look(&counted.verdicts, version, now);
            }
        }
    }
}
