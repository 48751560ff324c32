//! Since when the services differ by more than is allowed.
//!
//! A bucket has too high a rate if more of it differs than is allowed. A few calm buckets in between do not end a stretch of
//! such buckets unless they prove that the rate was within what is allowed: with little traffic most buckets of a candidate
//! that fails once in a thousand requests have nothing to show. Nor is a stretch told of that proves nothing, if another one
//! does. Nor do calm buckets join two incidents, or keep one alive that is over: if the calm ones alone prove that the rate
//! is less than half of what it was in the incident behind them, or before them, that incident begins, or has ended, there.
//! The bounds are those of the gate, for each stretch as if it were the only one: stretches are chosen because they
//! are high, so this tells where to look and decides nothing.
//!
//! Buckets are those of one version of the candidate: another version is another candidate, and what one did wrong says
//! nothing of when the other one began to.

use parity_comparator::bounds::{Seen, is_beyond, is_within};
use parity_schemas::evidence::Thresholds;
use parity_schemas::history::{Compared, History, Onset, OnsetState};
use parity_schemas::time::Timestamp;

use super::hour::{Hour, length};
use crate::view::words::{grouped, percent};

/// A calm stretch is another thing than the incident beside it if its rate is less than this share of the incident's …
const RECOVERED: f64 = 0.5;
/// … with this chance to be wrong. There is a stretch between any two high buckets, and of hundreds of them some are long by
/// chance: at the usual twentieth, one incident would be told as many.
const RECOVERED_ALPHA: f64 = 0.001;

/// A calm time of this length within a stretch is told: whoever is paged asks when it began now, and not the first of several times.
const CALM_MICROS: i64 = 30 * 60 * 1_000_000;
/// So many requests of a calm time would have to differ at the rate of what follows it: with fewer, that none did is chance.
const EXPECTED: f64 = 3.0;

/// Whether so many compared requests would have shown a rate.
fn would_show(compared: u64, rate: f64) -> bool {
    compared as f64 * rate >= EXPECTED
}

/// Whether a bucket has a higher rate than is allowed.
fn is_above(compared: Compared, allowed: f64) -> bool {
    compared.differing > 0 && compared.rate() > allowed
}

/// When it began anew behind the last calm time in the buckets of a stretch; `None` if it has none.
fn anew(stretch: &[(Timestamp, Compared)], allowed: f64) -> Option<Timestamp> {
    // What is behind the calm time, and when that began; then the calm time, and when it began.
    let mut behind = Compared::default();
    let mut begun = None;
    let mut calm = Compared::default();
    let mut calm_from = None;
    for (from, compared) in stretch.iter().rev() {
        if !is_above(*compared, allowed) {
            calm = calm.with(*compared);
            calm_from = Some(*from);
            continue;
        }
        if let (Some(begun), Some(calm_from)) = (begun, calm_from.take()) {
            let lasted = Timestamp::as_micros(begun).saturating_sub(calm_from.as_micros());
            if lasted >= CALM_MICROS && would_show(calm.compared, behind.rate()) {
                return Some(begun);
            }
            behind = behind.with(calm);
            calm = Compared::default();
        }
        behind = behind.with(*compared);
        begun = Some(*from);
    }
    None
}

/// Buckets in order, with when each begins and how long all are.
pub(super) fn onset(
    buckets: &[(Timestamp, Compared)],
    micros: i64,
    thresholds: &Thresholds,
) -> Onset {
    let allowed = thresholds.max_mismatch_rate;
    let alpha = 1.0 - thresholds.confidence;
    let seen = |compared: Compared| Seen::new(compared.differing, compared.compared);
    let within = |compared| is_within(thresholds.bound, seen(compared), allowed, alpha);
    let beyond = |compared| is_beyond(thresholds.bound, seen(compared), allowed, alpha);
    let buckets: Vec<(Timestamp, Compared)> = buckets
        .iter()
        .filter(|(_, compared)| compared.compared > 0)
        .copied()
        .collect();
    let is_high = |at: usize| {
        let counted = buckets.get(at).map(|(_, compared)| *compared);
        counted.is_some_and(|compared| is_above(compared, allowed))
    };
    let sum = |range: std::ops::Range<usize>| {
        let part = buckets.get(range).unwrap_or_default().iter();
        part.fold(Compared::default(), |sum, (_, compared)| {
            sum.with(*compared)
        })
    };
    let total = sum(0..buckets.len());
    // What is calm ends an incident of this rate.
    let ends = |calm: Compared, incident: Compared| {
        let half = incident.rate() * RECOVERED;
        within(calm)
            || calm.rate() <= allowed
                && is_within(thresholds.bound, seen(calm), half, RECOVERED_ALPHA)
    };
    let none = |state| Onset {
        state,
        allowed,
        from: None,
        to: None,
        stretch: Compared::default(),
        before: total,
        after: None,
        since: Compared::default(),
        latest: None,
    };
    let end_of = |at: usize| {
        let begin = buckets.get(at).map(|(from, _)| *from);
        begin.map(|from| from.saturating_add_micros(micros))
    };
    if buckets.is_empty() {
        return none(OnsetState::Nothing);
    }
    let mut last = (0..buckets.len()).rev().find(|at| is_high(*at));
    // The last stretch at all, which is told of if none proves anything.
    let mut open: Option<Onset> = None;
    let mut behind = buckets.len();
    while let Some(high) = last {
        let calm = sum(high + 1..behind);
        let mut from = high;
        let mut before = Compared::default();
        let mut at = high;
        while at > 0 {
            at -= 1;
            if is_high(at) {
                from = at;
                before = Compared::default();
                continue;
            }
            before = before.with(sum(at..at + 1));
            if ends(before, sum(from..high + 1)) {
                break;
            }
        }
        let ended = ends(calm, sum(from..high + 1));
        let to = if ended { high + 1 } else { behind };
        let stretch = sum(from..to);
        let is_last = behind == buckets.len();
        let found = Onset {
            state: match (beyond(stretch), is_last && !ended) {
                (false, _) => OnsetState::Open,
                (true, true) => OnsetState::Differs,
                (true, false) => OnsetState::Differed,
            },
            allowed,
            from: buckets.get(from).map(|(from, _)| *from),
            to: to.checked_sub(1).and_then(end_of),
            stretch,
            before,
            after: from.checked_sub(1).and_then(end_of),
            since: sum(to..buckets.len()),
            latest: anew(buckets.get(from..high + 1).unwrap_or_default(), allowed),
        };
        if found.state != OnsetState::Open {
            return found;
        }
        open.get_or_insert(found);
        // What proves that it was calm before is behind the stretch before.
        behind = from;
        last = (0..from).rev().find(|at| is_high(*at));
    }
    match open {
        Some(open) if !within(total) => open,
        _ => none(OnsetState::Holds),
    }
}

/// Of what a sentence tells.
pub(super) struct Of<'a> {
    /// The route; `None` for all together.
    pub(super) route: Option<&'a str>,
    /// The version of the candidate, where the history has others, too.
    pub(super) version: Option<&'a str>,
}

/// What is known of it and what is not, in one sentence or two; `None` if there is nothing to say.
pub(super) fn sentence(
    onset: &Onset,
    about: &Of<'_>,
    history: &History,
    hour: &Hour,
) -> Option<String> {
    let named = |lower: &str, upper: &str| match (about.route, about.version) {
        (Some(route), _) => format!("{route} {lower}"),
        (None, Some(version)) => format!("Candidate {version} {lower}"),
        (None, None) => upper.to_owned(),
    };
    let of = |part: Compared| format!("{} of {}", percent(part.rate()), grouped(part.compared));
    let allowed = percent(onset.allowed);
    let several = onset.latest.map(|latest| {
        let since = onset.from.map(|from| hour.told(from));
        let since = since.unwrap_or_default();
        (since, hour.told(latest))
    });
    let begin = match (onset.state, onset.from, onset.to) {
        (OnsetState::Differs, Some(from), _) => {
            let since = match &several {
                Some((since, latest)) => {
                    format!("since {latest}, as several times before since {since}")
                }
                None => format!("since {}", hour.told(from)),
            };
            format!(
                "{} {since}: {} compared requests since {}, {allowed} allowed",
                named("differs", "Differs"),
                of(onset.stretch),
                several.as_ref().map_or("then", |(since, _)| since.as_str()),
            )
        }
        (OnsetState::Differed, Some(from), Some(to)) => format!(
            "{} {}from {} to {}{}, {} compared requests; since then {}, {allowed} allowed",
            named("differed", "Differed"),
            several.as_ref().map_or("", |_| "several times "),
            hour.told(from),
            hour.told(to),
            several
                .as_ref()
                .map(|(_, latest)| format!(", last since {latest}"))
                .unwrap_or_default(),
            of(onset.stretch),
            of(onset.since)
        ),
        (OnsetState::Open, Some(from), _) => format!(
            "{} since {} than the {allowed} allowed ({} compared requests), which is too few to prove it",
            named("may differ more", "May differ more"),
            hour.told(from),
            of(onset.stretch)
        ),
        _ => return None,
    };
    let length = length(history.bucket_seconds);
    let from = onset.from?;
    let since = match onset.after {
        None if about.version.is_some() => {
            "; that is when this version was first compared".to_owned()
        }
        None => format!(
            "; nothing was compared before {}, so it may be older",
            if history.window.is_some_and(|window| window.from == from) {
                "in this range"
            } else {
                "that"
            }
        ),
        // What would not have shown it proves nothing of when it began.
        Some(_) if !would_show(onset.before.compared, onset.stretch.rate()) => format!(
            "; only {} compared before that, too few to tell whether it differed then, too",
            if onset.before.compared == 1 {
                "1 request was".to_owned()
            } else {
                format!("{} requests were", grouped(onset.before.compared))
            }
        ),
        Some(after) if after < from => format!(
            ". Before that, {} differed; nothing was compared from {} to then, so it may have begun at any time since",
            of(onset.before),
            hour.told(after)
        ),
        Some(_) => format!(
            ". Before that, {} differed, so it began about then, to within {length}",
            of(onset.before)
        ),
    };
    Some(begin + &since)
}

#[cfg(test)]
mod tests;
