//! Marks of a history that tallies do not have: when somebody stopped shadowing, or started it again, and when the register of known
//! differences was changed; and which rules a mark of other rules is about.
//!
//! Nothing is compared while shadowing is off, and what is known does not count, so a chart without these shows a gap or a calm that
//! nobody can explain.

use std::collections::HashMap;

use parity_schemas::audit::{Audit, AuditAction, AuditOutcome, begins};
use parity_schemas::edited::Edited;
use parity_schemas::history::{History, Mark, MarkKind};
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::SILENT_AFTER_MICROS;
use parity_sink::read::history::HistoryFilter;
use parity_sink::read::{AuditFilter, RunTimes};
use parity_sink::{Reader, StoreError};

use crate::view::changes::who;
use crate::view::uncounted::{edited as rules_edited, first_in_force};

/// Switches of a range that are marked, the latest: more lines than these cannot be told apart in a chart.
const MAX_SWITCHES: usize = 50;

/// Marks of other rules whose rules are named, the latest: each reads two texts, and people change rules a few times a day.
const MAX_NAMED: usize = 20;

/// Starts of processes that are looked at, the latest.
const MAX_STARTS: usize = 100;

/// Tells marks of versions and rules by when a run began with them, instead of by the begin of its first minute: else a change would stand
/// before what led to it.
pub(super) fn refine(history: &mut History, runs: &[RunTimes]) {
    for mark in &mut history.marks {
        let minute = mark.time;
        let began = |run: &&RunTimes| {
            let of_it = match mark.kind {
                MarkKind::LegacyVersion => &run.identity.legacy_version,
                MarkKind::CandidateVersion => &run.identity.candidate_version,
                MarkKind::Rules => &run.identity.rules_hash,
                _ => return false,
            };
            *of_it == mark.to
                && minute <= run.started
                && run.started < minute.saturating_add_micros(INTERVAL_MICROS)
        };
        let first = runs.iter().filter(began).map(|run| run.started).min();
        mark.time = first.unwrap_or(minute);
    }
}

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
    let filter = AuditFilter {
        migration: Some(migration.to_owned()),
        action: Some(AuditAction::KnownChanged),
        since: Some(window.from),
        ..AuditFilter::default()
    };
    let mut known = reader.changes(&filter, MAX_SWITCHES)?;
    known.retain(|change| change.outcome == AuditOutcome::Done);
    let changes = switches.iter().chain(&known);
    let changes = changes.filter(|change| change.time < window.to);
    history.marks.extend(changes.filter_map(mark));
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
                    .filter(|_| change.detail == begins(true));
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
    fn a_mark_is_of_the_second_in_which_a_run_began_with_it() {
        let at = |second: i64| Timestamp::from_micros(second * 1_000_000);
        let mut history: History = serde_json::from_value(serde_json::json!({
            "schema": "", "migration": "m", "legacy_version": null, "candidate_version": null, "route": null,
            "window": null, "bucket_seconds": 60, "buckets": [], "without_excused": true, "with_latency": false,
            "identities": [], "marks": [], "routes": [], "routes_left_out": 0, "groups": []
        }))
        .expect("a history");
        let mark = |second: i64, kind, to: &str| Mark {
            time: at(second),
            kind,
            from: String::new(),
            to: to.to_owned(),
            names: Edited::default(),
        };
        history.marks = vec![
            mark(120, MarkKind::Rules, "def"),
            mark(180, MarkKind::Rules, "abc"),
            mark(121, MarkKind::ShadowingOff, "def"),
        ];
        let run = |second: i64, rules: &str| RunTimes {
            identity: parity_schemas::tally::Identity {
                rules_hash: rules.to_owned(),
                ..Default::default()
            },
            instance: "a".to_owned(),
            started: at(second),
            written: at(1_000),
        };
        refine(
            &mut history,
            &[run(150, "def"), run(145, "def"), run(240, "abc")],
        );
        let times: Vec<_> = history.marks.iter().map(|mark| mark.time).collect();
        assert_eq!(times, [at(145), at(180), at(121)]);
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
