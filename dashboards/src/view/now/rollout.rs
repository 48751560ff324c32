//! What must be known of the rollout before anything else: as the mirror says it that is asked, and of each other process as the audit record
//! has it.

use parity_schemas::rollout::{RolloutDocument, RolloutRecorded};
use parity_schemas::time::Timestamp;

use super::super::Tone;
use super::super::words::sentence;
use super::{Alert, Now};

/// What is told of a rollout that is back.
const BACK: &str = "The rollout is back at the legacy";
const ROLLOUT: &str = "Rollout";

impl Now<'_> {
    /// Who serves, as long as it is not the legacy alone, and what took the clients back to it.
    pub(super) fn rollouts(&self, moment: impl Fn(Timestamp) -> String + Copy) -> Vec<Alert> {
        let own = self.status.and_then(|status| status.rollout.as_ref());
        let own = own.and_then(|rollout| self.own_rollout(rollout));
        // A mirror knows its own better. One of an earlier program does not say who it is.
        let is_other = |one: &&RolloutRecorded| {
            self.status
                .is_none_or(|status| !status.instance.is_empty() && status.instance != one.instance)
        };
        let others = self.lately.rollouts.iter().filter(is_other);
        let others = others.filter_map(|one| recorded(one, moment));
        own.into_iter().chain(others).collect()
    }

    fn own_rollout(&self, rollout: &RolloutDocument) -> Option<Alert> {
        let bound = rollout.bound_told(self.allowed);
        let bound = bound.map_or_else(String::new, |bound| format!("; {bound}"));
        if rollout.fell_back.is_some() {
            let told = format!(
                "{}; it stays so until somebody sets a percent{bound}",
                rollout.told()
            );
            return Some(Alert::bad(BACK, sentence(&told)));
        }
        let is_plain = rollout.percent > 0.0 || rollout.waits.is_some();
        is_plain.then(|| Alert {
            tone: Tone::Plain,
            what: ROLLOUT.to_owned(),
            about: sentence(&format!("{}{bound}", rollout.told_whole())),
        })
    }
}

/// What the record has of a process.
fn recorded(one: &RolloutRecorded, moment: impl Fn(Timestamp) -> String) -> Option<Alert> {
    if one.began_without.is_some() {
        // The process of that name has no rollout any more: what it did before is history.
        return None;
    }
    let about = || sentence(&one.told(moment));
    if one.fell_back.is_some() {
        return Some(Alert::bad(BACK, about()));
    }
    (one.percent > 0.0).then(|| Alert {
        tone: Tone::Plain,
        what: ROLLOUT.to_owned(),
        about: about(),
    })
}
