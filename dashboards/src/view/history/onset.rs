//! Since when the services differ by more than is allowed.
//!
//! A bucket has too high a rate if more of it differs than is allowed. A few calm buckets in between do not end a stretch of
//! such buckets unless they prove that the rate was within what is allowed: with little traffic most buckets of a candidate
//! that fails once in a thousand requests have nothing to show. Nor is a stretch told of that proves nothing, if another one
//! does. The bounds are those of the gate, for each stretch as if it were the only one: stretches are chosen because they
//! are high, so this tells where to look and decides nothing.

use parity_comparator::bounds::{Seen, is_beyond, is_within};
use parity_schemas::evidence::Thresholds;
use parity_schemas::history::{Compared, History, Onset, OnsetState};
use parity_schemas::time::Timestamp;

use super::hour::{Hour, length};
use crate::view::words::{grouped, percent};

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
        counted.is_some_and(|compared| compared.differing > 0 && compared.rate() > allowed)
    };
    let sum = |range: std::ops::Range<usize>| {
        let part = buckets.get(range).unwrap_or_default().iter();
        part.fold(Compared::default(), |sum, (_, compared)| {
            sum.with(*compared)
        })
    };
    let total = sum(0..buckets.len());
    let none = |state| Onset {
        state,
        allowed,
        from: None,
        to: None,
        stretch: Compared::default(),
        before: total,
        after: None,
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
        let ended = within(calm);
        let to = if ended { high + 1 } else { behind };
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
            if within(before) {
                break;
            }
        }
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

/// What is known of it and what is not, in one sentence or two; `None` if there is nothing to say. Of one route, if it is named.
pub(super) fn sentence(
    onset: &Onset,
    route: Option<&str>,
    history: &History,
    hour: &Hour,
) -> Option<String> {
    let named = |lower: &str, upper: &str| {
        route.map_or_else(|| upper.to_owned(), |route| format!("{route} {lower}"))
    };
    let of = |part: Compared| format!("{} of {}", percent(part.rate()), grouped(part.compared));
    let allowed = percent(onset.allowed);
    let begin = match (onset.state, onset.from, onset.to) {
        (OnsetState::Differs, Some(from), _) => format!(
            "{} since {}: {} compared requests since then, {allowed} allowed",
            named("differs", "Differs"),
            hour.told(from),
            of(onset.stretch)
        ),
        (OnsetState::Differed, Some(from), Some(to)) => format!(
            "{} from {} to {}, {} compared requests; since then the rate is within the {allowed} allowed",
            named("differed", "Differed"),
            hour.told(from),
            hour.told(to),
            of(onset.stretch)
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
        None => format!(
            "; nothing was compared before {}, so it may be older",
            if history.window.is_some_and(|window| window.from == from) {
                "in this range"
            } else {
                "that"
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
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000;

    /// Each bucket: its minute, what differs, of how many.
    fn found(buckets: &[(i64, u64, u64)]) -> (OnsetState, Option<i64>, Option<i64>, Option<i64>) {
        let thresholds = Thresholds {
            max_mismatch_rate: 0.01,
            ..Thresholds::default()
        };
        let buckets: Vec<_> = buckets
            .iter()
            .map(|(minute, differing, compared)| {
                let from = Timestamp::from_micros(minute * MINUTE);
                let compared = Compared {
                    compared: *compared,
                    differing: *differing,
                };
                (from, compared)
            })
            .collect();
        let found = onset(&buckets, MINUTE, &thresholds);
        let minute = |time: Option<Timestamp>| time.map(|time| time.as_micros() / MINUTE);
        (
            found.state,
            minute(found.from),
            minute(found.to),
            minute(found.after),
        )
    }

    #[test]
    fn it_differs_since_the_first_high_bucket_up_to_the_end() {
        use OnsetState::{Differs, Holds, Nothing};
        for (buckets, expected) in [
            (vec![], (Nothing, None, None, None)),
            (vec![(0, 0, 0)], (Nothing, None, None, None)),
            (
                vec![(0, 0, 5_000), (1, 5, 5_000)],
                (Holds, None, None, None),
            ),
            (
                vec![(0, 0, 5_000), (1, 500, 5_000), (2, 500, 5_000)],
                (Differs, Some(1), Some(3), Some(1)),
            ),
            // Nothing was compared in between: it may be older than the first bucket that shows it.
            (
                vec![(0, 0, 5_000), (1, 0, 0), (7, 500, 5_000), (8, 0, 0)],
                (Differs, Some(7), Some(8), Some(1)),
            ),
            (vec![(3, 500, 5_000)], (Differs, Some(3), Some(4), None)),
        ] {
            assert_eq!(found(&buckets), expected, "{buckets:?}");
        }
    }

    #[test]
    fn calm_buckets_end_it_only_if_they_prove_that_it_holds() {
        use OnsetState::{Differed, Differs};
        // Once in twenty requests, with little traffic.
        let thin: Vec<(i64, u64, u64)> = (0..200)
            .map(|minute| (minute, u64::from(minute >= 100 && minute % 2 == 0), 10))
            .collect();
        let (state, from, ..) = found(&thin);
        assert_eq!((state, from), (Differs, Some(100)));
        assert_eq!(
            found(&[(0, 0, 5_000), (1, 500, 5_000), (2, 0, 5_000)]),
            (Differed, Some(1), Some(2), Some(1))
        );
        // The second is what it is about, the first one ended.
        assert_eq!(
            found(&[(0, 500, 5_000), (1, 0, 5_000), (2, 500, 5_000), (3, 0, 3)]),
            (Differs, Some(2), Some(4), Some(2))
        );
    }

    #[test]
    fn a_stretch_that_proves_nothing_hides_none_that_does() {
        use OnsetState::{Differed, Holds, Open};
        assert_eq!(
            found(&[(0, 500, 5_000), (1, 0, 5_000), (2, 1, 10), (3, 0, 5_000)]),
            (Differed, Some(0), Some(1), None)
        );
        // One of ten is too many, but one of ten thousand is not.
        assert_eq!(
            found(&[(0, 0, 5_000), (1, 1, 10), (2, 0, 5_000)]),
            (Holds, None, None, None)
        );
        assert_eq!(
            found(&[(0, 0, 10), (1, 1, 10)]),
            (Open, Some(1), Some(2), Some(1))
        );
    }
}
