//! What the rollout did by itself, for the record: a line for each change, and the decision of the gate that it rests on.

use parity_schemas::audit::AuditAction;
use parity_schemas::evidence::{Decision, Outcome};

/// What happened without a person.
pub(super) struct Line {
    /// What was changed; `None` where a step is held, which changes nothing.
    pub(super) action: Option<AuditAction>,
    pub(super) detail: String,
    /// The decision of the gate that it rests on.
    pub(super) decision: Option<Box<Decision>>,
}

impl Line {
    pub(super) fn of(action: AuditAction, detail: String) -> Self {
        Self {
            action: Some(action),
            detail,
            decision: None,
        }
    }
}

/// A step that the gate does not allow yet: from which percent to which, and why.
#[derive(PartialEq)]
pub(super) struct Held {
    pub(super) step: [u64; 2],
    pub(super) outcome: Outcome,
}
