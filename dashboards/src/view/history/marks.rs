//! Marks of a history that tallies do not have: when somebody stopped shadowing, or started it again.
//!
//! Nothing is compared while it is off, so a chart without these shows a gap or a calm that nobody can explain.

use parity_schemas::audit::{Audit, AuditAction, AuditOutcome, begins};
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
        AuditAction::ShadowingOn | AuditAction::Started => MarkKind::ShadowingOn,
        _ => return None,
    };
    let by = match change.action {
        AuditAction::Started => format!("by a restart of {}", change.instance),
        _ => who(change),
    };
    Some(Mark {
        time: change.time,
        kind,
        from: String::new(),
        to: by,
    })
}

/// The latest switches of shadowing that were done, up to so many of each way, the earliest first. A restart that shadows again what
/// somebody had stopped is one, too.
pub(crate) fn switches(
    reader: &Reader,
    migration: &str,
    since: Option<Timestamp>,
    most: usize,
) -> Result<Vec<Audit>, StoreError> {
    let mut found = Vec::new();
    for action in [
        AuditAction::ShadowingOff,
        AuditAction::ShadowingOn,
        AuditAction::Started,
    ] {
        let filter = AuditFilter {
            migration: Some(migration.to_owned()),
            action: Some(action),
            since,
            ..AuditFilter::default()
        };
        found.extend(reader.changes(&filter, most)?);
    }
    found.retain(|change| change.outcome == AuditOutcome::Done);
    Ok(in_order(found))
}

/// In the order of time, and of the starts of processes only those that end a stop: of the instance that was stopped, or else the
/// earliest stop, since a process that takes the place of another one may have another name.
fn in_order(mut changes: Vec<Audit>) -> Vec<Audit> {
    changes.sort_by_key(|change| (change.time, change.id));
    let mut stopped: Vec<String> = Vec::new();
    changes.retain(|change| {
        let of_it = stopped.iter().position(|one| *one == change.instance);
        match change.action {
            AuditAction::ShadowingOff => {
                if of_it.is_none() {
                    stopped.push(change.instance.clone());
                }
                true
            }
            AuditAction::Started => {
                let ends = change.detail == begins(true) && !stopped.is_empty();
                if ends {
                    stopped.remove(of_it.unwrap_or_default());
                }
                ends
            }
            _ => {
                if let Some(place) = of_it {
                    stopped.remove(place);
                }
                true
            }
        }
    });
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_is_a_switch_only_if_it_shadows_again_what_was_stopped() {
        use AuditAction::{ShadowingOff, ShadowingOn, Started};
        let line = |second: i64, instance: &str, action, detail: &str| Audit {
            time: Timestamp::from_micros(second * 1_000_000),
            instance: instance.to_owned(),
            action,
            detail: detail.to_owned(),
            ..Audit::default()
        };
        let changes = vec![
            line(9, "a", Started, begins(true)),
            line(1, "a", Started, begins(true)),
            line(2, "a", ShadowingOff, ""),
            line(3, "b", Started, begins(false)),
            line(4, "a", Started, begins(false)),
            line(5, "a", Started, begins(true)),
            line(6, "b", ShadowingOff, ""),
            line(7, "b", ShadowingOn, ""),
            line(8, "b", Started, begins(true)),
            // A pod has another name each time it is made.
            line(10, "pod-1", ShadowingOff, ""),
            line(11, "pod-2", Started, begins(true)),
            line(12, "pod-3", Started, begins(true)),
            // Of two that were stopped the one itself, and then the other.
            line(13, "a", ShadowingOff, ""),
            line(14, "b", ShadowingOff, ""),
            line(15, "b", Started, begins(true)),
            line(16, "pod-4", Started, begins(true)),
            line(17, "a", Started, begins(true)),
        ];
        let marks: Vec<Mark> = in_order(changes).iter().filter_map(mark).collect();
        let told: Vec<_> = marks
            .iter()
            .map(|mark| (mark.time.as_micros() / 1_000_000, mark.kind))
            .collect();
        assert_eq!(
            told,
            [
                (2, MarkKind::ShadowingOff),
                (5, MarkKind::ShadowingOn),
                (6, MarkKind::ShadowingOff),
                (7, MarkKind::ShadowingOn),
                (10, MarkKind::ShadowingOff),
                (11, MarkKind::ShadowingOn),
                (13, MarkKind::ShadowingOff),
                (14, MarkKind::ShadowingOff),
                (15, MarkKind::ShadowingOn),
                (16, MarkKind::ShadowingOn)
            ]
        );
        assert_eq!(marks[1].to, "by a restart of a");
    }
}
