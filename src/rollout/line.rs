//! What the rollout did by itself, for the record: a line for each change, and the decision of the gate that it rests on.

use parity_schemas::audit::AuditAction;
use parity_schemas::evidence::{Decision, Outcome};
use parity_schemas::rollout::moved::RolloutMove;
use parity_schemas::time::Timestamp;

/// What happened without a person.
pub(super) struct Line {
    /// What was changed; `None` where a step is held, which changes nothing.
    pub(super) action: Option<AuditAction>,
    pub(super) detail: String,
    /// When it was done.
    pub(super) at: Timestamp,
    /// The decision of the gate that it rests on.
    pub(super) decision: Option<Box<Decision>>,
}

impl Line {
    /// Another percent.
    pub(super) fn set(from: f64, to: f64, why: String, at: Timestamp) -> Self {
        Self {
            action: Some(AuditAction::RolloutSet),
            detail: RolloutMove { from, to, why }.to_string(),
            at,
            decision: None,
        }
    }

    /// All clients went back.
    pub(super) fn back(from: f64, why: String, at: Timestamp) -> Self {
        Self {
            action: Some(AuditAction::RolloutBack),
            ..Self::set(from, 0.0, why, at)
        }
    }

    /// A step is held, by this decision.
    pub(super) fn held(decision: Option<Box<Decision>>) -> Self {
        Self {
            action: None,
            detail: String::new(),
            at: Timestamp::now(),
            decision,
        }
    }
}

/// A step that the gate does not allow yet: from which percent to which, and why.
#[derive(PartialEq)]
pub(super) struct Held {
    pub(super) step: [u64; 2],
    pub(super) outcome: Outcome,
}
