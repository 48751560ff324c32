//! A gate decides on the rules and versions that were last in force, whether the mirror still runs or not.

use std::path::Path;

use crate::support::process::Place;
use crate::support::service::Service;
use crate::support::wait_for;

use super::{gate, send};

const IGNORES: &str = "[[rule]]\nid = \"side\"\npath = \"/side\"\naction = \"ignore\"\n";

/// Enough to prove that all differ, and that none differs from 1 %.
const SOME: u32 = 400;

fn configure(place: &Place, version: &str, rules: &str) -> std::path::PathBuf {
    place.write(
        "parity.toml",
        format!("[mirror]\ncandidate_version = \"{version}\"\n{rules}"),
    )
}

#[test]
fn stopping_a_mirror_does_not_bring_back_rules_that_are_not_in_force() {
    let [legacy, candidate] = ["{\"side\":1}", "{\"side\":2}"].map(Service::json);
    let place = Place::new();
    let file = configure(&place, "1", "");
    let more = ["--config", path(&file)];
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &more);
    let reload = |version: &str, rules: &str, times: usize| {
        configure(&place, version, rules);
        mirror.signal("HUP");
        wait_for("the reload", || {
            let log = mirror.log();
            (log.matches("configuration reloaded").count() == times).then_some(())
        });
    };
    let one = ["--max-mismatch-rate", "0.01", "--candidate-version", "1"];
    let any = &one[..2];
    send(&mirror, "/items", SOME);
    assert_eq!(gate(&place, any).code, 1);
    reload("1", IGNORES, 1);
    send(&mirror, "/items", SOME);
    let ignored = gate(&place, &[any, &["--wait", "1m"]].concat());
    assert_eq!(ignored.code, 0, "{}", ignored.stdout);
    reload("1", "", 2);
    let back = gate(&place, any);
    assert_eq!(back.code, 1, "{}", back.stdout);
    // Another version begins, which gets no request.
    reload("2", IGNORES, 3);
    let first = gate(&place, &one);
    assert_eq!(first.code, 1, "{}", first.stdout);
    assert_eq!(mirror.stop().0, 0);
    let first = gate(&place, &one);
    assert_eq!(first.code, 1, "{}", first.stdout);
    let last = gate(&place, any);
    assert_eq!(last.code, 3, "{}", last.stdout);
    assert!(
        last.stdout.contains("candidate version `2`"),
        "{}",
        last.stdout
    );
}

fn path(file: &Path) -> &str {
    file.to_str().expect("UTF-8")
}
