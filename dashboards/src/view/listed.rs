//! A page of stored decisions.

use parity_schemas::decisions::{DECISIONS_SCHEMA, DecisionPage};
use parity_schemas::time::Timestamp;
use parity_sink::read::DecisionFilter;
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
