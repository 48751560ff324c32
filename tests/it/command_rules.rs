//! `parity rules`, and profiles where they are used.

use crate::support::process::Place;

#[test]
fn profiles_are_listed_and_printed_as_rules_that_can_be_copied() {
    let place = Place::new();
    let list = place.run(&["rules", "profile"]);
    assert_eq!(list.code, 0);
    let names: Vec<&str> = list
        .stdout
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(
        names.contains(&"go-to-rust") && names.contains(&"node-to-rust"),
        "{names:?}"
    );
    place.write(
        "old.json",
        r#"{"tags":null,"at":"2026-03-01T09:30:12.12Z","n":1}"#,
    );
    place.write(
        "new.json",
        r#"{"tags":[],"at":"2026-03-01T09:30:12.120Z","n":1.0}"#,
    );
    assert_eq!(place.run(&["diff", "old.json", "new.json"]).code, 1);
    for name in names {
        let text = place.run(&["rules", "profile", name]).stdout;
        place.write("copied.toml", &text);
        let diff = |more: &[&str]| {
            let ended = place.run(&[&["diff", "old.json", "new.json"], more].concat());
            (ended.code, ended.stdout)
        };
        // A profile by name and a copy of its rules have the same effect.
        assert_eq!(
            diff(&["--profile", name]),
            diff(&["--rules", "copied.toml"]),
            "{name}"
        );
    }
    let accepted = place.run(&["diff", "old.json", "new.json", "--profile", "go-to-rust"]);
    assert_eq!(accepted.code, 0, "{}", accepted.stdout);
    assert!(
        accepted.stdout.contains("go-to-rust/nil-slice-or-map"),
        "{}",
        accepted.stdout
    );
    // Node has no nil slices, so its profile does not accept them.
    assert_eq!(
        place
            .run(&["diff", "old.json", "new.json", "--profile", "node-to-rust"])
            .code,
        1
    );
}

#[test]
fn an_unknown_profile_and_one_that_is_copied_beside_itself_are_refused() {
    let place = Place::new();
    place.write("a.json", "1");
    let unknown = place.run(&["diff", "a.json", "a.json", "--profile", "go-to-rsut"]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.stderr.contains("did you mean `go-to-rust`?"),
        "{}",
        unknown.stderr
    );
    let none = place.run(&["rules", "profile", "rust-to-go"]);
    assert_eq!(none.code, 2);
    assert!(
        none.stderr.contains("`rust-to-go` is not a profile"),
        "{}",
        none.stderr
    );
    let text = place.run(&["rules", "profile", "go-to-rust"]).stdout;
    place.write("twice.toml", format!("profiles = [\"go-to-rust\"]\n{text}"));
    let twice = place.run(&["diff", "a.json", "a.json", "--rules", "twice.toml"]);
    assert_eq!(twice.code, 2);
    assert!(
        twice.stderr.contains("already has the id"),
        "{}",
        twice.stderr
    );
}

#[test]
fn every_word_that_accept_takes_is_listed_with_its_meaning() {
    let place = Place::new();
    let list = place.run(&["rules", "explanations"]).stdout;
    place.write("a.json", "1");
    for line in list.lines() {
        let (word, meaning) = line.split_once("  ").expect("two columns");
        assert!(meaning.trim().len() > 10, "{line}");
        let rule = format!(
            "[[rule]]\nid = \"r\"\npath = \"/**\"\naction = \"accept\"\nexplanations = [\"{word}\"]\n"
        );
        place.write("rules.toml", &rule);
        let ended = place.run(&["diff", "a.json", "a.json", "--rules", "rules.toml"]);
        // What may be chance is the only word that no rule takes.
        let expected = if word == "moved" { 2 } else { 0 };
        assert_eq!(ended.code, expected, "{word}: {}", ended.stderr);
    }
    assert!(list.lines().count() > 20);
}
