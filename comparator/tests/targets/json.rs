//! JSON: the verdict is that of another parser, and writing the same data in another way never changes it.

use parity_comparator::{Limits, Rules};
use parity_schemas::verdict::Verdict;

use super::laws::{Judge, answer};
use super::source::{Document, Source};
use super::{limits, oracle, parts};

const JSON: &str = "application/json";
/// A byte order mark. On one side only it is a difference, on both it is not content.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// Two texts that claim to be JSON, or two documents built from the bytes.
pub(crate) fn json(data: &[u8]) {
    let limits = limits(data);
    if let Some([legacy, candidate]) = parts(data) {
        judged(legacy, candidate, limits);
        return;
    }
    let mut source = Source::new(data);
    let document = Document::from_source(&mut source);
    let mut other = document.clone();
    other.permute(&mut source);
    let mut same = String::new();
    other.write(&mut source, &mut same);
    let mut plain = String::new();
    document.write(&mut Source::new(&[]), &mut plain);
    let verdict = judged(plain.as_bytes(), same.as_bytes(), limits);
    assert_eq!(verdict, Verdict::Match, "{plain}\n{same}");
    for _ in 0..=source.below(3) {
        other.edit(&mut source);
    }
    let mut edited = String::new();
    other.write(&mut source, &mut edited);
    judged(plain.as_bytes(), edited.as_bytes(), limits);
}

fn judged(legacy: &[u8], candidate: &[u8], limits: Limits) -> Verdict {
    let mut judge = Judge::new(Rules::default(), limits);
    let verdict = judge
        .compare(&answer(JSON, legacy), &answer(JSON, candidate))
        .verdict;
    if let Some(expected) = expected(legacy, candidate, limits) {
        assert_eq!(
            verdict,
            expected,
            "{} and {}",
            String::from_utf8_lossy(legacy),
            String::from_utf8_lossy(candidate),
        );
    }
    verdict
}

/// What the oracle says; `None` when it cannot.
fn expected(legacy: &[u8], candidate: &[u8], limits: Limits) -> Option<Verdict> {
    let differ = |differ: bool| {
        Some(if differ {
            Verdict::Mismatch
        } else {
            Verdict::Match
        })
    };
    if legacy == candidate {
        return Some(Verdict::Match);
    }
    if legacy.is_empty() || candidate.is_empty() {
        return Some(Verdict::Mismatch);
    }
    let surely_shallow = |text: &[u8]| {
        text.iter()
            .filter(|byte| matches!(byte, b'[' | b'{'))
            .count()
            <= limits.depth
    };
    if !surely_shallow(legacy) || !surely_shallow(candidate) {
        return None;
    }
    let [one, two] = [legacy, candidate].map(|text| text.strip_prefix(BOM).unwrap_or(text));
    match (oracle::is_json(one), oracle::is_json(two)) {
        (true, true) => {
            let marks = legacy.starts_with(BOM) != candidate.starts_with(BOM);
            differ(marks || oracle::meaning(one)? != oracle::meaning(two)?)
        }
        (true, false) | (false, true) => Some(Verdict::Mismatch),
        // Compared as texts, which the oracle knows nothing of.
        (false, false) => None,
    }
}
