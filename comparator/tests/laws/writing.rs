//! The verdict depends neither on how a document is written nor on its side.

use std::borrow::Cow;

use parity_schemas::verdict::{Finding, Kind, Verdict};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::{compare, document, pair, rewritten, service_document};

fn mirrored(kind: Kind) -> Kind {
    match kind {
        Kind::Missing => Kind::Extra,
        Kind::Extra => Kind::Missing,
        other => other,
    }
}

type Side = (String, String, Kind, Option<String>, Option<String>);

/// The findings as one side or the other sees them.
fn sides(findings: &[Finding], swapped: bool) -> Vec<Side> {
    let mut seen: Vec<_> = findings
        .iter()
        .map(|finding| {
            // A value that one side lacks has a position only in the other.
            let one_sided = matches!(finding.kind, Kind::Missing | Kind::Extra);
            let other = match &finding.candidate_path {
                Some(path) if !one_sided => path.clone(),
                _ => finding.path.clone(),
            };
            if swapped {
                (
                    other,
                    finding.path.clone(),
                    mirrored(finding.kind),
                    finding.candidate.shown().map(Cow::into_owned),
                    finding.legacy.shown().map(Cow::into_owned),
                )
            } else {
                (
                    finding.path.clone(),
                    other,
                    finding.kind,
                    finding.legacy.shown().map(Cow::into_owned),
                    finding.candidate.shown().map(Cow::into_owned),
                )
            }
        })
        .collect();
    seen.sort_by(|one, two| (&one.0, &one.1, one.2).cmp(&(&two.0, &two.1, two.2)));
    seen
}

/// Paths and kinds of the findings, sorted.
fn places(findings: &[Finding]) -> Vec<(&str, Option<&str>, Kind)> {
    let mut places: Vec<_> = findings
        .iter()
        .map(|finding| {
            let candidate = finding.candidate_path.as_deref();
            (finding.path.as_str(), candidate, finding.kind)
        })
        .collect();
    places.sort_unstable();
    places
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
    fn two_documents_match_exactly_when_their_values_are_equal((one, two) in pair()) {
        let comparison = compare(one.to_string().as_bytes(), two.to_string().as_bytes());
        // serde_json distinguishes 1 from 1.0, and -0.0 from 0; the generated floats are whole only by chance.
        prop_assert_eq!(comparison.verdict == Verdict::Match, one == two);
        prop_assert_eq!(comparison.findings.is_empty(), one == two);
    }

    #[test]
    fn how_a_document_is_written_changes_no_finding((one, two) in pair()) {
        let plain = compare(one.to_string().as_bytes(), two.to_string().as_bytes());
        let mut other = String::new();
        rewritten(&two, &mut other);
        let rewritten = compare(one.to_string().as_bytes(), other.as_bytes());
        prop_assert_eq!(places(&plain.findings), places(&rewritten.findings));
    }

    #[test]
    fn how_elements_with_other_ids_are_written_changes_no_finding(
        one in service_document(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
    ) {
        let mut two = one.clone();
        let count = two["orders"].as_array().map_or(1, Vec::len);
        for (another, pick) in picks.iter().enumerate() {
            two["orders"][pick.index(count)]["id"] = Value::from(format!("another-{another}"));
        }
        let plain = compare(one.to_string().as_bytes(), two.to_string().as_bytes());
        let mut other = String::new();
        rewritten(&two, &mut other);
        let rewritten = compare(one.to_string().as_bytes(), other.as_bytes());
        prop_assert_eq!(places(&plain.findings), places(&rewritten.findings));
    }

    #[test]
    fn swapping_the_sides_mirrors_the_findings((one, two) in pair()) {
        let (one, two) = (one.to_string(), two.to_string());
        let forth = compare(one.as_bytes(), two.as_bytes());
        let back = compare(two.as_bytes(), one.as_bytes());
        prop_assert_eq!(forth.verdict, back.verdict);
        prop_assert_eq!(sides(&forth.findings, false), sides(&back.findings, true));
    }
}
