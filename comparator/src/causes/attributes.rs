//! What is special about the requests that differ in one way: attributes that they have more often than all other requests
//! of the route.
//!
//! Each value is tested by Fisher's exact test: how probable is it that so many of these requests have it by chance, given
//! how many of the route have it. The more values are looked at, the more will look special by chance, so the probability is
//! multiplied by their number (Bonferroni). What passes is ranked by the difference of the two shares. Nothing is said where
//! nothing is special, where there is too little to say anything, or where the attributes of too many of the requests were not
//! counted: those counted are from some minutes only, and what those minutes have in common is no mark of all.

use std::cmp::Reverse;

use parity_schemas::attributes::{
    AttributeCounts, COUNTED, HIDDEN, QUERY, SpecialAttribute, split,
};
use parity_schemas::route::OTHER;
use statrs::function::gamma::ln_gamma;

/// Fewer requests in the group, or besides it, say nothing.
const MIN_REQUESTS: u64 = 10;
/// Fewer requests of the group with a value are not its mark.
const MIN_HAVING: u64 = 5;
/// The shares differ by at least so many hundredths: a smaller difference may be certain, and helps nobody to find the cause.
const MIN_PERCENT: u128 = 20;
/// Of so many hundredths of the requests of a group the attributes must have been counted: then the rest can change a share
/// by less than what is told as a difference.
const MIN_COUNTED_PERCENT: u128 = 90;
/// How probable anything that is told may be by chance, over all values of a group.
const CHANCE: f64 = 0.001;
/// Attributes told of a group; what comes after the first ones usually follows from them.
const MOST: usize = 3;
/// Terms of the tail of the distribution that are added up; what comes after them is bounded.
const MAX_TERMS: u32 = 10_000;

/// The attributes of a group that are special, the most first. `mismatches` is how many the group has, whether or not their
/// attributes were counted; `route` counts all compared requests of the route, the group's among them.
pub fn special(
    group: &AttributeCounts,
    mismatches: u64,
    route: &AttributeCounts,
) -> Vec<SpecialAttribute> {
    let counted = |counts: &AttributeCounts| counts.get(COUNTED).copied().unwrap_or(0);
    let of = counted(group);
    let others_of = counted(route).saturating_sub(of);
    if of < MIN_REQUESTS || others_of < MIN_REQUESTS {
        return Vec::new();
    }
    if u128::from(of) * 100 < u128::from(mismatches) * MIN_COUNTED_PERCENT {
        return Vec::new();
    }
    let mut looked_at = 0;
    let mut found: Vec<(f64, SpecialAttribute)> = Vec::new();
    for (key, with) in route {
        let Some((attribute, value)) = split(key) else {
            continue;
        };
        if value == OTHER || value == HIDDEN {
            continue;
        }
        let having = group.get(key).copied().unwrap_or(0).min(of);
        let others_having = with.saturating_sub(having).min(others_of);
        let mut look = |is_absent: bool, having: u64, others_having: u64| {
            looked_at += 1;
            let candidate = SpecialAttribute {
                attribute: attribute.to_owned(),
                value: value.to_owned(),
                is_absent,
                having,
                of,
                others_having,
                others_of,
            };
            if having >= MIN_HAVING
                && difference(&candidate) >= shares(MIN_PERCENT, 100, &candidate)
            {
                found.push((by_chance(&candidate), candidate));
            }
        };
        look(false, having, others_having);
        // Of all other attributes some value is there instead.
        if attribute == QUERY {
            look(true, of - having, others_of - others_having);
        }
    }
    found.retain(|(chance, _)| chance * f64::from(looked_at) <= CHANCE);
    found.sort_by(|(one_chance, one), (other_chance, other)| {
        Reverse(difference(one))
            .cmp(&Reverse(difference(other)))
            .then(one_chance.total_cmp(other_chance))
    });
    found.truncate(MOST);
    found.into_iter().map(|(_, special)| special).collect()
}

/// By how much its share is greater in the group, as a multiple of one part in `of × others_of`: exact, so that the order
/// is the same everywhere.
fn difference(special: &SpecialAttribute) -> u128 {
    let own = u128::from(special.having) * u128::from(special.others_of);
    let others = u128::from(special.others_having) * u128::from(special.of);
    own.saturating_sub(others)
}

/// A share in the same unit, rounded up.
fn shares(part: u128, whole: u128, special: &SpecialAttribute) -> u128 {
    // Divided first where the product could overflow: with 2^60 requests nobody sees the difference.
    let unit = u128::from(special.of) * u128::from(special.others_of);
    unit.checked_mul(part)
        .map_or(unit / whole * part, |product| product.div_ceil(whole))
}

/// The probability that by chance at least so many requests of the group have it: the upper tail of the hypergeometric
/// distribution. An upper bound, and exact but for the last digits.
fn by_chance(special: &SpecialAttribute) -> f64 {
    let (having, of) = (special.having as f64, special.of as f64);
    let with = having + special.others_having as f64;
    let all = of + special.others_of as f64;
    let ln_choose = |n: f64, k: f64| ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0);
    let first = ln_choose(with, having) + ln_choose(all - with, of - having) - ln_choose(all, of);
    let (mut term, mut sum, mut at) = (1.0, 1.0, having);
    for _ in 0..MAX_TERMS {
        // The next term over this one. It only gets smaller, so what follows is at most a geometric series.
        let ratio = (with - at) * (of - at) / ((at + 1.0) * (all - with - of + at + 1.0));
        if ratio <= 0.0 {
            break;
        }
        term *= ratio;
        sum += term;
        at += 1.0;
        if ratio < 1.0 && term * ratio / (1.0 - ratio) < sum * f64::EPSILON {
            break;
        }
    }
    let ratio = (with - at) * (of - at) / ((at + 1.0) * (all - with - of + at + 1.0));
    if ratio > 0.0 && ratio < 1.0 {
        sum += term * ratio / (1.0 - ratio);
    }
    (first.exp() * sum).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts from `counted:100 client=curl:90`.
    fn counts(text: &str) -> AttributeCounts {
        let pair = |pair: &str| {
            let (key, count) = pair.rsplit_once(':').expect("KEY:COUNT");
            (key.to_owned(), count.parse().expect("a count"))
        };
        text.split_whitespace().map(pair).collect()
    }

    fn told(group: &str, route: &str) -> Vec<String> {
        let group = counts(group);
        told_of(&group, group.get(COUNTED).copied().unwrap_or(0), route)
    }

    fn told_of(group: &AttributeCounts, mismatches: u64, route: &str) -> Vec<String> {
        let told = special(group, mismatches, &counts(route)).into_iter();
        told.map(|found| {
            let (these, others) = found.percents();
            let not = if found.is_absent { "!" } else { "" };
            format!("{}={not}{} {these}/{others}", found.attribute, found.value)
        })
        .collect()
    }

    #[test]
    fn what_is_planted_comes_first_and_what_is_usual_is_not_told() {
        for (group, route, expected) in [
            // A query parameter, and a client that half of the others use, too.
            (
                "counted:50 query=debug:50 client=curl:45 client=okhttp:5 method=GET:50",
                "counted:500 query=debug:55 client=curl:270 client=okhttp:230 method=GET:500",
                &["query=debug 100/1", "client=curl 90/50"][..],
            ),
            // An hour.
            (
                "counted:30 hour=02:28 hour=03:2",
                "counted:2400 hour=02:100 hour=03:100 hour=04:2200",
                &["hour=02 93/3"],
            ),
            // The absence of a parameter.
            (
                "counted:40 query=page:0",
                "counted:400 query=page:360",
                &["query=!page 100/0"],
            ),
            // All requests are alike.
            (
                "counted:50 client=curl:50",
                "counted:500 client=curl:500",
                &[],
            ),
            // The same share.
            (
                "counted:50 client=curl:25 client=okhttp:25",
                "counted:500 client=curl:250 client=okhttp:250",
                &[],
            ),
            // Certain, and of no use.
            (
                "counted:100000 client=curl:55000 client=go:45000",
                "counted:200000 client=curl:105000 client=go:95000",
                &[],
            ),
            // Too few of these, and of the others.
            (
                "counted:9 client=curl:9",
                "counted:500 client=curl:9 client=go:491",
                &[],
            ),
            (
                "counted:500 client=curl:500",
                "counted:509 client=curl:500 client=go:9",
                &[],
            ),
            // What may be by chance.
            (
                "counted:10 client=curl:8",
                "counted:30 client=curl:18 client=go:12",
                &[],
            ),
            // What is not known.
            (
                "counted:50 query=_other:90 client=_hidden:50",
                "counted:500 query=_other:90 client=_hidden:50",
                &[],
            ),
            // Nothing was counted, and a store that contradicts itself.
            ("", "", &[]),
            (
                "counted:50 client=curl:70",
                "counted:40 client=curl:30",
                &[],
            ),
            (
                "counted:50 client=curl:90",
                "counted:100 client=curl:40",
                &["client=curl 100/0"],
            ),
        ] {
            assert_eq!(told(group, route), expected, "{group} of {route}");
        }
    }

    #[test]
    fn nothing_is_told_of_a_group_that_was_not_counted_as_a_whole() {
        // All forty of the first minute had the parameter, and nobody counted what came later.
        let group = counts("counted:40 query=debug:40");
        let route = "counted:1000 query=debug:40";
        for (mismatches, is_told) in [(40, true), (44, true), (45, false), (440, false)] {
            let told = told_of(&group, mismatches, route);
            assert_eq!(!told.is_empty(), is_told, "{mismatches}: {told:?}");
        }
        assert!(told_of(&group, u64::MAX, route).is_empty());
    }

    #[test]
    fn many_values_make_chance_more_likely() {
        let few = "counted:20 instance=a:14 instance=b:6";
        let route = "counted:120 instance=a:34 instance=b:86";
        assert_eq!(told(few, route), ["instance=a 70/20"]);
        let many = (0..200).fold(route.to_owned(), |text, at| format!("{text} query=p{at}:1"));
        assert!(told(few, &many).is_empty());
    }

    #[test]
    fn the_test_is_exact() {
        let chance = |having, of, others_having, others_of| {
            by_chance(&SpecialAttribute {
                attribute: String::new(),
                value: String::new(),
                is_absent: false,
                having,
                of,
                others_having,
                others_of,
            })
        };
        // By hand: of C(8,4) = 70 ways to take 4 of 8, C(4,3)·C(4,1) = 16 and 1 have at least 3.
        for (found, expected) in [
            (chance(3, 4, 1, 4), 17.0 / 70.0),
            (chance(4, 4, 0, 4), 1.0 / 70.0),
            (chance(0, 4, 4, 4), 1.0),
            (chance(4, 4, 4, 4), 1.0),
        ] {
            assert!((found - expected).abs() < 1e-9, "{found}, {expected}");
        }
        // Far beyond the smallest double, and as many requests as a store can have.
        assert!(chance(1_000_000, 1_000_000, 0, 1_000_000) < 1e-300);
        assert!(chance(1 << 59, 1 << 60, 1 << 58, 1 << 60) <= 1.0);
    }
}
