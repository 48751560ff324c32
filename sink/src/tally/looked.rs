//! What was counted of the candidate between two looks, told apart by its version.
//!
//! Each configuration counts for one version, and requests to the one before may be settled when the next one is there already. What
//! they are is looked for in `stretches` and `erring` beside this.

use std::collections::BTreeMap;
use std::time::Duration;

use parity_schemas::lately::CandidateSeen;
use parity_schemas::time::Timestamp;

use super::erring::{Counted as _, Erring, Verdicts};
use super::stretches::{Look, Stretches};

/// What one configuration counted.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) look: Look,
    pub(super) verdicts: Verdicts,
}

/// What was seen of the candidate since the process began.
#[derive(Default)]
pub(super) struct OfCandidate {
    /// What was counted since the last look, by the number of the configuration.
    pub(super) looked: BTreeMap<usize, Looked>,
    stretches: Stretches,
    erring: Erring,
    /// The last configuration whose verdicts were looked at for errors.
    judged: usize,
}

impl OfCandidate {
    /// Looks at what was counted of each version, which `version_of` says of a configuration. Of configurations of the same version that
    /// follow each other the counts are of one. What timed out was sent so long `before`.
    pub(super) fn look<'v>(
        &mut self,
        version_of: impl Fn(usize) -> &'v str,
        now: Timestamp,
        before: Duration,
    ) {
        let mut looked = std::mem::take(&mut self.looked);
        looked.retain(|_, looked| looked.look.is_any());
        let mut looked = looked.into_iter().peekable();
        while let Some((generation, counted)) = looked.next() {
            let version = version_of(generation);
            if let Some((next, beside)) = looked.peek_mut()
                && version_of(*next) == version
            {
                beside.look.merge(&counted.look);
                beside.verdicts.merge(&counted.verdicts);
                continue;
            }
            let of = (generation, version);
            self.stretches.look(counted.look, of, now, before);
            // What is compared late of a version that was replaced says nothing of the errors that go on.
            if looked.peek().is_none() && generation >= self.judged {
                self.judged = generation;
                self.erring.look(&counted.verdicts, version, now);
            }
        }
    }

    /// The stretches of both kinds.
    pub(super) fn seen(&self) -> CandidateSeen {
        CandidateSeen {
            failures: self.stretches.told(),
            errors: self.erring.told(),
            ..CandidateSeen::default()
        }
    }
}
