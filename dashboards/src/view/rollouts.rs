//! How rollouts stood, and how they went, by the lines of the audit record: what is known where the mirror is not asked.
//!
//! A line says from which percent to which, and a process that begins says at which it does. So the last line of a process is how its rollout
//! stood; nobody knows more of it here, and of a process that is not heard of any more not even that it serves.

use std::collections::BTreeMap;

use parity_schemas::audit::{Audit, AuditAction, AuditOutcome, AuditSource};
use parity_schemas::edited::Edited;
use parity_schemas::history::{Mark, MarkKind};
use parity_schemas::rollout::moved::{RolloutBegin, RolloutMove};
use parity_schemas::rollout::{RolloutFall, RolloutRecorded};
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::SILENT_AFTER_MICROS;
use parity_sink::read::{AuditFilter, RunTimes};
use parity_sink::{Reader, StoreError};

/// Lines of each kind that are looked at, the latest: the last one of each of some dozens of mirrors, and more marks than can be told apart.
const MOST_LINES: usize = 100;

/// Who changes a rollout when no person does, as the status of a mirror says it.
const PARITY: &str = "parity";

/// What says something of a rollout.
const ACTIONS: [AuditAction; 3] = [
    AuditAction::RolloutSet,
    AuditAction::RolloutBack,
    AuditAction::Started,
];

/// The latest lines of what was done, the earliest first.
pub(super) fn lines(
    reader: &Reader,
    migration: &str,
    since: Option<Timestamp>,
) -> Result<Vec<Audit>, StoreError> {
    let mut found = Vec::new();
    for action in ACTIONS {
        let filter = AuditFilter {
            migration: Some(migration.to_owned()),
            action: Some(action),
            // Whoever is refused again and again must not push out what was done.
            outcome: Some(AuditOutcome::Done),
            since,
            ..AuditFilter::default()
        };
        found.extend(reader.changes(&filter, MOST_LINES)?);
    }
    found.sort_by_key(|change| (change.time, change.id));
    Ok(found)
}

/// How the rollout of each process stood that is at work, or else that of the last one that said something of it.
pub(crate) fn recorded(
    reader: &Reader,
    migration: &str,
    runs: &[RunTimes],
    at: Timestamp,
) -> Result<Vec<RolloutRecorded>, StoreError> {
    Ok(standing(&lines(reader, migration, None)?, runs, at))
}

/// Marks of each change of a percent. A process that begins at another one than it had is one, too.
pub(super) fn marks(changes: &[Audit]) -> Vec<Mark> {
    let mut percents: BTreeMap<&str, f64> = BTreeMap::new();
    let mut marks = Vec::new();
    for change in changes {
        let Some(to) = percent_of(change) else {
            continue;
        };
        let before = percents.insert(&change.instance, to);
        let moved = RolloutMove::read(&change.detail);
        // How far it was before a process began, only an earlier line can say.
        let Some(from) = moved.as_ref().map(|moved| moved.from).or(before) else {
            continue;
        };
        if from.total_cmp(&to).is_eq() {
            continue;
        }
        let why = match moved {
            Some(moved) if moved.why.is_empty() => format!("by {}", who(change)),
            Some(moved) => format!("by {}: {}", who(change), moved.why),
            None => "by a restart".to_owned(),
        };
        marks.push(Mark {
            time: change.time,
            kind: match change.action {
                AuditAction::RolloutBack => MarkKind::RolloutBack,
                _ => MarkKind::RolloutSet,
            },
            from: format!("{from} %"),
            to: format!("{to} %"),
            about: format!("{}, {why}", change.instance),
            names: Edited::default(),
        });
    }
    marks
}

/// The percent that a line says to be in force from then on.
fn percent_of(change: &Audit) -> Option<f64> {
    match change.action {
        AuditAction::RolloutSet | AuditAction::RolloutBack => {
            RolloutMove::read(&change.detail).map(|moved| moved.to)
        }
        AuditAction::Started => RolloutBegin::read(&change.detail).map(|begin| begin.percent),
        _ => None,
    }
}

/// Who did it, as the status of the mirror calls them.
fn who(change: &Audit) -> String {
    if change.source == AuditSource::Clock {
        return PARITY.to_owned();
    }
    if !change.user.is_empty() {
        return change.user.clone();
    }
    // The port is another one for each connection.
    let address = change.address.rsplit_once(':');
    let address = address.map(|(address, _)| address.trim_matches(['[', ']']));
    let address = address.filter(|address| !address.is_empty());
    address.unwrap_or("somebody").to_owned()
}

fn standing(changes: &[Audit], runs: &[RunTimes], at: Timestamp) -> Vec<RolloutRecorded> {
    let mut found: BTreeMap<&str, RolloutRecorded> = BTreeMap::new();
    for change in changes {
        let instance = change.instance.as_str();
        if change.action == AuditAction::Started {
            match (RolloutBegin::read(&change.detail), found.get_mut(instance)) {
                (Some(begin), Some(known)) => begins(known, &begin, change),
                (Some(begin), None) => {
                    let mut new = named(instance);
                    begins(&mut new, &begin, change);
                    found.insert(instance, new);
                }
                (None, Some(known)) => known.began_without = Some(change.time),
                (None, None) => {}
            }
        } else if let Some(moved) = RolloutMove::read(&change.detail) {
            let known = found.entry(instance).or_insert_with(|| named(instance));
            moves(known, moved, change);
        }
    }
    let late = at.saturating_add_micros(-SILENT_AFTER_MICROS);
    let mut all: Vec<RolloutRecorded> = found.into_values().collect();
    for one in &mut all {
        let of_it = runs.iter().filter(|run| run.instance == one.instance);
        one.heard = of_it.map(|run| run.written).max();
        one.at_work = one.heard.is_some_and(|heard| heard >= late);
    }
    if all.iter().any(|one| one.at_work) {
        all.retain(|one| one.at_work);
    } else {
        let last = all.iter().map(|one| one.told).max();
        all.retain(|one| Some(one.told) == last);
    }
    all
}

fn named(instance: &str) -> RolloutRecorded {
    RolloutRecorded {
        instance: instance.to_owned(),
        ..RolloutRecorded::default()
    }
}

/// A process of this name began.
fn begins(known: &mut RolloutRecorded, begin: &RolloutBegin, change: &Audit) {
    let is_new = known.told == Timestamp::default();
    if is_new || known.percent.total_cmp(&begin.percent).is_ne() {
        known.percent = begin.percent;
        known.since = change.time;
        known.who.clear();
        "so it began, and what was before is not recorded".clone_into(&mut known.why);
    }
    known.fell_back = begin.fell_from.map(|from| {
        let before = known.fell_back.take();
        before.unwrap_or_else(|| RolloutFall {
            at: change.time,
            who: String::new(),
            reason: "at the latest; it began so, and what took the clients back is not recorded"
                .to_owned(),
            from,
        })
    });
    known.told = change.time;
    known.began_without = None;
}

/// Its percent was changed.
fn moves(known: &mut RolloutRecorded, moved: RolloutMove, change: &Audit) {
    let is_back = change.action == AuditAction::RolloutBack;
    // Who makes sure of a fall back that was already has not caused it.
    let is_again = is_back && moved.from <= 0.0 && known.fell_back.is_some();
    known.told = change.time;
    known.began_without = None;
    if is_again {
        return;
    }
    known.percent = moved.to;
    known.since = change.time;
    known.who = who(change);
    known.fell_back = is_back.then(|| RolloutFall {
        at: change.time,
        who: known.who.clone(),
        reason: match moved.why.as_str() {
            "" => "somebody took the clients back".to_owned(),
            why => why.to_owned(),
        },
        from: moved.from,
    });
    known.why = moved.why;
}

#[cfg(test)]
mod tests;
