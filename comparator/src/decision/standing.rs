//! Sentences about incomplete evidence: which instances were not heard of, and which requests have no outcome yet.

use parity_schemas::evidence::{EvidenceSummary, RouteDecision, Thresholds};
use parity_schemas::tally::{Counts, INTERVAL_MICROS};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;
use parity_schemas::watermark::{InstanceWatermark, RunState, Standing};

use super::sentences::listed;
use super::shares::wrong;
use super::words::{number, percents};
use crate::bounds::{self, Seen};

/// Most instances that are named one by one; the rest are counted.
const MAX_NAMED: usize = 5;

/// A sentence for each instance that may have counted more than is here. With any of these, a pass is not proven.
/// `asked` is the evidence that the question is about.
pub(super) fn doubts(standing: &Standing, asked: Option<&EvidenceSummary>) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    let mut more = 0;
    for watermark in standing.doubtful() {
        let sentence = doubt(watermark, asked);
        if sentences.contains(&sentence) {
            continue;
        }
        if sentences.len() < MAX_NAMED {
            sentences.push(sentence);
        } else {
            more += 1;
        }
    }
    if more > 0 {
        sentences.push(format!("and {} more instances like these", number(more)));
    }
    sentences
}

fn doubt(watermark: &InstanceWatermark, asked: Option<&EvidenceSummary>) -> String {
    let name = &watermark.instance;
    let since = watermark
        .last_heard
        .map_or_else(|| "its start".to_owned(), |time| time.to_string());
    let later = format!("--since {}", leaves_out(watermark));
    match watermark.state {
        RunState::Behind => format!(
            "not all that instance `{name}` counted is in the store (it was last heard of at {since}): wait for sinks and \
             replicas to catch up; if the store was lost or set back, start the instance again and decide on what is \
             recorded from then on, with --since and a time after that start"
        ),
        RunState::Replaced => format!(
            "instance `{name}` was last heard of at {since} and did not say that it ended; another process of its name has \
             begun since. What the first one received and had not written yet is in no count, and nobody knows how much \
             that is. To decide on what was recorded later, and on nothing before: {later}"
        ),
        RunState::Ahead => format!(
            "the clock of instance `{name}` is ahead of this one (it says {since}), so it cannot be known what is \
             missing, or what is newest: set the clocks; evidence of another version is asked for by --candidate-version"
        ),
        RunState::Unknown => format!(
            "instance `{name}` was recorded until {since} by a parity without watermarks, so it is not known whether \
             that is all. To decide on what was recorded later, and on nothing before: {later}"
        ),
        RunState::OtherRules => format!(
            "instance `{name}` goes on under other rules (`{}`, last heard of at {since}), and what it receives is not counted \
             here, under `{rules}`: reload it, or wait until it has ended; if it is gone for good, say so with \
             --gone {name}",
            watermark.rules_hash.as_deref().unwrap_or_default(),
            rules = asked.map_or("", |asked| asked.rules_hash.as_str()),
        ),
        RunState::OtherVersions => format!(
            "instance `{name}` goes on for {} (last heard of at {since}), and what it receives is not counted here, for {}: \
             choose one with --candidate-version, give it a --migration of its own, or end it; if it is gone for good, say \
             so with --gone {name}",
            versions(
                watermark.legacy_version.as_deref().unwrap_or_default(),
                watermark.candidate_version.as_deref().unwrap_or_default(),
            ),
            asked.map_or_else(String::new, |asked| versions(
                &asked.legacy_version,
                &asked.candidate_version
            )),
        ),
        RunState::Unheard => format!(
            "instance `{name}` is expected (--expect-instance), and the store has nothing of it here: it was never started, \
             cannot reach the store, or was left out by --since. What it received is in no count: see its log, and its \
             `store_error` in /api/v1/status"
        ),
        _ => format!(
            "instance `{name}` was last heard of at {since} and did not say that it ended: it was killed, or cannot reach \
             the store. What it received after that is in no count: wait until it writes again; if it is gone for good, say \
             so with --gone {name}"
        ),
    }
}

/// The earliest start of a window that leaves out this run: when the next process of its name began, else the next
/// whole minute, because a tally is left out if its interval began earlier.
fn leaves_out(watermark: &InstanceWatermark) -> Timestamp {
    watermark.succeeded.unwrap_or_else(|| {
        let heard = watermark.last_heard.unwrap_or_default();
        let minute = heard.as_micros().div_euclid(INTERVAL_MICROS);
        Timestamp::from_micros(minute.saturating_add(1).saturating_mul(INTERVAL_MICROS))
    })
}

fn versions(legacy: &str, candidate: &str) -> String {
    let named = |version: &str| match version {
        "" => "(no version)".to_owned(),
        version => format!("`{version}`"),
    };
    format!(
        "candidate version {} and legacy version {}",
        named(candidate),
        named(legacy)
    )
}

/// Facts that do not prevent a decision but that its reader must know.
pub(super) fn told(standing: &Standing) -> Vec<String> {
    let mut sentences = gone(standing);
    let under_way = standing.under_way();
    if under_way > 0 {
        sentences.push(format!(
            "{} requests received before have no outcome yet; each is counted as if it differed",
            number(under_way)
        ));
    }
    sentences
}

/// The instances that count as gone because the user said so.
fn gone(standing: &Standing) -> Vec<String> {
    let runs = standing.watermarks.iter();
    let mut sentences: Vec<String> = Vec::new();
    for run in runs.filter(|run| run.state == RunState::Gone) {
        let since = run
            .last_heard
            .map_or_else(|| "its start".to_owned(), |time| time.to_string());
        let is_alive = |other: &InstanceWatermark| {
            other.instance == run.instance
                && matches!(other.state, RunState::Complete | RunState::UnderWay)
        };
        let which = if standing.watermarks.iter().any(is_alive) {
            "a process of instance `{}`, of which another one goes on,"
        } else {
            "instance `{}`"
        };
        let sentence = format!(
            "{} was taken for gone (--gone): what it received after {since} is unknown, and was not waited for",
            which.replace("{}", &run.instance)
        );
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

/// The sentence for evidence that a change of the rules left out.
pub(super) fn other_rules(evidence: &EvidenceSummary) -> Option<String> {
    let (newest, others) = evidence.other_rules.split_first()?;
    let more = match others.len() {
        0 => String::new(),
        1 => ", and 1 other".to_owned(),
        more => format!(", and {} others", number(more as u64)),
    };
    let why = newest
        .why
        .as_ref()
        .map_or_else(String::new, |why| format!(": {why}"));
    Some(format!(
        "what was recorded under other rules is not counted: `{}` ({} to {}){more}{why}",
        newest.rules_hash, newest.from, newest.to
    ))
}

/// The sentences for what was left out on demand: whole minutes, whatever was asked for.
pub fn left_out(evidence: &EvidenceSummary) -> impl Iterator<Item = String> {
    evidence.left_out.iter().map(|left_out| {
        let (span, minutes) = (&left_out.span, left_out.span.minutes());
        let asked = if (minutes.from, minutes.to) == (span.from, span.to) {
            String::new()
        } else {
            format!(
                ", the whole minutes that {} to {} touches",
                span.from, span.to
            )
        };
        format!(
            "{} to {} is left out{asked} ({}): {} requests received, of which {} of {} compared differ",
            minutes.from,
            minutes.to,
            span.reason,
            number(left_out.received),
            number(left_out.differing),
            number(left_out.compared)
        )
    })
}

/// The sentence for routes of which what is left out has all that was compared; `None` if there are none.
pub fn only_left_out(evidence: &EvidenceSummary) -> Option<String> {
    let routes: Vec<&str> = evidence.only_left_out.iter().map(String::as_str).collect();
    let they = if routes.len() == 1 { "it" } else { "them" };
    (!routes.is_empty()).then(|| {
        format!(
            "nothing of {} is counted here: all that was compared of {they} is in what --since or --leave-out leaves out, so the \
             decision says nothing of {they}",
            listed(&routes, MAX_NAMED)
        )
    })
}

/// Why a route that is within the allowed rate would exceed it if all requests of unknown result differed: those
/// without an outcome, which may be of any route, those for which the candidate was not asked because it had failed
/// so often, and those of which its answer may be too large because it is wrong.
pub(super) fn unknown(
    name: &str,
    route: &RouteDecision,
    counts: &Counts,
    standing: &Standing,
    thresholds: &Thresholds,
) -> Option<String> {
    let under_way = standing.under_way();
    let (breaker_open, no_room) = (Reason::BreakerOpen, Reason::NoRoom);
    let of = |reason| counts.not_compared.get(&reason).copied().unwrap_or(0);
    let (not_asked, not_held) = (of(breaker_open), of(no_room));
    let unknown = under_way + not_asked + not_held;
    if unknown == 0 {
        return None;
    }
    let seen = Seen::new(route.differing + unknown, route.compared + unknown);
    let (bound, alpha) = (thresholds.bound, wrong(thresholds));
    let allowed = thresholds.max_mismatch_rate;
    (!bounds::is_within(bound, seen, allowed, alpha)).then(|| {
        let (upper, allowed) = percents(bounds::upper(bound, seen, alpha), allowed);
        let mut what = Vec::new();
        if under_way > 0 {
            what.push(format!(
                "{} requests received before have no outcome yet",
                number(under_way)
            ));
        }
        if not_asked > 0 {
            what.push(format!(
                "for {} the candidate was not asked, because it had failed so often (`{breaker_open}`)",
                number(not_asked)
            ));
        }
        if not_held > 0 {
            what.push(format!(
                "{} answers of the candidate did not fit into limits.shadow_bytes, so their bodies were not compared (`{no_room}`)",
                number(not_held)
            ));
        }
        format!(
            "{name}: {}; if all of them differed, up to {upper} % would, {allowed} % allowed{}",
            what.join(", and "),
            if under_way > 0 { ": wait for them with --wait" } else { "" }
        )
    })
}
