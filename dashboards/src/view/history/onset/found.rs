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
//! What is proven to differ as one stretch may be several times with calm ones in between: a calm time that is no chance parts them.
//! The last of them is what somebody on call is told, and how often it differed before.
//!
//! Buckets are those of one version of the candidate: another version is another candidate, and what one did wrong says
//! nothing of when the other one began to.

use parity_comparator::bounds::{Seen, is_beyond, is_within};
use parity_schemas::evidence::Thresholds;
use parity_schemas::history::{Compared, Earlier, Onset, OnsetState};
use parity_schemas::time::Timestamp;

/// A calm stretch is another thing than the incident beside it if its rate is less than this share of the incident's …
const RECOVERED: f64 = 0.5;
/// … with this chance to be wrong. There is a stretch between any two high buckets, and of hundreds of them some are long by
/// chance: at the usual twentieth, one incident would be told as many.
const RECOVERED_ALPHA: f64 = 0.001;

/// A calm time of this length parts two times in which it differs: whoever is paged asks when it began now, and not the first time …
const CALM_MICROS: i64 = 30 * 60 * 1_000_000;
/// … if so many of its requests would have to differ at the rate of what follows it: with fewer, that none did is chance.
const EXPECTED: f64 = 3.0;
/// A shorter one does if there would be so many: that none differs is then a chance of one in a thousand.
const SURELY_EXPECTED: f64 = 6.9;

/// Whether so many compared requests would have shown a rate.
pub(super) fn would_show(compared: u64, rate: f64) -> bool {
    compared as f64 * rate >= EXPECTED
}

/// What was compared in some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// When it began.
    pub(super) from: Timestamp,
    /// When it ended.
    pub(super) to: Timestamp,
    /// What it has.
    pub(super) compared: Compared,
}

impl Step {
    /// How long it is.
    fn seconds(&self) -> u64 {
        let micros = self.to.as_micros().saturating_sub(self.from.as_micros());
        u64::try_from(micros).unwrap_or(0) / 1_000_000
    }

    /// Whether it has a higher rate than is allowed.
    fn is_above(&self, allowed: f64) -> bool {
        self.compared.differing > 0 && self.compared.rate() > allowed
    }
}

/// That nothing has a higher rate in all that was compared.
fn none(state: OnsetState, allowed: f64, total: Compared) -> Onset {
    Onset {
        state,
        allowed,
        from: None,
        to: None,
        stretch: Compared::default(),
        before: total,
        after: None,
        since: Compared::default(),
        earlier: None,
        step_seconds: 0,
    }
}

/// Some times in which it differed, the last one first, as they are told together; `None` if there are none.
fn earlier(steps: &[Step], parts: &[(usize, usize)]) -> Option<Earlier> {
    let ((first, _), (_, last)) = (parts.last()?, parts.first()?);
    Some(Earlier {
        times: parts.len() as u64,
        from: steps.get(*first)?.from,
        to: steps.get(*last)?.to,
    })
}

/// The times in which it differs of the steps of a stretch, the last one first: each by its first and its last step.
fn parts(stretch: &[Step], allowed: f64) -> Vec<(usize, usize)> {
    let mut parts = Vec::new();
    let Some(last) = stretch.len().checked_sub(1) else {
        return parts;
    };
    let mut part = (last, last);
    // What the part has, when it began, and what is calm before it.
    let mut behind = Compared::default();
    let mut begun = Timestamp::default();
    let mut calm = Compared::default();
    let mut calm_from = None;
    for (at, step) in stretch.iter().enumerate().rev() {
        if !step.is_above(allowed) {
            calm = calm.with(step.compared);
            calm_from = Some(step.from);
            continue;
        }
        if let Some(calm_from) = calm_from.take() {
            let lasted = begun
                .as_micros()
                .saturating_sub(Timestamp::as_micros(calm_from));
            let expected = calm.compared as f64 * behind.rate();
            if expected >= SURELY_EXPECTED
                || lasted >= CALM_MICROS && would_show(calm.compared, behind.rate())
            {
                parts.push(part);
                part = (at, at);
                behind = Compared::default();
            } else {
                behind = behind.with(calm);
            }
            calm = Compared::default();
        }
        behind = behind.with(step.compared);
        begun = step.from;
        part.0 = at;
    }
    parts.push(part);
    parts
}

/// Of steps in order, which do not overlap.
pub(super) fn onset(steps: &[Step], thresholds: &Thresholds) -> Onset {
    let allowed = thresholds.max_mismatch_rate;
    let alpha = 1.0 - thresholds.confidence;
    let seen = |compared: Compared| Seen::new(compared.differing, compared.compared);
    let within = |compared| is_within(thresholds.bound, seen(compared), allowed, alpha);
    let beyond = |compared| is_beyond(thresholds.bound, seen(compared), allowed, alpha);
    let steps: Vec<Step> = steps
        .iter()
        .filter(|step| step.compared.compared > 0)
        .copied()
        .collect();
    let is_high = |at: usize| steps.get(at).is_some_and(|step| step.is_above(allowed));
    let sum = |range: std::ops::Range<usize>| {
        let part = steps.get(range).unwrap_or_default().iter();
        part.fold(Compared::default(), |sum, step| sum.with(step.compared))
    };
    let total = sum(0..steps.len());
    // What is calm ends an incident of this rate.
    let ends = |calm: Compared, incident: Compared| {
        let half = incident.rate() * RECOVERED;
        within(calm)
            || calm.rate() <= allowed
                && is_within(thresholds.bound, seen(calm), half, RECOVERED_ALPHA)
    };
    let begin_of = |at: usize| steps.get(at).map(|step| step.from);
    let end_of = |at: usize| steps.get(at).map(|step| step.to);
    if steps.is_empty() {
        return none(OnsetState::Nothing, allowed, total);
    }
    let mut last = (0..steps.len()).rev().find(|at| is_high(*at));
    // The last stretch that proves something, and the last one at all, which is told of if none does.
    let mut found: Option<Onset> = None;
    let mut open: Option<Onset> = None;
    let mut behind = steps.len();
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
        let is_proven = beyond(sum(from..to));
        let parts = parts(steps.get(from..high + 1).unwrap_or_default(), allowed);
        let parts: Vec<(usize, usize)> = parts
            .into_iter()
            .map(|(first, last)| (from + first, from + last))
            .collect();
        if let Some(found) = &mut found {
            if let Some(earlier) = earlier(&steps, &parts).filter(|_| is_proven) {
                found.earlier = Some(earlier.with(found.earlier));
            }
        } else if let Some(((begin, _), others)) = parts.split_first() {
            let is_last = behind == steps.len();
            let this = Onset {
                state: match (is_proven, is_last && !ended) {
                    (false, _) => OnsetState::Open,
                    (true, true) => OnsetState::Differs,
                    (true, false) => OnsetState::Differed,
                },
                allowed,
                from: begin_of(*begin),
                to: to.checked_sub(1).and_then(end_of),
                stretch: sum(*begin..to),
                before: others
                    .first()
                    .map_or(before, |(_, last)| sum(last + 1..*begin)),
                after: begin.checked_sub(1).and_then(end_of),
                since: sum(to..steps.len()),
                earlier: earlier(&steps, others),
                step_seconds: steps.get(*begin).map_or(0, Step::seconds),
            };
            if is_proven {
                found = Some(this);
            } else {
                open.get_or_insert(this);
            }
        }
        // What proves that it was calm before is behind the stretch before.
        behind = from;
        last = (0..from).rev().find(|at| is_high(*at));
    }
    match (found, open) {
        (Some(found), _) => found,
        (None, Some(open)) if !within(total) => open,
        _ => none(OnsetState::Holds, allowed, total),
    }
}
