//! How far a sample speaks for what it was taken from.
//!
//! Mismatches are asked about again at a rate, not in a share: one process may ask about each of ten, another about one of a
//! thousand, and on some days nobody asks. What the rechecks of some show says nothing of the others. So the mismatches are
//! divided (by process and day), and each part is spoken for by its own rechecks alone.
//!
//! Let a part have w mismatches and n rechecks, and let f of the w be faults. A recheck of a fault shows it, so f·n/w are
//! expected to be seen. Whatever the faults of the parts are, their number is at most the largest w/n times all that are
//! expected to be seen, and for that there is a bound, because it is counted. So what counts is the largest w/n, as if all
//! mismatches had been asked about as rarely. Parts where that is too large are better taken as not asked about at all:
//! then all their mismatches may be faults, and the rest is known the better. Which parts those are is decided by w and n
//! alone, never by what was seen, so it cannot be chosen to hide anything.

/// What is expected to be seen at the most if nothing was: at an error of 1 in 1,000. Decides only which parts are left out.
const UNSEEN: f64 = 6.9;

/// How far the rechecks of several parts speak for their mismatches together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Mismatches of parts in which too few were asked about again: nothing speaks for them.
    pub unsampled: u64,
    /// So many rechecks, evenly spread over the other mismatches, would say as much as those that there are.
    pub even: u64,
}

/// Decides which parts, each with its mismatches and rechecks, are spoken for. Their order does not matter.
pub fn sample(parts: impl IntoIterator<Item = (u64, u64)>) -> Sampled {
    let parts = parts.into_iter().filter(|(mismatches, _)| *mismatches > 0);
    // More rechecks than mismatches are a fault of a store.
    let mut parts: Vec<(u64, u64)> = parts
        .map(|(mismatches, rechecks)| (mismatches, rechecks.min(mismatches)))
        .collect();
    // Those that were asked about most rarely come first.
    parts.sort_unstable_by(|one, other| {
        let (mine, its) = (product(one.0, other.1), product(other.0, one.1));
        its.cmp(&mine).then(one.cmp(other))
    });
    let mut left: u64 = parts.iter().map(|(mismatches, _)| mismatches).sum();
    let mut unsampled = 0;
    let mut best = (f64::INFINITY, Sampled::default());
    for (mismatches, rechecks) in &parts {
        if *rechecks > 0 {
            let each = *mismatches as f64 / *rechecks as f64;
            let may_hide = unsampled as f64 + (UNSEEN * each).min(left as f64);
            if may_hide < best.0 {
                let even = product(left, *rechecks) / u128::from(*mismatches);
                let even = u64::try_from(even).unwrap_or(u64::MAX);
                best = (may_hide, Sampled { unsampled, even });
            }
        }
        unsampled += mismatches;
        left -= mismatches;
    }
    if best.0.is_infinite() {
        return Sampled { unsampled, even: 0 };
    }
    best.1
}

fn product(one: u64, other: u64) -> u128 {
    u128::from(one) * u128::from(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(parts: &[(u64, u64)]) -> (u64, u64) {
        let found = sample(parts.iter().copied());
        let mut reversed = parts.to_vec();
        reversed.reverse();
        assert_eq!(sample(reversed), found);
        (found.unsampled, found.even)
    }

    #[test]
    fn one_part_is_spoken_for_by_all_its_rechecks_and_none_by_none() {
        assert_eq!(sampled(&[(1_000, 100)]), (0, 100));
        assert_eq!(sampled(&[(3, 3), (0, 0)]), (0, 3));
        assert_eq!(sampled(&[(5, 1)]), (0, 1));
        assert_eq!(sampled(&[(1_000, 0)]), (1_000, 0));
        assert_eq!(sampled(&[]), (0, 0));
    }

    #[test]
    fn a_part_about_which_nobody_asked_is_not_spoken_for_by_the_others() {
        assert_eq!(sampled(&[(10_000, 1_000), (10_000, 0)]), (10_000, 1_000));
    }

    #[test]
    fn a_large_part_with_few_rechecks_makes_all_count_as_few() {
        // One of 500 on the one side, so as good as one of 500 of all.
        assert_eq!(sampled(&[(10_000, 1_000), (10_000, 20)]), (0, 40));
        // A day is rarer asked about than another, and says nearly as much.
        assert_eq!(sampled(&[(10_000, 1_000), (10_000, 700)]), (0, 1_400));
    }

    #[test]
    fn a_small_part_with_few_rechecks_is_better_left_out() {
        assert_eq!(sampled(&[(10_000, 1_000), (30, 1)]), (30, 1_000));
        assert_eq!(sampled(&[(10_000, 1_000), (30, 3)]), (0, 1_003));
    }

    #[test]
    fn counts_beyond_any_store_are_no_overflow() {
        let most = u64::MAX / 4;
        assert_eq!(sampled(&[(most, most), (most, most)]), (0, 2 * most));
        assert_eq!(sampled(&[(1, most)]), (0, 1));
    }

    /// A tenth of a part is faulty, whichever part it is: what the rechecks show bounds it, however they are spread.
    #[test]
    fn no_spread_of_the_rechecks_hides_more_than_the_bound_says() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let (mut wrong, runs) = (0, 4_000);
        for _ in 0..runs {
            let parts: Vec<(u64, u64)> = (0..=random(6))
                .map(|_| {
                    let mismatches = 1 + random(2_000);
                    (mismatches, random(mismatches.min(300) + 1))
                })
                .collect();
            let of_part: Vec<u64> = parts
                .iter()
                .map(|(of, _)| random(of + 1) / (1 + random(40)))
                .collect();
            let mut seen = 0;
            for ((mismatches, rechecks), faults) in parts.iter().zip(&of_part) {
                // Without replacement.
                let (mut left, mut bad) = (*mismatches, *faults);
                for _ in 0..*rechecks {
                    if random(left) < bad {
                        (bad, seen) = (bad - 1, seen + 1);
                    }
                    left -= 1;
                }
            }
            let all: u64 = parts.iter().map(|(of, _)| of).sum();
            let found = sample(parts);
            let each = (all - found.unsampled) as f64 / found.even.max(1) as f64;
            // Of a Poisson count, by Chernoff: wrong less than once in a thousand times.
            let of_seen = f64::from(seen);
            let most = of_seen + UNSEEN + (UNSEEN * UNSEEN + 2.0 * UNSEEN * of_seen).sqrt();
            let bound = found.unsampled as f64 + each * most;
            wrong += u32::from((of_part.iter().sum::<u64>() as f64) > bound);
        }
        assert!(wrong * 1_000 <= runs, "{wrong} of {runs}");
    }
}
