//! The summaries against direct counts.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::digest::mixed;

/// Something like a keyed hash of a target with a number.
fn hash(target: u64) -> u64 {
    mixed(mixed(target ^ 0x1234_5678_9abc_def0))
}

/// What a mirror would count of these targets.
fn counted(targets: &[u64]) -> (DistinctTargets, FrequentTargets) {
    let (mut distinct, mut frequent) = (DistinctTargets::default(), FrequentTargets::default());
    for target in targets {
        distinct.add(hash(*target));
        frequent.add(hash(*target));
    }
    (distinct, frequent)
}

fn evidence(key: &str, targets: &[u64]) -> TargetEvidence {
    let (distinct, frequent) = counted(targets);
    let mut evidence = TargetEvidence::default();
    evidence.add(key, targets.len() as u64, &distinct, &frequent);
    evidence
}

/// How often the most frequent one is there.
fn most_of(targets: &[u64]) -> u64 {
    let mut counts = HashMap::<u64, u64>::new();
    for target in targets {
        *counts.entry(*target).or_default() += 1;
    }
    counts.into_values().max().unwrap_or(0)
}

/// Few or many targets, some much more frequent than others.
fn traffic() -> impl Strategy<Value = Vec<u64>> {
    let target = prop_oneof![3 => 0_u64..4, 2 => 0_u64..40, 2 => 0_u64..5_000];
    proptest::collection::vec(target, 0..600)
}

proptest! {
    #[test]
    fn distinct_targets_merge_in_any_order_and_any_number_of_times(
        one in traffic(), two in traffic(), three in traffic()
    ) {
        let [one, two, three] = [one, two, three].map(|targets| counted(&targets).0);
        let merged = |parts: &[&DistinctTargets]| {
            let mut all = DistinctTargets::default();
            for part in parts {
                all.merge(part);
            }
            all
        };
        let left = merged(&[&merged(&[&one, &two]), &three]);
        prop_assert_eq!(&left, &merged(&[&one, &merged(&[&two, &three])]));
        prop_assert_eq!(&left, &merged(&[&three, &two, &one, &three]));
    }

    #[test]
    fn the_most_frequent_target_is_between_its_bounds_however_parts_are_merged(
        parts in proptest::collection::vec(traffic(), 1..6), pairwise in any::<bool>()
    ) {
        let all: Vec<u64> = parts.concat();
        let mut parts: Vec<FrequentTargets> = parts.iter().map(|part| counted(part).1).collect();
        while parts.len() > 1 {
            let last = parts.pop().expect("there are two");
            let place = if pairwise { parts.len() / 2 } else { 0 };
            let mut other = parts[place].clone();
            parts[place].merge(&last);
            let mut reversed = last.clone();
            reversed.merge(&other);
            prop_assert_eq!(&parts[place], &reversed, "it does not matter which is merged into which");
            other.merge(&FrequentTargets::default());
        }
        let total = all.len() as u64;
        let bounds = parts[0].most_frequent(total);
        let most = most_of(&all);
        prop_assert!(bounds.at_least <= most && most <= bounds.at_most, "{bounds:?} {most}");
        prop_assert!(bounds.at_most - bounds.at_least <= total / 17);
        let counters: HashMap<u64, u64> = parts[0].counters().collect();
        let mut counts = HashMap::<u64, u64>::new();
        for target in &all {
            *counts.entry(hash(*target)).or_default() += 1;
        }
        for (target, count) in counts {
            let counter = counters.get(&target).copied().unwrap_or(0);
            prop_assert!(counter <= count);
            if count * 17 > total {
                prop_assert!(counter > 0, "a frequent target was lost: {} of {}", count, total);
            }
        }
    }

    #[test]
    fn both_texts_read_back(targets in traffic()) {
        let (distinct, frequent) = counted(&targets);
        prop_assert_eq!(DistinctTargets::from_text(&distinct.to_text()), Some(distinct.clone()));
        prop_assert_eq!(FrequentTargets::from_text(&frequent.to_text()), Some(frequent.clone()));
        prop_assert!(distinct.to_text().len() <= 256);
        let json = serde_json::to_string(&(&distinct, &frequent)).expect("texts");
        let read: (DistinctTargets, FrequentTargets) = serde_json::from_str(&json).expect("they read back");
        prop_assert_eq!(read, (distinct, frequent));
    }

    #[test]
    fn what_several_keys_counted_is_never_too_many_targets_nor_too_small_a_share(
        one in traffic(), two in traffic()
    ) {
        let mut all = evidence("one", &one);
        all.merge(&evidence("two", &two));
        let (first, second) = (evidence("one", &one), evidence("two", &two));
        prop_assert_eq!(all.distinct(), first.distinct().max(second.distinct()));
        let targets = [one, two].concat();
        let most = most_of(&targets);
        prop_assert!(all.most_frequent().at_most >= most);
        prop_assert!(all.most_frequent().at_least <= most);
        prop_assert_eq!(all.known(), targets.len() as u64);
    }
}

#[test]
fn estimates_are_near_for_one_to_a_million() {
    const SEEDS: u64 = 8;
    for exponent in 0..=20_u32 {
        let number = 1_u64 << exponent;
        let mut worst = 0.0_f64;
        let mut mean = 0.0;
        for seed in 0..SEEDS {
            let mut distinct = DistinctTargets::default();
            (0..number).for_each(|target| distinct.add(hash(target ^ (seed << 40))));
            let error = distinct.estimate() as f64 / number as f64 - 1.0;
            worst = worst.max(error.abs());
            mean += error / SEEDS as f64;
        }
        // Four times the standard error; and that of the mean of eight.
        assert!(worst < 0.26, "{number}: {worst}");
        assert!(mean.abs() < 0.1, "{number}: {mean}");
    }
    assert_eq!(DistinctTargets::default().estimate(), 0);
}

#[test]
fn a_few_targets_are_counted_exactly() {
    for number in 0..=16_u64 {
        let targets: Vec<u64> = (0..number * 30).map(|request| request % number).collect();
        let evidence = evidence("key", &targets);
        assert_eq!(evidence.distinct(), number);
        assert_eq!(
            evidence.most_frequent().at_least,
            evidence.most_frequent().at_most
        );
        assert_eq!(evidence.is_single(), number == 1);
    }
}

#[test]
fn the_same_target_under_two_keys_may_be_two_and_is_not_counted_twice() {
    let targets: Vec<u64> = (0..100).map(|request| request % 10).collect();
    let mut same = evidence("key", &targets);
    same.merge(&evidence("key", &targets));
    assert_eq!((same.distinct(), same.keys(), same.known()), (10, 1, 200));
    assert_eq!(same.most_frequent_share(), Some(0.1));
    let mut other = evidence("key", &targets);
    other.merge(&evidence("other", &[3; 100]));
    assert_eq!((other.distinct(), other.keys()), (10, 2));
    // 10 of the one and 100 of the other may be one target.
    assert_eq!(
        other.most_frequent(),
        Between {
            at_least: 100,
            at_most: 110
        }
    );
    let mut two = evidence("key", &[1]);
    two.merge(&evidence("other", &[1]));
    assert!(!two.is_single(), "nobody knows");
}

#[test]
fn older_programs_counted_no_targets() {
    let mut old = TargetEvidence::default();
    old.add(
        "",
        50,
        &DistinctTargets::default(),
        &FrequentTargets::default(),
    );
    assert_eq!((old.known(), old.unknown(), old.distinct()), (0, 50, 0));
    assert_eq!(old.most_frequent_share(), None);
    old.merge(&evidence("key", &[1, 1, 2]));
    assert_eq!((old.known(), old.unknown(), old.distinct()), (3, 50, 2));
    assert!(!old.is_single());
}

#[test]
fn texts_are_short_and_what_is_none_is_refused() {
    let (distinct, frequent) = counted(&[7, 7, 7]);
    assert_eq!(distinct.to_text().len(), 3);
    assert!(frequent.to_text().ends_with(":3"), "{}", frequent.to_text());
    assert_eq!(DistinctTargets::default().to_text(), "");
    assert_eq!(FrequentTargets::default().to_text(), "");
    let of_full = "z".repeat(256);
    for text in ["x", "001x", "0g1", "00~", of_full.as_str(), "éé"] {
        assert_eq!(DistinctTargets::from_text(text), None, "{text}");
    }
    for text in [
        "x",
        "1",
        "1:",
        ":1",
        "1:-1",
        "10000000000000000:1",
        "1:1;2:1",
    ] {
        assert_eq!(FrequentTargets::from_text(text), None, "{text}");
    }
}

#[test]
fn there_are_never_more_targets_than_requests() {
    for requests in 1..400 {
        let targets: Vec<u64> = (0..requests).collect();
        let distinct = evidence("key", &targets).distinct();
        assert!(distinct <= requests, "{distinct} of {requests}");
    }
}
