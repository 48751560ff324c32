//! What keeps evidence from being whole, in words: who was not heard of, and what has no outcome yet.

use parity_schemas::evidence::{EvidenceSummary, RouteDecision, Thresholds};
use parity_schemas::tally::{Counts, INTERVAL_MICROS};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;
use parity_schemas::watermark::{InstanceWatermark, RunState, Standing};

use super::bounds;
use super::words::{number, percents};

/// Instances named one by one; more of a kind are counted.
const MAX_NAMED: usize = 5;

/// A sentence for each instance that may have counted more than is here: with any, nothing is proven to be right.
/// `rules` is the hash of the rules that are asked about.
pub(super) fn doubts(standing: &Standing, rules: &str) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    let mut more = 0;
    for watermark in standing.doubtful() {
        let sentence = doubt(watermark, standing, rules);
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

fn doubt(watermark: &InstanceWatermark, standing: &Standing, rules: &str) -> String {
    let name = &watermark.instance;
    let since = watermark
        .last_heard
        .map_or_else(|| "its start".to_owned(), |time| time.to_string());
    let later = format!("--since {}", leaves_out(watermark, standing));
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
             missing: set the clocks"
        ),
        RunState::Unknown => format!(
            "instance `{name}` was recorded until {since} by a parity without watermarks, so it is not known whether \
             that is all. To decide on what was recorded later, and on nothing before: {later}"
        ),
        RunState::OtherRules => format!(
            "instance `{name}` goes on under other rules (`{}`, last heard of at {since}), and what it receives is not counted \
             here, under `{rules}`: reload it, or wait until it has ended; if it is gone, decide on what was recorded \
             later, and on nothing before: {later}",
            watermark.rules_hash.as_deref().unwrap_or_default()
        ),
        _ => format!(
            "instance `{name}` was last heard of at {since} and did not say that it ended: it was killed, or cannot reach \
             the store. What it received after that is in no count. Wait until it writes again; if it is gone, start it \
             again and decide on what was recorded later, and on nothing before: {later}"
        ),
    }
}

/// The time from which on nothing counted by this run is looked at: when the next process of its name began, else the
/// next whole minute, for a tally is left out when its interval began before.
fn leaves_out(watermark: &InstanceWatermark, standing: &Standing) -> Timestamp {
    let heard = watermark.last_heard.unwrap_or_default();
    let same = standing.watermarks.iter();
    let begun = same
        .filter(|other| other.instance == watermark.instance && other.state != RunState::OtherRules)
        .filter_map(|other| other.started);
    let minute = heard.as_micros().div_euclid(INTERVAL_MICROS);
    begun
        .filter(|started| *started > heard)
        .min()
        .unwrap_or_else(|| {
            Timestamp::from_micros(minute.saturating_add(1).saturating_mul(INTERVAL_MICROS))
        })
}

/// What is no obstacle, and must be known all the same.
pub(super) fn told(standing: &Standing) -> Vec<String> {
    let mut sentences = Vec::new();
    let under_way = standing.under_way();
    if under_way > 0 {
        sentences.push(format!(
            "{} requests received before have no outcome yet; each is counted as if it differed",
            number(under_way)
        ));
    }
    sentences
}

/// That there is evidence which a change of the rules has put out of sight.
pub(super) fn other_rules(evidence: &EvidenceSummary) -> Option<String> {
    let (newest, others) = evidence.other_rules.split_first()?;
    let more = match others.len() {
        0 => String::new(),
        more => format!(", and {} others", number(more as u64)),
    };
    Some(format!(
        "what was recorded under other rules is not counted: `{}` ({} to {}){more}",
        newest.rules_hash, newest.from, newest.to
    ))
}

/// Why a route that is within what is allowed would not be if all requests differed of which that is not known: those
/// without an outcome, which may be of any route, and those that the candidate was not asked because it had failed so
/// often.
pub(super) fn unknown(
    name: &str,
    route: &RouteDecision,
    counts: &Counts,
    standing: &Standing,
    thresholds: &Thresholds,
) -> Option<String> {
    let under_way = standing.under_way();
    let breaker_open = Reason::BreakerOpen;
    let not_asked = counts.not_compared.get(&breaker_open).copied().unwrap_or(0);
    let unknown = under_way + not_asked;
    if unknown == 0 {
        return None;
    }
    let upper = bounds::upper(
        route.differing + unknown,
        route.compared + unknown,
        thresholds.confidence,
    );
    (upper > thresholds.max_mismatch_rate).then(|| {
        let (upper, allowed) = percents(upper, thresholds.max_mismatch_rate);
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
        format!(
            "{name}: {}; if all of them differed, up to {upper} % would, {allowed} % allowed{}",
            what.join(", and "),
            if under_way > 0 { ": wait for them with --wait" } else { "" }
        )
    })
}
