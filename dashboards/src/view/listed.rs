//! Pages of stored decisions and changes.

use parity_schemas::audit::{AUDIT_SCHEMA, AuditPage};
use parity_schemas::decisions::{DECISIONS_SCHEMA, DecisionPage};
use parity_schemas::time::Timestamp;
use parity_sink::read::{AuditFilter, DecisionFilter};
use parity_sink::{Reader, StoreError};
use uuid::Uuid;

/// Up to `limit` stored decisions, newest first, and where the next page begins.
pub fn decision_page(
    reader: &Reader,
    filter: &DecisionFilter,
    limit: usize,
) -> Result<DecisionPage, StoreError> {
    // One more than asked for tells whether there is a next page.
    let mut decisions = reader.decisions(filter, limit.saturating_add(1))?;
    let more = decisions.len() > limit;
    decisions.truncate(limit);
    let next = decisions
        .last()
        .filter(|_| more)
        .map(|last| format!("{}_{}", last.time, last.id));
    Ok(DecisionPage {
        schema: DECISIONS_SCHEMA.to_owned(),
        decisions,
        next,
    })
}

/// Parses `TIME_ID`, the position of a record in a list.
pub fn place(text: &str) -> Option<(Timestamp, Uuid)> {
    let (time, id) = text.split_once('_')?;
    Some((time.parse().ok()?, id.parse().ok()?))
}

/// A page of changes of running processes.
pub fn audit_page(
    reader: &Reader,
    filter: &AuditFilter,
    limit: usize,
) -> Result<AuditPage, StoreError> {
    // One more than asked for tells whether there is a next page.
    let mut changes = reader.changes(filter, limit.saturating_add(1))?;
    let more = changes.len() > limit;
    changes.truncate(limit);
    let next = changes.last().filter(|_| more);
    Ok(AuditPage {
        schema: AUDIT_SCHEMA.to_owned(),
        next: next.map(|last| format!("{}_{}", last.time, last.id)),
        changes,
    })
}
