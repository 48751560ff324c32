//! Runs the fuzzing targets on a stable compiler: over the project's cases, slight mutations of them, and random bytes.
//! Fuzzing itself is `fuzz/run`.

mod targets;

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use targets::SEPARATOR;

/// The cases' folders.
fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases");
    let entries = fs::read_dir(folder).expect("the cases are there");
    let mut cases: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .collect();
    cases.sort();
    assert!(!cases.is_empty());
    cases
}

/// The input for a target from the files of a case; `None` if a file is missing.
fn input(case: &Path, names: &[&str]) -> Option<Vec<u8>> {
    let parts: Option<Vec<Vec<u8>>> = names
        .iter()
        .map(|name| fs::read(case.join(name)).ok())
        .collect();
    Some(parts?.join(SEPARATOR))
}

type Target = fn(&[u8]);

const TARGETS: &[(Target, &[&str])] = &[
    (targets::decode, &["legacy.http", "candidate.http"]),
    (targets::json, &["legacy.json", "candidate.json"]),
    (
        targets::rules,
        &["rules.toml", "legacy.json", "candidate.json"],
    ),
    (targets::xml, &["legacy.xml", "candidate.xml"]),
    (targets::yaml, &["legacy.yaml", "candidate.yaml"]),
];

#[test]
fn the_cases_keep_the_laws_whole_cut_and_damaged() {
    for (target, names) in TARGETS {
        let inputs: Vec<Vec<u8>> = cases()
            .iter()
            .filter_map(|case| input(case, names))
            .filter(|input| input.len() < 10_000)
            .collect();
        assert!(!inputs.is_empty(), "no case has {names:?}");
        for input in &inputs {
            target(input);
            for step in 1..8 {
                let at = input.len() * step / 8;
                target(&input[..at]);
                let mut damaged = input.clone();
                damaged[at] ^= 1 << step;
                target(&damaged);
                damaged.remove(at);
                target(&damaged);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_keep_the_laws(data in prop::collection::vec(any::<u8>(), 0..300)) {
        for (target, _) in TARGETS {
            target(&data);
        }
    }
}
