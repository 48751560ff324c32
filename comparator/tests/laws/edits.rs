//! A known edit leads to the expected findings.

use parity_comparator::{DocumentKind, RuleConfig};
use parity_schemas::verdict::{Finding, Kind, Verdict};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::support::{
    compare, compare_with, crowded, document, pair, rule, scalars, service_document,
};

/// Pointers to everything in a document, containers included.
fn places(value: &Value, pointer: &str, out: &mut Vec<String>) {
    out.push(pointer.to_owned());
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                places(member, &format!("{pointer}/{key}"), out);
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                places(element, &format!("{pointer}/{index}"), out);
            }
        }
        _ => {}
    }
}

/// Pointers to some of the scalars, each once, in the order of their paths.
fn chosen(value: &Value, picks: &[Index]) -> Vec<String> {
    let mut paths = Vec::new();
    scalars(value, "", &mut paths);
    if paths.is_empty() {
        return paths;
    }
    let mut chosen: Vec<String> = picks.iter().map(|pick| pick.get(&paths).clone()).collect();
    chosen.sort();
    chosen.dedup();
    chosen
}

/// Changes these scalars to values that occur nowhere else.
fn changed(value: &Value, paths: &[String]) -> Value {
    let mut changed = value.clone();
    for (index, path) in paths.iter().enumerate() {
        let target = changed
            .pointer_mut(path)
            .expect("the path is from the document");
        *target = json!(format!("CHANGED {index}"));
    }
    changed
}

fn found(findings: &[Finding]) -> Vec<String> {
    let mut found: Vec<String> = findings
        .iter()
        .map(|finding| finding.path.clone())
        .collect();
    found.sort();
    found
}

/// A rule that ignores one of the places of a document, some segments of its path made general.
fn ignoring(value: &Value, pick: Index, general: &[Index]) -> RuleConfig {
    let mut paths = Vec::new();
    places(value, "", &mut paths);
    let mut segments: Vec<&str> = pick.get(&paths).split('/').skip(1).collect();
    for (index, choice) in general.iter().enumerate() {
        if !segments.is_empty() {
            let at = choice.index(segments.len());
            segments[at] = if index % 2 == 0 { "*" } else { "**" };
        }
    }
    let path: String = segments.iter().flat_map(|segment| ["/", segment]).collect();
    rule("less", &path, "ignore", None)
}

fn without_arrays(value: Value) -> Value {
    match value {
        Value::Array(elements) => {
            let members = elements.into_iter().enumerate();
            Value::Object(
                members
                    .map(|(index, element)| (format!("e{index}"), without_arrays(element)))
                    .collect(),
            )
        }
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(key, member)| (key, without_arrays(member)))
                .collect(),
        ),
        scalar => scalar,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    // Elements identified by an `id` are an exception: one whose `id` and other values changed is another element, so
    // it is one missing and one extra, whatever else changed in it. Values that occur nowhere else keep the alignment
    // from taking a changed element for a moved one.
    #[test]
    fn each_changed_scalar_is_one_finding_in_any_document(
        value in prop_oneof![document(), crowded()],
        picks in prop::collection::vec(any::<Index>(), 1..6),
    ) {
        let mut paths = chosen(&value, &picks);
        let lost: Vec<String> = paths.iter().filter_map(|path| Some(format!("{}/", path.strip_suffix("/id")?))).collect();
        paths.retain(|path| path.ends_with("/id") || !lost.iter().any(|element| path.starts_with(element)));
        let comparison = compare(value.to_string().as_bytes(), changed(&value, &paths).to_string().as_bytes());
        prop_assert_eq!(found(&comparison.findings), paths);
        for finding in &comparison.findings {
            prop_assert!(matches!(finding.kind, Kind::Value | Kind::Type));
            prop_assert_eq!(finding.legacy.shown().map(std::borrow::Cow::into_owned), value.pointer(&finding.path).map(Value::to_string));
            prop_assert_eq!(&finding.candidate_path, &None);
        }
    }

    #[test]
    fn each_changed_scalar_is_one_finding_in_what_services_send(
        value in service_document(),
        picks in prop::collection::vec(any::<Index>(), 1..6),
    ) {
        let mut paths = chosen(&value, &picks);
        paths.retain(|path| !path.ends_with("/id"));
        let comparison = compare(value.to_string().as_bytes(), changed(&value, &paths).to_string().as_bytes());
        prop_assert_eq!(found(&comparison.findings), paths);
    }

    // With arrays the number of findings may grow: what is ignored makes elements equal, so others are aligned with
    // each other. The verdict may not.
    #[test]
    fn an_ignore_rule_never_adds_a_finding(
        (one, two) in pair(),
        picks in prop::collection::vec(any::<Index>(), 1..6),
        pick in any::<Index>(),
        general in prop::collection::vec(any::<Index>(), 0..3),
    ) {
        let edited = changed(&one, &chosen(&one, &picks));
        for two in [two, edited] {
            let texts = (one.to_string(), two.to_string());
            let more = [ignoring(&one, pick, &general)];
            let without = compare(texts.0.as_bytes(), texts.1.as_bytes());
            let with = compare_with(&more, texts.0.as_bytes(), texts.1.as_bytes(), DocumentKind::Json);
            prop_assert!(without.verdict != Verdict::Match || with.verdict == Verdict::Match);
            let (one, two) = (without_arrays(one.clone()), without_arrays(two));
            let texts = (one.to_string(), two.to_string());
            let more = [ignoring(&one, pick, &general)];
            let without = found(&compare(texts.0.as_bytes(), texts.1.as_bytes()).findings);
            let with = compare_with(&more, texts.0.as_bytes(), texts.1.as_bytes(), DocumentKind::Json);
            prop_assert!(found(&with.findings).iter().all(|path| without.contains(path)));
        }
    }
}
