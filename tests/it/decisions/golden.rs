//! An export that was written once, and is read and verified as long as there are programs.

use super::state;
use super::verify;
use crate::support::process::Place;

/// Written by version 0.1.0 (`method` 1). It never changes once that is released: a program that cannot verify it any more has
/// to keep the method by which it was decided. Until then: decide, export, and put the file here.
const WRITTEN: &str = include_str!("held-0.1.0.json");

#[test]
fn an_export_of_the_first_version_holds() {
    let place = Place::new();
    let (code, checked) = verify(&place, WRITTEN, &[]);
    assert_eq!(code, 0, "{checked}");
    for name in ["digest", "fields", "rules", "terms", "again"] {
        assert!(
            state(&checked, name).starts_with("holds"),
            "{name}: {checked}"
        );
    }
}
