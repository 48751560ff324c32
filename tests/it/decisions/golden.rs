//! An export that was written once, and is read and verified as long as there are programs.

use std::path::Path;

use super::{counted, export, state, verify};
use crate::support::process::Place;

/// Written by version 0.1.0 (`method` 1). It never changes once that is released: a program that cannot verify it any more has
/// to keep the method by which it was decided. Until then `UPDATE_HELD=1` writes it again.
const WRITTEN: &str = "tests/it/decisions/held-0.1.0.json";

fn written() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(WRITTEN);
    if std::env::var_os("UPDATE_HELD").is_some() {
        let place = counted();
        let decided = place.run(&[
            "gate",
            "--max-mismatch-rate",
            "0.01",
            "--require-all-routes",
            "--max-latency",
            "p50=9x+1s",
            "--max-candidate-errors",
            "0.5",
            "--min-distinct",
            "2",
            "--leave-out",
            "2020-01-01T00:00:00Z..2020-01-01T00:05:00Z=a planned restart",
            "--output",
            "json",
        ]);
        assert_eq!(decided.code, 0, "{}", decided.stdout);
        let id = decided.json()["decision_id"]
            .as_str()
            .expect("an id")
            .to_owned();
        std::fs::write(&path, export(&place, &id)).expect("it is written");
    }
    std::fs::read_to_string(path).expect("it is there")
}

#[test]
fn an_export_of_the_first_version_holds() {
    let place = Place::new();
    let (code, checked) = verify(&place, &written(), &[]);
    assert_eq!(code, 0, "{checked}");
    for name in ["digest", "fields", "rules", "terms", "again"] {
        assert!(
            state(&checked, name).starts_with("holds"),
            "{name}: {checked}"
        );
    }
}
