//! Keeps a decision in the record, and says in it whether it is there.
//!
//! That it cannot be kept (a full disk, a store that may only be read) takes nothing from what was decided, so it is told and
//! no error.

use parity_schemas::evidence::Decision;
use parity_sink::{StoreConfig, record_decision};

use super::words::caused;

/// Stores a decision; in it is then written that it is stored, or why not.
pub fn keep(decision: &mut Decision, store: &StoreConfig) {
    decision.stored = Some(true);
    let failed = if decision.evidence.is_none() {
        // A slip in a name would otherwise be the newest decision of all, before those that rest on something.
        Some("nothing is recorded of what was asked for, so it rests on nothing".to_owned())
    } else {
        let stored = record_decision(store, decision);
        stored.err().map(|error| caused(&error))
    };
    if let Some(why) = failed {
        leave(decision, why);
    }
}

/// Writes into a decision that it is not stored, and why.
pub fn leave(decision: &mut Decision, why: String) {
    decision.stored = Some(false);
    decision.not_stored = Some(why);
}
