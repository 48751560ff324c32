//! YAML: whatever the parser accepts converts to JSON, and the same data in flow and in block style is equal.

use parity_comparator::{Limits, Rules};
use parity_schemas::verdict::{Reason, Verdict};

use super::laws::{Judge, answer};
use super::source::{Document, Source};
use super::{limits, oracle, parts};

const YAML: &str = "application/yaml";

/// Two texts that claim to be YAML, or two documents built from the bytes.
pub(crate) fn yaml(data: &[u8]) {
    let limits = limits(data);
    if let Some([legacy, candidate]) = parts(data) {
        judged(legacy, candidate, limits);
        return;
    }
    let mut source = Source::new(data);
    let document = Document::from_source(&mut source);
    let mut block = "---".to_owned();
    document.write_block(0, &mut block);
    block.push('\n');
    let mut flow = String::new();
    let mut other = document.clone();
    other.permute(&mut source);
    other.write(&mut source, &mut flow);
    let verdict = judged(block.as_bytes(), flow.as_bytes(), limits);
    assert_eq!(verdict, Verdict::Match, "{block}\n{flow}");
    for _ in 0..=source.below(3) {
        other.edit(&mut source);
    }
    let mut edited = String::new();
    other.write(&mut source, &mut edited);
    let verdict = judged(block.as_bytes(), edited.as_bytes(), limits);
    let meanings = [&flow, &edited].map(|text| oracle::meaning(text.as_bytes()));
    if let [Some(one), Some(two)] = meanings {
        let expected = if one == two {
            Verdict::Match
        } else {
            Verdict::Mismatch
        };
        assert_eq!(verdict, expected, "{block}\n{edited}");
    }
}

fn judged(legacy: &[u8], candidate: &[u8], limits: Limits) -> Verdict {
    let mut judge = Judge::new(Rules::default(), limits);
    let verdict = judge
        .compare(&answer(YAML, legacy), &answer(YAML, candidate))
        .verdict;
    // Undecodable would mean that the JSON that we wrote is invalid.
    assert!(verdict != Verdict::NotCompared(Reason::Undecodable));
    verdict
}
