//! Changes of running processes: what is asked for.

use parity_schemas::audit::{AuditAction, AuditOutcome};
use parity_schemas::time::Timestamp;
use uuid::Uuid;

/// Most changes of one query. A line has some hundred bytes, so this is a megabyte.
pub const MAX_CHANGES: usize = 1_000;

/// Selects changes, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only of this migration; of all if `None`.
    pub migration: Option<String>,
    /// Only of this kind.
    pub action: Option<AuditAction>,
    /// Only with this outcome.
    pub outcome: Option<AuditOutcome>,
    /// Only at this time or later.
    pub since: Option<Timestamp>,
    /// Only before this time.
    pub until: Option<Timestamp>,
    /// Only those after this one, for paging: time and id of the last change of the previous page.
    pub before: Option<(Timestamp, Uuid)>,
}
