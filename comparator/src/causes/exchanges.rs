//! How many mismatches have at least one of several groups.
//!
//! Counts of groups must not be added up, because one mismatch may be in several groups. The tallies also count how many
//! mismatches had exactly which set of groups, which gives the number exactly, unless some of a route's mismatches are in
//! no stored set. Then it lies within bounds.

use std::collections::HashMap;

use parity_schemas::evidence::SetEvidence;

/// At least and at most so many mismatches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// So many are known.
    pub at_least: u64,
    /// There cannot be more.
    pub at_most: u64,
}

/// The sets of all routes, so that the mismatches of a few groups are found without looking at all sets.
pub struct Exchanges<'a>(HashMap<&'a str, OfRoute<'a>>);

#[derive(Default)]
struct OfRoute<'a> {
    /// The mismatches of each set.
    sets: Vec<u64>,
    /// The positions of the sets that each group is in.
    sets_of: HashMap<&'a str, Vec<usize>>,
    /// Mismatches that are in no set; `None` where it is not known how many there are in all.
    outside: Option<u64>,
}

/// One of several groups whose mismatches are counted.
#[derive(Clone, Debug)]
pub struct Counted<'a> {
    /// `METHOD /template`.
    pub route: &'a str,
    /// A mismatch has one pair of status codes.
    pub codes: (u16, u16),
    /// Its names: several, if it stands for groups that differ in their shape.
    pub fingerprints: &'a [String],
    /// How many mismatches it has.
    pub bounds: Bounds,
}

impl<'a> Exchanges<'a> {
    /// Of these sets, and of all mismatches of each route.
    pub fn of(
        sets: &'a [SetEvidence],
        mismatches: impl IntoIterator<Item = (&'a str, u64)>,
    ) -> Self {
        let mut routes: HashMap<&str, OfRoute<'_>> = HashMap::new();
        for (route, mismatches) in mismatches {
            routes.entry(route).or_default().outside = Some(mismatches);
        }
        for set in sets {
            let of_route = routes.entry(&set.route).or_default();
            let count = set.classes.values();
            let count = count.fold(0, |sum: u64, count| sum.saturating_add(*count));
            let position = of_route.sets.len();
            of_route.sets.push(count);
            of_route.outside = of_route
                .outside
                .map(|outside| outside.saturating_sub(count));
            for name in &set.fingerprints {
                of_route.sets_of.entry(name).or_default().push(position);
            }
        }
        Self(routes)
    }

    /// How many mismatches of a route are in sets that have one of these groups.
    pub fn known<'n>(&self, route: &str, names: impl IntoIterator<Item = &'n str>) -> u64 {
        let Some(of_route) = self.0.get(route) else {
            return 0;
        };
        let names = names.into_iter();
        let mut sets: Vec<usize> = names
            .filter_map(|name| of_route.sets_of.get(name))
            .flatten()
            .copied()
            .collect();
        sets.sort_unstable();
        sets.dedup();
        sets.into_iter()
            .fold(0, |sum: u64, set| sum.saturating_add(of_route.sets[set]))
    }

    /// How many mismatches have one of these groups.
    pub fn bounds<'n>(&self, groups: impl IntoIterator<Item = Counted<'n>>) -> Bounds {
        let mut by_route: HashMap<&str, Vec<Counted<'_>>> = HashMap::new();
        for group in groups {
            by_route.entry(group.route).or_default().push(group);
        }
        let mut all = Bounds::default();
        for (route, groups) in by_route {
            let of_route = self.bounds_on(route, &groups);
            all.at_least = all.at_least.saturating_add(of_route.at_least);
            all.at_most = all.at_most.saturating_add(of_route.at_most);
        }
        all
    }

    fn bounds_on(&self, route: &str, groups: &[Counted<'_>]) -> Bounds {
        let names = groups.iter().flat_map(|group| group.fingerprints);
        let known = self.known(route, names.map(String::as_str));
        let outside = self.0.get(route).and_then(|of_route| of_route.outside);
        // Groups of one pair of codes may have the same mismatches, so of each pair only the largest is sure.
        let mut largest: HashMap<(u16, u16), u64> = HashMap::new();
        for group in groups {
            let largest = largest.entry(group.codes).or_default();
            *largest = group.bounds.at_least.max(*largest);
        }
        let at_least = largest
            .values()
            .fold(0_u64, |sum, count| sum.saturating_add(*count))
            .max(known);
        let sum = groups
            .iter()
            .fold(0_u64, |sum, group| sum.saturating_add(group.bounds.at_most));
        Bounds {
            at_least,
            at_most: outside
                .map_or(sum, |outside| sum.min(known.saturating_add(outside)))
                .max(at_least),
        }
    }
}

#[cfg(test)]
mod tests {
    use parity_schemas::record::MismatchClass;

    use super::*;

    fn set(route: &str, groups: &str, count: u64) -> SetEvidence {
        SetEvidence {
            route: route.to_owned(),
            fingerprints: groups.split(' ').map(str::to_owned).collect(),
            classes: [(MismatchClass::Confirmed, count)].into(),
            never_asked: 0,
        }
    }

    /// `ROUTE CODE NAMES COUNT` of each group.
    fn bounds(
        sets: &[SetEvidence],
        mismatches: &[(&str, u64)],
        groups: &[(&str, u16, &str, u64)],
    ) -> (u64, u64) {
        let names: Vec<Vec<String>> = groups
            .iter()
            .map(|(_, _, names, _)| names.split(' ').map(str::to_owned).collect())
            .collect();
        let exchanges = Exchanges::of(sets, mismatches.iter().copied());
        let counted = groups
            .iter()
            .zip(&names)
            .map(|((route, code, _, count), names)| Counted {
                route,
                codes: (200, *code),
                fingerprints: names,
                bounds: Bounds {
                    at_least: *count,
                    at_most: *count,
                },
            });
        let Bounds { at_least, at_most } = exchanges.bounds(counted);
        (at_least, at_most)
    }

    #[test]
    fn sets_tell_how_many_mismatches_several_groups_share() {
        let sets = [
            set("/a", "1 2", 50),
            set("/a", "2", 20),
            set("/a", "3", 30),
            set("/b", "1", 5),
        ];
        let all = [("/a", 100), ("/b", 5)];
        assert_eq!(
            bounds(&sets, &all, &[("/a", 200, "1", 50), ("/a", 200, "2", 70)]),
            (70, 70)
        );
        assert_eq!(
            bounds(&sets, &all, &[("/a", 200, "1", 50), ("/a", 200, "3", 30)]),
            (80, 80)
        );
        // Two shapes of one place, and the same name on another route.
        assert_eq!(
            bounds(&sets, &all, &[("/a", 200, "1 2", 70), ("/b", 200, "1", 5)]),
            (75, 75)
        );
    }

    #[test]
    fn what_is_in_no_set_leaves_the_number_open() {
        let groups = [("/a", 200, "1", 50), ("/a", 200, "2", 40)];
        assert_eq!(bounds(&[], &[("/a", 1_000)], &groups), (50, 90));
        assert_eq!(bounds(&[], &[("/a", 60)], &groups), (50, 60));
        let part = [set("/a", "1 2", 30)];
        assert_eq!(bounds(&part, &[("/a", 60)], &groups), (50, 60));
        assert_eq!(bounds(&part, &[], &groups), (50, 90));
        // One exchange has one pair of codes.
        let codes = [("/a", 200, "1", 50), ("/a", 404, "2", 40)];
        assert_eq!(bounds(&[], &[("/a", 1_000)], &codes), (90, 90));
    }

    #[test]
    fn counts_that_contradict_each_other_are_no_panic() {
        let huge = u64::MAX;
        assert_eq!(bounds(&[], &[("/a", 0)], &[("/a", 200, "1", 7)]), (7, 7));
        assert_eq!(
            bounds(&[], &[], &[("/a", 200, "1", huge), ("/b", 200, "1", huge)]),
            (huge, huge)
        );
        assert_eq!(
            bounds(&[set("/a", "1", 9)], &[("/a", 3)], &[("/a", 200, "1", 2)]),
            (9, 9)
        );
    }
}
