//! Finds what two sequences have in common, in order.
//!
//! Elements are numbers, equal for equal elements: their hashes. The longest common subsequence is found by Myers' greedy
//! algorithm ("An O(ND) Difference Algorithm and Its Variations", 1986), whose cost grows with the number of edits and not
//! with the product of the lengths. It counts its steps, because a clock would make the result depend on the load: where
//! there are too many edits for the steps that are allowed, the elements that occur once on each side are the anchors
//! (Bram Cohen's patience diff), which costs n log n and finds less only where elements repeat.

use hashbrown::HashMap;

/// A run of elements that is equal on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) one: usize,
    pub(super) two: usize,
    pub(super) length: usize,
}

/// The runs that both have, in order. At most `steps` are spent on making them as long as possible. Of several equally
/// long solutions, the same one is chosen whichever side comes first.
pub(super) fn common(one: &[u64], two: &[u64], steps: u64) -> Vec<Run> {
    let swapped = one > two;
    let (first, second) = if swapped { (two, one) } else { (one, two) };
    let mut runs = shortest(first, second, steps).unwrap_or_else(|| anchored(first, second));
    if swapped {
        for run in &mut runs {
            (run.one, run.two) = (run.two, run.one);
        }
    }
    runs
}

/// The runs of a shortest edit script; `None` if finding it takes more than `steps`.
fn shortest(one: &[u64], two: &[u64], mut steps: u64) -> Option<Vec<Run>> {
    // For each number of edits, how far each diagonal came in `one`; diagonal -d first, then every second one.
    let mut rounds: Vec<Vec<u32>> = Vec::new();
    loop {
        let edits = rounds.len();
        let mut reached = Vec::with_capacity(edits + 1);
        for position in 0..=edits {
            let begin = match rounds.last() {
                None => 0,
                Some(last) => step(last, position).1,
            };
            let (mut x, mut y) = (begin, begin + edits - 2 * position);
            // Diagonals that have left the rectangle stay where they are; nothing comes from them.
            if x <= one.len() && y <= two.len() {
                let length = same(&one[x..], &two[y..]);
                steps = steps.checked_sub(length as u64)?;
                (x, y) = (x + length, y + length);
                if x == one.len() && y == two.len() {
                    reached.push(x as u32);
                    rounds.push(reached);
                    return Some(walked_back(&rounds, one.len(), two.len()));
                }
            }
            reached.push(x as u32);
        }
        steps = steps.checked_sub(edits as u64 + 1)?;
        rounds.push(reached);
    }
}

/// The diagonal of the previous round, by its position there, from which the one at `position` is entered, and where in
/// `one`: by an insertion from above, or by a deletion from the left, whichever is further.
fn step(last: &[u32], position: usize) -> (usize, usize) {
    let inserted = last.get(position).map(|x| (position, *x as usize));
    let deleted = position
        .checked_sub(1)
        .and_then(|left| Some((left, *last.get(left)? as usize + 1)));
    match (inserted, deleted) {
        (Some(inserted), Some(deleted)) if inserted.1 >= deleted.1 => inserted,
        (_, Some(deleted)) => deleted,
        (Some(inserted), None) => inserted,
        (None, None) => (0, 0),
    }
}

fn same(one: &[u64], two: &[u64]) -> usize {
    one.iter()
        .zip(two)
        .take_while(|(one, two)| one == two)
        .count()
}

/// The runs along the path to the end, traced back through the rounds.
fn walked_back(rounds: &[Vec<u32>], one: usize, two: usize) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut x = one;
    let mut position = (one + rounds.len() - 1 - two) / 2;
    for edits in (0..rounds.len()).rev() {
        let (from, begin) = match edits.checked_sub(1) {
            None => (0, 0),
            Some(before) => step(&rounds[before], position),
        };
        if x > begin {
            runs.push(Run {
                one: begin,
                two: begin + edits - 2 * position,
                length: x - begin,
            });
        }
        if edits > 0 {
            x = rounds[edits - 1][from] as usize;
            position = from;
        }
    }
    runs.reverse();
    runs
}

/// The runs between and around the elements that occur once on each side, as many of these as stand in one order.
fn anchored(one: &[u64], two: &[u64]) -> Vec<Run> {
    // For each class the place on each side; `None` once there are two.
    let mut places: HashMap<u64, [Option<Option<usize>>; 2], foldhash::fast::FixedState> =
        HashMap::default();
    for (side, elements) in [one, two].into_iter().enumerate() {
        for (at, class) in elements.iter().enumerate() {
            let place = &mut places.entry(*class).or_default()[side];
            *place = Some(match place {
                None => Some(at),
                Some(_) => None,
            });
        }
    }
    let anchors: Vec<(usize, usize)> = one
        .iter()
        .enumerate()
        .filter_map(|(at, class)| match places.get(class) {
            Some([Some(Some(_)), Some(Some(other))]) => Some((at, *other)),
            _ => None,
        })
        .collect();
    let mut runs: Vec<Run> = Vec::new();
    let (mut x, mut y) = (0, 0);
    for (at, other) in rising(&anchors) {
        if at < x {
            continue;
        }
        // Equal elements before the anchor belong to its run, too.
        let before = one[x..at]
            .iter()
            .rev()
            .zip(two[y..other].iter().rev())
            .take_while(|(one, two)| one == two)
            .count();
        let (from, begin) = (at - before, other - before);
        let length = same(&one[from..], &two[begin..]);
        runs.push(Run {
            one: from,
            two: begin,
            length,
        });
        (x, y) = (from + length, begin + length);
    }
    runs
}

/// The longest subsequence of `pairs`, which rise in the first member, that rises in the second as well.
fn rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The last pair of the best sequence of each length, and for each pair the one before it.
    let mut tails: Vec<usize> = Vec::new();
    let mut before = vec![None; pairs.len()];
    for (index, pair) in pairs.iter().enumerate() {
        let length = tails.partition_point(|tail| pairs[*tail].1 < pair.1);
        before[index] = length.checked_sub(1).map(|shorter| tails[shorter]);
        if length == tails.len() {
            tails.push(index);
        } else {
            tails[length] = index;
        }
    }
    let mut rising = Vec::with_capacity(tails.len());
    let mut at = tails.last().copied();
    while let Some(index) = at {
        rising.push(pairs[index]);
        at = before[index];
    }
    rising.reverse();
    rising
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Length of the longest common subsequence, by the table.
    fn longest(one: &[u64], two: &[u64]) -> usize {
        let mut table = vec![vec![0; two.len() + 1]; one.len() + 1];
        for (x, first) in one.iter().enumerate() {
            for (y, second) in two.iter().enumerate() {
                table[x + 1][y + 1] = if first == second {
                    table[x][y] + 1
                } else {
                    table[x][y + 1].max(table[x + 1][y])
                };
            }
        }
        table[one.len()][two.len()]
    }

    fn check(one: &[u64], two: &[u64], runs: &[Run]) -> Result<(), TestCaseError> {
        let (mut x, mut y) = (0, 0);
        for run in runs {
            prop_assert!(run.length > 0 && run.one >= x && run.two >= y, "{runs:?}");
            (x, y) = (run.one + run.length, run.two + run.length);
            prop_assert_eq!(&one[run.one..x], &two[run.two..y]);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn the_script_is_a_shortest_one(
            one in prop::collection::vec(0_u64..5, 0..24),
            two in prop::collection::vec(0_u64..5, 0..24),
        ) {
            let runs = shortest(&one, &two, u64::MAX).expect("no limit");
            check(&one, &two, &runs)?;
            let common: usize = runs.iter().map(|run| run.length).sum();
            prop_assert_eq!(common, longest(&one, &two));
        }

        #[test]
        fn anchors_are_common_and_all_of_what_is_unique_when_nothing_moved(
            mut one in prop::collection::vec(0_u64..40, 0..40),
            two in prop::collection::vec(0_u64..40, 0..40),
        ) {
            check(&one, &two, &anchored(&one, &two))?;
            // Only deletions: whatever is unique on both sides is found.
            one.sort_unstable();
            one.dedup();
            let two: Vec<u64> = one.iter().copied().filter(|class| class % 3 > 0).collect();
            let runs = anchored(&one, &two);
            check(&one, &two, &runs)?;
            prop_assert_eq!(runs.iter().map(|run| run.length).sum::<usize>(), two.len());
        }
    }

    #[test]
    fn too_many_edits_for_the_steps_still_find_what_is_unique() {
        let one: Vec<u64> = (0..10_000).collect();
        // Every third one is another, and ten are inserted.
        let mut two: Vec<u64> = one
            .iter()
            .map(|class| {
                if class % 3 == 0 {
                    class + 100_000
                } else {
                    *class
                }
            })
            .collect();
        two.splice(500..500, 200_000..200_010);
        assert_eq!(shortest(&one, &two, 100_000), None);
        let found: usize = common(&one, &two, 100_000)
            .iter()
            .map(|run| run.length)
            .sum();
        assert_eq!(found, one.iter().filter(|class| *class % 3 > 0).count());
    }
}
