//! Keys with equal hashes, which an attacker can find: the hash has no secret seed, so that every build reaches the
//! same verdict. They may cost comparisons, counted here, in proportion to a sort's, and change nothing.

use std::sync::Arc;

use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Verdict;

use crate::notation::colliding;
use crate::{Comparator, DocumentKind, Limits, Rules};

/// The verdict, the number of findings, and how often two keys were compared.
fn compared(legacy: &str, candidate: &str) -> (Verdict, usize, u64) {
    colliding::begin();
    let now = Timestamp::from_micros(0);
    let comparison = Comparator::new(Arc::new(Rules::default()), Limits::default())
        .compare_documents(
            legacy.as_bytes(),
            candidate.as_bytes(),
            DocumentKind::Json,
            now,
        );
    (
        comparison.verdict,
        comparison.findings.len(),
        colliding::end(),
    )
}

fn object(keys: impl Iterator<Item = usize>, changed: usize) -> String {
    let members: Vec<String> = keys
        .map(|key| format!("\"key-{key}\":{}", if key == changed { 0 } else { key + 1 }))
        .collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn colliding_keys_change_nothing() {
    for count in [1, 2, 63, 64, 65, 300] {
        let legacy = object(0..count, count);
        let backwards = |changed| object((0..count).rev(), changed);
        let (verdict, _, _) = compared(&legacy, &backwards(count));
        assert_eq!(verdict, Verdict::Match, "{count}");
        let (verdict, findings, _) = compared(&legacy, &backwards(count / 2));
        assert_eq!((verdict, findings), (Verdict::Mismatch, 1), "{count}");
        let (verdict, findings, _) = compared(&legacy, &object(1..=count, count));
        assert_eq!((verdict, findings), (Verdict::Mismatch, 2), "{count}");
    }
}

#[test]
fn colliding_keys_cost_what_a_sort_does() {
    let cost = |count: usize| {
        let (verdict, _, compared) = compared(
            &object(0..count, count),
            &object((0..count).rev().chain([count]), count),
        );
        assert_eq!(verdict, Verdict::Mismatch);
        compared
    };
    let (small, large) = (cost(1_000), cost(8_000));
    // Eight times as many keys, three more halvings of each search; 64 times would be quadratic.
    assert!(large < small * 16, "{small}, then {large}");
}
