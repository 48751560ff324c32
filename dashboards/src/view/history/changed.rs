//! What changed in the range of a chart, and what happened in it, each in words and with its place: marks, outages of the candidate and of
//! clients, times in which no process recorded, and groups that are new.

use parity_schemas::clients::ClientOutcome;
use parity_schemas::history::{CandidateOutage, ClientOutage, History, Mark, MarkKind, Unrecorded};
use parity_schemas::lately::CandidateErrors;
use parity_schemas::time::Timestamp;

use super::hour::{Hour, length};
use super::witnessed::SECONDS;
use crate::view::down::{errors_of, lost};
use crate::view::words::{grouped, plural, sentence, shown, version};

/// Digits of a hash of rules that tell it apart for a person.
const HASH_DIGITS: usize = 8;

/// The name of a group, and its route.
type Named = (String, String);

/// What changed at one time.
pub(crate) struct Change {
    /// Where, as a share of the width.
    pub(crate) at: f64,
    /// By which the mark in the chart and the line of the list find each other.
    pub(crate) number: usize,
    /// When.
    pub(crate) time: String,
    /// In words. It is visible.
    pub(crate) told: String,
    /// The group that it is about.
    pub(crate) group: Option<Named>,
}

/// A stretch of time that is told by its colour, too.
pub(crate) struct Stretch {
    /// Where it begins and ends, as shares of the width.
    pub(crate) across: (f64, f64),
    /// In words. It is visible.
    pub(crate) told: String,
}

/// What changed, the earliest first, with marks of the same time in one line.
pub(super) fn changes(
    history: &History,
    hour: &Hour,
    share: impl Fn(Timestamp) -> f64,
) -> Vec<Change> {
    let mut all: Vec<(Timestamp, String, Option<Named>)> = Vec::new();
    for mark in &history.marks {
        let told = about(mark);
        match all.last_mut() {
            Some((time, before, _)) if *time == mark.time => before.extend(["; ", &told]),
            _ => all.push((mark.time, told, None)),
        }
    }
    let outages = history.outages.iter();
    all.extend(outages.map(|outage| (outage.from, out(outage, hour), None)));
    let errors = history.candidate_errors.iter();
    all.extend(errors.map(|errors| (errors.from, erring(errors, hour), None)));
    let clients = history.client_outages.iter();
    all.extend(clients.map(|outage| (outage.from, hurting(outage, hour), None)));
    let without = history.unrecorded.iter().flatten();
    all.extend(without.map(|gap| (gap.from, nobody(gap, hour), None)));
    all.extend(history.news.iter().map(|group| {
        let told = format!(
            "new difference: {} on {} ({})",
            group.what,
            shown(&group.route),
            grouped(group.count)
        );
        let name = (group.fingerprint.clone(), group.route.clone());
        (group.first_seen, told, Some(name))
    }));
    all.sort_by_key(|(time, ..)| *time);
    let each = all.into_iter().zip(1..);
    each.map(|((time, told, group), number)| Change {
        at: share(time).clamp(0.0, 1.0),
        number,
        time: hour.told(time),
        told,
        group,
    })
    .collect()
}

/// When the candidate gave no answer.
pub(super) fn stretches(
    history: &History,
    hour: &Hour,
    share: impl Fn(Timestamp) -> f64,
) -> Vec<Stretch> {
    let outages = history.outages.iter();
    let each = outages.map(|outage| {
        let to = outage.answered.unwrap_or(outage.to);
        Stretch {
            across: across(outage.from, to, &share),
            told: out(outage, hour),
        }
    });
    each.collect()
}

/// When clients got no whole answer.
pub(super) fn hurt(
    history: &History,
    hour: &Hour,
    share: impl Fn(Timestamp) -> f64,
) -> Vec<Stretch> {
    let outages = history.client_outages.iter();
    let each = outages.map(|outage| Stretch {
        across: across(outage.from, outage.to, &share),
        told: hurting(outage, hour),
    });
    each.collect()
}

fn across(from: Timestamp, to: Timestamp, share: impl Fn(Timestamp) -> f64) -> (f64, f64) {
    (share(from).clamp(0.0, 1.0), share(to).clamp(0.0, 1.0))
}

/// From when to when, and how exactly that is known: a mirror has seen the second, and the record counts by longer steps.
fn span(hour: &Hour, (from, to): (Timestamp, Timestamp), ended: bool, step: u64) -> String {
    let is_exact = step <= 1;
    let at = |time| {
        if is_exact {
            hour.exactly(time)
        } else {
            hour.told(time)
        }
    };
    let within = if is_exact {
        String::new()
    } else {
        format!(", to within {}", length(step))
    };
    if ended {
        format!("from {} to {}{within}", at(from), at(to))
    } else {
        format!("since {}{within}", at(from))
    }
}

/// What is known of an outage, visible.
fn out(outage: &CandidateOutage, hour: &Hour) -> String {
    let name = match outage.candidate_version.as_str() {
        "" => String::new(),
        name => format!(" {}", shown(name)),
    };
    let ends = (outage.from, outage.to);
    let span = span(hour, ends, outage.ended, outage.step_seconds);
    let again = outage
        .answered
        .map(|answered| format!(", and answered again at {}", hour.exactly(answered)));
    let of = match outage.sent.saturating_sub(outage.unanswered) {
        0 => String::new(),
        _ => format!(" (of {} that were sent then)", grouped(outage.sent)),
    };
    format!(
        "candidate{name} gave no answer {span}{}: {}{of}",
        again.unwrap_or_default(),
        lost(outage.unanswered, outage.not_sent)
    )
}

/// What is known of errors of a candidate, visible.
fn erring(errors: &CandidateErrors, hour: &Hour) -> String {
    let name = match errors.candidate_version.as_str() {
        "" => String::new(),
        name => format!(" {}", shown(name)),
    };
    let ends = (errors.from, errors.to);
    let span = span(hour, ends, errors.ended.is_some(), SECONDS);
    format!(
        "candidate{name} answered with errors {span}: {} (legacy: {})",
        errors_of(errors),
        grouped(errors.legacy_errors)
    )
}

/// Failures of the candidate that belong to no outage that is told, so that all add up; `None` if there are none.
pub(super) fn beside(history: &History) -> Option<String> {
    let buckets = history.buckets.iter();
    let sums = buckets.fold((0_u64, 0_u64), |(failed, not_sent), bucket| {
        (
            failed.saturating_add(bucket.candidate_unanswered),
            not_sent.saturating_add(bucket.breaker_open),
        )
    });
    let told = history.outages.iter();
    let (failed, not_sent) = told.fold(sums, |(failed, not_sent), outage| {
        (
            failed.saturating_sub(outage.unanswered),
            not_sent.saturating_sub(outage.not_sent),
        )
    });
    if history.outages.is_empty() || failed == 0 && not_sent == 0 {
        return None;
    }
    Some(format!(
        "besides, and in no outage that is listed here: {}",
        lost(failed, not_sent)
    ))
}

/// What is known of clients that got no whole answer, visible.
fn hurting(outage: &ClientOutage, hour: &Hour) -> String {
    let ends = (outage.from, outage.to);
    let span = span(hour, ends, outage.ended, outage.step_seconds);
    let is_legacy = |outcome: &ClientOutcome| {
        matches!(
            outcome,
            ClientOutcome::LegacyUnreachable
                | ClientOutcome::LegacyTimeout
                | ClientOutcome::LegacyTruncated
        )
    };
    let who = if !outage.clients.is_empty() && outage.clients.keys().all(is_legacy) {
        "the legacy gave clients no whole answer"
    } else {
        "clients got no whole answer"
    };
    let mut why: Vec<_> = outage.clients.iter().collect();
    why.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let why: Vec<String> = why
        .into_iter()
        .map(|(outcome, count)| format!("{} {outcome}", grouped(*count)))
        .collect();
    let why = if why.is_empty() {
        String::new()
    } else {
        format!(" ({})", why.join(", "))
    };
    let requests = plural(outage.failed, "request", "requests");
    format!("{who} {span}: {requests}{why}")
}

/// That no process recorded, visible.
fn nobody(gap: &Unrecorded, hour: &Hour) -> String {
    let from = hour.exactly(gap.from);
    let before = shown(&gap.before);
    match gap.to {
        None => format!("no process records since {from}, when {before} was last heard of"),
        Some(to) => {
            let next = if gap.before == gap.after {
                "it began again".to_owned()
            } else {
                format!("{} began", shown(&gap.after))
            };
            format!(
                "no process recorded from {from} to {}: {before} was last heard of then, and {next}",
                hour.exactly(to)
            )
        }
    }
}

fn about(mark: &Mark) -> String {
    let hash = |text: &str| shown(text.get(..HASH_DIGITS).unwrap_or(text));
    match mark.kind {
        MarkKind::LegacyVersion => {
            format!("legacy {} → {}", version(&mark.from), version(&mark.to))
        }
        MarkKind::CandidateVersion => {
            format!("candidate {} → {}", version(&mark.from), version(&mark.to))
        }
        MarkKind::Rules if mark.names.is_empty() => {
            format!("rules {} → {}", hash(&mark.from), hash(&mark.to))
        }
        MarkKind::Rules => format!(
            "rules {} → {}: {}",
            hash(&mark.from),
            hash(&mark.to),
            sentence(&mark.names.told())
        ),
        MarkKind::Known => format!(
            "known differences: {}, {}",
            sentence(&mark.names.told()),
            shown(&mark.to)
        ),
        MarkKind::ShadowingOff | MarkKind::ShadowingOn => {
            format!("{}: {}", mark.kind.meaning(), shown(&mark.to))
        }
        MarkKind::RolloutSet => format!(
            "rollout {} → {}: {}",
            mark.from,
            mark.to,
            sentence(&mark.about)
        ),
        MarkKind::RolloutBack => format!(
            "rollout fell back, {} → {}: {}",
            mark.from,
            mark.to,
            sentence(&mark.about)
        ),
        MarkKind::Configuration => MarkKind::Configuration.meaning().to_owned(),
    }
}
