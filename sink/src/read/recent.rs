//! What was counted last, apart from the rest: a difference that grew this morning is hidden in the counts of a week.
//!
//! Time is cut into slices of an hour, six hours and a day, as clocks cut it and not as somebody looks. Read is what was counted
//! since the begin of the slice before the present one, so there is always one whole slice in it. Which number that slice has
//! since the evidence began is passed on: whoever tests each of them must know how many came before.

use parity_schemas::evidence::{RecentCounts, Window};
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;

use super::Selection;
use super::carry::ReadEarlier;
use crate::error::StoreError;

const HOUR_MICROS: i64 = 60 * 60 * 1_000_000;
/// How long a slice is. An hour shows soon what grew, where there is traffic enough; a day what is rare.
const SLICES: [i64; parity_schemas::evidence::RECENT_SLICES] =
    [HOUR_MICROS, 6 * HOUR_MICROS, 24 * HOUR_MICROS];

/// Reads it, if it is asked for. `window` is of what was counted under the rules of `identity`.
pub(super) fn recent(
    store: &impl ReadEarlier,
    (identity, selection): (&Identity, &Selection),
    window: Option<Window>,
) -> Result<Vec<RecentCounts>, StoreError> {
    let Some(window) = window.filter(|_| selection.with_recent) else {
        return Ok(Vec::new());
    };
    let slices = SLICES
        .into_iter()
        .filter_map(|length| slice(window, length));
    let read = slices.map(|(from, number)| {
        let of_slice = Selection {
            since: Some(from),
            with_latency: false,
            ..selection.clone()
        };
        let sums = store.sums_of(identity, &of_slice)?;
        Ok(sums.into_recent(from, number))
    });
    read.collect()
}

/// When the slice before the last one of a window began, and its number in the window; `None` where that is all of it.
fn slice(window: Window, length: i64) -> Option<(Timestamp, u64)> {
    let place = |time: Timestamp| time.as_micros().div_euclid(length);
    // Of a window that ends with a slice, the last one is that slice.
    let last = place(window.to.saturating_add_micros(-1));
    let number = last - 1 - place(window.from);
    let number = u64::try_from(number).ok().filter(|number| *number > 0)?;
    Some((Timestamp::from_micros((last - 1) * length), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_the_last_whole_one_and_what_came_since() {
        let at = |minutes: i64| Timestamp::from_micros(minutes * 60_000_000);
        let of = |from, to| {
            let window = Window {
                from: at(from),
                to: at(to),
            };
            slice(window, HOUR_MICROS).map(|(from, number)| (from.as_micros() / 60_000_000, number))
        };
        // All of it would be in it.
        assert_eq!(of(0, 60), None);
        assert_eq!(of(10, 61), None);
        assert_eq!(of(10, 120), None);
        assert_eq!(of(10, 121), Some((60, 1)));
        assert_eq!(of(10, 180), Some((60, 1)));
        assert_eq!(of(59, 7 * 24 * 60 + 1), Some((167 * 60, 167)));
    }
}
