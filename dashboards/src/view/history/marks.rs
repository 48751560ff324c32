//! Marks of a history that tallies do not have: when somebody stopped shadowing, or started it again.
//!
//! Nothing is compared while it is off, so a chart without these shows a gap or a calm that nobody can explain.

use parity_schemas::audit::{Audit, AuditAction, AuditOutcome};
use parity_schemas::history::{History, Mark, MarkKind};
use parity_schemas::time::Timestamp;
use parity_sink::read::AuditFilter;
use parity_sink::read::history::HistoryFilter;
use parity_sink::{Reader, StoreError};

use crate::view::changes::who;

/// Switches of a range that are marked, the latest: more lines than these cannot be told apart in a chart.
const MAX_SWITCHES: usize = 50;

/// Adds the switches in the range of a history to its marks.
pub(super) fn of_switches(
    reader: &Reader,
    filter: &HistoryFilter,
    history: &mut History,
) -> Result<(), StoreError> {
    let Some(window) = history.window else {
        return Ok(());
    };
    let migration = filter.selection.migration();
    let switches = switches(reader, migration, Some(window.from), MAX_SWITCHES)?;
    let switches = switches.iter().filter(|change| change.time < window.to);
    history.marks.extend(switches.filter_map(mark));
    history
        .marks
        .sort_by_key(|mark| (mark.time, mark.kind as usize));
    Ok(())
}

fn mark(change: &Audit) -> Option<Mark> {
    let kind = match change.action {
        AuditAction::ShadowingOff => MarkKind::ShadowingOff,
        AuditAction::ShadowingOn => MarkKind::ShadowingOn,
        _ => return None,
    };
    Some(Mark {
        time: change.time,
        kind,
        from: String::new(),
        to: who(change),
    })
}

/// The latest switches of shadowing that were done, up to so many of each way, in no order.
pub(crate) fn switches(
    reader: &Reader,
    migration: &str,
    since: Option<Timestamp>,
    most: usize,
) -> Result<Vec<Audit>, StoreError> {
    let mut found = Vec::new();
    for action in [AuditAction::ShadowingOff, AuditAction::ShadowingOn] {
        let filter = AuditFilter {
            migration: Some(migration.to_owned()),
            action: Some(action),
            since,
            ..AuditFilter::default()
        };
        found.extend(reader.changes(&filter, most)?);
    }
    found.retain(|change| change.outcome == AuditOutcome::Done);
    Ok(found)
}
