//! Arrays: whose order counts, and those whose does not.

use parity_comparator::DocumentKind;
use parity_schemas::verdict::{Kind, Verdict};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::{compare, compare_with, document, rule};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn permuted_arrays_match_under_an_unordered_rule_and_are_one_finding_without(
        mut elements in prop::collection::vec(document(), 2..12),
        seed in any::<prop::sample::Index>(),
    ) {
        let legacy = Value::from(elements.clone()).to_string();
        let turn = seed.index(elements.len());
        elements.rotate_left(turn);
        elements.reverse();
        let candidate = Value::from(elements).to_string();
        let any_order = [rule("any", "", "unordered", None)];
        let comparison = compare_with(&any_order, legacy.as_bytes(), candidate.as_bytes(), DocumentKind::Json);
        prop_assert_eq!(comparison.verdict, Verdict::Match);
        let kinds: Vec<Kind> = compare(legacy.as_bytes(), candidate.as_bytes()).findings.iter().map(|finding| finding.kind).collect();
        prop_assert!(legacy == candidate || kinds == [Kind::Order], "{:?}", kinds);
    }

    #[test]
    fn a_matching_within_a_tolerance_is_found_if_there_is_one(
        numbers in prop::collection::vec(0_i32..12, 1..9),
        noise in prop::collection::vec(-1_i32..=1, 9),
        shift in any::<prop::sample::Index>(),
    ) {
        let mut moved: Vec<i32> = numbers.iter().zip(&noise).map(|(number, noise)| number + noise).collect();
        let turn = shift.index(moved.len());
        moved.rotate_left(turn);
        let rules = [rule("any", "/v", "unordered", None), rule("near", "/v/*", "tolerance", Some("1"))];
        let text = |numbers: &[i32]| json!({ "v": numbers }).to_string();
        let comparison = compare_with(&rules, text(&numbers).as_bytes(), text(&moved).as_bytes(), DocumentKind::Json);
        prop_assert_eq!(comparison.verdict, Verdict::Match);
    }
}

#[test]
fn a_shuffled_list_of_ten_thousand_is_one_finding() {
    let numbers: Vec<u64> = (0..10_000).collect();
    let mut shuffled = numbers.clone();
    shuffled.sort_by_key(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let comparison = compare(
        Value::from(numbers).to_string().as_bytes(),
        Value::from(shuffled).to_string().as_bytes(),
    );
    assert_eq!(comparison.findings.len(), 1);
    assert_eq!(comparison.findings[0].kind, Kind::Order);
}

#[test]
fn a_key_that_looks_like_an_index_has_its_own_path_and_the_pattern_of_one() {
    let mut one = Map::new();
    one.insert("0".to_owned(), json!({"x": 1}));
    let two = json!({"0": {"x": 2}});
    let comparison = compare(
        Value::Object(one).to_string().as_bytes(),
        two.to_string().as_bytes(),
    );
    let finding = &comparison.findings[0];
    assert_eq!((&*finding.path, &*finding.pattern), ("/0/x", "/*/x"));
}
