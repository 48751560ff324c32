//! Which part of the chance of a wrong fail each test has.
//!
//! A gate fails if any route is proven to differ too much, so all tests of routes together may be wrong with a chance of α,
//! 1 − confidence. Who looks once knows how many tests there are, m, and each has α / m (Bonferroni). Who looks again sees
//! routes come. If the first was tested at α, two then at α / 2 and so on, then the chances that were taken add up to α (1 + ½
//! + ⅓ + …): three α with ten routes, five with a hundred.
//!
//! So for any number of looks, each of m tests has α m⁻ˢ / ζ(s), with s = 4/3. However the tests come, one by one or together,
//! that which is the i-th to come is never looked at with fewer than i tests, so never at more than α i⁻ˢ / ζ(s), and these
//! add up to α. It is the spending of Foster and Stine (2008, "α-investing") with the sequence that Tian and Ramdas use for the
//! familywise error (2021, "Online control of the familywise error rate"), except that earlier tests give up what they have
//! more than the last. That costs something, and buys that nothing depends on the order in which routes came: it is not
//! stored, is not the same on all instances, and would have to be kept over edits of rules, late records and routes that count
//! only later, such as one that was first asked for by a scanner.
//!
//! *Why 4/3.* Against α / m a fail needs more evidence by the factor m^⅓ ζ(s): 4 for one test, 8 for ten, 17 for a hundred. On a
//! route of which one of a hundred differs and one of a thousand may, each factor of 4 takes about a hundred requests. A sum that
//! ends only for ever more routes must lose some such factor, and 4/3 loses about the same for a few routes and for hundreds.
//!
//! *What it rests on.* The number of tests may only grow while the same question is asked. It does: a route that was compared
//! once stays compared, and one that is served stays served. Both must not depend on whether answers differ, and do not. After a
//! change of rules some routes begin anew, and are tests as before although nothing of them may have come yet. Such a change
//! is one more attempt for just these routes. And a window that moves with each look, as by `--since 15m`, is another question
//! each time: then the chance is that of each look.

use std::collections::HashSet;

use parity_schemas::evidence::carried::CarriedRules;
use parity_schemas::evidence::{Bound, Thresholds};

use crate::bounds::part_of_any;

/// How likely a decision may be wrong.
pub(super) fn wrong(thresholds: &Thresholds) -> f64 {
    1.0 - thresholds.confidence
}

/// What is tested.
#[derive(Clone, Copy)]
pub(super) struct Tested {
    /// Routes that are tested one by one.
    pub(super) routes: usize,
    /// Routes of which anything counts in all together: those, and the ones that are not served.
    pub(super) in_all: usize,
    /// Those that must be proven on their own.
    pub(super) required: usize,
}

/// The chance of a wrong fail that each test has.
pub(super) fn of_each(thresholds: &Thresholds, tested: Tested) -> f64 {
    let Tested {
        routes,
        in_all,
        required,
    } = tested;
    // All together is a test of its own where it is not that of a single route.
    let of_all = usize::from(routes != 1 || in_all > 1);
    let tests = routes + of_all;
    let tests = tests + further_tests(thresholds, required);
    match thresholds.bound {
        Bound::OneLook => wrong(thresholds) / tests as f64,
        Bound::AnyTime => wrong(thresholds) * part_of_any(tests as u64),
    }
}

/// How many tests there are besides those of differences: each limit of a latency, and the cap of the candidate's failures,
/// for all requests and for each required route.
fn further_tests(thresholds: &Thresholds, required: usize) -> usize {
    let limits = thresholds.max_latency.len();
    let caps = usize::from(thresholds.max_candidate_errors.is_some());
    (limits + caps) * (1 + required)
}

/// How many routes that are not `tested` now were recorded under earlier rules and begin anew. Not all of them are named; of
/// the others each may be one that is not tested.
pub(super) fn started_anew(carried: &[CarriedRules], tested: &HashSet<&str>) -> usize {
    let named = carried.iter().flat_map(|rules| &rules.anew);
    let named: HashSet<&str> = named
        .filter(|anew| anew.is_missed())
        .map(|anew| anew.route.as_str())
        .filter(|route| !tested.contains(route))
        .collect();
    let unnamed = carried
        .iter()
        .map(|rules| rules.routes_anew.saturating_sub(rules.anew.len() as u64));
    let unnamed = usize::try_from(unnamed.max().unwrap_or(0)).unwrap_or(usize::MAX);
    named.len().saturating_add(unnamed)
}

#[cfg(test)]
mod tests {
    use parity_schemas::tally::Counts;

    use super::*;

    fn is(one: f64, two: f64) -> bool {
        (one - two).abs() < 1e-12
    }

    fn share(bound: Bound, routes: usize) -> f64 {
        let thresholds = Thresholds {
            bound,
            confidence: 0.0,
            ..Thresholds::default()
        };
        let tested = Tested {
            routes,
            in_all: routes,
            required: 0,
        };
        of_each(&thresholds, tested)
    }

    #[test]
    fn whatever_number_of_tests_comes_one_by_one_all_their_parts_are_at_most_the_whole() {
        const MANY: usize = 1_000_000;
        let begin = |tests: usize| part_of_any(tests as u64);
        let sum: f64 = (1..=MANY).map(begin).sum();
        // What is left beyond is less than the integral.
        let rest = MANY as f64 * part_of_any(MANY as u64) * 3.0;
        assert!(
            sum < 1.0 && sum + rest > 1.0 && sum + rest < 1.000_001,
            "{sum} {rest}"
        );
        // One route is one test, and a second one makes three.
        assert!(is(share(Bound::AnyTime, 1), begin(1)));
        assert!(is(share(Bound::AnyTime, 2), begin(3)));
        assert!(is(share(Bound::AnyTime, 0), begin(1)));
    }

    #[test]
    fn who_looks_once_shares_evenly() {
        assert!(is(share(Bound::OneLook, 1), 1.0));
        assert!(is(share(Bound::OneLook, 99), 0.01));
    }

    #[test]
    fn all_together_is_a_test_of_its_own_beside_one_route_if_paths_count_in_it_that_are_not_served()
    {
        let once = |routes, in_all| {
            let thresholds = Thresholds {
                bound: Bound::OneLook,
                confidence: 0.0,
                ..Thresholds::default()
            };
            let required = 0;
            let tested = Tested {
                routes,
                in_all,
                required,
            };
            of_each(&thresholds, tested)
        };
        for (routes, in_all, tests) in [
            (0, 0, 1.0),
            (0, 3, 1.0),
            (1, 1, 1.0),
            (1, 2, 2.0),
            (2, 2, 3.0),
            (2, 5, 3.0),
        ] {
            assert!(is(once(routes, in_all), 1.0 / tests), "{routes} {in_all}");
        }
    }

    #[test]
    fn a_route_that_begins_anew_keeps_its_part_until_it_is_there_again() {
        let mut rules = CarriedRules::default();
        let names = ["GET /a", "GET /b", "GET /c"];
        let compared = Counts {
            received: 1,
            matched: 1,
            ..Counts::default()
        };
        for name in names {
            rules.begin_anew(name.to_owned(), &compared, "`x` was removed".to_owned());
        }
        let twice = [rules.clone(), rules.clone()];
        let tested = |count: usize| names.into_iter().take(count).collect::<HashSet<_>>();
        assert_eq!(
            [0, 1, 3].map(|count| started_anew(&twice, &tested(count))),
            [3, 2, 0]
        );
        rules.routes_anew = 10;
        assert_eq!(started_anew(&[rules], &tested(3)), 7);
        assert_eq!(started_anew(&[], &tested(3)), 0);
    }
}
