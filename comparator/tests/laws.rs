//! Laws that hold for every pair of documents, tried on generated ones.

use std::fmt::Write as _;
use std::sync::Arc;

use parity_comparator::{Comparator, Comparison, DocumentKind, Limits, RuleConfig, Rules};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Explanation, Finding, Kind, Part, Reason, Verdict};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn compare_with(
    rules: &[RuleConfig],
    legacy: &[u8],
    candidate: &[u8],
    kind: DocumentKind,
) -> Comparison {
    let now = Timestamp::from_micros(0);
    let rules = Rules::compile(rules, now).expect("the rules are right");
    Comparator::new(Arc::new(rules), Limits::default())
        .compare_documents(legacy, candidate, kind, now)
}

fn compare(legacy: &[u8], candidate: &[u8]) -> Comparison {
    compare_with(&[], legacy, candidate, DocumentKind::Json)
}

fn rule(id: &str, path: &str, action: &str, absolute: Option<&str>) -> RuleConfig {
    RuleConfig {
        id: id.to_owned(),
        route: None,
        part: Part::Body,
        path: path.to_owned(),
        action: action.to_owned(),
        explanations: Vec::new(),
        field: None,
        absolute: absolute.map(str::to_owned),
        relative: None,
        kind: None,
        reason: None,
        owner: None,
        expires: None,
    }
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9_f64..1e9).prop_map(Value::from),
        "[a-zA-Zäß😀\"\\\\/\n ]{0,12}".prop_map(Value::from),
    ]
}

fn document() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-zé\"~/]{0,4}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The document written in another way: keys backwards, spaces, every character of strings escaped.
fn rewritten(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            out.push_str("{ ");
            for (index, (key, member)) in members.iter().rev().enumerate() {
                if index > 0 {
                    out.push_str(" ,\n");
                }
                escaped(key, out);
                out.push_str(" :\t");
                rewritten(member, out);
            }
            out.push('}');
        }
        Value::Array(elements) => {
            out.push_str("[ ");
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push_str(" , ");
                }
                rewritten(element, out);
            }
            out.push(']');
        }
        Value::String(text) => escaped(text, out),
        Value::Number(number) => {
            // The same decimal with a zero more and another exponent.
            let text = number.to_string();
            if text.contains(['e', '.']) {
                out.push_str(&text);
            } else {
                out.push_str(&text);
                out.push_str("0e-1");
            }
        }
        other => out.push_str(&other.to_string()),
    }
}

fn escaped(text: &str, out: &mut String) {
    out.push('"');
    for unit in text.encode_utf16() {
        write!(out, "\\u{unit:04X}").expect("memory");
    }
    out.push('"');
}

/// Pointers to all scalars.
fn scalars(value: &Value, pointer: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                scalars(member, &format!("{pointer}/{key}"), out);
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                scalars(element, &format!("{pointer}/{index}"), out);
            }
        }
        _ => out.push(pointer.to_owned()),
    }
}

/// A document of the shape that services send, whose elements are told apart by more than their place.
fn service_document() -> impl Strategy<Value = Value> {
    let order = (any::<u32>(), "[a-z]{3,8}", prop::collection::vec("[a-z]{2,5}", 0..4))
        .prop_map(|(amount, name, tags)| json!({"amount": amount, "name": name, "tags": tags, "open": true}));
    (prop::collection::vec(order, 1..8), "[a-z]{5}", any::<u32>()).prop_map(
        |(orders, name, total)| {
            let orders: Vec<Value> = orders
                .into_iter()
                .enumerate()
                .map(|(index, mut order)| {
                    order["id"] = json!(format!("ord-{index}"));
                    order
                })
                .collect();
            json!({"orders": orders, "owner": {"name": name, "total": total}, "rates": [1, 2, 3]})
        },
    )
}

fn mirrored(kind: Kind) -> Kind {
    match kind {
        Kind::Missing => Kind::Extra,
        Kind::Extra => Kind::Missing,
        other => other,
    }
}

type Side = (
    String,
    String,
    Kind,
    Option<String>,
    Option<String>,
    Option<Explanation>,
);

/// What a finding says, seen from one side or the other.
fn sides(findings: &[Finding], swapped: bool) -> Vec<Side> {
    let mut seen: Vec<_> = findings
        .iter()
        .map(|finding| {
            let other = finding
                .candidate_path
                .clone()
                .unwrap_or_else(|| finding.path.clone());
            if swapped {
                (
                    other,
                    finding.path.clone(),
                    mirrored(finding.kind),
                    finding.candidate.clone(),
                    finding.legacy.clone(),
                    finding.explanation,
                )
            } else {
                (
                    finding.path.clone(),
                    other,
                    finding.kind,
                    finding.legacy.clone(),
                    finding.candidate.clone(),
                    finding.explanation,
                )
            }
        })
        .collect();
    seen.sort_by(|one, two| (&one.0, &one.1, one.2).cmp(&(&two.0, &two.1, two.2)));
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_document_equals_itself_however_it_is_written(value in document()) {
        let plain = value.to_string();
        let mut other = String::new();
        rewritten(&value, &mut other);
        let comparison = compare(plain.as_bytes(), other.as_bytes());
        prop_assert_eq!(comparison.verdict, Verdict::Match);
        prop_assert_eq!(compare(plain.as_bytes(), plain.as_bytes()).verdict, Verdict::Match);
    }

    #[test]
    fn two_documents_match_exactly_when_their_values_are_equal(one in document(), two in document()) {
        let comparison = compare(one.to_string().as_bytes(), two.to_string().as_bytes());
        // serde_json tells 1 from 1.0, and -0.0 from 0; the generated floats are whole by chance only.
        prop_assert_eq!(comparison.verdict == Verdict::Match, one == two);
        prop_assert_eq!(comparison.findings.is_empty(), one == two);
    }

    #[test]
    fn swapping_the_sides_mirrors_the_findings(one in document(), two in document()) {
        let (one, two) = (one.to_string(), two.to_string());
        let forth = compare(one.as_bytes(), two.as_bytes());
        let back = compare(two.as_bytes(), one.as_bytes());
        prop_assert_eq!(forth.verdict, back.verdict);
        // An edit script has ties, which each direction may break in its own way; what is not an array has none.
        if !one.contains('[') && !two.contains('[') {
            prop_assert_eq!(sides(&forth.findings, false), sides(&back.findings, true));
        }
    }

    #[test]
    fn explanations_do_not_depend_on_the_direction(
        one in "[aé€Ã©\u{fffd}?]{0,6}[%&;#x+=,/:TZP.0-9 -]{0,14}",
        two in "[aé€Ã©\u{fffd}?]{0,6}[%&;#x+=,/:TZP.0-9 -]{0,14}",
        edit in 0_usize..6,
    ) {
        // Most pairs of texts have nothing to do with each other, so the other is also made from the one.
        let two = match edit {
            0 => two,
            1 => one.replace('%', "%25"),
            2 => one.replace('&', "&amp;"),
            3 => one.replace(['é', '€'], "?"),
            4 => one.split(',').rev().collect::<Vec<_>>().join(","),
            _ => one.chars().take(5).collect(),
        };
        let (legacy, candidate) = (json!({ "v": one }).to_string(), json!({ "v": two }).to_string());
        let forth = compare(legacy.as_bytes(), candidate.as_bytes());
        let back = compare(candidate.as_bytes(), legacy.as_bytes());
        prop_assert_eq!(sides(&forth.findings, false), sides(&back.findings, true));
    }

    #[test]
    fn each_changed_scalar_is_one_finding(
        value in service_document(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
    ) {
        let mut paths = Vec::new();
        scalars(&value, "", &mut paths);
        // With the id, an element would become another one, which is a missing and an extra.
        paths.retain(|path| !path.ends_with("/id"));
        let mut chosen: Vec<String> = picks.iter().map(|pick| pick.get(&paths).clone()).collect();
        chosen.sort();
        chosen.dedup();
        let mut changed = value.clone();
        for (index, path) in chosen.iter().enumerate() {
            let target = changed.pointer_mut(path).expect("the path is from the document");
            *target = json!(format!("CHANGED {index}"));
        }
        let comparison = compare(value.to_string().as_bytes(), changed.to_string().as_bytes());
        let mut found: Vec<String> = comparison.findings.iter().map(|finding| finding.path.clone()).collect();
        found.sort();
        prop_assert_eq!(found, chosen);
    }

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

    #[test]
    fn an_ignore_rule_never_adds_a_finding(one in service_document(), two in service_document()) {
        let (one, two) = (one.to_string(), two.to_string());
        let rules = [rule("names", "/**/name", "ignore", None)];
        let with = compare_with(&rules, one.as_bytes(), two.as_bytes(), DocumentKind::Json);
        let without = compare(one.as_bytes(), two.as_bytes());
        prop_assert!(with.findings.len() <= without.findings.len());
        prop_assert!(with.findings.iter().all(|finding| !finding.path.ends_with("/name")));
    }

    #[test]
    fn no_bytes_make_it_panic_and_the_answer_is_always_the_same(
        one in prop::collection::vec(any::<u8>(), 0..60),
        two in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        for kind in [DocumentKind::Json, DocumentKind::Yaml, DocumentKind::Text, DocumentKind::Bytes] {
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
        for kind in [DocumentKind::Json, DocumentKind::Yaml, DocumentKind::Text] {
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
    // Every number is near to half of the others, so every pair has to be asked.
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

#[test]
fn a_proven_difference_stands_when_its_details_are_too_much_work() {
    // Aligned by id, the only pair holds a matching that no budget allows; by position, the ids already differ.
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
