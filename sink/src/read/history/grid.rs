//! Which span of time a history is of, and how it is cut into buckets.
//!
//! Clocks of writers may be wrong: an interval that seems to begin long after now is not in the range unless somebody asks
//! for it, and one of 1970 does not stretch it.

use parity_schemas::evidence::Window;
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;

use super::Buckets;

/// Most buckets: each is a few pixels wide on a narrow screen.
pub(in crate::read) const MAX_BUCKETS: i64 = 120;

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = INTERVAL_MICROS;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;
/// Lengths of buckets that people count in. None is shorter than a tally.
const LENGTHS: [i64; 15] = [
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    4 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    WEEK,
];

/// How far back it goes unless somebody says. A longer one takes longer to read, and has buckets in which a night is not seen.
const USUAL: i64 = 10 * DAY;
/// Times beyond this are wrong and are taken for it, so that no length overflows: thousands of centuries.
const FAR: i64 = i64::MAX / 4;
/// How much later than now an interval may begin: clocks of several machines differ, and by how much is not known.
const AHEAD: i64 = HOUR;

/// What somebody asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::read) struct Asked {
    pub(in crate::read) since: Option<Timestamp>,
    pub(in crate::read) until: Option<Timestamp>,
    /// Those of another history, whatever there is.
    pub(in crate::read) buckets: Option<Buckets>,
}

impl Asked {
    /// Of which intervals the first and the last must be known: from the first time on, and before the second.
    pub(in crate::read) fn limits(self, now: Timestamp) -> (i64, i64) {
        // With a minute, as counts do: so who asks again within it asks the same.
        let ahead = |now: Timestamp| now.as_micros().saturating_add(AHEAD).div_euclid(MINUTE) + 1;
        let until = self
            .until
            .map_or_else(|| ahead(now).saturating_mul(MINUTE), Timestamp::as_micros);
        (self.since.map_or(i64::MIN, Timestamp::as_micros), until)
    }

    /// The buckets from the one end to the other, if both are ends of buckets: who names those of another history gets its
    /// buckets, so that the two can be laid upon each other.
    fn exactly(self) -> Option<Grid> {
        let near = |time: Timestamp| time.as_micros().clamp(-FAR, FAR);
        let (from, to) = (near(self.since?), near(self.until?));
        if from >= to {
            return None;
        }
        let micros = length(from, to - 1);
        let are_ends = from.rem_euclid(micros) == 0 && to.rem_euclid(micros) == 0;
        are_ends.then(|| Grid {
            micros,
            first: from.div_euclid(micros),
            count: (to - from).div_euclid(micros),
        })
    }
}

/// Buckets of equal length, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::read) struct Grid {
    /// How long each is.
    pub(in crate::read) micros: i64,
    /// The number of the first, counted from 1970.
    first: i64,
    /// How many there are.
    pub(in crate::read) count: i64,
}

impl Grid {
    /// For intervals of which these are the first and the last in the limits of what was asked.
    pub(in crate::read) fn of(
        asked: Asked,
        (first, last): (Timestamp, Timestamp),
        now: Timestamp,
    ) -> Self {
        let near = |time: Timestamp| time.as_micros().clamp(-FAR, FAR);
        let (first, last) = (near(first), near(last));
        let named = asked.buckets.and_then(Self::like);
        if let Some(grid) = named.or_else(|| asked.exactly()) {
            return grid;
        }
        let begin = if asked.since.is_some() {
            first
        } else {
            first.max(last.saturating_sub(USUAL))
        };
        let end = asked.until.map_or_else(
            || {
                // That nothing was recorded lately is told; but not by a chart of nothing else.
                let quiet = now.as_micros().saturating_sub(last);
                let length = last.saturating_sub(begin).max(HOUR);
                if (0..=length).contains(&quiet) {
                    now.as_micros()
                } else {
                    last
                }
            },
            |until| last.max(near(until).min(now.as_micros()).saturating_sub(1)),
        );
        let micros = length(begin, end);
        let first = begin.div_euclid(micros);
        Self {
            micros,
            first,
            count: end.div_euclid(micros) - first + 1,
        }
    }

    /// Those of another history; `None` if it has none, or more than any has.
    fn like(buckets: Buckets) -> Option<Self> {
        let micros = i64::try_from(buckets.seconds).ok()?.checked_mul(SECOND)?;
        let [from, to] = [buckets.window.from, buckets.window.to].map(Timestamp::as_micros);
        let count = to.checked_sub(from)?.checked_div(micros)?;
        (1..=MAX_BUCKETS).contains(&count).then(|| Self {
            micros,
            first: from.div_euclid(micros),
            count,
        })
    }

    /// The place of the bucket of an interval; `None` if it is in none.
    pub(in crate::read) fn place(&self, begins: i64) -> Option<u32> {
        let place = begins.div_euclid(self.micros) - self.first;
        (0..self.count)
            .contains(&place)
            .then(|| u32::try_from(place).ok())?
    }

    /// When a bucket begins.
    pub(in crate::read) fn begin(&self, place: i64) -> Timestamp {
        Timestamp::from_micros(self.first.saturating_add(place).saturating_mul(self.micros))
    }

    /// From the begin of the first to the end of the last.
    pub(in crate::read) fn window(&self) -> Window {
        Window {
            from: self.begin(0),
            to: self.begin(self.count),
        }
    }
}

/// The shortest length that is not too many buckets.
fn length(begin: i64, end: i64) -> i64 {
    let buckets = |micros: i64| end.div_euclid(micros) - begin.div_euclid(micros) + 1;
    let usual = LENGTHS
        .into_iter()
        .find(|micros| buckets(*micros) <= MAX_BUCKETS);
    usual.unwrap_or_else(|| {
        let weeks = end.saturating_sub(begin) / WEEK / (MAX_BUCKETS - 1) + 1;
        weeks.saturating_mul(WEEK)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    const NOW: i64 = 20_000 * DAY + 5 * HOUR + 7 * MINUTE + 13;

    fn grid(since: Option<i64>, until: Option<i64>, first: i64, last: i64) -> Grid {
        let asked = Asked {
            since: since.map(at),
            until: until.map(at),
            buckets: None,
        };
        Grid::of(asked, (at(first), at(last)), at(NOW))
    }

    #[test]
    fn buckets_are_as_short_as_fits_and_all_of_the_range_is_in_one() {
        for (length, micros) in [
            (0, MINUTE),
            (119 * MINUTE, MINUTE),
            (2 * HOUR, 2 * MINUTE),
            (8 * HOUR, 5 * MINUTE),
            (24 * HOUR, 15 * MINUTE),
            (7 * DAY, 2 * HOUR),
            (9 * DAY, 2 * HOUR),
        ] {
            let grid = grid(None, None, NOW - length, NOW);
            assert_eq!(grid.micros, micros, "{length}");
            assert!(grid.count <= MAX_BUCKETS, "{length}: {grid:?}");
            assert_eq!(grid.place(NOW - length), Some(0), "{length}");
            assert_eq!(grid.place(NOW), u32::try_from(grid.count - 1).ok());
            assert_eq!(grid.place(NOW + grid.micros), None);
            assert_eq!(grid.place(NOW - length - grid.micros), None);
        }
    }

    #[test]
    fn without_since_ten_days_are_enough_and_a_clock_of_1970_stretches_nothing() {
        let usual = grid(None, None, 5, NOW);
        assert_eq!(usual.micros, 3 * HOUR);
        assert!(usual.window().from >= at(NOW - USUAL - usual.micros));
        let all = grid(Some(0), None, 5, NOW);
        assert_eq!(all.place(5), Some(0));
        assert!(all.count <= MAX_BUCKETS, "{all:?}");
    }

    #[test]
    fn silence_up_to_now_is_part_of_it_unless_there_is_little_else() {
        let lately = grid(None, None, NOW - 3 * HOUR, NOW - HOUR);
        assert_eq!(lately.window().to, at(20_000 * DAY + 5 * HOUR + 8 * MINUTE));
        let old = grid(None, None, NOW - 50 * HOUR, NOW - 48 * HOUR);
        assert!(old.window().to < at(NOW - 47 * HOUR), "{old:?}");
        // A clock that was ahead: the end is not before the last interval.
        let ahead = grid(None, None, NOW, NOW + 30 * MINUTE);
        assert!(ahead.place(NOW + 30 * MINUTE).is_some());
    }

    #[test]
    fn the_end_that_is_asked_for_is_the_end() {
        let grid = grid(
            Some(NOW - 4 * HOUR),
            Some(NOW - 2 * HOUR),
            NOW - 3 * HOUR,
            NOW - 3 * HOUR,
        );
        assert_eq!(grid.place(NOW - 3 * HOUR), Some(0));
        assert!(grid.window().to.as_micros() >= NOW - 2 * HOUR, "{grid:?}");
        assert!(grid.window().to.as_micros() < NOW - HOUR, "{grid:?}");
    }

    #[test]
    fn who_asks_for_the_ends_of_another_grid_gets_the_same_buckets() {
        for ago in [MINUTE, HOUR, 9 * HOUR, 3 * DAY, 9 * DAY, 300 * DAY] {
            let whole = grid(Some(NOW - ago), None, NOW - ago, NOW - 7);
            let window = whole.window();
            let ends = [window.from, window.to].map(|end| Some(end.as_micros()));
            // Of something that was there for a moment only.
            let part = grid(ends[0], ends[1], NOW - ago / 2, NOW - ago / 2);
            assert_eq!(part, whole, "{ago}");
        }
    }

    #[test]
    fn buckets_of_another_history_are_taken_without_its_ends() {
        for ago in [MINUTE, HOUR, 9 * HOUR, 3 * DAY, 300 * DAY] {
            let since = NOW - ago;
            let whole = grid(Some(since), None, since, NOW - 7);
            let named = |window, seconds| {
                let asked = Asked {
                    since: Some(at(since)),
                    until: None,
                    buckets: Some(Buckets { window, seconds }),
                };
                let part = Grid::of(asked, (at(NOW - ago / 2), at(NOW - ago / 2)), at(NOW));
                // What was before the time that was asked for is not read.
                assert_eq!(asked.limits(at(NOW)).0, since);
                part
            };
            let seconds = u64::try_from(whole.micros / SECOND).expect("positive");
            assert_eq!(named(whole.window(), seconds), whole, "{ago}");
            for wrong in [0, u64::MAX, 7 * 86_400 * 1_000_000] {
                let count = named(whole.window(), wrong).count;
                assert!((1..=MAX_BUCKETS).contains(&count), "{ago}: {wrong}");
            }
        }
    }

    #[test]
    fn times_at_the_ends_of_what_a_number_holds_make_no_grid_without_an_end() {
        for (first, last) in [
            (i64::MIN, i64::MAX),
            (i64::MIN, i64::MIN),
            (i64::MAX, i64::MAX),
        ] {
            for since in [None, Some(i64::MIN)] {
                let grid = grid(since, None, first, last);
                assert!((1..=MAX_BUCKETS).contains(&grid.count), "{grid:?}");
                let _no_overflow = (grid.window(), grid.place(first), grid.place(last));
            }
        }
    }
}
