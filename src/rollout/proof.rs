//! What the candidate must have shown before it serves more: it served enough requests under the percent that is in force, and did no
//! worse than the legacy. Where it serves nobody yet, its shadows did no worse, and it begins with little.
//!
//! The gate compares answers, most of them of shadows. So it says nothing of what only a request for a client does, and nothing of whether
//! anybody is served at all.

use parity_mirror::{MANY_CLIENTS, RolloutBy, RolloutSeen};

use super::state::Saved;
use super::watch::{Role, Watch};
use crate::config::{Plan, RolloutSettings};

/// Percent that a candidate that has served nobody yet begins with at the most, where no schedule has a lower step: few enough for a trial.
const FIRST: f64 = 10.0;

/// How a client is known, for people.
pub(super) fn by_told(by: &RolloutBy) -> String {
    match by {
        RolloutBy::Address => "address".to_owned(),
        RolloutBy::Header(name) => format!("header:{name}"),
        RolloutBy::Cookie(name) => format!("cookie:{name}"),
    }
}

/// The lowest step of the plan, with which everything begins.
pub(super) fn lowest(plan: &Plan) -> f64 {
    let lowest = match plan {
        Plan::Percent(percent) => Some(percent.min(FIRST)),
        Plan::Schedule(steps) => steps.first().map(|step| step.percent),
    };
    lowest.filter(|percent| *percent > 0.0).unwrap_or(FIRST)
}

/// The next percent on the way to the one that is wanted: a schedule leaves no step out, and nobody begins high.
pub(super) fn on_the_way(plan: &Plan, from: f64, wanted: f64) -> f64 {
    let step = match plan {
        Plan::Schedule(steps) => {
            let mut steps = steps.iter().map(|step| step.percent);
            steps.find(|percent| *percent > from)
        }
        Plan::Percent(_) => None,
    };
    let step = if from > 0.0 {
        step
    } else {
        Some(step.unwrap_or(FIRST))
    };
    step.map_or(wanted, |step| step.min(wanted))
}

/// Why the candidate must not serve that much yet, if so.
pub(super) fn lacks(
    settings: &RolloutSettings,
    saved: &Saved,
    watch: &Watch,
    seen: &RolloutSeen,
    to: f64,
) -> Option<String> {
    let (from, needed) = (saved.percent, settings.bounds.min_requests);
    if to <= from {
        return None;
    }
    let standing = watch.standing(seen, Role::at(from));
    if from <= 0.0 {
        if let Some(why) = standing.worse {
            return Some(format!(
                "as a shadow the candidate does worse already: {why}"
            ));
        }
        let most = lowest(&settings.plan).max(FIRST);
        return (to > most).then(|| {
            format!(
                "the candidate serves nobody yet, so it begins with {most} % at the most and not with {to} %"
            )
        });
    }
    if standing.good.is_some() {
        return None;
    }
    if let Some(untimed) = standing.untimed.filter(|_| standing.served >= needed) {
        return Some(format!(
            "it served {} requests under {from} %, and {untimed} answers are timed of both services of the {needed} by which they are compared",
            standing.served
        ));
    }
    if standing.served > 0 {
        return Some(format!(
            "it served {} of the {needed} requests under {from} % by which it is judged",
            standing.served
        ));
    }
    let by = by_told(&settings.by);
    let who = match seen.clients {
        0 => "no request that it may serve was received since the mirror began".to_owned(),
        MANY_CLIENTS.. => format!("by = \"{by}\" has nobody who is in"),
        count => format!(
            "by = \"{by}\" sees {count} {}",
            told_apart(&settings.by, count)
        ),
    };
    Some(format!(
        "{from} % serves nobody: 0 of {needed} requests; {who}"
    ))
}

/// What is told apart, and what helps where that is too little.
fn told_apart(by: &RolloutBy, count: usize) -> &'static str {
    match (by, count) {
        (RolloutBy::Address, 1) => "client address: use a header or a cookie",
        (RolloutBy::Address, _) => "client addresses: use a header or a cookie",
        (_, 1) => "client: who has none is known by the address; use what each client has",
        _ => "clients: who has none is known by the address; use what each client has",
    }
}
