//! What keeps evidence from being whole, in words: who was not heard of, and what has no outcome yet.

use parity_schemas::evidence::{RouteDecision, Thresholds};
use parity_schemas::watermark::{InstanceWatermark, RunState, Standing};

use super::bounds;
use super::words::{number, percents};

/// Instances named one by one; more of a kind are counted.
const MAX_NAMED: usize = 5;

/// A sentence for each instance that may have counted more than is here: with any, nothing is proven to be right.
pub(super) fn doubts(standing: &Standing) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    let mut more = 0;
    for watermark in standing.doubtful() {
        let sentence = doubt(watermark);
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

fn doubt(watermark: &InstanceWatermark) -> String {
    let name = &watermark.instance;
    let since = watermark
        .last_heard
        .map_or_else(|| "its start".to_owned(), |time| time.to_string());
    match watermark.state {
        RunState::Behind => format!(
            "not all that instance `{name}` counted is in the store yet (it was last heard of at {since}): wait for the \
             sinks and replicas to catch up, or see what they cannot store"
        ),
        RunState::Ahead => format!(
            "the clock of instance `{name}` is ahead of this one (it says {since}), so it cannot be known what is \
             missing: set the clocks"
        ),
        RunState::Unknown => format!(
            "instance `{name}` was recorded until {since} by a parity without watermarks, so it is not known whether \
             that is all: restart it with this version under the same name, or leave it out with --since"
        ),
        _ => format!(
            "instance `{name}` was last heard of at {since} and did not say that it ended; what it received after that \
             is unknown: start it again under the same name, or leave it out with --since"
        ),
    }
}

/// What is no obstacle, and must be known all the same.
pub(super) fn told(standing: &Standing) -> Vec<String> {
    let mut sentences = Vec::new();
    let replaced = |watermark: &&InstanceWatermark| watermark.state == RunState::Replaced;
    for watermark in standing.watermarks.iter().filter(replaced).take(MAX_NAMED) {
        let since = watermark
            .last_heard
            .map_or_else(String::new, |time| format!(" about {time}"));
        sentences.push(format!(
            "instance `{}` was killed{since} and started again; what it received in its last second is not counted",
            watermark.instance
        ));
    }
    let under_way = standing.under_way();
    if under_way > 0 {
        sentences.push(format!(
            "{} requests received before have no outcome yet; each is counted as if it differed",
            number(under_way)
        ));
    }
    sentences
}

/// Why a route that is within what is allowed would not be if all requests differed that have no outcome yet. They may
/// be of any route.
pub(super) fn under_way(
    name: &str,
    route: &RouteDecision,
    standing: &Standing,
    thresholds: &Thresholds,
) -> Option<String> {
    let under_way = standing.under_way();
    if under_way == 0 {
        return None;
    }
    let upper = bounds::upper(
        route.differing + under_way,
        route.compared + under_way,
        thresholds.confidence,
    );
    (upper > thresholds.max_mismatch_rate).then(|| {
        let (upper, allowed) = percents(upper, thresholds.max_mismatch_rate);
        format!(
            "{name}: {} requests received before have no outcome yet; if all of them differed, up to {upper} % would, \
             {allowed} % allowed: wait for them with --wait",
            number(under_way)
        )
    })
}
