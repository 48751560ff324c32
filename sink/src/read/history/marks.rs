//! What changed in the range of a history: versions and rules, as tallies name them, and the configuration, as terms do.
//!
//! Tallies tell when something was really in force; a mirror writes its terms only once, so terms alone would not tell that
//! it went back. Two versions may count side by side, as in a rolling deployment or beside a canary: only what comes is
//! marked and not what goes, and one that was there before only if it is alone from then on.

use std::collections::{BTreeMap, HashSet};

use parity_schemas::edited::Edited;
use parity_schemas::evidence::Window;
use parity_schemas::history::{Mark, MarkKind};
use parity_schemas::terms::Coverage;
use parity_schemas::time::Timestamp;

/// Most marks of one kind of source: more of them are no longer told apart in a chart, and the latest matter.
const MAX_MARKS: usize = 200;

/// Terms that began to hold.
pub(in crate::read) struct Termed {
    /// When.
    pub(in crate::read) time: Timestamp,
    /// What of the traffic is compared.
    pub(in crate::read) coverage: Coverage,
}

/// Changes of versions and rules. `began` says when the first and last interval of each identity began, by bucket.
pub(super) fn of(
    identities: &[[String; 3]],
    began: &BTreeMap<(u32, u32), (i64, i64)>,
) -> Vec<Mark> {
    let mut marks = Vec::new();
    // Those of the last bucket that has any, with when they were last there.
    let mut before: Vec<(u32, i64)> = Vec::new();
    let mut bucket: Vec<(u32, i64, i64)> = Vec::new();
    let mut seen = HashSet::new();
    let mut place = None;
    for ((at, identity), (first, last)) in began {
        if place != Some(*at) {
            place = Some(*at);
            step(
                &mut marks,
                identities,
                (&mut before, &mut seen),
                &mut bucket,
            );
        }
        bucket.push((*identity, *first, *last));
    }
    step(
        &mut marks,
        identities,
        (&mut before, &mut seen),
        &mut bucket,
    );
    let surplus = marks.len().saturating_sub(MAX_MARKS);
    marks.drain(..surplus);
    marks
}

/// Marks what came in a bucket, and goes on to the next.
fn step(
    marks: &mut Vec<Mark>,
    identities: &[[String; 3]],
    (before, seen): (&mut Vec<(u32, i64)>, &mut HashSet<u32>),
    bucket: &mut Vec<(u32, i64, i64)>,
) {
    if bucket.is_empty() {
        return;
    }
    bucket.sort_by_key(|(identity, first, _)| (*first, *identity));
    let mut there = before.clone();
    for (identity, first, last) in bucket.iter().copied() {
        let mut others = bucket.iter().filter(|(other, ..)| *other != identity);
        let is_alone = others.all(|(_, _, last)| *last < first);
        let is_there = there.iter().any(|(known, _)| *known == identity)
            || !(seen.insert(identity) || is_alone);
        let previous = there.iter().max_by_key(|(_, last)| *last);
        if let (false, Some((previous, _))) = (is_there, previous)
            && let (Some(from), Some(to)) = (
                identities.get(*previous as usize),
                identities.get(identity as usize),
            )
        {
            let kinds = [
                MarkKind::LegacyVersion,
                MarkKind::CandidateVersion,
                MarkKind::Rules,
            ];
            for ((kind, from), to) in kinds.into_iter().zip(from).zip(to) {
                if from != to {
                    marks.push(Mark {
                        time: Timestamp::from_micros(first),
                        kind,
                        from: from.clone(),
                        to: to.clone(),
                        about: String::new(),
                        names: Edited::default(),
                    });
                }
            }
        }
        there.retain(|(known, _)| *known != identity);
        there.push((identity, last));
    }
    *before = bucket
        .drain(..)
        .map(|(identity, _, last)| (identity, last))
        .collect();
}

/// Changes of the configuration within the window. The terms are in order, with those that held before it.
pub(super) fn of_terms(terms: &[Termed], window: Window) -> Vec<Mark> {
    let mut changes = terms.windows(2).filter_map(|pair| match pair {
        [before, after] => (before.coverage != after.coverage
            && window.from <= after.time
            && after.time < window.to)
            .then_some(after.time),
        _ => None,
    });
    let marks = changes.by_ref().map(|time| Mark {
        time,
        kind: MarkKind::Configuration,
        from: String::new(),
        to: String::new(),
        about: String::new(),
        names: Edited::default(),
    });
    let mut marks: Vec<Mark> = marks.collect();
    let surplus = marks.len().saturating_sub(MAX_MARKS);
    marks.drain(..surplus);
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row: bucket, identity, first and last interval.
    fn told(rows: &[(u32, u32, i64, i64)]) -> Vec<String> {
        let identities = [["l1", "c1", "r1"], ["l1", "c2", "r1"], ["l1", "c2", "r2"]];
        let identities = identities.map(|identity| identity.map(str::to_owned));
        let began = rows
            .iter()
            .map(|(place, identity, first, last)| ((*place, *identity), (*first, *last)));
        of(&identities, &began.collect())
            .into_iter()
            .map(|mark| {
                format!(
                    "{} {} {}→{}",
                    mark.time.as_micros(),
                    mark.kind,
                    mark.from,
                    mark.to
                )
            })
            .collect()
    }

    #[test]
    fn what_comes_is_marked_when_it_first_counts_and_what_goes_is_not() {
        let none: [&str; 0] = [];
        assert_eq!(told(&[]), none);
        assert_eq!(told(&[(0, 0, 1, 5), (1, 0, 10, 15)]), none);
        let next = ["12 candidate_version c1→c2"];
        assert_eq!(told(&[(0, 0, 1, 5), (1, 0, 10, 11), (1, 1, 12, 15)]), next);
        // Side by side for a while.
        let rolling = [
            (0, 0, 1, 5),
            (1, 0, 10, 15),
            (1, 1, 12, 15),
            (2, 0, 20, 21),
            (2, 1, 20, 25),
            (3, 1, 30, 35),
        ];
        assert_eq!(told(&rolling), next);
        // A canary that is not always asked.
        let canary = [
            (0, 0, 1, 5),
            (1, 0, 10, 15),
            (1, 1, 12, 15),
            (2, 0, 20, 25),
            (3, 0, 30, 35),
            (3, 1, 30, 35),
            (4, 0, 40, 45),
        ];
        assert_eq!(told(&canary), next);
        // A gap hides nothing.
        assert_eq!(told(&[(0, 0, 1, 5), (9, 1, 12, 15)]), next);
    }

    #[test]
    fn going_back_is_a_change_and_so_is_each_of_several() {
        assert_eq!(
            told(&[(0, 0, 1, 5), (1, 1, 10, 15), (2, 0, 20, 25), (3, 2, 30, 35)]),
            [
                "10 candidate_version c1→c2",
                "20 candidate_version c2→c1",
                "30 candidate_version c1→c2",
                "30 rules r1→r2"
            ]
        );
    }

    #[test]
    fn another_sampling_is_a_change_of_the_configuration() {
        let terms = |samples: &[(i64, f64)]| -> Vec<Termed> {
            let terms = samples.iter().map(|(time, sample)| Termed {
                time: Timestamp::from_micros(*time),
                coverage: Coverage {
                    sample: *sample,
                    ..Coverage::default()
                },
            });
            terms.collect()
        };
        let window = Window {
            from: Timestamp::from_micros(10),
            to: Timestamp::from_micros(20),
        };
        let times = |samples: &[(i64, f64)]| -> Vec<i64> {
            let marks = of_terms(&terms(samples), window).into_iter();
            marks.map(|mark| mark.time.as_micros()).collect()
        };
        let none: [i64; 0] = [];
        assert_eq!(times(&[(12, 1.0)]), none);
        assert_eq!(
            times(&[(1, 1.0), (12, 0.5), (13, 0.5), (19, 1.0), (20, 0.1)]),
            [12, 19]
        );
        assert_eq!(times(&[(1, 1.0), (2, 0.5)]), none);
    }
}
