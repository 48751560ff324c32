//! Limits: what exceeds one is reported, and nothing panics on the way.

use std::sync::Arc;

use parity_comparator::rules::Profile;
use parity_comparator::{Comparator, DocumentKind, Limits, Rules};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Kind, Reason, Verdict};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::{compare, compare_with, rule};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_bytes_make_it_panic_and_the_answer_is_always_the_same(
        one in prop::collection::vec(any::<u8>(), 0..60),
        two in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        for kind in [DocumentKind::Json, DocumentKind::Graphql, DocumentKind::Yaml, DocumentKind::Xml, DocumentKind::Csv, DocumentKind::Text, DocumentKind::Bytes] {
            let first = compare_with(&[], &one, &two, kind);
            let second = compare_with(&[], &one, &two, kind);
            prop_assert_eq!(first.verdict, second.verdict);
            prop_assert!(first.findings == second.findings);
            prop_assert_eq!(compare_with(&[], &one, &one, kind).verdict, Verdict::Match);
        }
    }

    #[test]
    fn no_text_of_json_and_yaml_characters_makes_it_panic(
        one in "[\\[\\]{}:,\"'0-9eE.+\\-truefalsn&*!|> \n\\\\u#]{0,50}",
        two in "[\\[\\]{}:,\"'0-9eE.+\\-truefalsn&*!|> \n\\\\u#]{0,50}",
    ) {
        for kind in [DocumentKind::Json, DocumentKind::Yaml, DocumentKind::Xml, DocumentKind::Text] {
            let comparison = compare_with(&[], one.as_bytes(), two.as_bytes(), kind);
            prop_assert!(one != two || comparison.verdict == Verdict::Match);
        }
    }
}

#[test]
fn a_hundred_thousand_brackets_are_too_deep_only_when_they_differ() {
    let (one, two) = ("[".repeat(100_000), "[".repeat(99_999));
    assert_eq!(
        compare(one.as_bytes(), two.as_bytes()).verdict,
        Verdict::NotCompared(Reason::TooDeep)
    );
    assert_eq!(
        compare(one.as_bytes(), one.as_bytes()).verdict,
        Verdict::Match
    );
}

#[test]
fn the_deepest_documents_that_are_followed_fit_the_stack_of_a_small_thread() {
    let nested = |inner: &str| "[{\"a\":".repeat(63) + inner + &"}]".repeat(63);
    let compared = std::thread::Builder::new()
        .stack_size(512 * 1024)
        .spawn(move || {
            let rules = [
                rule("any", "/**", "unordered", None),
                rule("x", "/**/x", "ignore", None),
            ];
            let (one, two) = (nested("[1,2]"), nested("[2,3]"));
            compare_with(&rules, one.as_bytes(), two.as_bytes(), DocumentKind::Json).verdict
        })
        .expect("a thread")
        .join()
        .expect("no overflow");
    assert_eq!(compared, Verdict::Mismatch);
}

#[test]
fn more_findings_than_the_cap_are_said_to_be_cut() {
    let list = |from: usize| Value::from((from..from + 300).collect::<Vec<_>>()).to_string();
    let comparison = compare(list(0).as_bytes(), list(1_000).as_bytes());
    assert_eq!(
        (comparison.findings.len(), comparison.findings_cut),
        (256, true)
    );
    let comparison = compare(
        Value::from(vec![0; 256]).to_string().as_bytes(),
        Value::from(vec![1; 256]).to_string().as_bytes(),
    );
    assert_eq!(
        (comparison.findings.len(), comparison.findings_cut),
        (256, false)
    );
}

#[test]
fn unordered_matching_ends_at_the_work_budget() {
    // Every number is near to half of the others, so every pair must be compared.
    let numbers = |from: u32| {
        Value::from((from..from + 2_000).map(|n| n % 997).collect::<Vec<_>>()).to_string()
    };
    let rules = [
        rule("any", "", "unordered", None),
        rule("near", "/*", "tolerance", Some("400")),
    ];
    let comparison = compare_with(
        &rules,
        numbers(0).as_bytes(),
        numbers(5_000_000).as_bytes(),
        DocumentKind::Json,
    );
    assert_eq!(comparison.verdict, Verdict::NotCompared(Reason::WorkBudget));
}

#[test]
fn what_alignment_takes_is_not_missing_where_a_verdict_depends_on_it() {
    let numbers = |from: usize| Value::from((from..from + 40).collect::<Vec<_>>());
    let repeated = "[{\"x\":1},{\"x\":2}]";
    // The array is equal under the rule but still aligned, because its text differs; that takes the whole budget.
    let text = |number: &str| {
        let rows: Vec<String> = (0..30)
            .map(|row| format!("[{number},{}]", numbers(row)))
            .collect();
        let rows = rows.join(",");
        format!("{{\"rows\":[{rows}],\"k\":{repeated},\"k\":[1,{number}]}}")
    };
    let limits = Limits {
        work: 20,
        ..Limits::default()
    };
    let now = Timestamp::from_micros(0);
    let mut comparator = Comparator::new(Arc::new(Rules::default()), limits);
    let (one, two) = (text("1"), text("1.0"));
    let comparison =
        comparator.compare_documents(one.as_bytes(), two.as_bytes(), DocumentKind::Json, now);
    assert_eq!(comparison.verdict, Verdict::Match);
    let two = two.replace("[1,1.0]", "[1,2]");
    let comparison =
        comparator.compare_documents(one.as_bytes(), two.as_bytes(), DocumentKind::Json, now);
    let kinds: Vec<Kind> = comparison
        .findings
        .iter()
        .map(|finding| finding.kind)
        .collect();
    assert_eq!(kinds, [Kind::DuplicateKey]);
}
#[test]
fn a_proven_difference_stands_when_its_details_are_too_much_work() {
    // Aligned by id, the only pair contains a matching that exceeds any budget; by position, the ids already differ.
    let many = |from: usize| {
        let numbers: Vec<String> = (from..from + 3_000).map(|n| n.to_string()).collect();
        numbers.join(",")
    };
    let legacy = format!(r#"[{{"id":1,"n":[{}]}}]"#, many(0));
    let candidate = format!(r#"[{{"id":0}},{{"id":1,"n":[{}]}}]"#, many(2));
    let rules = [
        rule("any", "/*/n", "unordered", None),
        rule("near", "/*/n/*", "tolerance", Some("1")),
    ];
    let both = [(&legacy, &candidate), (&candidate, &legacy)];
    for (one, two) in both {
        let comparison = compare_with(&rules, one.as_bytes(), two.as_bytes(), DocumentKind::Json);
        assert_eq!(comparison.verdict, Verdict::Mismatch);
        assert!(comparison.findings_cut && !comparison.findings.is_empty());
    }
}

#[test]
fn a_profile_does_not_make_elements_in_any_order_too_much_work() {
    let mut rules = vec![rule("any", "", "unordered", None)];
    rules.extend(Profile::named("go-to-rust").expect("a profile").rules());
    let order = |at: usize, tags: &str| {
        format!(r#"{{"id":{at},"name":"Customer {at}","tags":{tags},"at":"2026-03-01T09:30:12Z"}}"#)
    };
    let list = |orders: Vec<String>| format!("[{}]", orders.join(","));
    let legacy = list((0..2_000).map(|at| order(at, "null")).collect());
    for tags in ["null", "[]"] {
        let candidate = list((0..2_000).rev().map(|at| order(at, tags)).collect());
        let comparison = compare_with(
            &rules,
            legacy.as_bytes(),
            candidate.as_bytes(),
            DocumentKind::Json,
        );
        assert_eq!(comparison.verdict, Verdict::Match, "{tags}");
    }
}

#[test]
fn what_one_array_costs_a_reader_is_not_missing_for_the_next() {
    // The first array exceeds the alignment budget; the second one is equal by its rule, in any order.
    let numbers = |changed: usize| {
        let numbers: Vec<String> = (0..1_200)
            .map(|at| {
                if at == changed {
                    "x".to_owned()
                } else {
                    at.to_string()
                }
            })
            .map(|text| format!("\"{text}\""))
            .collect();
        numbers.join(",")
    };
    let document = |changed, ids: [u8; 2]| {
        let [one, two] = ids;
        format!(
            r#"{{"a":[{}],"b":[{{"id":{one},"n":5}},{{"id":{two},"n":5}}]}}"#,
            numbers(changed)
        )
    };
    let mut rules = vec![rule("ids", "/b/*/id", "ignore", None)];
    rules.extend(Profile::named("go-to-rust").expect("a profile").rules());
    let (legacy, candidate) = (document(3, [1, 2]), document(900, [2, 3]));
    let comparison = compare_with(
        &rules,
        legacy.as_bytes(),
        candidate.as_bytes(),
        DocumentKind::Json,
    );
    assert_eq!(comparison.verdict, Verdict::Mismatch);
    let elsewhere = comparison
        .findings
        .iter()
        .find(|finding| !finding.path.starts_with("/a/"));
    assert!(
        elsewhere.is_none(),
        "a finding at {}",
        elsewhere.map_or("", |finding| &finding.path)
    );
}
