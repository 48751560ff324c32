//! Marks of a history that tallies do not have: when somebody stopped shadowing, or started it again, when the register of known
//! differences was changed, and when another share of the clients was served by the candidate; and which rules a mark of other rules is about.
//!
//! Nothing is compared while shadowing is off, and what is known does not count, so a chart without these shows a gap or a calm that
//! nobody can explain.

use std::collections::HashMap;

use parity_schemas::audit::{Audit, AuditAction, AuditOutcome, shadows};
use parity_schemas::edited::Edited;
use parity_schemas::history::{History, Mark, MarkKind};
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::SILENT_AFTER_MICROS;
use parity_sink::read::history::HistoryFilter;
use parity_sink::read::{AuditFilter, RunTimes};
use parity_sink::{Reader, StoreError};

use super::began::{not_counted_yet, refine};
use crate::view::changes::who;
use crate::view::rollouts;
use crate::view::uncounted::{edited as rules_edited, first_in_force};

/// Switches of a range that are marked, the latest: more lines than these cannot be told apart in a chart.
const MAX_SWITCHES: usize = 50;

/// Marks of other rules whose rules are named, the latest: each reads two texts, and people change rules a few times a day.
const MAX_NAMED: usize = 20;

/// Starts of processes that are looked at, the latest.
const MAX_STARTS: usize = 100;

/// Adds what somebody switched, or changed of the register, in the range of a history to its marks, and names the rules of others.
/// `runs` are all of the migration.
pub(super) fn of_people(
    reader: &Reader,
    filter: &HistoryFilter,
    runs: &[RunTimes],
    history: &mut History,
) -> Result<(), StoreError> {
    let Some(window) = history.window else {
        return Ok(());
    };
    let migration = filter.selection.migration();
    let switches = switches(reader, migration, Some(window.from), (MAX_SWITCHES, runs))?;
    let of_register = AuditFilter {
        migration: Some(migration.to_owned()),
        action: Some(AuditAction::KnownChanged),
        since: Some(window.from),
        ..AuditFilter::default()
    };
    let mut known = reader.changes(&of_register, MAX_SWITCHES)?;
    known.retain(|change| change.outcome == AuditOutcome::Done);
    let changes = switches.iter().chain(&known);
    let changes = changes.filter(|change| change.time < window.to);
    history.marks.extend(changes.filter_map(mark));
    let rollouts = rollouts::marks(&rollouts::lines(reader, migration, Some(window.from))?);
    let rollouts = rollouts.into_iter().filter(|mark| mark.time < window.to);
    history.marks.extend(rollouts);
    let coming = not_counted_yet(history, filter, runs);
    history.marks.extend(coming);
    let began = history.identities.iter();
    let began: HashMap<String, Timestamp> = began
        .map(|identity| (identity.rules_hash.clone(), identity.first))
        .collect();
    name_rules(reader, migration, (&mut history.marks, &began))?;
    refine(history, runs);
    history
        .marks
        .sort_by_key(|mark| (mark.time, mark.kind as usize));
    Ok(())
}

/// Says of each mark of other rules which came, went or say something else, as far as the record has their texts.
/// Tallies of a minute do not tell which of two rules came first in it; the terms do. `began` has when each first counted.
fn name_rules(
    reader: &Reader,
    migration: &str,
    (marks, began): (&mut [Mark], &HashMap<String, Timestamp>),
) -> Result<(), StoreError> {
    let others = marks.iter_mut().rev();
    let others = others.filter(|mark| mark.kind == MarkKind::Rules);
    for mark in others.take(MAX_NAMED) {
        if began.get(&mark.from) == began.get(&mark.to) {
            let in_force = |hash: &str| first_in_force(reader, migration, hash);
            let (from, to) = (in_force(&mark.from)?, in_force(&mark.to)?);
            if from.zip(to).is_some_and(|(from, to)| from > to) {
                std::mem::swap(&mut mark.from, &mut mark.to);
            }
        }
        mark.names = rules_edited(reader, migration, [&mark.from, &mark.to])?;
    }
    Ok(())
}

fn mark(change: &Audit) -> Option<Mark> {
    let kind = match change.action {
        AuditAction::ShadowingOff => MarkKind::ShadowingOff,
        AuditAction::ShadowingOn | AuditAction::Started => MarkKind::ShadowingOn,
        AuditAction::KnownChanged => MarkKind::Known,
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
        about: String::new(),
        names: match kind {
            MarkKind::Known => Edited::read(&change.detail),
            _ => Edited::default(),
        },
    })
}

/// The latest starts of processes, the newest first.
pub(crate) fn starts(reader: &Reader, migration: &str) -> Result<Vec<Audit>, StoreError> {
    let filter = AuditFilter {
        migration: Some(migration.to_owned()),
        action: Some(AuditAction::Started),
        ..AuditFilter::default()
    };
    reader.changes(&filter, MAX_STARTS)
}

/// The latest switches of shadowing that were done, up to so many of each way, the earliest first. A restart that shadows again what
/// somebody had stopped is one, too; which processes are over is told by all runs of the migration.
pub(crate) fn switches(
    reader: &Reader,
    migration: &str,
    since: Option<Timestamp>,
    (most, runs): (usize, &[RunTimes]),
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
    Ok(in_order(found, runs))
}

/// Whether a process that was there wrote nothing more behind this time: whoever begins then takes its place.
fn is_over(runs: &[RunTimes], instance: &str, time: Timestamp) -> bool {
    let mut own = runs.iter().filter(|run| run.instance == instance);
    let late = time.saturating_add_micros(SILENT_AFTER_MICROS);
    own.clone().next().is_some() && own.all(|run| run.written <= late)
}

/// In the order of time, and of the starts of processes only those that end a stop: of the instance that was stopped, or else the
/// earliest stop of one that is over, since a process that takes its place may have another name. One that merely begins
/// beside it starts nothing.
fn in_order(mut changes: Vec<Audit>, runs: &[RunTimes]) -> Vec<Audit> {
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
                let over = || {
                    let mut stopped = stopped.iter();
                    stopped.position(|one| is_over(runs, one, change.time))
                };
                let ended = of_it
                    .or_else(over)
                    .filter(|_| shadows(&change.detail) == Some(true));
                if let Some(place) = ended {
                    stopped.remove(place);
                }
                ended.is_some()
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
    use parity_schemas::audit::begins;

    use super::*;
    use crate::view::changes::line;

    #[test]
    fn a_restart_is_a_switch_only_if_it_shadows_again_what_was_stopped() {
        use AuditAction::{ShadowingOff, ShadowingOn, Started};
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
            // A second mirror merely begins beside one that was stopped and goes on, and a third one when that is gone.
            line(18, "c", ShadowingOff, ""),
            line(19, "d", Started, begins(true)),
            line(40, "e", Started, begins(true)),
        ];
        let run = |instance: &str, second: i64| RunTimes {
            identity: parity_schemas::tally::Identity::default(),
            instance: instance.to_owned(),
            started: Timestamp::default(),
            written: Timestamp::from_micros(second * 1_000_000),
        };
        let runs = [run("pod-1", 11), run("a", 13), run("c", 30)];
        let marks: Vec<Mark> = in_order(changes, &runs).iter().filter_map(mark).collect();
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
                (16, MarkKind::ShadowingOn),
                (18, MarkKind::ShadowingOff),
                (40, MarkKind::ShadowingOn)
            ]
        );
        assert_eq!(marks[1].to, "by a restart of a");
    }

    #[test]
    fn a_change_of_the_register_is_a_mark_with_the_names() {
        let told = "added slow; removed \"a b\"";
        let change = line(1, "a", AuditAction::KnownChanged, told);
        let mark = mark(&change).expect("a mark");
        assert_eq!(mark.kind, MarkKind::Known);
        assert_eq!(
            (&mark.names.added[..], &mark.names.removed[..]),
            (&["slow".to_owned()][..], &["a b".to_owned()][..])
        );
    }
}
